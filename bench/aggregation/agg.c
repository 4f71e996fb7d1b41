/* SPDX-License-Identifier: BSD-3-Clause */
#include "bench/aggregation/agg.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include <rte_errno.h>

#include "biplane/counters/aggregation.h"
#include "biplane/counters/general.h"
#include "bench/aggregation/agg_frames.h"
#include "bench/harness/sweep.h"
#include "dataplane/aggregation/worker.h"

#define STREAMS_MIN 1024u
#define STREAMS_MAX 65536u
/* Minimum percentage of messages that must leave in full aggregates. The rest leaves in overdue
 * aggregates after the worker was descheduled for a while. */
#define FULL_PERCENT 99u

static void die(const char *what, const char *why)
{
	fprintf(stderr, "biplane-bench: %s: %s\n", what, why);
	exit(1);
}

bool bench_agg_fits(const struct bench_agg *a)
{
	const bool both = a->aggregate != 0 && a->disaggregate != 0;

	if (!bench_agg_on(a))
		return !a->lin2018 && a->streams == 0 && a->rates == NULL;
	return a->aggregate <= 255 && (!both || a->aggregate == a->disaggregate) &&
	       (both == (a->rates != NULL)) && a->streams <= STREAMS_MAX &&
	       (a->streams == 0 || a->disaggregate == 0);
}

void bench_agg_configuration(const struct bench_agg *a, FILE *f)
{
	const char *format = a->lin2018 ? "lin2018" : "full";
	/* With many streams, the next message of a stream arrives after those of all others: with
	 * the default delay of 1 ms no aggregate would become full. */
	const char *delay = a->streams > 1 ? "1s" : "1ms";
	const bool both = a->rates != NULL;

	fprintf(f, "aggregation:\n  max_streams: %" PRIu32 "\n", RTE_MAX(a->streams, STREAMS_MIN));
	if (a->aggregate != 0)
		fprintf(f,
			"  encapsulate:\n  - {port: devices, to: {address: %s, udp_port: %u}, "
			"format: %s, "
			"max_messages: %" PRIu32 ", max_delay: %s}\n",
			a->streams != 0 ? "10.1.0.0/16" : "10.1.0.9", BENCH_AGG_UDP, format,
			a->aggregate, delay);
	if (a->disaggregate != 0)
		fprintf(f,
			"  decapsulate:\n  - {port: %s, to: {address: 10.1.0.9, udp_port: %u}, "
			"format: %s, allowed_senders: [10.0.0.0/24]}\n",
			both ? "cloud" : "devices", BENCH_AGG_UDP, format);
}

uint32_t bench_agg_mbufs(const struct bench_agg *a)
{
	return a->aggregate != 0 ? RTE_MAX(a->streams, STREAMS_MIN) : 0;
}

static void on_receive(
	uint16_t (*callback)(uint16_t, uint16_t, struct rte_mbuf *[], uint16_t, uint16_t, void *),
	void *arg)
{
	if (rte_eth_add_rx_callback(0, 0, callback, arg) == NULL)
		die("callback", rte_strerror(rte_errno));
}

static void make_wire(struct bench_agg *a, struct rte_mempool *pool)
{
	a->frames = calloc(BENCH_AGG_MESSAGES, BENCH_AGG_FRAME);
	if (a->frames == NULL)
		die("frames", "no memory");
	for (uint32_t i = 0; i < BENCH_AGG_MESSAGES; i++)
		bench_agg_message(i, a->frames + (size_t)i * BENCH_AGG_FRAME);
	a->wire.frames = a->frames;
	a->wire.n = BENCH_AGG_MESSAGES;
	a->wire.stride = BENCH_AGG_FRAME;
	a->wire.len = BENCH_AGG_FRAME;
	a->wire.pool = pool;
	on_receive(bench_wire_rx, &a->wire);
}

void bench_agg_set_up(struct bench_agg *a, struct rte_mempool *pool)
{
	if (a->rates != NULL)
		make_wire(a, pool);
	else if (a->disaggregate != 0 && !a->lin2018)
		on_receive(bench_agg_sequence_rx, &a->sequence);
	if (a->streams != 0) {
		a->servers.n = a->streams;
		on_receive(bench_agg_servers_rx, &a->servers);
	}
}

unsigned bench_agg_queues(const struct bench_agg *a, struct bp_rx_queue queues[2])
{
	queues[0] = (struct bp_rx_queue){.port = 0};
	queues[1] = (struct bp_rx_queue){.port = 1, .set_port = true};
	return a->rates != NULL ? 2 : 1;
}

const _Atomic uint64_t *bench_agg_messages(const struct bench_agg *a, const struct bp_shm *shm)
{
	return a->disaggregate != 0 ? &shm->port_stats[1].tx_packets
				    : &shm->port_stats[0].rx_packets;
}

/* ---- encapsulation and decapsulation in one worker ---- */

void bench_agg_sweep(
	struct bench_agg *a, const struct bp_shm *shm, pthread_t worker, double seconds)
{
	const struct bench_sweep_figure figures[] = {{"restored", &shm->port_stats[0].tx_packets},
		{"aggregates", &shm->port_stats[1].tx_packets}};

	bench_sweep(&a->wire, a->rates, worker, seconds, figures, RTE_DIM(figures));
}

/* ---- counter checks ---- */

/* Reports a counter value that must not occur. */
static bool none_of(const uint64_t *v, bp_counter_group_t g)
{
	bool none = true;

	for (unsigned i = 0; i < BP_C_COUNT; i++) {
		if (bp_counter_info[i].group != g || v[i] == 0)
			continue;
		printf(", \"%s\": %" PRIu64, bp_counter_info[i].name, v[i]);
		none = false;
	}
	return none;
}

void bench_agg_note(struct bench_agg *a, const struct bp_shm *shm)
{
	const struct bp_agg_stats *s = &shm->agg.stats[0];

	a->full = atomic_load(&s->flushed[BP_AGG_FLUSH_FULL]);
	a->taken = atomic_load(&s->messages);
}

static bool aggregated(const struct bench_agg *a, const struct bp_shm *shm, uint64_t messages)
{
	static const char *const why[] = {
#define X(id, name, help) name,
		BP_AGG_FLUSHES(X)
#undef X
	};
	const uint64_t *v = shm->counters[0].v;
	const struct bp_agg_stats *s = &shm->agg.stats[0];
	/* messages in full aggregates, or in aggregates that are still being filled */
	const uint64_t well = a->aggregate * (a->full + RTE_MAX(a->streams, 1u));
	const uint64_t sent = atomic_load(&shm->port_stats[1].tx_packets);

	printf(", \"messages\": %" PRIu64 ", \"aggregates\": %" PRIu64 ", \"streams\": %" PRIu64,
		v[BP_C_ENCAP_MESSAGE], v[BP_C_ENCAP_AGGREGATE], atomic_load(&s->begun));
	for (unsigned i = 0; i < BP_AGG_FLUSH_COUNT; i++)
		if (atomic_load(&s->flushed[i]) != 0)
			printf(", \"%s\": %" PRIu64, why[i], atomic_load(&s->flushed[i]));
	return v[BP_C_ENCAP_MESSAGE] == messages && atomic_load(&s->messages) == messages &&
	       sent == v[BP_C_ENCAP_AGGREGATE] && atomic_load(&s->evicted) == 0 &&
	       a->full * a->aggregate <= a->taken && well >= a->taken / 100 * FULL_PERCENT;
}

static bool restored(
	const struct bench_agg *a, const struct bp_shm *shm, uint64_t aggregates, unsigned out)
{
	const uint64_t *v = shm->counters[0].v;
	const struct bp_disagg_stats *s = &shm->agg.disagg_stats[0];

	printf(", \"restored\": %" PRIu64 ", \"missing\": %" PRIu64 ", \"duplicate\": %" PRIu64
	       ", \"stale\": %" PRIu64,
		v[BP_C_DECAP_MESSAGE], atomic_load(&s->missing), atomic_load(&s->duplicate),
		atomic_load(&s->stale));
	return v[BP_C_DECAP_AGGREGATE] == aggregates &&
	       atomic_load(&shm->port_stats[out].tx_packets) == v[BP_C_DECAP_MESSAGE] &&
	       atomic_load(&s->missing) == 0 && atomic_load(&s->duplicate) == 0 &&
	       atomic_load(&s->stale) == 0 &&
	       (a->rates != NULL || v[BP_C_DECAP_MESSAGE] == aggregates * a->disaggregate);
}

bool bench_agg_report(const struct bench_agg *a, const struct bp_shm *shm, uint64_t frames)
{
	const uint64_t *v = shm->counters[0].v;
	const bool dropped = !none_of(v, BP_CG_DROP), passed = !none_of(v, BP_CG_AGGREGATION);
	bool ok = !dropped && !passed;

	if (a->rates != NULL) {
		const uint64_t messages = atomic_load(&a->wire.offered) -
					  atomic_load(&a->wire.lost) - a->wire.waiting;

		/* at a low rate the delay expires before an aggregate is full, which is correct */
		ok = ok && v[BP_C_ENCAP_MESSAGE] == messages && v[BP_C_DECAP_MESSAGE] == messages &&
		     frames == messages && atomic_load(&a->wire.no_mbuf) == 0;
		printf(", \"messages\": %" PRIu64, messages);
		return restored(a, shm, v[BP_C_ENCAP_AGGREGATE], 0) && ok;
	}
	if (a->aggregate != 0)
		return aggregated(a, shm, frames) && ok;
	return restored(a, shm, frames, 1) && ok;
}
