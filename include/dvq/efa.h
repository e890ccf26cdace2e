/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/*
 * Posting to and polling from the rings of an EFA adapter, all inline.
 *
 * The structs are filled by libdvq (dvq_efa_sq_open() and its sisters in dvq.h), or by
 * any other means: nothing here calls the library. They hold fixed-width members and
 * addresses only, and may be copied to wherever the poster runs, a GPU included.
 * Documentation/rings.rst has the rules in one place.
 *
 *	efa/wr.h	put together a send request
 *	efa/sq.h	post it
 *	efa/rq.h	post receives
 *	efa/cq.h	take completions
 *	efa/ids.h	request ids
 */
#ifndef DVQ_EFA_H
#define DVQ_EFA_H

#include <dvq/efa/cq.h>
#include <dvq/efa/ids.h>
#include <dvq/efa/rq.h>
#include <dvq/efa/sq.h>
#include <dvq/efa/wr.h>

#endif /* DVQ_EFA_H */
