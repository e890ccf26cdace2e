/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Time for devices: the model lock and the thread that calls ->work(), ->poll()
 * and delivers packets.
 *
 * The model lock is fair: whoever asks gets it next. The engine gives it away
 * after every slice, so a guest's access waits for one slice at most, however
 * busy the devices are.
 *
 * When nothing is due the engine sleeps until the next timer or until somebody
 * releases the lock and leaves something to do. Mapped doorbells give no such
 * sign and are looked at: without pause for 20 us after the last thing that
 * happened, then at intervals of an eighth of the time that nothing has
 * happened, from 50 us up to 1 ms. So a busy guest is answered at once, one
 * that pauses is answered with a delay in proportion to its pause, and an idle
 * one costs a thousand short looks a second.
 */
#ifndef MODEL_ENGINE_H
#define MODEL_ENGINE_H

#include <stdbool.h>
#include <stdint.h>

struct model_device;

/**
 * struct engine_task - a device that gets time
 *
 * @held: it gets none; kicks and timers are kept
 * @delay_ms: between a kick and the work it causes
 * @after: called when a slice is over; may be NULL
 */
struct engine_task {
	struct model_device *dev;
	bool held;
	uint32_t delay_ms;
	void (*after)(struct engine_task *task);
	/* private to engine.c; times are those of engine_now(), 0: none */
	uint64_t kicked;	/* when to work because of a kick */
	uint64_t timer;		/* when to work because the device asked */
	struct engine_task *next;
};

void engine_lock(void);
void engine_unlock(void);

/* ns, monotonic */
uint64_t engine_now(void);

/* only while the thread does not run */
void engine_add(struct engine_task *task);
void engine_remove(struct engine_task *task);

/* 0 or a negative errno; stop waits for the thread's end */
int engine_start(void);
void engine_stop(void);

/* under the model lock */
void engine_kick(struct engine_task *task);
void engine_timer(struct engine_task *task, uint64_t when);
/* forgets kick and timer */
void engine_cancel(struct engine_task *task);

#endif /* MODEL_ENGINE_H */
