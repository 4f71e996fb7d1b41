/* SPDX-License-Identifier: BSD-3-Clause */
#include "bench/mix/mix.h"

#include <arpa/inet.h>
#include <inttypes.h>
#include <stdlib.h>
#include <unistd.h>

#include <rte_errno.h>

#include "biplane/counters/aggregation.h"
#include "biplane/counters/general.h"
#include "biplane/counters/health.h"
#include "biplane/counters/mqtt.h"
#include "biplane/counters/transform.h"
#include "bench/aggregation/agg_frames.h"
#include "bench/routes/routes.h"
#include "bench/harness/slices.h"
#include "dataplane/process/stats.h"

#define MESSAGES 8u /* messages per aggregate */
#define ROUTES 16u
#define SETTLE_US 20000 /* many aggregate delays and scheduler slots */
#define MOST_US 10000
#define PACED_US 40000
#define CPU_MIN_NS 2000000 /* minimum share of CPU time of a valid measurement */
#define TRIES 20
#define EDGE 2u /* the port without scheduler: of the alarms' broker and of the CSE */

static void must(bool ok, const char *what, const char *why)
{
	if (ok)
		return;
	fprintf(stderr, "biplane-bench: %s: %s\n", what, why);
	exit(1);
}

void bench_mix_options(struct bench_options *o, struct bench_phd *phd, struct bench_agg *agg,
	struct bench_transform *x, struct bench_lcl *lcl)
{
	o->inspect = true;
	o->routes = ROUTES;
	phd->sessions = BENCH_PHD_DEVICES;
	phd->mixed = true;
	agg->aggregate = MESSAGES;
	x->method = "vector";
	x->routed = true;
	lcl->on = true;
	lcl->real = true;
}

static void source(
	struct bench_mix *mix, enum bench_mix_part part, rte_rx_callback_fn renew, void *arg)
{
	mix->input.source[part].renew = renew;
	mix->input.source[part].arg = arg;
}

/* Adds the route to the CSE through a gateway on port edge. */
static void lead_to_edge(struct bp_fib_writer *w)
{
	static const uint8_t router[6] = {2, 0, 0, 0, 3, 2};
	const struct bp_address gateway = {.family = 4, .bytes = {10, 4, 0, 2}};
	const struct bp_interface_info edge = {.flags = BP_IF_PRESENT | BP_IF_UP | BP_IF_CARRIER,
		.mtu = 1500,
		.name = "edge",
		.mac = {2, 0, 0, 0, 2, 3}};
	struct bp_route cse = {.type = BP_ROUTE_UNICAST,
		.prefix = {.family = 4, .length = 32},
		.n_hops = 1,
		.hop = {{.interface = EDGE, .weight = 1, .gateway = gateway}}};

	must(inet_pton(AF_INET, BENCH_CSE, cse.prefix.bytes) == 1, BENCH_CSE, "no address");
	must(bp_fib_interface_set(w, EDGE, &edge) == BP_FIB_DONE, "interface", "refused");
	must(bp_fib_neighbor_set(w, EDGE, &gateway, router, BP_NEIGHBOR_REACHABLE) == BP_FIB_DONE,
		"neighbor", "refused");
	must(bp_fib_route_set(w, &cse) == BP_FIB_DONE, "route to the CSE", "refused");
}

void bench_mix_set_up(struct bench_mix *mix, struct bench_advance *advance, struct bench_phd *phd,
	struct bench_lcl *lcl, const struct bench_traffic *mqtt, struct bp_fib_writer *writer,
	struct rte_mempool *pool)
{
	/* the destinations of aggregates, labelled frames and readings */
	const struct bp_prefix servers = {.family = 4, .length = 16, .bytes = {10, 1}};

	must(bench_route_change(writer, &servers, 1) == BP_FIB_DONE, "route to the servers",
		"refused");
	lead_to_edge(writer);
	source(mix, BENCH_MIX_MQTT, bench_advance_rx, advance);
	source(mix, BENCH_MIX_PHD, bench_phd_input_rx, &phd->input);
	source(mix, BENCH_MIX_LCL, bench_lcl_sequence_rx, lcl);
	must(bench_mix_input_init(&mix->input, &mix->shares, mqtt, pool) == 0, "frames",
		"no memory");
	must(mix->driven || rte_eth_add_rx_callback(0, 0, bench_mix_rx, &mix->input) != NULL,
		"callback", rte_strerror(rte_errno));
}

uint64_t bench_mix_warm_up(const struct bench_mix *mix)
{
	const uint32_t mqtt = mix->shares.of[BENCH_MIX_MQTT];
	/* and the first PUBLISH */
	const uint64_t priming = mqtt != 0 ? (BENCH_PRIMING_MAX + 1ull) * BENCH_FRAMES *
						     bench_mix_length(&mix->shares) / mqtt
					   : 0;

	return 100000 + priming;
}

/* The maximum rate of the worker, per second of its CPU time; 0: it had too little CPU time. */
static double most(pthread_t worker, const _Atomic uint64_t *frames)
{
	const double from = bench_cpu_ns(worker);
	const uint64_t before = atomic_load(frames);
	double cpu;

	usleep(MOST_US);
	cpu = bench_cpu_ns(worker) - from;
	return cpu >= CPU_MIN_NS ? (double)(atomic_load(frames) - before) / cpu * 1e9 : 0;
}

void bench_mix_pace(
	struct bench_mix *mix, double seconds, pthread_t worker, const _Atomic uint64_t *frames)
{
	const unsigned turns = (unsigned)(seconds * 1e6 / (MOST_US + PACED_US)) + 1;
	_Atomic double *rate = &mix->input.wire.rate;
	unsigned n = 0;

	for (unsigned i = 0; n < turns && i < TRIES * turns; i++) {
		const double can = most(worker, frames);

		if (!(can > 0))
			continue;
		mix->rate += can * mix->fraction;
		atomic_store(rate, can * mix->fraction);
		usleep(PACED_US);
		atomic_store(rate, 0);
		n++;
	}
	must(n != 0, "worker",
		"other processes leave it too little of its processor (core 1); run again when "
		"they have ended");
	mix->rate /= n;
}

void bench_mix_close(struct bench_mix *mix)
{
	atomic_store(&mix->input.closed, true);
	usleep(SETTLE_US);
}

/* ---- counter checks ---- */

static bool says(const char *what, uint64_t is, uint64_t due)
{
	if (is == due)
		return true;
	printf(", \"%s_is\": %" PRIu64 ", \"%s_due\": %" PRIu64, what, is, what, due);
	return false;
}

/* Whether the counters of each part match its frames; `made`: frames of each part. */
static bool parts_done(const uint64_t made[BENCH_MIX_PARTS], const struct bench_advance *advance,
	const struct bp_shm *shm)
{
	const uint64_t *v = shm->counters[0].v;
	const struct bench_lcl_flows f = bench_lcl_flows(shm);
	const uint64_t flows = made[BENCH_MIX_MQTT] != 0 ? BENCH_FRAMES : 0;
	const struct {
		const char *what;
		uint64_t is, due;
	} all[] = {
		{"segments", v[BP_C_SEG_INSPECTED], made[BENCH_MIX_MQTT]},
		{"publishes", v[BP_C_MQTT_PUBLISH], advance->publishes},
		{"raised", v[BP_C_ALARM_RAISED], advance->over},
		{"clones", v[BP_C_MIRROR_FRAME], advance->over},
		{"mqtt_flows", v[BP_C_CONN_OPENED], flows},
		{"reports", v[BP_C_PHD_REPORTS], made[BENCH_MIX_PHD]},
		{"instances", v[BP_C_CSE_REQUESTS], made[BENCH_MIX_PHD]},
		{"observations", v[BP_C_PHD_OBSERVATIONS], 2 * made[BENCH_MIX_PHD]},
		{"messages", v[BP_C_ENCAP_MESSAGE], made[BENCH_MIX_MESSAGES]},
		{"readings", v[BP_C_TRANSFORM_READING], made[BENCH_MIX_READINGS]},
		{"labelled", f.frames, made[BENCH_MIX_LCL]},
		{"missing", f.missing, 0},
		{"reordered", f.reordered, 0},
		{"forwarded", v[BP_C_FORWARDED_IP4],
			made[BENCH_MIX_MQTT] + made[BENCH_MIX_READINGS] + made[BENCH_MIX_LCL] +
				made[BENCH_MIX_PLAIN] + v[BP_C_ENCAP_AGGREGATE]},
		{"to_edge", atomic_load(&shm->port_stats[EDGE].tx_packets),
			advance->over + made[BENCH_MIX_PHD]},
		{"to_cloud", atomic_load(&shm->port_stats[1].tx_packets),
			made[BENCH_MIX_MQTT] + made[BENCH_MIX_READINGS] + made[BENCH_MIX_LCL] +
				made[BENCH_MIX_PLAIN] + v[BP_C_ENCAP_AGGREGATE]},
	};
	bool ok = true;

	for (unsigned i = 0; i < RTE_DIM(all); i++)
		ok = says(all[i].what, all[i].is, all[i].due) && ok;
	/* all aggregates except the last may be full */
	return ok && v[BP_C_ENCAP_AGGREGATE] * MESSAGES >= made[BENCH_MIX_MESSAGES];
}

static void print_drops(const uint64_t *v)
{
	for (unsigned i = 0; i < BP_C_COUNT; i++)
		if (bp_counter_info[i].group == BP_CG_DROP && v[i] != 0)
			printf(", \"drop_%s\": %" PRIu64, bp_counter_info[i].name, v[i]);
}

/* Received frames, and those that the ring of the wire lost. */
static bool input_exact(const struct bench_mix *mix, uint64_t frames, uint64_t made)
{
	const struct bench_mix_input *in = &mix->input;
	const struct bench_wire *w = &in->wire;
	const uint64_t offered = atomic_load(&w->offered), lost = atomic_load(&w->lost);
	bool ok = says("received", frames, made) && atomic_load(&w->no_mbuf) == 0;

	if (!(mix->fraction > 0))
		return ok;
	printf(", \"rate\": %.0f, \"wire_offered\": %" PRIu64 ", \"wire_lost\": %" PRIu64
	       ", \"lost_shared\": %" PRIu64 ", \"longest_us\": %.1f",
		mix->rate, offered, lost, in->lost_shared, (double)in->longest_ns / 1e3);
	return says("paced", in->paced + w->waiting + lost, offered) && ok;
}

bool bench_mix_report(const struct bench_mix *mix, const struct bench_advance *advance,
	const struct bench_phd *phd, const struct bp_config *c, const struct bp_shm *shm)
{
	uint64_t made[BENCH_MIX_PARTS], all = 0;
	struct bp_totals t;
	bool ok;

	bp_totals_read(shm, c->n_ports, &t);
	printf(", \"parts\": [");
	for (unsigned i = 0; i < BENCH_MIX_PARTS; i++) {
		made[i] = atomic_load(&mix->input.source[i].made);
		all += made[i];
		printf("%s{\"part\": \"%s\", \"share\": %u, \"frames\": %" PRIu64 "}",
			i != 0 ? ", " : "", bench_mix_name[i], mix->shares.of[i], made[i]);
	}
	printf("], \"received\": %" PRIu64 ", \"made\": %" PRIu64 ", \"sent\": %" PRIu64
	       ", \"consumed\": %" PRIu64 ", \"kernel\": %" PRIu64 ", \"dropped\": %" PRIu64,
		t.rx, t.originated, t.tx, t.terminated, t.punted, t.drops);
	print_drops(shm->counters[0].v);
	ok = bp_totals_exact(&t) && t.drops == 0 && t.punted == 0;
	ok = says("reports_made", phd->input.made, made[BENCH_MIX_PHD]) && ok;
	ok = input_exact(mix, t.rx, all) && ok;
	return parts_done(made, advance, shm) && ok;
}
