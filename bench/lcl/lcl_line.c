/* SPDX-License-Identifier: BSD-3-Clause */
#include "bench/lcl/lcl_line.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <rte_errno.h>
#include <rte_launch.h>

#include "config/segment.h"
#include "bench/lcl/lcl_time.h"
#include "dataplane/workers/graph.h"
#include "dataplane/forwarding/fdb.h"
#include "dataplane/workers/pools.h"
#include "dataplane/workers/workers.h"

#define MBUFS 32767u
#define DEPTH 8192u       /* size of the rings */
#define SETTLE_US 200000u /* time for frames in flight after the end of the sources */
#define FRAME_LABELLED (BENCH_LCL_FRAME + BP_LCL_LABEL)

static void die(const char *what, const char *why)
{
	fprintf(stderr, "lcl_hops: %s: %s\n", what, why);
	exit(1);
}

/* ---- the configuration ---- */

static void lcl_port(FILE *f, const struct bench_lcl_line_options *o, const char *name, unsigned i)
{
	fprintf(f,
		"    - {port: %s%u, slot: %" PRIu64 "ns, queues: %u, link_rate: %" PRIu64
		"bps, trust_labels: true, best_effort_queue_len: 4096}\n",
		name, i, o->tau_ns, o->queues, o->rate_bps);
}

static void lcl_section(FILE *f, const struct bench_lcl_line_options *o, unsigned n)
{
	fprintf(f, "lcl:\n  max_flows: 16\n  ports:\n");
	for (unsigned i = 0; i < n; i++)
		lcl_port(f, o, "out", i);
	for (unsigned i = 1; i < n; i++)
		lcl_port(f, o, "in", i);
	fprintf(f, "  flows:\n");
	for (unsigned i = 0; i < o->n_flows; i++)
		fprintf(f,
			"    - {name: flow-%u, id: %u, match: {port: in0, udp_port: %u}, "
			"latency_budget: "
			"%" PRIu64 "ns, hops: %u, rate: %.0fbps, burst: %u, max_frame_size: %u, "
			"output_port: out0}\n",
			i, bench_lcl_flow_id(i), BENCH_LCL_UDP + i, o->budget_ns[i], o->hops[i],
			o->load * (double)o->rate_bps,
			o->burst * (FRAME_LABELLED + BP_LCL_LINK_OVERHEAD), BENCH_LCL_FRAME);
}

static char *configuration(const struct bench_lcl_line *l)
{
	char *text = NULL;
	size_t size = 0;
	FILE *f = open_memstream(&text, &size);

	fprintf(f, "name: hops\nports:\n");
	for (unsigned i = 0; i < l->n; i++)
		fprintf(f,
			"  - {name: in%u, device: net_ring%u}\n"
			"  - {name: out%u, device: net_ring%u}\n",
			i, 2 * i, i, 2 * i + 1);
	fprintf(f, "bridges: [");
	for (unsigned i = 0; i < l->n; i++)
		fprintf(f, "%s{name: hop%u, ports: [in%u, out%u]}", i ? ", " : "", i, i, i);
	fprintf(f, "]\nrouting: {max_ipv4_routes: 1024, max_ipv6_routes: 1024}\n");
	if (!l->o.plain)
		lcl_section(f, &l->o, l->n);
	fclose(f);
	return text;
}

/* ---- input and output ---- */

static void to_sink(struct bench_lcl_line *l, struct rte_mbuf *m, uint64_t start_ns)
{
	struct bench_lcl_trailer t;

	memcpy(&t, bench_lcl_trailer(m), sizeof(t));
	bench_lcl_sink_take(&l->sink[t.flow], t.due_ns, start_ns - t.due_ns - t.wire_ns);
	atomic_store_explicit(&l->taken, atomic_load_explicit(&l->taken, memory_order_relaxed) + 1,
		memory_order_relaxed);
	rte_pktmbuf_free(m);
}

/* Frames that left gateway `i`: frames for sinks and best effort end here, the others go to the
 * next gateway. Returns their number. */
static uint16_t from_wire(
	struct bench_lcl_line *l, unsigned i, uint64_t now, struct rte_mbuf **out, uint16_t max)
{
	uint64_t start, end;
	struct rte_mbuf *m;
	uint16_t n = 0;

	while (n < max && (m = bench_lcl_wire_next(&l->wire[i], now, &start, &end)) != NULL) {
		struct bench_lcl_trailer *t = bench_lcl_trailer(m);
		uint32_t mark;

		memcpy(&mark, &t->mark, sizeof(mark));
		if (mark != BENCH_LCL_MARK) {
			l->best_effort++;
			rte_pktmbuf_free(m);
		} else if (l->o.hops[t->flow] == i + 1) {
			to_sink(l, m, start);
		} else {
			t->wire_ns += end - start;
			m->ol_flags = 0; /* as a driver sets it */
			m->port = (uint16_t)(2 * (i + 1));
			out[n++] = m;
		}
	}
	return n;
}

static void begin_to_count(struct bench_lcl_line *l, uint64_t now)
{
	const uint64_t from = atomic_load_explicit(&l->from_ns, memory_order_relaxed);

	if (l->polled_ns != 0 && now - l->polled_ns > l->gap_ns)
		l->gap_ns = now - l->polled_ns;
	l->polled_ns = now;
	if (l->sink[0].from_ns == from)
		return;
	l->gap_ns = 0;
	for (unsigned i = 0; i < l->o.n_flows; i++)
		l->sink[i].from_ns = from;
}

static uint16_t on_receive(
	uint16_t port, uint16_t queue, struct rte_mbuf *pkts[], uint16_t n, uint16_t max, void *arg)
{
	struct bench_lcl_entry *e = arg;
	struct bench_lcl_line *l = e->line;
	const bool ended = atomic_load_explicit(&l->ended, memory_order_relaxed);
	const uint64_t now = bench_lcl_now_ns();

	RTE_SET_USED(queue);
	if (e->gateway == 0) {
		begin_to_count(l, now);
		from_wire(l, l->n - 1, now, pkts + n, (uint16_t)(max - n));
		for (unsigned i = 0; i < l->o.n_flows && !ended; i++)
			n = (uint16_t)(n + bench_lcl_source_take(&l->source[i], now, port, pkts + n,
						   (uint16_t)(max - n)));
	} else {
		n = (uint16_t)(n +
			       from_wire(l, e->gateway - 1, now, pkts + n, (uint16_t)(max - n)));
	}
	if (!ended && l->o.best_effort > 0)
		n = (uint16_t)(n + bench_lcl_source_take(&e->best_effort, now, port, pkts + n,
					   (uint16_t)(max - n)));
	return n;
}

/* ---- setup and run ---- */

static void map_segment(struct bench_lcl_line *l)
{
	struct bp_seg_spec specs[BP_SHM_SPECS_MAX];
	const unsigned n = bp_shm_specs(l->config, specs);
	char err[256];
	struct bp_segment *s = bp_segment_anonymous(specs, n, err, sizeof(err));

	if (s == NULL || bp_shm_map(&l->shm, s, err, sizeof(err)) != 0)
		die("segment", err);
}

static void make_worker(struct bench_lcl_line *l)
{
	struct bp_rx_queue queues[2 * BENCH_LCL_LINE_MOST] = {0};
	char err[256];

	if (bp_fdb_create(&l->fdb, l->config, err, sizeof(err)) != 0)
		die("FDB", err);
	l->worker = bp_worker_create(l->config, &l->shm, 0, &l->fdb, true, err, sizeof(err));
	if (l->worker == NULL)
		die("worker", err);
	l->worker->pool = l->pool;
	for (unsigned i = 0; i < 2 * l->n; i++) /* out receives nothing, but is polled */
		queues[i] = (struct bp_rx_queue){.port = (uint16_t)i};
	if (bp_graph_build(l->worker, "hops", 2 * l->n, queues, 2 * l->n, err, sizeof(err)) != 0)
		die("graph", err);
}

static void make_traffic(struct bench_lcl_line *l)
{
	const struct bench_lcl_line_options *o = &l->o;

	bench_lcl_wires();
	for (unsigned i = 0; i < o->n_flows; i++) {
		bench_lcl_source_bursts(&l->source[i], l->pool, i, o->burst, o->load, o->rate_bps);
		bench_lcl_sink_begin(&l->sink[i], o->budget_ns[i], o->tau_ns);
	}
	for (unsigned i = 0; i < l->n; i++) {
		l->entry[i].line = l;
		l->entry[i].gateway = i;
		if (o->best_effort > 0)
			bench_lcl_source_best_effort(&l->entry[i].best_effort, l->pool, i + 1,
				o->best_effort, o->rate_bps);
		bench_lcl_wire_begin(
			&l->wire[i], (uint16_t)(2 * i + 1), l->ports.out[2 * i + 1], o->rate_bps);
		if (rte_eth_add_rx_callback((uint16_t)(2 * i), 0, on_receive, &l->entry[i]) == NULL)
			die("callback", rte_strerror(rte_errno));
	}
}

void bench_lcl_line_make(struct bench_lcl_line *l)
{
	char err[256], *text;

	for (unsigned i = 0; i < l->o.n_flows; i++)
		l->n = RTE_MAX(l->n, (unsigned)l->o.hops[i]);
	text = configuration(l);
	l->config = bp_config_parse("hops", text, strlen(text), stderr);
	free(text);
	if (l->config == NULL)
		die("configuration", "refused");
	map_segment(l);
	l->pool = rte_pktmbuf_pool_create_by_ops("hops", MBUFS, RTE_MEMPOOL_CACHE_MAX_SIZE, 0,
		RTE_MBUF_DEFAULT_BUF_SIZE, SOCKET_ID_ANY, bp_pools_ops(false));
	if (l->pool == NULL)
		die("mbufs", rte_strerror(rte_errno));
	if (bp_ring_ports_create(&l->ports, l->config, DEPTH, l->pool, err, sizeof(err)) != 0)
		die("ports", err);
	make_worker(l);
}

static int work(void *arg)
{
	struct bench_lcl_line *l = arg;

	atomic_store_explicit(&l->thread, pthread_self(), memory_order_release);
	return bp_worker_run(&l->args);
}

void bench_lcl_line_launch(struct bench_lcl_line *l)
{
	bp_clock_init(&l->clock);
	make_traffic(l); /* whose time starts now */
	l->args = (struct bp_worker_args){.worker = l->worker, .clock = &l->clock};
	l->worker->lcore = rte_get_next_lcore(-1, 1, 0);
	if (rte_eal_remote_launch(work, l, l->worker->lcore) != 0)
		die("worker", "its lcore did not take the work");
	while (atomic_load_explicit(&l->thread, memory_order_acquire) == 0)
		usleep(1000);
}

void bench_lcl_line_stop(struct bench_lcl_line *l)
{
	atomic_store(&l->ended, true);
	usleep(SETTLE_US);
	atomic_store(&l->worker->stop, true);
	rte_eal_wait_lcore(l->worker->lcore);
	for (unsigned i = 0; i < l->n; i++)
		l->left += bench_lcl_wire_end(&l->wire[i]);
}

void bench_lcl_line_free(struct bench_lcl_line *l)
{
	bp_worker_free(l->worker);
	bp_ring_ports_free(&l->ports);
	bp_fdb_free(&l->fdb);
	rte_mempool_free(l->pool);
	bp_segment_close(l->shm.segment);
	bp_config_free(l->config);
}
