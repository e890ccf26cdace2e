// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/*
 * Memory that the kernel gives for a key.
 *
 * A ring that is opened gets mappings of its own and keeps them until it is closed. The
 * direct-verbs calls that return an address have no close; they borrow: where the
 * provider has the key mapped, its mapping is named, which lives as long as the object.
 * Keys are unique among the open contexts of a device, so offset and file are enough to
 * find it. Where the provider has none, or the program has mapped the key too and could
 * take its mapping for the provider's away, the library maps, notes whose it is, and unmaps
 * once the kernel does not know the object any more.
 */
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "internal.h"

/* what dvq_map() mapped, which is not the provider's although it looks like it */
struct own {
	struct own *next;
	uint64_t address;
	uint64_t length;
	uint64_t uid;	/* whose it is; 0: no object's */
};

/* protects the list, and that what is in it is mapped */
static pthread_mutex_t own_lock = PTHREAD_MUTEX_INITIALIZER;
static struct own *owns;

static void lock_own(void)
{
	dvq_see_process();
	pthread_mutex_lock(&own_lock);
}

static int map_own(int cmd_fd, uint64_t key, uint64_t length, int prot, struct own *own)
{
	void *at = mmap(NULL, length, prot, MAP_SHARED, cmd_fd, (off_t)key);
	int ret;

	if (at == MAP_FAILED)
		return dvq_refuse(errno, "cannot map %" PRIu64 " bytes at key %#" PRIx64 ": %m",
				  length, key);
	/* a child must not ring its parent's doorbells */
	if (madvise(at, length, MADV_DONTFORK)) {
		ret = dvq_refuse(errno, "cannot keep a mapping from children: %m");
		munmap(at, length);
		return ret;
	}
	own->address = (uintptr_t)at;
	own->length = length;
	own->next = owns;
	owns = own;
	return 0;
}

int dvq_map_for(uint64_t uid, int cmd_fd, uint64_t key, uint64_t length, int prot, void **address)
{
	struct own *own = calloc(1, sizeof(*own));
	int ret;

	if (!own)
		return dvq_refuse(ENOMEM, "no memory");
	own->uid = uid;
	lock_own();
	ret = map_own(cmd_fd, key, length, prot, own);
	pthread_mutex_unlock(&own_lock);
	if (ret)
		free(own);
	else
		*address = (void *)(uintptr_t)own->address;
	return ret;
}

int dvq_map(int cmd_fd, uint64_t key, uint64_t length, int prot, void **address)
{
	return dvq_map_for(0, cmd_fd, key, length, prot, address);
}

static struct own **find_own(uint64_t uid, uint64_t address)
{
	struct own **at = &owns;

	while (*at && ((*at)->address != address || (*at)->uid != uid))
		at = &(*at)->next;
	return at;
}

/* also in the middle of one: a key may be another's and an offset */
static bool is_own(uint64_t address)
{
	const struct own *own;

	for (own = owns; own; own = own->next)
		if (address - own->address < own->length)
			return true;
	return false;
}

void dvq_unmap_for(uint64_t uid, uint64_t address, uint64_t length)
{
	struct own **at, *own;

	if (!length)
		return;
	lock_own();
	at = find_own(uid, address);
	own = *at;
	if (own) {
		*at = own->next;
		munmap((void *)(uintptr_t)address, length);
	}
	pthread_mutex_unlock(&own_lock);
	free(own);
}

void dvq_unmap(uint64_t address, uint64_t length)
{
	dvq_unmap_for(0, address, length);
}

/* ---- the provider's mappings ---------------------------------------------------------- */

/* "start-end perms offset dev inode   path"; false: not such a line */
static bool parse_line(const char *line, uint64_t *start, uint64_t *end, char *shared,
		       uint64_t *offset, int *path)
{
	*path = 0;
	return sscanf(line, "%" SCNx64 "-%" SCNx64 " %*3c%c %" SCNx64 " %*s %*s %n", start, end,
		      shared, offset, path) == 4 && *path;
}

static bool same_path(const char *at, const char *path)
{
	size_t length = strlen(path);

	return !strncmp(at, path, length) && (at[length] == '\n' || !at[length]);
}

/* A line may stand for several neighbouring mappings, or for a part of one. */
static void *find_in_line(const char *line, const char *path, uint64_t key, uint64_t length)
{
	uint64_t start, end, offset;
	char shared;
	int at;

	if (!parse_line(line, &start, &end, &shared, &offset, &at) || shared != 's')
		return NULL;
	if (end <= start || key < offset || key - offset >= end - start)
		return NULL;
	if (length > end - start - (key - offset) || !same_path(line + at, path))
		return NULL;
	return (void *)(uintptr_t)(start + (key - offset));
}

void *dvq_maps_find(const char *maps, const char *path, uint64_t key, uint64_t length,
		    const char **rest)
{
	const char *line;
	void *found;

	for (line = maps; *line; line = strchrnul(line, '\n')) {
		line += *line == '\n';
		found = find_in_line(line, path, key, length);
		if (found) {
			*rest = strchrnul(line, '\n');
			return found;
		}
	}
	return NULL;
}

/* The whole text, since lines move while it is read piece by piece; NULL without memory. */
static char *read_maps(void)
{
	FILE *file = fopen("/proc/self/maps", "re");
	size_t size = 0;
	char *text = NULL;

	if (!file)
		return NULL;
	if (getdelim(&text, &size, '\0', file) < 0) {
		free(text);
		text = NULL;
	}
	fclose(file);
	return text;
}

/* the only one that is not of the library's own; NULL: none, or more than one */
static void *find_only(const char *maps, const char *path, uint64_t key, uint64_t length)
{
	void *only = NULL, *found;

	while ((found = dvq_maps_find(maps, path, key, length, &maps))) {
		if (is_own((uintptr_t)found))
			continue;
		if (only)
			return NULL;
		only = found;
	}
	return only;
}

void *dvq_provider_mapping(int cmd_fd, uint64_t key, uint64_t length)
{
	char link[64], path[PATH_MAX];
	void *found = NULL;
	ssize_t n;
	char *maps;

	snprintf(link, sizeof(link), "/proc/self/fd/%d", cmd_fd);
	n = readlink(link, path, sizeof(path) - 1);
	if (n < 0)
		return NULL;
	path[n] = '\0';
	lock_own();
	maps = read_maps();
	if (maps)
		found = find_only(maps, path, key, length);
	pthread_mutex_unlock(&own_lock);
	free(maps);
	return found;
}

/* ---- files ------------------------------------------------------------------------------ */

int dvq_file_remember(struct dvq_file *file, int fd)
{
	file->fd = fd;
	return fstat(fd, &file->stat) ? dvq_refuse(errno, "cannot look at file %d: %m", fd) : 0;
}

bool dvq_file_is_same(const struct dvq_file *file)
{
	struct stat now;

	return !fstat(file->fd, &now) && now.st_dev == file->stat.st_dev &&
	       now.st_ino == file->stat.st_ino && now.st_rdev == file->stat.st_rdev;
}

/* ---- borrowed mappings of the library's own --------------------------------------------- */

struct loan {
	struct loan *next;
	void *address;
	uint64_t length;
	uint64_t key;
	int prot;
	/* whose it is: the file's own, or of the object with that uid, which is 0 if the kernel lies */
	struct dvq_file file;
	bool of_file;
	uint64_t uid;
};

/* protects the list; never held across anything that can call back */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct loan *loans;

void dvq_mapping_in_child(void)
{
	pthread_mutex_init(&own_lock, NULL);
	owns = NULL;
	pthread_mutex_init(&lock, NULL);
	loans = NULL;
}

static void lock_loans(void)
{
	dvq_see_process();
	pthread_mutex_lock(&lock);
}

/*
 * Another open file of the same device looks the same. But a mapping keeps the context that it
 * is of, and keys are unique among those: no other one gives this key, EINVAL.
 */
static bool gives_key(const struct loan *loan)
{
	void *at = mmap(NULL, loan->length, loan->prot, MAP_SHARED, loan->file.fd,
			(off_t)loan->key);

	if (at == MAP_FAILED)
		return errno != EINVAL && errno != EACCES;
	munmap(at, loan->length);
	return true;
}

static bool is_alive(const struct loan *loan)
{
	uint8_t alive;
	int ret;

	if (!dvq_file_is_same(&loan->file))
		return false;
	if (loan->of_file)
		return gives_key(loan);
	ret = dvq_query_uids(loan->file.fd, &loan->uid, 1, &alive);
	return ret ? !dvq_tells_of_none(ret) : alive;
}

static void reap_locked(void)
{
	struct loan **at = &loans, *loan;

	while ((loan = *at)) {
		if (is_alive(loan)) {
			at = &loan->next;
			continue;
		}
		*at = loan->next;
		dvq_unmap((uintptr_t)loan->address, loan->length);
		free(loan);
	}
}

void dvq_borrow_reap(void)
{
	dvq_takeover_reap(false);
	lock_loans();
	reap_locked();
	pthread_mutex_unlock(&lock);
}

/* a mapping that is good for what is asked, not only one of the same key */
static struct loan *find_loan(const struct dvq_object *object, uint64_t key, uint64_t length,
			      int prot)
{
	struct loan *loan;

	for (loan = loans; loan; loan = loan->next)
		if (loan->file.fd == object->context->cmd_fd && loan->of_file == object->is_file &&
		    loan->uid == object->uid && loan->key == key &&
		    loan->length >= length && !(prot & ~loan->prot))
			return loan;
	return NULL;
}

static int new_loan(const struct dvq_object *object, uint64_t key, uint64_t length, int prot,
		    struct loan **result)
{
	struct loan *loan = calloc(1, sizeof(*loan));
	int ret;

	if (!loan)
		return dvq_refuse(ENOMEM, "no memory");
	ret = dvq_file_remember(&loan->file, object->context->cmd_fd);
	if (!ret)
		ret = dvq_map(object->context->cmd_fd, key, length, prot, &loan->address);
	if (ret) {
		free(loan);
		return ret;
	}
	loan->length = length;
	loan->key = key;
	loan->prot = prot;
	loan->of_file = object->is_file;
	loan->uid = object->uid;
	loan->next = loans;
	loans = loan;
	*result = loan;
	return 0;
}

static int lend_own(const struct dvq_object *object, uint64_t key, uint64_t length, int prot,
		    void **address)
{
	struct loan *loan = find_loan(object, key, length, prot);
	int ret = loan ? 0 : new_loan(object, key, length, prot, &loan);

	if (!ret)
		*address = loan->address;
	return ret;
}

int dvq_borrow(const struct dvq_object *object, uint64_t key, uint64_t length, int prot,
	       void **address)
{
	int ret = 0;

	lock_loans();
	/* one that was lent is lent again, whatever else there is by now */
	*address = find_loan(object, key, length, prot) ? NULL :
		   dvq_provider_mapping(object->context->cmd_fd, key, length);
	if (!*address)
		ret = lend_own(object, key, length, prot, address);
	pthread_mutex_unlock(&lock);
	return ret;
}

int dvq_borrow_page(struct ibv_context *context, uint64_t key, uint64_t length, int prot,
		    void **address)
{
	const struct dvq_object file = { .context = context, .is_file = true };
	int ret;

	lock_loans();
	ret = lend_own(&file, key, length, prot, address);
	pthread_mutex_unlock(&lock);
	return ret;
}
