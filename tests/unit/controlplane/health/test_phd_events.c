/* SPDX-License-Identifier: BSD-3-Clause */
/* Events from workers to the control plane: with real rings and tables, written as a worker does.
 */
#include "tests/unit/shm/health/phd_rig.h"

#include <stdlib.h>
#include <string.h>

#include "controlplane/health/events.h"
#include "services/health/token.h"
#include "proto/health/onem2m.h"

#define SECOND 1000000000ull

struct rig {
	struct phd_rig x;
	struct bp_worker_events *e;
	unsigned answers, stale;
	uint32_t slot; /* of the last of either */
	uint16_t life;
	uint8_t apdu[64];
	size_t len;
	bool clears; /* clears the flag in the callback */
};

static void on_answer(void *arg, uint32_t slot, uint16_t life, const uint8_t *apdu, size_t len)
{
	struct rig *r = arg;

	r->answers++;
	r->slot = slot;
	r->life = life;
	assert_true(len <= sizeof(r->apdu));
	memcpy(r->apdu, apdu, len);
	r->len = len;
}

static void on_stale(void *arg, uint32_t slot, uint16_t life)
{
	struct rig *r = arg;

	r->stale++;
	r->slot = slot;
	r->life = life;
	if (r->clears)
		bp_phd_session_flags(r->x.w, slot, 0, BP_PHD_STALE);
}

static void start(struct rig *r, uint32_t sessions, uint32_t workers)
{
	const struct bp_worker_events_ops ops = {.answer = on_answer, .stale = on_stale};

	memset(r, 0, sizeof(*r));
	phd_open(&r->x, sessions, 16, workers);
	r->e = bp_worker_events_new(NULL, NULL, r->x.t, &ops, r);
	assert_non_null(r->e);
}

static void finish(struct rig *r)
{
	bp_worker_events_free(r->e);
	phd_close(&r->x);
}

static uint32_t open_session(struct rig *r, uint32_t device)
{
	struct bp_phd_session_spec spec = phd_device(device);
	uint32_t slot;

	spec.layout = BP_PHD_NO_LAYOUT;
	assert_int_equal(bp_phd_session_open(r->x.w, &spec, &slot), 0);
	return slot;
}

static uint16_t life_of(const struct rig *r, uint32_t slot)
{
	return bp_phd_word_life(r->x.t->sessions[slot].word);
}

static uint64_t token_of(const struct rig *r, uint32_t slot, bool confirmed)
{
	const struct bp_phd_token t = {
		.slot = slot, .invoke_id = 0xabcd, .type = 1, .only = true, .confirmed = confirmed};

	return bp_phd_token_pack(&t, life_of(r, slot), r->x.t->hash_key);
}

/* False: the ring is full. */
static bool tell(struct rig *r, unsigned worker, uint32_t kind, uint32_t slot, uint64_t token,
	uint8_t outcome)
{
	const struct bp_phd_event_record record = {
		.kind = kind, .slot = slot, .token = token, .outcome = outcome};
	struct bp_ring *ring = bp_phd_events(r->x.t, worker);
	uint64_t mark;
	void *p = bp_ring_reserve(ring, sizeof(record), &mark);

	if (!p)
		return false;
	memcpy(p, &record, sizeof(record));
	bp_ring_commit(ring, mark);
	return true;
}

static void set_stale(struct rig *r, uint32_t slot)
{
	bp_phd_session_flags(r->x.w, slot, BP_PHD_STALE, 0);
}

static void an_answer(void **state)
{
	static const uint8_t rors[22] = {0xe7, 0, 0, 0x12, 0, 0x10, 0xab, 0xcd, 2, 1, 0, 0x0a, 0, 0,
		0xff, 0xff, 0xff, 0xff, 0x0d, 0x1e, 0, 0};
	static const uint8_t roer[16] = {
		0xe7, 0, 0, 0x0c, 0, 0x0a, 0xab, 0xcd, 3, 0, 0, 4, 0, 2, 0, 0};
	struct rig r;
	uint32_t slot;

	(void)state;
	start(&r, 64, 2);
	open_session(&r, 1);
	slot = open_session(&r, 2);
	assert_false(bp_worker_events_poll(r.e, SECOND));
	assert_true(
		tell(&r, 1, BP_PHD_EVENT_ANSWER, slot, token_of(&r, slot, true), BP_M2M_STORED));
	assert_false(bp_worker_events_poll(r.e, SECOND));
	assert_int_equal(r.answers, 1);
	assert_int_equal(r.slot, slot);
	assert_int_equal(r.life, life_of(&r, slot));
	assert_int_equal(r.len, sizeof(rors));
	assert_memory_equal(r.apdu, rors, sizeof(rors));
	assert_true(
		tell(&r, 0, BP_PHD_EVENT_ANSWER, slot, token_of(&r, slot, true), BP_M2M_DENIED));
	bp_worker_events_poll(r.e, SECOND);
	assert_int_equal(r.len, sizeof(roer));
	assert_memory_equal(r.apdu, roer, sizeof(roer));
	/* no event twice */
	bp_worker_events_poll(r.e, SECOND);
	assert_int_equal(r.answers, 2);
	assert_int_equal(bp_worker_events_counts(r.e)->answers, 2);
	assert_int_equal(bp_ring_used(bp_phd_events(r.x.t, 0)), 0);
	assert_int_equal(bp_ring_used(bp_phd_events(r.x.t, 1)), 0);
	finish(&r);
}

static void rejected_acknowledgements(void **state)
{
	struct rig r;
	uint32_t slot, on_disconnect, other;
	uint64_t was;
	unsigned n = 0;

	(void)state;
	start(&r, 64, 1);
	slot = open_session(&r, 1);
	other = open_session(&r, 2);
	on_disconnect = open_session(&r, 3);
	was = token_of(&r, on_disconnect, true);
	bp_phd_session_close(r.x.w, on_disconnect);
	/* of a session that ended, whose slot is free, and of another one in it */
	n += tell(&r, 0, BP_PHD_EVENT_ANSWER, on_disconnect, was, 0);
	bp_worker_events_poll(r.e, SECOND);
	bp_phd_writer_settle(r.x.w);
	assert_int_equal(open_session(&r, 3), on_disconnect);
	n += tell(&r, 0, BP_PHD_EVENT_ANSWER, on_disconnect, was, 0);
	/* another check; another slot than the token's; none at all */
	n += tell(&r, 0, BP_PHD_EVENT_ANSWER, slot, token_of(&r, slot, true) ^ 1, 0);
	n += tell(&r, 0, BP_PHD_EVENT_ANSWER, other, token_of(&r, slot, true), 0);
	n += tell(&r, 0, BP_PHD_EVENT_ANSWER, UINT32_MAX, token_of(&r, slot, true), 0);
	/* no one waits for the answer; an outcome and a kind that are none */
	n += tell(&r, 0, BP_PHD_EVENT_ANSWER, slot, token_of(&r, slot, false), 0);
	n += tell(&r, 0, BP_PHD_EVENT_ANSWER, slot, token_of(&r, slot, true), BP_M2M_REFUSED + 1);
	n += tell(&r, 0, 77, slot, token_of(&r, slot, true), 0);
	/* stale, but the token is untrue */
	set_stale(&r, slot);
	n += tell(&r, 0, BP_PHD_EVENT_STALE, slot, token_of(&r, slot, true) ^ 1, 0);
	bp_worker_events_poll(r.e, SECOND);
	assert_int_equal(n, 9);
	assert_int_equal(r.answers + r.stale, 0);
	assert_int_equal(bp_worker_events_counts(r.e)->untrue, 9);
	finish(&r);
}

/* A record that is too short, and a ring whose lengths cannot be. */
static void a_damaged_ring(void **state)
{
	struct bp_ring *ring;
	struct rig r;
	uint32_t slot;
	uint64_t mark;

	(void)state;
	start(&r, 64, 1);
	slot = open_session(&r, 1);
	ring = bp_phd_events(r.x.t, 0);
	memset(bp_ring_reserve(ring, 8, &mark), 0, 8);
	bp_ring_commit(ring, mark);
	bp_worker_events_poll(r.e, SECOND);
	assert_int_equal(bp_worker_events_counts(r.e)->untrue, 1);
	memset(bp_ring_reserve(ring, 16, &mark), 0, 16);
	bp_ring_commit(ring, mark);
	memset(ring->data + bp_ring_tail(ring) % ring->capacity, 0xff, 8);
	assert_false(bp_worker_events_poll(r.e, SECOND));
	/* and it continues */
	assert_true(tell(&r, 0, BP_PHD_EVENT_ANSWER, slot, token_of(&r, slot, true), 0));
	bp_worker_events_poll(r.e, SECOND);
	assert_int_equal(r.answers, 1);
	finish(&r);
}

static void stale_by_an_event(void **state)
{
	struct rig r;
	uint32_t slot;

	(void)state;
	start(&r, 64, 1);
	slot = open_session(&r, 1);
	set_stale(&r, slot);
	assert_true(
		tell(&r, 0, BP_PHD_EVENT_STALE, slot, token_of(&r, slot, false), BP_M2M_NO_TARGET));
	bp_worker_events_poll(r.e, SECOND);
	assert_int_equal(r.stale, 1);
	assert_int_equal(r.slot, slot);
	assert_int_equal(r.life, life_of(&r, slot));
	/* it was seen to meanwhile: the next part's event says nothing new */
	bp_phd_session_flags(r.x.w, slot, 0, BP_PHD_STALE);
	assert_true(
		tell(&r, 0, BP_PHD_EVENT_STALE, slot, token_of(&r, slot, false), BP_M2M_NO_TARGET));
	bp_worker_events_poll(r.e, SECOND);
	assert_int_equal(r.stale, 1);
	assert_int_equal(bp_worker_events_counts(r.e)->stale, 1);
	assert_int_equal(bp_worker_events_counts(r.e)->known, 1);
	finish(&r);
}

/* All rings full: a limited number per call, no worker is starved, and no event in them is lost. */
static void bounded_number_per_iteration(void **state)
{
	unsigned told = 0, turns = 0, before = 0;
	struct rig r;
	uint32_t slot;
	bool more;

	(void)state;
	start(&r, 64, 3);
	slot = open_session(&r, 1);
	for (unsigned w = 0; w < 3; w++)
		while (tell(&r, w, BP_PHD_EVENT_ANSWER, slot, token_of(&r, slot, true), 0))
			told++;
	assert_true(told > 3 * BP_EVENTS_BATCH_MAX);
	do {
		more = bp_worker_events_poll(r.e, SECOND);
		assert_true(r.answers - before <= BP_EVENTS_BATCH_MAX);
		before = r.answers;
		if (++turns == 3)
			for (unsigned w = 0; w < 3; w++)
				assert_true(bp_ring_used(bp_phd_events(r.x.t, w)) <
					    bp_phd_events(r.x.t, w)->capacity - 1024);
	} while (more);
	assert_int_equal(r.answers, told);
	finish(&r);
}

/* Every session that is stale is found within the sweep's time, however long the turns are, once
 * when it is seen to, and none that is not stale. */
static void the_sweep(void **state)
{
	static const uint64_t steps[] = {
		1234567, BP_EVENTS_TIME_SLICE_NS, 700000000, SECOND, 25 * SECOND};

	(void)state;
	for (unsigned k = 0; k < sizeof(steps) / sizeof(steps[0]); k++) {
		uint64_t now = 5 * SECOND, until = now + BP_EVENTS_SWEEP_NS + steps[k];
		struct rig r;

		start(&r, 64, 1);
		r.clears = true;
		for (unsigned i = 0; i < 40; i++) {
			const uint32_t slot = open_session(&r, i + 1);

			if (i % 3 == 0)
				set_stale(&r, slot);
		}
		bp_worker_events_poll(r.e, now);
		assert_int_equal(r.stale, 0);
		for (; now < until; bp_worker_events_poll(r.e, now))
			now += steps[k];
		assert_int_equal(r.stale, 14);
		assert_int_equal(bp_worker_events_counts(r.e)->swept, 14);
		/* and one that becomes it later, by the next */
		set_stale(&r, r.slot);
		for (until = now + BP_EVENTS_SWEEP_NS + steps[k]; now < until;
			bp_worker_events_poll(r.e, now))
			now += steps[k];
		assert_int_equal(r.stale, 15);
		finish(&r);
	}
}

/* Of many sessions no turn checks all, however late it comes. */
static void late_slot_is_bounded(void **state)
{
	uint64_t now = SECOND;
	unsigned stale = 0;
	struct rig r;

	(void)state;
	start(&r, 60000, 1);
	for (unsigned i = 0; i < 40000; i++) {
		set_stale(&r, open_session(&r, i + 1));
		stale++;
	}
	r.clears = true;
	bp_worker_events_poll(r.e, now);
	for (unsigned turns = 0; r.stale < stale; turns++) {
		const unsigned before = r.stale;

		now += 100 * SECOND;
		bp_worker_events_poll(r.e, now);
		assert_true(r.stale - before <= 16384);
		assert_true(turns < 8);
	}
	finish(&r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_answer),
		cmocka_unit_test(rejected_acknowledgements),
		cmocka_unit_test(a_damaged_ring),
		cmocka_unit_test(stale_by_an_event),
		cmocka_unit_test(bounded_number_per_iteration),
		cmocka_unit_test(the_sweep),
		cmocka_unit_test(late_slot_is_bounded),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
