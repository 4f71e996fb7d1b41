/* SPDX-License-Identifier: BSD-3-Clause */
#include <stdlib.h>

#include "biplane/counters/mqtt.h"
#include "services/mqtt/connection_record.h"
#include "services/mqtt/connection_events.h"
#include "services/mqtt/fleet_adopt.h"
#include "services/mqtt/flow_export.h"
#include "services/mqtt/mqtt_worker.h"
#include "services/mqtt/packets.h"
#include "services/mqtt/publications.h"
#include "services/mqtt/stream.h"
#include "shm/mqtt/mqtt_tables.h"

/*
 * Connections of other gateways of a fleet. When a gateway ends, its connections continue through
 * another one, which meets them mid-stream. That one asks the control plane for the state that the
 * fleet has of the connection, and forwards its frames meanwhile. The bytes wait as those of a
 * connection whose handshake is incomplete (reorder.c): as if the first one seen began a packet.
 * With the answer, the stream continues at the position of the record, so what waits is read as if
 * it arrived now. Without an answer, or with one that does not fit, what waits is searched for a
 * boundary (resync.c).
 *
 * A record is applied only to a connection that was asked for, and has no search
 * under way, so a late or forged answer changes nothing. It fits if its position is in the waiting
 * bytes, at their end, or so little before them that the bytes between may still be retransmitted.
 * If they are acknowledged instead, the record is older than packets that the other gateway
 * inspected: it is stale.
 *
 * The first gateway may live and store a newer record soon: a stale one is asked for again.
 *
 * A connection may also return to a gateway that has an earlier position of it. A segment after a
 * pause that leaves a gap, or acknowledges what was not seen here, is the sign of that, but anybody
 * can send one: so it changes nothing but that the fleet is asked. So are lost bytes, without a
 * pause: one direction may have used both gateways in turn. The record is applied if it is of the
 * same connection and further; a direction that is not keeps its state. The own record stays as it
 * is until a segment fits: the other gateway may still have the connection. Until then a gap is not
 * taken for lost bytes, since the acknowledgement of the receiver comes before the answer.
 *
 * After a pause of the worker, even segments that fit may have been read elsewhere: those that
 * waited for it. The first ones of each connection wait until the fleet has answered.
 *
 * Or the connection of before has ended at another gateway, and the next one of the same addresses
 * and ports, which began there, comes here. Its segments fit nowhere, which is the sign of it. The
 * record then has other initial sequence numbers: the flow is removed, and the next segment meets
 * the new connection mid-stream.
 */

/*
 * Time until an answer is not awaited any longer, and the number of connections that wait.
 */
#define ANSWER_NS 1000000000ull
#define ASKED_MAX 1024u
/* Of these, for one client address (BP_CLIENTS), so that a client that opens many connections, or
 * forges them, leaves some for others. */
#define ASKED_CLIENT_MAX 256u
/* Answers in one call, and searches of those without an answer. */
#define ANSWERS_MAX 16u
/* Times that a record is asked for again which is behind what was seen, each after the time in
 * which a gateway that lives stores the next one. */
#define AGAIN_NS 60000000ull
#define AGAIN_MAX 2u
_Static_assert(AGAIN_NS > BP_EXPORT_REST_NS + BP_EXPORT_INTERVAL_NS, "it stores the next one");
_Static_assert(AGAIN_MAX <= 3, "struct bp_resync has two bits");

/* By its key: a flow may move in the table. */
struct asked {
	struct bp_connection_key key;
	uint16_t client;
	uint64_t deadline;
};

struct again {
	struct bp_connection_key key;
	uint64_t due;
};

struct bp_fleet_worker {
	struct bp_ring *requests, *offers;
	uint64_t cursor;               /* in the offers */
	uint32_t first, n;             /* of `asked`, oldest first; answered ones too */
	uint32_t again_first, n_again; /* of `again`, the same */
	uint16_t of_client[BP_CLIENTS];
	struct asked asked[ASKED_MAX];
	struct again again[ASKED_MAX];
	uint8_t record[BP_CONNECTION_RECORD_MAX]; /* a copy: the original can change */
};

struct bp_fleet_worker *bp_fleet_worker_create(struct bp_shm *shm, unsigned worker)
{
	struct bp_fleet_worker *w = calloc(1, sizeof(*w));

	if (w == NULL)
		return NULL;
	w->requests = &shm->adopt_requests[worker];
	w->offers = &shm->adopt_offers[worker];
	w->cursor = bp_ring_tail(w->offers);
	return w;
}

/* ---- requests ---- */

void bp_connection_key_of(const struct bp_flow *f, struct bp_connection_key *k)
{
	const size_t width = f->flags & BP_FLOW_IP6 ? 16 : 4;

	memset(k, 0, sizeof(*k));
	memcpy(k->client_ip, f->client_ip, width);
	memcpy(k->broker_ip, f->broker_ip, width);
	k->client_port = (uint16_t)(f->k1 >> 16);
	k->broker_port = (uint16_t)f->k1;
	k->vlan_outer = f->k1 >> 32 & 0xfff;
	k->vlan_inner = f->k1 >> 44 & 0xfff;
	k->tunnel = f->tunnel;
	k->ip6 = (f->flags & BP_FLOW_IP6) != 0;
}

/* False: the ring is full. */
static bool request(struct bp_mqtt_worker *in, const struct bp_flow *f)
{
	struct bp_connection_key *k;
	uint64_t mark;

	k = bp_ring_reserve(in->fleet->requests, sizeof(*k), &mark);
	if (k == NULL)
		return false;
	bp_tally(in, BP_C_FLEET_ASKED);
	bp_connection_key_of(f, k);
	bp_ring_commit(in->fleet->requests, mark);
	return true;
}

void bp_fleet_ask(struct bp_mqtt_worker *in, struct bp_flow *f)
{
	struct bp_fleet_worker *w = in->fleet;
	const uint32_t client = bp_flow_client(&in->table, f);
	struct asked *a;

	if (w->of_client[client] == ASKED_CLIENT_MAX) {
		bp_tally(in, BP_C_FLEET_ASK_CLIENT);
		return;
	}
	if (w->n == ASKED_MAX || !request(in, f)) {
		bp_tally(in, BP_C_FLEET_ASK_FULL);
		return;
	}
	a = &w->asked[(w->first + w->n++) % ASKED_MAX];
	bp_connection_key_of(f, &a->key);
	a->client = (uint16_t)client;
	a->deadline = in->mono_ns + ANSWER_NS;
	w->of_client[client]++;
	f->resync[0].valid = f->resync[0].missed = 0;
	f->resync[1].valid = 0;
	bp_flow_mark(f, BP_MARK_ASKED);
}

/* Longer than a sender waits before it repeats a segment. */
#define RETURN_TICKS (bp_ticks(250000000ull))
/* Numbers so far from those of a connection are of another one. */
#define ELSEWHERE (1u << 20)

/* When the last answer came, in units of about RETURN_TICKS. Segments that do not fit leave `seen`
 * as it is: without this time, each of them would ask again. Of a flow that is not searched,
 * `resync` has no other use. */
static uint16_t *answered(struct bp_flow *f)
{
	return &f->resync[0].asked;
}

static uint16_t answer_time(const struct bp_mqtt_worker *in)
{
	return (uint16_t)(bp_ticks(in->mono_ns) >> 8);
}

/* Whether a connection that this gateway knows may be asked for. */
static bool may_ask(const struct bp_mqtt_worker *in, struct bp_flow *f)
{
	return !(f->marks & BP_MARK_ASKED) && bp_stream_tracked(f, 0) && bp_stream_tracked(f, 1) &&
	       (uint16_t)(answer_time(in) - *answered(f)) > 1;
}

/* Likewise, and it was silent here. */
static bool may_return(const struct bp_mqtt_worker *in, struct bp_flow *f)
{
	return in->now_ticks - f->seen > RETURN_TICKS && may_ask(in, f);
}

void bp_fleet_ask_paused(struct bp_mqtt_worker *in, struct bp_flow *f)
{
	if ((int32_t)(f->seen - bp_ticks(*in->resumed_ns)) >= 0 || !may_ask(in, f))
		return;
	bp_fleet_ask(in, f);
	f->resync[0].valid = bp_fleet_returned(f);
}

bool bp_fleet_ask_lost(struct bp_mqtt_worker *in, struct bp_flow *f)
{
	if (may_ask(in, f))
		bp_fleet_ask(in, f);
	return bp_fleet_returned(f);
}

void bp_fleet_ask_returned(
	struct bp_mqtt_worker *in, struct bp_flow *f, const struct bp_frame *frame, unsigned dir)
{
	const uint32_t ahead = frame->seq - f->next[dir], acked = frame->ack - f->next[!dir];

	/* Without payload, too: the acknowledgement of what the sender sent through the other
	 * gateway can be the first segment that returns. */
	if ((frame->tcp_flags & BP_TCP_ACK) && (ahead | acked) != 0 && ahead <= BP_SEQ_OUTSIDE &&
		acked <= BP_SEQ_OUTSIDE && !(f->pending & BP_FLOW_HELD(dir)) && may_return(in, f))
		bp_fleet_ask(in, f);
}

void bp_fleet_ask_replaced(
	struct bp_mqtt_worker *in, struct bp_flow *f, const struct bp_frame *frame, unsigned dir)
{
	const uint32_t seq = frame->seq - f->next[dir], ack = frame->ack - f->next[!dir];

	if (!(frame->tcp_flags & BP_TCP_ACK) || seq + ELSEWHERE <= 2 * ELSEWHERE ||
		ack + ELSEWHERE <= 2 * ELSEWHERE || (f->pending & BP_FLOW_PUSHED_EITHER) ||
		!may_return(in, f))
		return;
	bp_fleet_ask(in, f);
	f->resync[1].valid = bp_fleet_returned(f);
	f->resync[dir].expect_seq = frame->seq;
	f->resync[!dir].expect_seq = frame->ack;
}

void bp_fleet_first_byte(struct bp_flow *f, unsigned dir, uint32_t seq)
{
	f->stream[dir] = BP_STREAM_BOUNDARY;
	f->next[dir] = f->top[dir] = seq;
}

/* Of a flow that is not searched, `resync` has no other use. */
void bp_fleet_acked(struct bp_flow *f, unsigned of, uint32_t ack)
{
	struct bp_resync *s = &f->resync[of];

	if (f->stream[of] == BP_STREAM_RESYNC || (s->valid && (int32_t)(ack - s->run_end) <= 0))
		return;
	s->valid = 1;
	s->run_end = ack;
}

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

/*
 * There is no state that fits: the waiting bytes are searched. A stale record (NULL: there is none)
 * still has what does not change in a connection.
 */
static void search(struct bp_mqtt_worker *in, struct bp_flow *f, bp_counter_t why,
	const struct bp_connection_record *stale)
{
	const bool silent = is_broker_silent(f, stale);
	const uint8_t before = f->proof;

	bp_tally(in, why);
	begin(in, f);
	*answered(f) = answer_time(in);
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

/* ---- answers ---- */

static bool is_inspected_port(const struct bp_mqtt_worker *in, const struct bp_connection_key *k)
{
	for (uint32_t i = 0; i < in->n_ports; i++)
		if (in->port[i] == k->broker_port)
			return true;
	return false;
}

static bool is_broker(const struct bp_mqtt_worker *in, const struct bp_connection_key *k)
{
	struct bp_address a = {.family = k->ip6 ? 6 : 4};

	memcpy(a.bytes, k->broker_ip, k->ip6 ? 16 : 4);
	for (uint32_t i = 0; i < in->n_brokers; i++)
		if (bp_prefix_contains(&in->brokers[i], &a))
			return true;
	return in->n_brokers == 0;
}

static struct bp_flow *find(const struct bp_mqtt_worker *in, const struct bp_connection_key *k)
{
	const struct bp_flow_table *t = &in->table;
	const uint64_t k1 = (uint64_t)k->ip6 << 56 | (uint64_t)k->vlan_inner << 44 |
			    (uint64_t)k->vlan_outer << 32 | (uint64_t)k->client_port << 16 |
			    k->broker_port;
	uint64_t k0 = k->ip6 ? bp_flow_k0_ip6(t, k->client_ip, k->broker_ip)
			     : bp_flow_k0_ip4(k->client_ip, k->broker_ip);

	if (k->tunnel != 0)
		k0 ^= bp_flow_k0_tunnel(t, k->tunnel);
	return bp_flow_find(t, bp_flow_hash(t, k0, k1), k0, k1, k->ip6 ? k->client_ip : NULL,
		k->ip6 ? k->broker_ip : NULL);
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

/*
 * Of both directions: a record of an earlier connection may seem to be only stale in one. Where
 * only the broker has sent more, the position of the client is still that of the record: while its
 * segments come here and the answers take another path, no newer record is possible.
 */
static bp_counter_t positions_fit(const struct bp_mqtt_worker *in, const struct bp_flow *f,
	const struct bp_connection_record *r)
{
	const bp_counter_t a = position_fits(in, f, 0, r), b = position_fits(in, f, 1, r);

	if (a == BP_C_FLEET_CONFLICT || b == BP_C_FLEET_CONFLICT)
		return BP_C_FLEET_CONFLICT;
	if (a != BP_C_FLEET_ADOPTED)
		return a;
	return b == BP_C_FLEET_STALE ? BP_C_FLEET_ADOPTED : b;
}

/* The CONNECT does not change: a connection that returns may have more of it than the record. */
static void apply_connect(
	struct bp_mqtt_worker *in, struct bp_flow *f, const struct bp_connection_record *r)
{
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

	if (f->will == 0) {
		bp_will_keep(in, f, &c);
		if (f->proof & BP_FLOW_PROVEN)
			bp_will_accepted(in, f);
	}
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
	f->has_alias_max =
		(f->has_alias_max & (BP_FLOW_JUDGED | BP_FLOW_COUNTED)) | r->has_alias_max;
	f->suspicious = r->suspicious;
	f->publishes = r->publishes;
	f->known |= r->known;
	if (r->marks != 0)
		bp_flow_mark(f, r->marks);
	for (unsigned dir = 0; dir < 2; dir++)
		f->alias_max[dir] = r->alias_max[dir];
	apply_connect(in, f, r);
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

static void adopt(
	struct bp_mqtt_worker *in, struct bp_flow *f, const struct bp_connection_record *r)
{
	const uint8_t before = f->proof;
	const bool stale = position_fits(in, f, BP_FROM_BROKER, r) == BP_C_FLEET_STALE;
	const uint32_t acked = f->resync[BP_FROM_BROKER].run_end;

	bp_tally(in, BP_C_FLEET_ADOPTED);
	begin(in, f);
	apply_session(in, f, r);
	bp_flow_prove(in, f);
	/* the wheel of proven connections has passed the time of the last segment */
	f->seen = in->table.now;
	/* its memory is that of a proven connection from now on */
	bp_flow_settle(in, f, before);
	*answered(f) = answer_time(in);
	apply_direction(in, f, BP_TO_BROKER, r);
	if (stale)
		search_broker(in, f, acked, r);
	else
		apply_direction(in, f, BP_FROM_BROKER, r);
	drain(in, f);
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

/* BP_C_FLEET_ADOPTED: the record is of the same connection, and further. */
static bp_counter_t is_further(const struct bp_mqtt_worker *in, const struct bp_flow *f,
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

/* What is held is after the gap, and what waits may be. The record replaces all else, which is of
 * the earlier position. */
static void adopt_returned(
	struct bp_mqtt_worker *in, struct bp_flow *f, const struct bp_connection_record *r)
{
	bool ahead[2];

	bp_tally(in, BP_C_FLEET_ADOPTED);
	begin(in, f);
	*answered(f) = answer_time(in);
	bp_ack_release(in, f);
	for (unsigned dir = 0; dir < 2; dir++) {
		ahead[dir] = is_ahead_here(in, f, dir, r);
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
	for (unsigned dir = 0; dir < 2; dir++)
		if (!ahead[dir])
			apply_direction(in, f, dir, r);
	drain(in, f);
	end(in, f, f->proof);
}

/* The record is of another connection than this one, which has been silent here, and the segment
 * that did not fit is of that connection: it is not an older record, nor was the segment forged. */
static bool is_replaced(const struct bp_mqtt_worker *in, const struct bp_flow *f,
	const struct bp_connection_record *r)
{
	bool fits = f->resync[1].valid; /* bp_fleet_ask_replaced() */

	for (unsigned dir = 0; dir < 2; dir++)
		fits &= f->resync[dir].expect_seq - r->next[dir] + ELSEWHERE <= 2 * ELSEWHERE;
	return fits && !(f->flags & BP_FLOW_CLOSED) && is_another(f, r) &&
	       in->now_ticks - f->seen > RETURN_TICKS;
}

static void remove_replaced(struct bp_mqtt_worker *in, struct bp_flow *f)
{
	bp_tally(in, BP_C_FLEET_CONFLICT);
	bp_event_end(in, f, BP_EVENT_END_SUPERSEDED);
	bp_flow_remove(&in->table, f);
}

/* There is no record that is further: the next acknowledgement finds out what was lost. */
static void stay(struct bp_mqtt_worker *in, struct bp_flow *f, bp_counter_t why)
{
	bp_tally(in, why);
	begin(in, f);
	*answered(f) = answer_time(in);
	drain(in, f);
	end(in, f, f->proof);
}

/* Whether bytes between the record and what was seen are missing. */
static bool has_gap(const struct bp_mqtt_worker *in, const struct bp_flow *f,
	const struct bp_connection_record *r)
{
	for (unsigned dir = 0; dir < 2; dir++) {
		uint32_t first = r->next[dir];

		if (!(f->proof & BP_FLOW_PROVEN) && f->stream[dir] == BP_STREAM_BOUNDARY)
			first = bp_wait_first(in, f, dir);
		else if (f->pending & BP_FLOW_HELD(dir))
			first = bp_hold_first(in, f, dir);
		else if (f->marks & BP_MARK_CLAIM(dir))
			first = f->claim[dir];
		if ((int32_t)(first - r->next[dir]) > 0)
			return true;
	}
	return false;
}

/* The gateway that stored a record which is behind may store the next one. False: it is not asked
 * again. */
static bool ask_again(struct bp_mqtt_worker *in, struct bp_flow *f)
{
	struct bp_fleet_worker *w = in->fleet;
	struct bp_resync *s = &f->resync[0]; /* of a flow that is not searched */
	struct again *a;

	if (s->missed == AGAIN_MAX || w->n_again == ASKED_MAX)
		return false;
	s->missed++;
	a = &w->again[(w->again_first + w->n_again++) % ASKED_MAX];
	bp_connection_key_of(f, &a->key);
	a->due = in->mono_ns + AGAIN_NS;
	return true;
}

/* A full ring: what waits ends as without an answer. */
static void ask_due(struct bp_mqtt_worker *in)
{
	struct bp_fleet_worker *w = in->fleet;

	while (w->n_again != 0 && w->again[w->again_first].due <= in->mono_ns) {
		const struct again *a = &w->again[w->again_first];
		const struct bp_flow *f = find(in, &a->key);

		if (f != NULL && (f->marks & BP_MARK_ASKED))
			(void)request(in, f);
		w->again_first = (w->again_first + 1) % ASKED_MAX;
		w->n_again--;
	}
}

/* An answer; p[0..n): the record. */
static void answer(struct bp_mqtt_worker *in, const struct bp_connection_key *k, const uint8_t *p,
	uint32_t n, bool found)
{
	struct bp_flow *f = find(in, k);
	struct bp_connection_record r;
	bp_counter_t result;

	if (f == NULL || !(f->marks & BP_MARK_ASKED)) {
		bp_tally(in, BP_C_FLEET_LATE);
		return;
	}
	if (!found)
		result = BP_C_FLEET_NOT_FOUND;
	else if (!bp_connection_record_read(p, n, &r) || !bp_connection_key_equal(&r.key, k))
		result = BP_C_FLEET_INVALID;
	else if (!is_inspected_port(in, k) || !is_broker(in, k))
		result = BP_C_FLEET_CONFLICT;
	else
		result = bp_fleet_returned(f) ? is_further(in, f, &r) : positions_fit(in, f, &r);
	if ((result == BP_C_FLEET_STALE || (result == BP_C_FLEET_ADOPTED && has_gap(in, f, &r))) &&
		ask_again(in, f))
		return;
	if (bp_fleet_returned(f) && result == BP_C_FLEET_CONFLICT && is_replaced(in, f, &r))
		remove_replaced(in, f);
	else if (bp_fleet_returned(f))
		result == BP_C_FLEET_ADOPTED ? adopt_returned(in, f, &r) : stay(in, f, result);
	else if (result == BP_C_FLEET_ADOPTED)
		adopt(in, f, &r);
	else
		search(in, f, result, result == BP_C_FLEET_STALE ? &r : NULL);
}

static void read_offer(struct bp_mqtt_worker *in, const uint8_t *offer, uint32_t size)
{
	struct bp_fleet_worker *w = in->fleet;
	struct bp_adopt_offer head;
	struct bp_connection_key k;
	uint32_t n;

	if (size >= sizeof(head)) {
		memcpy(&head, offer, sizeof(head));
		if (head.result == BP_ADOPT_STATE) {
			bp_fleet_state_offer(
				in, offer + sizeof(head), size - (uint32_t)sizeof(head));
			return;
		}
	}
	if (size < sizeof(head) + sizeof(k) ||
		size - sizeof(head) - sizeof(k) > sizeof(w->record)) {
		bp_tally(in, BP_C_FLEET_INVALID);
		return;
	}
	memcpy(&k, offer + sizeof(head), sizeof(k));
	n = size - (uint32_t)(sizeof(head) + sizeof(k));
	memcpy(w->record, offer + size - n, n);
	if (k.ip6 > 1 || k.vlan_outer > 0xfff || k.vlan_inner > 0xfff) {
		bp_tally(in, BP_C_FLEET_INVALID);
		return;
	}
	answer(in, &k, w->record, n, head.result == BP_ADOPT_FOUND);
}

static void give_up(struct bp_mqtt_worker *in)
{
	struct bp_fleet_worker *w = in->fleet;
	unsigned searches = 0;

	while (w->n != 0 && searches < ANSWERS_MAX) {
		const struct asked *a = &w->asked[w->first];
		struct bp_flow *f = find(in, &a->key);
		const bool waits = f != NULL && (f->marks & BP_MARK_ASKED);

		if (waits && in->mono_ns < a->deadline)
			return;
		w->of_client[a->client]--;
		w->first = (w->first + 1) % ASKED_MAX;
		w->n--;
		searches += waits;
		if (waits && bp_fleet_returned(f))
			stay(in, f, BP_C_FLEET_TIMEOUT);
		else if (waits)
			search(in, f, BP_C_FLEET_TIMEOUT, NULL);
	}
}

void bp_fleet_tick(struct bp_mqtt_worker *in)
{
	struct bp_fleet_worker *w = in->fleet;

	if (w == NULL)
		return;
	for (unsigned i = 0; i < ANSWERS_MAX; i++) {
		const uint64_t before = w->cursor;
		uint32_t size;
		const uint8_t *offer = bp_ring_peek(w->offers, &w->cursor, &size);

		if (offer != NULL)
			read_offer(in, offer, size);
		if (w->cursor == before)
			break;
		bp_ring_release(w->offers, w->cursor);
	}
	ask_due(in);
	give_up(in);
}
