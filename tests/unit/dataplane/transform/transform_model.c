/* SPDX-License-Identifier: BSD-3-Clause */
#include "biplane/counters/transform.h"
#include "tests/unit/dataplane/test.h"
#include "tests/unit/dataplane/transform/transform_model.h"

#include <string.h>

/* A datagram that was found. */
struct found {
	unsigned l3, l4;
	bool six, whole;
};

static unsigned get16(const uint8_t *p)
{
	return (unsigned)p[0] << 8 | p[1];
}

static void put16(uint8_t *p, unsigned v)
{
	p[0] = (uint8_t)(v >> 8);
	p[1] = (uint8_t)v;
}

static uint16_t sum16(const uint8_t *p, unsigned n, uint32_t sum)
{
	for (unsigned i = 0; i < n; i++)
		sum += i % 2 ? p[i] : (uint32_t)p[i] << 8;
	while (sum >> 16)
		sum = (sum & 0xffff) + (sum >> 16);
	return (uint16_t)sum;
}

static uint16_t udp_sum(const uint8_t *f, const struct found *d)
{
	const unsigned n = get16(f + d->l4 + 4);
	const uint8_t *addresses = f + d->l3 + (d->six ? 8 : 12);

	return sum16(f + d->l4, n, sum16(addresses, d->six ? 32 : 8, 17 + n));
}

static unsigned tags_end(const uint8_t *f, uint32_t len)
{
	unsigned at = 12;

	for (unsigned n = 0; n < 2 && at + 6 <= len; n++, at += 4)
		if (get16(f + at) != 0x8100 && get16(f + at) != 0x88a8 && get16(f + at) != 0x9100)
			break;
	return at;
}

static bool find4(const uint8_t *f, uint32_t len, struct found *d)
{
	const uint8_t *ip = f + d->l3;
	unsigned fragment;

	if (d->l3 + 20 > len || ip[0] >> 4 != 4 || (ip[0] & 15) < 5 || ip[9] != 17)
		return false;
	fragment = get16(ip + 6) & 0x3fff;
	d->l4 = d->l3 + (ip[0] & 15) * 4u;
	d->whole = fragment == 0;
	return (fragment & 0x1fff) == 0;
}

static bool find6(const uint8_t *f, uint32_t len, struct found *d)
{
	unsigned at = d->l3 + 40, next;

	if (at > len || f[d->l3] >> 4 != 6)
		return false;
	next = f[d->l3 + 6];
	d->whole = next == 17;
	for (unsigned n = 0; next != 17; n++) {
		unsigned size;

		if (n == 8 || at + 8 > len ||
			(next != 0 && next != 43 && next != 44 && next != 60) ||
			(next == 44 && get16(f + at + 2) >> 3 != 0))
			return false;
		size = next == 44 ? 8 : 8u + f[at + 1] * 8u;
		next = f[at];
		at += size;
	}
	d->six = true;
	d->l4 = at;
	return true;
}

static bool find(const uint8_t *f, uint32_t len, struct found *d)
{
	unsigned at, type;

	memset(d, 0, sizeof(*d));
	if (len < 14 || f[0] & 1)
		return false;
	at = tags_end(f, len);
	type = get16(f + at);
	d->l3 = at + 2;
	return (type == 0x0800 ? find4(f, len, d) : type == 0x86dd && find6(f, len, d)) &&
	       d->l4 + 8 <= len;
}

static bool holds(const struct bp_prefix *p, unsigned family, const uint8_t *address)
{
	if (p->family != family)
		return false;
	for (unsigned bit = 0; bit < p->length; bit++)
		if ((p->bytes[bit / 8] ^ address[bit / 8]) >> (7 - bit % 8) & 1)
			return false;
	return true;
}

static int rule_of(
	const struct bp_transform_config *c, unsigned port, const uint8_t *f, const struct found *d)
{
	for (unsigned i = 0; i < c->n_rules; i++) {
		const struct bp_transform_rule *r = &c->rule[i];

		if (r->port == port && r->udp == get16(f + d->l4 + 2) &&
			(r->to.family == 0 ||
				holds(&r->to, d->six ? 6 : 4, f + d->l3 + (d->six ? 24 : 16))))
			return (int)i;
	}
	return -1;
}

static int source_of(
	const struct bp_transform_config *c, unsigned rule, const uint8_t *f, const struct found *d)
{
	int best = -1;

	for (unsigned i = 0; i < c->n_sources; i++) {
		const struct bp_transform_source *s = &c->source[i];

		if (s->rule == rule &&
			holds(&s->address, d->six ? 6 : 4, f + d->l3 + (d->six ? 8 : 12)) &&
			(best < 0 || s->address.length > c->source[best].address.length))
			best = (int)i;
	}
	return best;
}

static bool sender_can_have(const struct found *d, const uint8_t *a)
{
	static const uint8_t zeros[12];
	static const uint8_t mapped[12] = {[10] = 0xff, [11] = 0xff};

	if (!d->six)
		return a[0] != 0 && a[0] != 127 && a[0] < 224;
	return a[0] != 0xff && memcmp(a, zeros, 12) != 0 && memcmp(a, mapped, 12) != 0;
}

static bool sender_can_be(const uint8_t *f, const struct found *d)
{
	return !(f[6] & 1) && sender_can_have(d, f + d->l3 + (d->six ? 8 : 12));
}

/* The counter of a refusal, or BP_C_COUNT. */
static bp_counter_t evaluate(const struct model *m, const struct bp_transform_rule *r,
	const uint8_t *f, uint32_t len, const struct found *d)
{
	const uint8_t *ip = f + d->l3, *udp = f + d->l4;
	const unsigned header = d->l4 - d->l3;
	const unsigned ip_len = d->six ? get16(ip + 4) : get16(ip + 2) - header;

	if (!d->whole || len > m->one_buffer)
		return BP_C_DROP_TRANSFORM_UNSUPPORTED;
	if (!d->six && sum16(ip, header, 0) != 0xffff)
		return BP_C_DROP_TRANSFORM_CHECKSUM;
	if (ip_len != get16(udp + 4) || ip_len < 8 || d->l4 + ip_len > len ||
		ip_len - 8 < r->layout.length)
		return BP_C_DROP_TRANSFORM_LENGTH;
	if (get16(udp + 6) == 0 ? d->six : udp_sum(f, d) != 0xffff)
		return BP_C_DROP_TRANSFORM_CHECKSUM;
	return sender_can_be(f, d) ? BP_C_COUNT : BP_C_DROP_TRANSFORM_UNKNOWN_SOURCE;
}

static void leave(struct model *m, unsigned port, const uint8_t *f, uint32_t len)
{
	struct model_frame *o = &m->out[m->n_out++];

	assert_true(m->n_out <= MODEL_OUT && len <= MODEL_FRAME);
	o->port = port;
	o->len = len;
	memcpy(o->byte, f, len);
}

static void swap(uint8_t *a, uint8_t *b, unsigned n)
{
	for (unsigned i = 0; i < n; i++) {
		const uint8_t t = a[i];

		a[i] = b[i];
		b[i] = t;
	}
}

/* The receiver's own settings have precedence, `otherwise` has the defaults (biplane/transform.h).
 */
static struct bp_transform_receiver complete(
	const struct bp_transform_receiver *r, const struct bp_transform_receiver *otherwise)
{
	struct bp_transform_receiver all = *r;
	const unsigned where = BP_TRANSFORM_ADDRESS | BP_TRANSFORM_REFLECT;

	if (!(r->flags & where)) {
		memcpy(all.address, otherwise->address, sizeof(all.address));
		all.family = otherwise->family;
		all.flags |= otherwise->flags & where;
		if (!(r->flags & BP_TRANSFORM_MAC)) {
			memcpy(all.mac, otherwise->mac, sizeof(all.mac));
			all.flags |= otherwise->flags & BP_TRANSFORM_MAC;
		}
	}
	if (!(r->flags & BP_TRANSFORM_UDP)) {
		all.udp = otherwise->udp;
		all.flags |= otherwise->flags & BP_TRANSFORM_UDP;
	}
	return all;
}

static void write_heads(uint8_t *f, const struct found *d, const struct bp_transform_receiver *r)
{
	uint8_t *ip = f + d->l3, *udp = f + d->l4;
	const unsigned size = d->six ? 16 : 4;
	uint8_t *src = ip + (d->six ? 8 : 12), *dst = src + size, *hops;

	if (r->flags & BP_TRANSFORM_REFLECT) {
		swap(f, f + 6, 6);
		swap(src, dst, size);
		hops = &ip[d->six ? 7 : 8];
		*hops = *hops > 64 ? 64 : (uint8_t)(*hops - 1);
		memcpy(udp, udp + 2, 2);
	} else {
		if (r->flags & BP_TRANSFORM_ADDRESS)
			memcpy(dst, r->address, size);
		if (r->flags & BP_TRANSFORM_MAC)
			memcpy(f, r->mac, 6);
	}
	if (r->flags & BP_TRANSFORM_UDP)
		put16(udp + 2, r->udp);
	if (!d->six) {
		put16(ip + 10, 0);
		put16(ip + 10, (uint16_t)~sum16(ip, d->l4 - d->l3, 0));
	}
	put16(udp + 6, 0);
	put16(udp + 6, (uint16_t)~udp_sum(f, d));
	if (get16(udp + 6) == 0)
		put16(udp + 6, 0xffff);
}

static void deliver(struct model *m, unsigned port, unsigned number, int source,
	const struct bp_transform_receiver *said, const uint8_t *frame, uint32_t len,
	const struct found *d, const struct bp_transform_points *point)
{
	const struct bp_transform_rule *rule = &m->file->rule[number];
	const struct bp_transform_receiver r = complete(said, &rule->otherwise);
	const bool matrix = r.flags & BP_TRANSFORM_MATRIX;
	const double *const by[1] = {matrix ? r.m : bp_transform_identity};
	struct bp_transform_points p = *point;
	uint8_t f[MODEL_FRAME];

	if (!(r.flags & BP_TRANSFORM_REFLECT) && r.flags & BP_TRANSFORM_ADDRESS &&
		r.family != (d->six ? 6 : 4)) {
		m->counter[BP_C_DROP_TRANSFORM_FAMILY]++;
		return;
	}
	if (r.flags & BP_TRANSFORM_REFLECT &&
		(frame[d->l3 + (d->six ? 7 : 8)] < 2 ||
			!sender_can_have(d, frame + d->l3 + (d->six ? 24 : 16)))) {
		m->counter[BP_C_DROP_TRANSFORM_REPLY]++;
		return;
	}
	memcpy(f, frame, len);
	bp_transform_ops(rule->method)->affine(&p, by, 1);
	if (bp_transform_layout_write(&rule->layout, f + d->l4 + 8, &p, 0) != 0) {
		if (rule->drop_overflow) {
			m->counter[BP_C_DROP_TRANSFORM_OVERFLOW]++;
			m->rule[number].overflow++;
			if (source >= 0)
				m->source[source].refused++;
			return;
		}
		m->counter[BP_C_TRANSFORM_SATURATED]++;
		m->rule[number].saturated++;
		if (source >= 0)
			m->source[source].saturated++;
	}
	m->rule[number].sent++;
	m->rule[number].bare += !matrix;
	m->counter[BP_C_TRANSFORM_NO_MATRIX] += !matrix;
	write_heads(f, d, &r);
	leave(m, r.flags & BP_TRANSFORM_REFLECT ? port : port ^ 1, f, len);
}

static void transform(struct model *m, unsigned port, unsigned number, const uint8_t *f,
	uint32_t len, const struct found *d)
{
	const struct bp_transform_rule *rule = &m->file->rule[number];
	const int source = source_of(m->file, number, f, d);
	static struct bp_transform_points p;
	const struct bp_transform_source *s;

	if (source < 0 && rule->drop_unknown) {
		m->counter[BP_C_DROP_TRANSFORM_UNKNOWN_SOURCE]++;
		m->rule[number].unknown++;
		return;
	}
	if (bp_transform_layout_read(&rule->layout, f + d->l4 + 8, &p, 0) != BP_TRANSFORM_GOOD) {
		m->counter[BP_C_DROP_TRANSFORM_INVALID]++;
		m->rule[number].refused++;
		if (source >= 0)
			m->source[source].refused++;
		return;
	}
	if (!rule->layout.cartesian)
		bp_transform_ops(rule->method)->to_cartesian(&p, 1);
	m->counter[BP_C_TRANSFORM_READING]++;
	m->rule[number].readings++;
	if (source < 0 || m->file->source[source].n == 0) {
		const struct bp_transform_receiver nothing = {.flags = 0};

		if (source >= 0)
			m->source[source].readings++;
		deliver(m, port, number, source, &nothing, f, len, d, &p);
		return;
	}
	s = &m->file->source[source];
	m->source[source].readings++;
	m->counter[BP_C_TRANSFORM_COPY] += s->n - 1;
	for (unsigned k = 0; k < s->n; k++)
		deliver(m, port, number, source, &m->file->receiver[s->first + k], f, len, d, &p);
}

void model_take(struct model *m, unsigned port, const uint8_t *frame, uint32_t len)
{
	bp_counter_t why;
	struct found d;
	int rule = -1;

	if (find(frame, len, &d))
		rule = rule_of(m->file, port, frame, &d);
	if (rule < 0) {
		leave(m, port ^ 1, frame, len);
		return;
	}
	why = evaluate(m, &m->file->rule[rule], frame, len, &d);
	if (why == BP_C_COUNT) {
		transform(m, port, (unsigned)rule, frame, len, &d);
		return;
	}
	m->counter[why]++;
	if (why == BP_C_DROP_TRANSFORM_UNKNOWN_SOURCE)
		m->rule[rule].unknown++;
	else
		m->rule[rule].refused++;
}
