/* SPDX-License-Identifier: BSD-3-Clause */
/* The client of the CSE where things go wrong: nobody listens, ids are used up, messages that don't
 * belong. */
#include "cse_rig.h"

#include <stdlib.h>
#include <string.h>

#include "controlplane/phd/cse_ids.h"

/* ---- nobody listens ---- */

static void refused_at(const char *address)
{
	struct fixture *f = rig_make(rig_answer);
	const struct bp_cse_counts *c;

	rig_begin_at(
		f, address, (struct bp_cse_settings){.outstanding = 4, .ack_timeout_ns = NEVER_NS});
	c = bp_cse_counts(f->client);
	peer_close(&f->peer);
	for (unsigned i = 0; i < 4; i++)
		assert_int_equal(rig_ask(f, i), BP_CSE_TAKEN);
	RUN_UNTIL(f, f->ends == 4);
	assert_int_equal(f->by_end[BP_CSE_REFUSED], 4);
	assert_true(c->refusals > 0);
	assert_int_equal(c->refused, 4);
	assert_int_equal(c->repeats + c->timed_out + c->answered, 0);
	assert_int_equal(bp_cse_outstanding(f->client), 0);
	/* and it is back */
	peer_open(&f->peer, f->peer_base);
	assert_int_equal(rig_ask(f, 0), BP_CSE_TAKEN);
	BOTH_UNTIL(f, f->ends == 5);
	assert_int_equal(f->by_end[BP_CSE_ANSWERED], 1);
	rig_finish(f);
}

static void test_refused(void **state)
{
	(void)state;
	refused_at("127.0.0.1");
}

static void test_refused_ip6(void **state)
{
	(void)state;
	refused_at("::1");
}

/* What is asked from an end is not ended in the same turn. */
static void test_refused_asks_again(void **state)
{
	struct fixture *f = rig_begin(rig_answer, 8, NEVER_NS);

	(void)state;
	peer_close(&f->peer);
	for (unsigned i = 0; i < 2; i++)
		assert_int_equal(rig_ask(f, i), BP_CSE_TAKEN);
	f->again = 4;
	RUN_UNTIL(f, f->again == 0);
	assert_int_equal(f->ends, 2);
	assert_int_equal(bp_cse_outstanding(f->client), 4);
	RUN_UNTIL(f, f->ends == 6);
	assert_int_equal(f->by_end[BP_CSE_REFUSED], 6);
	rig_finish(f);
}

/* A datagram was refused, but the CSE has answered a later one: it goes on and is repeated. */
static void test_old_refusal(void **state)
{
	struct fixture *f = rig_begin(rig_answer, 4, 20 * QUICK_NS);
	const struct bp_cse_counts *c = bp_cse_counts(f->client);

	(void)state;
	peer_close(&f->peer);
	assert_int_equal(rig_ask(f, 0), BP_CSE_TAKEN);
	peer_open(&f->peer, f->peer_base);
	assert_int_equal(rig_ask(f, 1), BP_CSE_TAKEN);
	rig_peer_turn(f);
	RUN_UNTIL(f, f->ends == 1);
	assert_int_equal(rig_ended[1], BP_CSE_ANSWERED);
	BOTH_UNTIL(f, f->ends == 2);
	assert_int_equal(rig_ended[0], BP_CSE_ANSWERED);
	assert_int_equal(c->refusals, 1);
	assert_int_equal(c->refused, 0);
	assert_true(c->repeats > 0);
	rig_finish(f);
}

/*
 * What was refused is no request, but the acknowledgement of a response; the CSE is back when the
 * next request is sent, to which that refusal says nothing.
 */
static void test_refusal_of_an_acknowledgement(void **state)
{
	struct fixture *f = rig_begin(rig_answer, 4, NEVER_NS);
	const struct bp_cse_counts *c = bp_cse_counts(f->client);

	(void)state;
	f->peer.on = rig_note;
	assert_int_equal(rig_ask(f, 0), BP_CSE_TAKEN);
	rig_peer_turn(f);
	assert_int_equal(f->n, 1);
	peer_put(&f->peer, PEER_CON, 0x41, 0x777, &f->token[0], 2001);
	peer_close(&f->peer);
	f->peer.on = rig_answer;
	f->reopen = true;
	f->again = 1;
	RUN_UNTIL(f, c->refusals == 1);
	assert_int_equal(f->ends, 1);
	assert_int_equal(bp_cse_outstanding(f->client), 1);
	BOTH_UNTIL(f, f->ends == 2);
	assert_int_equal(f->by_end[BP_CSE_ANSWERED], 2);
	rig_finish(f);
}

/* ---- room ---- */

static void on_room(struct fixture *f, unsigned i)
{
	assert_false(f->in_call);
	f->told[i]++;
	while (f->fill > 0 && bp_cse_has_room(f->client)) {
		f->fill--;
		assert_int_equal(rig_ask(f, 1000), BP_CSE_TAKEN);
	}
}

static void on_room_0(void *arg)
{
	on_room(arg, 0);
}

static void on_room_1(void *arg)
{
	on_room(arg, 1);
}

static void watch(struct fixture *f)
{
	f->watch[0] = (struct bp_cse_watch){.room = on_room_0, .arg = f};
	f->watch[1] = (struct bp_cse_watch){.room = on_room_1, .arg = f};
	bp_cse_watch_room(f->client, &f->watch[0]);
	bp_cse_watch_room(f->client, &f->watch[1]);
}

static void test_room_of_places(void **state)
{
	struct fixture *f = rig_begin(rig_note, 2, NEVER_NS);

	(void)state;
	watch(f);
	assert_true(bp_cse_has_room(f->client));
	assert_int_equal(rig_ask(f, 0), BP_CSE_TAKEN);
	assert_true(bp_cse_has_room(f->client));
	assert_int_equal(rig_ask(f, 1), BP_CSE_TAKEN);
	assert_false(bp_cse_has_room(f->client));
	assert_int_equal(rig_ask(f, 2), BP_CSE_NO_ROOM);
	event_base_loop(f->base, EVLOOP_NONBLOCK);
	assert_int_equal(f->told[0] + f->told[1], 0);
	BOTH_UNTIL(f, f->n == 2);
	/* one place: both are told, and both find it free */
	peer_put(&f->peer, PEER_ACK, 0x41, f->mid[0], &f->token[0], 2001);
	RUN_UNTIL(f, f->told[0] + f->told[1] == 2);
	assert_int_equal(f->told[0], 1);
	assert_int_equal(f->ends, 1);
	/* there was room: nobody is told of more */
	peer_put(&f->peer, PEER_ACK, 0x41, f->mid[1], &f->token[1], 2001);
	RUN_UNTIL(f, f->ends == 2);
	event_base_loop(f->base, EVLOOP_NONBLOCK);
	assert_int_equal(f->told[0] + f->told[1], 2);
	rig_finish(f);
}

/* Who is told may take it, and is told again when that ends. */
static void test_room_is_taken(void **state)
{
	struct fixture *f = rig_begin(rig_answer, 1, NEVER_NS);

	(void)state;
	watch(f);
	f->fill = 5;
	assert_int_equal(rig_ask(f, 0), BP_CSE_TAKEN);
	BOTH_UNTIL(f, f->ends == 6);
	RUN_UNTIL(f, f->told[0] >= 6 && f->told[1] >= 6);
	assert_int_equal(f->by_end[BP_CSE_ANSWERED], 6);
	rig_finish(f);
}

/* Asks until there is no room for want of ids. How many. */
static unsigned use_up(struct fixture *f, unsigned outstanding, uint64_t lifetime_ns)
{
	unsigned asked = 0;

	rig_begin_at(f, "127.0.0.1",
		(struct bp_cse_settings){.outstanding = outstanding,
			.ack_timeout_ns = NEVER_NS,
			.id_lifetime_ns = lifetime_ns});
	watch(f);
	while (asked < REQUESTS_MAX) {
		while (bp_cse_outstanding(f->client) < outstanding) {
			if (!bp_cse_has_room(f->client))
				return asked;
			assert_int_equal(rig_ask(f, asked++), BP_CSE_TAKEN);
		}
		event_base_loop(f->peer_base, EVLOOP_NONBLOCK);
		event_base_loop(f->base, EVLOOP_NONBLOCK);
	}
	return asked;
}

static void test_room_of_ids(void **state)
{
	const uint64_t begin_ns = test_now_ns();
	struct fixture *f = rig_make(rig_answer);
	unsigned asked = use_up(f, 64, NEVER_NS), before;
	uint64_t took_ns;

	(void)state;
	assert_int_equal(asked, 65536);
	assert_int_equal(rig_ask(f, 0), BP_CSE_NO_ROOM);
	BOTH_UNTIL(f, f->ends == asked);
	/* nothing is outstanding, and yet there is no room */
	assert_int_equal(bp_cse_outstanding(f->client), 0);
	assert_false(bp_cse_has_room(f->client));
	assert_int_equal(rig_ask(f, 0), BP_CSE_NO_ROOM);
	before = f->told[0];
	event_base_loop(f->base, EVLOOP_NONBLOCK);
	assert_int_equal(f->told[0], before);
	took_ns = test_now_ns() - begin_ns;
	rig_finish(f);

	/* and with a lifetime that ends: told without an end of one's own */
	f = rig_make(rig_answer);
	asked = use_up(f, 64, 3 * took_ns + 1000000000);
	assert_int_equal(asked, 65536);
	BOTH_UNTIL(f, f->ends == asked);
	assert_int_equal(rig_ask(f, 0), BP_CSE_NO_ROOM);
	before = f->told[0];
	RUN_UNTIL(f, f->told[0] > before);
	assert_true(bp_cse_has_room(f->client));
	assert_int_equal(f->ends, asked);
	/* a block of them, not one */
	f->again = 0;
	for (unsigned i = 0; i < 64; i++)
		assert_int_equal(rig_ask(f, i), BP_CSE_TAKEN);
	BOTH_UNTIL(f, f->ends == asked + 64);
	rig_finish(f);
}

static void test_ids(void **state)
{
	static uint64_t last[65536];
	const uint64_t lifetime = 247000000000ull, step = 1000000, begin_ns = 1000000000;
	struct bp_cse_ids *ids = calloc(1, sizeof(*ids));
	uint64_t now = begin_ns, taken = 0, refused = 0;

	(void)state;
	assert_non_null(ids);
	bp_cse_ids_init(ids, 65500, lifetime);
	while (taken < 300000) {
		const uint64_t at = bp_cse_ids_at(ids, now);
		uint16_t mid;

		if (at > now) {
			now = at;
			refused++;
			continue;
		}
		mid = bp_cse_ids_take(ids, now);
		assert_true(last[mid] == 0 || now - last[mid] >= lifetime);
		last[mid] = now;
		taken++;
		now += step;
	}
	assert_true(refused > 0);
	/* waits by the block, not by the id; and as fast as the lifetime lets it, but for one */
	assert_true(refused <= 300000 / BP_CSE_ID_BLOCK + 1);
	assert_true((now - begin_ns) / 1000000000 < 300000 * 247 / 65536 + 1);
	free(ids);
}

/* ---- what does not belong ---- */

static void test_resets(void **state)
{
	struct fixture *f = rig_begin(rig_note, 4, NEVER_NS);
	const struct bp_cse_counts *c = bp_cse_counts(f->client);

	(void)state;
	assert_int_equal(rig_ask(f, 0), BP_CSE_TAKEN);
	assert_int_equal(rig_ask(f, 1), BP_CSE_TAKEN);
	BOTH_UNTIL(f, f->n == 2);
	/* with a code it is none */
	peer_put(&f->peer, PEER_RST, 0x80, f->mid[0], NULL, 0);
	RUN_UNTIL(f, c->strays == 1);
	/* nor for what was acknowledged, which can't be doubled either */
	peer_put(&f->peer, PEER_ACK, 0, f->mid[0], NULL, 0);
	peer_put(&f->peer, PEER_ACK, 0, f->mid[0], NULL, 0);
	peer_put(&f->peer, PEER_RST, 0, f->mid[0], NULL, 0);
	RUN_UNTIL(f, c->strays == 3);
	assert_int_equal(f->ends, 0);
	peer_put(&f->peer, PEER_RST, 0, f->mid[1], NULL, 0);
	RUN_UNTIL(f, f->ends == 1);
	assert_int_equal(rig_ended[1], BP_CSE_RESET);
	assert_int_equal(c->resets, 1);
	peer_put(&f->peer, PEER_NON, 0x41, 0x4321, &f->token[0], 2001);
	RUN_UNTIL(f, f->ends == 2);
	assert_int_equal(rig_ended[0], BP_CSE_ANSWERED);
	assert_int_equal(c->strays, 3);
	rig_finish(f);
}

static void test_too_long_takes_no_id(void **state)
{
	static char body[BP_CSE_MESSAGE_MAX];
	static const uint8_t whole[] = {0x48, 2, 0, 0, 1, 2, 3, 4, 5, 6, 7, 8, 0xb1, 'x'};
	const struct bp_m2m_request q = {.ty = BP_M2M_CIN,
		.path = "cse-in/ae",
		.fr = "C",
		.body = body,
		.body_len = sizeof(body)};
	struct fixture *f = rig_begin(rig_answer, 4, NEVER_NS);

	(void)state;
	memset(body, ' ', sizeof(body));
	assert_int_equal(rig_ask(f, 0), BP_CSE_TAKEN);
	assert_int_equal(bp_cse_send(f->client, &q, rig_done, NULL), BP_CSE_TOO_LONG);
	assert_int_equal(bp_cse_send_message(f->client, whole, 8, rig_done, NULL), BP_CSE_TOO_LONG);
	assert_int_equal(bp_cse_send_message(f->client, whole, sizeof(whole), rig_done, (void *)1),
		BP_CSE_TAKEN);
	BOTH_UNTIL(f, f->ends == 2);
	assert_int_equal(f->mid[1], (uint16_t)(f->mid[0] + 1));
	assert_int_equal(bp_cse_counts(f->client)->requests, 2);
	rig_finish(f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_refused),
		cmocka_unit_test(test_refused_ip6),
		cmocka_unit_test(test_refused_asks_again),
		cmocka_unit_test(test_old_refusal),
		cmocka_unit_test(test_refusal_of_an_acknowledgement),
		cmocka_unit_test(test_room_of_places),
		cmocka_unit_test(test_room_is_taken),
		cmocka_unit_test(test_room_of_ids),
		cmocka_unit_test(test_ids),
		cmocka_unit_test(test_resets),
		cmocka_unit_test(test_too_long_takes_no_id),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
