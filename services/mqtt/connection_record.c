/* SPDX-License-Identifier: BSD-3-Clause */
#include "services/mqtt/connection_record.h"

#include <string.h>

#include "proto/mqtt/mqtt.h"
#include "services/mqtt/flow.h"

#define FLAGS (BP_FLOW_CONNECT | BP_FLOW_CONNACK | BP_FLOW_MIDWAY)
#define PROOF (BP_FLOW_SYN_ACKED | BP_FLOW_HANDSHAKE)
#define SESSION                                                                                    \
	(BP_SESSION_AUTH | BP_SESSION_EXPIRY | BP_SESSION_CLEAN | BP_SESSION_NO_ID |               \
		BP_SESSION_ALIASES_LOST | BP_SESSION_ALIAS_CHANGED)
#define MARKS (BP_MARK_REJECTED | BP_MARK_SMALL)
#define PENDING BP_FLOW_PUSHED_EITHER
enum { WILL_NONE, WILL_GIVEN, WILL_UNKNOWN }; /* before the will */
#define WINDOW_MAX (1u << 30) /* the largest one with a scale of 14 (RFC 7323 2.3) */

static const uint8_t magic[4] = {'B', 'P', 'C', '4'};
static const uint8_t magic5[4] = {'B', 'P', 'C', '5'};
static const uint8_t magic3[4] = {'B', 'P', 'C', '3'};

/* ---- writing ---- */

struct writer {
	uint8_t *p;
	size_t n, size;
	bool full;
};

static void put(struct writer *w, const void *p, size_t n)
{
	if (n > w->size - w->n) {
		w->full = true;
		return;
	}
	if (n != 0)
		memcpy(w->p + w->n, p, n);
	w->n += n;
}

static void put_number(struct writer *w, uint64_t v, unsigned bytes)
{
	uint8_t b[8];

	for (unsigned i = 0; i < bytes; i++)
		b[i] = (uint8_t)(v >> 8 * i);
	put(w, b, bytes);
}

static void put_key(struct writer *w, const struct bp_connection_key *k)
{
	put_number(w, k->ip6, 1);
	put(w, k->client_ip, 16);
	put(w, k->broker_ip, 16);
	put_number(w, k->client_port, 2);
	put_number(w, k->broker_port, 2);
	put_number(w, k->vlan_outer, 2);
	put_number(w, k->vlan_inner, 2);
	put_number(w, k->tunnel, 4);
	if (k->network[0] != '\0') {
		put_number(w, strlen(k->network), 1);
		put(w, k->network, strlen(k->network));
	}
}

static void put_fixed(struct writer *w, const struct bp_connection_record *r)
{
	put_number(w, r->version, 1);
	put_number(w, r->flags & FLAGS, 1);
	put_number(w, r->proof & PROOF, 1);
	put_number(w, r->session & SESSION, 1);
	put_number(w, r->has_alias_max & 3, 1);
	put_number(w, r->marks & MARKS, 1);
	put_number(w, r->pending & PENDING, 1);
	put_number(w, r->mss, 2);
	put_number(w, r->suspicious, 2);
	put_number(w, r->syn_seq, 4);
	put_number(w, r->broker_isn, 4);
	put_number(w, r->publishes, 4);
	put_number(w, (uint32_t)r->known, 4);
	put_number(w, (uint32_t)(r->known >> 32), 4);
	for (unsigned dir = 0; dir < 2; dir++) {
		put_number(w, r->next[dir], 4);
		put_number(w, r->window[dir] < WINDOW_MAX ? r->window[dir] : WINDOW_MAX, 4);
		put_number(w, r->scale[dir], 1);
		put_number(w, r->alias_max[dir], 2);
	}
}

static void put_user(struct writer *w, const struct bp_connection_record *r)
{
	const bool given =
		r->user_state == BP_RECORD_USER_GIVEN && r->user_len <= BP_RECORD_USER_MAX;

	put_number(w,
		given || r->user_state == BP_RECORD_USER_NONE ? r->user_state
							      : BP_RECORD_USER_UNKNOWN,
		1);
	if (!given)
		return;
	put_number(w, r->user_len, 2);
	put(w, r->user, r->user_len);
}

static void put_will(struct writer *w, const struct bp_record_will *will)
{
	const bool is_one = will->topic != NULL || will->unknown;
	const bool fits = will->topic != NULL &&
			  (uint32_t)will->topic_len + will->payload_len <= BP_RECORD_WILL_MAX;

	put_number(w, fits ? WILL_GIVEN : is_one ? WILL_UNKNOWN : WILL_NONE, 1);
	if (!fits)
		return;
	put_number(w, will->delay, 4);
	put_number(w, will->session_expiry, 4);
	put_number(w, will->keep_alive, 2);
	put_number(w, will->qos, 1);
	put_number(w, will->retain, 1);
	put_number(w, will->topic_len, 2);
	put_number(w, will->payload_len, 2);
	put(w, will->topic, will->topic_len);
	put(w, will->payload, will->payload_len);
}

/* Returns whether all aliases fit in front of the last `behind` bytes. */
static bool put_aliases(
	struct writer *w, const struct bp_record_alias *a, uint16_t n, size_t behind)
{
	const size_t count_at = w->n;
	uint16_t fit = 0;

	put_number(w, 0, 2);
	for (; fit < n && w->n + 4 + a[fit].topic_len + behind <= w->size; fit++) {
		put_number(w, a[fit].alias, 2);
		put_number(w, a[fit].topic_len, 2);
		put(w, a[fit].topic, a[fit].topic_len);
	}
	if (w->full)
		return false;
	w->p[count_at] = (uint8_t)fit;
	w->p[count_at + 1] = (uint8_t)(fit >> 8);
	return fit == n;
}

size_t bp_connection_record_write(const struct bp_connection_record *r,
	const uint16_t *const qos2[2], const struct bp_record_alias *const aliases[2], uint8_t *out,
	size_t size)
{
	struct writer w = {.p = out, .size = size};
	const bool long_id = r->client_id_len > BP_RECORD_CLIENT_ID_MAX;
	size_t session_at;
	bool all;

	put(&w, r->key.network[0] != '\0' ? magic5 : magic, sizeof(magic));
	put_key(&w, &r->key);
	session_at = w.n + 3;
	put_fixed(&w, r);
	put_number(&w, long_id ? 0 : r->client_id_len, 2);
	put(&w, r->client_id, long_id ? 0 : r->client_id_len);
	put_user(&w, r);
	put_will(&w, &r->will);
	for (unsigned dir = 0; dir < 2; dir++) {
		put_number(&w, r->n_qos2[dir], 2);
		for (uint16_t i = 0; i < r->n_qos2[dir]; i++)
			put_number(&w, qos2[dir][i], 2);
	}
	all = put_aliases(&w, aliases[0], r->n_aliases[0], 2);
	all &= put_aliases(&w, aliases[1], r->n_aliases[1], 0);
	if (w.full)
		return 0;
	if (!all)
		out[session_at] |= BP_SESSION_ALIASES_LOST;
	if (long_id)
		out[session_at] |= BP_SESSION_NO_ID;
	return w.n;
}

/* ---- reading ---- */

struct reader {
	const uint8_t *p;
	size_t n;
	bool bad;
};

/* NULL: that many bytes are not left. */
static const uint8_t *get(struct reader *r, size_t n)
{
	const uint8_t *p = r->p;

	if (r->bad || n > r->n) {
		r->bad = true;
		return NULL;
	}
	r->p += n;
	r->n -= n;
	return p;
}

static uint32_t number_at(const uint8_t *p, unsigned bytes)
{
	uint32_t v = 0;

	for (unsigned i = 0; i < bytes; i++)
		v |= (uint32_t)p[i] << 8 * i;
	return v;
}

static uint32_t get_number(struct reader *r, unsigned bytes)
{
	const uint8_t *p = get(r, bytes);

	return p == NULL ? 0 : number_at(p, bytes);
}

static bool is_zero(const uint8_t *p, size_t n)
{
	while (n != 0 && p[n - 1] == 0)
		n--;
	return n == 0;
}

/* A name as bp_type_name has it, or that of a VRF, and zeros behind it. */
static bool network_sound(const char name[BP_NAME_MAX + 1])
{
	size_t n = 0;

	for (; n < BP_NAME_MAX && name[n] != '\0'; n++)
		if (name[n] <= ' ' || name[n] > '~' || name[n] == '/')
			return false;
	return is_zero((const uint8_t *)name + n, BP_NAME_MAX + 1 - n);
}

bool bp_connection_key_sound(const struct bp_connection_key *k)
{
	return k->ip6 <= 1 && k->vlan_outer <= 0xfff && k->vlan_inner <= 0xfff &&
	       (k->ip6 || (is_zero(k->client_ip + 4, 12) && is_zero(k->broker_ip + 4, 12))) &&
	       network_sound(k->network);
}

static bool get_network(struct reader *r, struct bp_connection_key *k)
{
	const uint32_t n = get_number(r, 1);
	const uint8_t *name = get(r, n);

	if (name == NULL || n == 0 || n > BP_NAME_MAX)
		return false;
	memcpy(k->network, name, n);
	return k->network[n - 1] != '\0';
}

static bool get_key(struct reader *r, struct bp_connection_key *k, bool has_network)
{
	const uint8_t *ip;

	k->ip6 = (uint8_t)get_number(r, 1);
	ip = get(r, 32);
	if (ip == NULL)
		return false;
	memcpy(k->client_ip, ip, 16);
	memcpy(k->broker_ip, ip + 16, 16);
	k->client_port = (uint16_t)get_number(r, 2);
	k->broker_port = (uint16_t)get_number(r, 2);
	k->vlan_outer = (uint16_t)get_number(r, 2);
	k->vlan_inner = (uint16_t)get_number(r, 2);
	k->tunnel = get_number(r, 4);
	return (!has_network || get_network(r, k)) && !r->bad && k->client_port != 0 &&
	       k->broker_port != 0 && bp_connection_key_sound(k);
}

static bool fixed_sound(const struct bp_connection_record *r)
{
	for (unsigned dir = 0; dir < 2; dir++)
		if ((r->scale[dir] > BP_SCALE_MAX && r->scale[dir] != BP_SCALE_UNSEEN) ||
			r->window[dir] > WINDOW_MAX)
			return false;
	return r->version >= BP_MQTT_V31 && r->version <= BP_MQTT_V5 && (r->flags & ~FLAGS) == 0 &&
	       (r->proof & ~PROOF) == 0 && (r->session & ~SESSION) == 0 && r->has_alias_max <= 3 &&
	       (r->marks & ~MARKS) == 0 && (r->pending & ~PENDING) == 0 && r->mss != 0 &&
	       /* a connection whose beginning was not seen was picked up mid-stream */
	       ((r->flags & BP_FLOW_MIDWAY) || (r->flags & (BP_FLOW_CONNECT | BP_FLOW_CONNACK)) ==
						       (BP_FLOW_CONNECT | BP_FLOW_CONNACK));
}

static bool get_fixed(struct reader *r, struct bp_connection_record *c)
{
	c->version = (uint8_t)get_number(r, 1);
	c->flags = (uint8_t)get_number(r, 1);
	c->proof = (uint8_t)get_number(r, 1);
	c->session = (uint8_t)get_number(r, 1);
	c->has_alias_max = (uint8_t)get_number(r, 1);
	c->marks = (uint8_t)get_number(r, 1);
	c->pending = (uint8_t)get_number(r, 1);
	c->mss = (uint16_t)get_number(r, 2);
	c->suspicious = (uint16_t)get_number(r, 2);
	c->syn_seq = get_number(r, 4);
	c->broker_isn = get_number(r, 4);
	c->publishes = get_number(r, 4);
	c->known = get_number(r, 4);
	c->known |= (uint64_t)get_number(r, 4) << 32;
	for (unsigned dir = 0; dir < 2; dir++) {
		c->next[dir] = get_number(r, 4);
		c->window[dir] = get_number(r, 4);
		c->scale[dir] = (uint8_t)get_number(r, 1);
		c->alias_max[dir] = (uint16_t)get_number(r, 2);
	}
	return !r->bad && fixed_sound(c);
}

static bool get_client_id(struct reader *r, struct bp_connection_record *c)
{
	c->client_id_len = (uint16_t)get_number(r, 2);
	if (c->client_id_len > BP_RECORD_CLIENT_ID_MAX)
		return false;
	c->client_id = get(r, c->client_id_len);
	return !r->bad;
}

static bool get_user(struct reader *r, struct bp_connection_record *c)
{
	c->user_state = (uint8_t)get_number(r, 1);
	if (c->user_state != BP_RECORD_USER_GIVEN)
		return !r->bad && c->user_state <= BP_RECORD_USER_GIVEN;
	c->user_len = (uint16_t)get_number(r, 2);
	if (c->user_len > BP_RECORD_USER_MAX)
		return false;
	c->user = get(r, c->user_len);
	return !r->bad;
}

static bool get_will(struct reader *r, struct bp_record_will *w)
{
	const uint32_t present = get_number(r, 1);

	w->unknown = present == WILL_UNKNOWN;
	if (present == WILL_NONE || present == WILL_UNKNOWN)
		return !r->bad;
	w->delay = get_number(r, 4);
	w->session_expiry = get_number(r, 4);
	w->keep_alive = (uint16_t)get_number(r, 2);
	w->qos = (uint8_t)get_number(r, 1);
	w->retain = (uint8_t)get_number(r, 1);
	w->topic_len = (uint16_t)get_number(r, 2);
	w->payload_len = (uint16_t)get_number(r, 2);
	w->topic = get(r, w->topic_len);
	w->payload = get(r, w->payload_len);
	return !r->bad && present == WILL_GIVEN && w->qos <= 2 && w->retain <= 1 &&
	       (uint32_t)w->topic_len + w->payload_len <= BP_RECORD_WILL_MAX &&
	       bp_mqtt_topic_valid((const char *)w->topic, w->topic_len);
}

static bool get_qos2(struct reader *r, struct bp_connection_record *c, unsigned dir)
{
	uint16_t last = 0;

	c->n_qos2[dir] = (uint16_t)get_number(r, 2);
	if (c->n_qos2[dir] > BP_RECORD_QOS2_MAX)
		return false;
	c->qos2[dir] = get(r, 2u * c->n_qos2[dir]);
	for (uint16_t i = 0; !r->bad && i < c->n_qos2[dir]; i++) {
		const uint16_t id = bp_record_qos2(c, dir, i);

		if (id <= last)
			return false;
		last = id;
	}
	return !r->bad;
}

static bool get_aliases(struct reader *r, struct bp_connection_record *c, unsigned dir)
{
	uint16_t last = 0;

	c->n_aliases[dir] = (uint16_t)get_number(r, 2);
	c->aliases[dir] = r->p;
	if (c->n_aliases[dir] != 0 && c->version != BP_MQTT_V5)
		return false;
	for (uint16_t i = 0; !r->bad && i < c->n_aliases[dir]; i++) {
		const uint16_t alias = (uint16_t)get_number(r, 2);
		const uint16_t len = (uint16_t)get_number(r, 2);
		const uint8_t *topic = get(r, len);

		if (r->bad || alias <= last || !bp_mqtt_topic_valid((const char *)topic, len) ||
			((c->has_alias_max & 1 << dir) && alias > c->alias_max[dir]))
			return false;
		last = alias;
	}
	return !r->bad;
}

bool bp_connection_record_read(const uint8_t *p, size_t n, struct bp_connection_record *c)
{
	struct reader r = {.p = p, .n = n};
	const uint8_t *m = get(&r, sizeof(magic));
	bool former, has_network;

	memset(c, 0, sizeof(*c));
	if (n > BP_CONNECTION_RECORD_MAX || m == NULL)
		return false;
	former = memcmp(m, magic3, sizeof(magic)) == 0;
	has_network = memcmp(m, magic5, sizeof(magic)) == 0;
	if (!former && !has_network && memcmp(m, magic, sizeof(magic)) != 0)
		return false;
	return get_key(&r, &c->key, has_network) && get_fixed(&r, c) && get_client_id(&r, c) &&
	       (former || get_user(&r, c)) && get_will(&r, &c->will) && get_qos2(&r, c, 0) &&
	       get_qos2(&r, c, 1) && get_aliases(&r, c, 0) && get_aliases(&r, c, 1) && r.n == 0;
}

uint16_t bp_record_qos2(const struct bp_connection_record *r, unsigned dir, uint16_t i)
{
	return (uint16_t)number_at(r->qos2[dir] + 2u * i, 2);
}

struct bp_record_alias bp_record_next_alias(const uint8_t **at)
{
	struct bp_record_alias a = {.alias = (uint16_t)number_at(*at, 2),
		.topic_len = (uint16_t)number_at(*at + 2, 2),
		.topic = *at + 4};

	*at += 4u + a.topic_len;
	return a;
}

bool bp_connection_key_equal(const struct bp_connection_key *a, const struct bp_connection_key *b)
{
	return memcmp(a->client_ip, b->client_ip, 16) == 0 &&
	       memcmp(a->broker_ip, b->broker_ip, 16) == 0 && a->client_port == b->client_port &&
	       a->broker_port == b->broker_port && a->vlan_outer == b->vlan_outer &&
	       a->vlan_inner == b->vlan_inner && a->tunnel == b->tunnel && a->ip6 == b->ip6 &&
	       memcmp(a->network, b->network, sizeof(a->network)) == 0;
}
