/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Readers while the writer works: every answer is what the tables said at some instant between the
 * beginning and the end of the lookup, not a mixture of two changes.
 */
#include "tests/unit/shm/test.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "tests/unit/shm/fib/lpm_rig.h"

#define READERS 2u
#define ADDRESSES 48u
#define VERSIONS 1024u
#define CHANGES TEST_TIMES(60000u)
#define PREFIXES 160u

struct shared {
	struct lpm_rig rig;
	struct bp_prefix prefix[PREFIXES];
	struct bp_address address[ADDRESSES];
	/* the result for each address, for the last VERSIONS versions */
	_Atomic uint32_t way[VERSIONS][ADDRESSES];
	_Atomic uint64_t begun, done;
	_Atomic bool stop;
	_Atomic uint64_t lookups, wrong, ready;
};

struct reader {
	struct shared *s;
	unsigned worker;
	pthread_t thread;
};

static bool was_true(struct shared *s, uint64_t from, uint64_t to, unsigned i, uint32_t way)
{
	for (uint64_t v = from; v <= to; v++) {
		if (atomic_load(&s->way[v % VERSIONS][i]) == way)
			return true;
	}
	/* The log has wrapped meanwhile: no check is possible. */
	return atomic_load(&s->begun) >= from + VERSIONS - 1;
}

static void *read_on(void *arg)
{
	struct reader *r = arg;
	struct shared *s = r->s;
	const uint8_t *dst6[ADDRESSES];
	uint32_t dst4[ADDRESSES], got[ADDRESSES];
	unsigned n4 = 0, n6 = 0;
	uint64_t known = 0;
	uint8_t nodes = 0;

	/* The first half is IPv4. */
	for (unsigned i = 0; i < ADDRESSES; i++) {
		const uint8_t *b = s->address[i].bytes;

		if (s->address[i].family == 6)
			dst6[n6++] = b;
		else
			dst4[n4++] = (uint32_t)b[0] << 24 | (uint32_t)b[1] << 16 |
				     (uint32_t)b[2] << 8 | b[3];
	}
	for (uint64_t round = 0; !atomic_load(&s->stop); round++) {
		uint64_t from, to;

		bp_fib_quiesce(s->rig.fib, r->worker, &known);
		if (round == 0)
			atomic_fetch_add(&s->ready, 1);
		from = atomic_load(&s->done);
		bp_lpm4_lookup_retry(s->rig.fib, &nodes, dst4, got, n4);
		nodes = round & 1;
		bp_lpm6_lookup(s->rig.fib, dst6, got + n4, n6);
		to = atomic_load(&s->begun);
		for (unsigned i = 0; i < ADDRESSES; i++) {
			if (!was_true(s, from, to, i, got[i]))
				atomic_fetch_add(&s->wrong, 1);
		}
		atomic_fetch_add(&s->lookups, ADDRESSES);
	}
	bp_fib_read_end(s->rig.fib, r->worker, &known);
	return NULL;
}

/* Nested and neighboring prefixes around a few addresses. */
static void lay_out(struct shared *s)
{
	for (unsigned i = 0; i < ADDRESSES; i++) {
		struct bp_address *a = &s->address[i];

		a->family = i < ADDRESSES / 2 ? 4 : 6;
		for (unsigned k = 0; k < bp_address_bits(a->family) / 8; k++)
			a->bytes[k] = (uint8_t)(k < 2 ? 10 : test_below(&s->rig.seed, 2) * 3);
	}
	for (unsigned i = 0; i < PREFIXES; i++) {
		struct bp_address a = s->address[test_below(&s->rig.seed, ADDRESSES)];

		s->prefix[i] = bp_prefix_of(
			a, 13 + test_below(&s->rig.seed, bp_address_bits(a.family) - 12));
	}
}

static void change(struct shared *s, uint64_t version)
{
	const struct bp_prefix *p = &s->prefix[test_below(&s->rig.seed, PREFIXES)];
	uint32_t nexthop = model_get(s->rig.model, p);

	if (nexthop != 0 && test_below(&s->rig.seed, 2) == 0)
		nexthop = 0;
	else
		nexthop = (uint32_t)(BP_NH_FIXED + version);
	model_set(s->rig.model, p, nexthop);
	for (unsigned i = 0; i < ADDRESSES; i++)
		atomic_store(
			&s->way[version % VERSIONS][i], model_lookup(s->rig.model, &s->address[i]));
	atomic_store(&s->begun, version);
	if (nexthop != 0)
		assert_int_equal(bp_lpm_set(s->rig.w, p, nexthop), BP_FIB_DONE);
	else if (bp_lpm_delete(s->rig.w, p) != BP_FIB_DONE)
		fail();
	atomic_store(&s->done, version);
}

static void test_readers(void **state)
{
	struct shared *s = calloc(1, sizeof(*s));
	struct reader reader[READERS];

	assert_non_null(s);
	/* So few lines that they are reused again and again. */
	rig_start(&s->rig, PREFIXES, 4096);
	lay_out(s);
	for (unsigned i = 0; i < READERS; i++) {
		reader[i] = (struct reader){.s = s, .worker = i};
		assert_int_equal(pthread_create(&reader[i].thread, NULL, read_on, &reader[i]), 0);
	}
	while (atomic_load(&s->ready) < READERS)
		;
	for (uint64_t v = 1; v <= CHANGES; v++) {
		change(s, v);
		/* A writer that gets far ahead of the readers would find no free lines. */
		while (bp_lpm_free_lines(s->rig.w) < 1024)
			bp_lpm_settle(s->rig.w);
	}
	atomic_store(&s->stop, true);
	for (unsigned i = 0; i < READERS; i++)
		pthread_join(reader[i].thread, NULL);
	assert_int_equal(atomic_load(&s->wrong), 0);
	assert_true(atomic_load(&s->lookups) > 0);
	rig_end(&s->rig);
	free(s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_readers),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
