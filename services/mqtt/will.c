/* SPDX-License-Identifier: BSD-3-Clause */
#include <stdlib.h>

#include "biplane/counters/mqtt.h"
#include "services/mqtt/enforcement.h"
#include "services/mqtt/flow_memory.h"
#include "services/mqtt/mqtt_worker.h"
#include "services/mqtt/peek.h"
#include "services/mqtt/publications.h"
#include "proto/net/copy.h"

/*
 * The will message of a connection (MQTT 5.0, 3.1.2.5): it is part of the CONNECT, and the broker
 * publishes it when the connection ends without a DISCONNECT that discards it. So it is kept in
 * reassembly memory, and evaluated like a PUBLISH of the client at the end of the connection.
 */
struct will {
	uint64_t accepted;              /* when the broker accepted the connection */
	uint32_t delay, session_expiry; /* seconds */
	uint16_t keep_alive;
	uint16_t topic_len, payload_len;
	uint8_t qos;
	uint8_t retain;
	uint8_t text[]; /* topic, payload */
};

_Static_assert(sizeof(struct will) <= BP_WILL_PEEKED - BP_RECORD_WILL_MAX, "bp_will_peek()");

/* In place of the block of flow.will: there is a will, of which nothing is kept. No block has this
 * number. */
#define NOT_KEPT UINT32_MAX

static bool is_kept(const struct bp_flow *f)
{
	return f->will != 0 && f->will != NOT_KEPT;
}

static struct will *will_of(const struct bp_mqtt_worker *in, const struct bp_flow *f)
{
	return (struct will *)(void *)bp_reassembly_data(in->reassembly, f->will);
}

static void drop(struct bp_mqtt_worker *in, struct bp_flow *f)
{
	if (is_kept(f))
		bp_flow_release(in, f, f->will);
	f->will = 0;
}

void bp_will_not_kept(struct bp_mqtt_worker *in, struct bp_flow *f)
{
	drop(in, f);
	f->will = NOT_KEPT;
}

void bp_will_keep(struct bp_mqtt_worker *in, struct bp_flow *f, const struct bp_mqtt_connect *c)
{
	const struct bp_mqtt_will *w = &c->will;
	uint64_t size = sizeof(struct will) + (uint64_t)w->topic_len + w->payload_len;
	struct will *kept;

	drop(in, f);
	if (w->topic == NULL)
		return;
	if (in->evaluates[BP_TO_BROKER])
		f->will = bp_flow_alloc(in, f, size);
	if (f->will == 0) {
		if (in->evaluates[BP_TO_BROKER])
			bp_tally(in, BP_C_WILL_NO_MEMORY);
		bp_will_not_kept(in, f);
		return;
	}
	kept = (struct will *)(void *)bp_reassembly_data(in->reassembly, f->will);
	kept->accepted = 0;
	kept->delay = w->delay;
	kept->session_expiry = c->session_expiry;
	kept->keep_alive = c->keep_alive;
	kept->topic_len = w->topic_len;
	kept->payload_len = w->payload_len;
	kept->qos = w->qos;
	kept->retain = w->retain;
	memcpy(kept->text, w->topic, w->topic_len);
	bp_copy(kept->text + w->topic_len, w->payload, w->payload_len);
}

void bp_will_disconnect(
	struct bp_mqtt_worker *in, struct bp_flow *f, const struct bp_mqtt_disconnect *d)
{
	/* an expiry interval after CONNECT had none is a fault: the connection ends without
	 * (3.14.2.2.2) */
	bool fault = d->session_expiry != 0 && !(f->session & BP_SESSION_EXPIRY);

	if (!fault && d->reason != BP_MQTT_DISCONNECT_WITH_WILL)
		bp_will_discard(in, f);
	else if (!fault && is_kept(f) && d->session_expiry != 0)
		will_of(in, f)->session_expiry = d->session_expiry;
}

void bp_will_discard(struct bp_mqtt_worker *in, struct bp_flow *f)
{
	if (is_kept(f))
		bp_tally(in, BP_C_WILL_DISCARDED);
	drop(in, f);
}

enum bp_will bp_will_kept(
	const struct bp_mqtt_worker *in, const struct bp_flow *f, struct bp_mqtt_will *to)
{
	const struct will *w;

	if (f->will == 0)
		return (f->flags & (BP_FLOW_CONNECT | BP_FLOW_MIDWAY)) == BP_FLOW_MIDWAY
			       ? BP_WILL_UNKNOWN
			       : BP_WILL_NONE;
	if (!is_kept(f))
		return BP_WILL_UNKNOWN;
	w = will_of(in, f);
	*to = (struct bp_mqtt_will){.topic = w->text,
		.topic_len = w->topic_len,
		.payload = w->text + w->topic_len,
		.payload_len = w->payload_len,
		.qos = w->qos,
		.retain = w->retain != 0};
	return BP_WILL_KEPT;
}

/* Evaluates the flow's will, which it keeps. */
static void evaluate(struct bp_mqtt_worker *in, struct bp_flow *f)
{
	const struct will *w = will_of(in, f);
	struct bp_mqtt_publish p = {
		.topic = w->text,
		.topic_len = w->topic_len,
		.payload = w->text + w->topic_len,
		.payload_len = w->payload_len,
		.qos = w->qos,
		.retain = w->retain != 0,
	};

	/* charged to its own connection, independent of the segment that ends it */
	const struct bp_work_paused paused = bp_work_pause(&in->work);

	bp_tally(in, BP_C_WILL_EVALUATED);
	bp_work_begin(&in->work, bp_flow_hash(&in->table, f->k0, f->k1),
		(uint32_t)bp_reassembly_size(in->reassembly, f->will));
	bp_publish_evaluate(in, f, BP_TO_BROKER, &p, f->next[BP_TO_BROKER], false);
	bp_work_end(&in->work);
	bp_work_resume(&in->work, &paused);
}

/* ---- delayed wills ---- */

/*
 * Will messages with a will delay interval (MQTT 5.0, 3.1.3.2.2): a broker publishes them after
 * this interval from the end of the connection, unless the client has resumed its session by then.
 * They wait in a heap by due time, at most the maximum number of proven connections, and for one
 * client address at most half of the remaining capacity.
 *
 * The client reconnects from another TCP port, so another worker may process its connection.
 * Therefore each worker records in a table in the segment when a broker last accepted a connection
 * of a session, by a keyed hash of client identifier and broker; the worker with a due will reads
 * the tables of all workers. A session may be in one of two slots, of which the older one is
 * replaced.
 */
#define SESSION_WAYS 2
#define LOOKS 2 /* in one call */
#define TIME_BITS 40
#define TIME_MASK (((uint64_t)1 << TIME_BITS) - 1)

struct delayed {
	uint64_t due;      /* CLOCK_MONOTONIC, ns */
	uint64_t session;  /* its key; 0: the session cannot be resumed */
	uint64_t accepted; /* when the broker accepted this connection, as session_time() */
	uint64_t k0, k1;   /* of the flow */
	bp_reassembly_ref will, client_id;
	uint16_t client_id_len;
	uint8_t flags, version;
	uint8_t client_ip[16];
};

struct bp_delayed {
	uint32_t n, max;
	uint32_t checked;               /* whether its client is back */
	uint32_t of_client[BP_CLIENTS]; /* of these, by bp_flow_client() */
	struct delayed heap[];
};

struct bp_delayed *bp_delayed_create(uint32_t max)
{
	struct bp_delayed *d = calloc(1, sizeof(*d) + (uint64_t)max * sizeof(d->heap[0]));

	if (d != NULL)
		d->max = max;
	return d;
}

uint32_t bp_mqtt_worker_delayed(const struct bp_mqtt_worker *in)
{
	return in->delayed->n;
}

/* ---- sessions ---- */

static uint64_t session_time(const struct bp_mqtt_worker *in)
{
	return (in->mono_ns >> 20) & TIME_MASK;
}

/* The session of the connection; 0: none that a client can resume. */
static uint64_t session_key(const struct bp_mqtt_worker *in, const struct bp_flow *f)
{
	const uint64_t tcp_port = (uint64_t)0xffff << 16; /* the client's */
	uint64_t h, broker[2];

	if (f->client_id_len == 0)
		return 0;
	memcpy(broker, f->broker_ip, sizeof(broker));
	h = bp_topic_hash(in, bp_reassembly_data(in->reassembly, f->client_id), f->client_id_len);
	h = bp_mix(h ^ broker[0], in->topic_key[0] ^ broker[1]);
	h = bp_mix(h ^ (f->k1 & ~tcp_port), in->topic_key[1] ^ f->tunnel);
	return h | 1;
}

/* The first of its slots, in the table of a worker. */
static uint64_t *places(const struct bp_mqtt_worker *in, unsigned worker, uint64_t key)
{
	uint8_t *mine = (uint8_t *)in->table.session;
	uint64_t *table = (uint64_t *)(void *)(mine + ((int64_t)worker - in->worker) *
							      (int64_t)in->table_stride);

	return &table[(key >> 1 & (in->table.sessions / SESSION_WAYS - 1)) * SESSION_WAYS];
}

static bool is_of(uint64_t entry, uint64_t key)
{
	return entry != 0 && entry >> TIME_BITS == key >> TIME_BITS;
}

static void record_session(struct bp_mqtt_worker *in, uint64_t key)
{
	const uint64_t entry = key >> TIME_BITS << TIME_BITS | session_time(in);
	uint64_t *at = places(in, in->worker, key), *oldest = at;

	for (unsigned i = 0; i < SESSION_WAYS; i++) {
		if (is_of(at[i], key)) {
			oldest = &at[i];
			break;
		}
		if ((at[i] & TIME_MASK) < (*oldest & TIME_MASK))
			oldest = &at[i];
	}
	__atomic_store_n(oldest, entry, __ATOMIC_RELAXED);
}

/* When a broker last accepted a connection of the session. */
static uint64_t last_accepted(const struct bp_mqtt_worker *in, uint64_t key)
{
	uint64_t last = 0;

	for (unsigned w = 0; w < in->workers; w++) {
		uint64_t *at = places(in, w, key);

		for (unsigned i = 0; i < SESSION_WAYS; i++) {
			const uint64_t entry = __atomic_load_n(&at[i], __ATOMIC_RELAXED);

			if (is_of(entry, key) && (entry & TIME_MASK) > last)
				last = entry & TIME_MASK;
		}
	}
	return last;
}

/* The broker accepted a connection of a client's session. Returns the time, for add_delayed(). */
static uint64_t session_accepted(struct bp_mqtt_worker *in, const struct bp_flow *f)
{
	const uint64_t key = session_key(in, f);

	/* by the standard, a new session does not resume the old one: the will is published
	 * (3.1.3.2.2) */
	if (key != 0 && (in->mosquitto || !(f->session & BP_SESSION_CLEAN)))
		record_session(in, key);
	return session_time(in);
}

/* ---- wills that wait ---- */

static void sift_up(struct bp_delayed *d, uint32_t i)
{
	const struct delayed e = d->heap[i];

	for (; i != 0 && d->heap[(i - 1) / 2].due > e.due; i = (i - 1) / 2)
		d->heap[i] = d->heap[(i - 1) / 2];
	d->heap[i] = e;
}

static void sift_down(struct bp_delayed *d, uint32_t i)
{
	const struct delayed e = d->heap[i];

	for (uint32_t k; (k = 2 * i + 1) < d->n; i = k) {
		if (k + 1 < d->n && d->heap[k + 1].due < d->heap[k].due)
			k++;
		if (d->heap[k].due >= e.due)
			break;
		d->heap[i] = d->heap[k];
	}
	d->heap[i] = e;
}

/* Data of the closed connection for an alarm; it stores the will. */
static struct bp_flow holder(const struct bp_mqtt_worker *in, const struct delayed *e)
{
	struct bp_flow f = {.k0 = e->k0,
		.k1 = e->k1,
		.version = e->version,
		.flags = e->flags,
		.list = BP_FILE_NONE,
		.will = e->will,
		.client_id = e->client_id,
		.client_id_len = e->client_id_len};

	memcpy(f.client_ip, e->client_ip, sizeof(f.client_ip));
	f.carried = (uint32_t)bp_reassembly_size(in->reassembly, e->will);
	if (e->client_id != 0)
		f.carried += (uint32_t)bp_reassembly_size(in->reassembly, e->client_id);
	return f;
}

/* Queues the will of the flow, which is due after this number of seconds unless the client resumes
 * the session; `accepted`: when the broker accepted this connection. False, counted: it cannot be
 * kept. */
static bool add_delayed(
	struct bp_mqtt_worker *in, struct bp_flow *f, uint32_t seconds, uint64_t accepted)
{
	struct bp_delayed *d = in->delayed;
	uint32_t *of_client = &d->of_client[bp_flow_client(&in->table, f)];
	struct delayed *e = &d->heap[d->n];
	bp_reassembly_ref id = 0;
	struct bp_flow gone;
	int64_t out_of_order;

	/* a single client gets a third of the entries, two get a quarter each, as with memory */
	if (d->n == d->max || (*of_client != 0 && *of_client >= (d->max - d->n) / 2)) {
		bp_tally(in, BP_C_WILL_DELAYED_FULL);
		return false;
	}
	if (f->client_id_len != 0) {
		id = bp_flow_alloc(in, f, f->client_id_len);
		if (id == 0) {
			bp_tally(in, BP_C_WILL_NO_MEMORY);
			return false;
		}
		memcpy(bp_reassembly_data(in->reassembly, id),
			bp_reassembly_data(in->reassembly, f->client_id), f->client_id_len);
	}
	bp_tally(in, BP_C_WILL_DELAYED);
	*e = (struct delayed){.due = in->mono_ns + seconds * 1000000000ull,
		.session = session_key(in, f),
		.accepted = accepted,
		.k0 = f->k0,
		.k1 = f->k1,
		.will = f->will,
		.client_id = id,
		.client_id_len = f->client_id_len,
		.flags = f->flags & BP_FLOW_IP6,
		.version = f->version};
	memcpy(e->client_ip, f->client_ip, sizeof(e->client_ip));
	f->will = 0;
	/* of the client's share, and no longer of the connection's */
	gone = holder(in, e);
	out_of_order = gone.carried;
	gone.carried = 0;
	bp_flow_carries(&in->table, f, -out_of_order);
	bp_flow_carries(&in->table, &gone, out_of_order);
	(*of_client)++;
	sift_up(d, d->n++);
	in->table.header->delayed_wills = d->n;
	return true;
}

static bool is_back(const struct bp_mqtt_worker *in, const struct delayed *e)
{
	return e->session != 0 && last_accepted(in, e->session) > e->accepted;
}

/* Removes one from the heap, and evaluates it or not. */
static void settle(struct bp_mqtt_worker *in, uint32_t i, bool back)
{
	struct bp_delayed *d = in->delayed;
	const struct delayed e = d->heap[i];
	struct bp_flow f = holder(in, &e);

	if (i != --d->n) {
		d->heap[i] = d->heap[d->n];
		sift_down(d, i);
		sift_up(d, i);
	}
	d->of_client[bp_flow_client(&in->table, &f)]--;
	in->table.header->delayed_wills = d->n;
	if (back)
		bp_tally(in, BP_C_WILL_CANCELED);
	else
		evaluate(in, &f);
	bp_flow_release(in, &f, f.will);
	bp_flow_release(in, &f, f.client_id);
}

/* A will that is not going to be evaluated is removed early: a client that reconnects often queues
 * one each time. */
static void check_returned(struct bp_mqtt_worker *in)
{
	struct bp_delayed *d = in->delayed;

	d->checked = d->checked == 0 || d->checked > d->n ? d->n - 1 : d->checked - 1;
	if (is_back(in, &d->heap[d->checked]))
		settle(in, d->checked, true);
}

void bp_delayed_expire(struct bp_mqtt_worker *in, uint64_t mono_ns, unsigned budget)
{
	struct bp_delayed *d = in->delayed;

	if (d->n == 0)
		return;
	in->frame = NULL;
	for (unsigned i = 0; i < LOOKS && d->n != 0; i++)
		check_returned(in);
	for (; d->n != 0 && d->heap[0].due <= mono_ns && budget != 0; budget--) {
		settle(in, 0, is_back(in, &d->heap[0]));
	}
}

/* ---- the end of a connection ---- */

void bp_will_accepted(struct bp_mqtt_worker *in, struct bp_flow *f)
{
	const uint64_t now = session_accepted(in, f);

	if (is_kept(f))
		will_of(in, f)->accepted = now;
}

/*
 * The delay of the broker: at most the session expiry (MQTT 5.0, 3.1.3.2.2). For a session that
 * ends with the connection there is no delay, except in mosquitto, which then uses the whole delay.
 */
static uint32_t seconds_to_wait(const struct bp_mqtt_worker *in, const struct will *w)
{
	if (w->session_expiry >= w->delay || (in->mosquitto && w->session_expiry == 0))
		return w->delay;
	return w->session_expiry;
}

/* False: it is dropped, which is counted. */
static bool delay(struct bp_mqtt_worker *in, struct bp_flow *f, uint32_t seconds)
{
	if (!(f->session & BP_SESSION_NO_ID))
		return add_delayed(in, f, seconds, will_of(in, f)->accepted);
	bp_tally(in, BP_C_WILL_NO_MEMORY);
	return false;
}

/*
 * Whether a DISCONNECT may have been in the uninspected bytes. After a protocol error of the client
 * that mosquitto also detects, mosquitto reads nothing.
 */
static bool end_is_unclear(const struct bp_mqtt_worker *in, const struct bp_flow *f)
{
	if (f->stream[BP_TO_BROKER] == BP_STREAM_NOT_INSPECTED)
		return !in->mosquitto || f->skip[BP_TO_BROKER] == 0;
	return f->stream[BP_TO_BROKER] == BP_STREAM_RESYNC ||
	       (f->pending & (BP_FLOW_PUSHED(BP_TO_BROKER) | BP_FLOW_HELD(BP_TO_BROKER)));
}

void bp_will_end(struct bp_mqtt_worker *in, struct bp_flow *f)
{
	uint32_t seconds;

	if (!is_kept(f)) {
		f->will = 0;
		return;
	}
	seconds = seconds_to_wait(in, will_of(in, f));
	if (!(f->proof & BP_FLOW_PROVEN))
		bp_tally(in, BP_C_WILL_REFUSED);
	else if (end_is_unclear(in, f))
		bp_tally(in, BP_C_WILL_NOT_INSPECTED);
	else if (seconds == 0)
		evaluate(in, f);
	else if (delay(in, f, seconds))
		return;
	drop(in, f);
}

void bp_will_adopt(struct bp_mqtt_worker *in, struct bp_flow *f)
{
	const bp_reassembly_ref ref = f->will;
	const struct will *w;

	f->will = ref != 0 ? NOT_KEPT : 0;
	if (ref == 0 || ref == NOT_KEPT || !bp_adopt_block(in, f, ref, sizeof(*w)))
		return;
	w = (const struct will *)(const void *)bp_reassembly_data(in->reassembly, ref);
	if (sizeof(*w) + (uint64_t)w->topic_len + w->payload_len >
			bp_reassembly_size(in->reassembly, ref) ||
		!bp_mqtt_topic_valid((const char *)w->text, w->topic_len))
		bp_adopt_undo(in, f, ref);
	else
		f->will = ref;
}

bool bp_will_peek(const struct bp_arena *a, const struct bp_flow *f, struct bp_record_will *out,
	uint8_t *text)
{
	struct will *w = (struct will *)(void *)text;
	const size_t size = sizeof(*w) + BP_RECORD_WILL_MAX;

	memset(out, 0, sizeof(*out));
	if (f->will == 0)
		return true;
	out->unknown = true;
	if (!is_kept(f))
		return true;
	if (bp_reassembly_peek(a->memory, a->bytes, f->will, w, size) < sizeof(*w))
		return false;
	if ((uint32_t)w->topic_len + w->payload_len > BP_RECORD_WILL_MAX)
		return true;
	*out = (struct bp_record_will){.topic = w->text,
		.payload = w->text + w->topic_len,
		.topic_len = w->topic_len,
		.payload_len = w->payload_len,
		.delay = w->delay,
		.session_expiry = w->session_expiry,
		.keep_alive = w->keep_alive,
		.qos = w->qos,
		.retain = w->retain};
	return bp_mqtt_topic_valid((const char *)out->topic, out->topic_len);
}

/* ticks in 1.5 s: the timeout of the broker, as a multiple of the keep alive (3.1.2.10) */
#define GRACE(keep_alive) ((uint64_t)(keep_alive)*1500000000ull >> 20)

void bp_will_forget(struct bp_mqtt_worker *in, struct bp_flow *f)
{
	const struct bp_frame *frame = in->frame;
	const struct will *w;

	if (!is_kept(f)) {
		f->will = 0;
		return;
	}
	w = (const struct will *)(const void *)bp_reassembly_data(in->reassembly, f->will);
	/* silent for longer than the broker waits: it has closed the connection, seen or not; in a
	 * fleet, the connection may live on at another gateway */
	if (in->fleet == NULL && w->keep_alive != 0 &&
		in->table.now - f->seen > GRACE(w->keep_alive)) {
		in->frame = NULL;
		bp_will_left(in, f);
		bp_will_end(in, f);
		in->frame = frame;
		return;
	}
	bp_tally(in, BP_C_WILL_EVICTED);
	drop(in, f);
}
