// SPDX-License-Identifier: GPL-2.0
/*
 * dvq - what the adapters of this machine are, and where the queues of their programs lie.
 *
 *	dvq list		the RDMA devices, who drives them, what they can do
 *	dvq show DEV		the work queues of the live QPs of a device
 *	dvq placement DEV	in which memory they are, and who may have them elsewhere
 *	dvq doctor [--json]	which layer between adapter and program is at fault, and what to do
 *	dvq --help		these lines
 *
 * Exit status: 0; 1 if something could not be found out, or a layer is at fault; 2 for wrong usage.
 */
#include <dvq/dvq.h>
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "doctor.h"
#include "restrack.h"
#include "sysfs.h"

static int usage(const char *what)
{
	fprintf(stderr, "dvq: %s; usage: dvq list | dvq show DEV | dvq placement DEV | dvq doctor [--json]\n",
		what);
	return 2;
}

static int help(void)
{
	printf("usage: dvq list\t\t\tthe RDMA devices, who drives them, what they can do\n"
	       "       dvq show DEVICE\t\tthe work queues of the live QPs of a device\n"
	       "       dvq placement DEVICE\tin which memory they are, and who may have them elsewhere\n"
	       "       dvq doctor [--json]\twhich layer between adapter and program is at fault, and what to do\n");
	return 0;
}

/* ---- list ------------------------------------------------------------------------------ */

/*
 * The driver of the PCI device; where that shares it with an RDMA driver, the one of the
 * auxiliary device for that, whose name in sysfs is "driver.name".
 */
static void driver_of(struct ibv_device *device, char *name, size_t size)
{
	char auxiliary[NAME_MAX];

	if (sysfs_find(auxiliary, sizeof(auxiliary), "%s/device/*.rdma.*", device->ibdev_path) &&
	    sysfs_link(name, size, "%s/device/%s/driver", device->ibdev_path, auxiliary))
		name[strcspn(name, ".")] = 0;
	else if (!sysfs_link(name, size, "%s/device/driver", device->ibdev_path))
		snprintf(name, size, "(none)");
}

struct cap_name {
	uint64_t cap;
	const char *name;
};

static void print_names(uint64_t caps, const struct cap_name *names, unsigned int n)
{
	const char *comma = "";

	for (unsigned int i = 0; i < n; i++)
		if (caps & names[i].cap) {
			printf("%s%s", comma, names[i].name);
			comma = ",";
		}
	printf("%s\n", *comma ? "" : "-");
}

#define N(array)	(sizeof(array) / sizeof((array)[0]))

static const struct cap_name device_caps[] = {
	{ DVQ_DEVICE_RDMA_READ, "rdma-read" }, { DVQ_DEVICE_RDMA_WRITE, "rdma-write" },
	{ DVQ_DEVICE_RNR_RETRY, "rnr-retry" }, { DVQ_DEVICE_UNSOLICITED, "unsolicited" },
	{ DVQ_DEVICE_64BIT_IDS, "64-bit-ids" }, { DVQ_DEVICE_WQE_128, "wqe-128" },
	{ DVQ_DEVICE_CQ_EVENTS, "cq-events" }, { DVQ_DEVICE_SQ_ALWAYS_CMB, "sq-always-cmb" },
	{ DVQ_DEVICE_SQ_CMB, "sq-cmb" }, { DVQ_DEVICE_RQ_CMB, "rq-cmb" },
	{ DVQ_DEVICE_SQ_EXPDB, "sq-express" }, { DVQ_DEVICE_RQ_EXPDB, "rq-express" },
	{ DVQ_DEVICE_DATA_POLLING_128, "data-polling-128" },
};

static const struct cap_name wq_caps[] = {
	{ DVQ_WQ_HINTS, "hints" }, { DVQ_WQ_64BIT_IDS, "64-bit-ids" }, { DVQ_WQ_EXPDB, "express" },
};

static int list_device(struct ibv_device *device)
{
	struct ibv_context *context = ibv_open_device(device);
	int ret, err = errno;
	struct dvq_device_info info;
	char driver[64];

	driver_of(device, driver, sizeof(driver));
	printf("%-16s %-12s ", ibv_get_device_name(device), driver);
	if (!context) {
		printf("cannot be opened: %s\n", strerror(err));
		return 1;
	}
	ret = dvq_device_query(context, &info, sizeof(info));
	if (!ret) {
		printf("%-5s ", "yes");
		print_names(info.caps, device_caps, N(device_caps));
	} else {
		printf("%-5s %s\n", "no", dvq_reason());
	}
	ibv_close_device(context);
	return ret && ret != EOPNOTSUPP;
}

static int list(void)
{
	struct ibv_device **devices;
	int n, status = 0;

	devices = ibv_get_device_list(&n);
	if (!devices) {
		fprintf(stderr, "dvq: the RDMA devices cannot be listed: %s (is ib_uverbs loaded?)\n",
			strerror(errno));
		return 1;
	}
	if (n)
		printf("%-16s %-12s %-5s %s\n", "DEVICE", "DRIVER", "DVQ", "CAN");
	else
		fprintf(stderr, "dvq: there are no RDMA devices: load the driver (modprobe dvq_efa or dvq_ionic)\n");
	for (int i = 0; i < n; i++)
		status |= list_device(devices[i]);
	ibv_free_device_list(devices);
	return status;
}

/* ---- show ------------------------------------------------------------------------------- */

static const char *state_name(uint8_t state)
{
	static const char *const names[] = { "RESET", "INIT", "RTR", "RTS", "SQD", "SQE", "ERR" };

	return state < sizeof(names) / sizeof(names[0]) ? names[state] : "?";
}

static void print_wq(const char *name, const struct tracked_wq *wq)
{
	if (!wq->entries)
		return;
	printf("  %s  %-5s %7" PRIu64 " x %3" PRIu64 " B  wr %6" PRIu64 "  batch %5" PRIu64
	       "  ring %8" PRIu64 " B  doorbell +0x%03" PRIx64 "  pipeline %" PRIu64 "  ",
	       name, wq->mem, wq->entries, wq->entry_size, wq->max_wr, wq->max_batch,
	       wq->ring_length, wq->db_offset, wq->pipeline);
	print_names(wq->caps, wq_caps, N(wq_caps));
}

static void print_qp(const struct tracked_qp *qp, void *count)
{
	++*(unsigned int *)count;
	printf("QP %-6u %-6s %-5s", qp->qp_num, qp->type, state_name(qp->state));
	if (qp->pid)
		printf("  pid %u", qp->pid);
	printf("  %s\n", qp->owner);
	if (!qp->dvq)
		printf("  the driver tells nothing of its queues: it is not one of dvq's\n");
	print_wq("SQ", &qp->sq);
	print_wq("RQ", &qp->rq);
}

static int print_qps(const char *device, void (*print)(const struct tracked_qp *qp, void *count))
{
	unsigned int count = 0;
	int ret = restrack_qps(device, print, &count);

	if (ret) {
		fprintf(stderr, "dvq: %s: %s\n", device,
			ret == ENODEV ? "there is no such RDMA device, see 'dvq list'" :
			ret == EPROTONOSUPPORT ? "there are no RDMA devices: ib_core is not loaded" :
					strerror(ret));
		return 1;
	}
	if (!count)
		printf("%s has no QPs\n", device);
	return 0;
}

static int show(const char *device)
{
	return print_qps(device, print_qp);
}

/* ---- placement -------------------------------------------------------------------------- */

static const char *place_of(const struct tracked_wq *wq)
{
	if (strcmp(wq->mem, "cmb"))
		return strcmp(wq->mem, "user") ? "host memory" : "host memory of the program";
	return wq->caps & DVQ_WQ_EXPDB ? "controller memory with express doorbell" :
					 "controller memory";
}

static void print_place(const char *name, const struct tracked_wq *wq)
{
	if (wq->entries)
		printf("  %-14s %s, %" PRIu64 " bytes\n", name, place_of(wq),
		       wq->entries * wq->entry_size);
}

static void print_places(const struct tracked_qp *qp, void *count)
{
	++*(unsigned int *)count;
	printf("QP %u %s", qp->qp_num, qp->type);
	if (qp->pid)
		printf(" pid %u", qp->pid);
	printf(" %s\n", qp->owner);
	if (!qp->dvq)
		printf("  the driver tells nothing of its queues: it is not one of dvq's\n");
	print_place("send queue", &qp->sq);
	print_place("receive queue", &qp->rq);
}

static void print_modes(const struct ibv_device *device)
{
	char sq[32], rq[32];

	/* a device without them has nothing to choose */
	if (sysfs_line(sq, sizeof(sq), "%s/sq_placement", device->ibdev_path) &&
	    sysfs_line(rq, sizeof(rq), "%s/rq_placement", device->ibdev_path))
		printf("modes: send queues %s, receive queues %s\n", sq, rq);
}

static int print_memory(struct ibv_device *device)
{
	struct ibv_context *context = ibv_open_device(device);
	struct dvq_device_info info;
	int ret;

	if (!context) {
		fprintf(stderr, "dvq: %s: cannot be opened: %s\n", ibv_get_device_name(device),
			strerror(errno));
		return 1;
	}
	ret = dvq_device_query(context, &info, sizeof(info));
	if (ret)
		fprintf(stderr, "dvq: %s\n", dvq_reason());
	else if (info.caps & DVQ_DEVICE_SQ_ALWAYS_CMB)
		printf("controller memory: of every send queue, there is nothing to choose\n");
	else if (!info.cmb_bytes)
		printf("controller memory: none\n");
	else
		printf("controller memory: %" PRIu64 " bytes, %" PRIu64 " free\n",
		       (uint64_t)info.cmb_bytes, (uint64_t)info.cmb_free);
	ibv_close_device(context);
	return ret ? 1 : 0;
}

/* NULL with a message: there is no such device. The list goes to *@list, to be freed */
static struct ibv_device *find_device(const char *name, struct ibv_device ***list)
{
	*list = ibv_get_device_list(NULL);
	for (int i = 0; *list && (*list)[i]; i++)
		if (!strcmp(ibv_get_device_name((*list)[i]), name))
			return (*list)[i];
	fprintf(stderr, "dvq: %s: there is no such RDMA device, see 'dvq list'\n", name);
	return NULL;
}

static int placement(const char *name)
{
	struct ibv_device **list, *device = find_device(name, &list);
	int status = 1;

	if (device)
		status = print_memory(device);
	if (!status) {
		print_modes(device);
		status = print_qps(name, print_places);
	}
	if (list)
		ibv_free_device_list(list);
	return status;
}

int main(int argc, char **argv)
{
	if (argc < 2)
		return usage("a command is missing");
	if (!strcmp(argv[1], "--help") || !strcmp(argv[1], "-h") || !strcmp(argv[1], "help"))
		return help();
	if (!strcmp(argv[1], "list"))
		return argc == 2 ? list() : usage("'list' takes no arguments");
	if (!strcmp(argv[1], "show"))
		return argc == 3 ? show(argv[2]) : usage("'show' takes one device");
	if (!strcmp(argv[1], "placement"))
		return argc == 3 ? placement(argv[2]) : usage("'placement' takes one device");
	if (!strcmp(argv[1], "doctor")) {
		if (argc == 2)
			return doctor(false);
		return argc == 3 && !strcmp(argv[2], "--json") ? doctor(true) :
			usage("'doctor' takes --json only");
	}
	return usage("there is no such command");
}
