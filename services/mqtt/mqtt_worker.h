/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_SERVICES_MQTT_MQTT_WORKER_H
#define BP_SERVICES_MQTT_MQTT_WORKER_H

#include <string.h>

#include "biplane/counters/mqtt.h"
#include "services/mqtt/connection_record.h"
#include "services/mqtt/reassembly_pool.h"
#include "services/mqtt/flow.h"
#include "services/mqtt/topic_hash.h"
#include "services/mqtt/inspect.h"
#include "services/mqtt/layouts.h"
#include "services/mqtt/work.h"
#include "proto/mqtt/mqtt.h"
#include "proto/sparkplug/sparkplug.h"

/* Inspection of one worker, for the files of this folder only. */

/*
 * The undo journal: the state that a worker was changing when its process was killed. A segment is
 * forwarded only after it was inspected, so the sender retransmits a segment whose inspection was
 * interrupted: the next process restores a flow to its state before that segment and continues
 * inspection there.
 *
 * Alarms become visible together, by one store, after the segment was inspected: if that store was
 * made, all results of the segment are complete and nothing is undone. Otherwise no alarm was
 * published, and the per-topic state of rules is undone as well.
 *
 * For frames that burst.c reads without the general path, only positions are recorded.
 *
 * One flow is processed at a time. Its first cache line is copied before any change, the other
 * lines before the first change there: nearly every segment needs only the first. The journal is in
 * the segment, before the arena. A process is killed between two instructions, and the next process
 * sees all stores before that point: only their program order matters.
 */
#define BP_JOURNAL_UNDO 128 /* for one segment; further changes are not undone */
#define BP_JOURNAL_NOTES 64
#define BP_JOURNAL_WINDOWS 96 /* for one segment; windows that change further are emptied */

struct bp_journal {
	uint64_t ring_head; /* before the segment */
	uint64_t burst_ring_head;
	/* by frame of the burst: position before << 32 | offset of its flow / 64 + 1; 0: none */
	uint64_t note[BP_JOURNAL_NOTES];
	uint32_t slot; /* of the flow in work, plus one; 0: none is; UINT32_MAX: states alone are */
	uint32_t lines;               /* of 64 bytes that are copied; 0: the flow is new */
	uint32_t undos, window_undos; /* the latter: one more than fit if there were more */
	uint64_t window_serial;       /* of the segments with more */
	struct bp_flow before;
	struct bp_rule_undo undo[BP_JOURNAL_UNDO];
	struct bp_window_undo window[BP_JOURNAL_WINDOWS];
};
_Static_assert(sizeof(struct bp_journal) <= BP_JOURNAL_BYTES, "there is no space for the journal");

/* The compiler moves no store across. */
static inline void bp_journal_order(void)
{
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
}

static inline void bp_journal_begin(struct bp_journal *j, const struct bp_flow_table *t,
	const struct bp_flow *f, const struct bp_ring *ring)
{
	j->ring_head = bp_ring_head(ring);
	j->undos = j->window_undos = 0;
	memcpy(&j->before, f, 64);
	j->lines = 1;
	bp_journal_order();
	j->slot = (uint32_t)(f - t->flow) + 1;
	bp_journal_order();
}

/* A flow that was just added: there is nothing to go back to but that it was not there. */
static inline void bp_journal_begin_new(struct bp_journal *j, const struct bp_flow_table *t,
	const struct bp_flow *f, const struct bp_ring *ring)
{
	j->ring_head = bp_ring_head(ring);
	j->undos = j->window_undos = 0;
	j->lines = 0;
	bp_journal_order();
	j->slot = (uint32_t)(f - t->flow) + 1;
	bp_journal_order();
}

/* A change of states outside of a segment, with no flow in work. */
static inline void bp_journal_begin_tick(struct bp_journal *j, const struct bp_ring *ring)
{
	j->ring_head = bp_ring_head(ring);
	j->undos = j->window_undos = 0;
	j->lines = 0;
	bp_journal_order();
	j->slot = UINT32_MAX;
	bp_journal_order();
}

/* Before anything but the first line of the flow in work, or what it has in the arena, changes. */
static inline void bp_journal_deepen(struct bp_journal *j, const struct bp_flow *f)
{
	if (j->lines != 1)
		return;
	memcpy((uint8_t *)&j->before + 64, (const uint8_t *)f + 64, sizeof(*f) - 64);
	bp_journal_order();
	j->lines = sizeof(*f) / 64;
	bp_journal_order();
}

/* n records for the changes of the next evaluation; NULL: there is no space. The last ones that
 * earlier evaluations did not need are taken again. */
static inline struct bp_rule_undo *bp_journal_undo(struct bp_journal *j, unsigned n)
{
	struct bp_rule_undo *first;

	while (j->undos != 0 && j->undo[j->undos - 1].entry == UINT64_MAX)
		j->undos--;
	first = &j->undo[j->undos];
	if (j->undos + n > BP_JOURNAL_UNDO)
		return NULL;
	for (unsigned i = 0; i < n; i++)
		first[i].entry = UINT64_MAX;
	bp_journal_order();
	j->undos += n;
	return first;
}

/* The same for the next change of a window. */
static inline struct bp_window_undo *bp_journal_window(struct bp_journal *j)
{
	if (j->window_undos >= BP_JOURNAL_WINDOWS) {
		if (j->window_undos == BP_JOURNAL_WINDOWS) {
			j->window_serial++;
			bp_journal_order();
			j->window_undos++;
		}
		return NULL;
	}
	j->window[j->window_undos].cell = UINT64_MAX;
	bp_journal_order();
	return &j->window[j->window_undos++];
}

/* Before the first frame of a burst is noted, and after the last: those of [from, to) are. */
static inline void bp_journal_burst(
	struct bp_journal *j, const struct bp_ring *ring, uint32_t from, uint32_t to)
{
	bp_journal_order();
	memset(&j->note[from], 0, (to - from) * sizeof(j->note[0]));
	bp_journal_order();
	j->burst_ring_head = bp_ring_head(ring);
	bp_journal_order();
}

static inline void bp_journal_end(struct bp_journal *j)
{
	bp_journal_order();
	j->slot = 0;
	bp_journal_order();
}

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

struct bp_mqtt_worker {
	/* hot */
	const struct bp_ruleset *rules;
	const struct bp_ruleset *const *active_rules; /* of the worker, or NULL */
	struct bp_counters *counters;
	struct bp_rule_stats *rule_stats; /* this worker's row */
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
	struct bp_flow_table table;
	struct bp_template *same_template; /* of late frames */
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
	struct bp_sparkplug_state *sparkplug;
	uint64_t sparkplug_len;
	struct bp_part_state *part_state;
	uint64_t part_state_len;
	struct bp_window_table windows;
	struct bp_window_search *window_search;
	struct bp_ring *ring;
	_Atomic uint64_t *next_alarm_id;
	bp_mirror_fn mirror;
	void *mirror_arg;
	bp_is_forwarded_fn is_forwarded;
	void *is_forwarded_arg;
	struct bp_topic_cache *cache; /* BP_TOPIC_CACHE entries */
	struct bp_layouts *layouts;
	const char *not_adopted;
	uint32_t n_brokers; /* 0: any address */
	struct bp_prefix brokers[BP_AGG_SENDERS_MAX];
	uint8_t *unmasked; /* websocket.c */
	char *to;          /* BP_TOPIC_MAX bytes: the topic of the alarm under way */
	char *data_topic;  /* the same behind it: sparkplug.c */
	char *key_topic;   /* BP_TOPIC_MAX bytes: combination.c */
	struct bp_work work;
	struct bp_absence *absence;     /* absence.c */
	const uint64_t *real_ns;        /* Unix time of the worker, or NULL */
	bp_mqtt_evaluated_fn evaluated; /* NULL: no frame is traced */
	void *evaluated_arg;
	bp_mqtt_clock_fn clock; /* NULL: time passes only between bursts */
	const void *clock_arg;
	struct bp_event_ring events;
	struct bp_fleet_worker *fleet; /* fleet_adopt.c; NULL: connections are not shared */
	/* events.c: events in this interval of connections with and without a proof */
	uint32_t event_interval, proven_events, unproven_events;
};

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

/* packet.c: notes and counts what was odd in a packet that was let pass. */
void bp_mqtt_suspicious(struct bp_mqtt_worker *in, struct bp_flow *f, uint32_t violations);

struct bp_evaluated;
/* window.c: adds the value of a rule with a window. True: *result is the one that its conditions
 * evaluate. False: it has none, which is counted. */
bool bp_window_step(struct bp_mqtt_worker *in, const struct bp_rule *rule, uint64_t topic_hash,
	uint32_t client, const struct bp_evaluated *of, double *result);
/* publish.c: evaluates the result of a window: an alarm, or a part of a combination. */
void bp_window_result_apply(struct bp_mqtt_worker *in, const struct bp_rule *rule,
	struct bp_evaluated *of, uint64_t topic_hash, uint32_t client);
/* window_tick.c: windows whose time passes without a value. NULL: no memory. free() it. `whole`: a
 * call evaluates all that are due. */
struct bp_window_search *bp_window_search_create(
	const struct bp_window_table *t, unsigned worker, unsigned workers, bool whole);
/* The worker searches this share of the table; first: as many shares as workers. */
void bp_window_share(struct bp_window_search *s, const struct bp_window_table *t, unsigned share,
	unsigned shares);
void bp_window_tick(struct bp_mqtt_worker *in);
void bp_window_note_due(struct bp_mqtt_worker *in, uint64_t due_ns);
/* With `whole`: when the next one is due; UINT64_MAX: none. */
uint64_t bp_window_timer(const struct bp_mqtt_worker *in);
/* After a restart: undoes the changes of the segment in the journal. */
void bp_window_restore(struct bp_mqtt_worker *in);

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

/* Whether this direction is not inspected: stopped, in resynchronisation, or none of its segments
 * fits. */
static inline bool bp_stream_unread(const struct bp_flow *f, unsigned dir)
{
	return f->stream[dir] >= BP_STREAM_RESYNC ||
	       ((f->proof & BP_FLOW_MARKED) && (f->marks & BP_MARK_INVALID));
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

/* segment.c: one segment of a known flow. */
void bp_stream_segment(struct bp_mqtt_worker *in, struct bp_flow *f, const struct bp_frame *frame);
/* The payload of a segment and the sequence number of its first byte. */
void bp_stream_payload(struct bp_mqtt_worker *in, struct bp_flow *f, unsigned dir,
	const struct bp_frame *frame, uint32_t seq);

/* handshake.c: the first segment of an unknown pair of addresses. NULL: it is not followed. */
struct bp_flow *bp_handshake_first(
	struct bp_mqtt_worker *in, const struct bp_frame *frame, struct bp_lookup *l);
/* A SYN or SYN-ACK of a known flow. */
void bp_handshake_syn(
	struct bp_mqtt_worker *in, struct bp_flow *f, const struct bp_frame *frame, unsigned dir);
/* Any other segment before the handshake is complete. False: it is not read. */
bool bp_handshake_segment(
	struct bp_mqtt_worker *in, struct bp_flow *f, const struct bp_frame *frame, unsigned dir);
/* Whether the segment begins the next connection on the addresses of one that is closed. */
bool bp_handshake_begins(const struct bp_flow *f, const struct bp_frame *frame);
/* The MSS of an end that announced none, or was not heard (RFC 9293 3.7.1). */
#define BP_MSS_UNSEEN 536
/* The announcement of one end. */
void bp_flow_record_mss(struct bp_flow *f, uint16_t mss);

/* reorder.c: segments ahead of the stream. */
void bp_hold_add(struct bp_mqtt_worker *in, struct bp_flow *f, unsigned dir, uint32_t seq,
	const uint8_t *p, uint32_t n);
/* Delivers what is in sequence now. */
void bp_hold_drain(struct bp_mqtt_worker *in, struct bp_flow *f, unsigned dir);
/* The peer acknowledged up to `ack`, beyond what was seen: the bytes between will never come. */
void bp_hold_gap_lost(struct bp_mqtt_worker *in, struct bp_flow *f, unsigned dir, uint32_t ack);
void bp_hold_release(struct bp_mqtt_worker *in, struct bp_flow *f, unsigned dir);

/* reorder.c: bytes in sequence that may not be read before the connection is proven. */
void bp_wait_add(struct bp_mqtt_worker *in, struct bp_flow *f, unsigned dir, uint32_t seq,
	const uint8_t *p, uint32_t n);
/* Reads what may be read now. */
void bp_wait_drain(struct bp_mqtt_worker *in, struct bp_flow *f, unsigned dir);
/* A search begins in which what waits is searched first. */
void bp_wait_search(struct bp_mqtt_worker *in, struct bp_flow *f, unsigned dir);
/* The same in two steps. */
void bp_wait_search_begin(struct bp_mqtt_worker *in, struct bp_flow *f, unsigned dir);
void bp_wait_search_read(struct bp_mqtt_worker *in, struct bp_flow *f, unsigned dir);
/* Sequence number of the first byte that waits, or the flow's `next` where none does. */
uint32_t bp_wait_first(const struct bp_mqtt_worker *in, const struct bp_flow *f, unsigned dir);
/* The stream continues at `next` instead of what waits: waiting bytes before it are discarded, and
 * others are read, or held until the bytes before them arrive. */
void bp_wait_move(struct bp_mqtt_worker *in, struct bp_flow *f, unsigned dir, uint32_t next);
/* Throws away all behind the first `keep` bytes, counted. */
void bp_wait_cut(struct bp_mqtt_worker *in, struct bp_flow *f, unsigned dir, uint32_t keep);
static inline void bp_wait_release(struct bp_mqtt_worker *in, struct bp_flow *f, unsigned dir)
{
	bp_wait_cut(in, f, dir, 0);
}

/* validate.c: whether a segment of a known flow is one that its receiver takes. */
bool bp_segment_valid(
	struct bp_mqtt_worker *in, struct bp_flow *f, unsigned dir, const struct bp_frame *frame);
/* Notes what a segment that fits says of both directions, and what was lost of them. */
void bp_segment_record(
	struct bp_mqtt_worker *in, struct bp_flow *f, unsigned dir, const struct bp_frame *frame);
/* For a segment without payload on a stream in sequence: updates only the window. */
void bp_segment_record_window(struct bp_flow *f, unsigned dir, const struct bp_frame *frame);
/* The window that a SYN or SYN-ACK announces, which is never scaled. */
void bp_segment_record_syn(struct bp_flow *f, unsigned dir, const struct bp_frame *frame);

/* inflight.c: QoS 2 publications in flight of one direction. False: this one was evaluated before.
 */
bool bp_qos2_begin(struct bp_mqtt_worker *in, struct bp_flow *f, unsigned dir, uint16_t id);
/* False: it was not in flight. */
bool bp_qos2_end(struct bp_mqtt_worker *in, struct bp_flow *f, unsigned dir, uint16_t id);
void bp_qos2_discard(struct bp_mqtt_worker *in, struct bp_flow *f, unsigned dir);

/* Holds a publication to the broker until the broker acknowledges it. `beginning`: `p` has only the
 * beginning of the payload. A publication that cannot be held is counted. */
void bp_ack_wait(struct bp_mqtt_worker *in, struct bp_flow *f, const struct bp_mqtt_publish *p,
	uint32_t seq, bool beginning);
/* PUBACK or PUBREC of the broker: evaluates the publication that waited for it, or discards it
 * where `refused`. `sent`: a publication with this identifier may have been sent without
 * waiting. */
void bp_on_ack(struct bp_mqtt_worker *in, struct bp_flow *f, bool pubrec, uint16_t id, bool refused,
	bool sent);
/* Stops waiting: no acknowledgement for the held publications will be seen; counted. */
void bp_ack_release(struct bp_mqtt_worker *in, struct bp_flow *f);

/* Whether publications of QoS 1 and 2 in this direction wait. */
static inline bool bp_ack_awaited(
	const struct bp_mqtt_worker *in, const struct bp_flow *f, unsigned dir)
{
	return dir == BP_TO_BROKER &&
	       (in->acknowledged || ((f->proof & BP_FLOW_MARKED) && (f->marks & BP_MARK_REJECTED)));
}

static inline bool bp_websocket_awaits(const struct bp_flow *f)
{
	return (f->proof & BP_FLOW_WEBSOCKET) && f->websocket.upgraded[BP_TO_BROKER] &&
	       !f->websocket.upgraded[BP_FROM_BROKER];
}

/*
 * Whether the bytes of this direction may be read: none before the handshake is complete, and of
 * the client none behind its CONNECT before the broker has accepted that, nor, of a WebSocket,
 * behind its request before the response was read. In a stream that is searched nothing is
 * evaluated, and what has been found there is proven.
 */
static inline bool bp_stream_may_read(const struct bp_flow *f, unsigned dir)
{
	if ((f->proof & BP_FLOW_PROVEN) || f->stream[dir] >= BP_STREAM_RESYNC)
		return true;
	if (!(f->proof & BP_FLOW_HANDSHAKE))
		return false;
	if (dir == BP_TO_BROKER)
		return !(f->flags & BP_FLOW_CONNECT) && !bp_websocket_awaits(f);
	/* a broker that sends before the CONNECT was inspected; bytes of it may be lost */
	return (f->flags & BP_FLOW_CONNECT) || !(f->marks & BP_MARK_CLAIM(BP_TO_BROKER));
}

/* Whether the position of the stream is known. */
static inline bool bp_stream_tracked(const struct bp_flow *f, unsigned dir)
{
	return f->stream[dir] >= BP_STREAM_BOUNDARY && f->stream[dir] <= BP_STREAM_ENDED;
}

/* Whether its sequence numbers are known: those of a stream without inspection are tracked, too. */
static inline bool bp_stream_numbered(const struct bp_flow *f, unsigned dir)
{
	return bp_stream_tracked(f, dir) || f->stream[dir] == BP_STREAM_NOT_INSPECTED;
}

/* events.c: the connection proved itself, before anything of it is evaluated. */
void bp_event_start(struct bp_mqtt_worker *in, const struct bp_flow *f);
/* It ends; no effect on one that did not prove itself or is closed. */
void bp_event_end(struct bp_mqtt_worker *in, const struct bp_flow *f, enum bp_event_end reason);
/* The same, as bp_flow_table.removed. */
void bp_event_flow_removed(void *arg, const struct bp_flow *f, unsigned reason);
/* bp_mqtt_stop_inspection(). */
void bp_event_inspection_stopped(
	struct bp_mqtt_worker *in, const struct bp_flow *f, bp_counter_t reason);
/* BP_FLOW_UNREAD changed; `before`: the proofs before the segment. */
void bp_event_unread_changed(struct bp_mqtt_worker *in, const struct bp_flow *f, uint8_t before);

/* Distinguishes connections of the same addresses and ports: their initial sequence numbers. */
static inline uint64_t bp_flow_event_id(const struct bp_flow *f)
{
	return (uint64_t)f->syn_seq << 32 | f->broker_isn;
}

/* will.c: the broker accepted the connection. */
void bp_will_accepted(struct bp_mqtt_worker *in, struct bp_flow *f);

/* Both ends speak MQTT at the position that is read. */
static inline void bp_flow_prove(struct bp_mqtt_worker *in, struct bp_flow *f)
{
	if (f->proof & BP_FLOW_PROVEN)
		return;
	bp_tally(in, BP_C_CONN_ESTABLISHED);
	f->proof |= BP_FLOW_PROVEN;
	bp_event_start(in, f);
	bp_will_accepted(in, f);
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

/* Further ahead or behind than any window without scaling surprises: not of this stream. */
#define BP_SEQ_OUTSIDE (1u << 30)

/* segment.c: bytes at the stream's position, which moves on. */
void bp_stream_deliver(
	struct bp_mqtt_worker *in, struct bp_flow *f, unsigned dir, const uint8_t *p, uint32_t n);

/* packet.c: bytes in sequence, to control packets. `seq`: sequence number of p[0]. Returns how
 * many were read: less than n where what follows may not be read yet. */
uint32_t bp_mqtt_read(struct bp_mqtt_worker *in, struct bp_flow *f, unsigned dir, const uint8_t *p,
	uint32_t n, uint32_t seq);
void bp_mqtt_keep_client_id(
	struct bp_mqtt_worker *in, struct bp_flow *f, const uint8_t *id, uint16_t n);
/* Stops the inspection of the connection for this reason; its bytes are still forwarded. */
void bp_mqtt_stop_inspection(
	struct bp_mqtt_worker *in, struct bp_flow *f, unsigned dir, bp_counter_t reason);
void bp_mqtt_stop_on_error(
	struct bp_mqtt_worker *in, struct bp_flow *f, unsigned dir, enum bp_mqtt_error e);

/* The fixed header of a packet, in the view of this direction. */
enum bp_mqtt_error bp_packet_fixed(const struct bp_mqtt_worker *in, const struct bp_flow *f,
	unsigned dir, const uint8_t *p, size_t len, struct bp_mqtt_fixed *out);
/* Whether a packet of this type may come now; if not, *why is the reason. */
bool bp_packet_in_order(const struct bp_mqtt_worker *in, const struct bp_flow *f, unsigned dir,
	uint8_t type, bp_counter_t *why);
void bp_packet_out_of_order(
	struct bp_mqtt_worker *in, struct bp_flow *f, unsigned dir, uint8_t type, bp_counter_t why);
/* A complete packet. `body` is fixed->remaining bytes; `seq` is that of the fixed header; `head`:
 * how far the head of a PUBLISH was checked before, or NULL. */
void bp_packet_read(struct bp_mqtt_worker *in, struct bp_flow *f, unsigned dir,
	const struct bp_mqtt_fixed *fixed, const uint8_t *body, uint32_t seq,
	struct bp_mqtt_head *head);

/* Nothing more of this direction is read: a broker reads nothing after the client's DISCONNECT, or
 * after it has sent its own. */
void bp_packet_end(struct bp_mqtt_worker *in, struct bp_flow *f, unsigned dir);

/* websocket.c. False: no memory. */
bool bp_websocket_create(struct bp_mqtt_worker *in);
/* BP_FLOW_WEBSOCKET for connections to this TCP port, or 0. */
uint8_t bp_websocket_of_port(const struct bp_mqtt_worker *in, uint16_t broker_port);
/* bp_mqtt_read() for a flow with BP_FLOW_WEBSOCKET. */
uint32_t bp_websocket_read(struct bp_mqtt_worker *in, struct bp_flow *f, unsigned dir,
	const uint8_t *p, uint32_t n, uint32_t seq);
/* bp_cut_gap() for such a flow. */
bool bp_websocket_gap(struct bp_mqtt_worker *in, struct bp_flow *f, unsigned dir, uint32_t gap);
/* The position is unknown, and so is the way back to one: inspection stops. `seq`: as in
 * bp_resync_enter(). */
void bp_websocket_lose(struct bp_mqtt_worker *in, struct bp_flow *f, unsigned dir, uint32_t seq);
bool bp_websocket_is_sound(const struct bp_flow *f);
/* Adopts a head of an earlier process that is not complete; false: nothing is claimed. */
bool bp_websocket_adopt(struct bp_mqtt_worker *in, struct bp_flow *f, unsigned dir);

/* tls.c: bp_mqtt_read() for a flow of which nothing of MQTT was read yet. */
uint32_t bp_opening_read(struct bp_mqtt_worker *in, struct bp_flow *f, unsigned dir,
	const uint8_t *p, uint32_t n, uint32_t seq);
/* The names that the ends said; false: none are kept. */
bool bp_tls_names(
	const struct bp_mqtt_worker *in, const struct bp_flow *f, struct bp_tls_info *info);
/* No more of it is read: inspection stops. */
void bp_tls_stop(struct bp_mqtt_worker *in, struct bp_flow *f, unsigned dir);
/* The connection ends: no more of it is read, if it is one with TLS. */
void bp_tls_end(struct bp_mqtt_worker *in, struct bp_flow *f);
void bp_tls_release(struct bp_mqtt_worker *in, struct bp_flow *f);
bool bp_tls_is_sound(const struct bp_flow *f);
/* Adopts the names of an earlier process, if they are consistent. */
void bp_tls_adopt(struct bp_mqtt_worker *in, struct bp_flow *f);
/* Adopts a hello that is not complete; false: nothing is claimed. */
bool bp_tls_adopt_hello(struct bp_mqtt_worker *in, struct bp_flow *f, unsigned dir);

/* Bytes in sequence, of any flow. As bp_mqtt_read(). */
static inline uint32_t bp_stream_read(struct bp_mqtt_worker *in, struct bp_flow *f, unsigned dir,
	const uint8_t *p, uint32_t n, uint32_t seq)
{
	if (f->proof & BP_FLOW_WEBSOCKET)
		return bp_websocket_read(in, f, dir, p, n, seq);
	return bp_flow_is_opening(f) ? bp_opening_read(in, f, dir, p, n, seq)
				     : bp_mqtt_read(in, f, dir, p, n, seq);
}

/* cut_packet.c: a packet of which [p, p + n) is all that the segment has. */
void bp_cut_begin(
	struct bp_mqtt_worker *in, struct bp_flow *f, unsigned dir, const uint8_t *p, uint32_t n);
/* Adds more bytes of it (BP_STREAM_REASSEMBLE). Returns the number of bytes consumed. */
uint32_t bp_cut_continue(struct bp_mqtt_worker *in, struct bp_flow *f, unsigned dir,
	const uint8_t *p, uint32_t n, uint32_t seq);
/* `gap` bytes at the stream's position are lost; true when the position is still known after it. */
bool bp_cut_gap(struct bp_mqtt_worker *in, struct bp_flow *f, unsigned dir, uint32_t gap);
/* Type of the packet of which a part is carried (BP_STREAM_REASSEMBLE). */
uint8_t bp_cut_type(const struct bp_mqtt_worker *in, struct bp_flow *f, unsigned dir);
void bp_cut_drop(struct bp_mqtt_worker *in, struct bp_flow *f, unsigned dir);
/* Adopts the state BP_STREAM_REASSEMBLE of an earlier process; false: it is invalid, and nothing is
 * claimed. */
bool bp_cut_adopt(struct bp_mqtt_worker *in, struct bp_flow *f, unsigned dir);

/* publish.c: evaluates a complete PUBLISH. `body`: after the fixed header; `head`: how far that was
 * checked before, or NULL. */
void bp_publish(struct bp_mqtt_worker *in, struct bp_flow *f, unsigned dir, uint8_t flags,
	const uint8_t *body, uint32_t len, uint32_t seq, struct bp_mqtt_head *head);
/* As above, for a PUBLISH with only body[0..have) stored. */
void bp_publish_beginning(struct bp_mqtt_worker *in, struct bp_flow *f, unsigned dir, uint8_t flags,
	const uint8_t *body, uint32_t have, uint32_t len, uint32_t seq, struct bp_mqtt_head *head);
/* Evaluates a publication that the client causes at the broker, by its topic, where there is no
 * packet. `beginning`: only the beginning of the payload is available. */
void bp_publish_evaluate(struct bp_mqtt_worker *in, struct bp_flow *f, unsigned dir,
	const struct bp_mqtt_publish *p, uint32_t seq, bool beginning);
/* Whether a rule matches the PUBLISH with this head; a topic alias is resolved and stored. */
enum bp_publish_decision {
	BP_PUBLISH_SKIP,
	BP_PUBLISH_EVALUATE,
	BP_PUBLISH_NEED_MORE,
	BP_PUBLISH_NOT_INSPECTED
};
enum bp_publish_decision bp_publish_decide(struct bp_mqtt_worker *in, struct bp_flow *f,
	unsigned dir, uint8_t flags, const uint8_t *body, uint32_t have, uint32_t len,
	struct bp_mqtt_head *head);

/* will.c: the will message of a connection. */
void bp_will_keep(struct bp_mqtt_worker *in, struct bp_flow *f, const struct bp_mqtt_connect *c);
/* The client disconnects as it should: mostly that discards the will. */
void bp_will_disconnect(
	struct bp_mqtt_worker *in, struct bp_flow *f, const struct bp_mqtt_disconnect *d);
void bp_will_discard(struct bp_mqtt_worker *in, struct bp_flow *f);
/* The connection ends: the broker publishes what was not discarded. */
void bp_will_end(struct bp_mqtt_worker *in, struct bp_flow *f);
/* After a restart of the process: keeps the state in the arena, if it is consistent. */
void bp_will_adopt(struct bp_mqtt_worker *in, struct bp_flow *f);
/* The flow is evicted before the end of the connection was seen. */
void bp_will_forget(struct bp_mqtt_worker *in, struct bp_flow *f);

/* Will messages with a will delay interval. `max`: that wait at one time. NULL: no
 * memory. free() it. */
struct bp_delayed *bp_delayed_create(uint32_t max);
/* Evaluates those that are due, `budget` at most. */
void bp_delayed_expire(struct bp_mqtt_worker *in, uint64_t mono_ns, unsigned budget);

/* alias.c: topic aliases of one direction. */
enum bp_alias { BP_ALIAS_OK, BP_ALIAS_UNMAPPED, BP_ALIAS_BAD };
/* Keeps the mapping of a PUBLISH, or where its topic is empty resolves it: the topic then points to
 * the kept text. *hash: of the topic. */
enum bp_alias bp_alias_use(struct bp_mqtt_worker *in, struct bp_flow *f, unsigned dir,
	struct bp_mqtt_publish *p, uint64_t *hash);
void bp_alias_discard(struct bp_mqtt_worker *in, struct bp_flow *f, unsigned dir);
/* Adopts the aliases of an earlier process that are consistent; false: none, and nothing is
 * claimed. */
bool bp_alias_adopt(struct bp_mqtt_worker *in, struct bp_flow *f, unsigned dir);

/* combination.c: the key of a combination, for its alarm. */
struct bp_combined {
	const struct bp_rule *rule;
	const struct bp_rule *first; /* its first part */
	struct bp_part_key key;
	const char *topic; /* that of the first part */
	uint32_t topic_len;
};

/* alarm.c: one verdict of one rule, to the ring or out as a mirrored frame. */
struct bp_evaluated {
	struct bp_flow *flow;
	unsigned dir;
	const struct bp_mqtt_publish *publish; /* with the topic resolved */
	double value;
	uint8_t type;              /* enum bp_value_type of the value */
	struct bp_value_text text; /* BP_VALUE_STRING */
	uint32_t seq;
	const char *client_id; /* if it is not stored with the flow; NULL: it is */
	bool beginning;        /* only the first bytes of the payload are available */
	bool repeat;           /* a raise of a pair that is raised */
	uint64_t transition;
	const struct bp_combined *combined; /* NULL: the rule is no combination */
};
/* Sets the number of a verdict. next: the number that a raise that begins has; it is higher than
 * all before in this worker. Another gateway may have begun one with a higher number. */
static inline void bp_evaluated_number(struct bp_mqtt_worker *in, struct bp_evaluated *j,
	enum bp_verdict verdict, uint64_t transition, uint64_t next)
{
	j->transition = transition;
	j->repeat = verdict == BP_VERDICT_RAISED && transition != next;
	if (verdict == BP_VERDICT_RAISED && !j->repeat)
		in->transition = transition;
}
/* publish.c: evaluates of->value by a rule with the state of the topic, and writes the alarm. */
void bp_rule_apply(struct bp_mqtt_worker *in, const struct bp_rule *rule, struct bp_evaluated *of,
	uint64_t topic_hash);
/* combination.c: of->value is the value of a part. */
void bp_combination_evaluate(struct bp_mqtt_worker *in, const struct bp_rule *part,
	const struct bp_evaluated *of, uint64_t topic_hash, uint32_t client);
/* The text of a named level in the topic of the key. False: it has no such name. */
bool bp_combined_level(const struct bp_ruleset *rules, const struct bp_combined *c,
	const char *name, uint32_t len, const char **text, uint32_t *text_len);
/* The parts and the named levels of an alarm, as include/biplane/alarm_parts.h has them: their
 * size, and written to `out`. */
uint32_t bp_combined_size(const struct bp_ruleset *rules, const struct bp_combined *c);
void bp_combined_write(const struct bp_mqtt_worker *in, const struct bp_combined *c, char *out);
/* extended_value.c: the value of a source that is not plain, for this rule. */
bool bp_extended_value(struct bp_mqtt_worker *in, const struct bp_rule *rule,
	const struct bp_value_source *source, struct bp_evaluated *j);
void bp_alarm_emit(struct bp_mqtt_worker *in, const struct bp_rule *rule, enum bp_verdict verdict,
	const struct bp_evaluated *j);

/* ---- sparkplug.c: births, deaths and data of Sparkplug B ---- */

struct bp_sparkplug_message {
	struct bp_sparkplug_topic topic;
	bool tracked;     /* the session of the node is known */
	uint16_t birth;   /* number of the node's last birth */
	uint16_t devices; /* that are listed; their deaths follow that of the node */
	uint64_t node_key;
};
/*
 * Whether the publication is a message of a node or device whose metrics may be evaluated; the
 * session of its node then has its sequence number, birth or death. Otherwise it is counted, if it
 * should have been one.
 */
bool bp_sparkplug_begin(
	struct bp_mqtt_worker *in, const struct bp_evaluated *j, struct bp_sparkplug_message *m);

enum bp_sparkplug_result {
	BP_SPARKPLUG_VALUE,
	BP_SPARKPLUG_NO_VALUE,  /* counted: the metric has no number, or its alias is unknown */
	BP_SPARKPLUG_UNCHANGED, /* the message says nothing about the metric */
};
/* The value at a source of Sparkplug B. data_hash: of the topic of the device's data messages. A
 * birth stores the alias and datatype of the metric. */
enum bp_sparkplug_result bp_sparkplug_value(struct bp_mqtt_worker *in,
	const struct bp_sparkplug_message *m, const struct bp_value_source *source,
	const struct bp_evaluated *j, uint64_t data_hash, double *value);
/* sparkplug_devices.c: stores what another file of Sparkplug B reads; counted if it cannot. */
void bp_sparkplug_store(struct bp_mqtt_worker *in, const struct bp_evaluated *j, uint64_t key,
	uint64_t value, uint32_t data);
/* Lists the device of a DBIRTH for the death of its node. */
void bp_sparkplug_list_device(struct bp_mqtt_worker *in, const struct bp_evaluated *j,
	const struct bp_sparkplug_message *m, uint64_t data_hash);
/* The i-th of the listed devices, as the topic of its death in `out`; the name is copied. False: it
 * is no longer there. */
bool bp_sparkplug_listed_device(struct bp_mqtt_worker *in, const struct bp_sparkplug_message *m,
	uint32_t i, struct bp_sparkplug_device *name, struct bp_sparkplug_message *out);
/* Counts a lost state. */
void bp_tally_state_loss(struct bp_mqtt_worker *in, enum bp_state_loss loss);

/* absence.c: rules with `absent`. whole: a tick searches all topics. NULL: no memory; free() it. */
struct bp_absence *bp_absence_create(
	const struct bp_shm *shm, unsigned worker, uint32_t max_rules, bool whole);
/* The worker searches this share of the table; first: as many shares as workers. */
void bp_absence_share(struct bp_absence *a, unsigned share, unsigned shares);
/* A publication on a topic of the rule. */
void bp_absence_publication(struct bp_mqtt_worker *in, const struct bp_rule *rule,
	uint64_t topic_hash, struct bp_evaluated *j);
/* Raises the alarms of topics that are silent for too long. */
void bp_absence_tick(struct bp_mqtt_worker *in);
/* No alarm is due before; UINT64_MAX: none is. */
uint64_t bp_absence_due(const struct bp_mqtt_worker *in);

/* resync.c: finding a boundary again. */
void bp_resync_enter(struct bp_mqtt_worker *in, struct bp_flow *f, unsigned dir, uint32_t seq);
/* The search that is under way also counts pushes with topics in bp_flow.known, if there are any.
 */
void bp_resync_by_pushes(const struct bp_mqtt_worker *in, struct bp_flow *f, unsigned dir);
void bp_resync_segment(struct bp_mqtt_worker *in, struct bp_flow *f, unsigned dir, const uint8_t *p,
	uint32_t n, uint32_t seq, uint32_t ack);
/* Whether `seq` is near the current position of the search. */
bool bp_resync_is_near(const struct bp_flow *f, unsigned dir, uint32_t seq);
/* The receiver of `dir`, in BP_FLOW_PUSHES, has `ack`, by a segment that is in its own sequence. */
void bp_resync_acked(struct bp_mqtt_worker *in, struct bp_flow *f, unsigned dir, uint32_t ack);
/* A packet of a stream in BP_FLOW_PUSHED: its response, if it requires one, will prove the stream.
 * `body`: the complete body; `seq` is that of the fixed header. */
void bp_resync_request(struct bp_mqtt_worker *in, struct bp_flow *f, unsigned dir,
	const struct bp_mqtt_fixed *fixed, const uint8_t *body, uint32_t seq);
/* A packet of the readable direction `dir` may be the answer that the other one waits for. */
void bp_resync_response(struct bp_mqtt_worker *in, struct bp_flow *f, unsigned dir, uint8_t type,
	uint16_t packet_id, uint32_t ack);

/* flow_memory.c: arena blocks of one flow, within its bound; 0 when over it or full (counted). */
bp_reassembly_ref bp_flow_alloc(struct bp_mqtt_worker *in, struct bp_flow *f, uint64_t bytes);
/*
 * Grows *ref (0: none yet) to a block of at least `bytes`, preferably `room`, and keeps its first
 * `keep` bytes. Only the larger block counts against the flow's limit. False: counted, and *ref is
 * unchanged.
 */
bool bp_flow_grow(struct bp_mqtt_worker *in, struct bp_flow *f, bp_reassembly_ref *ref,
	uint32_t keep, uint64_t bytes, uint64_t room);
void bp_flow_release(struct bp_mqtt_worker *in, struct bp_flow *f, bp_reassembly_ref ref);
void bp_flow_release_all(void *worker, struct bp_flow *f);

/* ---- fleet_adopt.c: state of connections from other gateways ---- */

struct bp_fleet_worker;
/* The key of the flow's connection in the fleet. */
void bp_connection_key_of(const struct bp_flow *f, struct bp_connection_key *k);
/* NULL: no memory. */
struct bp_fleet_worker *bp_fleet_worker_create(struct bp_shm *shm, unsigned worker);
/* A connection was picked up mid-stream: asks for its state, if it can. */
void bp_fleet_ask(struct bp_mqtt_worker *in, struct bp_flow *f);
/* A segment of a proven connection, before it is checked: asks if the connection may have continued
 * through another gateway since its last segment. */
void bp_fleet_ask_returned(
	struct bp_mqtt_worker *in, struct bp_flow *f, const struct bp_frame *frame, unsigned dir);
/* Whether it was asked for as such a one, and not as one that was met mid-stream. */
static inline bool bp_fleet_returned(const struct bp_flow *f)
{
	return (f->marks & BP_MARK_ASKED) && (f->proof & BP_FLOW_PROVEN);
}
/* reorder_buffer is full: lost bytes count as lost again, even if no answer comes. */
static inline void bp_fleet_wait_no_longer(struct bp_flow *f)
{
	if (bp_fleet_returned(f))
		bp_flow_unmark(f, BP_MARK_ASKED);
}
/* The first byte of a direction of a connection met mid-stream. */
void bp_fleet_first_byte(struct bp_flow *f, unsigned dir, uint32_t seq);
/* A segment of such a connection acknowledges all before `ack` in direction `of`. */
void bp_fleet_acked(struct bp_flow *f, unsigned of, uint32_t ack);
/* fleet_states.c: another gateway has raised or cleared a rule; p[0..n): untrusted. */
void bp_fleet_state_offer(struct bp_mqtt_worker *in, const uint8_t *p, uint32_t n);
/* Reads answers, and gives up on those that are missing. Also where nothing is shared. */
void bp_fleet_tick(struct bp_mqtt_worker *in);

/*
 * The same from an earlier byte on, which may be of a packet that was not inspected. A sender that
 * repeats what was lost does so once or twice; each time moves all bytes that wait. `pushes` counts
 * them: the search uses it only later.
 */
#define BP_FLEET_EARLIER_MAX 4u
static inline bool bp_fleet_begins_earlier(
	const struct bp_mqtt_worker *in, const struct bp_flow *f, unsigned dir, uint32_t seq)
{
	return (f->marks & BP_MARK_ASKED) && !(f->proof & BP_FLOW_PROVEN) &&
	       f->stream[dir] == BP_STREAM_BOUNDARY &&
	       f->resync[dir].pushes < BP_FLEET_EARLIER_MAX &&
	       f->next[dir] - seq <= in->reorder_bytes &&
	       (int32_t)(seq - bp_wait_first(in, f, dir)) < 0;
}

/* alias.c: state of the other gateway. */
void bp_alias_restore(struct bp_mqtt_worker *in, struct bp_flow *f, unsigned dir, uint16_t alias,
	const uint8_t *topic, uint16_t len);
void bp_alias_discard_one(
	struct bp_mqtt_worker *in, struct bp_flow *f, unsigned dir, uint16_t alias);
/* The topic of an alias as text and length in p, as bp_alias_use() does. False: it has none. */
bool bp_alias_topic(const struct bp_mqtt_worker *in, const struct bp_flow *f, unsigned dir,
	struct bp_mqtt_publish *p);

/* ---- copies for a record of another process (flow_export.c), which the worker may change
 * meanwhile: the caller then discards them ---- */

/* The arena of one worker. */
struct bp_arena {
	const void *memory;
	uint64_t bytes;
};
/* ref: that of a flow with TLS. */
bool bp_tls_peek(const struct bp_arena *a, bp_reassembly_ref ref, struct bp_tls_info *info);
#define BP_ALIASES_PEEKED 1024u /* further ones are left out */
struct bp_alias_peeked {
	bool all; /* none is left out */
	struct bp_record_alias alias[BP_ALIASES_PEEKED];
	uint8_t text[2 * BP_CONNECTION_RECORD_MAX] __attribute__((aligned(8)));
};
/* Returns their number. */
uint16_t bp_alias_peek(const struct bp_arena *a, const uint64_t key[2], const struct bp_flow *f,
	unsigned dir, struct bp_alias_peeked *out);
/* text: BP_WILL_PEEKED bytes, aligned as a uint64_t. False: it is damaged. */
#define BP_WILL_PEEKED (64u + BP_RECORD_WILL_MAX)
bool bp_will_peek(const struct bp_arena *a, const struct bp_flow *f, struct bp_record_will *out,
	uint8_t *text);
/* id: BP_RECORD_QOS2_MAX. Returns their number. */
uint16_t bp_qos2_peek(
	const struct bp_arena *a, const struct bp_flow *f, unsigned dir, uint16_t *id);

/* segment.c: after a change of a flow: files it by its proofs, and records the begin and the end of
 * a period without inspection. `before`: the proofs before the change. */
void bp_flow_settle(struct bp_mqtt_worker *in, struct bp_flow *f, uint8_t before);

/* adopt.c */

/*
 * Adopts the connections that an earlier process left in this worker's part of the segment, or
 * lays the flow table out afresh. `in` has its table, arena and journal at their addresses; the
 * arena is open when this returns. Returns why connections that were there could not be adopted, in
 * a few words, or NULL.
 */
const char *bp_adopt(struct bp_mqtt_worker *in, const struct bp_mqtt_options *o, unsigned worker);

/* Claims the block for the flow; false: the block is shorter than `bytes`, or another flow owns
 * it. */
bool bp_adopt_block(
	struct bp_mqtt_worker *in, struct bp_flow *f, bp_reassembly_ref ref, uint64_t bytes);
/* Releases the block, before the arena is open. */
void bp_adopt_undo(struct bp_mqtt_worker *in, struct bp_flow *f, bp_reassembly_ref ref);

#endif
