/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/*
 * Posting to and polling from the rings of an ionic adapter, all inline.
 *
 * The structs are filled by libdvq (dvq_ionic_sq_open() and its sisters in dvq.h), or by any
 * other means: nothing here calls the library. They hold fixed-width members and addresses
 * only, and may be copied to wherever the poster runs, a GPU included.
 * Documentation/rings.rst has the rules in one place.
 *
 *	ionic/wr.h	put together a send request
 *	ionic/sq.h	post it
 *	ionic/rq.h	post receives
 *	ionic/wq.h	what both have in common: host memory, controller memory, doorbells
 *	ionic/cq.h	take completions
 *	ionic/reqs.h	outstanding requests
 */
#ifndef DVQ_IONIC_H
#define DVQ_IONIC_H

#include <dvq/ionic/cq.h>
#include <dvq/ionic/reqs.h>
#include <dvq/ionic/rq.h>
#include <dvq/ionic/sq.h>
#include <dvq/ionic/wq.h>
#include <dvq/ionic/wr.h>

#endif /* DVQ_IONIC_H */
