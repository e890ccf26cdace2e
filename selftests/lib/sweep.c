// SPDX-License-Identifier: GPL-2.0
#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <unistd.h>

#include "lab.h"
#include "model.h"
#include "resource.h"
#include "sweep.h"
#include "uverbs.h"

#define POINT_SECONDS	(60 * lab_slow())	/* for one try of an operation; then it hangs */
#define POINTS_MAX	2000	/* of one operation; more is a test that does not end */
#define COMMANDS_MAX	16	/* kinds of admin commands in one operation */
#define KINDS_MAX	64	/* in all of them */

/* ---- accounts ---------------------------------------------------------------------- */

/**
 * struct accounts - what there is at one moment
 *
 * @model: in the adapter
 * @resources: in the kernel
 * @device: what dvq counts itself
 * @mappings: of the adapter's files in this process
 * @pinned: KiB of this process that do not move
 * @files: that it has open
 */
struct accounts {
	struct model_stats model;
	struct resources resources;
	struct dvq_device_info device;
	unsigned int mappings, pinned, files;
};

static unsigned int count_lines(const char *path, const char *what)
{
	FILE *in = fopen(path, "r");
	unsigned int lines = 0;
	char line[512];

	LAB_NEED(in, "%s: %s", path, strerror(errno));
	while (fgets(line, sizeof(line), in))
		lines += !!strstr(line, what);
	fclose(in);
	return lines;
}

static unsigned int pinned_kib(void)
{
	FILE *in = fopen("/proc/self/status", "r");
	unsigned int kib = 0;
	char line[512];

	LAB_NEED(in, "/proc/self/status: %s", strerror(errno));
	while (fgets(line, sizeof(line), in))
		if (!strncmp(line, "VmPin:", 6))
			kib = strtoul(line + 6, NULL, 10);
	fclose(in);
	return kib;
}

static unsigned int open_files(void)
{
	unsigned int files = 0;
	glob_t found;

	if (!glob("/proc/self/fd/*", GLOB_NOSORT, NULL, &found)) {
		files = found.gl_pathc;
		globfree(&found);
	}
	return files;
}

static struct dvq_device_info device_info(void)
{
	struct dvq_device_info info = {};
	struct uv_call call;
	int err;

	if (!self->dvq)
		return info;
	uv_start(&call, DVQ_OBJECT, DVQ_METHOD_QUERY_DEVICE);
	uv_out(&call, DVQ_ATTR_QUERY_DEVICE_INFO, &info, sizeof(info));
	err = uv_run(self->context->cmd_fd, &call);
	LAB_NEED(!err, "asking dvq of the device: %s", strerror(-err));
	return info;
}

static void take_accounts(struct accounts *accounts)
{
	accounts->model.text[0] = 0;
	if (self->model[0])
		model_stats(self->model, &accounts->model);
	accounts->resources = resources_now(self);
	accounts->device = device_info();
	accounts->mappings = count_lines("/proc/self/maps", "infiniband");
	accounts->pinned = pinned_kib();
	accounts->files = open_files();
}

static unsigned int leaks;	/* so far, of the operation */

static void expect_count(const char *what, const char *name, uint64_t now, uint64_t before)
{
	if (now == before)
		return;
	leaks++;
	lab_note(__FILE__, __LINE__, "%s: %llu %s, were %llu", what, (unsigned long long)now, name,
		 (unsigned long long)before);
}

static void expect_in_adapter(const struct accounts *before, const struct accounts *now,
			      const char *what)
{
	if (!self->model[0])
		return;
	for (const char *const *object = adapter_objects(self); *object; object++)
		expect_count(what, *object, model_stat(&now->model, *object),
			     model_stat(&before->model, *object));
}

static void expect_accounts(const struct accounts *before, const char *what)
{
	static struct accounts now;

	take_accounts(&now);
	expect_in_adapter(before, &now, what);
	leaks += !resources_expect(self, &before->resources, what);
	expect_count(what, "address handles", now.device.ahs, before->device.ahs);
	expect_count(what, "bytes of controller memory free", now.device.cmb_free,
		     before->device.cmb_free);
	expect_count(what, "mappings", now.mappings, before->mappings);
	expect_count(what, "KiB pinned", now.pinned, before->pinned);
	expect_count(what, "open files", now.files, before->files);
}

/* ---- one try ----------------------------------------------------------------------- */

static void must(const struct operation *operation, step_fn step, const char *name)
{
	int err = step ? step(operation) : 0;

	LAB_NEED(!err, "%s: %s: %s", operation->name, name, strerror(-err));
}

/* what there must be after a failure: all that was, but for what the core does not account for */
static const struct accounts *after_failure(const struct operation *operation,
					    const struct accounts *before)
{
	static struct accounts accounts;

	accounts = *before;
	for (unsigned int i = 0; operation->untracked && i < accounts.resources.kinds; i++)
		if (!strcmp(accounts.resources.of[i].name, operation->untracked))
			accounts.resources.of[i].count--;
	return &accounts;
}

/* It failed with @err: nothing has changed, and now it succeeds. */
static void expect_undone(const struct operation *operation, int err,
			  const struct accounts *before, const char *what)
{
	/* It may be gone already, and only the answer could not be given. */
	if (operation->destroys && err == -EFAULT) {
		err = operation->run(operation);
		LAB_NEED(!err || err == -ENOENT, "%s: then: %s", what, strerror(-err));
		return;
	}
	if (!operation->partly)
		expect_accounts(after_failure(operation, before), what);
	if (operation->held && !operation->held(operation))
		lab_note(__FILE__, __LINE__, "%s: it has changed something", what);
	err = operation->run(operation);
	LAB_NEED(!err, "%s: it does not succeed afterwards: %s", what, strerror(-err));
}

/* Gets from what a try left, whatever it was, to what was there before it was prepared. */
static void finish_try(const struct operation *operation, int err, const struct accounts *start,
		       const struct accounts *before, const char *what)
{
	if (err)
		expect_undone(operation, err, before, what);
	must(operation, operation->undo, "undoing it");
	must(operation, operation->tidy, "undoing what it needs");
	expect_accounts(start, what);
}

/* ---- admin commands ------------------------------------------------------------------- */

/* an answer of the adapter, and what it is to the user */
struct refusal {
	unsigned int status;
	int err;
};

static const struct refusal of_efa[] = {
	{ 1, -ENOMEM }, { 3, -EOPNOTSUPP }, { 5, -EINVAL }, { 7, -EBUSY }, {},
};

static const struct refusal of_ionic[] = {
	{ 1, -EOPNOTSUPP }, { 3, -EINVAL }, { 7, -EIO }, {},
};

struct commands {
	unsigned int count;
	char name[COMMANDS_MAX][32];
};

/* the kinds that have failed since sweep_begin() */
static struct {
	unsigned int count;
	char name[KINDS_MAX][32];
} kinds;

static bool has_had(const char *command)
{
	for (unsigned int i = 0; i < kinds.count; i++)
		if (!strcmp(kinds.name[i], command))
			return true;
	return false;
}

static void note_failed(const char *command)
{
	if (has_had(command))
		return;
	LAB_NEED(kinds.count < KINDS_MAX, "more commands than there can be");
	strcpy(kinds.name[kinds.count++], command);
}

void sweep_begin(void)
{
	kinds.count = 0;
}

void sweep_expect(const char *const *commands)
{
	for (; *commands; commands++)
		if (!has_had(*commands))
			lab_note(__FILE__, __LINE__, "%s: in no operation was it there to fail", *commands);
}

/* "admin_NAME=COUNT" of the model's counters; sums are no command */
static bool next_command(const char **text, char *name, size_t size)
{
	while ((*text = strstr(*text, "admin_"))) {
		size_t len;

		*text += strlen("admin_");
		len = strcspn(*text, "=");
		if (len >= size || !strncmp(*text, "errors", len))
			continue;
		memcpy(name, *text, len);
		name[len] = 0;
		return true;
	}
	return false;
}

static void compare(const struct model_stats *before, const struct model_stats *after,
		    struct commands *commands)
{
	const char *text = after->text;
	char name[32], key[64];

	commands->count = 0;
	while (next_command(&text, name, sizeof(name))) {
		snprintf(key, sizeof(key), "admin_%s", name);
		if (model_stat(after, key) == model_stat(before, key))
			continue;
		LAB_NEED(commands->count < COMMANDS_MAX, "more than %d commands", COMMANDS_MAX);
		strcpy(commands->name[commands->count++], name);
	}
}

/* does it once, to see which kinds of commands there are in it */
static void learn(const struct operation *operation, struct commands *commands)
{
	static struct model_stats before, after;

	alarm(POINT_SECONDS);
	must(operation, operation->prepare, "what it needs");
	model_stats(self->model, &before);
	must(operation, operation->run, "without a fault");
	model_stats(self->model, &after);
	must(operation, operation->undo, "undoing it");
	must(operation, operation->tidy, "undoing what it needs");
	compare(&before, &after, commands);
}

/* true if the rule was used up */
static bool has_fired(void)
{
	bool fired = !model_ask(self->model, "inject list")[0];

	model_ask(self->model, "inject clear");
	return fired;
}

/* the @nth command of that name is refused; false if there is no such one */
static bool try_refusal(const struct operation *operation, const char *command, unsigned int nth,
			const struct refusal *refusal, const struct accounts *start)
{
	static struct accounts before;
	char what[160];
	bool fired;
	int err, want;

	snprintf(what, sizeof(what), "%s, %s %u refused with %u", operation->name, command, nth,
		 refusal->status);
	alarm(POINT_SECONDS);
	must(operation, operation->prepare, "what it needs");
	take_accounts(&before);
	model_ask(self->model, "inject op=%s nth=%u action=fail status=%u", command, nth,
		  refusal->status);
	err = operation->run(operation);
	fired = has_fired();
	want = fired ? refusal->err : 0;
	if (want && operation->expect)
		want = operation->expect(command, want);
	if (err != want)
		lab_note(__FILE__, __LINE__, "%s: %d (%s), wanted %d", what, err, strerror(-err),
			 want);
	finish_try(operation, err, start, &before, what);
	return fired;
}

void sweep_commands(const struct operation *operation)
{
	const struct refusal *refusals = self->kind == ADAPTER_EFA ? of_efa : of_ionic;
	static struct accounts start;
	unsigned int points = 0;
	struct commands commands;

	leaks = 0;
	take_accounts(&start);
	learn(operation, &commands);
	expect_accounts(&start, operation->name);
	for (unsigned int i = 0; i < commands.count; i++)
		for (const struct refusal *refusal = refusals; refusal->status; refusal++) {
			unsigned int nth = 1;

			while (try_refusal(operation, commands.name[i], nth, refusal, &start))
				nth++;
			if (nth > 1)
				note_failed(commands.name[i]);
			if (refusal == refusals)
				points += nth - 1;
		}
	printf("# %s: %u admin failure points, %u leaks\n", operation->name, points, leaks);
}

/* ---- silence --------------------------------------------------------------------------- */

/* Destroying succeeds with an adapter that has failed. */
static int without_answer(const struct operation *operation, const char *command)
{
	int err = self->kind == ADAPTER_EFA ? -ETIME : -ENODEV;

	if (operation->destroys)
		return 0;
	return operation->expect ? operation->expect(command, err) : err;
}

static void try_silence(const struct operation *operation, const char *command)
{
	int want = without_answer(operation, command), err;
	struct resources before;
	char what[160];

	snprintf(what, sizeof(what), "%s, %s not answered", operation->name, command);
	alarm(POINT_SECONDS);
	must(operation, operation->prepare, "what it needs");
	before = resources_now(self);
	model_ask(self->model, "inject op=%s action=drop", command);
	err = operation->run(operation);
	if (!has_fired())
		lab_note(__FILE__, __LINE__, "%s: it was not even asked", what);
	if (err != want)
		lab_note(__FILE__, __LINE__, "%s: %d (%s), wanted %d", what, err, strerror(-err), want);
	if (err)
		resources_expect(self, &before, what);
	else
		must(operation, operation->undo, "undoing it");
	must(operation, operation->tidy, "undoing what it needs");
	printf("# %s: %s\n", what, err ? strerror(-err) : "success");
}

bool sweep_silence(const struct operation *operation)
{
	struct commands commands;

	learn(operation, &commands);
	for (unsigned int i = 0; i < commands.count; i++)
		if (!has_had(commands.name[i])) {
			note_failed(commands.name[i]);
			try_silence(operation, commands.name[i]);
			return true;
		}
	return false;
}

/* ---- allocations ------------------------------------------------------------------------- */

#define DEBUG	"/sys/kernel/debug"
#define NTH	"/proc/thread-self/fail-nth"

static bool write_text(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC);
	bool ok = fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text);

	if (fd >= 0)
		close(fd);
	return ok;
}

const char *sweep_no_allocations(void)
{
	if (access(NTH, W_OK))
		return "needs a kernel with CONFIG_FAULT_INJECTION: make check-debug has one";
	if (access(DEBUG "/failslab", F_OK) && mount("debugfs", DEBUG, "debugfs", 0, NULL))
		return "cannot mount " DEBUG;
	/* else only what may not wait fails */
	if (!write_text(DEBUG "/failslab/ignore-gfp-wait", "N") ||
	    !write_text(DEBUG "/fail_page_alloc/ignore-gfp-wait", "N") ||
	    !write_text(DEBUG "/fail_page_alloc/ignore-gfp-highmem", "N") ||
	    !write_text(DEBUG "/fail_page_alloc/min-order", "0"))
		return "needs a kernel with CONFIG_FAILSLAB and CONFIG_FAIL_PAGE_ALLOC";
	/* a stack for each would look like a fault in the kernel's log */
	write_text(DEBUG "/failslab/verbose", "0");
	write_text(DEBUG "/fail_page_alloc/verbose", "0");
	write_text(DEBUG "/fail_usercopy/verbose", "0");
	/* for selftests/vm/klog; an error, so that it is on the console, too */
	write_text("/dev/kmsg", "<3>dvq-test: allocations fail from here on\n");
	return NULL;
}

static void fail_nth(int fd, unsigned int nth)
{
	char text[16];
	int len = snprintf(text, sizeof(text), "%u", nth);

	/* what is still to fail may be this */
	if (pwrite(fd, text, len, 0) != len)
		LAB_NEED(pwrite(fd, text, len, 0) == len, NTH ": %s", strerror(errno));
}

/* true if so many were passed. To read is to pass one more. */
static bool has_failed(int fd)
{
	char text[16] = "";
	ssize_t len = pread(fd, text, sizeof(text) - 1, 0);

	return len > 0 && !strtoul(text, NULL, 10);
}

/*
 * What an allocation or an access to the caller's memory is to the caller when it fails. The core
 * says EAGAIN when it cannot map registers, sockets and netlink ENFILE and ENOBUFS; and ionic.ko
 * does not tell whether memory for its books or controller memory is lacking, so that is ENOSPC.
 */
static bool is_lack(int err)
{
	return err == -ENOMEM || err == -EFAULT || err == -ENOBUFS || err == -ENFILE ||
	       err == -EAGAIN || err == -ENOSPC;
}

/* false if there are not as many */
static bool try_lack(const struct operation *operation, int fd, unsigned int nth,
		     const struct accounts *start)
{
	static struct accounts before;
	char what[160];
	bool failed;
	int err;

	snprintf(what, sizeof(what), "%s, allocation or access %u fails", operation->name, nth);
	alarm(POINT_SECONDS);
	must(operation, operation->prepare, "what it needs");
	take_accounts(&before);
	fail_nth(fd, nth);
	err = operation->run(operation);
	failed = has_failed(fd);
	fail_nth(fd, 0);
	if (err && (!failed || !is_lack(err)))
		lab_note(__FILE__, __LINE__, "%s: %d (%s)", what, err, strerror(-err));
	finish_try(operation, err, start, &before, what);
	return failed;
}

void sweep_allocations(const struct operation *operation)
{
	int fd = open(NTH, O_RDWR | O_CLOEXEC);
	static struct accounts start;
	unsigned int nth = 1;

	if (operation->answers) {
		close(fd);
		return;
	}
	LAB_NEED(fd >= 0, NTH ": %s", strerror(errno));
	leaks = 0;
	take_accounts(&start);
	while (nth <= POINTS_MAX && try_lack(operation, fd, nth, &start))
		nth++;
	close(fd);
	if (nth == 1)	/* each at least copies something from the caller */
		lab_note(__FILE__, __LINE__, "%s: nothing in it could fail", operation->name);
	if (nth > POINTS_MAX)
		lab_note(__FILE__, __LINE__, "%s: still failing after %u", operation->name, nth);
	printf("# %s: %u allocation failure points, %u leaks\n", operation->name, nth - 1, leaks);
}
