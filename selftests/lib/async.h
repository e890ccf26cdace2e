/* SPDX-License-Identifier: GPL-2.0 */
/* Asynchronous events of an adapter, with deadlines. */
#ifndef SELFTESTS_ASYNC_H
#define SELFTESTS_ASYNC_H

#include "adapter.h"

/* the next one; false if none comes for @ms. It is acknowledged */
bool async_next(const struct adapter *adapter, struct ibv_async_event *event, unsigned int ms);
/* the same, and it is of that type */
bool async_next_is(const struct adapter *adapter, enum ibv_event_type type, unsigned int ms);
/* those that came up to now, of whatever happened before, do not matter */
void async_forget(const struct adapter *adapter);
/*
 * Notes a failure unless the next one is of that type and about @element (NULL: about none). Those of the port, which
 * come when its network likes, are left out, unless one of them is wanted.
 */
void async_expect(const struct adapter *adapter, enum ibv_event_type type, const void *element);
/* none comes for @ms but those of the port */
bool async_quiet(const struct adapter *adapter, unsigned int ms);

#endif /* SELFTESTS_ASYNC_H */
