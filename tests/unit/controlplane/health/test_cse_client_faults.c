/* SPDX-License-Identifier: BSD-3-Clause */
/* The client of the CSE where things go wrong: no one listens, ids are used up, messages that do
 * not belong. */
#include "tests/unit/controlplane/health/cse_rig.h"

#include <stdlib.h>
#include <string.h>

#include "controlplane/health/cse/cse_client_internal.h"

/* ---- no one listens ---- */

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

/* A request sent in a done() callback does not end in the same iteration. */
static void test_refused_asks_again(void **state)
{
	struct fixture *f = rig_begin(rig_answer, 8, NEVER_NS);

	(void)state;
	peer_close(&f->peer);
	for (unsigned i = 0; i < 2; i++)
		assert_int_equal(rig_ask(f, i), BP_CSE_TAKEN);
	f->retry = 4;
	RUN_UNTIL(f, f->retry == 0);
	assert_int_equal(f->ends, 2);
	assert_int_equal(bp_cse_outstanding(f->client), 4);
	RUN_UNTIL(f, f->ends == 6);
	assert_int_equal(f->by_end[BP_CSE_REFUSED], 6);
	rig_finish(f);
}

/* A datagram was refused, but the CSE has answered a later one: it continues and is repeated. */
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
 * The ICMP error is for the acknowledgement of a response, not for a request; the CSE is reachable
 * again when the next request is sent, which the error does not affect.
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
	f->retry = 1;
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
	while (f->fill > 0 && bp_cse_has_capacity(f->client)) {
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
	bp_cse_watch_capacity(f->client, &f->watch[0]);
	bp_cse_watch_capacity(f->client, &f->watch[1]);
}

static void test_queue_capacity(void **state)
{
	struct fixture *f = rig_begin(rig_note, 2, NEVER_NS);

	(void)state;
	watch(f);
	assert_true(bp_cse_has_capacity(f->client));
	assert_int_equal(rig_ask(f, 0), BP_CSE_TAKEN);
	assert_true(bp_cse_has_capacity(f->client));
	assert_int_equal(rig_ask(f, 1), BP_CSE_TAKEN);
	assert_false(bp_cse_has_capacity(f->client));
	assert_int_equal(rig_ask(f, 2), BP_CSE_QUEUE_FULL);
	event_base_loop(f->base, EVLOOP_NONBLOCK);
	assert_int_equal(f->told[0] + f->told[1], 0);
	BOTH_UNTIL(f, f->n == 2);
	/* one free entry: both watchers are called, and both find capacity */
	peer_put(&f->peer, PEER_ACK, 0x41, f->mid[0], &f->token[0], 2001);
	RUN_UNTIL(f, f->told[0] + f->told[1] == 2);
	assert_int_equal(f->told[0], 1);
	assert_int_equal(f->ends, 1);
	/* there was capacity before: no callback */
	peer_put(&f->peer, PEER_ACK, 0x41, f->mid[1], &f->token[1], 2001);
	RUN_UNTIL(f, f->ends == 2);
	event_base_loop(f->base, EVLOOP_NONBLOCK);
	assert_int_equal(f->told[0] + f->told[1], 2);
	rig_finish(f);
}

/* A watcher may use the capacity in its callback, and is called again when that request ends. */
static void test_capacity_is_exhausted(void **state)
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

/* Message ids are used up while entries are free: watchers are called when ids are free again,
 * although no request ends then. */
static void test_id_capacity(void **state)
{
	struct fixture *f = rig_make(rig_answer);
	unsigned asked = 0, before;

	(void)state;
	rig_begin_at(f, "127.0.0.1",
		(struct bp_cse_settings){.outstanding = 64, .ack_timeout_ns = NEVER_NS});
	watch(f);
	while (rig_ask(f, 0) == BP_CSE_TAKEN) {
		asked++;
		BOTH_UNTIL(f, f->ends == asked);
	}
	assert_int_equal(bp_cse_outstanding(f->client), 0);
	assert_true(asked >= BP_CSE_ID_BLOCK);
	before = f->told[0];
	RUN_UNTIL(f, f->told[0] > before);
	assert_int_equal(f->ends, asked);
	for (unsigned i = 0; i < 64; i++) /* the clock may have gone on to the next ones only */
		assert_int_equal(rig_ask(f, i), BP_CSE_TAKEN);
	BOTH_UNTIL(f, f->ends == asked + 64);
	rig_finish(f);
}

/* ---- message ids ---- */

static uint64_t last_used[65536];

/* Begun again at any time, as a process that was killed is: no id is used twice within the
 * lifetime, and in every slot there are as many as there can be. */
static void ids_rest(uint64_t lifetime, unsigned restarts)
{
	const uint64_t begin_ns = 123456789;
	uint64_t now = begin_ns, taken = 0, waited = 0;
	struct bp_cse_ids ids;

	memset(last_used, 0, sizeof(last_used));
	bp_cse_ids_init(&ids, lifetime, now);
	while (taken < 400000) {
		uint64_t at;
		uint16_t mid;

		if (restarts != 0 && (unsigned)rand() % restarts == 0)
			bp_cse_ids_init(&ids, lifetime, now);
		at = bp_cse_ids_at(&ids, now);
		assert_true(at >= now);
		assert_true(at - now <= lifetime / 255 + 1);
		if (at > now)
			waited++;
		now = at;
		assert_int_equal(bp_cse_ids_at(&ids, now), now);
		mid = bp_cse_ids_take(&ids, now);
		assert_true(last_used[mid] == 0 || now - last_used[mid] >= lifetime);
		last_used[mid] = now;
		taken++;
		now += (uint64_t)rand() % (lifetime / 100000);
	}
	if (restarts == 0) /* as fast as may be: a block in each slot, but for the last */
		assert_true((now - begin_ns) / ((lifetime + 254) / 255) <= taken / 256 + 2);
	assert_true(waited > 100);
}

static void test_ids(void **state)
{
	(void)state;
	srand(11);
	ids_rest(247000000000ull, 0);
	ids_rest(247000000000ull, 500);
	ids_rest(255000000, 0);
	ids_rest(255000001, 100);
}

/* Two processes one after the other, at every time in a slot: the second uses no message id of the
 * first within its lifetime. */
static void test_ids_of_the_next_process(void **state)
{
	const uint64_t lifetime = 255000, slot = 1000;

	(void)state;
	for (uint64_t died = 7 * slot; died < 9 * slot; died += 50) {
		struct bp_cse_ids one, two;
		uint64_t end_ns = 0;

		memset(last_used, 0, sizeof(last_used));
		bp_cse_ids_init(&one, lifetime, 5 * slot);
		for (uint64_t now = 6 * slot; now <= died; now += 3)
			if (bp_cse_ids_at(&one, now) == now)
				last_used[bp_cse_ids_take(&one, now)] = now;
		bp_cse_ids_init(&two, lifetime, died);
		for (uint64_t now = died; now < died + 3 * lifetime; now += 3) {
			uint16_t mid;

			if (bp_cse_ids_at(&two, now) != now)
				continue;
			mid = bp_cse_ids_take(&two, now);
			assert_true(last_used[mid] == 0 || now - last_used[mid] >= lifetime);
			last_used[mid] = now;
			end_ns = now;
		}
		assert_true(end_ns > died + 2 * lifetime);
	}
}

/* ---- source ports ---- */

#define PORTS 5

static struct {
	uint16_t port[PORTS];
	unsigned n, of[PORTS], twice;
	uint8_t seen[PORTS][65536];
} at_ports;

static void note_port(struct peer *p, const struct peer_message *m)
{
	unsigned i = 0;

	while (i < at_ports.n && at_ports.port[i] != m->from.sin6_port)
		i++;
	assert_true(i < PORTS);
	at_ports.port[i] = m->from.sin6_port;
	if (i == at_ports.n)
		at_ports.n++;
	at_ports.of[i]++;
	at_ports.twice += at_ports.seen[i][m->mid]++;
	peer_created(p, m);
}

/* Requests leave from all ports in turn, and as many more of them as there are ports. */
static void test_ports(void **state)
{
	struct fixture *f = rig_make(note_port);
	unsigned asked = 0;

	(void)state;
	memset(&at_ports, 0, sizeof(at_ports));
	rig_begin_at(f, "127.0.0.1",
		(struct bp_cse_settings){.outstanding = 32,
			.ack_timeout_ns = NEVER_NS,
			.ports = PORTS,
			.id_lifetime_ns = BP_COAP_EXCHANGE_LIFETIME_S * 1000000000ull});
	while (asked < PORTS * BP_CSE_ID_BLOCK) {
		if (bp_cse_has_capacity(f->client) && rig_ask(f, 0) == BP_CSE_TAKEN)
			asked++;
		event_base_loop(f->peer_base, EVLOOP_NONBLOCK);
		event_base_loop(f->base, EVLOOP_NONBLOCK);
	}
	BOTH_UNTIL(f, f->ends == asked);
	assert_int_equal(f->by_end[BP_CSE_ANSWERED], asked);
	assert_int_equal(at_ports.n, PORTS);
	assert_int_equal(at_ports.twice, 0);
	for (unsigned i = 0; i < PORTS; i++)
		assert_true(at_ports.of[i] >= BP_CSE_ID_BLOCK / 2);
	assert_int_equal(bp_cse_counts(f->client)->unmatched, 0);
	rig_finish(f);
}

/* The same message id at two ports at once: each answer is for its own. An answer that comes to the
 * other port is no one's. */
static void test_answers_of_ports(void **state)
{
	struct fixture *f = rig_make(rig_note);
	struct sockaddr_in6 from[2];

	(void)state;
	rig_begin_at(f, "127.0.0.1",
		(struct bp_cse_settings){.outstanding = 4, .ack_timeout_ns = NEVER_NS, .ports = 2});
	for (unsigned i = 0; i < 2; i++) {
		assert_int_equal(rig_ask(f, i), BP_CSE_TAKEN);
		BOTH_UNTIL(f, f->n == i + 1);
		from[i] = f->peer.from;
	}
	assert_int_not_equal(from[0].sin6_port, from[1].sin6_port);
	f->peer.from = from[0];
	peer_put(&f->peer, PEER_ACK, 0x41, f->mid[1], &f->token[1], 2001);
	RUN_UNTIL(f, bp_cse_counts(f->client)->unmatched == 1);
	assert_int_equal(f->ends, 0);
	f->peer.from = from[1];
	peer_put(&f->peer, PEER_ACK, 0x41, f->mid[1], &f->token[1], 2001);
	RUN_UNTIL(f, f->ends == 1);
	assert_int_equal(rig_ended[1], BP_CSE_ANSWERED);
	f->peer.from = from[0];
	peer_put(&f->peer, PEER_ACK, 0x41, f->mid[0], &f->token[0], 2001);
	RUN_UNTIL(f, f->ends == 2);
	rig_finish(f);
}

/* No process listens: the outstanding requests of every port end. */
static void test_refused_at_ports(void **state)
{
	struct fixture *f = rig_make(rig_answer);

	(void)state;
	rig_begin_at(f, "127.0.0.1",
		(struct bp_cse_settings){.outstanding = 8, .ack_timeout_ns = NEVER_NS, .ports = 3});
	peer_close(&f->peer);
	for (unsigned i = 0; i < 8; i++)
		assert_int_equal(rig_ask(f, i), BP_CSE_TAKEN);
	RUN_UNTIL(f, f->ends == 8);
	assert_int_equal(f->by_end[BP_CSE_REFUSED], 8);
	peer_open(&f->peer, f->peer_base);
	for (unsigned i = 0; i < 6; i++)
		assert_int_equal(rig_ask(f, i), BP_CSE_TAKEN);
	BOTH_UNTIL(f, f->ends == 14);
	assert_int_equal(f->by_end[BP_CSE_ANSWERED], 6);
	rig_finish(f);
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
	RUN_UNTIL(f, c->unmatched == 1);
	/* nor for what was acknowledged, which cannot be doubled either */
	peer_put(&f->peer, PEER_ACK, 0, f->mid[0], NULL, 0);
	peer_put(&f->peer, PEER_ACK, 0, f->mid[0], NULL, 0);
	peer_put(&f->peer, PEER_RST, 0, f->mid[0], NULL, 0);
	RUN_UNTIL(f, c->unmatched == 3);
	assert_int_equal(f->ends, 0);
	peer_put(&f->peer, PEER_RST, 0, f->mid[1], NULL, 0);
	RUN_UNTIL(f, f->ends == 1);
	assert_int_equal(rig_ended[1], BP_CSE_RESET);
	assert_int_equal(c->resets, 1);
	peer_put(&f->peer, PEER_NON, 0x41, 0x4321, &f->token[0], 2001);
	RUN_UNTIL(f, f->ends == 2);
	assert_int_equal(rig_ended[0], BP_CSE_ANSWERED);
	assert_int_equal(c->unmatched, 3);
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
	/* the next one, unless the clock continued to another block */
	if (f->mid[1] / BP_CSE_ID_BLOCK == f->mid[0] / BP_CSE_ID_BLOCK)
		assert_int_equal(f->mid[1], f->mid[0] + 1);
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
		cmocka_unit_test(test_queue_capacity),
		cmocka_unit_test(test_capacity_is_exhausted),
		cmocka_unit_test(test_id_capacity),
		cmocka_unit_test(test_ids),
		cmocka_unit_test(test_ids_of_the_next_process),
		cmocka_unit_test(test_ports),
		cmocka_unit_test(test_answers_of_ports),
		cmocka_unit_test(test_refused_at_ports),
		cmocka_unit_test(test_resets),
		cmocka_unit_test(test_too_long_takes_no_id),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
