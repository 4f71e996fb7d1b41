/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Measures the gateway's own graph, nodes and inspection on one worker, on a capture that the
 * driver replays in a loop, and checks by the counters that the work was done: every frame
 * inspected, every due alarm raised. Prints one JSON object. scripts/bench runs it in turn with
 * dpdk-testpmd.
 */
#include <getopt.h>
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

#include "bench/advance.h"
#include "bench/control.h"
#include "bench/phd.h"
#include "bench/routes.h"
#include "bench/slices.h"
#include "biplane/flow_size.h"
#include "config/config.h"
#include "dataplane/exception/exception.h"
#include "dataplane/graph.h"
#include "dataplane/mqtt/inspect.h"
#include "dataplane/pools.h"
#include "dataplane/worker_loop.h"
#include "shm/layout.h"

#define MBUFS 16384
#define MBUF_CACHE 250
#define DESCRIPTORS 512

struct options {
	enum bench_payload kind;
	uint32_t connections;
	uint32_t rules;
	uint32_t routes; /* 0: the ports are bridged */
	uint8_t family;  /* of the routes */
	bool inspect;
	bool trust;
	uint32_t messages; /* control messages per second among the data; 0: bench/control.h is not
			      used */
	double seconds;
	const char *pcap;
	const char *prefix; /* of DPDK's files */
};

struct bench {
	struct options o;
	struct bench_traffic traffic;
	struct bench_advance advance;
	struct bench_routes routes;
	struct bench_phd phd;
	struct bench_control control;
	struct bench_slices slices;
	struct bp_config *config;
	struct bp_shm shm;
	struct bp_worker worker;
	struct bp_clock clock;
	struct bp_worker_args args;
	_Atomic pthread_t thread;
	char segment[64];
};

struct figure {
	double mpps;   /* frames per second of wall-clock time */
	double cpu_ns; /* processor time per frame: what is left when others take the core */
};

static void die(const char *what, const char *why)
{
	fprintf(stderr, "biplane-bench: %s: %s\n", what, why);
	exit(1);
}

/* Where frames come from: the capture, or a wire (bench/wire.h). */
static const char *input_device(
	const struct options *o, const struct bench_phd *phd, char *out, size_t size)
{
	if (phd->wire.rate > 0)
		return "net_null2,no-rx=1";
	snprintf(out, size, "net_pcap0,rx_pcap=%s,infinite_rx=1", o->pcap);
	return out;
}

static char *configuration(const struct options *o, const struct bench_phd *phd)
{
	char *text = NULL, device[600];
	size_t size = 0;
	FILE *f = open_memstream(&text, &size);

	fprintf(f,
		"name: bench\n"
		"ports:\n"
		"  - {name: devices, device: \"%s\"%s}\n"
		"  - {name: cloud, device: \"%s\"%s}\n"
		"  - {name: edge, device: \"net_null1,no-rx=1\", kernel: off}\n",
		input_device(o, phd, device, sizeof(device)),
		o->messages ? ", kernel: tap, addresses: [10.0.0.1/24]"
		: o->routes ? ", kernel: off, addresses: [10.0.0.1/24]"
			    : "",
		bench_phd_cse_device(phd),
		o->routes ? ", kernel: off, addresses: [10.2.0.1/24]" : "");
	if (o->routes)
		fprintf(f, "routing: {routes4: %u, routes6: %u}\n",
			(o->family == 4 ? o->routes : 0) + 1024,
			(o->family == 6 ? o->routes : 0) + 1024);
	else
		fprintf(f, "bridge: [[devices, cloud]]\nrouting: {routes4: 1024, routes6: 1024}\n");
	if (o->messages)
		fprintf(f, "exception: {classes: {local: {rate: 1000000, queue: 8192}}}\n");
	if (phd->sessions != 0)
		bench_phd_configuration(phd, f);
	if (o->inspect) {
		fprintf(f,
			"mqtt:\n  flows: %u\n  max_rules: %u\n  checksum: %s\n"
			"  clone: {port: edge, mac: \"02:00:00:00:03:01\", address: 192.0.2.9}\n"
			"  rules:\n",
			o->connections < 65536 ? 65536 : o->connections,
			o->rules < 16 ? 16 : o->rules, o->trust ? "trust" : "verify");
		for (uint32_t i = 0; i < o->rules; i++) {
			fprintf(f, "    - {name: r%u, topic: ", i);
			if (o->rules == 1)
				fprintf(f, "plant/+/temp");
			else
				fprintf(f, "plant/%05u/temp", i);
			fprintf(f, ", value: %s, raise: \"> 80\", action: clone}\n",
				o->kind == BENCH_TEXT ? "text" : "{json: $.celsius}");
		}
	}
	fclose(f);
	return text;
}

static void open_segment(struct bench *b)
{
	struct bp_seg_spec specs[BP_SHM_SPECS_MAX];
	struct bp_segment *s;
	char err[256];
	unsigned n = bp_shm_specs(b->config, bp_flow_table_size(b->config), specs);
	int rc;

	snprintf(b->segment, sizeof(b->segment), "bench-%d", (int)getpid());
	s = bp_segment_open(
		b->segment, bp_hugepage_dir(), "/dev/shm", specs, n, true, err, sizeof(err));
	if (s == NULL)
		die("segment", err);
	rc = bp_shm_map(&b->shm, s, err, sizeof(err));
	/*
	 * Nobody else is to find it, and nothing is to be left behind when this is interrupted.
	 * Only now: mapping takes the lock, and would make its file again.
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

static void load_rules(struct bench *b)
{
	char err[256];
	const struct bp_config_mqtt *m = &b->config->mqtt;

	if (bp_ruleset_build(b->shm.rules, b->shm.rules_bank_size, m->rules, m->n_rules,
		    m->max_rules, &m->clone, NULL, 1, 0, err, sizeof(err)) != 0)
		die("rules", err);
}

static void set_up_worker(struct bench *b, struct rte_mempool *pool)
{
	struct bp_worker *w = &b->worker;
	struct bp_rx_queue rx[2];
	char err[256];

	w->counters = &b->shm.counters[0];
	w->port_stats = b->shm.port_stats;
	w->shm = &b->shm;
	w->pool = pool;
	bp_worker_bridges(w, b->config);
	bp_router_init(w, b->config);
	w->exception = bp_exception_create(b->config, NULL, err, sizeof(err));
	if (w->exception == NULL)
		die("exception path", err);
	if (b->o.routes != 0)
		bench_routes_set_up(&b->routes, &b->shm.fib, b->o.family, b->o.routes);
	if (b->phd.sessions != 0)
		bench_phd_set_up(&b->phd, w, b->config, b->routes.writer, pool);
	if (b->o.inspect) {
		load_rules(b);
		atomic_store(&b->shm.global->rules_active, 0);
		w->inspector = bp_inspector_create(b->config, &b->shm, 0, false, err, sizeof(err));
		if (w->inspector == NULL)
			die("inspector", err);
		bench_advance_init(&b->advance, &b->traffic, b->o.connections);
		if (rte_eth_add_rx_callback(0, 0, bench_advance_rx, &b->advance) == NULL)
			die("callback", rte_strerror(rte_errno));
	} else if (b->routes.destinations.n != 0 &&
		   rte_eth_add_rx_callback(0, 0, bench_destinations_rx, &b->routes.destinations) ==
			   NULL) {
		die("callback", rte_strerror(rte_errno));
	}
	if (b->o.messages) {
		bench_control_start(&b->control, b->routes.writer, w->exception, b->config, pool,
			&b->shm.counters[b->shm.workers]);
		if (rte_eth_add_rx_callback(0, 0, bench_control_rx, &b->control) == NULL)
			die("callback", rte_strerror(rte_errno));
	}
	if (bp_graph_build(w, "bench", 3, b->o.inspect, rx, bench_phd_queues(&b->phd, rx), err,
		    sizeof(err)) != 0)
		die("graph", err);
}

/* The product's own loop; its thread is noted for the processor time that it takes. */
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

/* Frames after which a measurement begins: every connection or session was met. */
static uint64_t warm_up(const struct bench *b)
{
	if (b->phd.wire.rate > 0)
		return (uint64_t)(b->phd.wire.rate / 20);
	if (b->phd.sessions > BENCH_PHD_DEVICES)
		return 2 * (uint64_t)b->phd.sessions;
	return b->o.inspect ? 3 * (uint64_t)b->o.connections : 100000;
}

static struct figure measure(struct bench *b)
{
	struct figure r;
	double cpu;
	const uint64_t warm = warm_up(b);
	uint64_t from, hz = rte_get_tsc_hz(), begin;

	while (frames(b) < warm)
		usleep(1000);
	from = frames(b);
	begin = rte_rdtsc();
	cpu = bench_cpu_ns(b->thread);
	if (b->o.messages == 0)
		usleep((useconds_t)(b->o.seconds * 1e6));
	else
		bench_slices_measure(&b->slices, &b->control, b->o.messages, b->o.seconds,
			b->thread, &b->shm.port_stats[0].rx_packets);
	from = frames(b) - from;
	r.mpps = (double)from / ((double)(rte_rdtsc() - begin) / (double)hz) / 1e6;
	r.cpu_ns = (bench_cpu_ns(b->thread) - cpu) / (double)from;
	return r;
}

/* Whether the counters prove that the work was done; prints what they say. */
static bool report(const struct bench *b, struct figure r)
{
	const uint64_t *v = b->shm.counters[0].v;
	bool ok = true;

	printf("{\"mpps\": %.3f, \"cpu_ns\": %.2f, \"frames\": %" PRIu64, r.mpps, r.cpu_ns,
		frames(b));
	if (b->phd.sessions != 0) {
		ok = bench_phd_report(&b->phd, &b->shm, b->control.made);
	} else if (b->o.routes != 0) {
		uint64_t forwarded = v[b->o.family == 4 ? BP_C_FORWARD4 : BP_C_FORWARD6];

		ok = forwarded == frames(b) - b->control.made &&
		     atomic_load(&b->shm.port_stats[1].tx_packets) >= forwarded;
		printf(", \"routes\": %u, \"forwarded\": %" PRIu64, b->o.routes, forwarded);
	}
	if (b->o.messages) {
		uint64_t lost = v[BP_C_DROP_QUEUE_LOCAL];

		ok = ok && v[BP_C_PUNT_LOCAL] == b->control.made &&
		     b->control.applied + lost == b->control.made;
		printf(", \"data_mpps\": %.3f, \"none_mpps\": %.3f, \"ratio\": %.4f"
		       ", \"control\": %.0f, \"messages\": %" PRIu64 ", \"applied\": %" PRIu64
		       ", \"lost\": %" PRIu64,
			b->slices.data_mpps, b->slices.none_mpps, b->slices.ratio,
			b->slices.control, b->control.made, b->control.applied, lost);
	}
	if (b->o.inspect) {
		ok = ok && v[BP_C_SEG_INSPECTED] == frames(b) &&
		     v[BP_C_MQTT_PUBLISH] == b->advance.publishes &&
		     v[BP_C_ALARM_RAISED] == b->advance.over &&
		     v[BP_C_CLONE_FRAME] == b->advance.over &&
		     v[BP_C_FLOW_OPENED] == b->o.connections && v[BP_C_FLOW_EVICTED] == 0;
		printf(", \"segments\": %" PRIu64 ", \"publishes\": %" PRIu64
		       ", \"publishes_due\": %" PRIu64 ", \"raised\": %" PRIu64
		       ", \"raised_due\": %" PRIu64 ", \"clones\": %" PRIu64 ", \"flows\": %" PRIu64
		       ", \"memo\": %" PRIu64,
			v[BP_C_SEG_INSPECTED], v[BP_C_MQTT_PUBLISH], b->advance.publishes,
			v[BP_C_ALARM_RAISED], b->advance.over, v[BP_C_CLONE_FRAME],
			v[BP_C_FLOW_OPENED], v[BP_C_TOPIC_MEMO]);
	}
	printf(", \"proven\": %s}\n", ok ? "true" : "false");
	return ok;
}

static bool power_of_ten(uint32_t n)
{
	uint32_t p = BENCH_FRAMES;

	while (p < n && p <= 100000000)
		p *= 10;
	return p == n;
}

/* --control is for the routes and frames of IPv4. */
static bool fit_together(const struct options *o, const struct bench_phd *p)
{
	if (p->sessions != 0 && (!power_of_ten(p->sessions) || p->apdu < BENCH_PHD_APDU_MIN ||
					p->apdu > BENCH_PHD_APDU_MAX || p->apdu % 2 != 0 ||
					o->routes == 0 || o->family != 4 || o->inspect))
		return false;
	return (o->pcap != NULL || p->wire.rate > 0) && power_of_ten(o->connections) &&
	       (o->messages == 0 || (o->routes != 0 && o->family == 4 && !o->inspect));
}

static void parse(int argc, char **argv, struct bench *b)
{
	static const struct option longs[] = {{"payload", required_argument, NULL, 'p'},
		{"connections", required_argument, NULL, 'c'},
		{"rules", required_argument, NULL, 'r'}, {"routes", required_argument, NULL, 'R'},
		{"control", required_argument, NULL, 'C'}, {"single-plane", no_argument, NULL, '1'},
		{"ip6", no_argument, NULL, '6'}, {"inspect", no_argument, NULL, 'i'},
		{"trust", no_argument, NULL, 't'}, {"phd", required_argument, NULL, 'h'},
		{"each", no_argument, NULL, 'e'}, {"stored", no_argument, NULL, 'S'},
		{"apdu", required_argument, NULL, 'a'}, {"wire", required_argument, NULL, 'w'},
		{"seconds", required_argument, NULL, 's'}, {"pcap", required_argument, NULL, 'f'},
		{"file-prefix", required_argument, NULL, 'x'}, {NULL, 0, NULL, 0}};
	struct options *o = &b->o;
	int c;

	b->phd.apdu = BENCH_PHD_APDU_MIN;
	*o = (struct options){.family = 4,
		.connections = BENCH_FRAMES,
		.rules = 1,
		.seconds = 2,
		.prefix = "biplane-bench"};
	while ((c = getopt_long(argc, argv, "", longs, NULL)) != -1) {
		switch (c) {
		case 'p':
			o->kind = strcmp(optarg, "json") == 0 ? BENCH_JSON : BENCH_TEXT;
			break;
		case 'c':
			o->connections = (uint32_t)strtoul(optarg, NULL, 0);
			break;
		case 'r':
			o->rules = (uint32_t)strtoul(optarg, NULL, 0);
			break;
		case 'R':
			o->routes = (uint32_t)strtoul(optarg, NULL, 0);
			break;
		case 'C':
			o->messages = (uint32_t)strtoul(optarg, NULL, 0);
			break;
		case '1':
			b->control.single = true;
			break;
		case '6':
			o->family = 6;
			break;
		case 'i':
			o->inspect = true;
			break;
		case 't':
			o->trust = true;
			break;
		case 'h':
			b->phd.sessions = (uint32_t)strtoul(optarg, NULL, 0);
			o->routes = o->routes == 0 ? 1 : o->routes;
			break;
		case 'e':
			b->phd.each = true;
			break;
		case 'S':
			b->phd.stored = true;
			break;
		case 'a':
			b->phd.apdu = (uint32_t)strtoul(optarg, NULL, 0);
			break;
		case 'w':
			b->phd.wire.rate = strtod(optarg, NULL);
			break;
		case 's':
			o->seconds = strtod(optarg, NULL);
			break;
		case 'f':
			o->pcap = optarg;
			break;
		case 'x':
			o->prefix = optarg;
			break;
		default:
			exit(64);
		}
	}
	if (!fit_together(o, &b->phd)) {
		fprintf(stderr,
			"usage: biplane-bench --pcap FILE [--payload text|json] [--inspect] "
			"[--trust] [--connections 1000|10000|...] [--rules N] "
			"[--routes N [--ip6]] "
			"[--routes N --control MESSAGES-PER-SECOND [--single-plane]] "
			"[--phd SESSIONS [--each] [--stored] [--apdu OCTETS] "
			"[--wire FRAMES-PER-SECOND]] "
			"[--seconds S] [--file-prefix NAME]\n");
		exit(64);
	}
}

int main(int argc, char **argv)
{
	static struct bench b;
	char prefix[64], device[600], input_dev[616], cse_dev[64];
	struct rte_mempool *pool;
	char *text;

	parse(argc, argv, &b);
	if (b.o.messages)
		bench_control_isolate();
	bench_traffic_init(&b.traffic, b.o.kind);
	snprintf(prefix, sizeof(prefix), "--file-prefix=%s", b.o.prefix);
	snprintf(input_dev, sizeof(input_dev), "--vdev=%s",
		input_device(&b.o, &b.phd, device, sizeof(device)));
	snprintf(cse_dev, sizeof(cse_dev), "--vdev=%s", bench_phd_cse_device(&b.phd));
	char *eal[] = {argv[0], "-l", "0,1", "--no-pci", "--no-telemetry", "--huge-unlink", prefix,
		"--log-level=error", input_dev, cse_dev, "--vdev=net_null1,no-rx=1"};
	if (rte_eal_init((int)(sizeof(eal) / sizeof(eal[0])), eal) < 0)
		die("EAL", rte_strerror(rte_errno));
	text = configuration(&b.o, &b.phd);
	b.config = bp_config_parse("bench", text, strlen(text), stderr);
	if (b.config == NULL)
		die("configuration", "refused");
	open_segment(&b);
	pool = rte_pktmbuf_pool_create_by_ops("bench", MBUFS, MBUF_CACHE, 0,
		RTE_MBUF_DEFAULT_BUF_SIZE, SOCKET_ID_ANY, bp_pools_ops(b.o.messages != 0));
	if (pool == NULL)
		die("mbufs", rte_strerror(rte_errno));
	for (uint16_t p = 0; p < 3; p++)
		start_port(p, pool);
	set_up_worker(&b, pool);
	bp_clock_init(&b.clock);
	b.args = (struct bp_worker_args){.worker = &b.worker, .clock = &b.clock};
	b.worker.lcore = rte_get_next_lcore(-1, 1, 0);
	if (rte_eal_remote_launch(work, &b, b.worker.lcore) != 0)
		die("worker", "its lcore did not take the work");
	struct figure figure = measure(&b);
	atomic_store(&b.worker.stop, true);
	rte_eal_wait_lcore(b.worker.lcore);
	if (b.o.messages)
		bench_control_stop(&b.control);
	return report(&b, figure) ? 0 : 1;
}
