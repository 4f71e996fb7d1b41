/* SPDX-License-Identifier: BSD-3-Clause */
#include "bench/health/phd.h"

#include "config/health/settings.h"
#include <inttypes.h>
#include <stdlib.h>
#include <time.h>

#include <rte_errno.h>

#include "biplane/counters/health.h"
#include "dataplane/health/worker.h"

#define SESSIONS_MIN 65536u
#define NEWCOMERS (1u << 20) /* used by devices that associate during the measurement */

static void die(const char *what, const char *why)
{
	fprintf(stderr, "biplane-bench: %s: %s\n", what, why);
	exit(1);
}

const char *bench_phd_cse_device(const struct bench_phd *p)
{
	return p->stored ? "net_ring0" : "net_null0,no-rx=1";
}

void bench_phd_configuration(const struct bench_phd *p, FILE *f)
{
	const uint32_t room = p->store != NULL ? NEWCOMERS : SESSIONS_MIN;

	fprintf(f,
		"health_devices:\n  listen: {udp_port: %u, tcp_port: off}\n  max_sessions: %u\n  "
		"content_instance_per: %s\n"
		"  cse: {coap: \"coap://" BENCH_CSE "\"}\n",
		BENCH_PHD_LISTEN, p->sessions < room ? room : p->sessions,
		p->each ? "object" : "report");
	if (p->store != NULL)
		fprintf(f, "  limits: {association_rate: 1000000}\n  store: {path: \"%s\"}\n",
			p->store);
}

/* The thousand frames that the wire generates in turn. */
static void make_wire(struct bench_phd *p, struct rte_mempool *pool)
{
	p->frames = calloc(BENCH_PHD_DEVICES, BENCH_PHD_FRAME_MAX);
	if (p->frames == NULL)
		die("frames", "no memory");
	for (uint32_t i = 0; i < BENCH_PHD_DEVICES; i++)
		p->wire.len = bench_phd_frame(i * 7 % BENCH_PHD_DEVICES, p->apdu,
			p->frames + (size_t)i * BENCH_PHD_FRAME_MAX);
	p->wire.frames = p->frames;
	p->wire.n = BENCH_PHD_DEVICES;
	p->wire.stride = BENCH_PHD_FRAME_MAX;
	p->wire.pool = pool;
	if (rte_eth_add_rx_callback(0, 0, bench_wire_rx, &p->wire) == NULL)
		die("callback", rte_strerror(rte_errno));
}

void bench_phd_set_up(struct bench_phd *p, struct bp_worker *w, const struct bp_config *c,
	struct bp_fib_writer *writer, struct rte_mempool *pool)
{
	bench_phd_routes(writer);
	bench_phd_sessions(w->shm, bp_config_phd(c), p->sessions, p->apdu);
	if (p->wire.rate > 0)
		make_wire(p, pool);
	bench_phd_input_init(&p->input, p->sessions);
	if (!p->mixed && rte_eth_add_rx_callback(0, 0, bench_phd_input_rx, &p->input) == NULL)
		die("callback", rte_strerror(rte_errno));
	if (p->stored && rte_eth_add_tx_callback(1, 0, bench_phd_cse_tx, &p->cse) == NULL)
		die("callback", rte_strerror(rte_errno));
}

unsigned bench_phd_queues(const struct bench_phd *p, struct bp_rx_queue queues[2])
{
	queues[0] = (struct bp_rx_queue){.port = 0};
	queues[1] = (struct bp_rx_queue){.port = 1, .set_port = true};
	return p->stored ? 2 : 1;
}

/* Responses received after the last poll of the worker. */
static uint64_t count_rest(void)
{
	struct rte_mbuf *m[BP_RX_BURST];
	uint64_t all = 0;
	uint16_t n;

	while ((n = rte_eth_rx_burst(1, 0, m, BP_RX_BURST)) != 0) {
		rte_pktmbuf_free_bulk(m, n);
		all += n;
	}
	return all;
}

/* Checks that every request was returned, and every waiting device answered. */
static bool all_stored(const struct bench_phd *p, const struct bp_shm *shm)
{
	const uint64_t *v = shm->counters[0].v;
	const uint64_t stored = v[BP_C_CSE_STORED], answers = v[BP_C_PHD_RESPONSES];
	const uint64_t rest = count_rest();

	printf(", \"stored\": %" PRIu64 ", \"answers\": %" PRIu64, stored, answers);
	return p->cse.others == 0 && p->cse.stored == v[BP_C_CSE_REQUESTS] &&
	       stored + rest == p->cse.stored && answers + v[BP_C_CSE_ACKED] == stored &&
	       answers <= v[BP_C_PHD_REPORTS_CONFIRMED] &&
	       answers + rest >= v[BP_C_PHD_REPORTS_CONFIRMED] &&
	       atomic_load(&shm->port_stats[0].tx_packets) == answers;
}

static void print_wire(const struct bench_wire *w)
{
	printf(", \"rate\": %.0f, \"wire_offered\": %" PRIu64 ", \"wire_lost\": %" PRIu64
	       ", \"loss_percent\": %.4f",
		w->rate, atomic_load(&w->offered), atomic_load(&w->lost),
		100.0 * (double)atomic_load(&w->lost) / (double)atomic_load(&w->offered));
}

bool bench_phd_report(const struct bench_phd *p, const struct bp_shm *shm, uint64_t others)
{
	const uint64_t *v = shm->counters[0].v;
	const uint64_t reports = p->input.made - others;
	const uint64_t instances = reports * (p->each ? 2 : 1);
	const uint64_t sent = atomic_load(&shm->port_stats[1].tx_packets);
	bool ok = v[BP_C_PHD_REPORTS] == reports && v[BP_C_CSE_REQUESTS] == instances &&
		  v[BP_C_PHD_OBSERVATIONS] == 2 * reports && v[BP_C_PHD_DUPLICATES] == 0;

	/* the control plane sends requests of its own to the CSE */
	ok = ok && (p->store != NULL ? sent >= instances : sent == instances);

	printf(", \"sessions\": %" PRIu32 ", \"apdu\": %" PRIu32 ", \"reports\": %" PRIu64
	       ", \"confirmed\": %" PRIu64 ", \"instances\": %" PRIu64,
		p->sessions, p->apdu, v[BP_C_PHD_REPORTS], v[BP_C_PHD_REPORTS_CONFIRMED],
		v[BP_C_CSE_REQUESTS]);
	if (p->stored)
		ok = all_stored(p, shm) && ok;
	if (p->wire.rate > 0) {
		print_wire(&p->wire);
		/* frames still in the ring arrived after the last poll */
		ok = ok && atomic_load(&p->wire.no_mbuf) == 0 &&
		     p->input.made + p->wire.waiting + atomic_load(&p->wire.lost) ==
			     atomic_load(&p->wire.offered);
	}
	return ok;
}
