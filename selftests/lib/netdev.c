// SPDX-License-Identifier: GPL-2.0
#include <errno.h>
#include <glob.h>
#include <limits.h>
#include <linux/if_addr.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "lab.h"
#include "netdev.h"

#define IPV6_ADDR_LINKLOCAL	0x20

void netdev_of(const struct ibv_device *device, char name[IF_NAMESIZE])
{
	char pattern[PATH_MAX + 32];
	glob_t found;

	name[0] = 0;
	snprintf(pattern, sizeof(pattern), "%s/device/net/*", device->ibdev_path);
	if (glob(pattern, 0, NULL, &found))
		return;
	snprintf(name, IF_NAMESIZE, "%s", strrchr(found.gl_pathv[0], '/') + 1);
	globfree(&found);
}

static void request(const char *name, unsigned long command, struct ifreq *req)
{
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0), err;

	LAB_NEED(fd >= 0, "socket: %s", strerror(errno));
	snprintf(req->ifr_name, sizeof(req->ifr_name), "%s", name);
	err = ioctl(fd, command, req) ? errno : 0;
	close(fd);
	LAB_NEED(!err, "interface %s: %s", name, strerror(err));
}

static void set_up(const char *name, bool up)
{
	struct ifreq req = {};

	request(name, SIOCGIFFLAGS, &req);
	req.ifr_flags = up ? req.ifr_flags | IFF_UP : req.ifr_flags & ~IFF_UP;
	request(name, SIOCSIFFLAGS, &req);
}

void netdev_up(const char *name)
{
	set_up(name, true);
}

void netdev_down(const char *name)
{
	set_up(name, false);
}

/* lines of an address, index, length of the prefix, scope, flags and name */
bool netdev_has_address(const char *name)
{
	FILE *file = fopen("/proc/net/if_inet6", "r");
	unsigned int scope, flags;
	bool found = false;
	char word[64];

	LAB_NEED(file, "/proc/net/if_inet6: %s", strerror(errno));
	while (!found && fscanf(file, "%*s %*s %*s %x %x %63s", &scope, &flags, word) == 3)
		found = !strcmp(word, name) && scope == IPV6_ADDR_LINKLOCAL &&
			!(flags & IFA_F_TENTATIVE);
	fclose(file);
	return found;
}

void netdev_mac(const char *name, uint8_t mac[6])
{
	struct ifreq req = {};

	request(name, SIOCGIFHWADDR, &req);
	memcpy(mac, req.ifr_hwaddr.sa_data, 6);
}
