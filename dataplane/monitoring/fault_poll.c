/* SPDX-License-Identifier: BSD-3-Clause */
#include "dataplane/monitoring/fault_poll.h"

#include "config/mqtt/settings.h"
#include <string.h>

#include <rte_mempool.h>

#include "biplane/counters/general.h"
#include "dataplane/ports/link.h"

_Static_assert(BP_FAULT_POOLS == BP_NUMA_MAX, "a row for each pool");

static void write_event(void *arg, const struct bp_fault_event *event)
{
	(void)arg;
	bp_log_event(event->level, event->field, "%s", event->message);
}

/*
 * The state of a link that has not been up yet is reliable if the driver of a network card or the
 * kernel reports it; some virtual devices never report a link.
 */
static enum bp_fault_link link_of(const struct bp_fault_sources *s, unsigned port)
{
	if (bp_link_get((uint16_t)port) != BP_LINK_UP)
		return BP_FAULT_LINK_LOST;
	if (s->shm->ports[port].link_up)
		return BP_FAULT_LINK_IS_UP;
	return s->ports[port].pci || bp_link_is_certain((uint16_t)port) ? BP_FAULT_LINK_NOT_YET
									: BP_FAULT_LINK_IS_UP;
}

static void read_worker(const struct bp_fault_sources *s, unsigned i, struct bp_fault_samples *out)
{
	const struct bp_worker *w = s->workers->worker[i];

	out->worker[i].runs = w->graph != NULL;
	out->worker[i].heartbeat_ns = __atomic_load_n(&w->mono_ns, __ATOMIC_RELAXED);
	out->worker[i].overruns =
		__atomic_load_n(&w->counters->v[BP_C_POLL_GAPS], __ATOMIC_RELAXED);
	out->worker[i].overrun_ns = __atomic_load_n(&w->away.overrun_ns, __ATOMIC_RELAXED);
	out->worker[i].longest_ns = __atomic_load_n(&w->away.longest_ns, __ATOMIC_RELAXED);
}

void bp_fault_samples_read(const struct bp_fault_sources *s, struct bp_fault_samples *out)
{
	memset(out, 0, sizeof(*out));
	out->n_ports = s->config->n_ports;
	out->n_workers = s->workers->n;
	for (unsigned i = 0; i < out->n_ports; i++) {
		const struct bp_port_info *p = &s->shm->ports[i];

		out->port[i].link = link_of(s, i);
		out->port[i].missed = p->hw_imissed;
		out->port[i].no_mbuf = p->hw_rx_nombuf;
		out->port[i].errors = p->hw_ierrors;
	}
	for (unsigned node = 0; node < BP_NUMA_MAX; node++) {
		if (!s->pools->pool[node])
			continue;
		out->pool[out->n_pools].free = rte_mempool_avail_count(s->pools->pool[node]);
		out->pool[out->n_pools++].size = s->pools->mbufs[node];
	}
	for (unsigned i = 0; i < out->n_workers; i++)
		read_worker(s, i, out);
}

void bp_fault_monitor_start(
	struct bp_fault_monitor *w, const struct bp_fault_sources *s, uint64_t now_ns)
{
	struct bp_fault_subjects who = {.n_ports = s->config->n_ports, .n_workers = s->workers->n};
	struct bp_fault_samples first;

	for (unsigned i = 0; i < who.n_ports; i++)
		who.port[i] = s->config->port[i].name;
	for (unsigned node = 0; node < BP_NUMA_MAX; node++)
		if (s->pools->pool[node])
			who.pool[who.n_pools++] = s->pools->pool[node]->name;
	for (unsigned i = 0; i < who.n_workers; i++)
		who.worker_cpu[i] = s->cpus->floating ? BP_FAULT_CPU_ANY : s->cpus->worker_cpu[i];
	w->sink.counters = bp_shm_counters_main(s->shm, BP_COUNTER_ROW_MAIN);
	w->rows = s->shm->faults;
	w->sink.log = write_event;
	w->sink.arg = NULL;
	bp_fault_samples_read(s, &first);
	memset(w->unread, 0, sizeof(w->unread));
	bp_fault_monitor_init(w, &s->config->monitoring, &who, &first, now_ns);
}

/* Number of connections of the table of a worker that one check reads. */
#define FLOWS_A_LOOK 65536

static void scan_unread(struct bp_fault_monitor *w, const struct bp_fault_sources *s,
	struct bp_fault_samples *out, uint64_t now_ns)
{
	const uint64_t limit_ns = s->config->monitoring.not_inspected_warning_ns;
	const uint64_t share = s->shm->workers != 0 ? s->shm->flows_len / s->shm->workers : 0;

	if (!bp_config_mqtt(s->config)->enabled)
		return;
	for (unsigned i = 0; i < out->n_workers; i++) {
		bp_unread_scan(&w->unread[i], s->shm->flows + share * i, share, now_ns, limit_ns,
			FLOWS_A_LOOK);
		out->worker[i].unread = w->unread[i].last;
	}
}

void bp_fault_monitor_poll(struct bp_fault_monitor *w, const struct bp_fault_sources *s,
	uint64_t now_ns, uint64_t unix_ns)
{
	struct bp_fault_samples now;

	bp_fault_samples_read(s, &now);
	scan_unread(w, s, &now, now_ns);
	bp_fault_monitor_check(w, &now, now_ns, unix_ns);
}
