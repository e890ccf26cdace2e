/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Random uverbs calls. A call begins as a valid one that uses objects which earlier calls made, and
 * is then spoilt in none, one or a few places. A *world* is a context and its objects, a *fuzzer* a
 * thread that makes calls in it.
 *
 * What a fuzzer does follows from its seed and from what the kernel answers. Nothing that it does
 * may hit its own memory: whatever the kernel is asked to write to lies at addresses of which no
 * change of one bit is an address of anything else.
 */
#ifndef SELFTESTS_FUZZ_H
#define SELFTESTS_FUZZ_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "adapter.h"
#include "uverbs.h"

/* ---- where memory is: no change of one bit leads to a thing of value ---------------- */

/* of regions and rings */
#define FUZZ_MEMORY		(1ull << 44)
#define FUZZ_MEMORY_SIZE	(4ul << 20)
#define FUZZ_DMABUF_SIZE	(128ul << 10)
/* pieces of it: a kernel that watches DMA takes few mappings of one page for all there can be */
#define FUZZ_DMABUFS		24

/* of requests: one scratch for each lane */
#define FUZZ_SCRATCHES		(1ull << 45)
#define FUZZ_SCRATCH		(64ul << 10)
#define FUZZ_LANE		(1ull << 36)
#define FUZZ_WRITTEN		(40ul << 10)	/* data before, then what is given to write() */
#define FUZZ_ANSWER		(50ul << 10)	/* and its answer; the ioctl's at the very end */
#define FUZZ_READ_ONLY		(1ul << 20)	/* a page that cannot be written */

/* files from here on are the fuzzer's own */
#define FUZZ_FIRST_OWN_FD	900

/* ---- what is counted, in memory that processes share ------------------------------- */

#define FUZZ_TYPES	128	/* of calls */
#define FUZZ_ERRNOS	134
#define FUZZ_LANES	4	/* fuzzers at one time */
#define FUZZ_HISTORY	16

/**
 * struct fuzz_lane - what a fuzzer is doing
 * @calls: made in this round
 * @since: when the running call began, in ms; 0: none runs
 * @type: of the running call, or the last
 * @history: of the calls before, a ring
 */
struct fuzz_lane {
	_Atomic uint64_t calls, since;
	_Atomic uint32_t type;
	uint8_t history[FUZZ_HISTORY];
};

/**
 * struct fuzz_tally - what became of all calls
 * @result: by type and errno
 * @whole: that were not spoilt and succeeded, by type
 * @time, @longest: in microseconds, by type
 * @lane: of this round
 */
struct fuzz_tally {
	_Atomic uint64_t result[FUZZ_TYPES][FUZZ_ERRNOS];
	_Atomic uint64_t whole[FUZZ_TYPES];
	_Atomic uint64_t time[FUZZ_TYPES], longest[FUZZ_TYPES];
	struct fuzz_lane lane[FUZZ_LANES];
};

/* ---- a world -------------------------------------------- */

enum fuzz_kind {
	FUZZ_PD, FUZZ_CQ, FUZZ_QP, FUZZ_AH, FUZZ_MR, FUZZ_MW, FUZZ_CMB,
	FUZZ_CHANNEL, FUZZ_ASYNC,	/* files */
	FUZZ_KEY,			/* offsets to mmap() */
	FUZZ_MAP,			/* mappings */
	FUZZ_KINDS,
};

/* what may be done with a mapping; fits all memory that a key is of */
enum fuzz_memory { FUZZ_REGISTERS, FUZZ_DEVICE, FUZZ_READABLE, FUZZ_WRITABLE };

/**
 * struct fuzz_object - something that a call made
 * @name: handle, file, key or address
 * @length: of a key or mapping, in bytes
 * @key: of a region
 * @memory: enum fuzz_memory of a key or mapping
 * @type: of a QP
 * @state: of a QP, as far as is known
 */
struct fuzz_object {
	uint64_t name;
	uint64_t length;
	uint64_t key;
	uint8_t memory;
	uint8_t type;
	uint8_t state;
};

#define FUZZ_POOL	12

/**
 * struct fuzz_world - a context and what was made with it
 * @lock: of @live and @dead
 * @fd: its file
 * @driver: of its kind
 * @live: the objects that are thought to exist
 * @count: how many of each kind
 * @dead: handles of some that do not
 * @memory: for rings and regions
 * @dmabufs: files, -1: there is none
 * @thin: one of so many calls that the adapter hears of is made; the others take long
 * @shared: by other fuzzers
 * @doorbells: write to them, too
 */
struct fuzz_world {
	pthread_mutex_t lock;
	const struct adapter *adapter;
	struct fuzz_tally *tally;
	int fd;
	uint32_t driver;
	struct dvq_efa_ucontext_resp efa;
	struct fuzz_object live[FUZZ_KINDS][FUZZ_POOL];
	unsigned int count[FUZZ_KINDS];
	uint32_t dead[FUZZ_KINDS];
	uint8_t *memory;
	int dmabufs[FUZZ_DMABUFS];
	unsigned int thin;
	bool shared;
	bool doorbells;
};

/* must succeed: a context with one object of each kind that is often wanted */
void fuzz_world_open(struct fuzz_world *world, const struct adapter *adapter,
		     struct fuzz_tally *tally, uint64_t seed);

/* ---- a fuzzer -------------------------------------------- */

struct fuzzer {
	struct fuzz_world *world;
	struct fuzz_lane *lane;
	uint64_t random;
	uint8_t *scratch;
	size_t used;
	bool trace;
};


/* Fuzzer number @lane of a world. Each has a seed of its own. */
void fuzzer_init(struct fuzzer *fuzzer, struct fuzz_world *world, unsigned int lane, uint64_t seed);
/* makes @calls calls */
void fuzzer_run(struct fuzzer *fuzzer, uint64_t calls);
#define FUZZ_SCRIBBLED	2	/* lanes, the first */

/* Changes bytes of these fuzzers' requests until *@stop. */
void fuzzer_scribble(struct fuzzer *fuzzer, const atomic_bool *stop);

/* the adapter's file without a context: a file or -1 */
int fuzz_open_node(const struct adapter *adapter);

uint64_t fuzz_random(struct fuzzer *fuzzer);
/* below @n */
static inline uint32_t fuzz_below(struct fuzzer *fuzzer, uint32_t n)
{
	return (fuzz_random(fuzzer) >> 32) % n;
}

/* one time of @n */
static inline bool fuzz_one_in(struct fuzzer *fuzzer, uint32_t n)
{
	return !fuzz_below(fuzzer, n);
}

/* a value that is likely to be at some limit, of @bytes bytes */
uint64_t fuzz_value(struct fuzzer *fuzzer, unsigned int bytes, uint64_t old);
/* an address that is not to be read or written, or hardly */
uint64_t fuzz_bad_address(struct fuzzer *fuzzer);
/* @size zeroed bytes of scratch, that may be spoilt, with room for more behind */
void *fuzz_buffer(struct fuzzer *fuzzer, size_t size);

bool fuzz_pick(struct fuzzer *fuzzer, enum fuzz_kind kind, struct fuzz_object *object);
/* the one made last */
bool fuzz_pick_last(struct fuzzer *fuzzer, enum fuzz_kind kind, struct fuzz_object *object);
void fuzz_keep(struct fuzzer *fuzzer, enum fuzz_kind kind, const struct fuzz_object *object);
/* @object, if wanted: what it was */
bool fuzz_forget(struct fuzzer *fuzzer, enum fuzz_kind kind, uint64_t name,
		 struct fuzz_object *object);
void fuzz_set_state(struct fuzzer *fuzzer, uint64_t qp, uint8_t state);
/* takes one out, so that nobody else closes or unmaps it */
bool fuzz_take(struct fuzzer *fuzzer, enum fuzz_kind kind, struct fuzz_object *object);
bool fuzz_is_full(const struct fuzzer *fuzzer, enum fuzz_kind kind);

/* ---- calls -------------------------------------------- */

#define FUZZ_BUFFER	512	/* room behind the data of a request */

/**
 * struct fuzz_data - a buffer of a request and how much of it is told
 */
struct fuzz_data {
	uint8_t *at;
	size_t len;
};

/**
 * struct fuzz_call - a call that is being put together
 * @command: of the old interface, with its flag; then @in to @driver_out are its data
 * @answers: the old command begins with the address of its answer
 * @spoilt: it is not as it was built
 * @kept, @kept_end: bytes of @in that stay
 * @uv: of the new interface
 * @object: what the call destroys or changes
 * @state: that the call gives a QP
 */
struct fuzz_call {
	bool old;
	bool spoilt;
	uint32_t command;
	bool answers;
	size_t kept, kept_end;
	struct fuzz_data in, out, driver_in, driver_out;
	struct uv_call uv;
	struct fuzz_object object;
	uint8_t state;
};

/* never succeeds on that kind of adapter */
#define FUZZ_NOT_EFA	1
#define FUZZ_NOT_IONIC	2
#define FUZZ_NEVER	(FUZZ_NOT_EFA | FUZZ_NOT_IONIC)
/* cannot fail */
#define FUZZ_ALWAYS	4
/* may succeed or not */
#define FUZZ_EITHER	8
/* answers a file, which has to be closed */
#define FUZZ_MAKES_FILE	16
/* only since Linux 7.2; since then only of drivers that have CQs of the kernel's own, too */
#define FUZZ_NEW	32
#define FUZZ_KERNEL_CQS	64
/* the adapter is asked, which takes long */
#define FUZZ_DEVICE_HEARS	128

#define FUZZ_OF(kind)	((kind) + 1)	/* 0: of none */

/**
 * struct fuzz_type - a kind of call
 * @weight: how often it is made
 * @flags: FUZZ_*
 * @needs, @makes, @ends: a kind of object, by FUZZ_OF()
 * @build: a valid call
 * @done: it has succeeded
 * @run: instead of @build: all by itself, returns 0 or an errno
 */
struct fuzz_type {
	const char *name;
	unsigned int weight;
	unsigned int flags;
	uint8_t needs, makes, ends;
	void (*build)(struct fuzzer *fuzzer, struct fuzz_call *call);
	void (*done)(struct fuzzer *fuzzer, struct fuzz_call *call);
	int (*run)(struct fuzzer *fuzzer);
};

extern const struct fuzz_type fuzz_types[];
extern const unsigned int fuzz_types_count;

/* on this adapter and kernel */
bool fuzz_can_succeed(const struct adapter *adapter, const struct fuzz_type *type);

/* makes the call on @fd, often spoilt: 0 or an errno */
int fuzz_issue(struct fuzzer *fuzzer, int fd, struct fuzz_call *call);
/* never spoilt */
int fuzz_issue_whole(struct fuzzer *fuzzer, int fd, struct fuzz_call *call);

#endif /* SELFTESTS_FUZZ_H */
