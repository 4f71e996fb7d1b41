/* SPDX-License-Identifier: BSD-3-Clause */
/* When lines run out: no address ever leads a wrong way, and all is exact again once there is room.
 */
#include "tests/unit/shm/test.h"

#include <stdlib.h>
#include <string.h>

#include "tests/unit/shm/fib/lpm_rig.h"
#include "tests/unit/times.h"

#define PREFIXES 400u

/* A prefix that may be refused; the rig's model has all, also refused ones. */
struct wish {
	struct bp_prefix prefix;
	uint32_t nexthop; /* 0: not there */
	bool refused;
};

struct full {
	struct lpm_rig rig;
	struct wish wish[PREFIXES];
	uint32_t n;
};

static bool covers(const struct bp_prefix *p, const struct bp_address *a)
{
	struct bp_prefix of = bp_prefix_of(*a, p->length);

	return p->family == a->family && memcmp(&of, p, sizeof(of)) == 0;
}

static const struct wish *longest(const struct full *t, const struct bp_address *a)
{
	const struct wish *best = NULL;

	for (uint32_t i = 0; i < t->n; i++) {
		const struct wish *w = &t->wish[i];

		if (w->nexthop != 0 && covers(&w->prefix, a) &&
			(best == NULL || w->prefix.length > best->prefix.length))
			best = w;
	}
	return best;
}

/* Whether a refused prefix is a reason to send the address to the kernel: the longest existing
 * prefix that covers the refused one also covers the address. */
static bool may_punt(const struct full *t, const struct bp_address *a)
{
	for (uint32_t i = 0; i < t->n; i++) {
		const struct wish *r = &t->wish[i], *over = NULL;
		struct bp_address first;

		if (r->nexthop == 0 || !r->refused || r->prefix.family != a->family)
			continue;
		first = r->prefix.family == 4 ? bp_address4(r->prefix.bytes)
					      : bp_address6(r->prefix.bytes);
		for (uint32_t k = 0; k < t->n; k++) {
			const struct wish *o = &t->wish[k];

			if (o->nexthop != 0 && !o->refused && o->prefix.length < r->prefix.length &&
				covers(&o->prefix, &first) &&
				(over == NULL || o->prefix.length > over->prefix.length))
				over = o;
		}
		if (over == NULL || covers(&over->prefix, a))
			return true;
	}
	return false;
}

static void check(struct full *t, const struct bp_address *a)
{
	const struct wish *best = longest(t, a);
	const uint32_t is = fib_way(t->rig.fib, a);

	if (best != NULL && best->refused) {
		assert_int_equal(is, BP_NH_PUNT);
		return;
	}
	if (is == BP_NH_PUNT)
		assert_true(may_punt(t, a));
	else
		assert_int_equal(is, best != NULL ? best->nexthop : BP_NH_NONE);
}

static void check_some(struct full *t, unsigned times)
{
	for (unsigned i = 0; i < times; i++) {
		const struct wish *w = &t->wish[test_below(&t->rig.seed, t->n)];
		struct bp_address a = address_near(&t->rig.seed, &w->prefix);

		check(t, &a);
	}
}

static void set(struct full *t, struct wish *w, uint32_t nexthop)
{
	enum bp_fib_result result = bp_lpm_set(t->rig.w, &w->prefix, nexthop);

	if (result == BP_FIB_SAME) {
		assert_false(w->refused);
		assert_int_equal(w->nexthop, nexthop);
		return;
	}
	if (result != BP_FIB_DONE)
		assert_int_equal(result, BP_FIB_FULL);
	w->nexthop = nexthop;
	w->refused = result == BP_FIB_FULL;
}

static void drop(struct full *t, struct wish *w)
{
	assert_int_equal(
		bp_lpm_delete(t->rig.w, &w->prefix), w->nexthop != 0 ? BP_FIB_DONE : BP_FIB_ABSENT);
	w->nexthop = 0;
	w->refused = false;
}

static uint32_t count_refused(const struct full *t)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < t->n; i++)
		n += t->wish[i].nexthop != 0 && t->wish[i].refused;
	return n;
}

/* A few networks with many prefixes, so that refused ones are in, around and next to others. */
static struct full *make(uint8_t family, uint32_t lines)
{
	struct full *t = calloc(1, sizeof(*t));

	assert_non_null(t);
	rig_start(&t->rig, 1, lines);
	while (t->n < PREFIXES) {
		const unsigned net = family == 4 ? 16 : 24;
		struct bp_address a = {.family = family, .bytes = {10}};
		struct wish *w = &t->wish[t->n++];

		for (unsigned i = net / 8; i < bp_address_bits(family) / 8; i++)
			a.bytes[i] = (uint8_t)(test_below(&t->rig.seed, 3) * 127);
		if (family == 4)
			a.bytes[3] = (uint8_t)test_random(&t->rig.seed);
		w->prefix = bp_prefix_of(
			a, net + test_below(&t->rig.seed, bp_address_bits(family) - net + 1));
		for (uint32_t i = 0; i + 1 < t->n; i++) {
			if (memcmp(&t->wish[i].prefix, &w->prefix, sizeof(w->prefix)) == 0) {
				t->n--;
				break;
			}
		}
		if (family == 4 && t->n == PREFIXES / 2)
			break;
	}
	return t;
}

static void finish(struct full *t)
{
	for (uint32_t i = 0; i < t->n; i++)
		drop(t, &t->wish[i]);
	bp_lpm_settle(t->rig.w);
	assert_int_equal(bp_lpm_free_lines(t->rig.w), t->rig.fib->max_lines);
	check_some(t, 1000);
	rig_end(&t->rig);
	free(t);
}

static void churn(uint8_t family, uint32_t lines)
{
	struct full *t = make(family, lines);
	uint32_t most = 0, tries;

	for (unsigned i = 0; i < 6000; i++) {
		struct wish *w = &t->wish[test_below(&t->rig.seed, t->n)];
		uint32_t refused;

		if (test_below(&t->rig.seed, 100) == 0) {
			assert_int_equal(bp_lpm_refuse(t->rig.w, &w->prefix),
				w->refused ? BP_FIB_SAME : BP_FIB_DONE);
			w->refused = true;
			w->nexthop = 1;
		} else if (test_below(&t->rig.seed, 3) != 0)
			set(t, w, BP_NH_FIXED + test_below(&t->rig.seed, 100));
		else
			drop(t, w);
		check_some(t, TEST_SANITIZED ? 4 : 20);
		refused = count_refused(t);
		if (refused > most)
			most = refused;
	}
	assert_true(most > 10);
	/* Half of them are deleted: refused prefixes are added if they fit, and the results remain
	 * correct. */
	for (uint32_t i = 0; i < t->n; i += 2)
		drop(t, &t->wish[i]);
	for (uint32_t i = 0; i < t->n; i++) {
		if (t->wish[i].refused)
			set(t, &t->wish[i], BP_NH_FIXED + 200 + i);
		check_some(t, TEST_SANITIZED ? 4 : 20);
	}
	for (tries = 0; count_refused(t) > 0 && tries < t->n; tries++) {
		drop(t, &t->wish[tries]);
		for (uint32_t i = 0; i < t->n; i++) {
			if (t->wish[i].refused)
				set(t, &t->wish[i], BP_NH_FIXED + 200 + i);
		}
	}
	/* No prefix is refused any more, and no address goes to the kernel. */
	assert_int_equal(count_refused(t), 0);
	check_some(t, 5000);
	finish(t);
}

static void test_full4(void **state)
{
	churn(4, 20);
}

static void test_full6(void **state)
{
	churn(6, 150);
}

static void test_no_lines_at_all(void **state)
{
	struct bp_prefix net = {.family = 4, .length = 24, .bytes = {10}};
	struct bp_prefix host = {.family = 4, .length = 32, .bytes = {10, 0, 0, 7}};
	struct bp_address a = bp_address4(host.bytes), b = a, c = a;
	struct lpm_rig r;

	b.bytes[3] = 8;
	c.bytes[2] = 1;
	rig_start(&r, 8, 1);
	/* The one line goes to another net. */
	c.bytes[0] = 11;
	assert_int_equal(
		bp_lpm_set(r.w, &(struct bp_prefix){.family = 4, .length = 32, .bytes = {11}}, 50),
		BP_FIB_DONE);
	assert_int_equal(bp_lpm_free_lines(r.w), 0);
	assert_int_equal(bp_lpm_set(r.w, &net, 60), BP_FIB_DONE);
	assert_int_equal(bp_lpm_set(r.w, &host, 61), BP_FIB_FULL);
	assert_int_equal(fib_way(r.fib, &a), BP_NH_PUNT);
	assert_int_equal(fib_way(r.fib, &b), BP_NH_PUNT); /* coarser, and no wrong way */
	assert_int_equal(fib_way(r.fib, &c), BP_NH_NONE);
	/* The net changes around it. */
	assert_int_equal(bp_lpm_set(r.w, &net, 62), BP_FIB_DONE);
	assert_int_equal(fib_way(r.fib, &a), BP_NH_PUNT);
	/* Again without room, then deleted. */
	assert_int_equal(bp_lpm_set(r.w, &host, 63), BP_FIB_FULL);
	assert_int_equal(bp_lpm_delete(r.w, &host), BP_FIB_DONE);
	assert_int_equal(fib_way(r.fib, &a), 62);
	assert_int_equal(fib_way(r.fib, &b), 62);
	rig_end(&r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_full4),
		cmocka_unit_test(test_full6),
		cmocka_unit_test(test_no_lines_at_all),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
