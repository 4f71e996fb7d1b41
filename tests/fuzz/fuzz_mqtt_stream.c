/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Inspection as a whole: segments of a few connections in any order, with small bounds so that each
 * of them is met, also those of MQTT in WebSocket. Two kinds of input, selected by the first byte:
 *
 * - segments: records that say connection, direction, sequence number, flags and payload. Nothing
 *   may be carried when all flows are gone, and the counters must add up. With and without
 *   publications that wait for their acknowledgement, and with policies that refuse packets, which
 *   forward each byte with one value only, and no refused publication.
 * - a stream: the same bytes in one piece and in the pieces that the input asks for. The alarms
 * must be the same.
 */
#include "biplane/counters/mqtt.h"
#include "rig.h"
#include "websocket_peer.h"

#include <stddef.h>
#include <string.h>

#include "services/mqtt/flow.h"
#include "services/mqtt/inspect.h"
#include "proto/net/frame.h"
#include "tests/fuzz/forwarded.h"
#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/policies.h"

#define FLOWS 2
#define UNPROVEN 1
#define CONNECTIONS 3

struct input {
	const uint8_t *p, *end;
};

static uint8_t take(struct input *in)
{
	return in->p < in->end ? *in->p++ : 0;
}

static const uint8_t *take_bytes(struct input *in, size_t want, size_t *n)
{
	const uint8_t *p = in->p;

	*n = (size_t)(in->end - in->p) < want ? (size_t)(in->end - in->p) : want;
	in->p += *n;
	return p;
}

/* waiting: as tight, for acknowledgements; refusing: as tight, with the policies that refuse */
static struct rig tight, waiting, roomy, refusing[REFUSING];
static bool websocket; /* the connections of this input */

static bool refuses(const struct rig *r)
{
	return r >= refusing && r < refusing + REFUSING;
}

/* Building a set takes longer than most inputs do, so it is done only when it is another. */
static void put_rules(struct rig *r, unsigned set)
{
	static unsigned in_force[3 + REFUSING];
	unsigned *now = &in_force[refuses(r) ? 3 + r - refusing : r == &roomy ? 2 : r == &waiting];
	struct bp_rule_spec rules[4] = {rig_rule("a", "a/+", BP_COND_GT, 50),
		rig_rule("b", "#", BP_COND_LT, 50), rig_rule("c", "+/b", BP_COND_NE, 7),
		rig_rule("d", "plant/+/temperature", BP_COND_GT, 80)};

	set &= 1;
	if (r->generation != 0 && *now == set)
		return;
	*now = set;
	rules[1].repeat = BP_REPEAT_ON_CHANGE;
	rules[2].action = BP_ACTION_MIRROR;
	memcpy(rules[3].to, "x/{client}/{rule}", 18);
	rig_rules(r, rules + set, 3);
}

static void add_websocket_port(struct bp_config_mqtt *m)
{
	m->n_websocket_ports = 1;
	m->websocket_ports[0] = WS_PORT;
}

static void start_tight(struct rig *r, uint8_t evaluate, const struct bp_policy_spec *policy)
{
	struct bp_config_mqtt *m = &r->mqtt;

	rig_defaults(r);
	m->policy = *policy;
	m->evaluate = evaluate;
	m->max_connections = FLOWS;
	m->max_unestablished = UNPROVEN;
	m->reassembly_per_connection = 1024;
	m->reassembly_total = 2048;
	m->reorder_buffer = 512;
	m->resync_packets = 2;
	m->max_alarm_states = 16;
	m->alarm_queue_size = 4096;
	add_websocket_port(m);
	rig_open(r);
}

static void start(void)
{
	start_tight(&tight, BP_EVALUATE_PUBLISHED, &policies[0]);
	start_tight(&waiting, BP_EVALUATE_ACKNOWLEDGED, &policies[0]);
	for (unsigned i = 0; i < REFUSING; i++)
		start_tight(&refusing[i], BP_EVALUATE_PUBLISHED, &policies[1 + i]);
	rig_defaults(&roomy);
	roomy.mqtt.alarm_queue_size = 4 * 1024 * 1024;
	roomy.mqtt.reassembly_per_connection = 1024 * 1024;
	add_websocket_port(&roomy.mqtt);
	rig_open(&roomy);
}

static void reset(struct rig *r)
{
	memset(r->shm.rule_state, 0, r->shm.rule_state_len * sizeof(*r->shm.rule_state));
	memset(&r->shm.counters[0], 0, sizeof(r->shm.counters[0]));
	put_rules(r, 0);
}

/*
 * Frames are made by hand: headers by the peer builder once, then only what changes. No checksums,
 * which have a test of their own.
 */
struct side {
	uint8_t head[128];
	size_t n;
};
struct connection {
	struct peer peer;
	struct side side[2];
	struct forwarded left; /* to the broker */
};
static struct connection connection[CONNECTIONS];

static void open_connections(void)
{
	for (unsigned i = 0; i < CONNECTIONS; i++) {
		struct connection *c = &connection[i];

		peer_init(&c->peer, i == 2, i + 1, 0xffffff00u, 0xfffffff0u);
		if (websocket)
			c->peer.broker_port = WS_PORT;
		c->peer.n_vlan = i == 1;
		c->peer.vlan[0] = 5;
		forwarded_reset(&c->left);
		for (unsigned d = 0; d < 2; d++)
			c->side[d].n =
				peer_frame(&c->peer, d, TH_ACK, 0, 0, NULL, 0, c->side[d].head);
	}
}

/* Connections of a rig that began or ended: their numbers may be used again. */
static uint64_t lives(const struct rig *r)
{
	return rig_count(r, BP_C_CONN_OPENED) + rig_count(r, BP_C_CONN_REOPENED) +
	       rig_count(r, BP_C_CONN_MIDSTREAM);
}

/* Of the one that passes what it cannot overwrite, refused publications leave. */
static bool none_leaves(const struct rig *r)
{
	return !websocket && refuses(r) && r->mqtt.policy.fallback == BP_POLICY_FALLBACK_CLOSE;
}

static void forget_connection(const struct rig *r, struct connection *c)
{
	if (none_leaves(r))
		forwarded_publications(&c->left);
	forwarded_reset(&c->left);
}

/* Through a policy that refuses packets; `data`: the frame, with its first bytes of payload. */
static void enforced(struct rig *r, struct connection *c, struct bp_frame *f, uint8_t *data)
{
	const uint32_t here = f->contiguous - f->payload;
	const uint64_t before = lives(r);
	struct bp_enforced e;
	struct bp_lookup l;
	uint32_t n = f->payload_len;
	uint8_t *arrived = malloc(f->contiguous);

	memcpy(arrived, data, f->contiguous);
	bp_inspect_hash(r->in, f, &l);
	bp_inspect_probe(r->in, f, &l);
	bp_inspect_enforce(r->in, f, &l, f->n_more == 0 ? data + f->payload : NULL, &e);
	HOLDS(e.n_answers <= BP_ANSWERS_MAX);
	HOLDS(e.verdict != BP_FRAME_CUT || (e.keep < n && f->n_more == 0) ||
		(f->tcp_flags & TH_SYN));
	HOLDS(e.verdict == BP_FRAME_FORWARD || e.reason != 0);
	/* what is not said to have changed needs no new checksum */
	HOLDS(memcmp(data, arrived, e.changed ? f->payload : f->contiguous) == 0);
	free(arrived);
	if (lives(r) != before)
		forget_connection(r, c);
	if (!c->left.any || c->left.n == 0) {
		if ((f->tcp_flags & TH_SYN) && f->to_broker)
			forwarded_begin(&c->left, f->seq + 1);
		else if (f->tcp_flags & TH_SYN)
			forwarded_begin(&c->left, f->ack);
	}
	if (!f->to_broker) {
		if (f->tcp_flags & TH_ACK)
			forwarded_acked(&c->left, f->ack);
		return;
	}
	if (e.verdict == BP_FRAME_DROP)
		return;
	if (e.verdict == BP_FRAME_CUT)
		n = e.keep;
	forwarded_bytes(&c->left, f->seq, data + f->payload, n < here ? n : here);
	if (n > here)
		forwarded_bytes(&c->left, f->seq + here, f->more[0].data, n - here);
	c->left.is_whole = e.flow != NULL && !(e.flow->flags & BP_FLOW_MIDWAY) &&
			   e.flow->syn_seq + 1 == c->left.begin;
}

/* Headers and payload in memory of their very size, in one piece or two. */
static void segment(struct rig *r, unsigned i, unsigned d, uint8_t flags, uint32_t seq,
	uint32_t ack, const uint8_t *payload, size_t n, size_t first)
{
	struct connection *c = &connection[i];
	size_t l4 = peer_l4(&c->peer), head = c->side[d].n;
	struct bp_piece more;
	struct bp_frame f = {.l3 = (uint16_t)(l4 - (c->peer.ip6 ? 40 : 20)),
		.l4 = (uint16_t)l4,
		.payload = (uint16_t)head,
		.payload_len = (uint32_t)n,
		.sport = d == CLIENT ? c->peer.client_port : c->peer.broker_port,
		.dport = d == CLIENT ? c->peer.broker_port : c->peer.client_port,
		.vlan_outer = c->peer.n_vlan != 0 ? 5 : 0,
		.seq = seq,
		.ack = ack,
		.tcp_flags = flags,
		.ip6 = c->peer.ip6,
		.to_broker = d == CLIENT};
	uint8_t *data, *rest = NULL;

	if (first > n)
		first = n;
	data = malloc(head + first);
	memcpy(data, c->side[d].head, head);
	if (first != 0)
		memcpy(data + head, payload, first);
	f.data = data;
	f.contiguous = (uint32_t)(head + first);
	if (first != n) {
		rest = malloc(n - first);
		memcpy(rest, payload + first, n - first);
		more.data = rest;
		more.len = (uint32_t)(n - first);
		f.more = &more;
		f.n_more = 1;
	}
	if (refuses(r))
		enforced(r, c, &f, data);
	else
		bp_inspect_one(r->in, &f);
	free(data);
	free(rest);
}

static void send_in_order(struct rig *r, unsigned i, unsigned d, const uint8_t *p, size_t n)
{
	struct peer *c = &connection[i].peer;

	segment(r, i, d, TH_ACK, c->seq[d], c->seq[!d], p, n, n);
	c->seq[d] += (uint32_t)n;
}

/* Frees the bytes. */
static void send_packet(struct rig *r, unsigned i, unsigned d, struct bytes *mqtt)
{
	struct bytes b = *mqtt;

	if (websocket) {
		memset(&b, 0, sizeof(b));
		ws_message(&b, d, mqtt);
	}
	send_in_order(r, i, d, b.p, b.n);
	bytes_free(&b);
	memset(mqtt, 0, sizeof(*mqtt));
}

static void upgrade(struct rig *r, unsigned i)
{
	struct bytes b = {0};

	ws_request(&b, "");
	send_in_order(r, i, CLIENT, b.p, b.n);
	b.n = 0;
	ws_response(&b, "");
	send_in_order(r, i, BROKER, b.p, b.n);
	bytes_free(&b);
}

/* A connection as far as its CONNACK. */
static void prelude(struct rig *r, unsigned i, uint8_t how)
{
	struct peer *c = &connection[i].peer;
	uint8_t version = (uint8_t)(3 + how % 3);
	struct bytes b = {0};

	for (unsigned d = 0; d < 2; d++)
		c->first[d] = c->seq[d] = c->seq[d] + 0x10000;
	segment(r, i, CLIENT, TH_SYN, c->seq[CLIENT]++, 0, NULL, 0, 0);
	segment(r, i, BROKER, TH_SYN | TH_ACK, c->seq[BROKER]++, c->seq[CLIENT], NULL, 0, 0);
	if (websocket)
		upgrade(r, i);
	mq_connect(&b, version, how & 0x10 ? "fuzz/+" : "", how >> 5);
	send_packet(r, i, CLIENT, &b);
	mq_connack(&b, version, 0, how >> 5, NULL);
	send_packet(r, i, BROKER, &b);
}

static void control(struct rig *r, unsigned i, unsigned d, uint8_t what)
{
	struct peer *c = &connection[i].peer;

	switch (what % 8) {
	case 0:
		segment(r, i, CLIENT, TH_SYN, c->seq[CLIENT]++, 0, NULL, 0, 0);
		break;
	case 1:
		segment(r, i, BROKER, TH_SYN | TH_ACK, c->seq[BROKER]++, c->seq[CLIENT], NULL, 0,
			0);
		break;
	case 2:
		segment(r, i, d, TH_FIN | TH_ACK, c->seq[d] + (what >> 7) * (what >> 3), c->seq[!d],
			NULL, 0, 0);
		break;
	case 3:
		segment(r, i, d, TH_RST, c->seq[d], 0, NULL, 0, 0);
		break;
	case 4:
		rig_advance(r, (uint64_t)(what >> 3) * 1000000000);
		bp_mqtt_worker_tick(r->in, r->mono_ns);
		break;
	case 5:
		put_rules(r, what >> 3);
		break;
	case 6: /* bytes that were lost before they came here */
		c->seq[d] += what >> 3;
		break;
	default:
		c->seq[d] -= what >> 3;
		break;
	}
}

static void segments(struct rig *r, struct input *in)
{
	open_connections();
	while (in->p < in->end) {
		uint8_t op = take(in), kind = op >> 3 & 7;
		unsigned i = (op & 3) % CONNECTIONS, d = op >> 2 & 1;
		struct peer *c = &connection[i].peer;
		const uint8_t *payload;
		int32_t offset = 0;
		size_t n, want;

		if (kind == 4) {
			control(r, i, d, take(in));
			continue;
		}
		if (kind == 5) {
			prelude(r, i, take(in));
			continue;
		}
		if (kind == 3) {
			offset = (int32_t)take(in) - 128;
			segment(r, i, d, TH_ACK, c->seq[d], c->seq[!d] + (uint32_t)offset, NULL, 0,
				0);
			continue;
		}
		if (kind == 2 || kind == 7)
			offset = (int32_t)take(in) - 128;
		want = take(in);
		if (kind == 6)
			want = want << 8 | take(in);
		payload = take_bytes(in, want, &n);
		/* connection 0 has two numbers: one of them does not push */
		segment(r, i, d,
			(kind == 1 ? TH_ACK | TH_FIN : TH_ACK) | ((op & 3) != 3 ? TH_PSH : 0),
			c->seq[d] + (kind == 2 ? (uint32_t)offset : 0),
			c->seq[!d] + (kind == 7 ? (uint32_t)offset : 0), payload, n,
			op & 0x40 ? n / 2 : n);
		if (!(op & 0x80))
			c->seq[d] += (uint32_t)n + (kind == 1);
		HOLDS(bp_mqtt_worker_carried(r->in) <= 2048);
		HOLDS(bp_mqtt_worker_flows(r->in) <= FLOWS + UNPROVEN);
	}
}

static uint64_t opaque_total(const struct rig *r)
{
	uint64_t n = 0;

	for (unsigned c = BP_C_NOT_INSPECTED_NOT_MQTT; c <= BP_C_NOT_INSPECTED_LAST; c++)
		n += rig_count(r, c);
	return n;
}

/* Invariants after any input. */
static void check(struct rig *r)
{
	uint64_t told;

	rig_expire_all(r);
	HOLDS(bp_mqtt_worker_carried(r->in) == 0);
	told = rig_count(r, BP_C_ALARM_RAISED) + rig_count(r, BP_C_ALARM_CLEARED);
	HOLDS(told == rig_count(r, BP_C_ALARM_QUEUED) + rig_count(r, BP_C_ALARM_QUEUE_FULL) +
			      rig_count(r, BP_C_ALARM_TOO_LARGE));
	HOLDS(rig_told_count(r) == rig_count(r, BP_C_ALARM_QUEUED));
	HOLDS(rig_count(r, BP_C_MATCH) >= rig_count(r, BP_C_VALUE_MISSING) + told);
	/* each is found in a search of its own */
	HOLDS(rig_count(r, BP_C_RESYNC_UNCONFIRMED) <= rig_count(r, BP_C_RESYNC_STARTED));
	HOLDS(rig_count(r, BP_C_RESYNC_REVERTED) <= rig_count(r, BP_C_RESYNC_UNCONFIRMED));
	HOLDS(rig_count(r, BP_C_SEG_EMPTY) <= rig_count(r, BP_C_SEG_INSPECTED));
	HOLDS(rig_count(r, BP_C_PUBLISH_REFUSED_LATE) <= rig_count(r, BP_C_PUBLISH_REFUSED));
	HOLDS(rig_count(r, BP_C_WILL_CANCELED) <= rig_count(r, BP_C_WILL_DELAYED));
	/* a connection is given up at most once in each of its lives */
	HOLDS(opaque_total(r) <= rig_count(r, BP_C_CONN_OPENED) +
					 rig_count(r, BP_C_CONN_MIDSTREAM) +
					 rig_count(r, BP_C_CONN_REOPENED));
}

/* Everything that the alarms of a run say but their numbers and times, as one number; the number of
 * a transition is a time, too. */
static uint64_t digest(struct rig *r)
{
	struct bp_ring *ring = bp_shm_ring(&r->shm, 0);
	uint64_t cursor = bp_ring_tail(ring), h = 0xcbf29ce484222325ull;
	const struct bp_alarm *a;
	uint32_t size;

	while ((a = bp_ring_peek(ring, &cursor, &size)) != NULL) {
		const uint8_t *p = (const uint8_t *)a;

		HOLDS(bp_alarm_valid(a, size));
		for (uint32_t i = offsetof(struct bp_alarm, value); i < bp_alarm_size(a); i++)
			if (i < offsetof(struct bp_alarm, transition) ||
				i >= offsetof(struct bp_alarm, transition) + sizeof(a->transition))
				h = (h ^ p[i]) * 0x100000001b3ull;
	}
	bp_ring_release(ring, cursor);
	return h;
}

/* The stream in pieces as `cuts` says; without cuts, whole. */
static uint64_t run_stream(uint8_t how, const uint8_t *cuts, size_t n_cuts, const uint8_t *p,
	size_t n, uint64_t *not_inspected, uint64_t *told)
{
	struct rig *r = &roomy;
	uint64_t h;
	size_t at = 0, k = 0;

	reset(r);
	open_connections();
	prelude(r, 0, how);
	while (at < n) {
		size_t take_n = n_cuts == 0 ? n - at : 1u + cuts[k++ % n_cuts];

		if (take_n > n - at)
			take_n = n - at;
		if (n_cuts != 0 && k % 3 == 0 && take_n > 1) {
			/* its second half comes first, and some of it twice */
			uint32_t seq = connection[0].peer.seq[CLIENT];
			size_t half = take_n / 2;

			segment(r, 0, CLIENT, TH_ACK, seq + (uint32_t)half,
				connection[0].peer.seq[BROKER], p + at + half, take_n - half,
				take_n);
			segment(r, 0, CLIENT, TH_ACK, seq, connection[0].peer.seq[BROKER], p + at,
				half + (take_n - half) / 2, 1);
			connection[0].peer.seq[CLIENT] += (uint32_t)take_n;
		} else {
			send_in_order(r, 0, CLIENT, p + at, take_n);
		}
		at += take_n;
	}
	*not_inspected = opaque_total(r);
	*told = rig_count(r, BP_C_ALARM_QUEUED);
	HOLDS(rig_count(r, BP_C_ALARM_QUEUE_FULL) == 0);
	HOLDS(rig_count(r, BP_C_RESYNC_STARTED) == 0);
	h = digest(r);
	rig_expire_all(r);
	HOLDS(bp_mqtt_worker_carried(r->in) == 0);
	return h;
}

/* The stream in frames of the sizes of the cuts, with another phase; 0 is a ping. */
static const uint8_t *make_frames(
	struct bytes *to, const uint8_t *cuts, size_t n_cuts, const uint8_t *p, size_t *n)
{
	for (size_t at = 0, k = n_cuts / 2, size; at < *n; at += size) {
		size = n_cuts == 0 ? *n : cuts[k++ % n_cuts];
		if (size == 0) {
			ws_frame(to, CLIENT, WS_FIN | WS_PING, NULL, 0);
			size = 1;
		}
		if (size > *n - at)
			size = *n - at;
		ws_frame(to, CLIENT, WS_FIN | WS_BINARY, p + at, size);
	}
	*n = to->n;
	return to->p;
}

static void stream(struct input *in)
{
	uint8_t how = take(in);
	uint64_t not_inspected[2], told[2], h[2];
	const uint8_t *cuts, *p;
	struct bytes frames = {0};
	size_t n_cuts, n;

	cuts = take_bytes(in, 1 + take(in) % 32, &n_cuts);
	p = take_bytes(in, 60000, &n);
	if (websocket)
		p = make_frames(&frames, cuts, n_cuts, p, &n);
	h[0] = run_stream(how, NULL, 0, p, n, &not_inspected[0], &told[0]);
	h[1] = run_stream(how, cuts, n_cuts, p, n, &not_inspected[1], &told[1]);
	HOLDS(told[0] == told[1]);
	HOLDS(h[0] == h[1]);
	HOLDS(not_inspected[0] == not_inspected[1]);
	bytes_free(&frames);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct input in = {data, data + size};
	struct rig *r;
	uint8_t kind;

	if (tight.in == NULL)
		start();
	kind = take(&in);
	websocket = kind & 0x80;
	if (kind & 1) {
		stream(&in);
		return 0;
	}
	r = kind & 4 ? &refusing[(kind >> 3 & 3) % REFUSING] : kind & 2 ? &waiting : &tight;
	reset(r);
	segments(r, &in);
	for (unsigned i = 0; i < CONNECTIONS; i++)
		forget_connection(r, &connection[i]);
	check(r);
	return 0;
}
