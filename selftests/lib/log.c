// SPDX-License-Identifier: GPL-2.0
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "lab.h"
#include "log.h"

int log_open(void)
{
	int log = open("/dev/kmsg", O_RDONLY | O_NONBLOCK | O_CLOEXEC);

	LAB_NEED(log >= 0 && lseek(log, 0, SEEK_END) >= 0, "/dev/kmsg: %s", strerror(errno));
	return log;
}

unsigned int log_count(int log, const char *text)
{
	unsigned int found = 0;
	char line[8192];
	ssize_t len;

	/* one at a time; EPIPE: some were overwritten before they were read */
	while ((len = read(log, line, sizeof(line) - 1)) > 0 || (len < 0 && errno == EPIPE)) {
		line[len > 0 ? len : 0] = 0;
		found += strstr(line, text) != NULL;
	}
	close(log);
	return found;
}
