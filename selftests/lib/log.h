/* SPDX-License-Identifier: GPL-2.0 */
/* What the kernel says while a test goes on. */
#ifndef SELFTESTS_LOG_H
#define SELFTESTS_LOG_H

/* From here on; must succeed. Closed by log_count(). */
int log_open(void);

/* lines since then that contain @text */
unsigned int log_count(int log, const char *text);

#endif /* SELFTESTS_LOG_H */
