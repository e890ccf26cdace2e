// SPDX-License-Identifier: GPL-2.0
/* dvq-model: command line, the beginning and the end. See Documentation/model.rst. */
#include <ctype.h>
#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "control.h"
#include "device.h"
#include "engine.h"
#include "log.h"
#include "loop.h"
#include "slot.h"
#include "vfu.h"

#define WORDS_MAX	32	/* of one --device */
#define EXIT_VIOLATIONS	3

static const struct model_type *const types[] = {
	&efa_type,
	&ionic_type,
};

#define TYPES	(sizeof(types) / sizeof(types[0]))

/**
 * struct port - one --device: what it said, then what was made of it
 *
 * @words: a copy of the argument, cut up; @options: those for the device
 */
struct port {
	char *words;
	const struct model_type *type;
	const char *name;
	const char *socket;
	char *options[WORDS_MAX + 1];
	struct slot *slot;
	struct vfu *vfu;
};

static struct {
	const char *control_path;
	const char *log_path;
	bool verbose;
	bool strict_exit;
	struct port *ports;
	unsigned int count;
	FILE *log;
	struct control *control;
} model;

static void print_usage(FILE *out)
{
	fputs("usage: dvq-model --control SOCKET\n"
	      "                 --device TYPE,name=NAME,socket=SOCKET[,KEY=VALUE...]\n"
	      "                 [--device ...] [--log FILE] [--verbose] [--strict-exit]\n"
	      "Models RDMA adapters and waits for QEMU at their sockets. Prints \"ready\" when\n"
	      "all sockets exist; ends on SIGTERM or SIGINT, with status 3 if --strict-exit is\n"
	      "given and a driver has done what a correct one would not. Types:", out);
	for (unsigned int i = 0; i < TYPES; i++)
		fprintf(out, " %s", types[i]->name);
	fputs(".\n", out);
}

static const struct model_type *find_type(const char *name)
{
	for (unsigned int i = 0; i < TYPES; i++)
		if (!strcmp(types[i]->name, name))
			return types[i];
	return NULL;
}

/* names are words of the control channel */
static bool is_name(const char *name)
{
	size_t len = strlen(name);

	for (const char *c = name; *c; c++)
		if (!isalnum((unsigned char)*c) && !strchr("._-", *c))
			return false;
	return len && len < MODEL_NAME_MAX;
}

static bool is_taken(const char *name)
{
	for (unsigned int i = 0; i < model.count; i++)
		if (!strcmp(model.ports[i].name, name))
			return true;
	return false;
}

static int check_port(const struct port *port, const char *argument)
{
	if (!port->type) {
		fprintf(stderr, "--device must begin with a type (--help names them), not as '%s' "
			"does\n", argument);
		return -EINVAL;
	}
	if (!port->name || !is_name(port->name) || is_taken(port->name)) {
		fprintf(stderr, "--device '%s' must have name=NAME that no other has, of 1 to %d "
			"letters, digits, '.', '_' and '-'\n", argument, MODEL_NAME_MAX - 1);
		return -EINVAL;
	}
	if (!port->socket) {
		fprintf(stderr, "--device '%s' must have socket=PATH\n", argument);
		return -EINVAL;
	}
	return 0;
}

/* "TYPE,key=value,...": name and socket are ours, the rest is the device's */
static int parse_device(struct port *port, const char *argument)
{
	unsigned int count = 0;
	char *word, *rest;

	port->words = strdup(argument);
	if (!port->words)
		return -ENOMEM;
	rest = port->words;
	word = strsep(&rest, ",");
	port->type = find_type(word);
	while ((word = strsep(&rest, ","))) {
		if (!strncmp(word, "name=", 5)) {
			port->name = word + 5;
		} else if (!strncmp(word, "socket=", 7)) {
			port->socket = word + 7;
		} else if (count < WORDS_MAX) {
			port->options[count++] = word;
		} else {
			fprintf(stderr, "--device must have at most %d keys\n", WORDS_MAX);
			return -EINVAL;
		}
	}
	return check_port(port, argument);
}

static int add_device(const char *argument)
{
	struct port *ports = realloc(model.ports, (model.count + 1) * sizeof(*ports));
	int err;

	if (!ports) {
		fputs("there must be memory for one more --device\n", stderr);
		return -ENOMEM;
	}
	model.ports = ports;
	memset(&ports[model.count], 0, sizeof(*ports));
	err = parse_device(&ports[model.count], argument);
	if (err)
		free(ports[model.count].words);
	else
		model.count++;
	return err;
}

/* 0, or a negative errno after a sentence; -ECANCELED after --help */
static int parse_arguments(int argc, char **argv)
{
	enum { CONTROL, DEVICE, LOG, VERBOSE, STRICT_EXIT, HELP };
	static const struct option options[] = {
		{ "control", required_argument, NULL, CONTROL },
		{ "device", required_argument, NULL, DEVICE },
		{ "log", required_argument, NULL, LOG },
		{ "verbose", no_argument, NULL, VERBOSE },
		{ "strict-exit", no_argument, NULL, STRICT_EXIT },
		{ "help", no_argument, NULL, HELP },
		{ 0 },
	};
	int option, err;

	while ((option = getopt_long(argc, argv, "", options, NULL)) >= 0) {
		switch (option) {
		case CONTROL:
			model.control_path = optarg;
			break;
		case DEVICE:
			err = add_device(optarg);
			if (err)
				return err;
			break;
		case LOG:
			model.log_path = optarg;
			break;
		case VERBOSE:
			model.verbose = true;
			break;
		case STRICT_EXIT:
			model.strict_exit = true;
			break;
		case HELP:
			print_usage(stdout);
			return -ECANCELED;
		default:
			print_usage(stderr);
			return -EINVAL;
		}
	}
	if (optind < argc || !model.control_path || !model.count) {
		fputs("there must be one --control, at least one --device and no other argument\n",
		      stderr);
		return -EINVAL;
	}
	return 0;
}

static int open_log(void)
{
	model.log = stderr;
	if (model.log_path)
		model.log = fopen(model.log_path, "we");
	if (!model.log) {
		fprintf(stderr, "--log must name a file that can be written, not %s: %s\n",
			model.log_path, strerror(errno));
		return -errno;
	}
	log_to(model.log, model.verbose);
	return 0;
}

/* slots form a list in the order of the command line */
static int make_device(struct port *port, struct slot ***end)
{
	struct model_device *dev = port->type->create(port->name, port->options, stderr);

	if (!dev)
		return -EINVAL;
	port->slot = slot_create(dev, port->type->name, stderr);
	if (!port->slot)
		return -ENOMEM;
	**end = port->slot;
	*end = &port->slot->next;
	port->vfu = vfu_open(port->slot, port->socket, stderr);
	return port->vfu ? 0 : -EADDRNOTAVAIL;
}

static int make_devices(void)
{
	struct slot *slots = NULL, **end = &slots;

	for (unsigned int i = 0; i < model.count; i++) {
		int err = make_device(&model.ports[i], &end);

		if (err)
			return err;
	}
	model.control = control_open(slots, model.control_path, stderr);
	return model.control ? 0 : -EADDRNOTAVAIL;
}

static void close_all(void)
{
	if (model.control)
		control_close(model.control);
	for (unsigned int i = 0; i < model.count; i++)
		if (model.ports[i].vfu)
			vfu_close(model.ports[i].vfu);
	for (unsigned int i = 0; i < model.count; i++) {
		if (model.ports[i].slot)
			slot_destroy(model.ports[i].slot);
		free(model.ports[i].words);
	}
	free(model.ports);
	log_to(NULL, false);
	if (model.log && model.log != stderr)
		fclose(model.log);
}

static uint64_t report_violations(void)
{
	uint64_t total = 0;

	for (unsigned int i = 0; i < model.count; i++) {
		const struct model_device *dev = model.ports[i].slot->dev;

		printf("%s: %" PRIu64 " violations\n", dev->name, dev->violations);
		total += dev->violations;
	}
	return total;
}

static void signal_ready(struct loop_source *source, uint32_t events)
{
	struct signalfd_siginfo info;

	(void)events;
	if (read(source->fd, &info, sizeof(info)) == sizeof(info))
		loop_quit();
}

/* from "ready" to the signal; the exit status */
static int serve(void)
{
	struct loop_source source = { .ready = signal_ready };
	uint64_t violations;
	sigset_t signals;
	int status = 1;

	/* a guest's interrupt may be a pipe that nobody reads any more */
	signal(SIGPIPE, SIG_IGN);
	sigemptyset(&signals);
	sigaddset(&signals, SIGTERM);
	sigaddset(&signals, SIGINT);
	sigprocmask(SIG_BLOCK, &signals, NULL);
	source.fd = signalfd(-1, &signals, SFD_CLOEXEC);
	if (source.fd < 0 || loop_add(&source, EPOLLIN) || engine_start()) {
		fputs("there must be room for one more descriptor and one more thread\n", stderr);
		goto close_source;
	}
	puts("ready");
	fflush(stdout);
	loop_run();
	engine_stop();
	violations = report_violations();
	status = violations && model.strict_exit ? EXIT_VIOLATIONS : 0;
	loop_remove(&source);
close_source:
	if (source.fd >= 0)
		close(source.fd);
	return status;
}

int main(int argc, char **argv)
{
	int status = 1, err;

	err = parse_arguments(argc, argv);
	if (err) {
		close_all();
		return err == -ECANCELED ? 0 : 1;
	}
	if (!open_log() && !loop_open()) {
		if (!make_devices())
			status = serve();
		close_all();
		loop_close();
	} else {
		close_all();
	}
	return status;
}
