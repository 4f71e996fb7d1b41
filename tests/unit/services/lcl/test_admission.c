/* SPDX-License-Identifier: BSD-3-Clause */
/* The bounds of services/lcl/admission.h: by numbers that follow from its rules, and against a slow
 * model of a line of nodes, which must never do worse. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "tests/unit/services/lcl/line_model.h"
#include "tests/unit/times.h"

#define GBPS 1000000000ull
#define BESIDE                                                                                     \
	38u /* bytes of a frame's on the wire next to its own: label, checksum, preamble, gap */

static struct bp_lcl_port port(uint64_t tau_ns, uint64_t rate, uint16_t queues)
{
	return (struct bp_lcl_port){
		.tau_ns = tau_ns, .rate_bps = rate, .queues = queues, .queue_frames = 65536};
}

static struct bp_lcl_flow flow(uint64_t budget, uint8_t hops, uint64_t rate, uint32_t burst)
{
	return (struct bp_lcl_flow){.budget_ns = budget,
		.hops = hops,
		.rate_bps = rate,
		.burst = burst,
		.peak_bps = 25 * GBPS,
		.frame = 128};
}

static struct bp_lcl_admitted only(const struct bp_lcl_port *p, const struct bp_lcl_flow *f)
{
	struct bp_lcl_admitted a;

	bp_lcl_admit(p, 1522, f, 1, &a);
	return a;
}

/* The flow of the issue: it waits 5 us at most at the first node and 7.5 us at the second, but for
 * what a frame may be longer than another. */
static void a_flow_alone_is_kept(void **state)
{
	const struct bp_lcl_port p = port(8000, 25 * GBPS, 4);
	struct bp_lcl_flow f = flow(15000, 3, 6 * GBPS, 25000);
	struct bp_lcl_admitted a = only(&p, &f);

	assert_int_equal(a.why, BP_LCL_KEPT);
	assert_int_equal(a.early_ns, -8000);
	assert_int_equal(a.late_ns, 5 * 27); /* (166 - 84) bytes, twice at each node before */
	f.frame = 1518;
	a = only(&p, &f);
	assert_int_equal(a.why, BP_LCL_KEPT);
	assert_int_equal(a.late_ns, 5 * 472); /* (1556 - 84) bytes */
	/* a budget of less than tau cannot be undercut by tau */
	f = flow(3000, 1, GBPS, 200);
	a = only(&p, &f);
	assert_int_equal(a.why, BP_LCL_KEPT);
	assert_int_equal(a.early_ns, -3000);
}

static void refused(const struct bp_lcl_admitted *a, enum bp_lcl_why why, unsigned hop,
	uint64_t need, uint64_t have)
{
	assert_int_equal(a->why, why);
	assert_int_equal(a->hop, hop);
	assert_int_equal(a->need, need);
	assert_int_equal(a->have, have);
}

static void rates_are_summed(void **state)
{
	const struct bp_lcl_port p = port(8000, 10 * GBPS, 4);
	struct bp_lcl_flow f[2] = {flow(30000, 1, 6 * GBPS, 200), flow(20000, 1, 4 * GBPS, 200)};
	struct bp_lcl_admitted a[2];

	bp_lcl_admit(&p, 0, f, 2, a);
	assert_int_not_equal(a[0].why, BP_LCL_RATE);
	f[1].rate_bps++;
	bp_lcl_admit(&p, 0, f, 2, a);
	refused(&a[0], BP_LCL_RATE, 1, 10 * GBPS + 1, 10 * GBPS);
	refused(&a[1], BP_LCL_RATE, 1, 10 * GBPS + 1, 10 * GBPS);
}

/* Two links' bursts meet: 12500 bytes of each and what comes in 8 us besides, 3000, are too many
 * for 25000; with 9500 of each they fit, when all but a frame has to be sent before it. */
static void bursts_of_two_must_fit(void **state)
{
	const struct bp_lcl_port p = port(8000, 25 * GBPS, 4);
	struct bp_lcl_flow f[2] = {
		flow(16000, 1, 3 * GBPS, 12500), flow(16000, 1, 3 * GBPS, 12500)};
	struct bp_lcl_admitted a[2];

	f[0].peak_bps = f[1].peak_bps = 100 * GBPS;
	bp_lcl_admit(&p, 1522, f, 2, a);
	refused(&a[0], BP_LCL_BURST, 1, 31000, 25000);
	refused(&a[1], BP_LCL_BURST, 1, 31000, 25000);
	f[0].burst = 9500;
	f[1].burst = 9500 + 84;
	bp_lcl_admit(&p, 1522, f, 2, a);
	assert_int_equal(a[0].why, BP_LCL_KEPT);
	assert_int_equal(a[0].slot_bytes, 25084);
	assert_in_range(a[0].late_ns, 1, 8000);
}

/* Best effort that is on the wire when a frame comes for the turn that runs takes of that turn. */
static void best_effort_uses_slot_time(void **state)
{
	const struct bp_lcl_port p = port(100000, GBPS, 4);
	struct bp_lcl_flow f[2] = {flow(1000, 1, 100000000, 4000), flow(1000, 1, 100000000, 5000)};
	struct bp_lcl_admitted a[2];

	/* 11500 bytes may come for a turn of 12500 */
	bp_lcl_admit(&p, 0, f, 2, a);
	assert_int_equal(a[0].why, BP_LCL_KEPT);
	assert_int_equal(a[0].slot_bytes, 11500);
	/* 1546 of best effort are too many, though the 125 of 1 us may run before */
	bp_lcl_admit(&p, 1522, f, 2, a);
	refused(&a[0], BP_LCL_BURST, 1, 11500 + 1546 - 125, 12500);
	f[1].burst = 4000;
	bp_lcl_admit(&p, 1522, f, 2, a);
	assert_int_equal(a[0].why, BP_LCL_KEPT);
	/* a frame with a longer budget has waited for the difference */
	f[1].burst = 5000;
	f[0].budget_ns = f[1].budget_ns = 13000;
	bp_lcl_admit(&p, 1522, f, 2, a);
	assert_int_equal(a[0].why, BP_LCL_KEPT);
}

static void frames_need_queue_depth(void **state)
{
	struct bp_lcl_port p = port(8000, 25 * GBPS, 4);
	const struct bp_lcl_flow f = flow(16000, 1, GBPS, 840);
	struct bp_lcl_admitted a;

	p.queue_frames = 22; /* 840 and 1000 bytes */
	assert_int_equal(only(&p, &f).why, BP_LCL_KEPT);
	p.queue_frames = 21;
	a = only(&p, &f);
	refused(&a, BP_LCL_QUEUE_DEPTH, 1, 22, 21);
}

static void queues_must_reach(void **state)
{
	const struct bp_lcl_port p = port(8000, 25 * GBPS, 4);
	struct bp_lcl_flow f = flow(24000, 1, GBPS, 200);
	struct bp_lcl_admitted a;

	assert_int_equal(only(&p, &f).why, BP_LCL_KEPT);
	f.budget_ns = 24001;
	a = only(&p, &f);
	refused(&a, BP_LCL_QUEUES, 1, 5, 4);
}

/* Nodes that do not wait for their share leave all of the budget to the last. */
static void queues_must_reach_at_the_last_hop(void **state)
{
	const struct bp_lcl_port p = port(8000, 25 * GBPS, 4);
	struct bp_lcl_flow f = flow(60000, 4, GBPS, 200);
	const struct bp_lcl_admitted a = only(&p, &f);

	refused(&a, BP_LCL_QUEUES, 4, 5, 4);
}

static void the_budget_must_last(void **state)
{
	const struct bp_lcl_port p = port(8000, 25 * GBPS, 4);
	struct bp_lcl_flow f[2] = {flow(15000, 3, GBPS, 12000), flow(15000, 3, GBPS, 8000)};
	struct bp_lcl_admitted a[2];

	bp_lcl_admit(&p, 1522, f, 2, a);
	assert_int_equal(a[0].why, BP_LCL_BUDGET);
	assert_int_equal(a[0].have, 15000);
	assert_true(a[0].need > 15000 && a[0].need < 15000 + 16000);
	assert_int_equal(a[0].hop, 3);
	f[0].burst = f[1].burst = 200;
	f[0].rate_bps = f[1].rate_bps = 1000000;
	bp_lcl_admit(&p, 1522, f, 2, a);
	assert_int_equal(a[0].why, BP_LCL_KEPT);
	assert_int_equal(a[1].why, BP_LCL_KEPT);
}

/* ---- against the model ---- */

#define FRAMES 300

static int by_time(const void *a, const void *b)
{
	const struct line_frame *x = a, *y = b;

	return x->at < y->at ? -1 : x->at > y->at;
}

/* As much as a flow may send, now and then with pauses. */
static unsigned source(const struct bp_lcl_flow *f, unsigned number, int64_t until,
	struct line_frame *out, uint64_t *seed)
{
	const double per_ps = (double)f->rate_bps / 8e12;
	const uint64_t longest = f->frame + BESIDE;
	const bool alike = line_random(seed, 2) == 0;
	double tokens = f->burst;
	int64_t at = 1000000 + (int64_t)line_random(seed, 30000000);

	for (unsigned i = 0; i < FRAMES; i++) {
		const uint64_t bytes = alike ? longest : 84 + line_random(seed, longest - 84 + 1);
		int64_t pause = (int64_t)((double)bytes * 8e12 / (double)f->peak_bps) + 1;

		if (line_random(seed, 16) == 0)
			pause += (int64_t)line_random(seed, 60000000);
		if (tokens + (double)pause * per_ps < (double)bytes)
			pause = (int64_t)(((double)bytes - tokens) / per_ps) + 1;
		at += pause;
		tokens += (double)pause * per_ps;
		tokens = tokens > f->burst ? f->burst : tokens;
		tokens -= (double)bytes;
		if (at > until)
			return i;
		out[i] = (struct line_frame){.d = (int64_t)f->budget_ns * 1000,
			.at = at,
			.bytes = bytes,
			.flow = number,
			.n = f->hops};
	}
	return FRAMES;
}

static struct bp_lcl_flow some_flow(const struct bp_lcl_port *p, unsigned flows, uint64_t *seed)
{
	const uint64_t turn = p->rate_bps / 8000000 * p->tau_ns / 1000;
	const uint32_t frame = 60 + (uint32_t)line_random(seed, 1459);
	const uint8_t hops = (uint8_t)(1 + line_random(seed, 8));
	const uint64_t share = (turn / flows + 1) * (1 + line_random(seed, 8)) / 6;

	return (struct bp_lcl_flow){
		.budget_ns = 1000 + line_random(seed, p->tau_ns * (1 + hops) * 3 / 2),
		.hops = hops,
		.rate_bps = 1000 + p->rate_bps / flows * line_random(seed, 100) / 120,
		.peak_bps = p->rate_bps * (1 + line_random(seed, 3)),
		.burst = frame + BESIDE + (uint32_t)line_random(seed, share + 1),
		.frame = frame};
}

/* No frame waits less or more than was promised to its flow, none is without a queue, and no slot
 * is meant for more. */
static void check(struct line *l, const struct bp_lcl_admitted *a, struct line_frame *frames)
{
	const uint64_t seed = l->seed;
	uint64_t most = 0;
	unsigned n = 0;

	for (unsigned i = 0; i < l->flows; i++)
		n += source(&l->flow[i], i, (int64_t)l->port->tau_ns * 1000 * LINE_TURNS / 2,
			frames + n, &l->seed);
	if (n == 0)
		return;
	qsort(frames, n, sizeof(*frames), by_time);
	line_run(l, frames, n);
	for (unsigned i = 0; i < n; i++) {
		const struct line_frame *f = &frames[i];
		const int64_t off = f->waited - (int64_t)l->flow[f->flow].budget_ns * 1000;

		if (off >= a[f->flow].early_ns * 1000 && off <= a[f->flow].late_ns * 1000)
			continue;
		for (unsigned k = 0; k < l->flows; k++)
			print_message(
				"flow %u: budget %llu ns, %u hops, %llu bps, peak %llu, burst %u, "
				"frame %u\n",
				k, (unsigned long long)l->flow[k].budget_ns, l->flow[k].hops,
				(unsigned long long)l->flow[k].rate_bps,
				(unsigned long long)l->flow[k].peak_bps, l->flow[k].burst,
				l->flow[k].frame);
		print_message("tau %llu ns, %llu bps, %u queues, best effort %u\n",
			(unsigned long long)l->port->tau_ns, (unsigned long long)l->port->rate_bps,
			l->port->queues, l->best_effort_max);
		fail_msg("seed %llu: flow %u of %u waited %lld ps more than its budget, promised "
			 "%lld to %lld ns",
			(unsigned long long)seed, f->flow, l->flows, (long long)off,
			(long long)a[f->flow].early_ns, (long long)a[f->flow].late_ns);
	}
	for (unsigned i = 0; i < l->flows; i++)
		most = a[i].slot_bytes > most ? a[i].slot_bytes : most;
	assert_in_range(l->slot_bytes, 0, most);
	if (l->early != 0 || l->full != 0)
		fail_msg("seed %llu: %u and %u frames had no queue", (unsigned long long)seed,
			l->early, l->full);
}

static void node_delay_is_within_the_bound(void **state)
{
	static const uint64_t rates[] = {GBPS, 10 * GBPS, 25 * GBPS};
	static struct line_frame frames[6 * FRAMES];
	uint64_t seed = 88172645463325252ull;
	unsigned kept = 0, alone = 0, far = 0, why[6] = {0};

	for (unsigned round = 0; round < TEST_TIMES(320000); round++) {
		struct bp_lcl_port p = port(1000 + line_random(&seed, 60000),
			rates[line_random(&seed, 3)], (uint16_t)(2 + line_random(&seed, 7)));
		struct bp_lcl_flow f[6];
		struct bp_lcl_admitted a[6];
		struct line l = {.port = &p, .flow = f, .seed = seed | 1};
		bool all = true;

		l.flows = 1 + (unsigned)line_random(&seed, 6);
		l.best_effort_max = line_random(&seed, 3) == 0 ? 0 : 1522;
		for (unsigned i = 0; i < l.flows; i++)
			f[i] = some_flow(&p, l.flows, &seed);
		bp_lcl_admit(&p, l.best_effort_max, f, l.flows, a);
		for (unsigned i = 0; i < l.flows; i++) {
			why[a[i].why]++;
			all = all && a[i].why == BP_LCL_KEPT;
		}
		if (!all)
			continue;
		kept++;
		alone += l.flows == 1;
		for (unsigned i = 0; i < l.flows; i++)
			far += f[i].hops > 3;
		if (kept <= 3000)
			check(&l, a, frames);
	}
	print_message(
		"kept %u, of these of one flow %u; flows of over 3 hops %u; refused for burst "
		"%u, queues %u, budget %u\n",
		kept, alone, far, why[BP_LCL_BURST], why[BP_LCL_QUEUES], why[BP_LCL_BUDGET]);
	assert_true(kept > 1000 && kept - alone > 300 && far > 100);
	assert_true(
		why[BP_LCL_BURST] > 100 && why[BP_LCL_QUEUES] > 100 && why[BP_LCL_BUDGET] > 100);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_flow_alone_is_kept),
		cmocka_unit_test(rates_are_summed),
		cmocka_unit_test(bursts_of_two_must_fit),
		cmocka_unit_test(best_effort_uses_slot_time),
		cmocka_unit_test(frames_need_queue_depth),
		cmocka_unit_test(queues_must_reach),
		cmocka_unit_test(queues_must_reach_at_the_last_hop),
		cmocka_unit_test(the_budget_must_last),
		cmocka_unit_test(node_delay_is_within_the_bound),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
