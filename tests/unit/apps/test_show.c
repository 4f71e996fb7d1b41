/* SPDX-License-Identifier: BSD-3-Clause */
/* Every view of `biplane show` over a segment with known contents. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "apps/rules_copy.h"
#include "apps/show.h"
#include "controlplane/alarm_log.h"
#include "dataplane/mqtt/flow_show.h"

static struct bp_config config;
static struct bp_shm shm;
static struct bp_show_source source;
static char err[512];

/* What the flow table holds is the data plane's knowledge; here it is what a test puts. */
static const struct bp_flow_view *fake_flows;
static unsigned n_fake_flows;
static int fake_damage;

int bp_flow_visit(const void *flows, uint64_t len, unsigned workers, uint64_t mono_ns,
	int (*visit)(const struct bp_flow_view *v, void *arg), void *arg)
{
	assert_ptr_equal(flows, shm.flows);
	assert_int_equal(len, shm.flows_len);
	assert_int_equal(workers, 2);
	for (unsigned i = 0; i < n_fake_flows; i++) {
		int stop = visit(&fake_flows[i], arg);

		if (stop)
			return stop;
	}
	return fake_damage;
}

static int set_up(void **state)
{
	struct bp_seg_spec specs[BP_SHM_SPECS_MAX];

	memset(&config, 0, sizeof(config));
	snprintf(config.name, sizeof(config.name), "test");
	config.n_workers = 2;
	config.n_ports = 2;
	config.mqtt.enabled = true;
	config.mqtt.max_rules = 8;
	config.mqtt.topic_states = 64;
	config.mqtt.alarm_ring = 65536;

	unsigned n = bp_shm_specs(&config, 4096, specs);
	struct bp_segment *s = bp_segment_anonymous(specs, n, err, sizeof(err));

	if (!s || bp_shm_map(&shm, s, err, sizeof(err)))
		return -1;
	source = (struct bp_show_source){
		.shm = &shm, .unix_ns = 10000000000000ull, .mono_ns = 5000000000ull};
	n_fake_flows = 0;
	fake_damage = 0;
	return 0;
}

static int tear_down(void **state)
{
	bp_segment_close(shm.segment);
	return 0;
}

static json_t *collect(const struct bp_show_view *view)
{
	json_t *v = view->collect(&source, err, sizeof(err));

	assert_non_null(v);
	return v;
}

/* The view as people see it; ends the JSON. */
static char *text_of(const struct bp_show_view *view, json_t *v, bool all)
{
	char *text = NULL;
	size_t len = 0;
	FILE *out = open_memstream(&text, &len);

	view->print(v, all, out);
	fclose(out);
	json_decref(v);
	return text;
}

static json_t *row(const json_t *v, const char *list, size_t i)
{
	json_t *r = json_array_get(json_object_get(v, list), i);

	assert_non_null(r);
	return r;
}

#define assert_text(object, key, expected)                                                         \
	assert_string_equal(json_string_value(json_object_get(object, key)), expected)
#define assert_number(object, key, expected)                                                       \
	assert_int_equal(json_integer_value(json_object_get(object, key)), expected)

static void set_port(unsigned i, const char *name)
{
	struct bp_port_info *p = &shm.ports[i];

	snprintf(p->name, sizeof(p->name), "%s", name);
	snprintf(p->device, sizeof(p->device), "net_null%u", i);
	snprintf(p->driver, sizeof(p->driver), "net_null");
	p->link_up = 1;
	p->speed_mbps = 10000;
	p->mtu = 1500;
	p->rx_queues = p->tx_queues = 2;
	p->workers = 3;
	p->hw_imissed = 5 + i;
}

static void count_frames(unsigned worker, unsigned port, uint64_t rx, uint64_t tx)
{
	struct bp_port_stats *s = &shm.port_stats[worker * BP_MAX_PORTS + port];

	atomic_store(&s->rx_packets, rx);
	atomic_store(&s->rx_bytes, rx * 64);
	atomic_store(&s->tx_packets, tx);
	atomic_store(&s->tx_bytes, tx * 64);
}

static void ports_sum_over_workers(void **state)
{
	set_port(0, "devices");
	set_port(1, "cloud");
	count_frames(0, 0, 100, 10);
	count_frames(1, 0, 23, 1);
	count_frames(1, 1, 7, 0);
	atomic_store(&shm.global->dp_ports, 2);

	json_t *v = collect(&bp_show_ports);

	assert_int_equal(json_array_size(json_object_get(v, "ports")), 2);
	assert_text(row(v, "ports", 0), "name", "devices");
	assert_number(row(v, "ports", 0), "rx_packets", 123);
	assert_number(row(v, "ports", 0), "rx_bytes", 123 * 64);
	assert_number(row(v, "ports", 0), "tx_packets", 11);
	assert_number(row(v, "ports", 1), "rx_packets", 7);
	assert_number(row(v, "ports", 1), "hw_missed", 6);
	assert_int_equal(json_array_size(json_object_get(row(v, "ports", 0), "workers")), 2);

	char *text = text_of(&bp_show_ports, v, false);

	assert_non_null(strstr(text, "devices  net_null0  net_null"));
	assert_non_null(strstr(text, " 0,1 "));
	assert_non_null(strstr(text, " 7872 "));
	free(text);
}

static void set_offload(unsigned i, enum bp_offload o, uint8_t word, uint8_t by, const char *why)
{
	struct bp_port_offload *p = &shm.ports[i].offload[o];

	p->word = word;
	p->outcome = by;
	snprintf(p->why, sizeof(p->why), "%s", why);
}

/* What was said of each offload, who does it, and why. */
static void ports_tell_of_offloads(void **state)
{
	set_port(0, "devices");
	set_port(1, "cloud");
	set_offload(0, BP_OFFLOAD_RX_CHECKSUM, BP_OFFLOAD_OFF, BP_OFFLOAD_SOFTWARE, "set off");
	set_offload(1, BP_OFFLOAD_SCATTER, BP_OFFLOAD_ON, BP_OFFLOAD_HARDWARE, "in several");
	set_offload(1, BP_OFFLOAD_RSS, 77, 88, "a segment of a later version");
	atomic_store(&shm.global->dp_ports, 2);

	json_t *v = collect(&bp_show_ports);
	const json_t *of0 = json_object_get(row(v, "ports", 0), "offloads"),
		     *of1 = json_object_get(row(v, "ports", 1), "offloads");

	assert_int_equal(json_array_size(of0), BP_OFFLOADS);
	assert_text(json_array_get(of0, 0), "offload", "rx_checksum");
	assert_text(json_array_get(of0, 0), "set", "off");
	assert_text(json_array_get(of0, 0), "by", "software");
	assert_text(json_array_get(of0, 0), "why", "set off");
	assert_text(json_array_get(of0, 1), "set", "auto");
	assert_text(json_array_get(of0, 1), "by", "unused");
	assert_text(json_array_get(of1, 3), "offload", "scatter");
	assert_text(json_array_get(of1, 3), "set", "on");
	assert_text(json_array_get(of1, 3), "by", "hardware");
	assert_text(json_array_get(of1, 4), "set", "?");
	assert_text(json_array_get(of1, 4), "by", "?");

	char *text = text_of(&bp_show_ports, v, false);

	assert_non_null(strstr(text, "\nPORT     OFFLOAD        SET   BY        WHY\n"
				     "devices  rx_checksum    off   software  set off\n"));
	assert_non_null(strstr(text, "\ncloud    scatter        on    hardware  in several\n"));
	free(text);
}

static void more_ports_than_there_can_be(void **state)
{
	atomic_store(&shm.global->dp_ports, UINT32_MAX);
	assert_int_equal(bp_show_ports_in_use(&shm), BP_MAX_PORTS);
}

static void no_ports_yet(void **state)
{
	char *text = text_of(&bp_show_ports, collect(&bp_show_ports), false);

	assert_string_equal(text, "no ports: the data plane has not started yet\n");
	free(text);
}

static void drops_balance(void **state)
{
	count_frames(0, 0, 100, 0);
	count_frames(1, 1, 0, 83);
	shm.counters[0].v[BP_C_KERNEL_ROUTING] = 2;
	shm.counters[2].v[BP_C_KERNEL_OTHER] = 8; /* the exception thread */
	shm.counters[1].v[BP_C_FROM_KERNEL] = 3;
	shm.counters[0].v[BP_C_CLONE_FRAME] = 4;
	shm.counters[1].v[BP_C_FLOOD_COPY] = 1;
	shm.counters[0].v[BP_C_DROP_TX_FULL] = 7;
	shm.counters[1].v[BP_C_DROP_TX_FULL] = 5;
	shm.counters[1].v[BP_C_DROP_RUNT] = 3;
	shm.counters[0].v[BP_C_CSE_ACK_FRAME] = 2;
	shm.counters[1].v[BP_C_CSE_RESET] = 2;
	shm.counters[1].v[BP_C_FLOODED] = 1000; /* of no group in the sum */
	shm.counters[1].v[BP_C_PUNT_ARP] = 50;  /* nor is the reason for the exception path */

	json_t *v = collect(&bp_show_drops);

	assert_number(v, "rx", 100);
	assert_number(v, "made", 10);
	assert_number(v, "tx", 83);
	assert_number(v, "drops", 15);
	assert_number(v, "kernel", 10);
	assert_number(v, "consumed", 2);
	assert_number(v, "difference", 0);
	assert_true(json_is_true(json_object_get(v, "balanced")));

	char *text = text_of(&bp_show_drops, json_incref(v), false);

	assert_non_null(strstr(text, "tx_full     12  "));
	assert_non_null(strstr(text, "runt         3  "));
	assert_null(strstr(text, "same_port"));
	assert_non_null(strstr(
		text, "rx 100 + made 10 = tx 83 + drops 15 + to the kernel 10 + consumed 2: ok\n"));
	free(text);
	text = text_of(&bp_show_drops, v, true);
	assert_non_null(strstr(text, "same_port"));
	free(text);

	count_frames(1, 1, 0, 86);
	text = text_of(&bp_show_drops, collect(&bp_show_drops), false);
	assert_non_null(
		strstr(text, "tx 86 + drops 15 + to the kernel 10 + consumed 2: difference -3 "));
	free(text);
}

static void counters_are_all_there(void **state)
{
	shm.counters[0].v[BP_C_MATCH] = 1;
	shm.counters[1].v[BP_C_MATCH] = 2;

	json_t *v = collect(&bp_show_counters);

	assert_int_equal(json_array_size(json_object_get(v, "counters")), BP_C_COUNT);
	assert_text(row(v, "counters", BP_C_MATCH), "name", "matches");
	assert_text(row(v, "counters", BP_C_MATCH), "group", "value");
	assert_number(row(v, "counters", BP_C_MATCH), "count", 3);

	char *text = text_of(&bp_show_counters, v, false);

	assert_non_null(strstr(text, "pairs of a PUBLISH and a rule that matches it"));
	free(text);
}

static void nodes_divide_and_round(void **state)
{
	struct bp_node_info *n = &shm.nodes[BP_MAX_NODES]; /* worker 1's first */

	snprintf(n->name, sizeof(n->name), "port_rx-0-1");
	n->worker = 1;
	atomic_store(&n->calls, 3);
	atomic_store(&n->objects, 10);
	atomic_store(&n->cycles, 1234);
	snprintf(n[1].name, sizeof(n[1].name), "drop");
	n[1].worker = 1;

	json_t *v = collect(&bp_show_nodes);

	assert_int_equal(json_array_size(json_object_get(v, "nodes")), 2);
	assert_number(row(v, "nodes", 0), "worker", 1);
	assert_true(
		json_real_value(json_object_get(row(v, "nodes", 0), "objects_per_call")) == 3.33);
	assert_true(
		json_real_value(json_object_get(row(v, "nodes", 0), "cycles_per_object")) == 123.4);
	assert_true(json_is_null(json_object_get(row(v, "nodes", 1), "objects_per_call")));

	char *text = text_of(&bp_show_nodes, v, false);

	assert_non_null(strstr(text, "port_rx-0-1"));
	assert_non_null(strstr(text, "123.4\n"));
	free(text);
}

static void add_alarm(struct bp_alarm_log_writer *w, uint64_t id, uint8_t flags, double value)
{
	union {
		struct bp_alarm a;
		char bytes[sizeof(struct bp_alarm) + 64];
	} u;

	memset(&u, 0, sizeof(u));
	u.a = (struct bp_alarm){
		.id = id,
		.time_ns = 1767225599000000001ull,
		.value = value,
		.state = flags & BP_ALARM_F_CLONE ? BP_ALARM_CLEARED : BP_ALARM_RAISED,
		.flags = flags,
		.client_port = 40000,
		.client_ip = {192, 0, 2, 9},
		.rule_len = 4,
		.client_id_len = 3,
		.topic_len = 5,
		.to_len = 7,
	};
	memcpy(u.bytes + offsetof(struct bp_alarm, text),
		"rule"
		"cid"
		"a/b/c"
		"alarm/x",
		19);
	bp_alarm_log_add(w, &u.a);
}

static void alarms_newest_last(void **state)
{
	struct bp_alarm_log_writer w;

	bp_alarm_log_open(&w, shm.alarm_log);
	for (uint64_t i = 1; i <= 1030; i++)
		add_alarm(&w, i, 0, 80.5);
	add_alarm(&w, 1031, BP_ALARM_F_CLONE, -3);

	source.limit = 2;

	json_t *v = collect(&bp_show_alarms);

	assert_int_equal(json_array_size(json_object_get(v, "alarms")), 2);
	assert_number(row(v, "alarms", 0), "id", 1030);
	assert_text(row(v, "alarms", 0), "time", "2025-12-31T23:59:59.000000001Z");
	assert_text(row(v, "alarms", 0), "rule", "rule");
	assert_text(row(v, "alarms", 0), "state", "raised");
	assert_text(row(v, "alarms", 0), "action", "publish");
	assert_true(json_real_value(json_object_get(row(v, "alarms", 0), "value")) == 80.5);
	assert_text(row(v, "alarms", 0), "client", "192.0.2.9:40000");
	assert_text(row(v, "alarms", 0), "client_id", "cid");
	assert_text(row(v, "alarms", 0), "topic", "a/b/c");
	assert_text(row(v, "alarms", 0), "to", "alarm/x");
	assert_number(row(v, "alarms", 1), "id", 1031);
	assert_text(row(v, "alarms", 1), "state", "cleared");
	assert_text(row(v, "alarms", 1), "action", "clone");

	char *text = text_of(&bp_show_alarms, v, false);

	assert_non_null(strstr(text, "  80.5  192.0.2.9:40000  cid        a/b/c  alarm/x\n"));
	free(text);

	source.limit = 0;
	v = collect(&bp_show_alarms);
	assert_int_equal(json_array_size(json_object_get(v, "alarms")), BP_ALARM_LOG_LEN);
	assert_number(row(v, "alarms", 0), "id", 1031 - BP_ALARM_LOG_LEN + 1);
	json_decref(v);
}

/* A value that JSON can't write would break every reader of the output. */
static void an_impossible_value_is_refused(void **state)
{
	struct bp_alarm_log_writer w;

	bp_alarm_log_open(&w, shm.alarm_log);
	add_alarm(&w, 1, 0, __builtin_nan(""));
	assert_null(bp_show_alarms.collect(&source, err, sizeof(err)));
	assert_non_null(strstr(err, "damaged"));
}

static void flows_up_to_the_limit(void **state)
{
	const struct bp_flow_view flows[] = {
		{
			.client_ip = {10, 0, 0, 1},
			.client_port = 50000,
			.broker_ip = {10, 0, 0, 2},
			.broker_port = 1883,
			.vlan_outer = 100,
			.version = 4,
			.connection = "open",
			.to_broker = "reading",
			.from_broker = "opaque",
			.opaque_reason = "opaque_qos",
			.publishes = 12,
			.idle_ms = 5,
			.client_id = "sensor",
		},
		{
			.ip6 = true,
			.vlan_outer = 100,
			.vlan_inner = 20,
			.worker = 1,
			.connection = "opening",
			.to_broker = "unseen",
			.from_broker = "unseen",
			.opaque_reason = "",
		},
	};

	fake_flows = flows;
	n_fake_flows = 2;
	source.limit = 1;

	json_t *v = collect(&bp_show_flows);

	assert_number(v, "total", 2);
	assert_int_equal(json_array_size(json_object_get(v, "flows")), 1);
	assert_text(row(v, "flows", 0), "client", "10.0.0.1:50000");
	assert_text(row(v, "flows", 0), "broker", "10.0.0.2:1883");
	assert_text(row(v, "flows", 0), "version", "3.1.1");
	assert_text(row(v, "flows", 0), "vlan", "100");
	assert_number(row(v, "flows", 0), "publishes", 12);

	char *text = text_of(&bp_show_flows, v, false);

	assert_non_null(strstr(text, "1 of 2 connections"));
	assert_non_null(strstr(text, "opaque_qos"));
	free(text);

	source.limit = 0;
	v = collect(&bp_show_flows);
	assert_text(row(v, "flows", 1), "vlan", "100.20");
	assert_true(json_is_null(json_object_get(row(v, "flows", 1), "version")));
	json_decref(v);

	fake_damage = -1;
	assert_null(bp_show_flows.collect(&source, err, sizeof(err)));
	assert_non_null(strstr(err, "damaged"));
}

static void planes_tell_who_lives(void **state)
{
	struct bp_shm_global *g = shm.global;
	struct timespec now;

	/* the life sign is compared with the process's own start */
	clock_gettime(CLOCK_REALTIME, &now);
	source.unix_ns = (uint64_t)now.tv_sec * 1000000000ull;
	atomic_store(&g->dp_pid, (uint64_t)getpid());
	atomic_store(&g->dp_started_ns, source.unix_ns - 3661000000000ull);
	atomic_store(&g->dp_heartbeat_ns, source.unix_ns + 1); /* the clock was set back */
	atomic_store(&g->cp_pid, 0x7fffffff);
	atomic_store(&g->run_cp_restarts, 3);
	atomic_store(&g->cp_edge_connected, 1);
	atomic_store(&g->cp_spool_rows, 17);
	atomic_store(&g->cp_spool_errors, 4);
	atomic_store(&g->rules_active, 5 << 1 | 1);

	json_t *v = collect(&bp_show_planes);

	assert_true(json_is_true(json_object_get(row(v, "planes", 0), "alive")));
	assert_number(row(v, "planes", 0), "uptime_s", 3661);
	assert_number(row(v, "planes", 0), "heartbeat_age_s", 0);
	assert_false(json_is_true(json_object_get(row(v, "planes", 1), "alive")));
	assert_true(json_is_null(json_object_get(row(v, "planes", 1), "uptime_s")));
	assert_number(row(v, "planes", 1), "restarts", 3);
	assert_number(json_object_get(v, "spool"), "rows", 17);
	assert_number(json_object_get(v, "spool"), "errors", 4);
	assert_number(json_object_get(v, "reloads"), "generation", 5);

	char *text = text_of(&bp_show_planes, v, false);

	assert_non_null(strstr(text, "1:01:01"));
	assert_non_null(strstr(text, "edge      connected, connects 0"));
	assert_non_null(strstr(text, "rows 17, bytes 0, errors 4"));
	free(text);
}

static void load_rules(uint64_t generation, unsigned bank, const char *second)
{
	struct bp_rule_spec specs[2];

	memset(specs, 0, sizeof(specs));
	snprintf(specs[0].name, sizeof(specs[0].name), "overheat");
	snprintf(specs[0].filter, sizeof(specs[0].filter), "plant/+/temperature");
	specs[0].value.kind = BP_VALUE_TEXT;
	specs[0].raise = (struct bp_condition){.op = BP_COND_GT, .a = 80};
	specs[0].clear = (struct bp_condition){.op = BP_COND_LT, .a = 75};
	specs[0].has_clear = true;
	snprintf(specs[0].to, sizeof(specs[0].to), "alarm/{topic}");
	snprintf(specs[1].name, sizeof(specs[1].name), "%s", second);
	snprintf(specs[1].filter, sizeof(specs[1].filter), "#");
	specs[1].value.kind = BP_VALUE_BINARY;
	specs[1].value.binary.type = BP_BIN_INT16;
	specs[1].raise = (struct bp_condition){.op = BP_COND_OUTSIDE, .a = -1, .b = 1};
	specs[1].hold = BP_HOLD_TIME;
	specs[1].hold_ns = 2500000000ull;
	specs[1].repeat = BP_REPEAT_ON_CHANGE;
	specs[1].action = BP_ACTION_CLONE;
	snprintf(specs[1].to, sizeof(specs[1].to), "x");
	assert_int_equal(bp_ruleset_build(shm.rules + bank * shm.rules_bank_size,
				 shm.rules_bank_size, specs, 2, shm.max_rules, &config.mqtt.clone,
				 NULL, generation, source.unix_ns, err, sizeof(err)),
		0);
	atomic_store(&shm.global->rules_active, generation << 1 | bank);
}

static void rules_of_the_active_bank(void **state)
{
	load_rules(1, 0, "old");
	load_rules(2, 1, "new");

	const struct bp_rule *first = bp_ruleset_rule(bp_shm_rules(&shm, 1), 0);

	atomic_store(&shm.rule_stats[first->slot].matched, 10);
	atomic_store(&shm.rule_stats[shm.max_rules + first->slot].matched, 5);
	atomic_store(&shm.rule_stats[shm.max_rules + first->slot].raised, 2);

	json_t *v = collect(&bp_show_rules);
	json_t *overheat = row(v, "rules", 0), *other = row(v, "rules", 1);

	if (strcmp(json_string_value(json_object_get(overheat, "name")), "overheat") != 0) {
		overheat = row(v, "rules", 1);
		other = row(v, "rules", 0);
	}
	assert_number(v, "generation", 2);
	assert_text(overheat, "name", "overheat");
	assert_text(overheat, "filter", "plant/+/temperature");
	assert_text(overheat, "raise", "> 80");
	assert_text(overheat, "clear", "< 75");
	assert_text(overheat, "repeat", "every");
	assert_text(overheat, "action", "publish");
	assert_text(overheat, "to", "alarm/{topic}");
	assert_text(other, "name", "new");
	assert_text(other, "value", "binary int16 at 0, big endian");
	assert_text(other, "raise", "outside -1..1");
	assert_true(json_is_null(json_object_get(other, "clear")));
	assert_text(other, "hold", "2.5 s");
	assert_text(other, "repeat", "on_change");
	assert_text(other, "action", "clone");
	assert_int_equal(json_integer_value(json_object_get(overheat, "matched")) +
				 json_integer_value(json_object_get(other, "matched")),
		15);
	assert_int_equal(json_integer_value(json_object_get(overheat, "raised")) +
				 json_integer_value(json_object_get(other, "raised")),
		2);

	char *text = text_of(&bp_show_rules, v, false);

	assert_non_null(strstr(text, "plant/+/temperature"));
	assert_non_null(strstr(text, "2 rules, generation 2, loaded 1970-01-01T02:46:40"));
	free(text);
}

static void no_rules_yet(void **state)
{
	char *text = text_of(&bp_show_rules, collect(&bp_show_rules), false);

	assert_string_equal(text, "no rules\n");
	free(text);
}

/* The reader must not trust what it copies: every single damaged word of the image. */
static void damaged_rules_are_refused_or_harmless(void **state)
{
	load_rules(1, 0, "other");

	uint32_t *image = (uint32_t *)shm.rules;
	uint64_t words = bp_shm_rules(&shm, 0)->size / sizeof(*image);
	unsigned refused = 0;

	for (uint64_t i = 0; i < words; i++) {
		const uint32_t bad[] = {UINT32_MAX, 0x7fffff01, image[i] + 1};

		for (unsigned k = 0; k < 3; k++) {
			uint32_t good = image[i];

			image[i] = bad[k];

			json_t *v = bp_show_rules.collect(&source, err, sizeof(err));

			if (v)
				free(text_of(&bp_show_rules, v, false));
			else
				refused++;
			image[i] = good;
		}
	}
	assert_true(refused > 0);
	json_decref(collect(&bp_show_rules));
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(ports_sum_over_workers),
		CASE(ports_tell_of_offloads),
		CASE(more_ports_than_there_can_be),
		CASE(no_ports_yet),
		CASE(drops_balance),
		CASE(counters_are_all_there),
		CASE(nodes_divide_and_round),
		CASE(alarms_newest_last),
		CASE(an_impossible_value_is_refused),
		CASE(flows_up_to_the_limit),
		CASE(planes_tell_who_lives),
		CASE(rules_of_the_active_bank),
		CASE(no_rules_yet),
		CASE(damaged_rules_are_refused_or_harmless),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
