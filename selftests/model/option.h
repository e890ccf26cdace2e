/* SPDX-License-Identifier: GPL-2.0 */
/* "key=value" words of command lines: devices, injection rules, control verbs. */
#ifndef MODEL_OPTION_H
#define MODEL_OPTION_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

/**
 * struct option_key - one key that is understood
 *
 * @value: filled by option_parse(): the text behind '=', NULL if not given
 */
struct option_key {
	const char *key;
	const char *value;
};

/**
 * option_parse() - sort words into a table of keys
 *
 * @keys ends with a NULL key, @words with NULL. Values point into the words.
 * Returns 0, or -EINVAL with one sentence in @err if a word is no key=value, its
 * key is unknown or given twice.
 */
int option_parse(struct option_key *keys, char **words, FILE *err);

/**
 * option_number() - the number given for a key
 *
 * Decimal, or hexadecimal after 0x; at most @max. If the key was not given
 * @number stays as it is. Returns 0, or -EINVAL with one sentence in @err.
 */
int option_number(const struct option_key *key, uint64_t max, uint64_t *number, FILE *err);

#endif /* MODEL_OPTION_H */
