/* SPDX-License-Identifier: BSD-3-Clause */
/* Processes, configuration, workers, faults. */
#include <string.h>

#include "apps/biplane/metrics/metric.h"
#include "apps/biplane/text.h"
#include "biplane/counters/general.h"
#include "controlplane/process/peer.h"

#define NS_PER_S 1000000000u

/* ---- processes ---- */

static const char *const plane_name[] = {"dataplane", "controlplane", "supervisor"};
#define PLANES 3u
#define WITH_HEARTBEAT 2u

static struct bp_metric_label plane_label(unsigned plane)
{
	return (struct bp_metric_label){"plane", plane_name[plane]};
}

static uint64_t load(const _Atomic uint64_t *word)
{
	return atomic_load_explicit((_Atomic uint64_t *)word, memory_order_relaxed);
}

static void read_build(struct bp_metrics *m, const struct bp_metric *row)
{
	(void)row;
	bp_metric_count(m, BP_LABELS({"version", BP_VERSION}), 1);
}

static bool is_up(const struct bp_metrics *m, unsigned plane)
{
	if (!m->shm)
		return false;
	switch (plane) {
	case 0:
		return bp_dataplane_alive(m->shm->global);
	case 1:
		return bp_process_alive(load(&m->shm->control->cp_pid));
	default:
		return bp_process_alive(load(&m->shm->shared->run_pid));
	}
}

static void read_up(struct bp_metrics *m, const struct bp_metric *row)
{
	(void)row;
	bp_metric_count(m, BP_NO_LABELS, is_up(m, 0));
}

static void read_planes(struct bp_metrics *m, const struct bp_metric *row)
{
	(void)row;
	for (unsigned p = 0; p < PLANES; p++)
		bp_metric_count(m, BP_LABELS(plane_label(p)), is_up(m, p));
}

static void read_start(struct bp_metrics *m, const struct bp_metric *row)
{
	const uint64_t at[WITH_HEARTBEAT] = {
		load(&m->shm->global->dp_started_ns), load(&m->shm->control->cp_started_ns)};

	(void)row;
	for (unsigned p = 0; p < WITH_HEARTBEAT; p++)
		if (at[p] != 0)
			bp_metric_seconds(m, BP_LABELS(plane_label(p)), at[p]);
}

static void read_heartbeat(struct bp_metrics *m, const struct bp_metric *row)
{
	const uint64_t at[WITH_HEARTBEAT] = {
		load(&m->shm->global->dp_heartbeat_ns), load(&m->shm->control->cp_heartbeat_ns)};

	(void)row;
	for (unsigned p = 0; p < WITH_HEARTBEAT; p++)
		if (at[p] != 0)
			bp_metric_seconds(m, BP_LABELS(plane_label(p)),
				m->unix_ns > at[p] ? m->unix_ns - at[p] : 0);
}

static const struct bp_process_use *use_of(const struct bp_metrics *m, unsigned plane)
{
	return plane == 0 ? &m->shm->global->dp_use : &m->shm->control->cp_use;
}

static void read_cpu(struct bp_metrics *m, const struct bp_metric *row)
{
	(void)row;
	for (unsigned p = 0; p < WITH_HEARTBEAT; p++)
		if (load(&use_of(m, p)->cpu_ns) != 0)
			bp_metric_seconds(
				m, BP_LABELS(plane_label(p)), load(&use_of(m, p)->cpu_ns));
}

static void read_resident(struct bp_metrics *m, const struct bp_metric *row)
{
	(void)row;
	for (unsigned p = 0; p < WITH_HEARTBEAT; p++)
		if (load(&use_of(m, p)->resident_bytes) != 0)
			bp_metric_count(
				m, BP_LABELS(plane_label(p)), load(&use_of(m, p)->resident_bytes));
}

static void read_restarts(struct bp_metrics *m, const struct bp_metric *row)
{
	struct bp_shm_shared *s = m->shm->shared;
	const uint32_t all[WITH_HEARTBEAT] = {
		atomic_load_explicit(&s->run_dp_restarts, memory_order_relaxed),
		atomic_load_explicit(&s->run_cp_restarts, memory_order_relaxed)};
	const uint32_t hung[WITH_HEARTBEAT] = {
		atomic_load_explicit(&s->run_dp_hung, memory_order_relaxed),
		atomic_load_explicit(&s->run_cp_hung, memory_order_relaxed)};

	(void)row;
	for (unsigned p = 0; p < WITH_HEARTBEAT; p++) {
		bp_metric_count(m, BP_LABELS(plane_label(p), {"reason", "exited"}),
			all[p] > hung[p] ? all[p] - hung[p] : 0);
		bp_metric_count(m, BP_LABELS(plane_label(p), {"reason", "hung"}), hung[p]);
	}
}

static void read_reloads(struct bp_metrics *m, const struct bp_metric *row)
{
	(void)row;
	bp_metric_count(m, BP_LABELS({"result", "done"}), load(&m->shm->control->cp_reloads));
	bp_metric_count(
		m, BP_LABELS({"result", "refused"}), load(&m->shm->control->cp_reloads_refused));
}

static void read_generation(struct bp_metrics *m, const struct bp_metric *row)
{
	(void)row;
	bp_metric_count(m, BP_NO_LABELS, load(&m->shm->control->rules_active) >> 1);
}

static void read_segment(struct bp_metrics *m, const struct bp_metric *row)
{
	(void)row;
	bp_metric_count(m,
		BP_LABELS({"memory", bp_segment_huge(m->shm->segment) ? "hugepages" : "normal"}),
		bp_segment_size(m->shm->segment));
}

/* ---- workers ---- */

static void read_workers(struct bp_metrics *m, const struct bp_metric *row)
{
	(void)row;
	bp_metric_count(m, BP_NO_LABELS,
		atomic_load_explicit(&m->shm->global->dp_workers, memory_order_relaxed));
}

static void read_worker_packets(struct bp_metrics *m, const struct bp_metric *row)
{
	char worker[BP_METRIC_INDEX];

	for (unsigned w = 0; w < m->shm->workers; w++) {
		uint64_t sum = 0;

		for (unsigned p = 0; p < BP_MAX_PORTS; p++)
			sum = bp_metric_add(sum,
				bp_metric_load(&m->shm->port_stats[w * BP_MAX_PORTS + p], row->at));
		bp_metric_count(m, BP_LABELS({"worker", bp_metric_index(w, worker)}), sum);
	}
}

static void read_node(struct bp_metrics *m, const struct bp_metric *row)
{
	char name[BP_METRIC_TEXT(sizeof(m->shm->nodes->name))], worker[BP_METRIC_INDEX];

	for (unsigned i = 0; i < m->shm->workers * BP_MAX_NODES; i++) {
		const struct bp_node_info *n = &m->shm->nodes[i];

		size_t max = sizeof(n->name);
		const char *text = bp_text_node(n->name, &max);

		if (text[0] == '\0')
			continue;
		bp_metric_text(name, sizeof(name), text, max);
		bp_metric_count(m,
			BP_LABELS({"node", name},
				{"worker", bp_metric_index(i / BP_MAX_NODES, worker)}),
			bp_metric_load(n, row->at));
	}
}

/* ---- faults ---- */

static void each_fault(struct bp_metrics *m, bool active)
{
	const unsigned n = m->shm->fault_rows, all = n + BP_FAULT_OF_CONTROLPLANE;
	char object[BP_METRIC_TEXT(BP_NAME_MAX)];
	struct bp_fault_record t;

	for (unsigned i = 0; i < all; i++) {
		if (!bp_fault_read(i < n ? &m->shm->faults[i] : &m->shm->cp_faults[i - n], &t))
			continue;
		bp_metric_text(object, sizeof(object), t.subject, BP_NAME_MAX);
		bp_metric_count(m,
			BP_LABELS({"fault", bp_fault_info[t.kind].name}, {"object", object}),
			active ? t.active != 0 : t.spells);
	}
}

static void read_faults(struct bp_metrics *m, const struct bp_metric *row)
{
	(void)row;
	each_fault(m, true);
}

static void read_occurrences(struct bp_metrics *m, const struct bp_metric *row)
{
	(void)row;
	each_fault(m, false);
}

/* ---- the tables ---- */

static const struct bp_metric process[] = {
	{.name = "build",
		.type = BP_METRIC_INFO,
		.labels = "version",
		.help = "Version of biplane",
		.read = read_build,
		.without_segment = true},
	{.name = "up",
		.type = BP_METRIC_GAUGE,
		.labels = "",
		.help = "Whether the data plane runs",
		.read = read_up,
		.without_segment = true},
	{.name = "plane_up",
		.type = BP_METRIC_GAUGE,
		.labels = "plane",
		.help = "Whether the process runs; supervisor: biplane run",
		.read = read_planes,
		.without_segment = true},
	{.name = "plane_start_time_seconds",
		.type = BP_METRIC_GAUGE,
		.unit = "seconds",
		.labels = "plane",
		.help = "Unix time of the start of the process",
		.read = read_start},
	{.name = "plane_heartbeat_age_seconds",
		.type = BP_METRIC_GAUGE,
		.unit = "seconds",
		.labels = "plane",
		.help = "Time since the last heartbeat, which each plane sends once a second",
		.read = read_heartbeat},
	{.name = "plane_cpu_seconds",
		.type = BP_METRIC_COUNTER,
		.unit = "seconds",
		.labels = "plane",
		.help = "CPU time of the process since its start, of all threads",
		.read = read_cpu},
	{.name = "plane_resident_bytes",
		.type = BP_METRIC_GAUGE,
		.unit = "bytes",
		.labels = "plane",
		.help = "Resident memory of the process, without hugepages",
		.read = read_resident},
	{.name = "plane_restarts",
		.type = BP_METRIC_COUNTER,
		.labels = "plane,reason",
		.help = "Restarts by biplane run; reason hung: no heartbeat for runtime.watchdog",
		.read = read_restarts},
	{.name = "config_reloads",
		.type = BP_METRIC_COUNTER,
		.labels = "result",
		.help = "Reloads of the configuration",
		.read = read_reloads},
	{.name = "rules_generation",
		.type = BP_METRIC_GAUGE,
		.labels = "",
		.help = "Generation of the active rules; it grows with each reload",
		.read = read_generation},
	{.name = "segment_bytes",
		.type = BP_METRIC_GAUGE,
		.unit = "bytes",
		.labels = "memory",
		.help = "Shared memory of the instance",
		.read = read_segment},
	{.name = NULL},
};

#define NODE(name_, member, help_)                                                                 \
	{                                                                                          \
		.name = name_, .type = BP_METRIC_COUNTER, .labels = "node,worker", .help = help_,  \
		.read = read_node, .at = offsetof(struct bp_node_info, member)                     \
	}
#define WORKER(name_, unit_, counter, help_)                                                       \
	{                                                                                          \
		.name = name_, .type = BP_METRIC_COUNTER, .unit = unit_, .labels = "worker",       \
		.help = help_, .read = bp_metric_read_worker_counter, .at = counter                \
	}
static const struct bp_metric workers[] = {
	{.name = "workers",
		.type = BP_METRIC_GAUGE,
		.labels = "",
		.help = "Workers of the data plane",
		.read = read_workers},
	{.name = "worker_rx_packets",
		.type = BP_METRIC_COUNTER,
		.labels = "worker",
		.help = "Frames received by the worker, from all ports",
		.read = read_worker_packets,
		.at = offsetof(struct bp_port_stats, rx_packets)},
	WORKER("worker_sleeps", NULL, BP_C_WORKER_SLEEPS,
		"Sleeps of the worker (poll_mode: adaptive)"),
	WORKER("worker_sleep_seconds", "seconds", BP_C_WORKER_SLEEP_NS,
		"Time that the worker slept; its rate is the share of the time"),
	WORKER("worker_busy_seconds", "seconds", BP_C_WORKER_BUSY_NS,
		"Time of walks that received frames, estimated from one walk in 16; its rate is "
		"the load of the worker"),
	WORKER("worker_poll_gaps", NULL, BP_C_POLL_GAPS,
		"Poll gaps longer than monitoring.poll_gap_warning"),
	NODE("node_calls", calls, "Calls of a node of the packet graph"),
	NODE("node_packets", objects, "Frames processed by a node"),
	NODE("node_cycles", cycles, "CPU cycles used by a node"),
	{.name = NULL},
};

static const struct bp_metric faults[] = {
	{.name = "fault_active",
		.type = BP_METRIC_GAUGE,
		.labels = "fault,object",
		.help = "Whether the fault is open, as show health reports it",
		.read = read_faults},
	{.name = "fault_occurrences",
		.type = BP_METRIC_COUNTER,
		.labels = "fault,object",
		.help = "How often the fault began",
		.read = read_occurrences},
	{.name = "fault_events",
		.type = BP_METRIC_COUNTER,
		.labels = "event",
		.help = "Events of counters of group health",
		.read = bp_metric_read_group,
		.group = BP_CG_HEALTH,
		.prefix = ""},
	{.name = NULL},
};

const struct bp_metric_table bp_metrics_process[] = {
	{"Processes and configuration", process},
	{"Workers", workers},
	{"Faults", faults},
	{NULL, NULL},
};
