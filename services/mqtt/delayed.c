/* SPDX-License-Identifier: BSD-3-Clause */
#include <stdlib.h>

#include "services/mqtt/flow_age.h"
#include "services/mqtt/mqtt_worker.h"

/*
 * Will messages with a will delay interval (MQTT 5.0, 3.1.3.2.2): a broker publishes them that long
 * after the connection has ended, unless the client is back with its session by then. They wait in
 * a heap by the time at which they are due, as many as there may be proven connections, and of one
 * client address no more than half of what is left to all others.
 *
 * The client comes back from another TCP port, so that another worker may have its connection.
 * Therefore each worker notes in a table in the segment when a broker last accepted a connection of
 * a session, by a keyed hash of client identifier and broker; who has a will that is due reads the
 * tables of all workers. A session may lie in one of two places, of which the older gives way.
 */
#define WAYS 2
#define LOOKS 2 /* in one call */
#define TIME_BITS 40
#define TIME_MASK (((uint64_t)1 << TIME_BITS) - 1)

struct delayed {
	uint64_t due;      /* CLOCK_MONOTONIC, ns */
	uint64_t session;  /* its key; 0: the session cannot be resumed */
	uint64_t accepted; /* when the broker accepted this connection, as session_time() */
	uint64_t k0, k1;   /* of the flow */
	bp_carry_ref will, client_id;
	uint16_t client_id_len;
	uint8_t flags, version;
	uint8_t client_ip[16];
};

struct bp_delayed {
	uint32_t n, max;
	uint32_t looked_at;             /* whether its client is back */
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

/* The session that the connection is of; 0: none that a client can come back to. */
static uint64_t session_key(const struct bp_mqtt_worker *in, const struct bp_flow *f)
{
	const uint64_t tcp_port = (uint64_t)0xffff << 16; /* the client's */
	uint64_t h, broker[2];

	if (f->client_id_len == 0)
		return 0;
	memcpy(broker, f->broker_ip, sizeof(broker));
	h = bp_topic_hash(in, bp_carry_data(in->carry, f->client_id), f->client_id_len);
	h = bp_mix(h ^ broker[0], in->topic_key[0] ^ broker[1]);
	h = bp_mix(h ^ (f->k1 & ~tcp_port), in->topic_key[1] ^ f->tunnel);
	return h | 1;
}

/* The first of its places, in the table of a worker. */
static uint64_t *places(const struct bp_mqtt_worker *in, unsigned worker, uint64_t key)
{
	uint8_t *mine = (uint8_t *)in->table.session;
	uint64_t *table = (uint64_t *)(void *)(mine + ((int64_t)worker - in->worker) *
							      (int64_t)in->table_stride);

	return &table[(key >> 1 & (in->table.sessions / WAYS - 1)) * WAYS];
}

static bool is_of(uint64_t entry, uint64_t key)
{
	return entry != 0 && entry >> TIME_BITS == key >> TIME_BITS;
}

static void note_session(struct bp_mqtt_worker *in, uint64_t key)
{
	const uint64_t entry = key >> TIME_BITS << TIME_BITS | session_time(in);
	uint64_t *at = places(in, in->worker, key), *oldest = at;

	for (unsigned i = 0; i < WAYS; i++) {
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

		for (unsigned i = 0; i < WAYS; i++) {
			const uint64_t entry = __atomic_load_n(&at[i], __ATOMIC_RELAXED);

			if (is_of(entry, key) && (entry & TIME_MASK) > last)
				last = entry & TIME_MASK;
		}
	}
	return last;
}

uint64_t bp_session_accepted(struct bp_mqtt_worker *in, const struct bp_flow *f)
{
	const uint64_t key = session_key(in, f);

	/* by the standard, a new session is no way back: the will is published (3.1.3.2.2) */
	if (key != 0 && (in->mosquitto || !(f->session & BP_SESSION_CLEAN)))
		note_session(in, key);
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

/* What an alarm says of the connection, which is gone; it holds what the will holds. */
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
	f.carried = (uint32_t)bp_carry_size(in->carry, e->will);
	if (e->client_id != 0)
		f.carried += (uint32_t)bp_carry_size(in->carry, e->client_id);
	return f;
}

bool bp_delayed_add(
	struct bp_mqtt_worker *in, struct bp_flow *f, uint32_t seconds, uint64_t accepted)
{
	struct bp_delayed *d = in->delayed;
	uint32_t *of_client = &d->of_client[bp_flow_client(&in->table, f)];
	struct delayed *e = &d->heap[d->n];
	bp_carry_ref id = 0;
	struct bp_flow gone;
	int64_t held;

	/* alone a client gets a third of the places, two get a quarter each, as with memory */
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
		memcpy(bp_carry_data(in->carry, id), bp_carry_data(in->carry, f->client_id),
			f->client_id_len);
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
	held = gone.carried;
	gone.carried = 0;
	bp_flow_carries(&in->table, f, -held);
	bp_flow_carries(&in->table, &gone, held);
	(*of_client)++;
	sift_up(d, d->n++);
	in->table.header->delayed_wills = d->n;
	return true;
}

static bool is_back(const struct bp_mqtt_worker *in, const struct delayed *e)
{
	return e->session != 0 && last_accepted(in, e->session) > e->accepted;
}

/* Takes one out of the heap, and evaluates it or not. */
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
		bp_tally(in, BP_C_WILL_CANCELLED);
	else
		bp_will_evaluate(in, &f);
	bp_flow_release(in, &f, f.will);
	bp_flow_release(in, &f, f.client_id);
}

/* One that will not be evaluated need not wait: a client that comes and goes has one of each time.
 */
static void look_back(struct bp_mqtt_worker *in)
{
	struct bp_delayed *d = in->delayed;

	d->looked_at = d->looked_at == 0 || d->looked_at > d->n ? d->n - 1 : d->looked_at - 1;
	if (is_back(in, &d->heap[d->looked_at]))
		settle(in, d->looked_at, true);
}

void bp_delayed_expire(struct bp_mqtt_worker *in, uint64_t mono_ns, unsigned budget)
{
	struct bp_delayed *d = in->delayed;

	if (d->n == 0)
		return;
	in->frame = NULL;
	for (unsigned i = 0; i < LOOKS && d->n != 0; i++)
		look_back(in);
	for (; d->n != 0 && d->heap[0].due <= mono_ns && budget != 0; budget--) {
		settle(in, 0, is_back(in, &d->heap[0]));
	}
}
