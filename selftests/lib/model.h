/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The lab's control channel from inside the guest: one line to the model, one
 * line back (Documentation/model.rst). On a machine with real adapters there is
 * no such channel, and model_present() says so.
 *
 * Only one process can have the channel open: children leave it to their parent.
 */
#ifndef SELFTESTS_MODEL_H
#define SELFTESTS_MODEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define MODEL_PORT	"/dev/virtio-ports/dvq.ctl"

bool model_present(void);
/* this process leaves the channel to its parent */
void model_leave(void);

/*
 * Asks @target ("*": all). Returns the text behind "ok", valid until the next
 * call; "err" ends the test.
 */
__attribute__((format(printf, 2, 3)))
const char *model_ask(const char *target, const char *fmt, ...);

/* the same, but "err" is a result: false. *@answer, if wanted, is the text behind either word */
__attribute__((format(printf, 3, 4)))
bool model_try(const char *target, const char **answer, const char *fmt, ...);

/* what the model calls the adapter with this GID (16 bytes) or MAC address (6); false: none has */
bool model_name(const void *address, size_t len, char *name, unsigned int size);

/**
 * struct model_stats - all counters of one adapter at one moment
 *
 * @text: "key=value" words
 */
struct model_stats {
	char text[8192];
};

void model_stats(const char *target, struct model_stats *stats);
/* ends the test if there is no such counter; those of admin commands begin when one is sent */
uint64_t model_stat(const struct model_stats *stats, const char *key);
/* growth from @before to now */
uint64_t model_delta(const char *target, const struct model_stats *before, const char *key);

/* waits until growth reaches @want; returns the last value seen, more or less than @want */
uint64_t model_wait_delta(const char *target, const struct model_stats *before, const char *key,
			  uint64_t want);

/*
 * Of the packets that it sends the adapter loses @count behind the next @skip. Returns how many of those asked for
 * before it has not lost, and will not now.
 */
unsigned int model_drop(const char *target, unsigned int skip, unsigned int count);

/* Asks this when the test ends, however it ends: what undoes what the test has asked for. Before that. */
__attribute__((format(printf, 2, 3)))
void model_at_end(const char *target, const char *fmt, ...);
/* an option of a running adapter has this value until the test ends, then the one it had */
void model_set(const char *target, const char *key, const char *value);

/*
 * Numbers that are in the answer to @list ("cqs", "qps") and were not in @before, that answer at an earlier moment;
 * how many, more than @max must not be.
 */
unsigned int model_new(const char *target, const char *list, const char *before, unsigned int *numbers,
		       unsigned int max);

/* a failed test says what the model knows, for whoever looks for the reason; nothing without a model */
void model_note(const char *target);

/* "key=value" in an answer; false if it is not there */
bool model_find(const char *text, const char *key, uint64_t *value);

#endif /* SELFTESTS_MODEL_H */
