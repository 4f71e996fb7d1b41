/* SPDX-License-Identifier: BSD-3-Clause */
#include "apps/biplane/top/sample.h"

#include <inttypes.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "apps/biplane/text.h"
#include "biplane/counters/general.h"
#include "biplane/counters/mqtt.h"
#include "controlplane/process/peer.h"
#include "services/mqtt/flow_show.h"

static uint64_t load(const _Atomic uint64_t *v)
{
	return atomic_load_explicit(v, memory_order_relaxed);
}

double bp_top_cpu_s(uint64_t pid)
{
	char path[48], line[1024];
	unsigned long user, system;
	const char *end;
	FILE *f;
	bool found;

	if (pid == 0 || pid > INT_MAX)
		return NAN;
	snprintf(path, sizeof(path), "/proc/%" PRIu64 "/stat", pid);
	f = fopen(path, "re");
	found = f != NULL && fgets(line, sizeof(line), f) != NULL;
	if (f != NULL)
		fclose(f);
	/* the name in parentheses may have any characters */
	end = found ? strrchr(line, ')') : NULL;
	if (end == NULL || sscanf(end + 1, " %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %lu %lu",
				   &user, &system) != 2)
		return NAN;
	return (double)(user + system) / (double)sysconf(_SC_CLK_TCK);
}

static void read_planes(struct bp_top_sample *s, const struct bp_shm *m)
{
	s->data = (struct bp_top_plane){
		.running = bp_dataplane_alive(m->global),
		.pid = load(&m->global->dp_pid),
		.started_ns = load(&m->global->dp_started_ns),
	};
	s->control = (struct bp_top_plane){
		.running = bp_show_alive(load(&m->control->cp_pid)),
		.pid = load(&m->control->cp_pid),
		.started_ns = load(&m->control->cp_started_ns),
	};
	s->data.cpu_s = bp_top_cpu_s(s->data.running ? s->data.pid : 0);
	s->control.cpu_s = bp_top_cpu_s(s->control.running ? s->control.pid : 0);
}

static void read_ports(struct bp_top_sample *s, const struct bp_shm *m)
{
	s->n_ports = bp_show_ports_in_use(m);
	for (unsigned p = 0; p < s->n_ports; p++) {
		struct bp_top_port *o = &s->port[p];
		json_t *name = bp_text_json(m->ports[p].name, sizeof(m->ports[p].name));

		snprintf(o->name, sizeof(o->name), "%s", json_string_value(name));
		json_decref(name);
		o->link_up = m->ports[p].link_up;
		o->nic_dropped = m->ports[p].hw_imissed + m->ports[p].hw_rx_nombuf;
		bp_show_port_sum(m, p, &o->sum);
	}
}

static uint64_t counter(const struct bp_shm *m, unsigned row, bp_counter_t c)
{
	return __atomic_load_n(&m->counters[row].v[c], __ATOMIC_RELAXED);
}

static uint64_t drops_of_row(const struct bp_shm *m, unsigned row)
{
	uint64_t n = 0;

	for (unsigned c = 0; c < BP_C_COUNT; c++)
		if (bp_counter_info[c].group == BP_CG_DROP && bp_counter_info[c].name != NULL)
			n += counter(m, row, c);
	return n;
}

static void read_workers(struct bp_top_sample *s, const struct bp_shm *m)
{
	const uint32_t n = atomic_load(&m->global->dp_workers);

	s->n_workers = n < m->workers ? n : m->workers;
	s->drops = 0;
	for (unsigned w = 0; w < m->counter_rows; w++)
		s->drops += drops_of_row(m, w);
	for (unsigned w = 0; w < s->n_workers; w++) {
		struct bp_top_worker *o = &s->worker[w];

		*o = (struct bp_top_worker){
			.drops = drops_of_row(m, w),
			.publishes = counter(m, w, BP_C_MQTT_PUBLISH),
			.alarms = counter(m, w, BP_C_ALARM_RAISED),
			.busy_ns = counter(m, w, BP_C_WORKER_BUSY_NS),
			.sleep_ns = counter(m, w, BP_C_WORKER_SLEEP_NS),
		};
		for (unsigned p = 0; p < BP_MAX_PORTS; p++) {
			const struct bp_port_stats *st = &m->port_stats[w * BP_MAX_PORTS + p];

			o->rx += load(&st->rx_packets);
			o->tx += load(&st->tx_packets);
		}
	}
}

/* Of all destinations that are configured. */
static void read_publishers(
	struct bp_top_sample *s, const struct bp_publisher_counters c[BP_DESTINATIONS])
{
	const bool has_kafka = load(&c[BP_TO_KAFKA].max_inflight) != 0;
	const bool has[BP_DESTINATIONS] = {
		[BP_TO_MQTT] = !has_kafka || load(&c[BP_TO_MQTT].max_inflight) != 0,
		[BP_TO_KAFKA] = has_kafka};

	s->acknowledged = s->in_flight = s->spool_rows = 0;
	s->publisher_connected = true;
	for (unsigned to = 0; to < BP_DESTINATIONS; to++) {
		s->acknowledged += load(&c[to].acked);
		s->in_flight += load(&c[to].inflight);
		s->spool_rows += load(&c[to].spool_rows);
		s->publisher_connected &= !has[to] || atomic_load(&c[to].connected) != 0;
	}
}

static void read_totals(struct bp_top_sample *s, const struct bp_shm *m)
{
	struct bp_flow_usage usage;

	s->publishes = bp_shm_counter(m, BP_C_MQTT_PUBLISH);
	s->raised = bp_shm_counter(m, BP_C_ALARM_RAISED);
	s->lost =
		bp_shm_counter(m, BP_C_ALARM_QUEUE_FULL) + bp_shm_counter(m, BP_C_ALARM_TOO_LARGE);
	read_publishers(s, m->control->publisher);
	bp_flow_usage(m->flows, m->flows_len, m->workers, &usage);
	s->connections = usage.flows;
}

static void read_faults(struct bp_top_sample *s, const struct bp_shm *m)
{
	json_t *faults = bp_show_open_faults(m, s->unix_ns);
	const json_t *first = json_array_get(faults, 0);
	const char *name = json_string_value(json_object_get(first, "fault"));
	const char *object = json_string_value(json_object_get(first, "object"));

	s->faults = (unsigned)json_array_size(faults);
	snprintf(s->fault, sizeof(s->fault), "%s %s", name ? name : "", object ? object : "");
	bp_text_mask(s->fault);
	json_decref(faults);
}

static bool read_rules(
	struct bp_top_sample *s, const struct bp_shm *m, const struct bp_ruleset *rules)
{
	const uint32_t n = rules != NULL ? rules->n_rules : 0;

	if (n > s->n_rules) {
		struct bp_top_rule *more = realloc(s->rule, n * sizeof(*more));

		if (more == NULL)
			return false;
		s->rule = more;
	}
	s->n_rules = n;
	s->generation = rules != NULL ? rules->generation : 0;
	for (uint32_t i = 0; i < n; i++) {
		const struct bp_rule *r = bp_ruleset_rule(rules, i);
		struct bp_top_rule *o = &s->rule[i];

		*o = (struct bp_top_rule){.uid = r->uid};
		for (uint32_t w = 0; w < m->workers && r->slot < m->max_rules; w++) {
			const struct bp_rule_stats *st =
				&m->rule_stats[(uint64_t)w * m->max_rules + r->slot];

			o->matched += load(&st->matched);
			o->no_value += load(&st->no_value);
			o->raised += load(&st->raised);
			o->cleared += load(&st->cleared);
		}
	}
	return true;
}

static bool read_nodes(struct bp_top_sample *s, const struct bp_shm *m)
{
	const uint32_t n = m->workers * BP_MAX_NODES;

	if (s->node == NULL)
		s->node = malloc((uint64_t)BP_MAX_WORKERS * BP_MAX_NODES * sizeof(*s->node));
	s->n_nodes = 0;
	if (s->node == NULL)
		return false;
	for (uint32_t i = 0; i < n; i++) {
		const struct bp_node_info *from = &m->nodes[i];
		struct bp_top_node *o = &s->node[s->n_nodes];

		size_t max = sizeof(from->name) - 1;
		const char *name = bp_text_node(from->name, &max);

		if (name[0] == '\0')
			continue;
		snprintf(o->name, sizeof(o->name), "%.*s", (int)max, name);
		o->worker = i / BP_MAX_NODES;
		o->calls = load(&from->calls);
		o->packets = load(&from->objects);
		o->cycles = load(&from->cycles);
		s->n_nodes++;
	}
	return true;
}

bool bp_top_sample_read(struct bp_top_sample *s, const struct bp_shm *m,
	const struct bp_ruleset *rules, uint64_t mono_ns, uint64_t unix_ns)
{
	s->mono_ns = mono_ns;
	s->unix_ns = unix_ns;
	read_planes(s, m);
	read_ports(s, m);
	read_workers(s, m);
	read_totals(s, m);
	read_faults(s, m);
	return read_rules(s, m, rules) && read_nodes(s, m);
}

void bp_top_sample_free(struct bp_top_sample *s)
{
	free(s->rule);
	free(s->node);
	memset(s, 0, sizeof(*s));
}
