/* SPDX-License-Identifier: GPL-2.0 */
/* What sysfs and /proc say. Paths are written as for printf. */
#ifndef DVQ_TOOLS_SYSFS_H
#define DVQ_TOOLS_SYSFS_H

#include <glob.h>
#include <stdbool.h>
#include <stddef.h>

/* what a link points to, without directories; false: there is no such link */
__attribute__((format(printf, 3, 4)))
bool sysfs_link(char *name, size_t size, const char *fmt, ...);

/* the first line of a file; false: it cannot be read */
__attribute__((format(printf, 3, 4)))
bool sysfs_line(char *line, size_t size, const char *fmt, ...);

/* the last part of the first path that fits a pattern; false: none does */
__attribute__((format(printf, 3, 4)))
bool sysfs_find(char *name, size_t size, const char *fmt, ...);

__attribute__((format(printf, 1, 2)))
bool sysfs_exists(const char *fmt, ...);

/* all paths that fit a pattern; to be freed by globfree() */
__attribute__((format(printf, 2, 3)))
void sysfs_glob(glob_t *found, const char *fmt, ...);

#endif /* DVQ_TOOLS_SYSFS_H */
