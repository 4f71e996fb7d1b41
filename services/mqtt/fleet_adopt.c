/* SPDX-License-Identifier: BSD-3-Clause */
#include <stdlib.h>

#include "biplane/counters/mqtt.h"
#include "services/mqtt/connection_record.h"
#include "services/mqtt/fleet_adopt.h"
#include "services/mqtt/fleet_apply.h"
#include "services/mqtt/flow_export.h"
#include "services/mqtt/mqtt_worker.h"
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
 * Time until an answer is not awaited any longer, and the number of connections that wait: all
 * those of a gateway may move here at the same time.
 */
#define ANSWER_NS 1000000000ull
#define ASKED_MAX 16384u
/* Of these, for one client address (BP_CLIENTS), so that a client that opens many connections, or
 * forges them, leaves some for others. */
#define ASKED_CLIENT_MAX (ASKED_MAX / 4)
/* Requests of one worker without an answer, so that the control plane need not leave any in the
 * ring, behind which reports of holds would wait; and the part of the ring that requests use. */
#define OPEN_MAX 256u
#define REQUESTS_PART 4u
/* A request that waited for longer would be answered too late: under overload, those behind it
 * would be, too. */
#define ASK_BEFORE_NS (ANSWER_NS / 2)
#define DEFERRED_MAX 256u /* of these, in one call */
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
	struct bp_fleet_changes *changes;
	_Atomic uint64_t *holds_lost;
	uint64_t client_key;           /* for bp_hold_client() */
	uint64_t cursor;               /* in the offers */
	uint32_t first, n;             /* of `asked`, oldest first; answered ones too */
	uint32_t deferred;             /* the last ones of these: not requested yet */
	uint32_t open;                 /* requests without an answer; at most n - deferred */
	uint32_t again_first, n_again; /* of `again`, the same */
	uint16_t of_client[BP_CLIENTS];
	struct asked asked[ASKED_MAX];
	struct again again[ASKED_MAX];
	/* copies: the originals can change */
	uint8_t record[BP_CONNECTION_RECORD_MAX], holds[BP_ADOPT_HOLDS_MAX];
};

struct bp_fleet_worker *bp_fleet_worker_create(struct bp_shm *shm, unsigned worker)
{
	struct bp_fleet_worker *w = calloc(1, sizeof(*w));

	if (w == NULL)
		return NULL;
	w->requests = &shm->adopt_requests[worker];
	w->offers = &shm->adopt_offers[worker];
	w->cursor = bp_ring_tail(w->offers);
	w->holds_lost = shm->shared->holds_lost;
	w->client_key = shm->global->hash_key[0];
	w->changes = bp_fleet_changes_open(shm);
	if (w->changes == NULL) {
		free(w);
		return NULL;
	}
	return w;
}

/* ---- requests ---- */

struct bp_fleet_changes *bp_fleet_changes_of(const struct bp_mqtt_worker *in)
{
	return in->fleet->changes;
}

struct bp_ring *bp_fleet_requests(const struct bp_mqtt_worker *in)
{
	return in->fleet->requests;
}

void bp_fleet_hold_lost(struct bp_mqtt_worker *in, const struct bp_flow *f)
{
	const uint32_t client =
		bp_hold_client(in->fleet->client_key, f->client_ip, (f->flags & BP_FLOW_IP6) != 0);

	atomic_fetch_or(&in->fleet->holds_lost[client / 64], (uint64_t)1 << client % 64);
	bp_tally(in, BP_C_FLEET_HOLD_NOT_REPORTED);
}

bool bp_connection_key_of(
	const struct bp_flow_header *h, const struct bp_flow *f, struct bp_connection_key *k)
{
	const size_t width = f->flags & BP_FLOW_IP6 ? 16 : 4;
	char network[BP_NAME_MAX + 1];

	memset(k, 0, sizeof(*k));
	memcpy(k->client_ip, f->client_ip, width);
	memcpy(k->broker_ip, f->broker_ip, width);
	k->client_port = (uint16_t)(f->k1 >> 16);
	k->broker_port = (uint16_t)f->k1;
	k->vlan_outer = f->k1 >> 32 & 0xfff;
	k->vlan_inner = f->k1 >> 44 & 0xfff;
	k->tunnel = f->tunnel;
	k->ip6 = (f->flags & BP_FLOW_IP6) != 0;
	if (bp_flow_network(f) == BP_NETWORK_OTHER || bp_flow_network_name(h, f, network) == NULL)
		return false;
	memcpy(k->network, network, strlen(network));
	return true;
}

/* False: it has to wait. */
static bool request(struct bp_mqtt_worker *in, const struct bp_connection_key *k)
{
	struct bp_ring *ring = in->fleet->requests;
	uint64_t mark;
	void *p;

	if (in->fleet->open >= OPEN_MAX ||
		bp_ring_used(ring) + sizeof(*k) > ring->capacity / REQUESTS_PART)
		return false;
	p = bp_ring_reserve(ring, sizeof(*k), &mark);
	if (p == NULL)
		return false;
	memcpy(p, k, sizeof(*k));
	bp_tally(in, BP_C_FLEET_ASKED);
	bp_ring_commit(ring, mark);
	in->fleet->open++;
	return true;
}

void bp_fleet_ask(struct bp_mqtt_worker *in, struct bp_flow *f)
{
	struct bp_fleet_worker *w = in->fleet;
	const uint32_t client = bp_flow_client(&in->table, f);
	struct asked *a;

	if (bp_flow_network(f) == BP_NETWORK_OTHER)
		return; /* the same name is that of other VRFs at another gateway */
	if (w->of_client[client] == ASKED_CLIENT_MAX) {
		bp_tally(in, BP_C_FLEET_ASK_CLIENT);
		return;
	}
	if (w->n == ASKED_MAX) {
		bp_tally(in, BP_C_FLEET_ASK_FULL);
		return;
	}
	a = &w->asked[(w->first + w->n++) % ASKED_MAX];
	(void)bp_connection_key_of(in->table.header, f, &a->key);
	if (w->deferred != 0 || !request(in, &a->key)) {
		bp_tally(in, BP_C_FLEET_ASK_DEFERRED);
		w->deferred++;
	}
	a->client = (uint16_t)client;
	a->deadline = in->mono_ns + ANSWER_NS;
	w->of_client[client]++;
	f->resync[0].valid = f->resync[0].missed = 0;
	f->resync[1].valid = 0;
	bp_flow_mark(f, BP_MARK_ASKED);
}

/* Whether a connection that this gateway knows may be asked for: `after` the last answer, in the
 * units of bp_fleet_answered(). */
#define AFTER_LOSS 1u
#define AFTER_SEGMENT 5u /* 0.3 s */
static bool may_ask(const struct bp_mqtt_worker *in, struct bp_flow *f, unsigned after)
{
	return !(f->marks & BP_MARK_ASKED) && bp_stream_tracked(f, 0) && bp_stream_tracked(f, 1) &&
	       (uint16_t)(bp_fleet_answer_time(in) - *bp_fleet_answered(f)) >= after;
}

/* Likewise, and it was silent here. */
static bool may_return(const struct bp_mqtt_worker *in, struct bp_flow *f)
{
	return in->now_ticks - f->seen > BP_FLEET_RETURN_TICKS && may_ask(in, f, AFTER_SEGMENT);
}

void bp_fleet_ask_paused(struct bp_mqtt_worker *in, struct bp_flow *f)
{
	if ((int32_t)(f->seen - bp_ticks(*in->resumed_ns)) >= 0 || !may_ask(in, f, AFTER_SEGMENT))
		return;
	bp_fleet_ask(in, f);
	f->resync[0].valid = bp_fleet_returned(f);
}

bool bp_fleet_ask_lost(struct bp_mqtt_worker *in, struct bp_flow *f)
{
	/* not of a forged segment, and what is lost cannot be read later: the routers change one
	 * direction soon after the other */
	if (may_ask(in, f, AFTER_LOSS))
		bp_fleet_ask(in, f);
	return bp_fleet_returned(f);
}

/* A number is not near those here: the segment is of another connection, or forged. Not both must
 * be: an end that uses the addresses of its last connection again soon continues a little above its
 * numbers (RFC 9293 3.10.7.4: TIME-WAIT), the other end anywhere. */
static bool is_elsewhere(const struct bp_flow *f, const struct bp_frame *frame, unsigned dir)
{
	return (!bp_fleet_is_near(frame->seq, f->next[dir]) ||
		       !bp_fleet_is_near(frame->ack, f->next[!dir])) &&
	       !(f->pending & BP_FLOW_PUSHED_EITHER);
}

/* The numbers that the record of another connection must be near to: bp_fleet_is_replaced(). */
static void note_numbers(struct bp_flow *f, const struct bp_frame *frame, unsigned dir)
{
	f->resync[1].valid = bp_fleet_returned(f);
	f->resync[dir].expect_seq = frame->seq;
	f->resync[!dir].expect_seq = frame->ack;
}

void bp_fleet_ask_returned(
	struct bp_mqtt_worker *in, struct bp_flow *f, const struct bp_frame *frame, unsigned dir)
{
	const uint32_t ahead = frame->seq - f->next[dir], acked = frame->ack - f->next[!dir];

	/* Without payload, too: the acknowledgement of what the sender sent through the other
	 * gateway can be the first segment that returns. */
	if (!(frame->tcp_flags & BP_TCP_ACK) || (ahead | acked) == 0 || ahead > BP_SEQ_OUTSIDE ||
		acked > BP_SEQ_OUTSIDE || (f->pending & BP_FLOW_HELD(dir)) || !may_return(in, f))
		return;
	bp_fleet_ask(in, f);
	/* far ahead: another connection's numbers can be that, too */
	if (is_elsewhere(f, frame, dir))
		note_numbers(f, frame, dir);
}

void bp_fleet_ask_replaced(
	struct bp_mqtt_worker *in, struct bp_flow *f, const struct bp_frame *frame, unsigned dir)
{
	if (!(frame->tcp_flags & BP_TCP_ACK) || !is_elsewhere(f, frame, dir) || !may_return(in, f))
		return;
	bp_fleet_ask(in, f);
	note_numbers(f, frame, dir);
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

/* The number of the network here; BP_NETWORKS: there is none of this name. */
static uint8_t network_of(const struct bp_mqtt_worker *in, const struct bp_connection_key *k)
{
	uint8_t n = 0;

	while (n < BP_NETWORKS &&
		memcmp(in->table.header->network[n], k->network, sizeof(k->network)) != 0)
		n++;
	return n;
}

static struct bp_flow *find(const struct bp_mqtt_worker *in, const struct bp_connection_key *k)
{
	const struct bp_flow_table *t = &in->table;
	const uint8_t network = network_of(in, k);
	const uint64_t k1 = bp_flow_k1_network(network) | (uint64_t)k->ip6 << BP_FLOW_K1_IP6 |
			    (uint64_t)k->vlan_inner << 44 | (uint64_t)k->vlan_outer << 32 |
			    (uint64_t)k->client_port << 16 | k->broker_port;
	uint64_t k0 = k->ip6 ? bp_flow_k0_ip6(t, k->client_ip, k->broker_ip)
			     : bp_flow_k0_ip4(k->client_ip, k->broker_ip);

	if (network == BP_NETWORKS)
		return NULL;
	if (k->tunnel != 0)
		k0 ^= bp_flow_k0_tunnel(t, k->tunnel);
	return bp_flow_find(t, bp_flow_hash(t, k0, k1), k0, k1, k->ip6 ? k->client_ip : NULL,
		k->ip6 ? k->broker_ip : NULL);
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
	(void)bp_connection_key_of(in->table.header, f, &a->key);
	a->due = in->mono_ns + AGAIN_NS;
	return true;
}

/* Requests that had to wait, in their order: those that still have time for an answer. */
static void ask_deferred(struct bp_mqtt_worker *in)
{
	struct bp_fleet_worker *w = in->fleet;

	for (unsigned i = 0; w->deferred != 0 && i < DEFERRED_MAX; i++) {
		const struct asked *a = &w->asked[(w->first + w->n - w->deferred) % ASKED_MAX];
		const struct bp_flow *f;

		if (in->mono_ns + ASK_BEFORE_NS <= a->deadline && (f = find(in, &a->key)) != NULL &&
			(f->marks & BP_MARK_ASKED) && !request(in, &a->key))
			return;
		w->deferred--;
	}
}

/* If it has to wait, the next tick tries again. */
static void ask_due(struct bp_mqtt_worker *in)
{
	struct bp_fleet_worker *w = in->fleet;

	while (w->n_again != 0 && w->again[w->again_first].due <= in->mono_ns) {
		const struct again *a = &w->again[w->again_first];
		const struct bp_flow *f = find(in, &a->key);

		if (f != NULL && (f->marks & BP_MARK_ASKED) && !request(in, &a->key))
			return;
		w->again_first = (w->again_first + 1) % ASKED_MAX;
		w->n_again--;
	}
}

/* An answer; p[0..n): the record. */
static void answer(struct bp_mqtt_worker *in, const struct bp_connection_key *k, const uint8_t *p,
	uint32_t n, bool found, const struct bp_fleet_holds *holds)
{
	struct bp_flow *f = find(in, k);
	struct bp_connection_record r;
	bp_counter_t result;

	in->fleet->open -= in->fleet->open != 0;
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
		result = bp_fleet_returned(f) ? bp_fleet_is_further(in, f, &r)
					      : bp_fleet_positions_fit(in, f, &r);
	if (found && (result == BP_C_FLEET_CONFLICT || result == BP_C_FLEET_STALE) &&
		bp_fleet_returned(f) && bp_fleet_is_replaced(in, f, &r)) {
		bp_fleet_remove_replaced(in, f);
		return;
	}
	if ((result == BP_C_FLEET_STALE ||
		    (result == BP_C_FLEET_ADOPTED && bp_fleet_has_gap(in, f, &r))) &&
		ask_again(in, f))
		return;
	if (bp_fleet_returned(f))
		result == BP_C_FLEET_ADOPTED ? bp_fleet_adopt_returned(in, f, &r, holds)
					     : bp_fleet_stay(in, f, result);
	else if (result == BP_C_FLEET_ADOPTED)
		bp_fleet_adopt(in, f, &r, holds);
	else
		bp_fleet_search(in, f, result, result == BP_C_FLEET_STALE ? &r : NULL, holds);
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
	n = (uint32_t)(sizeof(head) + sizeof(k));
	if (size < n || head.holds_len > sizeof(w->holds) || size - n < head.holds_len ||
		size - n - head.holds_len > sizeof(w->record)) {
		bp_tally(in, BP_C_FLEET_INVALID);
		return;
	}
	memcpy(&k, offer + sizeof(head), sizeof(k));
	memcpy(w->holds, offer + n, head.holds_len);
	n = size - n - head.holds_len;
	memcpy(w->record, offer + size - n, n);
	if (!bp_connection_key_sound(&k) || network_of(in, &k) == BP_NETWORKS) {
		bp_tally(in, BP_C_FLEET_INVALID);
		return;
	}
	answer(in, &k, w->record, n, head.result == BP_ADOPT_FOUND,
		&(struct bp_fleet_holds){.p = w->holds, .n = head.holds_len});
}

static void give_up(struct bp_mqtt_worker *in)
{
	static const struct bp_fleet_holds none;
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
		if (w->deferred > w->n)
			w->deferred = w->n;
		searches += waits;
		if (waits && bp_fleet_returned(f))
			bp_fleet_stay(in, f, BP_C_FLEET_TIMEOUT);
		else if (waits)
			bp_fleet_search(in, f, BP_C_FLEET_TIMEOUT, NULL, &none);
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
	give_up(in);
	/* answers may be lost, and come too late */
	if (w->open > w->n - w->deferred)
		w->open = w->n - w->deferred;
	ask_due(in);
	ask_deferred(in);
}
