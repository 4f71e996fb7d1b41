/* SPDX-License-Identifier: BSD-3-Clause */
/* The forwarding tables against a simple model, with random changes. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/unit/shm/fib/fib_rig.h"

#define INTERFACES 3
#define GATEWAYS 6 /* of each interface; the odd ones are IPv6 */
#define OBJECTS 6
#define PREFIXES 48 /* the second half is IPv6 */

struct model {
	struct {
		bool there, permanent;
		unsigned mac;
	} neighbor[INTERFACES][GATEWAYS];
	struct {
		bool live;
		uint8_t type;
		uint32_t n;
		struct bp_hop hop[BP_HOPS_MAX];
	} object[OBJECTS];
	struct bp_route route[2][PREFIXES]; /* prefix.family 0: none */
};

static struct fib_rig x;
static struct model m;
static uint64_t rnd;

static unsigned below(unsigned n)
{
	return test_below(&rnd, n);
}

static struct bp_address gateway(unsigned interface, unsigned g)
{
	char text[40];

	snprintf(text, sizeof(text), g % 2 ? "fd00:%u::%u" : "10.%u.0.%u", interface, g + 1);
	return fib_address(text);
}

static struct bp_prefix prefix(unsigned i)
{
	char text[40];

	if (i < PREFIXES / 2)
		snprintf(text, sizeof(text), i % 3 ? "20.0.%u.0/24" : "20.0.%u.128/27", i);
	else
		snprintf(text, sizeof(text), i % 3 ? "2001:db8:%u::/48" : "2001:db8:%u::/64", i);
	return fib_prefix(text);
}

static struct bp_hop random_hop(bool four)
{
	const unsigned i = below(INTERFACES);
	unsigned g = below(GATEWAYS);
	struct bp_hop h;

	memset(&h, 0, sizeof(h));
	if (!four)
		g |= 1;
	h.interface = (uint8_t)i;
	h.weight = (uint16_t)(1 + below(4) * below(4));
	if (below(5) > 0)
		h.gateway = gateway(i, g);
	return h;
}

static uint64_t hop_link(const struct bp_hop *h)
{
	if (h->gateway.family == 0)
		return bp_link_make(BP_LINK_CONNECTED, h->interface, 0);
	for (unsigned g = 0; g < GATEWAYS; g++) {
		const struct bp_address a = gateway(h->interface, g);

		if (memcmp(&a, &h->gateway, sizeof(a)) == 0 && m.neighbor[h->interface][g].there)
			return fib_resolved(h->interface, m.neighbor[h->interface][g].mac);
	}
	return bp_link_make(BP_LINK_UNRESOLVED, h->interface, 0);
}

/* Whether the shares of a group match the weights. */
static void check_group(uint32_t number, const struct bp_hop *hop, uint32_t n)
{
	uint64_t left[BP_GROUP_SHARES], sum = 0;

	assert_true(number < x.f->max_groups);
	for (unsigned s = 0; s < BP_GROUP_SHARES; s++)
		left[s] = x.f->nexthops[x.f->groups[number].nexthop[s]].link;
	for (uint32_t i = 0; i < n; i++)
		sum += hop[i].weight;
	for (uint32_t i = 0; i < n; i++) {
		const uint64_t link = hop_link(&hop[i]);
		uint64_t weight = 0, hops = 0, shares = 0;

		/* equal next hops count together */
		for (uint32_t k = 0; k < n; k++) {
			weight += hop_link(&hop[k]) == link ? hop[k].weight : 0;
			hops += hop_link(&hop[k]) == link;
		}
		for (unsigned s = 0; s < BP_GROUP_SHARES; s++)
			shares += left[s] == link;
		assert_true(shares + hops > weight * BP_GROUP_SHARES / sum);
		assert_true(shares < weight * BP_GROUP_SHARES / sum + 1 + hops);
	}
}

static void check_hops(uint64_t link, const struct bp_hop *hop, uint32_t n)
{
	if (n == 1)
		assert_int_equal(link, hop_link(hop));
	else if (bp_link_kind(link) == BP_LINK_GROUP)
		check_group((uint32_t)link, hop, n);
	else
		fail_msg("no group");
}

static void check_route(unsigned i)
{
	static const enum bp_link_kind kind[BP_ROUTE_TYPES] = {[BP_ROUTE_LOCAL] = BP_LINK_LOCAL,
		[BP_ROUTE_BLACKHOLE] = BP_LINK_BLACKHOLE,
		[BP_ROUTE_UNREACHABLE] = BP_LINK_UNREACHABLE,
		[BP_ROUTE_PROHIBIT] = BP_LINK_PROHIBIT,
		[BP_ROUTE_PUNT] = BP_LINK_PUNT};
	const struct bp_prefix p = prefix(i);
	struct bp_address a = {.family = p.family};
	const struct bp_route *r = &m.route[BP_ORIGIN_STATIC][i];
	uint64_t link;

	memcpy(a.bytes, p.bytes, sizeof(a.bytes));
	link = x.f->nexthops[bp_fib_lookup(x.f, BP_VRF_MAIN, &a)].link;
	if (r->prefix.family == 0)
		r = &m.route[BP_ORIGIN_KERNEL][i];
	if (r->prefix.family == 0) {
		assert_int_equal(bp_link_kind(link), BP_LINK_NONE);
	} else if (r->type != BP_ROUTE_UNICAST) {
		assert_int_equal(bp_link_kind(link), kind[r->type]);
	} else if (r->object == 0) {
		check_hops(link, r->hop, r->n_hops);
	} else {
		const uint32_t o = r->object - 1;

		if (!m.object[o].live)
			assert_int_equal(bp_link_kind(link), BP_LINK_BLACKHOLE);
		else if (m.object[o].type != BP_ROUTE_UNICAST)
			assert_int_equal(bp_link_kind(link), kind[m.object[o].type]);
		else
			check_hops(link, m.object[o].hop, m.object[o].n);
	}
}

static void plain_hop(struct bp_hop *h)
{
	h->weight = 1;
}

/* `show` prints the content of the model. */
static void check_shown(void)
{
	uint32_t cursor = 0, n = 0, want = 0;
	struct bp_route r;
	struct bp_neighbor_info info;

	while (bp_fib_next_route(x.f, &cursor, &r)) {
		const struct bp_route *w = NULL;

		n++;
		for (unsigned i = 0; i < PREFIXES; i++) {
			const struct bp_prefix p = prefix(i);

			if (memcmp(&p, &r.prefix, sizeof(p)) == 0)
				w = &m.route[r.origin][i];
		}
		assert_non_null(w);
		assert_int_equal(w->type, r.type);
		assert_int_equal(w->metric, r.metric);
		assert_int_equal(w->protocol, r.protocol);
		if (r.type != BP_ROUTE_UNICAST)
			continue;
		assert_int_equal(w->object, r.object);
		if (w->object == 0) {
			struct bp_hop only = w->hop[0];

			plain_hop(&only);
			assert_int_equal(w->n_hops, r.n_hops);
			assert_memory_equal(r.hop, w->n_hops == 1 ? &only : w->hop,
				w->n_hops * sizeof(r.hop[0]));
		} else if (m.object[w->object - 1].live &&
			   m.object[w->object - 1].type == BP_ROUTE_UNICAST) {
			assert_int_equal(r.n_hops, m.object[w->object - 1].n);
		}
	}
	for (unsigned i = 0; i < PREFIXES; i++)
		want += m.route[0][i].prefix.family != 0 || m.route[1][i].prefix.family != 0;
	assert_int_equal(n, want);
	assert_int_equal(x.f->control->routes4 + x.f->control->routes6, want);
	cursor = n = want = 0;
	while (bp_fib_next_neighbor(x.f, &cursor, &info)) {
		n++;
		for (unsigned g = 0; g < GATEWAYS; g++) {
			const struct bp_address a = gateway(info.interface, g);

			if (memcmp(&a, &info.address, sizeof(a)) != 0)
				continue;
			assert_true(m.neighbor[info.interface][g].there);
			assert_memory_equal(
				info.mac, fib_mac(m.neighbor[info.interface][g].mac), 6);
			assert_int_equal(info.state, m.neighbor[info.interface][g].permanent
							     ? BP_NEIGHBOR_PERMANENT
							     : BP_NEIGHBOR_REACHABLE);
		}
	}
	for (unsigned i = 0; i < INTERFACES * GATEWAYS; i++)
		want += m.neighbor[i / GATEWAYS][i % GATEWAYS].there;
	assert_int_equal(n, want);
	assert_int_equal(x.f->control->neighbors, want);
}

static void check(void)
{
	for (unsigned i = 0; i < PREFIXES; i++)
		check_route(i);
	check_shown();
}

static void change_neighbor(void)
{
	const unsigned i = below(INTERFACES), g = below(GATEWAYS), mac = below(4);
	const bool permanent = below(8) == 0;
	const struct bp_address a = gateway(i, g);
	enum bp_fib_result want = BP_FIB_DONE, got;

	switch (below(4)) {
	case 0:
		got = bp_fib_neighbor_delete(x.w, i, &a);
		want = m.neighbor[i][g].there ? BP_FIB_DONE : BP_FIB_ABSENT;
		m.neighbor[i][g].there = false;
		break;
	case 1:
		got = bp_fib_neighbor_set(x.w, i, &a, NULL, BP_NEIGHBOR_FAILED);
		if (!m.neighbor[i][g].there || m.neighbor[i][g].permanent)
			want = BP_FIB_SAME;
		else
			m.neighbor[i][g].there = false;
		break;
	default:
		got = bp_fib_neighbor_set(x.w, i, &a, fib_mac(mac),
			permanent ? BP_NEIGHBOR_PERMANENT : BP_NEIGHBOR_REACHABLE);
		if (m.neighbor[i][g].there &&
			((m.neighbor[i][g].permanent && !permanent) ||
				(m.neighbor[i][g].mac == mac &&
					m.neighbor[i][g].permanent == permanent))) {
			want = BP_FIB_SAME;
			break;
		}
		m.neighbor[i][g].there = true;
		m.neighbor[i][g].mac = mac;
		m.neighbor[i][g].permanent = permanent;
	}
	assert_int_equal(got, want);
}

static void change_object(void)
{
	const unsigned o = below(OBJECTS);

	if (below(4) == 0) {
		assert_int_equal(bp_fib_object_delete(x.w, o + 1),
			m.object[o].live ? BP_FIB_DONE : BP_FIB_ABSENT);
		m.object[o].live = false;
		return;
	}
	m.object[o].live = true;
	m.object[o].type = below(8) == 0   ? BP_ROUTE_BLACKHOLE
			   : below(8) == 0 ? BP_ROUTE_PUNT
					   : BP_ROUTE_UNICAST;
	m.object[o].n = below(2) ? 1 : 2 + below(5);
	for (uint32_t i = 0; i < m.object[o].n; i++)
		m.object[o].hop[i] = random_hop(true);
	assert_true(bp_fib_object_set(x.w, o + 1, m.object[o].type, m.object[o].hop,
			    m.object[o].n) <= BP_FIB_SAME);
	assert_int_equal(
		bp_fib_object_set(x.w, o + 1, m.object[o].type, m.object[o].hop, m.object[o].n),
		BP_FIB_SAME);
}

static void change_route(void)
{
	const unsigned i = below(PREFIXES), origin = below(4) == 0;
	struct bp_route *r = &m.route[origin][i];
	const struct bp_prefix p = prefix(i);

	if (below(3) == 0) {
		assert_int_equal(bp_fib_route_delete(x.w, &p, (enum bp_origin)origin),
			r->prefix.family ? BP_FIB_DONE : BP_FIB_ABSENT);
		memset(r, 0, sizeof(*r));
		return;
	}
	memset(r, 0, sizeof(*r));
	r->prefix = p;
	r->origin = (uint8_t)origin;
	r->type = below(4) ? BP_ROUTE_UNICAST : (uint8_t)below(BP_ROUTE_TYPES);
	r->metric = below(3);
	r->protocol = (uint8_t)below(3);
	r->n_hops = below(2) ? 1 : 1 + below(6);
	for (uint32_t h = 0; h < r->n_hops; h++)
		r->hop[h] = random_hop(p.family == 4);
	if (r->type == BP_ROUTE_UNICAST && below(3) == 0) {
		const unsigned o = below(OBJECTS);

		if (m.object[o].live)
			r->object = o + 1;
	}
	assert_in_range(bp_fib_route_set(x.w, r), BP_FIB_DONE, BP_FIB_SAME);
	assert_int_equal(bp_fib_route_set(x.w, r), BP_FIB_SAME);
}

static void step(void)
{
	switch (below(8)) {
	case 0:
	case 1:
		change_neighbor();
		break;
	case 2:
		change_object();
		break;
	default:
		change_route();
	}
}

static int start(void **state)
{
	memset(&m, 0, sizeof(m));
	fib_open(&x, 256, 256, 64, 512, 128);
	return 0;
}

static int end(void **state)
{
	fib_close(&x);
	return 0;
}

static void empty(void)
{
	for (unsigned i = 0; i < 2 * PREFIXES; i++) {
		const struct bp_prefix p = prefix(i / 2);

		bp_fib_route_delete(x.w, &p, i % 2 ? BP_ORIGIN_STATIC : BP_ORIGIN_KERNEL);
	}
	for (unsigned o = 0; o < OBJECTS; o++)
		bp_fib_object_delete(x.w, o + 1);
	memset(m.route, 0, sizeof(m.route));
	memset(m.object, 0, sizeof(m.object));
	while (bp_fib_settle(x.w))
		;
	check();
	assert_int_equal(x.f->control->nexthops, 0);
	assert_int_equal(x.f->control->groups, 0);
	assert_int_equal(x.f->control->lines, 0);
}

static void the_tables_say_what_they_were_told(void **state)
{
	rnd = 1;
	for (unsigned round = 0; round < TEST_TIMES(20000); round++) {
		step();
		if (below(8) == 0)
			bp_fib_settle(x.w);
		if (below(16) == 0)
			check();
	}
	check();
	empty(); /* no leak */
}

/* Another writer knows only what is active, and deleted objects as the blackholes that they are.
 */
static void forget_what_is_hidden(void)
{
	for (unsigned o = 0; o < OBJECTS; o++) {
		if (m.object[o].live)
			continue;
		for (unsigned i = 0; i < 2 * PREFIXES && !m.object[o].live; i++)
			m.object[o].live = m.route[i % 2][i / 2].object == o + 1;
		m.object[o].type = BP_ROUTE_BLACKHOLE;
	}
	for (unsigned i = 0; i < PREFIXES; i++) {
		if (m.route[BP_ORIGIN_STATIC][i].prefix.family != 0)
			memset(&m.route[BP_ORIGIN_KERNEL][i], 0, sizeof(m.route[0][0]));
	}
}

static void another_writer_goes_on(void **state)
{
	rnd = 2;
	for (unsigned round = 0; round < TEST_TIMES(100); round++) {
		for (unsigned i = below(60); i > 0; i--)
			step();
		fib_take_over(&x);
		forget_what_is_hidden();
		assert_int_equal(x.f->control->repairs, 0);
		check();
	}
	empty();
}

/* A worker that has not passed finds what it found before, whatever is deleted and set. */
static void nothing_is_reused_before_the_workers_passed(void **state)
{
	uint32_t held[PREFIXES];
	struct bp_nexthop before[PREFIXES];
	uint64_t known = 0;

	rnd = 3;
	for (unsigned round = 0; round < TEST_TIMES(80); round++) {
		bp_fib_quiesce(x.f, 1, &known);
		for (unsigned i = 0; i < PREFIXES; i++) {
			struct bp_address a = {.family = prefix(i).family};

			memcpy(a.bytes, prefix(i).bytes, sizeof(a.bytes));
			held[i] = bp_fib_lookup(x.f, BP_VRF_MAIN, &a);
			before[i] = x.f->nexthops[held[i]];
			atomic_store(&x.f->nexthops[held[i]].used_s, 77);
		}
		for (unsigned i = below(60); i > 0; i--) {
			step();
			bp_fib_settle(x.w);
		}
		/* Another writer has no lines for routes before the workers pass, but next hops. */
		fib_take_over(&x);
		forget_what_is_hidden();
		for (unsigned i = below(30); i > 0; i--) {
			change_object();
			change_neighbor();
			bp_fib_settle(x.w);
		}
		for (unsigned i = 0; i < PREFIXES; i++) {
			const struct bp_nexthop *e = &x.f->nexthops[held[i]];

			if (before[i].object != 0 || held[i] < BP_NH_FIXED)
				continue;
			assert_int_equal(e->object, 0);
			assert_memory_equal(&e->hop, &before[i].hop, sizeof(e->hop));
			assert_int_equal(e->used_s, 77);
			if (bp_link_kind(e->link) == BP_LINK_GROUP)
				assert_int_equal(e->link, before[i].link);
			else
				assert_int_equal(bp_link_interface(e->link),
					bp_link_interface(before[i].link));
		}
	}
	bp_fib_read_end(x.f, 1, &known);
	empty();
	for (uint32_t i = BP_NH_FIXED; i < x.f->max_nexthops; i++)
		assert_int_equal(x.f->nexthops[i].state & 0xff, 0);
}

#define T(f) cmocka_unit_test_setup_teardown(f, start, end)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(the_tables_say_what_they_were_told),
		T(another_writer_goes_on),
		T(nothing_is_reused_before_the_workers_passed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
