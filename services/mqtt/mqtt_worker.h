/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_SERVICES_MQTT_MQTT_WORKER_H
#define BP_SERVICES_MQTT_MQTT_WORKER_H

#include <stdbool.h>
#include <stdint.h>

#include "biplane/counters/mqtt.h"
#include "services/mqtt/connection_record.h"
#include "services/mqtt/reassembly_pool.h"
#include "services/mqtt/flow.h"
#include "services/mqtt/journal.h"
#include "services/mqtt/topic_hash.h"
#include "services/mqtt/inspect.h"
#include "services/mqtt/layouts.h"
#include "services/mqtt/work.h"
#include "proto/mqtt/mqtt.h"
#include "proto/sparkplug/index.h"

/* Inspection of one worker, for the files of this folder only. */

/* A topic name in a packet has a 16-bit length. */
#define BP_TOPIC_MAX 65535u

/*
 * Topics that match several rules: which, by the topic's hash. Direct mapped; a topic that matches
 * more than fit walks the trie each time.
 */
#define BP_TOPIC_CACHE 1024
#define BP_TOPIC_CACHE_RULES 12
struct bp_topic_cache {
	uint64_t hash;
	uint32_t gen, n;
	uint32_t rule[BP_TOPIC_CACHE_RULES];
};

enum {
	BP_EVENTS_PROVEN,
	BP_EVENTS_UNPROVEN,
	BP_EVENTS_POLICY,
	BP_EVENTS_POLICY_UNPROVEN,
	BP_EVENTS_KINDS
};

struct bp_mqtt_worker {
	/* hot */
	const struct bp_ruleset *rules;
	const struct bp_ruleset *const *active_rules; /* of the worker, or NULL */
	struct bp_counters *counters;
	struct bp_rule_stats *rule_stats;                       /* this worker's row */
	struct bp_policy_stats *policy_stats;                   /* likewise */
	uint32_t policy_slots;                                  /* in it */
	const struct bp_policy_rates *policy_rates;             /* of all workers */
	const struct bp_policy_connections *policy_connections; /* likewise */
	uint64_t minute_began_ns; /* Unix time of the minute that policy_day and _minute are */
	uint16_t policy_minute;
	uint8_t policy_day;
	uint64_t now_ns, mono_ns;
	uint64_t transition; /* the highest one that this worker has used */
	uint32_t now_ticks;
	uint32_t gen; /* generation of the rules, never 0: results of another generation are invalid
		       */
	uint16_t port[2 * BP_MAX_MQTT_PORTS];
	uint32_t n_ports, n_websocket_ports; /* the latter are the last ones */
	bool evaluates[2];                   /* by direction */
	uint8_t min_ttl;
	bool acknowledged;   /* mqtt.evaluate: QoS 1 and 2 wait for their acknowledgement */
	uint8_t single_mask; /* bits of a PUBLISH's first byte that are fixed on the burst path */
	bool record_mirrored;
	bool mosquitto; /* mqtt.strictness: the implementation whose behaviour is assumed for
			   clients */
	uint64_t topic_key[2];
	const struct bp_frame *frame; /* whose segment is being read */
	struct bp_enforced *enforced; /* what becomes of it; NULL: it is forwarded */
	uint32_t packet_seq; /* number of the packet that is being read, or of its part in the
				segment */
	struct bp_flow_table table;
	struct bp_template *same_template; /* of late frames */
	uint32_t recalled;                 /* frames of the burst before: burst_policy.h */
	/* colder */
	struct bp_reassembly *reassembly;
	struct bp_delayed *delayed;
	uint64_t table_stride; /* from one worker's flow table to the next one's */
	unsigned worker, workers;
	struct bp_journal *journal;
	uint64_t alarms_end; /* of those in the ring that are not committed; 0: there are none */
	uint64_t reassembly_per_flow;
	uint64_t reassembly_unproven; /* of all unproven connections together */
	uint64_t reorder_bytes;
	uint16_t max_aliases;  /* that are kept of a direction of a connection */
	uint8_t resync_pushes; /* 0: none are enough */
	struct bp_rule_state *rule_state;
	uint64_t rule_state_len;
	struct bp_sparkplug_index *sparkplug_index; /* of the payload that is evaluated */
	struct bp_sparkplug_note *sparkplug_notes;
	struct bp_sparkplug_layouts *sparkplug_layouts;
	struct bp_sparkplug_state *sparkplug;
	uint64_t sparkplug_len;
	struct bp_part_state *part_state;
	uint64_t part_state_len;
	uint64_t steady_since_ns; /* combination.c: truths that were stored until then are those of
				     an earlier process; UINT64_MAX: no truth is steady */
	struct bp_window_table windows;
	struct bp_window_search *window_search;
	struct bp_ring *ring;
	_Atomic uint64_t *next_alarm_id;
	bp_mirror_fn mirror;
	void *mirror_arg;
	bp_is_forwarded_fn is_forwarded;
	void *is_forwarded_arg;
	struct bp_topic_cache *cache; /* BP_TOPIC_CACHE entries */
	struct bp_policy_cache *policy_cache;
	uint32_t blanks_gen; /* of the rules, if they blank a topic in `policy_cache`; else earlier
			      */
	struct bp_layouts *layouts;
	uint64_t marked;     /* policy_reload.c: slots of the table */
	uint64_t marked_for; /* uid of the policy */
	uint64_t marked_ns;  /* CLOCK_MONOTONIC, when a connection was marked */
	const char *not_adopted;
	/* networks.c: by number, the routing table of the VRF; 0: none, or not a VRF */
	uint32_t network_table[BP_NETWORKS];
	uint8_t next_network;
	bool separate_vrfs;
	uint32_t n_brokers; /* 0: any address */
	struct bp_prefix brokers[BP_AGG_SENDERS_MAX];
	uint8_t *unmasked; /* websocket.c */
	char *to;          /* BP_TOPIC_MAX bytes: the topic of the alarm under way */
	char *data_topic;  /* the same behind it: sparkplug.c */
	char *key_topic;   /* BP_TOPIC_MAX bytes: combination.c */
	struct bp_work work;
	struct bp_absence *absence;     /* absence.c */
	const uint64_t *real_ns;        /* Unix time of the worker, or NULL */
	const uint64_t *resumed_ns;     /* end of its last pause, or NULL */
	bool confirms;                  /* that was a moment ago: fleet_adopt.c */
	bp_mqtt_evaluated_fn evaluated; /* NULL: no frame is traced */
	void *evaluated_arg;
	bp_mqtt_clock_fn clock; /* NULL: time passes only between bursts */
	const void *clock_arg;
	struct bp_event_ring events;
	struct bp_fleet_worker *fleet; /* fleet_adopt.c; NULL: connections are not shared */
	/* events.c: events in this interval */
	uint32_t event_interval, events_of[BP_EVENTS_KINDS];
};

/* Completes the names of networks in the header of the table, of which those of the configuration
 * are there; names of VRFs may be those of an earlier process. */
void bp_networks_adopt(struct bp_mqtt_worker *in);
/* Either end of the connection may be the broker: both ports are inspected. */
bool bp_mqtt_worker_is_ambiguous(const struct bp_mqtt_worker *in, uint16_t sport, uint16_t dport);

static inline void bp_tally(struct bp_mqtt_worker *in, bp_counter_t c)
{
	in->counters->v[c]++;
}

/* Whether more may be done that is not in proportion to the bytes; if not, it is counted why. */
static inline bool bp_within_budget_is(struct bp_mqtt_worker *in, bool may)
{
	if (may)
		return true;
	bp_tally(in, in->work.worker_over ? BP_C_NOT_INSPECTED_WORKER_BUDGET
					  : BP_C_NOT_INSPECTED_CONNECTION_BUDGET);
	return false;
}
static inline bool bp_within_budget(struct bp_mqtt_worker *in)
{
	return bp_within_budget_is(in, bp_work_may(&in->work));
}

/* The client that owns the states of its publications. */
static inline uint32_t bp_state_client(const struct bp_mqtt_worker *in, const struct bp_flow *f)
{
	return (uint32_t)bp_flow_client_hash(&in->table, f) | 1;
}

/*
 * The implementation whose behaviour is assumed for this direction: for brokers, and for an
 * unproven stream, the standard.
 */
static inline struct bp_mqtt_view bp_view(
	const struct bp_mqtt_worker *in, const struct bp_flow *f, unsigned dir)
{
	return (struct bp_mqtt_view){.mosquitto = in->mosquitto && dir == BP_TO_BROKER &&
						  !(f->pending & BP_FLOW_PUSHED(dir))};
}

/* The view for a PUBLISH in either direction: a broker delivers what it accepted. */
static inline struct bp_mqtt_view bp_publish_view(
	const struct bp_mqtt_worker *in, const struct bp_flow *f, unsigned dir)
{
	return (struct bp_mqtt_view){
		.mosquitto = in->mosquitto && !(f->pending & BP_FLOW_PUSHED(dir))};
}

/* Reads the value of a payload at a source of the active rules. */
static inline bool bp_value_at(struct bp_mqtt_worker *in, uint32_t source, const uint8_t *payload,
	uint32_t len, double *value)
{
	const struct bp_value_source *s = bp_ruleset_source(in->rules, source);

	if (s->kind == BP_VALUE_JSON)
		return bp_layouts_value(in->layouts, in->gen, source, s, payload, len, value);
	return bp_value_extract(payload, len, s, value);
}

/*
 * A 64-bit hash of a topic name under the segment's secret key. Results stored under the hash (the
 * rules that match, the state) are used without comparing the text: two topics of one flow collide
 * with probability 2^-64, and a sender without the key cannot construct a collision.
 */
static inline uint64_t bp_topic_hash(const struct bp_mqtt_worker *in, const uint8_t *p, uint32_t n)
{
	return bp_topic_hash_by(in->topic_key, p, n);
}

/*
 * The topics of a flow as a Bloom filter of two bits each. One that was never published passes with
 * a probability of (1 - (1 - 1/64)^2n)^2 after n others: 0.1 % after one, 7 % after ten.
 */
static inline uint64_t bp_topic_bits(uint64_t hash)
{
	return UINT64_C(1) << (hash >> 58) | UINT64_C(1) << (hash >> 52 & 63);
}

/*
 * The bits of a topic in bp_flow.known. In a fleet they are the same at each gateway, since they
 * are a part of the connection's record. Nothing depends on their secrecy: that a topic is known is
 * one of several conditions (resync.c).
 */
static inline uint64_t bp_topic_known_bits(
	const struct bp_mqtt_worker *in, const uint8_t *topic, uint32_t len, uint64_t hash)
{
	static const uint64_t fleet_key[2] = {0x9e3779b97f4a7c15, 0xbf58476d1ce4e5b9};

	return bp_topic_bits(in->fleet == NULL ? hash : bp_topic_hash_by(fleet_key, topic, len));
}

/* Around every change of a flow that is in the table: struct bp_journal. */
static inline void bp_change_begin(struct bp_mqtt_worker *in, const struct bp_flow *f)
{
	bp_journal_begin(in->journal, &in->table, f, in->ring);
	bp_reassembly_defer_release(in->reassembly);
}

static inline void bp_alarms_commit(struct bp_mqtt_worker *in)
{
	if (in->alarms_end == 0)
		return;
	bp_journal_order();
	bp_ring_commit(in->ring, in->alarms_end);
	in->alarms_end = 0;
}

static inline void bp_change_end(struct bp_mqtt_worker *in)
{
	bp_alarms_commit(in);
	bp_journal_end(in->journal);
	bp_reassembly_end_deferred(in->reassembly);
}

static inline void bp_flow_mark(struct bp_flow *f, uint8_t mark)
{
	f->marks |= mark;
	f->proof |= BP_FLOW_MARKED;
}

static inline void bp_flow_unmark(struct bp_flow *f, uint8_t mark)
{
	f->marks &= (uint8_t)~mark;
	if (f->marks == 0)
		f->proof &= (uint8_t)~BP_FLOW_MARKED;
}

#endif
