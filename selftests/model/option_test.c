// SPDX-License-Identifier: GPL-2.0
#include <errno.h>

#include "option.h"
#include "tap.h"

static char text[256];

static int parse(struct option_key *keys, char **words)
{
	FILE *err = fmemopen(text, sizeof(text), "w");
	int ret;

	text[0] = 0;
	ret = option_parse(keys, words, err);
	fclose(err);
	return ret;
}

static int number(const char *value, uint64_t max, uint64_t *result)
{
	struct option_key key = { "size", value };
	FILE *err = fmemopen(text, sizeof(text), "w");
	int ret;

	text[0] = 0;
	ret = option_number(&key, max, result, err);
	fclose(err);
	return ret;
}

TEST(words_find_their_keys)
{
	struct option_key keys[] = { { "a", "stale" }, { "ab", NULL }, { "c", NULL }, { 0 } };

	CHECK_EQ(parse(keys, (char *[]) { "ab=x=y", "c=", NULL }), 0);
	CHECK(!keys[0].value);
	CHECK_STR(keys[1].value, "x=y");
	CHECK_STR(keys[2].value, "");
	CHECK_EQ(parse(keys, (char *[]) { NULL }), 0);
	CHECK(!keys[1].value);
}

TEST(f80_words_without_a_key)
{
	static char *const words[] = { "d=1", "a", "abc=1", "=1", "", "A=1" };
	struct option_key keys[] = { { "a", NULL }, { "ab", NULL }, { NULL, NULL } };

	for (unsigned int i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
		CHECK_EQ(parse(keys, (char *[]) { words[i], NULL }), -EINVAL);
		CHECK_CONTAINS(text, "must be key=value with one of the keys a, ab");
	}
	CHECK_EQ(parse(keys, (char *[]) { "a=1", "a=1", NULL }), -EINVAL);
	CHECK_STR(text, "a must be given once");
}

TEST(numbers)
{
	uint64_t n = 77;

	CHECK_EQ(number(NULL, 10, &n), 0);
	CHECK_EQ(n, 77);
	CHECK_EQ(number("0", 10, &n), 0);
	CHECK_EQ(n, 0);
	CHECK_EQ(number("10", 10, &n), 0);
	CHECK_EQ(n, 10);
	CHECK_EQ(number("0xFf", 255, &n), 0);
	CHECK_EQ(n, 255);
	/* no octal */
	CHECK_EQ(number("010", 255, &n), 0);
	CHECK_EQ(n, 10);
	CHECK_EQ(number("18446744073709551615", UINT64_MAX, &n), 0);
	CHECK(n == UINT64_MAX);
}

TEST(no_numbers)
{
	static const char *const values[] = {
		"", " 1", "1 ", "-1", "+1", "x", "0x", "0xg", "1k", "11", "0xb",
		"18446744073709551616",
	};
	uint64_t n = 77;

	for (unsigned int i = 0; i < sizeof(values) / sizeof(values[0]); i++) {
		CHECK_EQ(number(values[i], 10, &n), -EINVAL);
		CHECK_CONTAINS(text, "size must be a number from 0 to 10, not '");
		CHECK_EQ(n, 77);
	}
}

TAP_MAIN
