// SPDX-License-Identifier: GPL-2.0
#include <errno.h>
#include <poll.h>
#include <string.h>

#include "async.h"
#include "lab.h"

bool async_next(const struct adapter *adapter, struct ibv_async_event *event, unsigned int ms)
{
	struct pollfd fd = { .fd = adapter->context->async_fd, .events = POLLIN };

	if (poll(&fd, 1, ms) != 1)
		return false;
	LAB_NEED(!ibv_get_async_event(adapter->context, event), "ibv_get_async_event: %s",
		 strerror(errno));
	ibv_ack_async_event(event);
	return true;
}

bool async_next_is(const struct adapter *adapter, enum ibv_event_type type, unsigned int ms)
{
	struct ibv_async_event event;

	return async_next(adapter, &event, ms) && event.event_type == type;
}

void async_forget(const struct adapter *adapter)
{
	struct ibv_async_event event;

	while (async_next(adapter, &event, 0))
		;
}

static bool is_of_a_port(enum ibv_event_type type)
{
	return type == IBV_EVENT_PORT_ACTIVE || type == IBV_EVENT_PORT_ERR ||
	       type == IBV_EVENT_GID_CHANGE;
}

bool async_quiet(const struct adapter *adapter, unsigned int ms)
{
	struct ibv_async_event event;
	uint64_t end = now_ms() + ms, now;

	while ((now = now_ms()) <= end && async_next(adapter, &event, end - now))
		if (!is_of_a_port(event.event_type))
			return false;
	return true;
}

void async_expect(const struct adapter *adapter, enum ibv_event_type type, const void *element)
{
	struct ibv_async_event event;

	do {
		LAB_NEED(async_next(adapter, &event, PATIENCE_MS), "no asynchronous event '%s' comes",
			 ibv_event_type_str(type));
	} while (is_of_a_port(event.event_type) && !is_of_a_port(type));
	if (event.event_type != type)
		lab_note(__FILE__, __LINE__, "an asynchronous event '%s', wanted '%s'",
			 ibv_event_type_str(event.event_type), ibv_event_type_str(type));
	else if (element && !is_of_a_port(type) && event.element.qp != element)
		lab_note(__FILE__, __LINE__, "the event '%s' is about something else",
			 ibv_event_type_str(type));
}
