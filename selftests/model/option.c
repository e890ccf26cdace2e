// SPDX-License-Identifier: GPL-2.0
#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "option.h"

static struct option_key *find_key(struct option_key *keys, const char *word, size_t len)
{
	for (; keys->key; keys++)
		if (strlen(keys->key) == len && !strncmp(keys->key, word, len))
			return keys;
	return NULL;
}

static void print_keys(const struct option_key *keys, FILE *err)
{
	for (const char *comma = ""; keys->key; keys++, comma = ", ")
		fprintf(err, "%s%s", comma, keys->key);
}

int option_parse(struct option_key *keys, char **words, FILE *err)
{
	for (struct option_key *key = keys; key->key; key++)
		key->value = NULL;

	for (; *words; words++) {
		size_t len = strcspn(*words, "=");
		struct option_key *key = find_key(keys, *words, len);

		if (!key || !(*words)[len]) {
			fprintf(err, "'%s' must be key=value with one of the keys ", *words);
			print_keys(keys, err);
			return -EINVAL;
		}
		if (key->value) {
			fprintf(err, "%s must be given once", key->key);
			return -EINVAL;
		}
		key->value = *words + len + 1;
	}
	return 0;
}

int option_number(const struct option_key *key, uint64_t max, uint64_t *number, FILE *err)
{
	const char *text = key->value;
	bool hex;
	uint64_t n;
	char *end;

	if (!text)
		return 0;
	hex = text[0] == '0' && (text[1] == 'x' || text[1] == 'X');
	errno = 0;
	n = strtoull(text, &end, hex ? 16 : 10);
	/* strtoull() takes signs and leading blanks, which are no numbers here */
	if (!isdigit((unsigned char)text[0]) || *end || end == text || errno || n > max) {
		fprintf(err, "%s must be a number from 0 to %" PRIu64 ", not '%s'", key->key, max,
			text);
		return -EINVAL;
	}
	*number = n;
	return 0;
}
