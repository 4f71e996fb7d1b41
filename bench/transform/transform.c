/* SPDX-License-Identifier: BSD-3-Clause */
#include "bench/transform/transform.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include <rte_errno.h>

#include "biplane/counters/general.h"
#include "biplane/counters/transform.h"
#include "bench/harness/random_address.h"
#include "bench/harness/sweep.h"
#include "bench/transform/kunze2021.h"
#include "bench/transform/transform_frames.h"
#include "dataplane/transform/worker.h"
#include "shm/transform/transform_writer.h"
#include "services/transform/accuracy.h"

/* Minimum percentage of sources that must have been used: they are drawn at random. */
#define MET_PERCENT 99u

static void die(const char *what, const char *why)
{
	fprintf(stderr, "biplane-bench: %s: %s\n", what, why);
	exit(1);
}

bool bench_transform_fits(const struct bench_transform *x)
{
	if (!bench_transform_on(x))
		return x->sources == 0 && x->rates == NULL;
	return (bp_transform_method_find(x->method) >= 0 ||
		       bench_kunze2021_find(x->method) != NULL) &&
	       x->sources <= BENCH_TRANSFORM_SOURCES_MAX && (x->sources == 0 || x->rates == NULL);
}

static void source(uint32_t i, FILE *f)
{
	const uint32_t a = BENCH_TRANSFORM_SOURCE + i;
	struct bp_transform_draw d = {i};
	double m[12];

	bp_transform_draw_matrix(&d, m);
	fprintf(f,
		"      - {address: %u.%u.%u.%u, receivers: [{matrix: [[%.9f, %.9f, %.9f, %.9f], "
		"[%.9f, %.9f, %.9f, %.9f], [%.9f, %.9f, %.9f, %.9f]]}]}\n",
		a >> 24, a >> 16 & 255, a >> 8 & 255, a & 255, m[0], m[3], m[6], m[9], m[1], m[4],
		m[7], m[10], m[2], m[5], m[8], m[11]);
}

/* Returns the method to configure; a method of Kunze et al. replaces `exact`. */
static const char *configured_method(const struct bench_transform *x)
{
	const struct bp_transform_ops *ops = bench_kunze2021_find(x->method);

	if (ops == NULL)
		return x->method;
	bench_kunze2021_init();
	bp_transform_method_replace(BP_TRANSFORM_EXACT, ops);
	return "exact";
}

void bench_transform_configuration(const struct bench_transform *x, FILE *f)
{
	const uint32_t sources = RTE_MAX(x->sources, 1u);

	fprintf(f,
		"transform:\n"
		"  max_matrices: %" PRIu32 "\n"
		"  entries:\n"
		"  - port: devices\n"
		"    udp_port: %u\n"
		"    to: 10.2.0.1\n"
		"    method: %s\n"
		"    receiver: {address: 10.1.0.9, udp_port: %u%s}\n"
		"    sources:\n",
		sources, BENCH_TRANSFORM_UDP, configured_method(x), BENCH_TRANSFORM_RECEIVER_UDP,
		x->routed ? "" : ", mac: \"02:00:00:00:02:09\"");
	for (uint32_t i = 0; i < sources; i++)
		source(i, f);
}

static void on_receive(
	uint16_t (*callback)(uint16_t, uint16_t, struct rte_mbuf *[], uint16_t, uint16_t, void *),
	void *arg)
{
	if (rte_eth_add_rx_callback(0, 0, callback, arg) == NULL)
		die("callback", rte_strerror(rte_errno));
}

/* Gives each reading a random tracker. */
static uint16_t sources_rx(
	uint16_t port, uint16_t queue, struct rte_mbuf *pkts[], uint16_t n, uint16_t max, void *arg)
{
	struct bench_transform *x = arg;

	RTE_SET_USED(port);
	RTE_SET_USED(queue);
	RTE_SET_USED(max);
	for (uint16_t i = 0; i < n; i++)
		bench_random_address(rte_pktmbuf_mtod(pkts[i], uint8_t *), BENCH_AT_SRC,
			BENCH_TRANSFORM_SOURCE, x->sources, &x->seed);
	return n;
}

static void make_wire(struct bench_transform *x, struct rte_mempool *pool)
{
	x->frames = calloc(BENCH_TRANSFORM_READINGS, BENCH_TRANSFORM_FRAME);
	if (x->frames == NULL)
		die("frames", "no memory");
	for (uint32_t i = 0; i < BENCH_TRANSFORM_READINGS; i++)
		bench_transform_frame(i, x->frames + (size_t)i * BENCH_TRANSFORM_FRAME);
	x->wire.frames = x->frames;
	x->wire.n = BENCH_TRANSFORM_READINGS;
	x->wire.stride = BENCH_TRANSFORM_FRAME;
	x->wire.len = BENCH_TRANSFORM_FRAME;
	x->wire.pool = pool;
	on_receive(bench_wire_rx, &x->wire);
}

void bench_transform_set_up(struct bench_transform *x, struct rte_mempool *pool)
{
	if (x->rates != NULL)
		make_wire(x, pool);
	if (x->sources != 0)
		on_receive(sources_rx, x);
}

void bench_transform_sweep(
	struct bench_transform *x, const struct bp_shm *shm, pthread_t worker, double seconds)
{
	const struct bench_sweep_figure sent[] = {{"transformed", &shm->port_stats[1].tx_packets}};

	bench_sweep(&x->wire, x->rates, worker, seconds, sent, RTE_DIM(sent));
}

/* ---- counter checks ---- */

/* Sums of the readings of all sources, and the number of sources with any. */
static uint64_t of_sources(const struct bp_shm *shm, uint32_t n, uint32_t *met)
{
	uint64_t sum = 0;

	*met = 0;
	for (uint32_t i = 0; i < n; i++) {
		const uint64_t readings = atomic_load(&shm->transform.source_stats[i].readings);

		sum += readings;
		*met += readings != 0;
	}
	return sum;
}

bool bench_transform_report(
	const struct bench_transform *x, const struct bp_shm *shm, uint64_t frames)
{
	const uint64_t *v = shm->counters[0].v;
	const struct bp_transform_rule_stats *s = &shm->transform.rule_stats[0];
	const uint32_t sources = RTE_MAX(x->sources, 1u);
	const uint64_t sent = atomic_load(&shm->port_stats[1].tx_packets);
	bool ok = v[BP_C_TRANSFORM_READING] == frames && sent == frames;
	uint32_t met;
	uint64_t all = of_sources(shm, sources, &met);

	printf(", \"readings\": %" PRIu64 ", \"sent\": %" PRIu64 ", \"sources_met\": %" PRIu32,
		v[BP_C_TRANSFORM_READING], sent, met);
	for (unsigned i = 0; i < BP_C_COUNT; i++) {
		const bp_counter_group_t g = bp_counter_info[i].group;

		if (v[i] == 0 || i == BP_C_TRANSFORM_READING ||
			(g != BP_CG_DROP && g != BP_CG_ORIGINATED && g != BP_CG_TRANSFORM))
			continue;
		printf(", \"%s\": %" PRIu64, bp_counter_info[i].name, v[i]);
		ok = false;
	}
	if (x->rates != NULL) {
		const uint64_t came = atomic_load(&x->wire.offered) - atomic_load(&x->wire.lost) -
				      x->wire.waiting;

		printf(", \"came\": %" PRIu64, came);
		ok = ok && came == frames && atomic_load(&x->wire.no_mbuf) == 0;
	}
	return ok && all == frames && met >= sources - sources * (100 - MET_PERCENT) / 100 &&
	       atomic_load(&s->readings) == frames && atomic_load(&s->sent) == frames &&
	       atomic_load(&s->refused) == 0 && atomic_load(&s->unknown) == 0 &&
	       atomic_load(&s->overflow) == 0;
}
