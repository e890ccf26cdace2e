// SPDX-License-Identifier: GPL-2.0
/*
 * Anything at the control channel, and as options of an adapter: the first line makes one, if it
 * can be, the rest are requests about it and another.
 */
#include "control.h"
#include "fuzz_socket.h"

#define WORDS	30

static bool next(struct fuzz_client *c)
{
	size_t len = c->f->end - c->f->at;

	if (!len)
		return false;
	/* in pieces, so that lines are put together again */
	c->len = len < 100 ? len : 100;
	fuzz_bytes(c->f, c->data, c->len);
	return true;
}

/* NULL unless the words of the line are options */
static struct slot *slot_of(const struct model_type *type, char *line, FILE *err)
{
	char *words[WORDS + 1] = { 0 }, *rest = NULL;
	struct model_device *dev;
	unsigned int n = 0;

	for (char *word = strtok_r(line, " ", &rest); word && n < WORDS;
	     word = strtok_r(NULL, " ", &rest))
		words[n++] = word;
	dev = type->create("one", words, err);
	return dev ? slot_create(dev, type->name, err) : NULL;
}

static struct slot *first_slot(struct fuzz *f)
{
	const struct model_type *type = fuzz8(f) & 1 ? &ionic_type : &efa_type;
	size_t len = 0, text_len;
	char line[512] = "", *text = NULL;
	FILE *err = open_memstream(&text, &text_len);
	struct slot *slot;

	while (fuzz_left(f) && len < sizeof(line) - 1 && *f->at != '\n')
		line[len++] = fuzz8(f);
	slot = slot_of(type, line, err);
	fclose(err);
	/* what is refused is refused in words */
	FUZZ_CHECK(slot || text_len);
	free(text);
	return slot;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static char *small[] = { "max_qp=16", "max_llq_size=4096", NULL };
	struct fuzz f = { data, data + size };
	struct fuzz_client client = { .next = next, .f = &f };
	struct control *control;
	struct slot *one = first_slot(&f), *other;

	FUZZ_CHECK(!loop_open());
	other = fuzz_slot(&efa_type, "other", small);
	if (one)
		other->next = one;
	control = control_open(other, fuzz_socket_path(), stderr);
	FUZZ_CHECK(control);
	fuzz_client_run(&client);
	control_close(control);
	slot_destroy(other);
	if (one)
		slot_destroy(one);
	loop_close();
	return 0;
}
