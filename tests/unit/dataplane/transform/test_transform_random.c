/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Random frames through random entries of `transform`, compared with a plain model: every frame
 * that leaves byte by byte and in order, every counter, every figure of a rule and of a source;
 * banks and single matrices change in between.
 */
#include "biplane/counters/transform.h"
#include "tests/unit/dataplane/test.h"
#include "tests/unit/dataplane/transform/transform_model.h"
#include "tests/unit/proto/exact.h"
#include "tests/unit/times.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CASES TEST_TIMES(1200u)
#define STEPS 30u
#define FRAMES 12u /* of a walk; times receivers, no more than a ring holds */
#define RECEIVERS 4u

static uint64_t seed = 0x9e3779b97f4a7c15u;

static unsigned any(unsigned n)
{
	return (unsigned)(next_random(&seed) % n);
}

static bool one_in(unsigned n)
{
	return any(n) == 0;
}

/* A case of trackers that send much: bursts of one of them, with one receiver each. */
static bool busy;

#define PICK(list) (list)[any(sizeof(list) / sizeof((list)[0]))]

static const char *const prefixes[] = {"10.0.0.5/32", "10.0.0.6/32", "10.0.0.0/24", "10.0.0.0/8",
	"192.168.0.0/15", "0.0.0.0/0", "2001:db8::5/128", "2001:db8::/32", "2001:db8::/61", "::/0"};
static const char *const senders[] = {"10.0.0.5", "10.0.0.6", "10.0.0.7", "10.9.9.9", "192.169.1.1",
	"8.8.8.8", "10.0.0.5", "127.0.0.1", "2001:db8::5", "2001:db8::6", "2001:db8:0:9::1",
	"2001:db9::1", "::1", "ff02::1"};
static const char *const places4[] = {"10.1.0.1", "10.1.0.2", "10.2.0.1"};
static const char *const places6[] = {"2001:db8:1::1", "2001:db8:2::1"};
static const uint16_t ports[] = {10000, 10001, 9};

static struct bp_transform_layout random_layout(void)
{
	struct bp_transform_layout l = {.length = 0};
	unsigned slot[6] = {0, 1, 2, 3, 4, 5};
	const unsigned first = any(18);
	const char *what;

	if (busy)
		return bp_transform_layout_kunze2021;
	if (one_in(2))
		return one_in(2) ? bp_transform_layout_kunze2021
				 : bp_transform_layout_kunze2021_timed;
	for (unsigned i = 6; i > 1; i--) {
		const unsigned k = any(i), t = slot[k];

		slot[k] = slot[i - 1];
		slot[i - 1] = t;
	}
	for (unsigned i = 0; i < 6; i++) {
		struct bp_transform_field *f = i < 3 ? &l.in[i] : &l.out[i - 3];

		f->type = (uint8_t)any(BP_TRANSFORM_TYPES);
		f->offset = (uint16_t)(first + 8 * slot[i] + any(5) * (f->type < 3));
		f->fraction = (uint8_t)(f->type <= BP_TRANSFORM_UFIXED32 ? 18 + any(14) : 0);
	}
	l.cartesian = one_in(3);
	l.little_endian = one_in(2);
	l.degrees = !l.cartesian && one_in(2);
	if (!bp_transform_layout_finish(&l, &what))
		fail_msg("%s", what);
	return l;
}

static struct bp_transform_receiver random_receiver(void)
{
	struct bp_transform_receiver r = x_receiver(one_in(3)   ? NULL
						    : one_in(4) ? PICK(places6)
								: PICK(places4),
		(uint16_t)(one_in(2) ? 20000 + any(3) : 0), one_in(4) ? 0 : any(64) / 8.0 + 0.125);

	if (r.flags & BP_TRANSFORM_MATRIX)
		for (unsigned i = 0; i < 9; i++)
			r.m[i] = any(2001) / 1000.0 - 1;
	if (!(r.flags & BP_TRANSFORM_ADDRESS) && one_in(busy ? 10 : 2))
		r.flags |= BP_TRANSFORM_REFLECT;
	if (one_in(3)) {
		r.flags |= BP_TRANSFORM_MAC;
		memcpy(r.mac, "\x02\0\0\0\0\x11", 6);
	}
	return r;
}

static struct bp_prefix random_destination(void)
{
	struct bp_prefix p = {.family = 0};

	switch (any(4)) {
	case 0:
		p = (struct bp_prefix){.bytes = {10, 1}, .family = 4, .length = 16};
		break;
	case 1:
		p = (struct bp_prefix){.bytes = {10, 1, 0, 1}, .family = 4, .length = 32};
		break;
	case 2:
		p = (struct bp_prefix){
			.bytes = {0x20, 1, 0x0d, 0xb8, 0, 1}, .family = 6, .length = 48};
		break;
	default: /* any */
		break;
	}
	return p;
}

static void random_file(struct xrig *x)
{
	const unsigned rules = busy ? 2 : 1 + any(5), method = any(BP_TRANSFORM_METHODS);
	const bool alike = one_in(3);

	x_clear(x);
	for (unsigned i = 0; i < rules; i++) {
		struct bp_transform_rule r =
			busy ? x_rule(i, ports[0]) : x_rule(any(2), PICK(ports));
		struct bp_transform_receiver to[RECEIVERS];

		r.to = busy ? (struct bp_prefix){.family = 0} : random_destination();
		r.method = (uint8_t)(alike ? method : any(BP_TRANSFORM_METHODS));
		r.layout = random_layout();
		r.otherwise = random_receiver();
		r.otherwise.flags &= ~(unsigned)BP_TRANSFORM_MATRIX;
		r.drop_unknown = one_in(2);
		r.drop_overflow = one_in(2);
		r.allow_singular = true;
		x_add_rule(&x->file, &r);
		for (unsigned p = 0; p < sizeof(prefixes) / sizeof(prefixes[0]); p++) {
			const unsigned n = busy && !one_in(8) ? 1 : any(RECEIVERS + 1);

			for (unsigned k = 0; k < n; k++)
				to[k] = random_receiver();
			if (one_in(2))
				x_add_source(&x->file, prefixes[p], to, n);
		}
	}
}

/* Numbers that are likely for the layout, or anything. */
static void random_payload(uint8_t *p, unsigned len, bool tame)
{
	for (unsigned i = 0; i < len; i++)
		p[i] = (uint8_t)any(256);
	if (!tame && one_in(3))
		return;
	for (unsigned i = 0; i + 4 <= len; i += 4)
		p[i] = (uint8_t)any(4);
}

static void put16(uint8_t *p, unsigned v)
{
	p[0] = (uint8_t)(v >> 8);
	p[1] = (uint8_t)v;
}

static unsigned sum_of(const uint8_t *p, unsigned n)
{
	uint32_t sum = 0;

	for (unsigned i = 0; i < n; i += 2)
		sum += (uint32_t)p[i] << 8 | p[i + 1];
	while (sum >> 16)
		sum = (sum & 0xffff) + (sum >> 16);
	return sum;
}

/* Eight bytes of options, or of an extension header, behind the IP header at l3. */
static uint32_t insert_options(uint8_t *f, uint32_t len, unsigned l3, bool six)
{
	const unsigned at = l3 + (six ? 40 : 20);
	uint8_t *ip = f + l3;

	memmove(f + at + 8, f + at, len - at);
	memset(f + at, six ? 0 : 1, 8);
	if (six) {
		f[at] = 17;
		ip[6] = (uint8_t)(one_in(2) ? 60 : one_in(2) ? 0 : 44);
		put16(ip + 4, (unsigned)(ip[4] << 8 | ip[5]) + 8);
		if (ip[6] == 44)
			put16(f + at + 2, one_in(2) ? 1 : 8 | 1);
	} else {
		ip[0] = 0x47;
		put16(ip + 2, (unsigned)(ip[2] << 8 | ip[3]) + 8);
		put16(ip + 10, 0);
		put16(ip + 10, ~sum_of(ip, 28) & 0xffff);
	}
	return len + 8;
}

static struct udp random_datagram(void)
{
	static const uint16_t tags[] = {0, 0, 0, 7};
	struct udp u = {.src = PICK(senders),
		.len = one_in(3) ? any(90) : 40 + any(40),
		.sport = (uint16_t)(one_in(20) ? 0 : 40000 + any(3)),
		.dport = one_in(8) ? 77 : PICK(ports),
		.vlan = {PICK(tags)},
		.src_mac = 1,
		.dst_mac = 2,
		.tos = (uint8_t)any(256),
		.hops = (uint8_t)(one_in(12) ? any(2) : 1 + any(255)),
		.df = one_in(2),
		.no_checksum = one_in(10),
		.wrong = (uint16_t)one_in(30)};

	if (one_in(40))
		u.len = 1880 + any(60);
	if (u.vlan[0] != 0 && one_in(2))
		u.vlan[1] = 9;
	u.dst = strchr(u.src, ':') != NULL ? PICK(places6) : PICK(places4);
	return u;
}

/* Properties of the frames of a walk. */
enum kind { ANYTHING, ALIKE, ONE_TRACKER, KINDS };
static const char *const near[] = {"10.0.0.5", "10.0.0.6", "10.0.0.7", "10.9.9.9", "192.169.1.1"};

/* As trackers of one kind send them, of which some may be another's; or as one does. */
static struct udp like(const struct udp *first, bool one)
{
	struct udp u = *first;

	u.src = one && !one_in(100) ? near[first->hops % 5] : PICK(near);
	u.dst = places4[0];
	u.vlan[0] = u.vlan[1] = 0;
	u.len = first->df ? X_READING : 57;
	u.dport = ports[0];
	u.sport = (uint16_t)(40000 + any(3));
	u.hops = (uint8_t)(1 + any(255));
	u.no_checksum = one_in(one ? 200 : 60);
	u.wrong = (uint16_t)one_in(one ? 200 : 60);
	if (one) { /* and as it did in the last walk */
		u.tos = 0;
		u.df = true;
		u.len = X_READING;
	}
	return u;
}

static uint32_t alike_frame(const struct udp *first, bool one, uint8_t f[MODEL_FRAME])
{
	uint8_t payload[57];
	struct udp u = like(first, one);

	random_payload(payload, u.len, first->df);
	u.payload = payload;
	return agg_frame(&u, f);
}

static uint32_t random_frame(uint8_t f[MODEL_FRAME])
{
	static uint8_t payload[2100];
	struct udp u = random_datagram();
	const bool six = strchr(u.src, ':') != NULL;
	uint32_t len, l3;

	u.payload = payload;
	random_payload(payload, u.len, false);
	len = agg_frame(&u, f);
	l3 = 14u + 4u * ((u.vlan[0] != 0) + (u.vlan[1] != 0));
	if (one_in(25))
		len = insert_options(f, len, l3, six);
	if (one_in(40))
		f[0] |= 1;
	if (one_in(40))
		f[6] |= 1;
	if (one_in(40) && !six) { /* fragments */
		put16(f + l3 + 6, one_in(2) ? 0x2000 : 0x2001);
		put16(f + l3 + 10, 0);
		put16(f + l3 + 10, ~sum_of(f + l3, (f[l3] & 15u) * 4) & 0xffff);
	}
	if (one_in(30)) /* anything wrong */
		f[12 + any(len - 12 < 60 ? len - 12 : 60)] ^= (uint8_t)(1 + any(255));
	if (one_in(20)) { /* something behind the packet */
		const unsigned more = 1 + any(20);

		for (unsigned i = 0; i < more; i++)
			f[len++] = (uint8_t)any(256);
	}
	if (one_in(40)) /* or less of it */
		len -= any(len);
	return len;
}

/* Another matrix of a receiver, in the bank and in the file. */
static void random_set(struct xrig *x, struct bp_transform_config *file)
{
	struct bp_transform_source *s;
	struct bp_transform_receiver *r;
	enum bp_transform_set done;
	unsigned k;

	if (file->n_sources == 0)
		return;
	s = &file->source[any(file->n_sources)];
	if (s->n == 0)
		return;
	k = any(s->n);
	r = &file->receiver[s->first + k];
	for (unsigned i = 0; i < 12; i++)
		r->m[i] = any(2001) / 1000.0 - 1;
	r->flags |= BP_TRANSFORM_MATRIX | BP_TRANSFORM_SET;
	done = bp_transform_set(
		&x->view, s->rule, &s->address, k, r->m, false, &x->r.shm.transform.head->next_uid);
	assert_int_equal(done, BP_TRANSFORM_SET_DONE);
}

static void expect_all(struct xrig *x, const struct model *m)
{
	for (unsigned i = 0; i < m->n_out; i++)
		rig_expect(&x->r, m->out[i].port, m->out[i].byte, m->out[i].len);
	for (unsigned p = 0; p < 2; p++)
		rig_expect_none(&x->r, p);
}

static void compare_figures(struct xrig *x, const struct model *m, const uint64_t before[])
{
	const struct bp_transform_tables *t = &x->r.shm.transform;

	for (unsigned c = 0; c < BP_C_COUNT; c++) {
		const bool ours = bp_counter_info[c].name != NULL &&
				  strncmp(bp_counter_info[c].name, "transform", 9) == 0;

		if (ours && rig_counter(&x->r, c) - before[c] != m->counter[c])
			fail_msg("%s: %lu, not %lu", bp_counter_info[c].name,
				rig_counter(&x->r, c) - before[c], m->counter[c]);
	}
	for (unsigned i = 0; i < m->file->n_rules; i++) {
		assert_int_equal(t->rule_stats[i].readings, m->rule[i].readings);
		assert_int_equal(t->rule_stats[i].sent, m->rule[i].sent);
		assert_int_equal(t->rule_stats[i].bare, m->rule[i].bare);
		assert_int_equal(t->rule_stats[i].saturated, m->rule[i].saturated);
		assert_int_equal(t->rule_stats[i].refused, m->rule[i].refused);
		assert_int_equal(t->rule_stats[i].overflow, m->rule[i].overflow);
		assert_int_equal(t->rule_stats[i].unknown, m->rule[i].unknown);
	}
	for (unsigned i = 0; i < m->file->n_sources; i++) {
		const struct bp_transform_source_stats *s = &t->source_stats[i];
		const bool known = s->uid == x->view.source[i].uid;

		assert_int_equal(known ? s->readings : 0, m->source[i].readings);
		assert_int_equal(known ? s->saturated : 0, m->source[i].saturated);
		assert_int_equal(known ? s->refused : 0, m->source[i].refused);
	}
}

/* Outcomes that occurred in any case. */
static uint64_t seen[BP_C_COUNT];
static unsigned
	seen_single_stream; /* walks whose readings were those of one tracker, eight at a time */

static void one_case(void)
{
	static struct model m;
	uint64_t before[BP_C_COUNT];
	struct xrig x;

	memset(&x.file, 0, sizeof(x.file));
	busy = one_in(3);
	random_file(&x);
	x_start(&x, X_WIRE, false);
	if (one_in(2)) /* as on a processor that evaluates frame by frame */
		bp_transform_worker_of(x.r.worker)->avx512_supported = false;
	memset(&m, 0, sizeof(m));
	memset(before, 0, sizeof(before));
	m.file = &x.file;
	m.one_buffer = RIG_ROOM - RTE_PKTMBUF_HEADROOM;
	for (unsigned step = 0; step < STEPS; step++) {
		const enum kind kind = busy && !one_in(8) ? ONE_TRACKER : (enum kind)any(KINDS);
		const unsigned port = any(2), n = any(FRAMES + 1) + (kind == ONE_TRACKER ? 3 : 0);
		const struct udp first = random_datagram();
		struct bp_transform_burst *b = &bp_transform_worker_of(x.r.worker)->burst;

		if (one_in(3))
			random_set(&x, &x.file);
		m.n_out = 0;
		for (unsigned i = 0; i < n; i++) {
			uint8_t f[MODEL_FRAME];
			const uint32_t len = kind == ANYTHING
						     ? random_frame(f)
						     : alike_frame(&first, kind == ONE_TRACKER, f);

			rig_put(&x.r, port, f, len);
			model_take(&m, port, f, len);
		}
		b->avx512.frame[0] = NULL;
		rig_walk(&x.r);
		expect_all(&x, &m);
		seen_single_stream += b->avx512.frame[0] != NULL;
	}
	compare_figures(&x, &m, before);
	for (unsigned c = 0; c < BP_C_COUNT; c++)
		seen[c] += m.counter[c];
	x_stop(&x);
}

static void random_cases(void **state)
{
	for (unsigned i = 0; i < CASES; i++)
		one_case();
	if (bp_transform_avx512_supported() && seen_single_stream < 50)
		fail_msg("one tracker by itself: seldom, %u", seen_single_stream);
	/* all that random frames can bring about did come about */
	for (unsigned c = 0; c < BP_C_COUNT; c++) {
		if (bp_counter_info[c].name == NULL ||
			strncmp(bp_counter_info[c].name, "transform", 9) != 0 ||
			c == BP_C_DROP_TRANSFORM_NO_RULES || c == BP_C_TRANSFORM_NO_MBUF)
			continue;
		if (seen[c] < CASES / 25)
			fail_msg("%s: seldom", bp_counter_info[c].name);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(random_cases),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
