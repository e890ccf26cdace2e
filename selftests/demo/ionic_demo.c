// SPDX-License-Identifier: GPL-2.0
/*
 * usage: ionic_demo [placement | pool]
 *
 * The main job on an ionic adapter: say with ionic_dv_pd_set_sqcmb() and
 * ionic_dv_pd_set_rqcmb() where the queues of an RC queue pair shall be, see where they
 * are, and send through them in both directions. On the modelled adapter in strict mode,
 * where every store to controller memory is looked at, what was stored and what rang are
 * compared with where the queues are said to be.
 *
 * The second part uses up the controller memory. The kernel clears what it gives out, and a
 * strict adapter would look at each of a million stores: it is for one in fast mode.
 *
 * What is verbs only (PD, CQ, modify to RTS) is in selftests/lib.
 */
#include <dvq/dvq.h>
#include <errno.h>
#include <infiniband/ionic_dv.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "../lib/adapter.h"
#include "../lib/buffer.h"
#include "../lib/endpoint.h"
#include "../lib/show.h"
#include "../lib/work.h"

#define MESSAGES	24	/* in each direction */
#define MESSAGE_SIZE	1000	/* bytes */
#define FILLERS		256	/* queue pairs that use the controller memory up; more than enough */

/* what is asked of a PD, for both kinds of queues */
struct wish {
	bool asked;
	bool enable, expdb, require;
};

static void ask(struct ibv_pd *pd, const struct wish *wish)
{
	if (!wish->asked)
		return;
	NEED_ZERO(ionic_dv_pd_set_sqcmb(pd, wish->enable, wish->expdb, wish->require));
	NEED_ZERO(ionic_dv_pd_set_rqcmb(pd, wish->enable, wish->expdb, wish->require));
}

/* ---- where a queue is -------------------------------------------------------------------- */

enum place { HOST, CMB, CMB_EXPDB };

static const char *const place_names[] = {
	[HOST] = "host memory",
	[CMB] = "controller memory",
	[CMB_EXPDB] = "controller memory, express doorbell",
};

static enum place place_of(const struct dvq_wq_info *wq)
{
	if (wq->mem != DVQ_MEM_CMB)
		return HOST;
	return wq->caps & DVQ_WQ_EXPDB ? CMB_EXPDB : CMB;
}

/* the place that the kernel tells, which must be @want; the model must agree */
static void show_place(const struct endpoint *endpoint, const char *queue,
		       const struct dvq_wq_info *wq, enum place want)
{
	enum place place = place_of(wq);
	const char *model;
	char key[16];

	printf("  %s: %u entries of %u bytes in %s\n", queue, wq->entries, wq->entry_size,
	       place_names[place]);
	if (place != want)
		lab_note(__FILE__, __LINE__, "the %s should be in %s", queue, place_names[want]);
	if (!endpoint->adapter->model[0])
		return;
	model = model_ask(endpoint->adapter->model, "qp %u", endpoint->qp->qp_num);
	snprintf(key, sizeof(key), "%s_cmb", queue);
	LAB_NEED(show_told(model, key) == (place != HOST),
		 "the model says that the %s is elsewhere", queue);
	snprintf(key, sizeof(key), "%s_stride", queue);
	LAB_NEED(show_told(model, key) == wq->entry_size,
		 "the model has other entries in the %s", queue);
}

/* ---- traffic ------------------------------------------------------------------------------ */

struct scene {
	struct endpoint *a, *b;
	struct route to_b, to_a;
};

static void send_messages(struct endpoint *from, const struct route *to, struct endpoint *into,
			  uint32_t seed)
{
	struct buffer *out = buffer_new(from->pd, MESSAGES * MESSAGE_SIZE, IBV_ACCESS_LOCAL_WRITE);
	struct buffer *in = buffer_new(into->pd, MESSAGES * MESSAGE_SIZE, IBV_ACCESS_LOCAL_WRITE);

	buffer_fill(out, seed);
	for (unsigned int i = 0; i < MESSAGES; i++)
		post_recv_one(into, i, in, i * MESSAGE_SIZE, MESSAGE_SIZE);
	for (unsigned int i = 0; i < MESSAGES; i++) {
		const struct work work = send_work(to, i, out, i * MESSAGE_SIZE, MESSAGE_SIZE);

		post_one(from, &work);
	}
	cq_wait_many(from->send_cq, MESSAGES);
	cq_wait_many(into->recv_cq, MESSAGES);
	buffer_expect(in, 0, in->size, seed);
	buffer_expect_guards(in);
}

/* ordinary doorbells are for many entries, so there are fewer of them */
static void compare(const struct adapter *adapter, const struct model_stats *before,
		    const struct dvq_wq_info *sq, const struct dvq_wq_info *rq, bool strict)
{
	enum place send = place_of(sq), recv = place_of(rq);
	uint64_t express = (send == CMB_EXPDB ? MESSAGES : 0) + (recv == CMB_EXPDB ? MESSAGES : 0);
	uint64_t entries = (send != HOST ? MESSAGES * sq->entry_size : 0) +
			   (recv != HOST ? MESSAGES * rq->entry_size : 0);
	bool rang_sq = model_delta(adapter->model, before, "doorbells_sq");
	bool rang_rq = model_delta(adapter->model, before, "doorbells_rq");

	if (strict)
		show_growth(adapter->model, before, "bytes of entries in controller memory",
			    "cmb_bytes", entries);
	show_growth(adapter->model, before, "express doorbells", "doorbells_express", express);
	if (rang_sq != (send != CMB_EXPDB) || rang_rq != (recv != CMB_EXPDB))
		lab_note(__FILE__, __LINE__, "the wrong queue rang by an ordinary doorbell");
}

/* ---- one row ------------------------------------------------------------------------------- */

static struct endpoint *make(const struct adapter *adapter, const struct wish *wish)
{
	struct ibv_pd *pd = pd_new(adapter);

	ask(pd, wish);
	return endpoint_try(adapter, &(struct endpoint_options){
		.transport = RC, .pd = pd, .send_wr = 2 * MESSAGES, .recv_wr = 2 * MESSAGES,
		.send_sge = 1, .recv_sge = 1 });
}

static void title(const char *text)
{
	printf("\n%s\n", text);
}

/* @strict: every store to controller memory is seen */
static void play(const char *what, const struct wish *wish, enum place want_sq,
		 enum place want_rq, bool strict)
{
	struct model_stats before;
	struct dvq_qp_info info;
	struct dvq_wq_info sq, rq;
	struct scene scene;

	title(what);
	scene.a = make(self, wish);
	LAB_NEED(scene.a, "creating the queue pair: %s", strerror(errno));
	scene.b = endpoint_new(peer, &(struct endpoint_options){ .transport = RC });
	NEED_ZERO(dvq_qp_query(scene.a->qp, &info, sizeof(info), &sq, &rq, sizeof(sq)));
	show_place(scene.a, "sq", &sq, want_sq);
	show_place(scene.a, "rq", &rq, want_rq);

	scene.to_b = route_new(scene.a, scene.b);
	scene.to_a = route_new(scene.b, scene.a);
	if (self->model[0])
		model_stats(self->model, &before);
	send_messages(scene.a, &scene.to_b, scene.b, 1);
	send_messages(scene.b, &scene.to_a, scene.a, 2);
	printf("  RC: %u sends there and %u back, %u bytes verified\n", MESSAGES, MESSAGES,
	       2 * MESSAGES * MESSAGE_SIZE);
	/* of an adapter that talks to itself the other side would be counted, too */
	if (self->model[0] && peer != self)
		compare(self, &before, &sq, &rq, strict);
}

static void refused(const char *what, const struct wish *wish, int want)
{
	struct endpoint *endpoint;

	title(what);
	errno = 0;
	endpoint = make(self, wish);
	if (endpoint || errno != want)
		lab_note(__FILE__, __LINE__, "creation should have failed with %s", strerror(want));
	printf("  creating the queue pair: %s\n", endpoint ? "done" : strerror(errno));
}

/* ---- the pool -------------------------------------------------------------------------------- */

/* queue pairs that require it, first large ones, until not even one like ours finds room */
static unsigned int use_up(void)
{
	static const struct wish wish = { .asked = true, .enable = true, .require = true };
	struct ibv_pd *pd = pd_new(self);
	unsigned int made = 0, depth = 4096;

	ask(pd, &wish);
	while (depth >= MESSAGES) {
		LAB_NEED(made < FILLERS, "controller memory has no end");
		if (endpoint_try(self, &(struct endpoint_options){
			    .transport = RC, .pd = pd, .send_wr = depth, .recv_wr = depth,
			    .send_sge = 1, .recv_sge = 1, .state = ENDPOINT_RESET })) {
			made++;
			continue;
		}
		LAB_NEED(errno == ENOSPC, "creating a queue pair: %s", strerror(errno));
		depth /= 2;
	}
	return made;
}

static const struct wish nothing, disabled = { .asked = true };
static const struct wish enable = { .asked = true, .enable = true };
static const struct wish expdb = { .asked = true, .enable = true, .expdb = true };
static const struct wish require = {
	.asked = true, .enable = true, .expdb = true, .require = true,
};

static void placement(void)
{
	/* libionic wishes controller memory for every queue; by default only send queues get it */
	play("Default: nothing said", &nothing, CMB_EXPDB, HOST, true);
	lab_drop_all();
	play("enable", &enable, CMB, CMB, true);
	lab_drop_all();
	play("enable, expdb", &expdb, CMB_EXPDB, CMB_EXPDB, true);
	lab_drop_all();
	play("enable, expdb, require", &require, CMB_EXPDB, CMB_EXPDB, true);
	lab_drop_all();
	play("disabled", &disabled, HOST, HOST, true);
	lab_drop_all();
}

static void pool(void)
{
	printf("\n%u queue pairs use up the controller memory\n", use_up());
	play("enable, expdb with the controller memory used up", &expdb, HOST, HOST, false);
	refused("enable, expdb, require with the controller memory used up", &require, ENOSPC);
	lab_drop_all();
	play("The same, when the others are gone", &require, CMB_EXPDB, CMB_EXPDB, false);
	lab_drop_all();
}

static void show_device(const struct adapter *adapter)
{
	struct dvq_device_info info;

	LAB_NEED(adapter->dvq, "%s: load dvq_ionic", adapter_name(adapter));
	NEED_ZERO(dvq_device_query(adapter->context, &info, sizeof(info)));
	printf("%s: part 0x%x, driven by dvq_ionic, %u pipelines, %" PRIu64 " bytes of controller "
	       "memory\n", adapter_name(adapter), adapter->attr.vendor_part_id,
	       ionic_dv_ctx_get_udma_count(adapter->context), (uint64_t)info.cmb_bytes);
}

int main(int argc, char **argv)
{
	const char *part = argc > 1 ? argv[1] : "";
	char why[200];

	setvbuf(stdout, NULL, _IOLBF, 0);
	if (!adapters_find(ADAPTER_IONIC, why, sizeof(why))) {
		printf("%s\n", why);
		return 4;
	}
	adapters_open();
	show_device(self);
	if (peer != self)
		show_device(peer);
	if (strcmp(part, "pool"))
		placement();
	if (strcmp(part, "placement"))
		pool();
	show_violations();
	adapters_close();
	return show_result();
}
