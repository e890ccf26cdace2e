// SPDX-License-Identifier: GPL-2.0
/*
 * A target without libFuzzer: what make check runs.
 *
 *	NAME_fuzz_test			plays the kept inputs, then mutations of them (TAP)
 *	NAME_fuzz_test FILE...		plays these; *.txt is text, all else bytes
 *	NAME_fuzz_test --text FILE	prints bytes as the text that is kept
 *	NAME_fuzz_test --unpack DIR	writes the kept inputs as bytes, for libFuzzer to begin with
 *
 * Kept inputs are text, so that they can be read and reviewed: bytes in hexadecimal, and
 * comments from '#' to the end of the line. The mutations are the same every time; FUZZ_SEED
 * gives others, FUZZ_ROUNDS more of them.
 */
#include <dirent.h>
#include <fcntl.h>
#include <unistd.h>

#include "dice.h"
#include "fuzz.h"

#define INPUT_MAX	4096	/* bytes; -max_len of libFuzzer, too */
#define INPUTS_MAX	512
#define ROUNDS		2000	/* mutations by default */

struct input {
	char *name;
	size_t size;
	uint8_t data[INPUT_MAX];
};

static struct input *inputs[INPUTS_MAX];
static unsigned int count;

/* ---- files ---------------------------------------------------------------------------- */

__attribute__((noreturn)) static void give_up(const char *name, const char *what)
{
	fprintf(stderr, "%s: %s\n", name, what);
	exit(2);
}

static int digit(char c)
{
	static const char digits[] = "0123456789abcdef";
	const char *at = c ? strchr(digits, c) : NULL;

	return at ? (int)(at - digits) : -1;
}

/* text to bytes, in place of it */
static size_t parse(const char *name, const char *text, size_t len, uint8_t *data)
{
	size_t size = 0;
	int high = -1;

	for (size_t i = 0; i < len; i++) {
		if (text[i] == '#') {
			while (i < len && text[i] != '\n')
				i++;
			continue;
		}
		if (strchr(" \t\n", text[i]))
			continue;
		if (digit(text[i]) < 0)
			give_up(name, "must be hexadecimal digits in lower case, blanks and comments");
		if (high < 0) {
			high = digit(text[i]);
			continue;
		}
		if (size == INPUT_MAX)
			give_up(name, "must have at most 4096 bytes");
		data[size++] = high << 4 | digit(text[i]);
		high = -1;
	}
	if (high >= 0)
		give_up(name, "must have an even number of digits");
	return size;
}

static bool is_text(const char *name)
{
	size_t len = strlen(name);

	return len > 4 && !strcmp(name + len - 4, ".txt");
}

static struct input *load(const char *path)
{
	static char text[INPUT_MAX * 8];
	struct input *input = calloc(1, sizeof(*input));
	FILE *file = fopen(path, "r");
	size_t len;

	if (!input || !file)
		give_up(path, "must be a file that can be read");
	len = fread(text, 1, sizeof(text), file);
	fclose(file);
	input->name = strdup(strrchr(path, '/') ? strrchr(path, '/') + 1 : path);
	if (is_text(path)) {
		input->size = parse(path, text, len, input->data);
	} else {
		input->size = len < INPUT_MAX ? len : INPUT_MAX;
		memcpy(input->data, text, input->size);
	}
	return input;
}

static int is_kept(const struct dirent *entry)
{
	return is_text(entry->d_name);
}

/* by name, so that the order is the same everywhere */
static void load_kept(void)
{
	struct dirent **entries;
	int n = scandir(CORPUS, &entries, is_kept, alphasort);

	for (int i = 0; i < n; i++) {
		char path[4096];

		if (count == INPUTS_MAX)
			give_up(CORPUS, "must have at most 512 inputs");
		snprintf(path, sizeof(path), "%s/%s", CORPUS, entries[i]->d_name);
		inputs[count++] = load(path);
		free(entries[i]);
	}
	if (n >= 0)
		free(entries);
	if (!count)
		give_up(CORPUS, "must have kept inputs");
}

static void print_text(const struct input *input)
{
	for (size_t i = 0; i < input->size; i++)
		printf("%02x%c", input->data[i], i % 32 == 31 || i == input->size - 1 ? '\n' : ' ');
}

static void unpack(const char *dir)
{
	for (unsigned int i = 0; i < count; i++) {
		char path[4096];
		FILE *file;

		snprintf(path, sizeof(path), "%s/%s", dir, inputs[i]->name);
		file = fopen(path, "w");
		if (!file || fwrite(inputs[i]->data, 1, inputs[i]->size, file) != inputs[i]->size)
			give_up(path, "must be a place for a file");
		fclose(file);
	}
}

/* ---- playing -------------------------------------------------------------------------- */

/* memory of its own size, so that a sanitizer sees every byte that is read beyond it */
static void play(const uint8_t *data, size_t size)
{
	uint8_t *copy = malloc(size ? size : 1);

	memcpy(copy, data, size);
	LLVMFuzzerTestOneInput(copy, size);
	free(copy);
}

static uint64_t state;

static uint32_t below(uint32_t n)
{
	return dice(&state) % n;
}

/* one change: a byte, some noise, a piece of another input, a piece less */
static void mutate(struct input *input)
{
	const struct input *other = inputs[below(count)];
	size_t at = below(input->size + 1), len = 1 + below(16);

	switch (below(4)) {
	case 0:
		if (at < input->size)
			input->data[at] ^= 1u << below(8);
		break;
	case 1:
		if (at + len > INPUT_MAX)
			break;
		for (size_t i = 0; i < len; i++)
			input->data[at + i] = below(256);
		if (at + len > input->size)
			input->size = at + len;
		break;
	case 2:
		len = below(other->size + 1);
		if (at + len > INPUT_MAX)
			len = INPUT_MAX - at;
		memcpy(input->data + at, other->data, len);
		if (at + len > input->size)
			input->size = at + len;
		break;
	default:
		if (at + len >= input->size)
			break;
		memmove(input->data + at, input->data + at + len, input->size - at - len);
		input->size -= len;
	}
}

static uint64_t number_of(const char *name, uint64_t otherwise)
{
	const char *text = getenv(name);

	return text ? strtoull(text, NULL, 0) : otherwise;
}

static void play_mutations(uint64_t rounds)
{
	static struct input input;

	for (uint64_t i = 0; i < rounds; i++) {
		input = *inputs[below(count)];
		for (unsigned int changes = 1 + below(8); changes; changes--)
			mutate(&input);
		play(input.data, input.size);
	}
}

static void run_tests(void)
{
	uint64_t rounds = number_of("FUZZ_ROUNDS", ROUNDS);

	state = number_of("FUZZ_SEED", 1);
	printf("TAP version 13\n1..%u\n", count + 1);
	for (unsigned int i = 0; i < count; i++) {
		fflush(stdout);
		play(inputs[i]->data, inputs[i]->size);
		printf("ok %u %s\n", i + 1, inputs[i]->name);
	}
	fflush(stdout);
	play_mutations(rounds);
	printf("ok %u %llu mutations\n", count + 1, (unsigned long long)rounds);
}

int main(int argc, char **argv)
{
	if (argc == 3 && !strcmp(argv[1], "--text")) {
		inputs[count++] = load(argv[2]);
		print_text(inputs[0]);
		return 0;
	}
	if (argc == 3 && !strcmp(argv[1], "--unpack")) {
		load_kept();
		unpack(argv[2]);
		return 0;
	}
	for (int i = 1; i < argc; i++) {
		if (count == INPUTS_MAX)
			give_up(argv[i], "comes behind 512 others");
		inputs[count++] = load(argv[i]);
		play(inputs[count - 1]->data, inputs[count - 1]->size);
		printf("# %s: played\n", inputs[count - 1]->name);
	}
	if (argc == 1) {
		load_kept();
		run_tests();
	}
	return 0;
}
