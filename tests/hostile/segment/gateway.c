/* SPDX-License-Identifier: BSD-3-Clause */
#include "config/aggregation/settings.h"
#include "tests/hostile/segment/gateway.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "config/lcl/settings.h"
#include "config/sampling/settings.h"
#include "config/segment.h"
#include "dataplane/lcl/lcl.h"
#include "shm/sampling/sampling.h"
#include "dataplane/health/worker.h"
#include "proto/net/ip.h"
#include "shm/seqlock.h"
#include "shm/fib/reuse.h"
#include "tests/unit/dataplane/forwarding/fib_fill.h"
#include "tests/unit/dataplane/lcl/lcl_rig.h"

#define GATEWAY                                                                                    \
	"workers: 1\n"                                                                             \
	"ports:\n"                                                                                 \
	"  - {name: a, device: net_null0}\n"                                                       \
	"  - {name: b, device: net_null1}\n"                                                       \
	"  - {name: c, device: net_null2, routed: {}}\n"                                           \
	"  - {name: d, device: net_null3, routed: {}}\n"                                           \
	"bridges: [{name: bridge0, ports: [a, b]}]\n"                                              \
	"mqtt:\n"                                                                                  \
	"  publisher: {broker: \"mqtt://127.0.0.1\"}\n"                                            \
	"  max_connections: 64\n"                                                                  \
	"  max_alarm_states: 64\n"                                                                 \
	"  max_rules: 16\n"                                                                        \
	"  max_windows: 64\n"                                                                      \
	"  max_window_values: 64\n"                                                                \
	"  max_watched_topics: 64\n"                                                               \
	"  max_combination_values: 64\n"                                                           \
	"  max_sparkplug_metrics: 64\n"                                                            \
	"  reassembly_total: 1MiB\n"                                                               \
	"  alarm_queue_size: 64KiB\n"                                                              \
	"health_devices:\n"                                                                        \
	"  max_sessions: 64\n"                                                                     \
	"  max_configurations: 16\n"                                                               \
	"  cse: {coap: \"coap://10.2.0.5\"}\n"                                                     \
	"sampling:\n"                                                                              \
	"  - {name: all, match: {port: a}, one_in: 3, mirror: d}\n"                                \
	"aggregation:\n  encapsulate:\n"                                                           \
	"  - {port: a, to: {address: 10.1.0.9, udp_port: 5555}, max_messages: 4, max_delay: "      \
	"100us}\n"                                                                                 \
	"  - {port: a, to: {address: 10.1.0.10, udp_port: 5556}, format: lin2018, max_messages: "  \
	"3, "                                                                                      \
	"max_delay: 100us}\n"                                                                      \
	"  decapsulate:\n"                                                                         \
	"  - {port: b, to: {address: 10.1.0.9, udp_port: 5555}, allowed_senders: [10.0.0.0/8], "   \
	"pacing_gap: "                                                                             \
	"10us}\n" LCL_PORTS_BEGIN LCL_PORT("a", ", trust_labels: true")                            \
		LCL_PORT("b", ", trust_labels: true") LCL_FLOW

static const uint8_t mac_of[GW_PORTS] = {0xa1, 0xb1, 0xc1, 0xd1};

/* ---- tables ---- */

static void interface(struct gateway *g, unsigned i)
{
	struct bp_interface_info info = {
		.flags = BP_IF_PRESENT | BP_IF_UP | BP_IF_CARRIER | BP_IF_KERNEL,
		.mtu = 1500,
		.mac = {2, 0, 0, 0, 0, mac_of[i]}};

	info.name[0] = "abcd"[i];
	assert_int_equal(bp_fib_interface_set(g->x.r.writer, i, &info), BP_FIB_DONE);
	g->x.r.exception->has[i] = true;
}

static void neighbor(struct gateway *g, unsigned i, const char *text, uint8_t mac)
{
	const uint8_t to[6] = {2, 0, 0, 0, 0, mac};
	struct bp_address a = address(text);

	assert_int_equal(
		bp_fib_neighbor_set(g->x.r.writer, i, &a, to, BP_NEIGHBOR_REACHABLE), BP_FIB_DONE);
}

static void routes(struct gateway *g)
{
	struct bp_fib_writer *w = g->x.r.writer;
	struct bp_route group = {.prefix = bp_prefix_of(address("10.5.0.0"), 16),
		.type = BP_ROUTE_UNICAST,
		.n_hops = 2,
		.hop = {{.interface = GW_D, .weight = 1, .gateway = address("10.2.0.5")},
			{.interface = GW_C, .weight = 2, .gateway = address("10.1.1.2")}}};

	interface(g, GW_C);
	interface(g, GW_D);
	neighbor(g, GW_D, "10.2.0.5", 0xd2);
	neighbor(g, GW_C, "10.1.1.2", 0xc2);
	neighbor(g, GW_D, "fd02::5", 0xd2);
	fill_route(w, "10.1.1.0", 24, BP_ROUTE_UNICAST, GW_C, NULL);
	fill_route(w, "10.2.0.0", 24, BP_ROUTE_UNICAST, GW_D, NULL);
	fill_route(w, "10.1.1.1", 32, BP_ROUTE_LOCAL, -1, NULL);
	fill_route(w, "10.2.0.1", 32, BP_ROUTE_LOCAL, -1, NULL);
	fill_route(w, "10.9.0.0", 16, BP_ROUTE_UNICAST, GW_D, "10.2.0.5");
	fill_route(w, "10.9.7.128", 25, BP_ROUTE_UNICAST, GW_C, "10.1.1.2");
	fill_route(w, "10.8.0.0", 16, BP_ROUTE_UNICAST, GW_D, "10.2.0.77");
	fill_route(w, "10.66.0.0", 16, BP_ROUTE_BLACKHOLE, -1, NULL);
	fill_route(w, "10.67.0.0", 16, BP_ROUTE_UNREACHABLE, -1, NULL);
	fill_route(w, "fd02::", 64, BP_ROUTE_UNICAST, GW_D, NULL);
	fill_route(w, "fd09::", 32, BP_ROUTE_UNICAST, GW_D, "fd02::5");
	fill_route(w, "fd09:0:0:7::", 64, BP_ROUTE_UNICAST, GW_D, NULL);
	fill_route(w, "fd01::1", 128, BP_ROUTE_LOCAL, -1, NULL);
	assert_int_equal(bp_fib_route_set(w, &group), BP_FIB_DONE);
}

static void trackers(struct gateway *g)
{
	const struct bp_transform_rule rule[2] = {x_rule(GW_A, 10000), x_rule(GW_B, 10000)};
	const struct bp_transform_receiver to[3] = {x_receiver("10.1.0.20", 9000, 1),
		x_receiver("10.1.0.21", 0, 0), {.flags = BP_TRANSFORM_REFLECT}};

	x_add_rule(&g->x.file, &rule[0]);
	x_add_source(&g->x.file, "10.0.0.5/32", to, 1);
	x_add_source(&g->x.file, "10.0.0.6/32", to, 3);
	x_add_source(&g->x.file, "10.0.64.0/18", to, 2);
	x_add_rule(&g->x.file, &rule[1]);
	g->x.file.rule[1].drop_unknown = false;
}

/* The figures of the control plane's that no worker reads. */
static bool is_read(const char *name)
{
	return strcmp(name, "alarm_log") != 0 && strcmp(name, "alarm_latency") != 0 &&
	       strcmp(name, "cp_faults") != 0 && strcmp(name, "phd_status") != 0;
}

#define HOT_MAX 4096u
static void find_tables(struct gateway *g)
{
	const struct bp_config *c = g->x.r.config;
	struct bp_seg_spec spec[BP_SHM_SPECS_MAX];
	const unsigned n = bp_shm_specs(c, spec);

	_Static_assert(BP_SHM_SPECS_MAX <= GW_TABLES_MAX, "there is room for all");
	for (unsigned i = 0; i < n; i++) {
		struct gateway_table *t = &g->table[g->n_tables];
		uint64_t capacity;

		if (spec[i].part == BP_SEG_DATA || !is_read(spec[i].name))
			continue;
		t->name = spec[i].name;
		t->bytes = bp_segment_table(g->x.r.shm.segment, spec[i].name, spec[i].element_size,
			spec[i].version, &capacity);
		t->size = capacity * spec[i].element_size;
		assert_non_null(t->bytes);
		t->hot = malloc(HOT_MAX * sizeof(*t->hot));
		assert_non_null(t->hot);
		for (uint64_t at = 0; at + 8 <= t->size && t->n_hot < HOT_MAX; at += 8)
			if (bp_load64(t->bytes + at) != 0)
				t->hot[t->n_hot++] = (uint32_t)at;
		g->n_tables++;
	}
}

/* ---- life ---- */

void gateway_start(struct gateway *g)
{
	memset(g, 0, sizeof(*g));
	trackers(g);
	x_start(&g->x, GATEWAY, false);
	g->banks = bp_ruleset_copies_create(&g->x.r.shm, 1);
	assert_non_null(g->banks);
	g->x.r.worker->ruleset_copies = g->banks;
	routes(g);
	gateway_health_start(g);
	gateway_mqtt_start(g);
	gateway_rules(g, GW_RULES_MAX, false);
	bp_seqlock_write(&g->x.r.shm.agg.plan->lock, &bp_config_aggregation(g->x.r.config)->rules,
		sizeof(struct bp_agg_rules));
	bp_seqlock_write(&g->x.r.shm.lcl.plan->lock, &bp_config_lcl(g->x.r.config)->rules,
		sizeof(bp_config_lcl(g->x.r.config)->rules));
	bp_seqlock_write(&bp_sampling_tables(&g->x.r.shm)->plan->lock,
		&bp_config_sampling(g->x.r.config)->rules,
		sizeof(bp_config_sampling(g->x.r.config)->rules));
	for (unsigned kind = 0; kind < GW_TRAFFIC; kind++)
		gateway_burst(g, kind);
	find_tables(g);
}

void gateway_stop(struct gateway *g)
{
	gateway_mend(g);
	gateway_walk(g);
	gateway_clear(g);
	gateway_mqtt_stop(g);
	bp_phd_writer_free(g->phd);
	for (unsigned i = 0; i < g->n_tables; i++)
		free(g->table[i].hot);
	free(g->undo);
	x_stop(&g->x);
	bp_ruleset_copies_free(g->banks);
}

/* ---- damage ---- */

void gateway_write(struct gateway *g, unsigned table, uint64_t at, const void *bytes, unsigned n)
{
	const struct gateway_table *t = &g->table[table];
	struct gateway_undo *u;

	if (at >= t->size)
		return;
	if (n > t->size - at)
		n = (unsigned)(t->size - at);
	if (g->n_undo == g->room_undo) {
		g->room_undo = g->room_undo * 2 + 256;
		g->undo = realloc(g->undo, g->room_undo * sizeof(*g->undo));
		assert_non_null(g->undo);
	}
	u = &g->undo[g->n_undo++];
	*u = (struct gateway_undo){.at = t->bytes + at, .n = (uint8_t)n};
	memcpy(u->was, u->at, n);
	memcpy(u->at, bytes, n);
}

static void next_plan(_Atomic uint64_t *generation)
{
	atomic_store(generation, (atomic_load(generation) | 1) + 1);
}

static void publish_rules(struct gateway *g)
{
	struct bp_shm *shm = &g->x.r.shm;
	const uint64_t active = atomic_load(&shm->control->rules_active);
	const uint64_t generation = ++g->rules_generation;

	((struct bp_ruleset *)(void *)(shm->rules.banks + (active & 1) * shm->rules.bank_size))
		->generation = generation;
	atomic_store(&shm->control->rules_active, generation << 1 | (active & 1));
}

static void publish_bank(struct gateway *g)
{
	const struct bp_transform_tables *t = &g->x.r.shm.transform;
	const uint64_t active = atomic_load(&t->head->active), generation = ++g->x.generation;

	bp_transform_bank_at(t, active)->generation = generation;
	atomic_store(&t->head->active, generation << 1 | (active & 1));
}

static void publish_layouts(struct gateway *g)
{
	const struct bp_phd_tables *t = &g->x.r.shm.phd;

	for (uint32_t n = 0; n < t->max_layouts; n++)
		atomic_fetch_add(&((struct bp_phd_layout *)(void *)(t->layouts +
								    (size_t)n * BP_PHD_LAYOUT_SIZE))
					  ->life,
			1);
}

void gateway_publish(struct gateway *g, enum gateway_plan plan)
{
	struct bp_shm *shm = &g->x.r.shm;

	switch (plan) {
	case GW_RULES:
		publish_rules(g);
		break;
	case GW_AGG_PLAN:
		next_plan(&shm->agg.plan->lock.generation);
		break;
	case GW_LCL_PLAN:
		next_plan(&shm->lcl.plan->lock.generation);
		break;
	case GW_SAMPLING_PLAN:
		next_plan(&bp_sampling_tables(shm)->plan->lock.generation);
		break;
	case GW_PHD_PLAN:
		next_plan(&shm->phd.control->settings_generation);
		break;
	case GW_BANK:
		publish_bank(g);
		break;
	case GW_LAYOUTS:
		publish_layouts(g);
		break;
	case GW_PLANS:
		break;
	}
}

void gateway_mend(struct gateway *g)
{
	while (g->n_undo != 0) {
		const struct gateway_undo *u = &g->undo[--g->n_undo];

		memcpy(u->at, u->was, u->n);
	}
	for (unsigned plan = 0; plan < GW_PLANS; plan++)
		gateway_publish(g, plan);
	bp_ring_release_all(bp_shm_ring(&g->x.r.shm, 0));
	bp_ring_release_all(bp_phd_events(&g->x.r.shm.phd, 0));
	gateway_walk(g);
	gateway_clear(g);
}

bool gateway_drain(struct gateway *g)
{
	/* of 20 us each: longer than any delay that is configured */
	for (unsigned walks = 0; walks < 100; walks++) {
		if (rte_mempool_avail_count(g->x.r.pool) == g->x.r.in_pool)
			return true;
		gateway_walk(g);
		gateway_clear(g);
	}
	return false;
}

/* ---- traffic ---- */

void gateway_put(struct gateway *g, unsigned port, const void *frame, uint32_t len)
{
	(void)bp_ring_ports_put(&g->x.r.ports, port, g->x.r.pool, frame, len);
}

void gateway_walk(struct gateway *g)
{
	struct rig *r = &g->x.r;

	g->rules_taken[bp_ruleset_copies_poll(g->banks)]++;
	r->worker->mono_ns += 20000;
	r->worker->now_ns += 20000;
	rig_walk(r);
}

static void clear_kernel(struct rig *r)
{
	for (unsigned c = 0; c < BP_EX_CLASSES; c++) {
		for (unsigned i = 0; i < BP_MAX_INTERFACES; i++) {
			void *m;

			while (r->exception->to_kernel[c][i] != NULL &&
				rte_ring_dequeue(r->exception->to_kernel[c][i], &m) == 0) {
				r->to_kernel++;
				rte_pktmbuf_free(m);
			}
		}
	}
}

void gateway_clear(struct gateway *g)
{
	struct rig *r = &g->x.r;
	struct rte_mbuf *m;

	for (unsigned p = 0; p < GW_PORTS; p++)
		while ((m = bp_ring_ports_take(&r->ports, p)) != NULL)
			rte_pktmbuf_free(m);
	clear_kernel(r);
}

static void put_udp(struct gateway *g, unsigned port, const struct udp *u)
{
	uint8_t f[UDP_FRAME_MAX];

	gateway_put(g, port, f, agg_frame(u, f));
}

static void routed(struct gateway *g)
{
	static const char *const to[] = {"10.2.0.5", "10.9.1.1", "10.9.7.200", "10.9.7.5",
		"10.8.1.1", "10.66.1.1", "10.67.1.1", "10.5.3.1", "10.5.200.9", "10.77.1.1",
		"10.1.1.1", "fd02::5", "fd09::1", "fd09:0:0:7::9", "fd01::1", "fd77::1"};

	for (unsigned i = 0; i < sizeof(to) / sizeof(to[0]); i++) {
		struct udp u = agg_message(g->serial + i);

		u.dst = to[i];
		u.src = to[i][0] == 'f' ? "fd01::2" : "10.1.1.2";
		u.src_mac = 0xc2;
		u.dst_mac = mac_of[GW_C];
		u.df = false;
		put_udp(g, GW_C, &u);
	}
	gateway_walk(g);
}

static void aggregates(struct gateway *g)
{
	struct rte_mbuf *m;

	for (unsigned i = 0; i < 9; i++) {
		struct udp u = agg_message(g->serial + i);

		if (i % 3 == 2) { /* the flag header of 6 bytes, then 16 */
			static const uint8_t kunze2021[22] = {1};

			u.dst = "10.1.0.10";
			u.dport = 5556;
			u.payload = kunze2021;
			u.len = sizeof(kunze2021);
		}
		put_udp(g, GW_A, &u);
	}
	for (unsigned walks = 0; walks < 8; walks++)
		gateway_walk(g);
	for (unsigned i = 0; i < 8 && (m = bp_ring_ports_take(&g->x.r.ports, GW_B)) != NULL; i++) {
		gateway_put(g, GW_B, rte_pktmbuf_mtod(m, void *), m->data_len);
		rte_pktmbuf_free(m);
	}
	for (unsigned walks = 0; walks < 4; walks++)
		gateway_walk(g);
}

static void readings(struct gateway *g)
{
	static const char *const from[] = {
		"10.0.0.5", "10.0.0.5", "10.0.0.6", "10.0.65.1", "10.0.0.77"};

	for (unsigned i = 0; i < 16; i++) {
		struct udp u = x_reading(g->serial + i);

		u.src = g->serial / GW_TRAFFIC % 2 ? from[0] : from[i % 5];
		u.hops = 64;
		put_udp(g, i == 15 ? GW_B : GW_A, &u);
	}
	gateway_walk(g);
}

static void labelled(struct gateway *g)
{
	uint8_t plain[UDP_FRAME_MAX], f[UDP_FRAME_MAX + LCL_LABEL];
	const uint32_t len = lcl_datagram(plain);

	for (unsigned i = 0; i < 6; i++) {
		const struct label l = {.d = (int32_t)(i * 9000) - 9000,
			.sequence = g->serial * 8 + i,
			.flow = (uint16_t)(i % 3 ? 7 : i),
			.n = (uint8_t)(1 + i % 3)};

		if (i % 2)
			gateway_put(g, GW_A, plain, len);
		else
			gateway_put(g, i % 4 ? GW_B : GW_A, f, lcl_frame(plain, len, &l, f));
	}
	for (unsigned walks = 0; walks < 6; walks++)
		gateway_walk(g);
}

void gateway_burst(struct gateway *g, enum gateway_traffic kind)
{
	g->serial++;
	switch (kind) {
	case GW_MQTT:
		gateway_mqtt(g);
		break;
	case GW_HEALTH:
		gateway_health(g);
		break;
	case GW_ROUTED:
		routed(g);
		break;
	case GW_AGGREGATE:
		aggregates(g);
		break;
	case GW_TRANSFORM:
		readings(g);
		break;
	case GW_LCL:
		labelled(g);
		break;
	case GW_TRAFFIC:
		break;
	}
	gateway_clear(g);
}
