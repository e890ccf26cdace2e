/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Faults on request: "fail the second create_cq with status 5". A rule names a
 * point of the device's choosing (an admin command, a packet kind, anything it
 * calls inject_match() for); the device asks at that point and does what the
 * answer says. Rules belong to a device and survive its resets.
 *
 * A rule counts how often its point is passed, from when the rule was made: it
 * lets nth - 1 passages go by, fires at the next count ones and is then used up.
 * Every rule counts every passage, but only one fires: the oldest that is due.
 * The others wait for the next passage.
 */
#ifndef MODEL_INJECT_H
#define MODEL_INJECT_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

struct model_device;

enum inject_action {
	INJECT_FAIL,	/* answer with @status instead of doing it */
	INJECT_DROP,	/* do nothing, answer nothing */
	INJECT_DELAY,	/* do it, answer @ms later */
	INJECT_DUP,	/* do it, answer twice */
	INJECT_CORRUPT,	/* do it, damage the answer */
	INJECT_GONE,	/* leave the bus; devices see INJECT_DROP */
};

/**
 * struct inject_point - where a device can be made to fail
 *
 * @name: as inject_match() is called; NULL ends a table
 * @actions: bits of what the device does there, INJECT_CAN(). Rules of another action are
 *	refused: they would be used up without a trace. INJECT_GONE goes everywhere.
 */
struct inject_point {
	const char *name;
	unsigned int actions;
};

#define INJECT_CAN(action)	(1u << INJECT_##action)
/* what goes with a command */
#define INJECT_COMMAND		(INJECT_CAN(FAIL) | INJECT_CAN(DROP) | INJECT_CAN(DELAY) | \
				 INJECT_CAN(DUP) | INJECT_CAN(CORRUPT))
/* and with a completion */
#define INJECT_COMPLETION	(INJECT_COMMAND & ~INJECT_CAN(DELAY))

/**
 * struct inject_hit - what to do at an injection point
 *
 * @status: device-specific status for INJECT_FAIL
 * @ms: for INJECT_DELAY
 */
struct inject_hit {
	enum inject_action action;
	uint32_t status;
	uint32_t ms;
};

/**
 * inject_match() - a device passes the point called @op
 *
 * Returns true and fills @hit if a rule fires. @op must be in
 * &model_device.inject_points. Call it once per passage: it counts. A device that is to
 * leave the bus does nothing more at this point; it is pulled when its slice is over.
 */
bool inject_match(struct model_device *dev, const char *op, struct inject_hit *hit);

/**
 * inject_control() - the "inject" command of the control channel
 *
 * "inject op=NAME [nth=N] [count=N] action=fail status=N|drop|delay ms=N|dup|corrupt|gone",
 * "inject list" or "inject clear"; argv[0] is "inject". @nth and @count are 1 by
 * default; op=* is passed with every point where the action goes. Returns and writes as
 * &model_device_ops.control does.
 */
int inject_control(struct model_device *dev, int argc, char **argv, FILE *out);

void inject_clear(struct model_device *dev);

#endif /* MODEL_INJECT_H */
