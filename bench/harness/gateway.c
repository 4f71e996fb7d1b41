/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * biplane-bench: measures the graph, nodes and services of the data plane with one worker. The
 * driver replays a capture in a loop. The counters are checked afterwards: every frame inspected,
 * every due alarm raised. Prints one JSON object. scripts/bench runs it alternately with
 * dpdk-testpmd.
 */
#include <inttypes.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <rte_cycles.h>
#include <rte_eal.h>
#include <rte_ethdev.h>
#include <rte_launch.h>
#include <rte_lcore.h>

#include "biplane/counters/general.h"
#include "biplane/counters/health.h"
#include "biplane/counters/mqtt.h"
#include "bench/harness/advance.h"
#include "bench/hostile/attacks.h"
#include "bench/health/control_phd.h"
#include "bench/routes/control_routes.h"
#include "bench/harness/gateway_config.h"
#include "bench/harness/instance.h"
#include "bench/mix/mix.h"
#include "bench/monitoring/live_capture.h"
#include "bench/harness/nodes.h"
#include "bench/harness/options.h"
#include "bench/routes/routes.h"
#include "bench/harness/slices.h"
#include "config/config.h"
#include "config/segment.h"
#include "dataplane/exception/exception.h"
#include "dataplane/workers/graph.h"
#include "dataplane/forwarding/fdb.h"
#include "dataplane/service.h"
#include "dataplane/workers/pools.h"
#include "dataplane/workers/worker_loop.h"
#include "shm/layout.h"

#define MBUFS 16384
#define MBUF_CACHE RTE_MEMPOOL_CACHE_MAX_SIZE /* as in the product */
#define DESCRIPTORS 512

struct bench {
	struct bench_options o;
	struct bench_traffic traffic;
	struct bench_advance advance;
	struct bench_routes routes;
	struct bench_phd phd;
	struct bench_agg agg;
	struct bench_transform transform;
	struct bench_lcl lcl;
	struct bench_mix mix;
	struct bench_attack_run attack;
	struct bench_live_capture capture;
	struct bench_control control;
	struct bench_control_routes control_routes;
	struct bench_control_phd control_phd;
	struct bench_slices slices;
	struct bp_config *config;
	struct bp_shm shm;
	struct bp_worker worker;
	struct bp_clock clock;
	struct bp_worker_args args;
	_Atomic pthread_t thread;
	char segment[BENCH_INSTANCE];
};

struct figure {
	double mpps;   /* frames per second of wall-clock time */
	double cpu_ns; /* CPU time per frame: independent of preemption */
};

static void die(const char *what, const char *why)
{
	fprintf(stderr, "biplane-bench: %s: %s\n", what, why);
	exit(1);
}

static void open_segment(struct bench *b)
{
	struct bp_seg_spec specs[BP_SHM_SPECS_MAX];
	struct bp_segment *s;
	char err[256];
	unsigned n = bp_shm_specs(b->config, specs);
	int rc;

	bench_instance(b->segment);
	s = bp_segment_open(
		b->segment, bp_hugepage_dir(), "/dev/shm", specs, n, true, err, sizeof(err));
	if (s == NULL)
		die("segment", err);
	rc = bp_shm_map(&b->shm, s, err, sizeof(err));
	/*
	 * The segment is hidden, and nothing is left behind if this process is interrupted. Only
	 * after mapping, which takes the lock and would create the file again.
	 */
	bp_segment_unlink(b->segment, bp_hugepage_dir(), "/dev/shm");
	if (rc != 0)
		die("segment", err);
	if (!bp_segment_huge(s))
		fprintf(stderr,
			"biplane-bench: no hugepages for the tables: figures will be low\n");
}

static void start_port(uint16_t port, struct rte_mempool *pool)
{
	struct rte_eth_conf conf = {0};

	if (rte_eth_dev_configure(port, 1, 1, &conf) != 0 ||
		rte_eth_rx_queue_setup(port, 0, DESCRIPTORS, SOCKET_ID_ANY, NULL, pool) != 0 ||
		rte_eth_tx_queue_setup(port, 0, DESCRIPTORS, SOCKET_ID_ANY, NULL) != 0 ||
		rte_eth_dev_start(port) != 0)
		die("port", "cannot be started");
}

static void set_up_control(struct bench *b, struct rte_mempool *pool)
{
	if (b->phd.sessions != 0)
		bench_control_phd(&b->control, &b->control_phd, &b->shm, b->config, pool);
	else
		bench_control_routes(&b->control, &b->control_routes, b->routes.writer, pool);
	bench_control_start(&b->control, b->worker.exception, b->config,
		bp_shm_counters_main(&b->shm, BP_COUNTER_ROW_EXCEPTION));
	if (rte_eth_add_rx_callback(0, 0, bench_control_rx, &b->control) == NULL)
		die("callback", rte_strerror(rte_errno));
}

/* Control messages counted by a worker: accepted, and dropped because the queue of their class was
 * full. */
static uint64_t control_taken(const struct bench *b)
{
	return b->shm.counters[0]
		.v[b->phd.sessions != 0 ? BP_C_PUNT_PHD_SIGNALING : BP_C_PUNT_LOCAL];
}

static uint64_t control_lost(const struct bench *b)
{
	return b->shm.counters[0]
		.v[b->phd.sessions != 0 ? BP_C_DROP_PUNT_QUEUE_PHD : BP_C_DROP_PUNT_QUEUE_LOCAL];
}

/* Warm-up frames before a measurement: every connection or session was used. */
static uint64_t warm_up(const struct bench *b)
{
	if (b->mix.on)
		return bench_mix_warm_up(&b->mix);
	if (b->phd.wire.rate > 0)
		return (uint64_t)(b->phd.wire.rate / 20);
	if (b->phd.sessions > BENCH_PHD_DEVICES)
		return 2 * (uint64_t)b->phd.sessions;
	if (b->agg.streams > 1) /* every stream was started, and had a full aggregate */
		return 2 * (uint64_t)b->agg.aggregate * b->agg.streams;
	if (b->transform.sources > 1) /* nearly every source was used */
		return 100000 + 16 * (uint64_t)b->transform.sources;
	return b->o.inspect ? (BENCH_PRIMING_MAX + 1) * (uint64_t)b->o.connections : 100000;
}

static void set_up_attack(struct bench *b, struct rte_mempool *pool)
{
	const struct bp_prefix net = {.family = 4,
		.length = 16,
		.bytes = {BENCH_ATTACK_NEIGHBORS >> 24, BENCH_ATTACK_NEIGHBORS >> 16 & 255}};

	if (b->mix.on && bench_route_connect(b->routes.writer, &net) != BP_FIB_DONE)
		die("connected subnet", "refused");
	bench_attack_set_up(&b->attack, pool, &b->traffic, warm_up(b));
}

static void set_up_worker(struct bench *b, struct rte_mempool *pool)
{
	struct bp_worker *w = &b->worker;
	const struct bp_service_setup setup = {b->config, &b->shm, w, false};
	struct bp_rx_queue rx[2];
	unsigned n_rx = bench_phd_queues(&b->phd, rx);
	struct timespec now;
	char err[256];

	w->counters = &b->shm.counters[0];
	w->port_stats = b->shm.port_stats;
	w->port_drops = b->shm.port_drops;
	w->shm = &b->shm;
	w->pool = pool;
	bp_worker_bridges(w, b->config);
	bp_router_init(w, b->config);
	if (b->o.learn) {
		if (bp_fdb_create(&w->fdb, b->config, err, sizeof(err)) != 0)
			die("FDB", err);
	} else { /* port edge is routed */
		w->exception = bp_exception_create(b->config, NULL, err, sizeof(err));
		if (w->exception == NULL)
			die("exception path", err);
	}
	if (b->o.routes != 0)
		bench_routes_set_up(&b->routes, &b->shm.fib, b->o.family, b->o.routes);
	if (b->phd.sessions != 0)
		bench_phd_set_up(&b->phd, w, b->config, b->routes.writer, pool);
	clock_gettime(CLOCK_MONOTONIC, &now);
	if (bp_services_publish(b->config, &b->shm, err, sizeof(err)) != 0 ||
		bp_services_setup(b->config, &b->shm, (uint64_t)now.tv_sec * 1000000000u, err,
			sizeof(err)) != 0 ||
		bp_services_create(&setup, err, sizeof(err)) != 0)
		die("services", err);
	if (b->o.inspect) {
		bench_advance_init(&b->advance, &b->traffic, b->o.connections, b->o.topics);
		b->advance.acknowledged = b->o.acks;
		if (!b->mix.on &&
			rte_eth_add_rx_callback(0, 0, bench_advance_rx, &b->advance) == NULL)
			die("callback", rte_strerror(rte_errno));
	} else if (b->routes.destinations.n != 0 &&
		   rte_eth_add_rx_callback(0, 0, bench_destinations_rx, &b->routes.destinations) ==
			   NULL) {
		die("callback", rte_strerror(rte_errno));
	}
	if (b->o.messages)
		set_up_control(b, pool);
	if (bench_agg_on(&b->agg)) {
		bench_agg_set_up(&b->agg, pool);
		n_rx = bench_agg_queues(&b->agg, rx);
	}
	if (bench_transform_on(&b->transform))
		bench_transform_set_up(&b->transform, pool);
	if (b->lcl.on)
		bench_lcl_set_up(&b->lcl, &b->clock);
	if (b->mix.on)
		bench_mix_set_up(&b->mix, &b->advance, &b->phd, &b->lcl, &b->traffic,
			b->routes.writer, pool);
	if (b->attack.attack != NULL)
		set_up_attack(b, pool);
	if (b->capture.name != NULL)
		bench_live_capture_set_up(&b->capture, &b->shm, w);
	if (bp_graph_build(w, "bench", 3, rx, n_rx, err, sizeof(err)) != 0)
		die("graph", err);
}

/* The main loop of the product; the thread is recorded to measure its CPU time. */
static int work(void *arg)
{
	struct bench *b = arg;

	atomic_store_explicit(&b->thread, pthread_self(), memory_order_release);
	return bp_worker_run(&b->args);
}

static uint64_t frames(const struct bench *b)
{
	return atomic_load_explicit(&b->shm.port_stats[0].rx_packets, memory_order_relaxed);
}

/* The measured unit: received frames, or messages. */
static const _Atomic uint64_t *counted(const struct bench *b)
{
	return bench_agg_on(&b->agg) ? bench_agg_messages(&b->agg, &b->shm)
				     : &b->shm.port_stats[0].rx_packets;
}

static uint64_t done(const struct bench *b)
{
	return atomic_load_explicit(counted(b), memory_order_relaxed);
}

static struct figure measure(struct bench *b)
{
	struct figure r;
	double cpu;
	const uint64_t warm = warm_up(b);
	uint64_t from, hz = rte_get_tsc_hz(), begin;

	while (frames(b) < warm)
		usleep(1000);
	from = done(b);
	begin = rte_rdtsc();
	cpu = bench_cpu_ns(b->thread);
	if (b->mix.fraction > 0)
		bench_mix_pace(&b->mix, b->o.seconds, b->thread, counted(b));
	else if (b->o.nodes)
		bench_nodes_measure("bench", b->o.seconds, b->thread, counted(b));
	else if (b->capture.name != NULL)
		bench_live_capture_measure(&b->capture, &b->slices, b->o.seconds, b->thread,
			&b->shm.port_stats[0].rx_packets);
	else if (b->o.messages == 0)
		usleep((useconds_t)(b->o.seconds * 1e6));
	else
		bench_control_measure(&b->control, &b->slices, b->o.messages, b->o.seconds,
			b->thread, &b->shm.port_stats[0].rx_packets);
	from = done(b) - from;
	r.mpps = (double)from / ((double)(rte_rdtsc() - begin) / (double)hz) / 1e6;
	r.cpu_ns = (bench_cpu_ns(b->thread) - cpu) / (double)from;
	return r;
}

static void say_counters(const uint64_t *v, bool ok)
{
	for (unsigned c = 0; !ok && c < BP_C_COUNT; c++) {
		if (v[c] != 0)
			fprintf(stderr, "biplane-bench: %s %" PRIu64 "\n", bp_counter_info[c].name,
				v[c]);
	}
}

/* A window has no result before it is full: each connection above the threshold raises nothing in
 * its first passes. Nor has a combination before both parts have a value. */
static uint64_t raised_due(const struct bench *b)
{
	const uint64_t a_pass = b->advance.over_before[b->traffic.frames];
	const uint64_t first = b->o.window > 1 ? b->o.window - 1 : 0;
	const uint64_t none = b->o.kind == BENCH_PAIRS ? a_pass / 2 : first * a_pass;

	return b->advance.over > none ? b->advance.over - none : 0;
}

/* The policy decided about each connection and its topics, and observed some of them. */
static bool policy_applied(const struct bench *b)
{
	const uint64_t *v = b->shm.counters[0].v;
	uint64_t decisions = 0;

	for (uint32_t i = 0; b->o.policy != 0 && i <= b->o.policy + 1; i++)
		decisions += atomic_load(&b->shm.policy_stats[i].matched);
	return (b->o.policy == 0 || decisions >= 2ull * b->o.connections) &&
	       v[BP_C_POLICY_UNDECIDED] == 0 && v[BP_C_POLICY_NOT_EVALUATED] == 0 &&
	       v[BP_C_POLICY_CLOSED] == 0 && v[BP_C_DROP_POLICY_MEMORY] == 0 &&
	       v[BP_C_DROP_POLICY_NOT_READ] == 0 && v[BP_C_DROP_POLICY_AHEAD] == 0 &&
	       v[BP_C_POLICY_BLANKED] == (b->o.blank ? b->advance.observed : 0) &&
	       v[BP_C_POLICY_OBSERVED] == (b->o.observe ? b->advance.observed : 0);
}

/* Whether the counters prove that the work was done; prints them. */
static bool report(struct bench *b, struct figure r)
{
	const uint64_t *v = b->shm.counters[0].v;
	bool ok = true;

	if (b->attack.attack != NULL) {
		ok = bench_attack_report(&b->attack, v);
		printf(", \"proven\": %s}\n", ok ? "true" : "false");
		say_counters(v, ok);
		return ok;
	}
	if (b->agg.rates == NULL && b->transform.rates == NULL)
		printf("%s\"mpps\": %.3f, \"cpu_ns\": %.2f, \"frames\": %" PRIu64,
			b->o.nodes ? ", " : "", r.mpps, r.cpu_ns, frames(b));
	if (b->mix.on) {
		ok = bench_mix_report(&b->mix, &b->advance, &b->phd, b->config, &b->shm);
	} else if (bench_agg_on(&b->agg)) {
		ok = bench_agg_report(&b->agg, &b->shm, frames(b));
	} else if (bench_transform_on(&b->transform)) {
		ok = bench_transform_report(&b->transform, &b->shm, frames(b));
	} else if (b->lcl.on) {
		ok = bench_lcl_report(&b->lcl, &b->shm, frames(b));
	} else if (b->phd.sessions != 0) {
		ok = bench_phd_report(&b->phd, &b->shm, b->control.made);
	} else if (b->o.routes != 0) {
		uint64_t forwarded = v[b->o.family == 4 ? BP_C_FORWARDED_IP4 : BP_C_FORWARDED_IP6];

		ok = forwarded == frames(b) - b->control.made &&
		     atomic_load(&b->shm.port_stats[1].tx_packets) >= forwarded;
		printf(", \"routes\": %u, \"forwarded\": %" PRIu64, b->o.routes, forwarded);
	}
	if (b->o.messages) {
		uint64_t lost = control_lost(b);

		ok = ok && control_taken(b) == b->control.made &&
		     b->control.applied + lost == b->control.made;
		printf(", \"data_mpps\": %.3f, \"none_mpps\": %.3f, \"ratio\": %.4f"
		       ", \"control\": %.0f, \"messages\": %" PRIu64 ", \"applied\": %" PRIu64
		       ", \"lost\": %" PRIu64,
			b->slices.data_mpps, b->slices.none_mpps, b->slices.ratio, b->slices.other,
			b->control.made, b->control.applied, lost);
	}
	if (b->o.inspect && !b->mix.on) {
		const uint64_t over = raised_due(b);

		ok = ok && v[BP_C_SEG_INSPECTED] == frames(b) &&
		     v[BP_C_MQTT_PUBLISH] == b->advance.publishes && v[BP_C_ALARM_RAISED] == over &&
		     v[BP_C_MIRROR_FRAME] == over && v[BP_C_CONN_OPENED] == b->o.connections &&
		     v[BP_C_CONN_EVICTED] == 0 && policy_applied(b);
		printf(", \"segments\": %" PRIu64 ", \"publishes\": %" PRIu64
		       ", \"publishes_due\": %" PRIu64 ", \"raised\": %" PRIu64
		       ", \"raised_due\": %" PRIu64 ", \"clones\": %" PRIu64 ", \"flows\": %" PRIu64
		       ", \"memo\": %" PRIu64,
			v[BP_C_SEG_INSPECTED], v[BP_C_MQTT_PUBLISH], b->advance.publishes,
			v[BP_C_ALARM_RAISED], over, v[BP_C_MIRROR_FRAME], v[BP_C_CONN_OPENED],
			v[BP_C_TOPIC_CACHE_HIT]);
	}
	if (b->capture.name != NULL)
		ok = bench_live_capture_report(&b->capture, &b->slices) && ok;
	printf(", \"proven\": %s}\n", ok ? "true" : "false");
	say_counters(v, ok);
	return ok;
}

int main(int argc, char **argv)
{
	static struct bench b;
	char prefix[64], device[600], input_dev[616], cse_dev[64];
	struct rte_mempool *pool;
	char *text;

	bench_options_read(
		&b.o, &b.phd, &b.agg, &b.transform, &b.lcl, &b.mix, &b.attack, argc, argv);
	b.capture.name = b.o.capture;
	b.control.single = b.o.single;
	if (b.o.messages)
		bench_control_isolate();
	bench_traffic_init(&b.traffic, b.o.kind);
	snprintf(prefix, sizeof(prefix), "--file-prefix=%s", b.o.prefix);
	snprintf(input_dev, sizeof(input_dev), "--vdev=%s",
		bench_input_device(&b.o, &b.phd, &b.agg, &b.transform, device, sizeof(device)));
	snprintf(cse_dev, sizeof(cse_dev), "--vdev=%s", bench_cloud_device(&b.phd, &b.agg));
	char *eal[] = {argv[0], "-l", "0,1", "--no-pci", "--no-telemetry", "--huge-unlink", prefix,
		"--log-level=error", input_dev, cse_dev, "--vdev=net_null1,no-rx=1"};
	if (rte_eal_init((int)(sizeof(eal) / sizeof(eal[0])), eal) < 0)
		die("EAL", rte_strerror(rte_errno));
	text = bench_configuration(&b.o, &b.phd, &b.agg, &b.transform, &b.lcl);
	b.config = bp_config_parse("bench", text, strlen(text), stderr);
	if (b.config == NULL)
		die("configuration", "refused");
	if (b.attack.attack != NULL)
		b.agg.streams = 0; /* generated by the attack */
	open_segment(&b);
	pool = rte_pktmbuf_pool_create_by_ops("bench", MBUFS + bench_agg_mbufs(&b.agg), MBUF_CACHE,
		0, RTE_MBUF_DEFAULT_BUF_SIZE, SOCKET_ID_ANY, bp_pools_ops(b.o.messages != 0));
	if (pool == NULL)
		die("mbufs", rte_strerror(rte_errno));
	for (uint16_t p = 0; p < 3; p++)
		start_port(p, pool);
	bp_clock_init(&b.clock);
	set_up_worker(&b, pool);
	b.args = (struct bp_worker_args){.worker = &b.worker, .clock = &b.clock};
	b.worker.lcore = rte_get_next_lcore(-1, 1, 0);
	if (rte_eal_remote_launch(work, &b, b.worker.lcore) != 0)
		die("worker", "its lcore did not take the work");
	struct figure figure = {0};

	printf("{");
	while (atomic_load_explicit(&b.thread, memory_order_acquire) == 0)
		usleep(1000);
	if (b.agg.rates != NULL)
		bench_agg_sweep(&b.agg, &b.shm, b.thread, b.o.seconds);
	else if (b.transform.rates != NULL)
		bench_transform_sweep(&b.transform, &b.shm, b.thread, b.o.seconds);
	else
		figure = measure(&b);
	if (bench_agg_on(&b.agg))
		bench_agg_note(&b.agg, &b.shm);
	if (b.lcl.on)
		bench_lcl_note(&b.lcl, &b.shm);
	if (b.mix.on)
		bench_mix_close(&b.mix);
	atomic_store(&b.worker.stop, true);
	rte_eal_wait_lcore(b.worker.lcore);
	if (b.o.messages)
		bench_control_stop(&b.control, control_lost(&b));
	return report(&b, figure) ? 0 : 1;
}
