/* SPDX-License-Identifier: BSD-3-Clause */
#include "tests/unit/proto/exact.h"

#include "services/lcl/match.h"
#include "tests/unit/times.h"

/* Which flow: against a search from the first entry on, of a frame that is read byte by byte. */

/* The field of the frame, by RFC 791, 8200 and 802.1Q; -1: missing or unreadable. */
struct seen {
	int vlan, pcp, ethertype, dscp, family, protocol, port;
	const uint8_t *source, *destination;
};

struct reader {
	const uint8_t *p;
	size_t len, at;
};

static int get(struct reader *r, unsigned bytes)
{
	int v = 0;

	if (r->at + bytes > r->len) {
		r->at = r->len + 1; /* later headers cannot be read either */
		return -1;
	}
	for (unsigned i = 0; i < bytes; i++)
		v = v << 8 | r->p[r->at++];
	return v;
}

static void see_ports(struct reader *r, struct seen *s, int protocol, size_t end)
{
	const size_t at = r->at;

	if ((protocol != 6 && protocol != 17) || at + 4 > end || at + 4 > r->len)
		return;
	get(r, 2);
	s->port = get(r, 2);
	s->protocol = protocol;
}

static void see_ip4(struct reader *r, struct seen *s)
{
	const size_t begin = r->at;
	int first, total, protocol, offset, tos;

	first = get(r, 1);
	tos = get(r, 1);
	total = get(r, 2);
	get(r, 2);
	offset = get(r, 2);
	get(r, 1);
	protocol = get(r, 1);
	get(r, 2);
	if (begin + 20 > r->len || first < 0x45 || first > 0x4f)
		return;
	s->family = 4;
	s->dscp = tos / 4;
	s->source = r->p + begin + 12;
	s->destination = r->p + begin + 16;
	r->at = begin + 4 * ((size_t)first - 0x40);
	if (offset % 0x2000 == 0)
		see_ports(r, s, protocol, begin + (size_t)total);
}

static void see_ip6(struct reader *r, struct seen *s)
{
	const size_t begin = r->at;
	int word, length, next, extra, headers = 0;

	word = get(r, 2);
	get(r, 2);
	length = get(r, 2);
	next = get(r, 1);
	if (begin + 40 > r->len || word / 0x1000 != 6)
		return;
	s->family = 6;
	s->dscp = word / 0x40 % 0x40;
	s->source = r->p + begin + 8;
	s->destination = r->p + begin + 24;
	r->at = begin + 40;
	while (next == 0 || next == 43 || next == 60 || next == 44) {
		const bool fragment = next == 44;

		if (++headers > 8 || r->at + 8 > r->len)
			return;
		next = get(r, 1);
		extra = get(r, 1);
		if (fragment && get(r, 2) / 8 != 0)
			return;
		r->at += fragment ? 4 : 6 + 8 * (size_t)extra;
	}
	see_ports(r, s, next, begin + 40 + (size_t)length);
}

static bool see(const uint8_t *frame, size_t len, struct seen *s)
{
	struct reader r = {frame, len, 12};

	*s = (struct seen){-1, -1, -1, -1, 0, -1, -1, NULL, NULL};
	s->ethertype = get(&r, 2);
	if (s->ethertype < 0)
		return false;
	for (unsigned tags = 0; tags < 2; tags++) {
		int tag;

		if (s->ethertype != 0x8100 && s->ethertype != 0x88a8 && s->ethertype != 0x9100)
			break;
		tag = get(&r, 2);
		if (tags == 0) {
			s->vlan = tag < 0 ? -2 : tag % 4096;
			s->pcp = tag < 0 ? -1 : tag / 8192;
		}
		s->ethertype = get(&r, 2);
	}
	if (s->ethertype == 0x0800)
		see_ip4(&r, s);
	else if (s->ethertype == 0x86dd)
		see_ip6(&r, s);
	return true;
}

static bool in_prefix(const struct bp_prefix *p, int family, const uint8_t *address)
{
	if (p->family == 0)
		return true;
	if (p->family != family)
		return false;
	for (unsigned bit = 0; bit < p->length; bit++)
		if ((p->bytes[bit / 8] ^ address[bit / 8]) & 0x80 >> bit % 8)
			return false;
	return true;
}

static bool plain_is_for(const struct bp_match *m, const struct seen *s, unsigned port)
{
	if (m->port != port || !in_prefix(&m->source, s->family, s->source) ||
		!in_prefix(&m->destination, s->family, s->destination))
		return false;
	if (m->udp_last != 0 &&
		(s->protocol != 17 || s->port < m->udp_first || s->port > m->udp_last))
		return false;
	if (m->tcp_last != 0 &&
		(s->protocol != 6 || s->port < m->tcp_first || s->port > m->tcp_last))
		return false;
	if (m->ethertype != 0 && m->ethertype != s->ethertype)
		return false;
	if (m->vlan == BP_MATCH_UNTAGGED ? s->vlan != -1
					 : m->vlan != BP_MATCH_ANY && m->vlan != s->vlan)
		return false;
	return (m->pcp == BP_MATCH_ANY_PCP || m->pcp == s->pcp) &&
	       (m->dscp == BP_MATCH_ANY_DSCP || m->dscp == s->dscp);
}

static int plain_find(const struct bp_lcl_rules *rules, uint8_t out, const uint8_t *frame,
	size_t len, unsigned port)
{
	struct seen s;

	if (!see(frame, len, &s))
		return -1;
	for (unsigned i = 0; i < rules->n_flows; i++)
		if (rules->flow[i].out == out && plain_is_for(&rules->flow[i].match, &s, port))
			return (int)i;
	return -1;
}

/* Addresses that share many of their first bits. */
static void random_address(uint64_t *seed, uint8_t address[16])
{
	memset(address, 0x5a, 16);
	if (next_random(seed) % 2)
		address[next_random(seed) % 2 ? 3 : 15] ^= (uint8_t)(next_random(seed) % 4);
	if (next_random(seed) % 8 == 0)
		address[next_random(seed) % 16] ^= (uint8_t)(1 << next_random(seed) % 8);
}

static struct bp_prefix random_prefix(uint64_t *seed, uint8_t family)
{
	static const uint8_t default_settings[] = {32, 32, 31, 24, 25, 0};
	struct bp_address a = {.family = family};
	unsigned length = default_settings[next_random(seed) % 6];

	random_address(seed, a.bytes);
	if (next_random(seed) % 4 == 0)
		length = (unsigned)next_random(seed) % 33;
	if (family == 6)
		length = length * 4 - (length != 0 ? (unsigned)next_random(seed) % 4 : 0);
	return bp_prefix_of(a, length);
}

static struct bp_match random_match(uint64_t *seed)
{
	struct bp_match m = {.vlan = BP_MATCH_ANY,
		.pcp = BP_MATCH_ANY_PCP,
		.dscp = BP_MATCH_ANY_DSCP,
		.port = (uint8_t)(next_random(seed) % 3)};
	const uint64_t r = next_random(seed);
	const uint8_t family = r & 1 ? 4 : 6;

	if (r >> 1 & 1)
		m.source = random_prefix(seed, family);
	if (r >> 2 & 3)
		m.destination = random_prefix(seed, r >> 4 & 15 ? family : 10 - family);
	if ((r >> 8 & 3) == 0) {
		m.udp_first = (uint16_t)(250 + next_random(seed) % 12);
		m.udp_last = (uint16_t)(m.udp_first + next_random(seed) % 3);
	} else if ((r >> 8 & 3) == 1) {
		m.tcp_first = (uint16_t)(250 + next_random(seed) % 12);
		m.tcp_last = (uint16_t)(m.tcp_first + next_random(seed) % 3);
	} else if ((r >> 8 & 63) == 2) {
		m.udp_first = 1;
		m.udp_last = 65535;
	}
	if ((r >> 16 & 3) == 0)
		m.ethertype = r >> 18 & 1 ? 0x0800 : r >> 19 & 1 ? 0x86dd : 0x88f7;
	if ((r >> 24 & 3) == 0)
		m.vlan = r >> 26 & 1 ? BP_MATCH_UNTAGGED : (uint16_t)(r >> 27 & 3);
	if ((r >> 32 & 7) == 0)
		m.pcp = (uint8_t)(r >> 35 & 7);
	if ((r >> 40 & 7) == 0)
		m.dscp = (uint8_t)(r >> 43 & 3);
	return m;
}

static void append(uint8_t *frame, size_t *len, unsigned bytes, uint64_t value)
{
	for (unsigned i = 0; i < bytes; i++)
		frame[(*len)++] = (uint8_t)(value >> 8 * (bytes - 1 - i));
}

static void append_address(uint8_t *frame, size_t *len, uint64_t *seed, unsigned bytes)
{
	uint8_t address[16];

	random_address(seed, address);
	memcpy(frame + *len, address, bytes);
	*len += bytes;
}

/* The transport header; ports of either protocol, or bytes of something else. */
static void append_l4(uint8_t *frame, size_t *len, uint64_t *seed)
{
	append(frame, len, 2, next_random(seed));
	append(frame, len, 2, 250 + next_random(seed) % 14);
	append(frame, len, 8, next_random(seed));
}

static uint8_t random_protocol(uint64_t *seed)
{
	static const uint8_t of[] = {17, 17, 17, 6, 6, 6, 1, 50};

	return of[next_random(seed) % 8];
}

static void append_ip4(uint8_t *frame, size_t *len, uint64_t *seed)
{
	/* not to be one, the first, one in the middle, the last */
	static const uint16_t fragment[] = {0x4000, 0x2000, 0x20b9, 0x00b9};
	const uint64_t r = next_random(seed);
	const unsigned words = r & 3 ? 5 : (unsigned)(r >> 2 & 15);
	const unsigned total = r >> 6 & 7 ? words * 4 + 12 : (unsigned)(r >> 9 & 63);

	append(frame, len, 1, 0x40 | words);
	append(frame, len, 1, r >> 15 & 15);
	append(frame, len, 2, total);
	append(frame, len, 2, r >> 19);
	append(frame, len, 2, r >> 35 & 1 ? 0 : fragment[r >> 36 & 3]);
	append(frame, len, 1, 64);
	append(frame, len, 1, random_protocol(seed));
	append(frame, len, 2, r >> 40);
	append_address(frame, len, seed, 4);
	append_address(frame, len, seed, 4);
	for (unsigned i = 5; i < words; i++)
		append(frame, len, 4, next_random(seed));
	append_l4(frame, len, seed);
}

static void append_ip6(uint8_t *frame, size_t *len, uint64_t *seed)
{
	static const uint8_t header[] = {0, 43, 60, 44};
	const uint64_t r = next_random(seed);
	unsigned n = r & 1 ? 0 : (unsigned)(r >> 1 & 15) % 11;
	uint8_t next = n != 0 ? header[r >> 5 & 3] : random_protocol(seed);
	size_t payload, begin;

	append(frame, len, 4, 0x60000000u | (r >> 8 & 0x00f00000));
	payload = *len;
	append(frame, len, 2, 0);
	append(frame, len, 1, next);
	append(frame, len, 1, 64);
	append_address(frame, len, seed, 16);
	append_address(frame, len, seed, 16);
	begin = *len;
	for (; n != 0; n--) {
		const uint64_t q = next_random(seed);
		const bool fragment = next == 44;
		const unsigned more = fragment ? (unsigned)(q & 255) : (unsigned)(q & 3) % 3;

		next = n > 1 ? header[q >> 8 & 3] : random_protocol(seed);
		append(frame, len, 1, next);
		append(frame, len, 1, more);
		append(frame, len, 2, q >> 12 & 3 ? q >> 14 & 7 : q >> 14);
		append(frame, len, 4, q >> 30);
		for (unsigned i = 0; i < more && !fragment; i++)
			append(frame, len, 8, next_random(seed));
	}
	append_l4(frame, len, seed);
	append(frame, &payload, 2, r >> 50 & 7 ? *len - begin : r >> 53 & 63);
}

static size_t random_frame(uint64_t *seed, uint8_t *frame)
{
	static const uint16_t types[] = {0x0800, 0x0800, 0x0800, 0x86dd, 0x86dd, 0x86dd, 0x88f7, 0};
	static const uint16_t tags[] = {0x8100, 0x88a8, 0x9100, 0x8100};
	const uint64_t r = next_random(seed);
	const uint16_t type = types[r & 7];
	size_t len = 12;

	memset(frame, 2, 12);
	for (unsigned i = r >> 3 & 1 ? 0 : (unsigned)(r >> 4 & 3); i != 0; i--) {
		append(frame, &len, 2, tags[next_random(seed) % 4]);
		append(frame, &len, 2, next_random(seed) & 0xe003);
	}
	append(frame, &len, 2, type);
	if (type == 0x0800)
		append_ip4(frame, &len, seed);
	else if (type == 0x86dd)
		append_ip6(frame, &len, seed);
	else
		append_l4(frame, &len, seed);
	if ((r >> 8 & 7) == 0)
		frame[12 + (r >> 11) % (len - 12)] = (uint8_t)(r >> 40);
	return (r >> 48 & 3) == 0 ? (r >> 50) % (len + 1) : len;
}

static void first_matching_entry_applies(void **state)
{
	static struct bp_lcl_rules rules;
	uint64_t seed = 0x9e3779b97f4a7c15;
	unsigned found = 0, flows = 0;
	bool seen[BP_LCL_FLOWS_MAX] = {false};

	for (unsigned round = 0; round < TEST_TIMES(400); round++) {
		const unsigned n = (unsigned)next_random(&seed) % (BP_LCL_FLOWS_MAX + 1);
		struct bp_matcher *m;

		rules.n_flows = n;
		for (unsigned i = 0; i < n; i++) {
			rules.flow[i].match = random_match(&seed);
			rules.flow[i].out = (uint8_t)(next_random(&seed) % 2);
		}
		m = bp_lcl_matcher_create(&rules, 1);
		assert_non_null(m);
		for (unsigned i = 0; i < 500; i++) {
			const unsigned port = next_random(&seed) % 3;
			uint8_t bytes[512], *frame;
			size_t len = random_frame(&seed, bytes);
			int want, got;

			assert_true(len <= sizeof(bytes));
			frame = exact_copy(bytes, len);
			want = plain_find(&rules, 1, bytes, len, port);
			got = bp_matcher_find(m, frame, len, (uint16_t)port);
			assert_int_equal(got, want);
			free(frame);
			if (want < 0)
				continue;
			found++;
			flows += !seen[want];
			seen[want] = true;
		}
		bp_matcher_free(m);
	}
	assert_true(found > TEST_TIMES(60000));
	assert_true(flows > 100);
}

/* 10.1.0.9 to port 7000 of 10.1.0.5, UDP, 46 bytes */
static const uint8_t example[] = {2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2, 8, 0, 0x45, 0xb8, 0, 32, 0, 1,
	0x40, 0, 64, 17, 0, 0, 10, 1, 0, 9, 10, 1, 0, 5, 0x9c, 0x40, 0x1b, 0x58, 0, 12, 0, 0, 1, 2,
	3, 4};

static struct bp_lcl_rules one_rule(void)
{
	struct bp_lcl_rules r = {.n_flows = 1};
	struct bp_match *m = &r.flow[0].match;
	const struct bp_address to = {{10, 1, 0, 5}, 4};

	m->destination = bp_prefix_of(to, 32);
	m->udp_first = m->udp_last = 7000;
	m->vlan = BP_MATCH_ANY;
	m->pcp = BP_MATCH_ANY_PCP;
	m->dscp = 46;
	m->port = 3;
	r.flow[0].out = 2;
	return r;
}

static int match_one(const struct bp_lcl_rules *r, uint8_t out, size_t len, uint16_t port)
{
	struct bp_matcher *m = bp_lcl_matcher_create(r, out);
	uint8_t *frame = exact_copy(example, len);
	int got;

	assert_non_null(m);
	got = bp_matcher_find(m, frame, len, port);
	free(frame);
	bp_matcher_free(m);
	return got;
}

static void the_example(void **state)
{
	struct bp_lcl_rules r = one_rule();

	assert_int_equal(match_one(&r, 2, sizeof(example), 3), 0);
	assert_int_equal(match_one(&r, 1, sizeof(example), 3), -1);
	assert_int_equal(match_one(&r, 2, sizeof(example), 2), -1);
	/* the low byte of a number of a port is not the number */
	assert_int_equal(match_one(&r, 2, sizeof(example), 0x103), -1);
	for (size_t len = 0; len <= sizeof(example); len++)
		assert_int_equal(match_one(&r, 2, len, 3), len < 14 + 20 + 4 ? -1 : 0);
	r.flow[0].match.udp_last = 65535;
	r.flow[0].match.udp_first = 7001;
	assert_int_equal(match_one(&r, 2, sizeof(example), 3), -1);
	r.flow[0].match.udp_first = 1;
	assert_int_equal(match_one(&r, 2, sizeof(example), 3), 0);
}

/* Entries that no valid configuration has match no frame. */
static void impossible_entries(void **state)
{
	struct bp_lcl_rules r = one_rule();
	const struct bp_lcl_rules before = r;

	r.flow[0].match.tcp_first = r.flow[0].match.tcp_last = 7000;
	assert_int_equal(match_one(&r, 2, sizeof(example), 3), -1);
	r = before;
	r.flow[0].match.udp_first = 7001;
	assert_int_equal(match_one(&r, 2, sizeof(example), 3), -1);
	r = before;
	r.flow[0].match.source.family = 6;
	assert_int_equal(match_one(&r, 2, sizeof(example), 3), -1);
	/* a prefix longer than its address is the whole of it */
	r = before;
	r.flow[0].match.destination.length = 200;
	assert_int_equal(match_one(&r, 2, sizeof(example), 3), 0);
	r.flow[0].match.destination.bytes[3] = 4;
	assert_int_equal(match_one(&r, 2, sizeof(example), 3), -1);
	r.n_flows = 0;
	assert_int_equal(match_one(&r, 2, sizeof(example), 3), -1);
	bp_matcher_free(NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(first_matching_entry_applies),
		cmocka_unit_test(the_example),
		cmocka_unit_test(impossible_entries),
	};

	return cmocka_run_group_tests_name("match", tests, NULL, NULL);
}
