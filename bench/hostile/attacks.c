/* SPDX-License-Identifier: BSD-3-Clause */
#include "bench/hostile/attacks.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <rte_errno.h>
#include <rte_mbuf.h>

#include "bench/aggregation/agg_frames.h"
#include "dataplane/workers/worker.h"

#define ORDINARY 2000u /* ordinary frames between two bursts */
#define FRAMING 24u    /* bytes of a frame on the link that are not in the buffer */
#define STREAMS 1024u

static void die(const char *what, const char *why)
{
	fprintf(stderr, "biplane-bench: %s: %s\n", what, why);
	exit(1);
}

static bool makes_frames(const struct bench_attack *a)
{
	return a->reached != BP_C_COUNT;
}

static uint64_t thread_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

bool bench_attack_options(struct bench_attack_run *r, const char *name, struct bench_options *o,
	struct bench_phd *phd, struct bench_agg *agg, struct bench_transform *x,
	struct bench_lcl *lcl, struct bench_mix *mix)
{
	for (unsigned i = 0; i < bench_n_attacks; i++) {
		if (strcmp(name, "list") == 0)
			printf("%s\n", bench_attacks[i].name);
		if (strcmp(name, bench_attacks[i].name) == 0)
			r->attack = &bench_attacks[i];
	}
	if (strcmp(name, "list") == 0)
		exit(0);
	if (r->attack == NULL)
		return false;
	r->mix = mix;
	mix->driven = true;
	switch (r->attack->gateway) {
	case BENCH_ATTACK_SERVICES:
		mix->on = true;
		mix->shares = bench_mix_all;
		bench_mix_options(o, phd, agg, x, lcl);
		agg->streams = STREAMS;
		break;
	case BENCH_ATTACK_BRIDGE:
		o->learn = true;
		mix->shares.of[BENCH_MIX_PLAIN] = 1;
		break;
	case BENCH_ATTACK_AGGREGATES:
		mix->shares.of[BENCH_MIX_PLAIN] = 1;
		agg->disaggregate = 8;
		break;
	}
	return true;
}

static void burst_end(struct bench_attack_run *r)
{
	if (r->n_bursts < BENCH_ATTACK_BURSTS)
		r->burst_ns[r->n_bursts++] = r->ns;
	r->bytes = r->ns = 0;
	r->ordinary = ORDINARY;
}

static uint16_t make(
	struct bench_attack_run *r, uint16_t port, struct rte_mbuf *pkts[], uint16_t most)
{
	uint16_t n = 0;

	for (; n < most && r->bytes < BENCH_ATTACK_BYTES; n++) {
		struct rte_mbuf *m = rte_pktmbuf_alloc(r->mix->input.wire.pool);

		if (m == NULL)
			break;
		m->port = port;
		m->data_len = (uint16_t)r->attack->make(&r->seed, rte_pktmbuf_mtod(m, uint8_t *));
		m->pkt_len = m->data_len;
		r->bytes += m->data_len + FRAMING;
		pkts[n] = m;
	}
	r->frames += n;
	return n;
}

/* The CPU time since the previous poll is added to a burst, if the previous frames were the burst,
 * or the first ordinary frames after it, which may include deferred work. */
static uint16_t attack_rx(
	uint16_t port, uint16_t queue, struct rte_mbuf *pkts[], uint16_t n, uint16_t max, void *arg)
{
	struct bench_attack_run *r = arg;
	uint16_t end;

	if (r->last != BENCH_ATTACK_OTHERS)
		r->ns += thread_ns() - r->left_ns;
	if (r->last == BENCH_ATTACK_BEHIND)
		burst_end(r);
	if (r->ordinary == 0 && makes_frames(r->attack) && r->bytes < BENCH_ATTACK_BYTES) {
		end = (uint16_t)(n + make(r, port, pkts + n,
					     RTE_MIN((uint16_t)(max - n), BP_RX_BURST)));
		r->last = BENCH_ATTACK_BURST;
	} else {
		end = bench_mix_rx(port, queue, pkts, n, max, &r->mix->input);
		r->last = r->ordinary > 0 ? BENCH_ATTACK_OTHERS : BENCH_ATTACK_BEHIND;
		r->ordinary -= RTE_MIN(r->ordinary, (uint64_t)(end - n));
	}
	r->left_ns = thread_ns();
	return end;
}

void bench_attack_set_up(struct bench_attack_run *r, struct rte_mempool *pool,
	const struct bench_traffic *mqtt, uint64_t warm_up)
{
	r->seed = 88172645463325252ull;
	r->ordinary = warm_up;
	if (!r->mix->on && bench_mix_input_init(&r->mix->input, &r->mix->shares, mqtt, pool) != 0)
		die("frames", "no memory");
	if (rte_eth_add_rx_callback(0, 0, attack_rx, r) == NULL)
		die("callback", rte_strerror(rte_errno));
}

static int by_value(const void *a, const void *b)
{
	const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

bool bench_attack_report(struct bench_attack_run *r, const uint64_t *counters)
{
	const bp_counter_t reached = r->attack->reached;
	const uint32_t n = r->n_bursts;
	const uint64_t *ns = r->burst_ns;
	uint32_t p50, p99, p999;

	if (n == 0)
		return false;
	qsort(r->burst_ns, n, sizeof(r->burst_ns[0]), by_value);
	p50 = n / 2;
	p99 = n - n / 100 - 1;
	p999 = n - n / 1000 - 1;
	printf("\"attack\": \"%s\", \"what\": \"%s\", \"frames\": %" PRIu64 ", \"bursts\": %u"
	       ", \"p50_us\": %.1f, \"p99_us\": %.1f, \"p999_us\": %.1f, \"max_us\": %.1f",
		r->attack->name, r->attack->what, r->frames, n, (double)ns[p50] / 1e3,
		(double)ns[p99] / 1e3, (double)ns[p999] / 1e3, (double)ns[n - 1] / 1e3);
	if (!makes_frames(r->attack))
		return true;
	printf(", \"%s\": %" PRIu64, bp_counter_info[reached].name, counters[reached]);
	return r->frames > 0 && counters[reached] > 0;
}
