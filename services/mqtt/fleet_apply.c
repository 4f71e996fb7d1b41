/* SPDX-License-Identifier: BSD-3-Clause */
#include "services/mqtt/fleet_apply.h"

#include "biplane/counters/mqtt.h"
#include "services/mqtt/connection_events.h"
#include "services/mqtt/packets.h"
#include "services/mqtt/publications.h"
#include "services/mqtt/stream.h"
#include "services/mqtt/policy.h"

static void begin(struct bp_mqtt_worker *in, struct bp_flow *f)
{
	in->frame = NULL;
	bp_work_begin(&in->work, bp_flow_hash(&in->table, f->k0, f->k1), f->carried);
	bp_change_begin(in, f);
	bp_journal_deepen(in->journal, f);
	bp_flow_unmark(f, BP_MARK_ASKED);
	for (unsigned dir = 0; dir < 2; dir++)
		if (f->stream[dir] != BP_STREAM_RESYNC)
			memset(&f->resync[dir], 0, sizeof(f->resync[dir]));
}

static void end(struct bp_mqtt_worker *in, struct bp_flow *f, uint8_t before)
{
	bp_change_end(in);
	bp_flow_settle(in, f, before);
	bp_work_end(&in->work);
}

/*
 * Before the waiting bytes of a direction are searched: the aliases of a stale record. The packets
 * since then may have given an alias to another topic, but clients do not do that: a connection
 * that has never done so continues with its aliases. The search discards those that it sees given
 * to a topic.
 */
static void apply_stale_aliases(struct bp_mqtt_worker *in, struct bp_flow *f, unsigned dir,
	const struct bp_connection_record *r)
{
	const uint8_t *at = r->aliases[dir];

	if (r->session & BP_SESSION_ALIAS_CHANGED)
		return;
	for (uint16_t i = 0; i < r->n_aliases[dir]; i++) {
		const struct bp_record_alias a = bp_record_next_alias(&at);

		bp_alias_restore(in, f, dir, a.alias, a.topic, a.topic_len);
	}
}

/*
 * Whether the broker has sent nothing since a stale record was stored: the client's
 * acknowledgements say so, with a number that a forger does not know.
 */
static bool is_broker_silent(const struct bp_flow *f, const struct bp_connection_record *stale)
{
	const struct bp_resync *acked = &f->resync[BP_FROM_BROKER];

	return stale != NULL && f->stream[BP_FROM_BROKER] == BP_STREAM_UNSEEN && acked->valid &&
	       acked->run_end == stale->next[BP_FROM_BROKER];
}

/* The handshake, unless only this gateway has seen it. */
static void apply_handshake(struct bp_flow *f, const struct bp_connection_record *r)
{
	if ((f->proof & BP_FLOW_HANDSHAKE) && !(r->proof & BP_FLOW_HANDSHAKE))
		return;
	f->mss = r->mss;
	f->syn_seq = r->syn_seq;
	f->broker_isn = r->broker_isn;
	for (unsigned dir = 0; dir < 2; dir++) {
		f->scale[dir] = r->scale[dir];
		f->window[dir] = r->window[dir];
	}
	f->proof |= r->proof;
}

/* Only at its position does an acknowledgement of the broker count for the search in the other
 * direction. */
static void continue_from_broker(
	struct bp_mqtt_worker *in, struct bp_flow *f, const struct bp_connection_record *stale)
{
	bp_fleet_first_byte(f, BP_FROM_BROKER, stale->next[BP_FROM_BROKER]);
	apply_handshake(f, stale);
	bp_flow_prove(in, f);
}

void bp_fleet_search(struct bp_mqtt_worker *in, struct bp_flow *f, bp_counter_t why,
	const struct bp_connection_record *stale, const struct bp_fleet_holds *holds)
{
	const bool silent = is_broker_silent(f, stale);
	const uint8_t before = f->proof;

	bp_tally(in, why);
	begin(in, f);
	*bp_fleet_answered(f) = bp_fleet_answer_time(in);
	bp_fleet_apply_holds(in, f, holds, NULL,
		(const enum bp_fleet_continues[]){BP_FLEET_UNKNOWN, BP_FLEET_UNKNOWN});
	if (stale != NULL) {
		f->version = stale->version;
		bp_mqtt_keep_client_id(in, f, stale->client_id, stale->client_id_len);
		f->session |= stale->session & BP_SESSION_ALIAS_CHANGED;
	}
	for (unsigned dir = 0; dir < 2; dir++) {
		const bool seen = f->stream[dir] == BP_STREAM_BOUNDARY;

		if (seen)
			bp_wait_search_begin(in, f, dir);
		/* also of a direction whose first segment is yet to come */
		if (stale != NULL && (seen || f->stream[dir] == BP_STREAM_UNSEEN))
			apply_stale_aliases(in, f, dir, stale);
		if (seen)
			bp_wait_search_read(in, f, dir);
	}
	if (silent && f->stream[BP_FROM_BROKER] == BP_STREAM_UNSEEN)
		continue_from_broker(in, f, stale);
	/* the topics that were published before; the waiting bytes have no segments any more */
	for (unsigned dir = 0; stale != NULL && dir < 2; dir++) {
		f->known |= stale->known;
		bp_resync_by_pushes(in, f, dir);
	}
	/* the wheel of proven connections has passed the time of the last segment */
	if ((f->proof & ~before) & BP_FLOW_PROVEN)
		f->seen = in->table.now;
	end(in, f, before);
}

/* BP_C_FLEET_ADOPTED: the position of the record fits to what was seen of this direction. */
static bp_counter_t position_fits(const struct bp_mqtt_worker *in, const struct bp_flow *f,
	unsigned dir, const struct bp_connection_record *r)
{
	const uint32_t first = bp_wait_first(in, f, dir);
	const struct bp_resync *acked = &f->resync[dir];

	if (f->stream[dir] > BP_STREAM_BOUNDARY)
		return BP_C_FLEET_LATE; /* the search is under way */
	if (acked->valid && (int32_t)(acked->run_end - r->next[dir]) > 0 &&
		(f->stream[dir] == BP_STREAM_UNSEEN || (int32_t)(r->next[dir] - first) < 0))
		return acked->run_end - r->next[dir] > BP_SEQ_OUTSIDE ? BP_C_FLEET_CONFLICT
								      : BP_C_FLEET_STALE;
	/* the acknowledgement of its receiver is all that was seen, and a forger knows neither */
	if (f->stream[dir] == BP_STREAM_UNSEEN)
		return acked->valid && r->next[dir] - acked->run_end <= in->reorder_bytes
			       ? BP_C_FLEET_ADOPTED
			       : BP_C_FLEET_CONFLICT;
	if ((int32_t)(r->next[dir] - first) < 0)
		return first - r->next[dir] <= in->reorder_bytes ? BP_C_FLEET_ADOPTED
								 : BP_C_FLEET_CONFLICT;
	/* the sender repeats what the other gateway inspected */
	return (int32_t)(r->next[dir] - f->next[dir]) <= 0 ||
			       r->next[dir] - f->next[dir] <= in->reorder_bytes
		       ? BP_C_FLEET_ADOPTED
		       : BP_C_FLEET_CONFLICT;
}

bp_counter_t bp_fleet_positions_fit(const struct bp_mqtt_worker *in, const struct bp_flow *f,
	const struct bp_connection_record *r)
{
	const bp_counter_t a = position_fits(in, f, 0, r), b = position_fits(in, f, 1, r);

	if (a == BP_C_FLEET_CONFLICT || b == BP_C_FLEET_CONFLICT)
		return BP_C_FLEET_CONFLICT;
	if (a != BP_C_FLEET_ADOPTED)
		return a;
	return b == BP_C_FLEET_STALE ? BP_C_FLEET_ADOPTED : b;
}

/* The CONNECT does not change: a connection that returns may have more of it than the record.
 * `connect`: it was read here. */
static void apply_connect(struct bp_mqtt_worker *in, struct bp_flow *f,
	const struct bp_connection_record *r, bool connect)
{
	struct bp_mqtt_will kept;
	const struct bp_mqtt_connect c = {.version = r->version,
		.keep_alive = r->will.keep_alive,
		.session_expiry = r->will.session_expiry,
		.will = {.topic = r->will.topic,
			.payload = r->will.payload,
			.topic_len = r->will.topic_len,
			.payload_len = r->will.payload_len,
			.qos = r->will.qos,
			.retain = r->will.retain != 0,
			.delay = r->will.delay}};

	if (bp_will_kept(in, f, &kept) == BP_WILL_KEPT)
		return;
	if (r->will.topic != NULL)
		bp_will_keep(in, f, &c);
	else if (r->will.unknown && !connect)
		bp_will_not_kept(in, f);
	if (f->proof & BP_FLOW_PROVEN)
		bp_will_accepted(in, f);
}

static void apply_session(
	struct bp_mqtt_worker *in, struct bp_flow *f, const struct bp_connection_record *r)
{
	const bool connect = f->flags & BP_FLOW_CONNECT, known = bp_mqtt_is_identified(in, f);
	const uint8_t identity = f->session & (BP_SESSION_NO_ID | BP_SESSION_USER);

	f->version = r->version;
	f->flags = (uint8_t)((f->flags & ~BP_FLOW_MIDWAY) | r->flags);
	apply_handshake(f, r);
	f->session = (uint8_t)((r->session & ~BP_SESSION_NO_ID) | BP_SESSION_ADOPTED | identity);
	if (!known)
		bp_mqtt_adopt_identity(in, f, r, connect);
	f->has_alias_max = (f->has_alias_max & (uint8_t)~BP_ALIAS_MAX_EITHER) | r->has_alias_max;
	bp_policy_reload_mark(in, f); /* the other gateway may have another policy */
	f->suspicious = r->suspicious;
	f->publishes = r->publishes;
	f->known |= r->known;
	if (r->marks != 0)
		bp_flow_mark(f, r->marks);
	for (unsigned dir = 0; dir < 2; dir++)
		f->alias_max[dir] = r->alias_max[dir];
	apply_connect(in, f, r, connect);
	if ((f->flags & BP_FLOW_CONNECT) && !(f->flags & BP_FLOW_CLOSED))
		bp_policy_count(in, f);
}

static void apply_direction(struct bp_mqtt_worker *in, struct bp_flow *f, unsigned dir,
	const struct bp_connection_record *r)
{
	const uint8_t *at = r->aliases[dir];

	for (uint16_t i = 0; i < r->n_qos2[dir]; i++)
		(void)bp_qos2_begin(in, f, dir, bp_record_qos2(r, dir, i));
	for (uint16_t i = 0; i < r->n_aliases[dir]; i++) {
		const struct bp_record_alias a = bp_record_next_alias(&at);

		bp_alias_restore(in, f, dir, a.alias, a.topic, a.topic_len);
	}
	if (f->stream[dir] == BP_STREAM_UNSEEN)
		bp_fleet_first_byte(f, dir, r->next[dir]);
	else
		bp_wait_move(in, f, dir, r->next[dir]);
	if ((int32_t)(f->top[dir] - f->next[dir]) < 0)
		f->top[dir] = f->next[dir];
	if (r->pending & BP_FLOW_PUSHED(dir)) {
		f->pending |= BP_FLOW_PUSHED(dir);
		f->memo_gen = 0;
	}
}

/* Of a record that is stale in this direction alone: `acked`: up to where the client has it. */
static void search_broker(struct bp_mqtt_worker *in, struct bp_flow *f, uint32_t acked,
	const struct bp_connection_record *r)
{
	if (f->stream[BP_FROM_BROKER] == BP_STREAM_UNSEEN)
		bp_resync_enter(in, f, BP_FROM_BROKER, acked);
	else
		bp_wait_search_begin(in, f, BP_FROM_BROKER);
	apply_stale_aliases(in, f, BP_FROM_BROKER, r);
	bp_wait_search_read(in, f, BP_FROM_BROKER);
}

static void drain(struct bp_mqtt_worker *in, struct bp_flow *f)
{
	for (unsigned dir = 0; dir < 2; dir++) {
		bp_wait_drain(in, f, dir);
		if (f->pending & BP_FLOW_HELD(dir))
			bp_hold_drain(in, f, dir);
	}
}

/*
 * The client may still use the other gateway, and only the broker's segments come here: until a
 * segment of the client arrives, the record remains that of the other one, which has more of the
 * client then. As after an acknowledgement of unseen bytes, there is no record of this one.
 */
static void await_client(struct bp_flow *f, const struct bp_connection_record *r)
{
	if (!bp_stream_tracked(f, BP_TO_BROKER) || f->next[BP_TO_BROKER] != r->next[BP_TO_BROKER])
		return;
	f->claim[BP_TO_BROKER] = f->next[BP_TO_BROKER];
	bp_flow_mark(f, BP_MARK_CLAIM(BP_TO_BROKER));
}

/* Whether bytes between the record and what was seen of this direction are missing. */
static bool is_behind_gap(const struct bp_mqtt_worker *in, const struct bp_flow *f, unsigned dir,
	const struct bp_connection_record *r)
{
	uint32_t first = r->next[dir];

	if (!(f->proof & BP_FLOW_PROVEN) && f->stream[dir] == BP_STREAM_BOUNDARY)
		first = bp_wait_first(in, f, dir);
	else if (f->pending & BP_FLOW_HELD(dir))
		first = bp_hold_first(in, f, dir);
	else if (f->marks & BP_MARK_CLAIM(dir))
		first = f->claim[dir];
	return (int32_t)(first - r->next[dir]) > 0;
}

/* What the holds of the record are where the connection continues: the missing bytes may be
 * repeated, but if the other gateway has read them, the receiver acknowledges them instead, and
 * their values are not read here. */
static enum bp_fleet_continues continues_at(const struct bp_mqtt_worker *in,
	const struct bp_flow *f, unsigned dir, const struct bp_connection_record *r)
{
	return is_behind_gap(in, f, dir, r) ? BP_FLEET_UNKNOWN : BP_FLEET_EXACT;
}

void bp_fleet_adopt(struct bp_mqtt_worker *in, struct bp_flow *f,
	const struct bp_connection_record *r, const struct bp_fleet_holds *holds)
{
	const uint8_t before = f->proof;
	const bool stale = position_fits(in, f, BP_FROM_BROKER, r) == BP_C_FLEET_STALE;
	const uint32_t acked = f->resync[BP_FROM_BROKER].run_end;
	const enum bp_fleet_continues continues[2] = {
		[BP_TO_BROKER] = continues_at(in, f, BP_TO_BROKER, r),
		[BP_FROM_BROKER] =
			stale ? BP_FLEET_UNKNOWN : continues_at(in, f, BP_FROM_BROKER, r)};

	bp_tally(in, BP_C_FLEET_ADOPTED);
	begin(in, f);
	apply_session(in, f, r);
	bp_flow_prove(in, f);
	/* the wheel of proven connections has passed the time of the last segment */
	f->seen = in->table.now;
	/* its memory is that of a proven connection from now on */
	bp_flow_settle(in, f, before);
	*bp_fleet_answered(f) = bp_fleet_answer_time(in);
	bp_fleet_apply_holds(in, f, holds, r, continues);
	apply_direction(in, f, BP_TO_BROKER, r);
	if (stale)
		search_broker(in, f, acked, r);
	else
		apply_direction(in, f, BP_FROM_BROKER, r);
	drain(in, f);
	await_client(f, r);
	end(in, f, f->proof);
}

/* ---- connections that return ---- */

/* The record is behind in this direction, which has continued in sequence here meanwhile. */
static bool is_ahead_here(const struct bp_mqtt_worker *in, const struct bp_flow *f, unsigned dir,
	const struct bp_connection_record *r)
{
	return (int32_t)(bp_wait_first(in, f, dir) - r->next[dir]) > 0;
}

static bool is_another(const struct bp_flow *f, const struct bp_connection_record *r)
{
	return ((f->proof & r->proof) & BP_FLOW_HANDSHAKE) &&
	       (f->syn_seq != r->syn_seq || f->broker_isn != r->broker_isn);
}

bp_counter_t bp_fleet_is_further(const struct bp_mqtt_worker *in, const struct bp_flow *f,
	const struct bp_connection_record *r)
{
	bool further = false;

	if ((f->flags & BP_FLOW_CLOSED) || !bp_stream_tracked(f, 0) || !bp_stream_tracked(f, 1))
		return BP_C_FLEET_LATE;
	if (is_another(f, r))
		return BP_C_FLEET_CONFLICT;
	for (unsigned dir = 0; dir < 2; dir++) {
		const uint32_t ahead = r->next[dir] - bp_wait_first(in, f, dir);

		if (ahead > BP_SEQ_OUTSIDE && 0u - ahead > in->reorder_bytes)
			return BP_C_FLEET_STALE;
		further |= ahead != 0 && !is_ahead_here(in, f, dir, r);
	}
	return further ? BP_C_FLEET_ADOPTED : BP_C_FLEET_STALE;
}

void bp_fleet_adopt_returned(struct bp_mqtt_worker *in, struct bp_flow *f,
	const struct bp_connection_record *r, const struct bp_fleet_holds *holds)
{
	enum bp_fleet_continues continues[2];
	bool ahead[2];

	bp_tally(in, BP_C_FLEET_ADOPTED);
	begin(in, f);
	*bp_fleet_answered(f) = bp_fleet_answer_time(in);
	bp_ack_release(in, f);
	for (unsigned dir = 0; dir < 2; dir++) {
		ahead[dir] = is_ahead_here(in, f, dir, r);
		continues[dir] = ahead[dir] ? BP_FLEET_OWN : continues_at(in, f, dir, r);
		if (ahead[dir])
			continue;
		bp_cut_drop(in, f, dir);
		bp_alias_discard(in, f, dir);
		bp_qos2_discard(in, f, dir);
		bp_flow_unmark(f, BP_MARK_URGENT(dir) | BP_MARK_CLAIM(dir));
		f->pending &= (uint8_t)~BP_FLOW_PUSHED(dir);
		f->stream[dir] = BP_STREAM_BOUNDARY;
	}
	apply_session(in, f, r);
	bp_fleet_apply_holds(in, f, holds, r, continues);
	for (unsigned dir = 0; dir < 2; dir++)
		if (!ahead[dir])
			apply_direction(in, f, dir, r);
	drain(in, f);
	await_client(f, r);
	end(in, f, f->proof);
}

/* Of a connection that was met midway, the initial numbers are unknown: then both must be far from
 * those here. If it is the same one, so far ahead in both directions, the next segment meets it
 * midway again, and the record continues it. */
bool bp_fleet_is_replaced(const struct bp_mqtt_worker *in, const struct bp_flow *f,
	const struct bp_connection_record *r)
{
	const bool known = (f->proof & r->proof) & BP_FLOW_HANDSHAKE;
	bool fits = f->resync[1].valid && !(known && !is_another(f, r));

	for (unsigned dir = 0; dir < 2; dir++) {
		const uint32_t seq = f->resync[dir].expect_seq; /* bp_fleet_ask_replaced() */

		fits &= bp_fleet_is_near(seq, r->next[dir]) &&
			(known || !bp_fleet_is_near(seq, f->next[dir]));
	}
	return fits && !(f->flags & BP_FLOW_CLOSED) &&
	       in->now_ticks - f->seen > BP_FLEET_RETURN_TICKS;
}

void bp_fleet_remove_replaced(struct bp_mqtt_worker *in, struct bp_flow *f)
{
	bp_tally(in, BP_C_FLEET_CONFLICT);
	bp_event_end(in, f, BP_EVENT_END_SUPERSEDED);
	bp_flow_remove(&in->table, f);
}

void bp_fleet_stay(struct bp_mqtt_worker *in, struct bp_flow *f, bp_counter_t why)
{
	bp_tally(in, why);
	begin(in, f);
	*bp_fleet_answered(f) = bp_fleet_answer_time(in);
	drain(in, f);
	end(in, f, f->proof);
}

bool bp_fleet_has_gap(const struct bp_mqtt_worker *in, const struct bp_flow *f,
	const struct bp_connection_record *r)
{
	return is_behind_gap(in, f, 0, r) || is_behind_gap(in, f, 1, r);
}
