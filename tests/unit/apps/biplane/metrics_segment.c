/* SPDX-License-Identifier: BSD-3-Clause */
#include "tests/unit/apps/biplane/metrics_segment.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "biplane/counters/general.h"
#include "biplane/policy.h"
#include "config/config.h"
#include "config/segment.h"
#include "services/mqtt/flow.h"
#include "services/mqtt/flow_show.h"
#include "shm/sampling/sampling.h"
#include "shm/seqlock.h"

static const char text[] =
	"version: 1\n"
	"name: metrics\n"
	"workers: 2\n"
	"ports:\n"
	"  - {name: devices, device: net_null0}\n"
	"  - {name: cloud, device: net_null1}\n"
	"  - {name: lan, device: net_null2, routed: {addresses: [10.0.0.1/24]}}\n"
	"bridges: [{name: line, ports: [devices, cloud]}]\n"
	"mqtt:\n"
	"  publisher: {broker: \"mqtt://10.0.0.9\"}\n"
	"  max_rules: 8\n"
	"  rules: [{name: hot, topic: \"#\", value: {json: $.celsius}, raise: {above: 0}}]\n"
	"health_devices:\n"
	"  listen: {udp_port: 6024}\n"
	"  cse: {coap: \"coap://10.0.0.20:5683\", originator: Cgw, path: \"cse-in/{system_id}/"
	"{object}\", release: 4}\n"
	"aggregation:\n"
	"  encapsulate:\n"
	"    - {port: devices, to: {address: 10.0.0.9, udp_port: 5555}, allowed_senders: "
	"[10.0.0.0/24], max_messages: 8, max_delay: 1ms, mtu: 1400}\n"
	"  decapsulate:\n"
	"    - {port: cloud, to: {address: 10.0.0.9, udp_port: 5556}, allowed_senders: "
	"[10.0.0.0/24]}\n"
	"transform:\n"
	"  entries:\n"
	"    - port: lan\n"
	"      udp_port: 10000\n"
	"      sources: [{address: 10.0.0.5, receivers: [{address: 10.0.0.9, udp_port: 20000, "
	"matrix: [[1, 0, 0, 0], [0, 1, 0, 0], [0, 0, 1, 0]]}]}]\n"
	"lcl:\n"
	"  ports: [{port: cloud, slot: 8us, queues: 4, link_rate: 25Gbps}]\n"
	"sampling:\n"
	"  - {name: coap, match: {port: devices, udp_port: 5683}, one_in: 10, mirror: lan}\n";

static void check(bool good, const char *what)
{
	if (good)
		return;
	fprintf(stderr, "metrics_segment: %s\n", what);
	abort();
}

void metrics_segment_open(struct bp_shm *shm)
{
	struct bp_seg_spec specs[BP_SHM_SPECS_MAX];
	struct bp_config *c = bp_config_parse("metrics", text, sizeof(text) - 1, stderr);
	char err[512];
	struct bp_segment *s;

	check(c != NULL, "configuration");
	s = bp_segment_anonymous(specs, bp_shm_specs(c, specs), err, sizeof(err));
	check(s != NULL, err);
	check(bp_shm_map(shm, s, err, sizeof(err)) == 0, err);
	bp_config_free(c);
}

uint64_t metrics_counter_value(bp_counter_t c)
{
	return 1000003u + 17u * c;
}

static void fill_fleet_agent(struct bp_shm *shm)
{
	struct bp_fleet_agent *a = &shm->control->fleet_agent;
	const struct bp_fleet_report r = {.pid = (uint64_t)getpid(),
		.serial = 9,
		.version = 7,
		.phase = BP_FLEET_ROLLED_BACK,
		.connected = 1,
		.leased = 1};

	atomic_store(&a->expected, 1);
	atomic_store(&a->results[BP_FLEET_ROLLED_BACK], 2);
	bp_seqlock_write(&a->lock, &r, sizeof(r));
}

static void fill_ports(struct bp_shm *shm)
{
	static const char *const name[] = {"devices", "cloud", "lan"};

	for (unsigned p = 0; p < 3; p++) {
		struct bp_port_info *o = &shm->ports[p];

		snprintf(o->name, sizeof(o->name), "%s", name[p]);
		snprintf(o->device, sizeof(o->device), "net_null%u", p);
		snprintf(o->driver, sizeof(o->driver), "net_null");
		snprintf(o->bridge, sizeof(o->bridge), "%s", p < 2 ? "line" : "");
		o->link_up = p != 1;
		o->speed_mbps = 10000;
		o->mtu = 1500;
		o->hw_imissed = 70 + p;
		for (unsigned w = 0; w < WORKERS; w++) {
			struct bp_port_stats *s = &shm->port_stats[w * BP_MAX_PORTS + p];

			atomic_store(&s->rx_packets, 100 + p + 10 * w);
			atomic_store(&s->rx_bytes, 64 * (100 + p + 10 * w));
			atomic_store(&s->tx_packets, 50 + p);
			shm->port_drops[w * BP_MAX_PORTS + p].n[bp_drop_slot[BP_C_DROP_RUNT]] = p;
		}
	}
	atomic_store(&shm->global->dp_ports, 3);
	atomic_store(&shm->global->dp_workers, WORKERS);
}

static void fill_nodes(struct bp_shm *shm)
{
	for (unsigned w = 0; w < WORKERS; w++) {
		struct bp_node_info *n = &shm->nodes[w * BP_MAX_NODES];

		snprintf(n->name, sizeof(n->name), "bp_ip4");
		n->worker = w;
		atomic_store(&n->calls, 3 + w);
		atomic_store(&n->objects, 90 + w);
		atomic_store(&n->cycles, 9000 + w);
	}
}

static void fill_rules(struct bp_shm *shm)
{
	struct bp_rule_spec spec[2] = {0};
	struct bp_policy_rule_spec own = {.name = "own \"y\"", .action = BP_POLICY_ALLOW};
	const struct bp_policy_spec policy = {
		.given = true, .preset = BP_POLICY_OBSERVE, .n_rules = 1, .rules = &own};
	char err[512];
	const uint64_t next = bp_generation_next(&shm->rules);

	for (unsigned i = 0; i < 2; i++) {
		snprintf(spec[i].name, sizeof(spec[i].name), "%s", i == 0 ? "hot" : "cold \"x\"");
		snprintf(spec[i].filter, sizeof(spec[i].filter), "t/%u", i);
	}
	check(bp_ruleset_compile(bp_generation_bank(&shm->rules, next), shm->rules.bank_size,
		      &(struct bp_ruleset_input){.specs = spec,
			      .n = 2,
			      .max_rules = shm->max_rules,
			      .policy = &policy,
			      .max_policy_rules = shm->max_policy_rules,
			      .generation = next >> 1,
			      .now_ns = 1},
		      err, sizeof(err)) == 0,
		err);
	bp_generation_publish(&shm->rules, next);
	for (uint64_t i = 0; i < WORKERS * (uint64_t)shm->policy_slots; i++) {
		atomic_store(&shm->policy_stats[i].matched, 50 + i % shm->policy_slots);
		atomic_store(&shm->policy_stats[i].undecided, 3);
	}
	for (unsigned i = 0; i < 2; i++) {
		const struct bp_rule *r = bp_ruleset_rule(bp_shm_rules(shm, next), i);

		for (unsigned w = 0; w < WORKERS; w++) {
			struct bp_rule_stats *s = &shm->rule_stats[w * shm->max_rules + r->slot];

			atomic_store(&s->matched, 400 + i);
			atomic_store(&s->no_value, 30 + i);
			atomic_store(&s->raised, 20 + i);
			atomic_store(&s->cleared, 10 + i);
		}
	}
}

/* A third of each table of the rules, spread as hashes are; the windows, too. */
static void fill_states(struct bp_shm *shm)
{
	for (uint64_t i = 0; i < shm->rule_state_len; i += 3)
		atomic_store(&shm->rule_state[i].key, i + 1);
	for (uint64_t i = 0; i < shm->sparkplug_len; i += 3)
		atomic_store(&shm->sparkplug[i].word, i + 1);
	for (uint64_t i = 0; i < shm->watch.len; i += 3)
		atomic_store(&shm->watch.entry[i].key, i + 1);
	for (uint64_t i = 0; i < shm->part_state_len; i += 3)
		atomic_store(&shm->part_state[i].key, i + 1);
	for (uint64_t i = 0; i < shm->windows.buckets; i++)
		atomic_store(&shm->windows.bucket[i].key[i % BP_WINDOW_WAYS], i + 1);
}

static void fill_usage(struct bp_shm *shm)
{
	struct bp_shm_usage *u = &shm->global->usage;

	atomic_store(&u->pool[0].mbufs, 8191);
	atomic_store(&u->pool[0].free, 8000);
	snprintf(u->fdb[0].name, sizeof(u->fdb[0].name), "line");
	atomic_store(&u->fdb[0].entries, 12);
	atomic_store(&u->fdb[0].capacity, 8192);
	atomic_store(&u->inspected, 99);
	atomic_store(&u->not_inspected[BP_UNREAD_RESYNC], 3);
	atomic_store(&u->not_inspected[BP_UNREAD_COUNTERS], 4);
	for (unsigned w = 0; w < WORKERS; w++) {
		struct bp_flow_header *h = (void *)(shm->flows + shm->flows_len / WORKERS * w);

		h->magic = BP_FLOW_MAGIC;
		h->flows = 50 + w;
		h->max_flows = 1000;
		h->reassembly_used = 4096;
	}
}

static void fill_services(struct bp_shm *shm)
{
	struct bp_sampling_rules sampling = {.n = 1};

	snprintf(sampling.rule[0].name, sizeof(sampling.rule[0].name), "coap");
	bp_seqlock_write(&bp_sampling_tables(shm)->plan->lock, &sampling, sizeof(sampling));
	shm->agg.plan->rules.n_aggregate = shm->agg.plan->rules.n_disaggregate = 1;
	atomic_store(&shm->agg.stats[0].delay[3], 5);
	atomic_store(&shm->agg.stats[0].streams, 7);
	atomic_store(&shm->agg.disagg_stats[0].pace[3], 5);
	atomic_store(&shm->agg.disagg_stats[0].pace_ns, 25000);
	shm->lcl.ports[0].configured.port = 1;
	atomic_store(&shm->lcl.ports[0].owner, 1);
	atomic_store(&shm->lcl.ports[0].lateness[bp_lcl_bucket(1500)], 3);
	atomic_store(&shm->transform.head->active, 2);
	bp_transform_bank_at(&shm->transform, 2)->n_rules = 1;
	atomic_store(&shm->transform.rule_stats[0].readings, 12);
}

static void fill_fleet(struct bp_shm *shm)
{
	struct bp_shm_fleet *f = &shm->control->fleet;

	atomic_store(&f->max_queued, 65536);
	atomic_store(&f->queued, 12);
	atomic_store(&f->lag_ns, 1500000000);
	atomic_store(&f->connected, 1);
	f->counters.stored = 31;
	f->counters.superseded = 32;
	f->counters.error[BP_FLEET_ERROR_AUTH] = 33;
	f->connections.found = 34;
	f->associations.adopted = 35;
}

static void fill_kafka(struct bp_publisher_counters *c)
{
	atomic_store(&c->max_inflight, 1000);
	atomic_store(&c->connected, 1);
	atomic_store(&c->brokers, 3);
	atomic_store(&c->brokers_connected, 2);
	atomic_store(&c->spool_rows, 12);
	atomic_store(&c->rejected, 7);
}

void metrics_segment_fill(struct bp_shm *shm)
{
	const struct bp_fault_record fault = {.subject = "cloud",
		.kind = BP_FAULT_LINK_DOWN,
		.active = 1,
		.began_ns = 1,
		.spells = 4};

	fill_fleet_agent(shm);
	fill_ports(shm);
	fill_nodes(shm);
	fill_rules(shm);
	fill_states(shm);
	fill_usage(shm);
	fill_services(shm);
	fill_fleet(shm);
	bp_fault_write(&shm->faults[0], &fault);
	atomic_store(&shm->global->dp_pid, (uint64_t)getpid());
	atomic_store(&shm->global->dp_started_ns, 1700000000500000000u);
	atomic_store(&shm->global->dp_heartbeat_ns, 1700000000500000000u);
	atomic_store(&shm->global->dp_use.cpu_ns, 2500000000u);
	atomic_store(&shm->global->dp_use.resident_bytes, 64u << 20);
	atomic_store(&shm->control->cp_started_ns, 1700000000000000000u);
	atomic_store(&shm->control->cp_heartbeat_ns, 1700000000000000000u);
	atomic_store(&shm->control->cp_sync_state, 2);
	fill_kafka(&shm->control->publisher[BP_TO_KAFKA]);
	for (unsigned i = 0; i < 100; i++)
		bp_histogram_add(
			&shm->alarm_latency->stage[BP_ALARM_TOTAL], 60000 + i * 1000000ull);
	for (bp_counter_t c = 0; c < BP_C_COUNT; c++)
		if (bp_counter_info[c].name)
			shm->counters[c % WORKERS].v[c] = metrics_counter_value(c);
}
