// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/*
 * The stock direct-verbs libraries, for what only the provider can do and for devices of
 * the in-tree drivers: how they are found, and libefa. ionic_dv.c has libionic.
 *
 * Provider and library are one shared object, and it knows objects by pointers of its
 * own: only the copy that made a context can work with it. So the object is looked for
 * that the context's functions lie in; a name comes second. Whatever is found is asked by
 * its own handle, never by the program's scope, where the same names may be ours.
 */
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "internal.h"

#define LIBEFA		"libefa.so.1"

struct entry {
	struct entry *next;
	void *handle;
	struct dvq_stock stock;
};

/*
 * Protects the list; entries stay, as a provider does. Who has it does not ask the loader, whose lock is held while
 * the constructor of a plug-in calls us.
 */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct entry *entries;

void dvq_stock_in_child(void)
{
	pthread_mutex_init(&lock, NULL);
	entries = NULL;
}

/* The number behind the last two dots: "libefa.so.1.7.65.0" is release 65. */
unsigned int dvq_stock_release(const char *file)
{
	const char *name = strrchr(file, '/');
	unsigned int node, release, patch;
	int end = 0;

	name = name ? name + 1 : file;
	if (strncmp(name, LIBEFA ".", sizeof(LIBEFA)))
		return 0;
	if (sscanf(name + sizeof(LIBEFA), "%u.%u.%u%n", &node, &release, &patch, &end) != 3)
		return 0;
	return name[sizeof(LIBEFA) + end] ? 0 : release;
}

/* file of the object that an address lies in; false: in none, or in the one we are in */
static bool object_of(const void *address, Dl_info *info)
{
	Dl_info own;

	if (!dladdr(address, info) || !info->dli_fname)
		return false;
	return !dladdr(&entries, &own) || own.dli_fbase != info->dli_fbase;
}

static unsigned int release_of(const void *address)
{
	unsigned int release;
	Dl_info info;
	char *real;

	if (!dladdr(address, &info) || !info.dli_fname)
		return 0;
	/* the plug-in is a link to the library's real name */
	real = realpath(info.dli_fname, NULL);
	release = dvq_stock_release(real ? real : info.dli_fname);
	free(real);
	return release;
}

void *dvq_stock_find(void *handle, const char *name)
{
	void *symbol = dlsym(handle, name);
	Dl_info info;

	return symbol && object_of(symbol, &info) ? symbol : NULL;
}

#define FIND(stock, handle, name)	((stock)->name = dvq_stock_find(handle, "efadv_" #name))

static void fill(struct dvq_stock *stock, void *handle)
{
	FIND(stock, handle, query_device);
	FIND(stock, handle, query_ah);
	FIND(stock, handle, query_mr);
	FIND(stock, handle, query_qp_wqs);
	FIND(stock, handle, query_cq);
	FIND(stock, handle, get_max_sq_depth);
	FIND(stock, handle, get_max_rq_depth);
	FIND(stock, handle, create_driver_qp);
	FIND(stock, handle, create_qp_ex);
	FIND(stock, handle, qp_from_ibv_qp_ex);
	FIND(stock, handle, create_cq);
	FIND(stock, handle, cq_from_ibv_cq_ex);
	FIND(stock, handle, create_comp_cntr);
	stock->release = release_of((void *)stock->create_driver_qp);
}

static void *try_handle(void *handle, const char *call)
{
	if (handle && dvq_stock_find(handle, call))
		return handle;
	if (handle)
		dlclose(handle);
	return NULL;
}

void *dvq_stock_open(struct ibv_context *context, const char *library, const char *call)
{
	void *code = dvq_provider_code(context);
	void *handle = NULL;
	Dl_info info;

	if (code && object_of(code, &info))
		handle = try_handle(dlopen(info.dli_fname, RTLD_LAZY | RTLD_NOLOAD), call);
	if (!handle)
		handle = try_handle(dlopen(library, RTLD_LAZY | RTLD_NOLOAD), call);
	if (!handle)
		handle = try_handle(dlopen(library, RTLD_LAZY | RTLD_LOCAL), call);
	return handle;
}

static struct entry *new_entry(void *handle)
{
	struct entry *entry = calloc(1, sizeof(*entry));

	if (entry) {
		entry->handle = handle;
		fill(&entry->stock, handle);
	}
	return entry;
}

/* the one of its handle that was there first */
static struct entry *keep_entry(struct entry *entry)
{
	struct entry **at = &entries;

	while (*at && (*at)->handle != entry->handle)
		at = &(*at)->next;
	if (*at)
		free(entry);
	else
		*at = entry;
	return *at;
}

static const struct dvq_stock *look_up(struct ibv_context *context)
{
	/* a call that is there since the first release */
	void *handle = dvq_stock_open(context, LIBEFA, "efadv_create_driver_qp");
	struct entry *entry;

	entry = handle ? new_entry(handle) : NULL;
	if (!entry)
		return NULL;
	dvq_see_process();
	pthread_mutex_lock(&lock);
	entry = keep_entry(entry);
	pthread_mutex_unlock(&lock);
	return &entry->stock;
}

/*
 * Looked up once per provider and thread: the data path comes here with every request.
 * Two contexts with the same posting function have the same provider.
 */
const struct dvq_stock *dvq_stock(struct ibv_context *context)
{
	static __thread const struct dvq_stock *last;
	static __thread const void *last_code;
	const void *code = dvq_posting_code(context);

	if (!last || last_code != code) {
		last = look_up(context);
		last_code = code;
	}
	return last;
}
