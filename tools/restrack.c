// SPDX-License-Identifier: GPL-2.0
#include <errno.h>
#include <libmnl/libmnl.h>
#include <rdma/rdma_netlink.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "restrack.h"

/* enumerators that older system headers lack; kernels that lack them take no notice */
#define ATTR_DRIVER_DETAILS	97
#define ATTR_RES_SUBTYPE	98

#define ANSWER_MAX	32768	/* bytes of one part of a dump */

/* ---- one question ----------------------------------------------------------------- */

/*
 * The end of a dump carries its error, which libmnl does not look at; so does a refusal before it begins, which libmnl
 * passes over as its type is below the length of control[]. Either begins with it; the end of a dump may be without.
 */
static int end_of_dump(const struct nlmsghdr *header, void *arg)
{
	int error = header->nlmsg_type == NLMSG_ERROR ? -EBADMSG : 0;

	(void)arg;
	if (mnl_nlmsg_get_payload_len(header) >= sizeof(error))
		memcpy(&error, mnl_nlmsg_get_payload(header), sizeof(error));
	if (!error)
		return MNL_CB_STOP;
	errno = -error;
	return MNL_CB_ERROR;
}

static int ask(struct nlmsghdr *request, mnl_cb_t answer, void *arg)
{
	static mnl_cb_t control[] = { [NLMSG_ERROR] = end_of_dump, [NLMSG_DONE] = end_of_dump };
	char buffer[ANSWER_MAX];
	struct mnl_socket *socket;
	unsigned int port;
	ssize_t n;
	int ret;

	socket = mnl_socket_open(NETLINK_RDMA);
	if (!socket)
		return errno;
	ret = mnl_socket_bind(socket, 0, MNL_SOCKET_AUTOPID);
	if (ret < 0)
		goto out;
	port = mnl_socket_get_portid(socket);
	request->nlmsg_seq = time(NULL);
	ret = mnl_socket_sendto(socket, request, request->nlmsg_len) < 0 ? -1 : MNL_CB_OK;
	while (ret > MNL_CB_STOP) {
		n = mnl_socket_recvfrom(socket, buffer, sizeof(buffer));
		ret = n < 0 ? -1 : mnl_cb_run2(buffer, n, request->nlmsg_seq, port, answer, arg,
					       control, MNL_ARRAY_SIZE(control));
	}
out:
	ret = ret < 0 ? errno : 0;
	mnl_socket_close(socket);
	return ret;
}

static struct nlmsghdr *dump_request(char *buffer, int command)
{
	struct nlmsghdr *header = mnl_nlmsg_put_header(buffer);

	header->nlmsg_type = RDMA_NL_GET_TYPE(RDMA_NL_NLDEV, command);
	header->nlmsg_flags = NLM_F_REQUEST | NLM_F_ACK | NLM_F_DUMP;
	return header;
}

/* ---- the device's index ------------------------------------------------------------- */

struct search {
	const char *name;
	uint32_t index;
	bool found;
};

static int match_device(const struct nlmsghdr *header, void *arg)
{
	struct search *search = arg;
	const struct nlattr *attr, *name = NULL, *index = NULL;

	mnl_attr_for_each(attr, header, 0) {
		if (mnl_attr_get_type(attr) == RDMA_NLDEV_ATTR_DEV_NAME)
			name = attr;
		if (mnl_attr_get_type(attr) == RDMA_NLDEV_ATTR_DEV_INDEX)
			index = attr;
	}
	if (name && index && !strcmp(mnl_attr_get_str(name), search->name)) {
		search->index = mnl_attr_get_u32(index);
		search->found = true;
	}
	return MNL_CB_OK;
}

static int find_device(const char *name, uint32_t *index)
{
	char buffer[MNL_NLMSG_HDRLEN];
	struct search search = { .name = name };
	int ret = ask(dump_request(buffer, RDMA_NLDEV_CMD_GET), match_device, &search);

	if (!ret && !search.found)
		ret = ENODEV;
	*index = search.index;
	return ret;
}

/* ---- a QP ------------------------------------------------------------------------------ */

static void put_wq(struct tracked_wq *wq, const char *name, uint64_t value)
{
	const struct {
		const char *name;
		uint64_t *value;
	} fields[] = {
		{ "entry_size", &wq->entry_size }, { "entries", &wq->entries },
		{ "max_wr", &wq->max_wr }, { "max_batch", &wq->max_batch },
		{ "caps", &wq->caps }, { "ring_length", &wq->ring_length },
		{ "db_offset", &wq->db_offset }, { "pipeline", &wq->pipeline },
	};

	for (unsigned int i = 0; i < sizeof(fields) / sizeof(fields[0]); i++)
		if (!strcmp(name, fields[i].name))
			*fields[i].value = value;
}

static void put_number(struct tracked_qp *qp, const char *name, uint64_t value)
{
	if (!strcmp(name, "uid")) {
		qp->uid = value;
		qp->dvq = true;
	} else if (!strncmp(name, "sq_", 3)) {
		put_wq(&qp->sq, name + 3, value);
	} else if (!strncmp(name, "rq_", 3)) {
		put_wq(&qp->rq, name + 3, value);
	}
}

static void put_string(struct tracked_qp *qp, const char *name, const char *value)
{
	if (!strcmp(name, "sq_mem"))
		snprintf(qp->sq.mem, sizeof(qp->sq.mem), "%s", value);
	else if (!strcmp(name, "rq_mem"))
		snprintf(qp->rq.mem, sizeof(qp->rq.mem), "%s", value);
}

/* pairs of a name and a value; a string that follows a name is the value */
static void read_driver(struct tracked_qp *qp, const struct nlattr *table)
{
	const char *name = NULL;
	const struct nlattr *attr;

	mnl_attr_for_each_nested(attr, table) {
		switch (mnl_attr_get_type(attr)) {
		case RDMA_NLDEV_ATTR_DRIVER_STRING:
			if (name)
				put_string(qp, name, mnl_attr_get_str(attr));
			name = name ? NULL : mnl_attr_get_str(attr);
			break;
		case RDMA_NLDEV_ATTR_DRIVER_U32:
			if (name)
				put_number(qp, name, mnl_attr_get_u32(attr));
			name = NULL;
			break;
		case RDMA_NLDEV_ATTR_DRIVER_U64:
			if (name)
				put_number(qp, name, mnl_attr_get_u64(attr));
			name = NULL;
			break;
		default:	/* how to print it */
			break;
		}
	}
}

static const char *type_name(uint8_t type)
{
	static const char *const names[] = {
		[2] = "RC", [3] = "UC", [4] = "UD", [1] = "GSI", [0] = "SMI",
	};

	return type < sizeof(names) / sizeof(names[0]) && names[type] ? names[type] : "driver";
}

static void read_owner(struct tracked_qp *qp)
{
	char path[64];
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%u/comm", qp->pid);
	file = fopen(path, "r");
	if (!file)
		return;
	if (fgets(qp->owner, sizeof(qp->owner), file))
		qp->owner[strcspn(qp->owner, "\n")] = 0;
	fclose(file);
}

static void read_qp(struct tracked_qp *qp, const struct nlattr *entry)
{
	const struct nlattr *attr;

	mnl_attr_for_each_nested(attr, entry) {
		switch (mnl_attr_get_type(attr)) {
		case RDMA_NLDEV_ATTR_RES_LQPN:
			qp->qp_num = mnl_attr_get_u32(attr);
			break;
		case RDMA_NLDEV_ATTR_RES_TYPE:
			if (!qp->type[0])
				snprintf(qp->type, sizeof(qp->type), "%s",
					 type_name(mnl_attr_get_u8(attr)));
			break;
		case ATTR_RES_SUBTYPE:
			snprintf(qp->type, sizeof(qp->type), "%s", mnl_attr_get_str(attr));
			break;
		case RDMA_NLDEV_ATTR_RES_STATE:
			qp->state = mnl_attr_get_u8(attr);
			break;
		case RDMA_NLDEV_ATTR_RES_PID:
			qp->pid = mnl_attr_get_u32(attr);
			read_owner(qp);
			break;
		case RDMA_NLDEV_ATTR_RES_KERN_NAME:
			snprintf(qp->owner, sizeof(qp->owner), "[%s]", mnl_attr_get_str(attr));
			break;
		case RDMA_NLDEV_ATTR_DRIVER:
			read_driver(qp, attr);
			break;
		}
	}
}

struct listing {
	void (*show)(const struct tracked_qp *qp, void *arg);
	void *arg;
};

static int take_qps(const struct nlmsghdr *header, void *arg)
{
	const struct listing *listing = arg;
	const struct nlattr *attr, *entry;

	mnl_attr_for_each(attr, header, 0) {
		if (mnl_attr_get_type(attr) != RDMA_NLDEV_ATTR_RES_QP)
			continue;
		mnl_attr_for_each_nested(entry, attr) {
			struct tracked_qp qp = { 0 };

			read_qp(&qp, entry);
			listing->show(&qp, listing->arg);
		}
	}
	return MNL_CB_OK;
}

int restrack_qps(const char *device, void (*show)(const struct tracked_qp *qp, void *arg),
		 void *arg)
{
	struct listing listing = { .show = show, .arg = arg };
	struct nlmsghdr *request;
	char buffer[128];
	uint32_t index;
	int ret;

	ret = find_device(device, &index);
	if (ret)
		return ret;
	request = dump_request(buffer, RDMA_NLDEV_CMD_RES_QP_GET);
	mnl_attr_put_u32(request, RDMA_NLDEV_ATTR_DEV_INDEX, index);
	mnl_attr_put_u8(request, ATTR_DRIVER_DETAILS, 1);
	return ask(request, take_qps, &listing);
}
