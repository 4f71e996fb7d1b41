/* SPDX-License-Identifier: BSD-3-Clause */
#include "shm/mqtt/mqtt_tables.h"

#include <stdio.h>

#include "shm/layout.h"

const char *const bp_destination_name[BP_DESTINATIONS] = {
	[BP_TO_MQTT] = "mqtt",
	[BP_TO_KAFKA] = "kafka",
};

static const struct bp_table_shape shape[BP_MQTT_TABLES] = {
	[BP_MT_RULES] = {"rules", 1, BP_SEG_CONTROL},
	[BP_MT_RULE_STATS] = {"rule_stats", sizeof(struct bp_rule_stats), BP_SEG_DATA},
	[BP_MT_POLICY_STATS] = {"policy_stats", sizeof(struct bp_policy_stats), BP_SEG_DATA},
	[BP_MT_POLICY_RATES] = {"policy_rates", sizeof(struct bp_policy_bucket), BP_SEG_DATA},
	[BP_MT_POLICY_CONNECTIONS] = {"policy_connections", sizeof(uint64_t), BP_SEG_DATA},
	[BP_MT_RULE_STATE] = {"rule_state", sizeof(struct bp_rule_state), BP_SEG_DATA},
	[BP_MT_SPARKPLUG] = {"sparkplug", sizeof(struct bp_sparkplug_state), BP_SEG_DATA},
	[BP_MT_WATCH] = {"watch", sizeof(struct bp_watch_entry), BP_SEG_DATA},
	[BP_MT_WATCH_TOPIC] = {"watch_topic", sizeof(struct bp_watch_topic), BP_SEG_DATA},
	[BP_MT_PART_STATE] = {"part_state", sizeof(struct bp_part_state), BP_SEG_DATA},
	[BP_MT_WINDOW_BUCKETS] = {"window_buckets", sizeof(struct bp_window_bucket), BP_SEG_DATA},
	[BP_MT_WINDOWS] = {"windows", 1, BP_SEG_DATA},
	[BP_MT_ALARM_RING] = {"alarm_ring", 1, BP_SEG_DATA},
	[BP_MT_ALARM_TAIL] = {"alarm_tail", sizeof(struct bp_ring_tail), BP_SEG_CONTROL},
	[BP_MT_ALARM_LOG] = {"alarm_log", sizeof(struct bp_alarm_log), BP_SEG_CONTROL},
	[BP_MT_ALARM_LATENCY] = {"alarm_latency", sizeof(struct bp_alarm_latency), BP_SEG_CONTROL},
	[BP_MT_FLOWS] = {"flows", 1, BP_SEG_DATA},
	[BP_MT_REASSEMBLY] = {"reassembly", 1, BP_SEG_DATA},
	[BP_MT_ADOPT_REQUESTS] = {"adopt_requests", 1, BP_SEG_DATA},
	[BP_MT_ADOPT_OFFERS] = {"adopt_offers", 1, BP_SEG_CONTROL},
};

/* A worker's part of one of these tables. */
static bool adopt_size_agrees(uint64_t bytes, uint64_t workers)
{
	const uint64_t ring = bytes / workers - sizeof(struct bp_adopt_part);

	return bytes % workers == 0 && bytes / workers > sizeof(struct bp_adopt_part) &&
	       ring == bp_ring_capacity(ring);
}

/* Each bucket has its cells. */
static uint64_t window_stride(const uint64_t *z)
{
	return z[BP_MT_WINDOWS] / (z[BP_MT_WINDOW_BUCKETS] * BP_WINDOW_WAYS);
}

static bool window_sizes_agree(const uint64_t *z)
{
	return z[BP_MT_WINDOWS] % (z[BP_MT_WINDOW_BUCKETS] * BP_WINDOW_WAYS) == 0 &&
	       window_stride(z) % 64 == 0 && window_stride(z) >= bp_window_stride(0);
}

static bool sizes_agree(const uint64_t *z, uint64_t workers)
{
	const uint64_t ring = z[BP_MT_ALARM_RING] / workers - BP_RING_OVERHEAD;

	return z[BP_MT_RULES] % 128 == 0 && z[BP_MT_RULES] / 2 >= sizeof(struct bp_ruleset) &&
	       z[BP_MT_RULE_STATS] % workers == 0 && z[BP_MT_RULE_STATS] / workers <= UINT32_MAX &&
	       z[BP_MT_POLICY_STATS] % workers == 0 && z[BP_MT_POLICY_STATS] >= workers &&
	       z[BP_MT_POLICY_STATS] / workers <= UINT32_MAX &&
	       z[BP_MT_POLICY_STATS] / workers % 2 == 1 &&
	       (z[BP_MT_POLICY_RATES] & (z[BP_MT_POLICY_RATES] - 1)) == 0 &&
	       z[BP_MT_POLICY_RATES] >= BP_POLICY_BUCKET_WAYS &&
	       (z[BP_MT_POLICY_CONNECTIONS] & (z[BP_MT_POLICY_CONNECTIONS] - 1)) == 0 &&
	       z[BP_MT_POLICY_CONNECTIONS] >= BP_POLICY_CONNECTION_WAYS &&
	       (z[BP_MT_RULE_STATE] & (z[BP_MT_RULE_STATE] - 1)) == 0 &&
	       z[BP_MT_RULE_STATE] >= BP_RULE_STATE_WAYS && window_sizes_agree(z) &&
	       (z[BP_MT_SPARKPLUG] & (z[BP_MT_SPARKPLUG] - 1)) == 0 &&
	       z[BP_MT_SPARKPLUG] >= BP_RULE_STATE_WAYS && z[BP_MT_WATCH] >= BP_WATCH_WAYS &&
	       z[BP_MT_WATCH] % BP_WATCH_WAYS == 0 && z[BP_MT_WATCH_TOPIC] == z[BP_MT_WATCH] &&
	       (z[BP_MT_PART_STATE] & (z[BP_MT_PART_STATE] - 1)) == 0 &&
	       z[BP_MT_PART_STATE] >= BP_PART_STATE_WAYS && z[BP_MT_ALARM_RING] % workers == 0 &&
	       ring >= BP_ALARM_RING_MIN && ring == bp_ring_capacity(ring) &&
	       z[BP_MT_ALARM_TAIL] == workers && z[BP_MT_ALARM_LOG] == BP_ALARM_LOG_LEN &&
	       z[BP_MT_ALARM_LATENCY] == BP_DESTINATIONS && z[BP_MT_FLOWS] % workers == 0 &&
	       z[BP_MT_REASSEMBLY] % workers == 0 &&
	       adopt_size_agrees(z[BP_MT_ADOPT_REQUESTS], workers) &&
	       adopt_size_agrees(z[BP_MT_ADOPT_OFFERS], workers);
}

static struct bp_adopt_part *adopt_part(void *table, uint64_t bytes, uint32_t workers, unsigned w)
{
	return (struct bp_adopt_part *)(void *)((uint8_t *)table + w * (bytes / workers));
}

static void attach_adopt(struct bp_shm *m, void *const *address, const uint64_t *z, unsigned w)
{
	const uint64_t requests = z[BP_MT_ADOPT_REQUESTS], offers = z[BP_MT_ADOPT_OFFERS];
	struct bp_adopt_part *dp =
		adopt_part(address[BP_MT_ADOPT_REQUESTS], requests, m->workers, w);
	struct bp_adopt_part *cp = adopt_part(address[BP_MT_ADOPT_OFFERS], offers, m->workers, w);

	bp_ring_attach(
		&m->adopt_requests[w], &dp->ring, &cp->read, requests / m->workers - sizeof(*dp));
	bp_ring_attach(
		&m->adopt_offers[w], &cp->ring, &dp->read, offers / m->workers - sizeof(*cp));
}

/* Since version 1 words of raised pairs have the number of the transition, windows a sum, and
 * truths of parts the key of the part's own topic, offers the time of a hold, and requests the
 * place of its value. Since version 2 answers have the holds of their connection. The last increase
 * of requests and offers is for keys with the name of a network. */
static uint64_t version(unsigned table, uint64_t layout)
{
	if (table == BP_MT_ADOPT_OFFERS)
		return layout + 3;
	if (table == BP_MT_ADOPT_REQUESTS)
		return layout + 2;
	return table == BP_MT_RULE_STATE || table == BP_MT_WINDOWS || table == BP_MT_PART_STATE
		       ? layout + 1
		       : layout;
}

static int map(
	struct bp_shm *m, void *const *address, const uint64_t *z, char *err, size_t err_size)
{
	const uint64_t stride = z[BP_MT_ALARM_RING] / m->workers;
	struct bp_ring_tail *tails = address[BP_MT_ALARM_TAIL];
	uint8_t *data = address[BP_MT_ALARM_RING];

	m->rules = (struct bp_generation){.active = &m->control->rules_active,
		.seen = m->global->rules_seen,
		.readers = m->workers,
		.banks = address[BP_MT_RULES],
		.bank_size = z[BP_MT_RULES] / 2};
	m->rule_stats = address[BP_MT_RULE_STATS];
	m->max_rules = (uint32_t)(z[BP_MT_RULE_STATS] / m->workers);
	m->policy_stats = address[BP_MT_POLICY_STATS];
	m->policy_slots = (uint32_t)(z[BP_MT_POLICY_STATS] / m->workers);
	m->max_policy_rules = (m->policy_slots - 1) / 2;
	m->policy_rates = (struct bp_policy_rates){
		.bucket = address[BP_MT_POLICY_RATES], .len = z[BP_MT_POLICY_RATES]};
	m->policy_connections = (struct bp_policy_connections){
		.word = address[BP_MT_POLICY_CONNECTIONS], .len = z[BP_MT_POLICY_CONNECTIONS]};
	m->rule_state = address[BP_MT_RULE_STATE];
	m->rule_state_len = z[BP_MT_RULE_STATE];
	m->sparkplug = address[BP_MT_SPARKPLUG];
	m->sparkplug_len = z[BP_MT_SPARKPLUG];
	m->watch = (struct bp_watch){.entry = address[BP_MT_WATCH],
		.topic = address[BP_MT_WATCH_TOPIC],
		.len = z[BP_MT_WATCH]};
	m->part_state = address[BP_MT_PART_STATE];
	m->part_state_len = z[BP_MT_PART_STATE];
	m->windows = (struct bp_window_table){.bucket = address[BP_MT_WINDOW_BUCKETS],
		.cells = address[BP_MT_WINDOWS],
		.buckets = z[BP_MT_WINDOW_BUCKETS],
		.stride = window_stride(z),
		.exclusive = m->workers == 1};
	m->alarm_log = address[BP_MT_ALARM_LOG];
	m->alarm_latency = address[BP_MT_ALARM_LATENCY];
	m->flows = address[BP_MT_FLOWS];
	m->flows_len = z[BP_MT_FLOWS];
	m->reassembly = address[BP_MT_REASSEMBLY];
	m->reassembly_len = z[BP_MT_REASSEMBLY];
	m->fleet_changes = NULL;
	m->alarm_ring = bp_segment_private(m->segment, 3 * m->workers * sizeof(*m->alarm_ring));
	if (!m->alarm_ring) {
		snprintf(err, err_size, "no memory for the rings of %u workers", m->workers);
		return -1;
	}
	m->adopt_requests = m->alarm_ring + m->workers;
	m->adopt_offers = m->adopt_requests + m->workers;
	for (unsigned w = 0; w < m->workers; w++) {
		bp_ring_attach(&m->alarm_ring[w],
			(struct bp_ring_data *)(void *)(data + w * stride), &tails[w],
			stride - BP_RING_OVERHEAD);
		attach_adopt(m, address, z, w);
	}
	return 0;
}

/* Unread records are unknown if they belong to another control part. */
static void init(struct bp_shm *m, unsigned part)
{
	if (part == BP_SEG_DATA)
		bp_generation_reset(&m->rules);
	for (unsigned w = 0; w < m->workers; w++) {
		if (part == BP_SEG_CONTROL) {
			bp_ring_release_all(bp_shm_ring(m, w));
			bp_ring_release_all(&m->adopt_requests[w]);
		} else if (part == BP_SEG_DATA) {
			bp_ring_release_all(&m->adopt_offers[w]);
		}
	}
}

/* Whether the active rules are valid. Repeats the check if a reload interfered. */
static bool rules_sound(const struct bp_shm *m)
{
	uint64_t active;
	bool valid;

	do {
		active = atomic_load(&m->control->rules_active);
		valid = bp_ruleset_valid(bp_shm_rules(m, active), m->rules.bank_size, m->max_rules);
	} while (!valid && active != atomic_load(&m->control->rules_active));
	return valid;
}

static const char *unsound(const struct bp_shm *m, unsigned part)
{
	return part != BP_SEG_CONTROL || rules_sound(m) ? NULL : "its rules are damaged";
}

const struct bp_service_tables bp_tables_mqtt = {
	.shape = shape,
	.n = BP_MQTT_TABLES,
	.version = version,
	.sizes_agree = sizes_agree,
	.map = map,
	.init = init,
	.unsound = unsound,
};
