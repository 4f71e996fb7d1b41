/* SPDX-License-Identifier: BSD-3-Clause */
#include "bench/lcl/lcl.h"

#include <inttypes.h>
#include <stdlib.h>

#include <rte_errno.h>
#include <rte_ethdev.h>

#include "biplane/counters/general.h"
#include "biplane/counters/lcl.h"
#include "bench/lcl/lcl_frames.h"
#include "dataplane/lcl/lcl.h"

#define RATE_BPS 25000000000ull /* as in the paper, also the slot */
#define TAU "8us"
#define AT_SEQUENCE (BP_LCL_AT + 10)
#define OUT 1u /* index in lcl.ports */

void bench_lcl_configuration(FILE *f)
{
	fprintf(f,
		"lcl:\n"
		"  ports:\n"
		"    - {port: devices, slot: " TAU ", link_rate: %llubps, trust_labels: true}\n"
		"    - {port: cloud, slot: " TAU ", link_rate: %llubps}\n",
		RATE_BPS, RATE_BPS);
}

uint16_t bench_lcl_sequence_rx(
	uint16_t port, uint16_t queue, struct rte_mbuf *pkts[], uint16_t n, uint16_t max, void *arg)
{
	struct bench_lcl *l = arg;
	uint32_t next = l->next;

	RTE_SET_USED(port);
	RTE_SET_USED(queue);
	RTE_SET_USED(max);
	for (uint16_t i = 0; i < n; i++) /* stores to bytes could alias l->next */
		bp_put_be32(rte_pktmbuf_mtod_offset(pkts[i], uint8_t *, AT_SEQUENCE),
			next++ / BENCH_LCL_FLOWS);
	l->next = next;
	return n;
}

/* Time continues, too. */
static uint16_t on_receive(
	uint16_t port, uint16_t queue, struct rte_mbuf *pkts[], uint16_t n, uint16_t max, void *arg)
{
	struct bench_lcl *l = arg;

	bench_lcl_sequence_rx(port, queue, pkts, n, max, arg);
	l->ps += n * BENCH_LCL_EACH_PS(RATE_BPS);
	l->clock->mono_ns += l->ps / 1000;
	l->clock->real_ns += l->ps / 1000;
	l->ps %= 1000;
	return n;
}

void bench_lcl_set_up(struct bench_lcl *l, struct bp_clock *clock)
{
	if (l->real)
		return;
	clock->mult = 0; /* the clock does not advance by itself */
	l->clock = clock;
	if (rte_eth_add_rx_callback(0, 0, on_receive, l) == NULL) {
		fprintf(stderr, "biplane-bench: callback: %s\n", rte_strerror(rte_errno));
		exit(1);
	}
}

static const struct bp_lcl_port_stats *out(const struct bp_shm *shm)
{
	return &shm->lcl.ports[OUT];
}

void bench_lcl_note(struct bench_lcl *l, const struct bp_shm *shm)
{
	l->outside = out(shm)->outside;
}

struct bench_lcl_flows bench_lcl_flows(const struct bp_shm *shm)
{
	struct bench_lcl_flows sum = {0};

	for (uint32_t i = 0; i < shm->lcl.limit; i++) {
		const struct bp_lcl_flow_stats *s =
			&shm->lcl.flows[(size_t)OUT * shm->lcl.limit + i];

		if (s->life == 0)
			continue;
		sum.n++;
		sum.frames += s->frames;
		sum.missing += s->missing;
		sum.reordered += s->reordered;
		sum.late += s->late;
		sum.labelled += s->labelled;
	}
	return sum;
}

bool bench_lcl_report(const struct bench_lcl *l, const struct bp_shm *shm, uint64_t frames)
{
	const uint64_t *v = shm->counters[0].v;
	const struct bp_lcl_port_stats *p = out(shm);
	const struct bench_lcl_flows f = bench_lcl_flows(shm);
	const uint64_t sent = atomic_load(&shm->port_stats[1].tx_packets);
	bool ok = sent == frames && p->sent == frames && p->best_effort == 0 && f.frames == frames;

	/* all labels were trusted, and all frames in order and in time */
	ok = ok && f.n == BENCH_LCL_FLOWS && f.missing == 0 && f.reordered == 0 && f.late == 0 &&
	     f.labelled == 0 && p->late == 0 && p->early == 0 && l->outside == 0;
	printf(", \"scheduled\": %" PRIu64 ", \"sent\": %" PRIu64 ", \"moved\": %" PRIu64
	       ", \"slots\": %" PRIu64 ", \"outside\": %" PRIu64,
		p->sent, sent, p->moved, p->slots, l->outside);
	for (unsigned i = 0; i < BP_C_COUNT; i++) {
		const bp_counter_group_t g = bp_counter_info[i].group;

		if (v[i] == 0 || i == BP_C_LCL_DEFERRED || (g != BP_CG_DROP && g != BP_CG_LCL))
			continue;
		printf(", \"%s\": %" PRIu64, bp_counter_info[i].name, v[i]);
		ok = false;
	}
	return ok;
}
