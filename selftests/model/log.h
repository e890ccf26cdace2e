/* SPDX-License-Identifier: GPL-2.0 */
/* One line per event: seconds since the start, whose event, what happened. */
#ifndef MODEL_LOG_H
#define MODEL_LOG_H

#include <stdbool.h>
#include <stdio.h>

/* where lines go (NULL: nowhere, as before the first call); @verbose lets traces through */
void log_to(FILE *file, bool verbose);

bool log_verbose(void);

/* for events that a person should see: violations, attach, detach, errors */
void log_note(const char *who, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* for every message and access */
void log_trace(const char *who, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

#endif /* MODEL_LOG_H */
