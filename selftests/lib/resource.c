// SPDX-License-Identifier: GPL-2.0
#include <errno.h>
#include <linux/netlink.h>
#include <rdma/rdma_netlink.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include "lab.h"
#include "resource.h"

/* RDMA_NLDEV_ATTR_DRIVER_DETAILS, which the headers of 6.1 do not have; its kernel takes no notice */
#define ATTR_DRIVER_DETAILS	97

#define PORT		1
#define ANSWER_SECONDS	10

/* ---- requests ---------------------------------------------------------------------- */

struct request {
	struct nlmsghdr header;
	char attrs[128];
};

static struct request request(uint16_t command, uint16_t flags)
{
	return (struct request) { .header = {
		.nlmsg_len = NLMSG_LENGTH(0),
		.nlmsg_type = RDMA_NL_GET_TYPE(RDMA_NL_NLDEV, command),
		.nlmsg_flags = NLM_F_REQUEST | flags,
	} };
}

static void put(struct request *request, uint16_t type, const void *data, uint16_t len)
{
	struct nlattr attr = { .nla_len = NLA_HDRLEN + len, .nla_type = type };
	char *to = (char *)request + NLMSG_ALIGN(request->header.nlmsg_len);

	memcpy(to, &attr, sizeof(attr));
	memcpy(to + NLA_HDRLEN, data, len);
	request->header.nlmsg_len = to - (char *)request + NLA_ALIGN(attr.nla_len);
}

static void put_u32(struct request *request, uint16_t type, uint32_t value)
{
	put(request, type, &value, sizeof(value));
}

/* ---- answers ------------------------------------------------------------------------ */

/* looks at a message of the answer; @arg is the caller's */
typedef void (*look_fn)(const struct nlmsghdr *message, void *arg);

/* 0: more to come; 1: that was all; or a negative errno */
static int take_message(const struct nlmsghdr *message, look_fn look, void *arg)
{
	int result = 0;

	if (message->nlmsg_type == NLMSG_ERROR || message->nlmsg_type == NLMSG_DONE) {
		if (message->nlmsg_len >= NLMSG_LENGTH(sizeof(result)))
			memcpy(&result, NLMSG_DATA(message), sizeof(result));
		return result ? result : 1;
	}
	if (look)
		look(message, arg);
	return message->nlmsg_flags & NLM_F_MULTI ? 0 : 1;
}

static int take_answer(int fd, look_fn look, void *arg)
{
	static char buffer[65536] __attribute__((aligned(NLMSG_ALIGNTO)));
	int result = 0;

	while (!result) {
		const struct nlmsghdr *message = (const struct nlmsghdr *)buffer;
		ssize_t len = recv(fd, buffer, sizeof(buffer), 0);

		if (len < 0)
			return -errno;
		for (; !result && NLMSG_OK(message, len); message = NLMSG_NEXT(message, len))
			result = take_message(message, look, arg);
	}
	return result > 0 ? 0 : result;
}

static int ask_on(int fd, const struct request *request, look_fn look, void *arg)
{
	const struct timeval limit = { .tv_sec = ANSWER_SECONDS };

	if (setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit)) ||
	    send(fd, request, request->header.nlmsg_len, 0) < 0)
		return -errno;
	return take_answer(fd, look, arg);
}

static int ask(const struct request *request, look_fn look, void *arg)
{
	int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_RDMA);
	int result;

	if (fd < 0)
		return -errno;
	result = ask_on(fd, request, look, arg);
	close(fd);
	return result;
}

/* ---- attributes ---------------------------------------------------------------------- */

/* the next one of @type in [*from, end), or NULL; *from is then behind it */
static const struct nlattr *find(const char **from, const char *end, uint16_t type)
{
	while (end - *from >= (ptrdiff_t)NLA_HDRLEN) {
		const struct nlattr *attr = (const struct nlattr *)*from;

		if (attr->nla_len < NLA_HDRLEN)
			return NULL;
		*from += NLA_ALIGN(attr->nla_len);
		if ((attr->nla_type & NLA_TYPE_MASK) == type)
			return attr;
	}
	return NULL;
}

static const char *data_of(const struct nlattr *attr)
{
	return (const char *)attr + NLA_HDRLEN;
}

static const char *end_of(const struct nlattr *attr)
{
	return (const char *)attr + attr->nla_len;
}

static const struct nlattr *find_in(const struct nlmsghdr *message, uint16_t type)
{
	const char *from = NLMSG_DATA(message);

	return find(&from, (const char *)message + message->nlmsg_len, type);
}

static uint32_t u32_in(const struct nlmsghdr *message, uint16_t type)
{
	const struct nlattr *attr = find_in(message, type);
	uint32_t value = 0;

	if (attr)
		memcpy(&value, data_of(attr), sizeof(value));
	return value;
}

/* ---- counts --------------------------------------------------------------------------- */

/**
 * struct summary - the answer about one adapter among all
 */
struct summary {
	const char *name;
	bool found;
	uint32_t device_index;
	struct resources resources;
};

static void take_count(const struct nlattr *entry, struct resources *resources)
{
	const char *from = data_of(entry), *end = end_of(entry);
	const struct nlattr *name = find(&from, end, RDMA_NLDEV_ATTR_RES_SUMMARY_ENTRY_NAME);
	const struct nlattr *count;

	from = data_of(entry);
	count = find(&from, end, RDMA_NLDEV_ATTR_RES_SUMMARY_ENTRY_CURR);
	if (!name || !count || resources->kinds == RESOURCE_KINDS)
		return;
	snprintf(resources->of[resources->kinds].name, sizeof(resources->of[0].name), "%s",
		 data_of(name));
	memcpy(&resources->of[resources->kinds].count, data_of(count), sizeof(uint64_t));
	resources->kinds++;
}

static void take_summary(const struct nlmsghdr *message, void *arg)
{
	const struct nlattr *name = find_in(message, RDMA_NLDEV_ATTR_DEV_NAME);
	const struct nlattr *table = find_in(message, RDMA_NLDEV_ATTR_RES_SUMMARY);
	struct summary *summary = arg;
	const struct nlattr *entry;
	const char *from;

	if (!name || !table || strcmp(data_of(name), summary->name))
		return;
	summary->found = true;
	summary->device_index = u32_in(message, RDMA_NLDEV_ATTR_DEV_INDEX);
	from = data_of(table);
	while ((entry = find(&from, end_of(table), RDMA_NLDEV_ATTR_RES_SUMMARY_ENTRY)))
		take_count(entry, &summary->resources);
}

static struct summary summary_of(const struct adapter *adapter)
{
	struct request all = request(RDMA_NLDEV_CMD_RES_GET, NLM_F_DUMP);
	struct summary summary = { .name = adapter_name(adapter) };
	int err = ask(&all, take_summary, &summary);

	LAB_NEED(!err && summary.found, "resources of %s: %s", summary.name,
		 err ? strerror(-err) : "not told");
	return summary;
}

struct resources resources_now(const struct adapter *adapter)
{
	return summary_of(adapter).resources;
}

uint32_t resources_device_index(const struct adapter *adapter)
{
	return summary_of(adapter).device_index;
}

bool resources_expect(const struct adapter *adapter, const struct resources *before,
		      const char *what)
{
	struct resources now = resources_now(adapter);
	bool same = true;

	for (unsigned int i = 0; i < now.kinds; i++) {
		if (now.of[i].count == before->of[i].count)
			continue;
		same = false;
		lab_note(__FILE__, __LINE__, "%s: the kernel has %llu of %s, had %llu", what,
			 (unsigned long long)now.of[i].count, now.of[i].name,
			 (unsigned long long)before->of[i].count);
	}
	return same;
}

/* ---- everything ------------------------------------------------------------------------ */

int resources_dump(uint32_t device_index, uint16_t command)
{
	struct request dump = request(command, NLM_F_DUMP);
	uint8_t details = 1;

	put_u32(&dump, RDMA_NLDEV_ATTR_DEV_INDEX, device_index);
	put(&dump, ATTR_DRIVER_DETAILS, &details, sizeof(details));
	return ask(&dump, NULL, NULL);
}

static struct request counter_request(uint16_t command, uint32_t device_index, uint32_t qpn)
{
	struct request bind = request(command, NLM_F_ACK);

	put_u32(&bind, RDMA_NLDEV_ATTR_DEV_INDEX, device_index);
	put_u32(&bind, RDMA_NLDEV_ATTR_PORT_INDEX, PORT);
	put_u32(&bind, RDMA_NLDEV_ATTR_STAT_MODE, RDMA_COUNTER_MODE_MANUAL);
	put_u32(&bind, RDMA_NLDEV_ATTR_STAT_RES, RDMA_NLDEV_ATTR_RES_QP);
	put_u32(&bind, RDMA_NLDEV_ATTR_RES_LQPN, qpn);
	return bind;
}

static void take_counter(const struct nlmsghdr *message, void *arg)
{
	*(uint32_t *)arg = u32_in(message, RDMA_NLDEV_ATTR_STAT_COUNTER_ID);
}

int resources_bind_counter(uint32_t device_index, uint32_t qpn, uint32_t *counter)
{
	struct request bind = counter_request(RDMA_NLDEV_CMD_STAT_SET, device_index, qpn);

	return ask(&bind, take_counter, counter);
}

int resources_unbind_counter(uint32_t device_index, uint32_t qpn, uint32_t counter)
{
	struct request unbind = counter_request(RDMA_NLDEV_CMD_STAT_DEL, device_index, qpn);

	put_u32(&unbind, RDMA_NLDEV_ATTR_STAT_COUNTER_ID, counter);
	return ask(&unbind, NULL, NULL);
}
