/* SPDX-License-Identifier: BSD-3-Clause */
#include "dataplane/process/history.h"

#include <string.h>

#include "biplane/counters/general.h"
#include "biplane/counters/mqtt.h"
#include "services/mqtt/flow_show.h"

static uint64_t load(const _Atomic uint64_t *v)
{
	return atomic_load_explicit(v, memory_order_relaxed);
}

static uint64_t drops(const struct bp_shm *shm)
{
	uint64_t n = 0;

	for (unsigned c = 0; c < BP_C_COUNT; c++)
		if (bp_counter_info[c].group == BP_CG_DROP && bp_counter_info[c].name != NULL)
			n += bp_shm_counter(shm, c);
	return n;
}

/* Of all destinations of alarms. */
static void sample_publishers(const struct bp_publisher_counters c[BP_DESTINATIONS], uint64_t *v)
{
	const struct bp_publisher_counters *mqtt = &c[BP_TO_MQTT], *kafka = &c[BP_TO_KAFKA];

	v[BP_HISTORY_ALARMS_ACKNOWLEDGED] = load(&mqtt->acked) + load(&kafka->acked);
	v[BP_HISTORY_ALARMS_SPOOLED] = load(&mqtt->spooled) + load(&kafka->spooled);
	v[BP_HISTORY_SPOOL_ROWS] = load(&mqtt->spool_rows) + load(&kafka->spool_rows);
	v[BP_HISTORY_SPOOL_BYTES] = load(&mqtt->spool_bytes) + load(&kafka->spool_bytes);
	v[BP_HISTORY_IN_FLIGHT] = load(&mqtt->inflight) + load(&kafka->inflight);
}

static void sample_values(const struct bp_shm *shm, uint64_t *v)
{
	const struct bp_shm_control *control = shm->control;
	struct bp_flow_usage usage;

	v[BP_HISTORY_DP_STARTED_NS] = load(&shm->global->dp_started_ns);
	v[BP_HISTORY_CP_STARTED_NS] = load(&control->cp_started_ns);
	v[BP_HISTORY_DROPS] = drops(shm);
	v[BP_HISTORY_PUBLISHES] = bp_shm_counter(shm, BP_C_MQTT_PUBLISH);
	v[BP_HISTORY_MATCHES] = bp_shm_counter(shm, BP_C_MATCH);
	v[BP_HISTORY_ALARMS_RAISED] = bp_shm_counter(shm, BP_C_ALARM_RAISED);
	v[BP_HISTORY_ALARMS_CLEARED] = bp_shm_counter(shm, BP_C_ALARM_CLEARED);
	v[BP_HISTORY_ALARMS_LOST] = bp_shm_counter(shm, BP_C_ALARM_QUEUE_FULL) +
				    bp_shm_counter(shm, BP_C_ALARM_TOO_LARGE);
	sample_publishers(control->publisher, v);
	bp_flow_usage(shm->flows, shm->flows_len, shm->workers, &usage);
	v[BP_HISTORY_CONNECTIONS] = usage.flows;
}

static void sample_port(const struct bp_shm *shm, unsigned port, uint64_t *v)
{
	memset(v, 0, BP_HISTORY_PORT_VALUES * sizeof(*v));
	for (unsigned w = 0; w < shm->workers; w++) {
		const struct bp_port_stats *s = &shm->port_stats[w * BP_MAX_PORTS + port];

		v[BP_HISTORY_RX_PACKETS] += load(&s->rx_packets);
		v[BP_HISTORY_RX_BYTES] += load(&s->rx_bytes);
		v[BP_HISTORY_TX_PACKETS] += load(&s->tx_packets);
		v[BP_HISTORY_TX_BYTES] += load(&s->tx_bytes);
		v[BP_HISTORY_TX_DROPPED] += load(&s->tx_dropped);
	}
	v[BP_HISTORY_NIC_DROPPED] = shm->ports[port].hw_imissed + shm->ports[port].hw_rx_nombuf;
}

static void sample_delays(const struct bp_shm *shm, uint64_t *v)
{
	const struct bp_histogram *h = &shm->alarm_latency->stage[BP_ALARM_TOTAL];

	for (unsigned i = 0; i < BP_HISTORY_DELAYS; i++)
		v[i] = (uint32_t)load(&h->bucket[2 * i]) | load(&h->bucket[2 * i + 1]) << 32;
}

void bp_history_sampler_init(
	struct bp_history_sampler *h, const struct bp_shm *shm, unsigned ports, uint64_t mono_ns)
{
	memset(h, 0, sizeof(*h));
	h->shm = shm;
	h->ports = ports < shm->history.ports ? ports : shm->history.ports;
	h->due_ns = mono_ns;
}

void bp_history_sampler_take(struct bp_history_sampler *h, uint64_t mono_ns, uint64_t unix_ns)
{
	const struct bp_shm *shm = h->shm;
	const struct bp_history *history = &shm->history;
	uint64_t *v = h->sample.word;

	if (history->n_rows == 0)
		return;
	v[BP_HISTORY_UNIX_NS] = unix_ns;
	v[BP_HISTORY_MONO_NS] = mono_ns;
	sample_values(shm, v);
	for (unsigned p = 0; p < h->ports; p++)
		sample_port(shm, p, v + bp_history_port_at(p, 0));
	for (unsigned w = 0; w < history->workers; w++) {
		v[bp_history_worker_at(history, w, BP_HISTORY_BUSY_NS)] =
			shm->counters[w].v[BP_C_WORKER_BUSY_NS];
		v[bp_history_worker_at(history, w, BP_HISTORY_SLEEP_NS)] =
			shm->counters[w].v[BP_C_WORKER_SLEEP_NS];
	}
	sample_delays(shm, v + bp_history_delays_at(history));
	bp_history_append(history, &h->sample);
}

void bp_history_sampler_poll(struct bp_history_sampler *h, uint64_t mono_ns, uint64_t unix_ns)
{
	if (mono_ns < h->due_ns)
		return;
	bp_history_sampler_take(h, mono_ns, unix_ns);
	h->due_ns += BP_HISTORY_INTERVAL_NS;
	if (h->due_ns <= mono_ns)
		h->due_ns = mono_ns + BP_HISTORY_INTERVAL_NS;
}
