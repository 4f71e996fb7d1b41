/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * LCL scheduling at its bounds: full queues, links that go down, stopping, reloads, frames from
 * other workers, and what the tables say.
 */
#include "biplane/counters/general.h"
#include "biplane/counters/lcl.h"
#include "config/lcl/settings.h"
#include "tests/unit/dataplane/test.h"
#include "tests/unit/dataplane/lcl/lcl_rig.h"

#include <pthread.h>
#include <string.h>

#include "dataplane/ports/link.h"
#include "dataplane/workers/walk.h"
#include "dataplane/workers/worker_loop.h"

enum { A, B };

#define SMALL                                                                                      \
	AGG_PORTS LCL_PORTS_BEGIN LCL_PORT("a", ", trust_labels: true") LCL_PORT(                  \
		"b", ", slot_queue_len: 16, best_effort_queue_len: 16, handover_queue_len: 64")
/* of port b */
#define QUEUE 16u
#define QUEUES 4u
#define HANDOVER 64u

static struct bp_lcl_port_stats *stats(struct rig *r)
{
	return &r->shm.lcl.ports[bp_lcl_of(r->worker)->of[B]->index];
}

static struct bp_lcl_flow_stats *row(struct rig *r, unsigned i)
{
	return &r->shm.lcl.flows[(size_t)bp_lcl_of(r->worker)->of[B]->index * r->shm.lcl.limit + i];
}

static void put_many(struct rig *r, unsigned n, const struct label *l, uint32_t first)
{
	uint8_t f[64];

	frame_make(f, sizeof(f), 1, 2, 0x0800);
	for (unsigned i = 0; i < n; i++) {
		struct label next = l ? *l : (struct label){0};

		next.sequence = first + i;
		if (l)
			lcl_put(r, A, f, sizeof(f), &next);
		else
			rig_put(r, A, f, sizeof(f));
	}
}

static unsigned take_all(struct rig *r)
{
	struct rte_mbuf *m;
	unsigned n = 0;

	for (; (m = bp_ring_ports_take(&r->ports, B)) != NULL; n++)
		rte_pktmbuf_free(m);
	return n;
}

/* Frames of a full slot go to the next one; if all are full, the frame is dropped with a reason. */
static void full_queues(void **state)
{
	const struct label l = {.d = 15000, .n = 1, .flow = 9};
	struct rig r;

	rig_start(&r, SMALL, false, false);
	put_many(&r, 60, &l, 0);
	rig_walk(&r);
	/* slots 1, 2 and 3: the fourth queue is the current slot's */
	assert_int_equal(rig_counter(&r, BP_C_LCL_DEFERRED), 2 * QUEUE);
	assert_int_equal(rig_counter(&r, BP_C_DROP_LCL_SLOT_QUEUES_FULL), 60 - 3 * QUEUE);
	assert_int_equal(atomic_load(&stats(&r)->full), 60 - 3 * QUEUE);
	assert_int_equal(atomic_load(&stats(&r)->held), 3 * QUEUE);
	assert_int_equal(take_all(&r), 0);
	for (unsigned slot = 1; slot <= 3; slot++) {
		lcl_pass(&r, 4000);
		assert_int_equal(take_all(&r), 0);
		/* the slot begins: the first of its frames */
		lcl_pass(&r, slot == 1 ? LCL_TAU - 4000 : LCL_TAU - 6000);
		assert_int_equal(take_all(&r), 1);
		lcl_pass(&r, 2000); /* enough for the others, 71 ns each */
		assert_int_equal(take_all(&r), QUEUE - 1);
	}
	assert_int_equal(atomic_load(&stats(&r)->sent), 3 * QUEUE);
	assert_int_equal(atomic_load(&stats(&r)->slots), 3);
	/* deferred frames exceed their bound: two slots late */
	assert_int_equal(atomic_load(&stats(&r)->outside), atomic_load(&row(&r, 1)->outside));
	assert_true(atomic_load(&stats(&r)->outside) >= QUEUE);
	assert_int_equal(atomic_load(&row(&r, 1)->full), 60 - 3 * QUEUE);
	assert_int_equal(atomic_load(&row(&r, 1)->moved), 2 * QUEUE);
	rig_stop(&r);
}

static void full_best_effort(void **state)
{
	struct rig r;

	rig_start(&r, SMALL, false, false);
	put_many(&r, 60, NULL, 0);
	rig_walk(&r);
	assert_int_equal(rig_counter(&r, BP_C_DROP_LCL_BEST_EFFORT_FULL), 60 - QUEUE);
	assert_int_equal(atomic_load(&stats(&r)->best_effort_full), 60 - QUEUE);
	lcl_pass(&r, 10 * LCL_TAU);
	assert_int_equal(take_all(&r), QUEUE);
	assert_int_equal(r.shm.port_stats[B].tx_dropped, 60 - QUEUE);
	rig_stop(&r);
}

/* Frames queued for a link that went down are dropped when they are due. */
static void a_link_goes_down(void **state)
{
	const struct label l = {.d = 15000, .n = 1};
	struct rig r;

	rig_start(&r, SMALL, false, false);
	put_many(&r, 3, &l, 0);
	rig_walk(&r);
	atomic_store(&bp_link[B], BP_LINK_DOWN);
	assert_int_equal(rig_counter(&r, BP_C_DROP_TX_DOWN), 0);
	lcl_pass(&r, LCL_TAU + 5000);
	assert_int_equal(rig_counter(&r, BP_C_DROP_TX_DOWN), 3);
	assert_int_equal(take_all(&r), 0);
	assert_int_equal(atomic_load(&stats(&r)->sent), 0);
	atomic_store(&bp_link[B], BP_LINK_UP);
	rig_stop(&r);
}

/* A driver that takes a part: the rest is dropped, and is no frame sent. */
static void the_driver_is_full(void **state)
{
	const struct label l = {.d = -1, .n = 1};
	struct rig r;

	rig_start(&r, LCL_TRUSTED, false, false);
	put_many(&r, RIG_DEPTH - 1, &l, 0);
	rig_walk(&r);
	lcl_pass(&r, 5 * LCL_TAU);
	put_many(&r, 5, &l, 0);
	rig_walk(&r);
	lcl_pass(&r, LCL_TAU);
	assert_int_equal(rig_counter(&r, BP_C_DROP_TX_FULL), 5);
	assert_int_equal(atomic_load(&stats(&r)->sent), RIG_DEPTH - 1);
	assert_int_equal(take_all(&r), RIG_DEPTH - 1);
	rig_stop(&r);
}

/* A worker that stops sends what it holds, time-sensitive frames first. */
static void stopping_worker_sends_queued_frames(void **state)
{
	static struct bp_clock clock;
	const struct label l = {.d = 500000000, .n = 1};
	struct bp_worker_args args = {.clock = &clock};
	struct rig r;

	rig_start(&r, LCL_TRUSTED, false, false);
	bp_clock_init(&clock);
	args.worker = r.worker;
	put_many(&r, 20, &l, 0);
	put_many(&r, 10, NULL, 0);
	atomic_store(&r.worker->stop, true);
	assert_int_equal(bp_worker_run(&args), 0);
	assert_int_equal(take_all(&r), 30);
	assert_int_equal(atomic_load(&stats(&r)->sent), 20);
	assert_int_equal(atomic_load(&stats(&r)->held), 0);
	/* its looks were measured */
	assert_true(atomic_load(&stats(&r)->gap_max_ns) > 0);
	rig_stop(&r);
}

/* ---- reload ---- */

static void write_rules(struct rig *r, void (*change)(struct bp_lcl_rules *))
{
	struct bp_lcl_rules rules = bp_lcl_of(r->worker)->rules;

	change(&rules);
	bp_seqlock_write(&r->shm.lcl.plan->lock, &rules, sizeof(rules));
}

static void other_budget(struct bp_lcl_rules *rules)
{
	rules->flow[0].budget_ns = 45000;
}

static void no_flow(struct bp_lcl_rules *rules)
{
	rules->n_flows = 0;
}

static void one_flow(struct bp_lcl_rules *rules)
{
	rules->n_flows = 1;
}

static void damaged(struct bp_lcl_rules *rules)
{
	rules->flow[0].hops = 0;
}

/* A flow that stays continues with its numbers, and comes back with them. */
static void flows_change(void **state)
{
	uint8_t f[UDP_FRAME_MAX];
	const uint32_t len = lcl_datagram(f);
	struct label out = {.d = 15000, .n = 1, .flow = 7};
	struct rig r;

	rig_start(&r, LCL_TRUSTED, false, false);
	rig_put(&r, A, f, len);
	rig_walk(&r);
	lcl_pass(&r, LCL_TAU);
	lcl_expect(&r, B, f, len, &out);
	write_rules(&r, other_budget);
	rig_walk(&r);
	rig_put(&r, A, f, len);
	rig_walk(&r);
	lcl_pass(&r, 2 * LCL_TAU);
	out = (struct label){.d = 25000, .n = 1, .flow = 7, .sequence = 1};
	lcl_expect(&r, B, f, len, &out);
	write_rules(&r, damaged); /* stays as it was */
	rig_walk(&r);
	rig_put(&r, A, f, len);
	rig_walk(&r);
	lcl_pass(&r, 2 * LCL_TAU);
	out.sequence++;
	lcl_expect(&r, B, f, len, &out);
	write_rules(&r, no_flow);
	rig_walk(&r);
	rig_put(&r, A, f, len);
	rig_walk(&r);
	rig_expect(&r, B, f, len);
	lcl_pass(&r, LCL_TAU);
	write_rules(&r, one_flow);
	rig_walk(&r);
	rig_put(&r, A, f, len);
	rig_walk(&r);
	lcl_pass(&r, 2 * LCL_TAU);
	out.sequence++;
	lcl_expect(&r, B, f, len, &out);
	assert_int_equal(atomic_load(&row(&r, 1)->frames), 4);
	assert_int_equal(atomic_load(&row(&r, 1)->labelled), 4);
	assert_int_equal(row(&r, 1)->flow, 7);
	rig_stop(&r);
}

/* ---- what the tables say ---- */

static void a_flow_is_measured(void **state)
{
	struct label l = {.d = 15000, .n = 1, .flow = 300};
	const struct bp_lcl_flow_stats *s;
	struct rig r;

	rig_start(&r, LCL_TRUSTED, false, false);
	s = row(&r, 1);
	assert_int_equal(s->life, 0);
	/* 10 us, where 15 were meant; then 13; both within tau; 2 numbers are missing */
	put_many(&r, 1, &l, 40);
	rig_walk(&r);
	lcl_pass(&r, LCL_TAU);
	put_many(&r, 1, &l, 43);
	rig_walk(&r);
	lcl_pass(&r, LCL_TAU + 3000);
	/* an old one; checked 16 us after its time, so 11 us late */
	agg_pass(&r, LCL_TAU - 3000);
	put_many(&r, 1, &l, 41);
	rig_walk(&r);
	lcl_pass(&r, LCL_TAU + 16000);
	assert_int_equal(take_all(&r), 3);
	assert_int_not_equal(s->life, 0);
	assert_int_equal(s->flow, 300);
	assert_int_equal(s->last, 1);
	assert_int_equal(s->frames, 3);
	assert_int_equal(s->bytes, 3 * 64);
	assert_int_equal(s->labelled, 0);
	assert_int_equal(s->missing, 2);
	assert_int_equal(s->reordered, 1);
	assert_int_equal(s->waited_ns, 10000 + 13000 + 26000);
	assert_int_equal(s->waited_min_ns, 10000);
	assert_int_equal(s->waited_max_ns, 26000);
	assert_int_equal(s->deviation_min_ns, -5000);
	assert_int_equal(s->deviation_max_ns, 11000);
	assert_int_equal(s->outside, 1);
	/* of tau/16 = 625 ns, from -20000 on */
	assert_int_equal(s->deviation[1 + 15000 / 625], 1);
	assert_int_equal(s->deviation[1 + 18000 / 625], 1);
	assert_int_equal(s->deviation[1 + 31000 / 625], 1);
	assert_int_equal(s->jitter[bp_lcl_bucket(3000)], 1);
	assert_int_equal(s->jitter[bp_lcl_bucket(13000)], 1);
	/* and of the port: a slot began 16 us late, so that this second's bound was not held */
	assert_int_equal(stats(&r)->late_min_ns, 0);
	assert_int_equal(stats(&r)->late_max_ns, 16000);
	assert_int_equal(stats(&r)->lateness[bp_lcl_bucket(16000)], 1);
	assert_int_equal(stats(&r)->outside, 1);
	assert_int_equal(stats(&r)->intervals, 1);
	assert_int_equal(stats(&r)->intervals_broken, 1);
	assert_int_equal(stats(&r)->interval[1].second, 1);
	assert_int_equal(stats(&r)->interval[1].frames, 3);
	assert_int_equal(stats(&r)->interval[1].outside, 1);
	assert_int_equal(stats(&r)->interval[1].late_ns, 16000);
	/* the next second begins again */
	agg_pass(&r, 1000000000 - LCL_TAU);
	put_many(&r, 1, &l, 44);
	rig_walk(&r);
	lcl_pass(&r, 2 * LCL_TAU);
	assert_int_equal(take_all(&r), 1);
	assert_int_equal(stats(&r)->interval[2].second, 2);
	assert_int_equal(stats(&r)->interval[2].frames, 1);
	assert_int_equal(stats(&r)->interval[1].frames, 3);
	assert_int_equal(stats(&r)->intervals, 2);
	rig_stop(&r);
}

static void two_rows(struct bp_config *c, void *arg)
{
	bp_config_lcl_set(c)->max_flows = 2;
}

/* Flows beyond the limit share a row; their order is kept all the same. */
static void more_flows_than_rows(void **state)
{
	struct label l = {.d = 15000, .n = 1};
	struct rig r;

	rig_start_changed(&r, LCL_TRUSTED, two_rows, NULL);
	assert_int_equal(r.shm.lcl.limit, 3);
	for (unsigned round = 0; round < 2; round++) {
		for (l.flow = 100; l.flow < 105; l.flow++)
			put_many(&r, 1, &l, round);
		rig_walk(&r);
		lcl_pass(&r, LCL_TAU + 5000);
		assert_int_equal(take_all(&r), 5);
		agg_pass(&r, 5000);
	}
	assert_int_equal(row(&r, 0)->frames, 6);
	assert_int_equal(row(&r, 1)->frames, 2);
	assert_int_equal(row(&r, 1)->flow, 100);
	assert_int_equal(row(&r, 2)->frames, 2);
	assert_int_equal(row(&r, 2)->flow, 101);
	/* row 0 too: its flows do not count on from each other */
	for (unsigned i = 0; i < 3; i++) {
		assert_int_equal(row(&r, i)->missing, 0);
		assert_int_equal(row(&r, i)->reordered, 0);
	}
	rig_stop(&r);
}

/* ---- workers ---- */

static void two_workers(struct bp_config *c, void *arg)
{
	c->n_workers = 2;
}

/* In the place of the rig's one worker: worker 0 polls b, and owns it; worker 1 polls a. */
static void split(struct rig *r, struct bp_workers *ws)
{
	static struct bp_port ports[BP_MAX_PORTS];
	struct bp_pools pools = {.pool = {r->pool}, .n = 1};
	static const struct bp_driver driver = {.set_port = true};
	struct bp_queue_plan plan = {.n_workers = 2};
	char err[512] = "";

	bp_worker_free(r->worker);
	for (unsigned p = A; p <= B; p++) {
		ports[p].driver = &driver;
		plan.port[p] = (struct bp_port_queues){.n_rx = 1,
			.n_tx = 1,
			.rx_worker = {p == A ? 1 : 0},
			.tx_queue = {p == A ? UINT16_MAX : 0, p == A ? 0 : UINT16_MAX}};
	}
	if (bp_workers_create(
		    ws, r->config, ports, &plan, &pools, NULL, &r->shm, err, sizeof(err)) != 0)
		fail_msg("%s", err);
	assert_int_equal(bp_lcl_of(ws->worker[0])->n_own, 1);
	assert_int_equal(bp_lcl_of(ws->worker[1])->n_own, 1);
	assert_non_null(bp_lcl_of(ws->worker[0])->of[B]->scheduler);
	assert_null(bp_lcl_of(ws->worker[1])->of[B]->scheduler);
	r->worker = ws->worker[0];
	for (unsigned i = 0; i < 2; i++)
		ws->worker[i]->now_ns = ws->worker[i]->mono_ns = 1000000000;
}

/* The rig's worker is 0 from now on. */
static void rejoin(struct rig *r, struct bp_workers *ws)
{
	ws->worker[0] = NULL;
	bp_lcl_of(r->worker)->shared = NULL;
	bp_lcl_of(r->worker)->of[A]->handover = bp_lcl_of(r->worker)->of[B]->handover = NULL;
	bp_workers_free(ws);
	rig_stop(r);
}

static void walk_at(struct bp_worker *w, uint64_t ns)
{
	w->now_ns = w->mono_ns = 1000000000 + ns;
	bp_graph_walk(w, 0);
}

/* A frame counts from when it came in at the other worker. */
static void handed_over(void **state)
{
	uint8_t f[UDP_FRAME_MAX], other[64];
	const uint32_t len = lcl_datagram(f);
	struct bp_workers ws;
	struct rig r;

	frame_make(other, sizeof(other), 1, 2, 0x0800);
	rig_start_changed(&r, LCL_TRUSTED, two_workers, NULL);
	split(&r, &ws);
	rig_put(&r, A, f, len);                                                 /* by the rules */
	lcl_put(&r, A, f, len, &(struct label){.d = 26000, .n = 2, .flow = 8}); /* by its label */
	rig_put(&r, A, other, sizeof(other));
	walk_at(ws.worker[1], 0);
	rig_expect_none(&r, B);
	walk_at(ws.worker[0], 4000);
	assert_int_equal(atomic_load(&stats(&r)->handed_over), 3);
	rig_expect(&r, B, other, sizeof(other));
	walk_at(ws.worker[0], LCL_TAU - 1);
	rig_expect_none(&r, B);
	walk_at(ws.worker[0], LCL_TAU + 1000);
	lcl_expect(&r, B, f, len, &(struct label){.d = 25000 - 11000, .n = 1, .flow = 7});
	lcl_expect(&r, B, f, len, &(struct label){.d = 26000 - 11000, .n = 1, .flow = 8});
	assert_int_equal(r.shm.counters[0].v[BP_C_LCL_HANDED_OVER], 3);
	rejoin(&r, &ws);
}

/* The ring holds what is configured, and no more. */
static void the_ring_is_full(void **state)
{
	struct bp_workers ws;
	struct rig r;

	rig_start_changed(&r, SMALL, two_workers, NULL);
	split(&r, &ws);
	put_many(&r, 60, &(struct label){.d = -1, .n = 1, .flow = 8}, 0);
	walk_at(ws.worker[1], 0);
	put_many(&r, 60, &(struct label){.d = -1, .n = 1, .flow = 8}, 60);
	walk_at(ws.worker[1], 0);
	assert_int_equal(r.shm.counters[1].v[BP_C_DROP_LCL_HANDOVER_FULL], 120 - HANDOVER);
	walk_at(ws.worker[0], 100);
	assert_int_equal(atomic_load(&stats(&r)->handover_full), 120 - HANDOVER);
	rejoin(&r, &ws);
}

static void *run_worker(void *args)
{
	bp_worker_run(args);
	return NULL;
}

/* Both stop at the same time: frames that one hands over are still sent by the other. */
static void both_stop(void **state)
{
	static struct bp_clock clock;
	struct bp_worker_args args[2];
	struct bp_workers ws;
	pthread_t thread[2];
	struct rig r;

	rig_start_changed(&r, SMALL, two_workers, NULL);
	split(&r, &ws);
	bp_clock_init(&clock);
	put_many(&r, 50, &(struct label){.d = 500000000, .n = 1, .flow = 8}, 0);
	for (unsigned i = 0; i < 2; i++) {
		bp_lcl_shared_producing(ws.shared[BP_SERVICE_LCL], i, true);
		atomic_store(&ws.worker[i]->stop, true);
		args[i] = (struct bp_worker_args){.worker = ws.worker[i], .clock = &clock};
	}
	for (unsigned i = 0; i < 2; i++)
		assert_int_equal(pthread_create(&thread[i], NULL, run_worker, &args[i]), 0);
	for (unsigned i = 0; i < 2; i++)
		assert_int_equal(pthread_join(thread[i], NULL), 0);
	assert_int_equal(atomic_load(&stats(&r)->handed_over), 50);
	/* more than four queues of 16 hold at the same time */
	assert_int_equal(take_all(&r) + r.shm.counters[0].v[BP_C_DROP_LCL_SLOT_QUEUES_FULL], 50);
	rejoin(&r, &ws);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(full_queues),
		cmocka_unit_test(full_best_effort),
		cmocka_unit_test(a_link_goes_down),
		cmocka_unit_test(the_driver_is_full),
		cmocka_unit_test(stopping_worker_sends_queued_frames),
		cmocka_unit_test(flows_change),
		cmocka_unit_test(a_flow_is_measured),
		cmocka_unit_test(more_flows_than_rows),
		cmocka_unit_test(handed_over),
		cmocka_unit_test(the_ring_is_full),
		cmocka_unit_test(both_stop),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
