// SPDX-License-Identifier: GPL-2.0
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "sysfs.h"

/* a path from a format and its arguments, in a buffer of that size */
#define MAKE_PATH(path, fmt)					\
	do {							\
		va_list args;					\
								\
		va_start(args, fmt);				\
		vsnprintf(path, sizeof(path), fmt, args);	\
		va_end(args);					\
	} while (0)

static const char *last_part(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

bool sysfs_link(char *name, size_t size, const char *fmt, ...)
{
	char path[PATH_MAX], target[PATH_MAX];
	ssize_t n;

	MAKE_PATH(path, fmt);
	n = readlink(path, target, sizeof(target) - 1);
	if (n <= 0)
		return false;
	target[n] = 0;
	snprintf(name, size, "%s", last_part(target));
	return true;
}

bool sysfs_line(char *line, size_t size, const char *fmt, ...)
{
	char path[PATH_MAX];
	FILE *in;
	bool ok;

	MAKE_PATH(path, fmt);
	in = fopen(path, "re");
	if (!in)
		return false;
	ok = fgets(line, size, in);
	fclose(in);
	line[ok ? strcspn(line, "\n") : 0] = 0;
	return ok;
}

bool sysfs_find(char *name, size_t size, const char *fmt, ...)
{
	char path[PATH_MAX];
	glob_t found;
	bool ok;

	MAKE_PATH(path, fmt);
	ok = !glob(path, 0, NULL, &found);
	if (ok)
		snprintf(name, size, "%s", last_part(found.gl_pathv[0]));
	globfree(&found);
	return ok;
}

bool sysfs_exists(const char *fmt, ...)
{
	char path[PATH_MAX];

	MAKE_PATH(path, fmt);
	return !access(path, F_OK);
}

void sysfs_glob(glob_t *found, const char *fmt, ...)
{
	char path[PATH_MAX];

	MAKE_PATH(path, fmt);
	if (glob(path, 0, NULL, found)) {
		found->gl_pathc = 0;
		found->gl_pathv = NULL;
	}
}
