/* SPDX-License-Identifier: BSD-3-Clause */
/* Handling of the CSE's responses: each row of the table of node cse in
 * docs/explanation/health-devices-design.md. */
#include "biplane/counters/general.h"
#include "biplane/counters/health.h"
#include "tests/unit/dataplane/health/health_rig.h"

#include <string.h>

#define CREATED 0x41 /* 2.01 */

static const struct value both[] = {{1, 97, 1}, {10, 61, 2}};

/* A report of `parts` values was sent, and its requests taken. */
static void report(struct health *h, bool confirmed, unsigned invoke_id, unsigned number,
	unsigned parts, struct request *q)
{
	const struct bytes apdu = report_make(FIXED, confirmed, invoke_id, number, both, parts, 0);

	health_report(h, &apdu);
	for (unsigned i = 0; i < parts; i++)
		q[i] = health_part(h, i);
	memcpy(h->seen, h->r.shm.counters[0].v, sizeof(h->seen));
	for (unsigned c = 0; c < BP_C_COUNT; c++)
		h->seen[c] += h->r.shm.counters[1].v[c];
}

static void reply(
	struct health *h, const struct request *q, unsigned type, unsigned code, unsigned rsc)
{
	const struct bytes m =
		coap_response(type, code, type == ACK ? q->mid : 0x7777, q->token, rsc);

	health_reply(h, q->port, &m);
}

static void is_told(struct health *h, unsigned invoke_id)
{
	const struct bytes answer = response_stored(invoke_id, FIXED);

	health_answer(h, &answer);
}

static unsigned open_of(const struct health *h, uint32_t slot)
{
	return (unsigned)health_slot(h, slot)->last;
}

/* ---- what is stored ---- */

static void stored_and_answered(void **state)
{
	for (unsigned i = 0; i < 4; i++) {
		const struct health_options o = {.dev6 = i & 1, .cse6 = i >> 1};
		struct request q;
		struct health h;
		uint32_t slot;

		health_start(&h, &o);
		slot = health_session(&h, 0, 2);
		report(&h, true, 0x1234, 1, 1, &q);
		assert_int_equal(open_of(&h, slot), 1);
		reply(&h, &q, ACK, CREATED, 2001);
		is_told(&h, 0x1234);
		assert_int_equal(open_of(&h, slot), 0);
		assert_int_equal(health_slot(&h, slot)->stored, 1);
		health_counted(&h, BP_C_CSE_STORED, 1, BP_C_PHD_RESPONSES, 1, BP_C_COUNT);
		reply(&h, &q, ACK, CREATED, 2001);
		assert_int_equal(health_slot(&h, slot)->stored, 1);
		health_counted(&h, BP_C_CSE_ACK_DUPLICATE, 1, BP_C_COUNT);
		health_stop(&h);
	}
}

static void the_answer_has_the_type_of_the_report(void **state)
{
	struct health h;

	health_start(&h, &(struct health_options){0});
	health_session(&h, 0, 2);
	for (unsigned type = FIXED; type <= MP_VARIABLE; type++) {
		const struct bytes apdu = report_make(type, true, type, 1, both, 1, 0),
				   answer = response_stored(type, type);
		struct request q;

		health_report(&h, &apdu);
		q = health_part(&h, 0);
		reply(&h, &q, ACK, CREATED, 2001);
		health_answer(&h, &answer);
	}
	health_nothing(&h);
	health_stop(&h);
}

static void non_confirmable_requests_are_counted(void **state)
{
	struct request q[2];
	struct health h;
	uint32_t slot;

	health_start(&h, &(struct health_options){.non = true});
	slot = health_session(&h, 0, 2);
	report(&h, false, 1, 1, 2, q);
	reply(&h, &q[1], NON, CREATED, 2001);
	assert_int_equal(open_of(&h, slot), 1);
	reply(&h, &q[0], NON, CREATED, 2001);
	assert_int_equal(open_of(&h, slot), 0);
	health_counted(&h, BP_C_CSE_STORED, 2, BP_C_CSE_ACKED, 2, BP_C_COUNT);
	reply(&h, &q[0], NON, CREATED, 2001);
	health_counted(&h, BP_C_CSE_ACK_DUPLICATE, 1, BP_C_COUNT);
	health_stop(&h);
}

/* RFC 7252 5.2.2: an empty acknowledgement first, then a response of its own, acknowledged. */
static void separate_responses(void **state)
{
	struct bytes m;
	struct request q;
	struct health h;

	for (unsigned cse6 = 0; cse6 < 2; cse6++) {
		health_start(&h, &(struct health_options){.cse6 = cse6});
		health_session(&h, 0, 2);
		report(&h, true, 1, 1, 1, &q);
		m = coap_empty(ACK, q.mid);
		health_reply(&h, q.port, &m);
		health_counted(&h, BP_C_CSE_ACK_EMPTY, 1, BP_C_COUNT);
		for (unsigned i = 0; i < 2; i++) { /* its acknowledgement may be lost */
			struct end from = h.source;
			struct bytes f = {.len = 0}, ack;
			struct rte_mbuf *out;

			reply(&h, &q, CON, CREATED, 2001);
			if (i == 0)
				is_told(&h, 1);
			out = bp_ring_ports_take(&h.r.ports, B);
			assert_non_null(out);
			put_bytes(&f, rte_pktmbuf_mtod(out, void *), out->pkt_len);
			rte_pktmbuf_free(out);
			from.port = (uint16_t)q.port;
			ack = wire_open(&f, cse6, &from, &h.cse);
			m = coap_empty(ACK, 0x7777);
			assert_int_equal(ack.len, 4);
			assert_memory_equal(ack.b, m.b, 4);
			health_counted(&h, BP_C_CSE_ACK_FRAME, 1, BP_C_CSE_STORED, i == 0,
				BP_C_PHD_RESPONSES, i == 0, BP_C_CSE_ACK_DUPLICATE, i != 0,
				BP_C_COUNT);
		}
		/* the way back is not known any more: the CSE will ask again */
		health_neighbor(&h, B, cse6, h.cse.ip, NULL);
		reply(&h, &q, CON, CREATED, 2001);
		health_counted(&h, BP_C_CSE_ACK_DUPLICATE, 1, BP_C_CSE_ACK_UNSENT, 1, BP_C_COUNT);
		health_stop(&h);
	}
}

static void the_last_part_answers(void **state)
{
	struct request q[2];
	struct health h;
	uint32_t slot;

	health_start(&h, &(struct health_options){.ports = 1});
	slot = health_session(&h, 0, 2);
	for (unsigned first = 0; first < 2; first++) {
		report(&h, true, 7 + first, 1, 2, q);
		reply(&h, &q[first], ACK, CREATED, 2001);
		assert_int_equal(open_of(&h, slot), first == 0 ? 2 : 1);
		health_counted(&h, BP_C_CSE_STORED, 1, BP_C_CSE_ACKED, 1, BP_C_COUNT);
		reply(&h, &q[first], ACK, CREATED, 2001);
		health_counted(&h, BP_C_CSE_ACK_DUPLICATE, 1, BP_C_COUNT);
		reply(&h, &q[1 - first], ACK, CREATED, 2001);
		is_told(&h, 7 + first);
		health_counted(&h, BP_C_CSE_STORED, 1, BP_C_PHD_RESPONSES, 1, BP_C_COUNT);
	}
	health_stop(&h);
}

/* The answer to a request of one worker may arrive at the other. */
static void at_the_other_worker(void **state)
{
	struct request q[2];
	struct health h;

	health_start(&h, &(struct health_options){.ports = 1});
	health_session(&h, 0, 2);
	for (unsigned w = 0; w < 2; w++) {
		health_worker(&h, w);
		report(&h, true, 7 + w, 1, 2, q);
		assert_int_equal(q[0].port, HEALTH_PORTS_FIRST + w);
		health_worker(&h, 1 - w);
		reply(&h, &q[0], ACK, CREATED, 2001);
		health_worker(&h, w);
		reply(&h, &q[1], ACK, CREATED, 2001);
		is_told(&h, 7 + w);
		health_counted(&h, BP_C_CSE_STORED, 2, BP_C_CSE_ACKED, 1, BP_C_PHD_RESPONSES, 1,
			BP_C_COUNT);
	}
	health_stop(&h);
}

/* ---- what is not ---- */

static void each_error(void **state)
{
	static const struct {
		unsigned code, rsc;
		bp_counter_t why;
		unsigned choice, told; /* 0: stored */
	} errors[] = {
		{0x81, 0, BP_C_CSE_DENIED, 0x0300, 2},         /* 4.01 */
		{0x83, 4103, BP_C_CSE_DENIED, 0x0300, 2},      /* 4.03 */
		{0x84, 4004, BP_C_CSE_NO_TARGET, 0x0400, 103}, /* 4.04 */
		{0x84, 5103, BP_C_CSE_BUSY, 0x0400, 103},      /* not reachable */
		{0x9d, 0, BP_C_CSE_BUSY, 0x0400, 103},         /* 4.29 */
		{0xa3, 0, BP_C_CSE_BUSY, 0x0400, 103},         /* 5.03 */
		{0xa4, 0, BP_C_CSE_BUSY, 0x0400, 103},         /* 5.04 */
		{0x80, 4000, BP_C_CSE_ERROR, 0x0400, 303},     /* 4.00 */
		{0xa0, 5000, BP_C_CSE_ERROR, 0x0400, 303},     /* 5.00 */
		{0x44, 2004, BP_C_CSE_ERROR, 0x0400, 303},     /* updated is not created */
		{0x41, 4000, BP_C_CSE_ERROR, 0x0400, 303},     /* contradicts itself */
		{0x83, 4105, BP_C_CSE_STORED, 0, 0},           /* of that name is there */
		{0x41, 0, BP_C_CSE_STORED, 0, 0},
	};
	struct health h;
	uint32_t slot;

	health_start(&h, &(struct health_options){0});
	slot = health_session(&h, 0, 2);
	for (unsigned i = 0; i < 2 * sizeof(errors) / sizeof(errors[0]); i++) {
		const bool confirmed = i % 2;
		const unsigned e = i / 2;
		struct bytes answer;
		struct request q;

		report(&h, confirmed, i, i, 1, &q);
		reply(&h, &q, ACK, errors[e].code, errors[e].rsc);
		answer = errors[e].choice != 0 ? response_other(errors[e].choice, i, errors[e].told)
					       : response_stored(i, FIXED);
		if (confirmed)
			health_answer(&h, &answer);
		assert_int_equal(open_of(&h, slot), errors[e].choice != 0);
		health_counted(&h, errors[e].why, 1, BP_C_PHD_RESPONSES, confirmed, BP_C_CSE_ACKED,
			!confirmed, BP_C_COUNT);
	}
	assert_int_equal(health_slot(&h, slot)->errors, 22);
	health_stop(&h);
}

/* Without names a conflict says nothing of this request. */
static void a_conflict_without_a_name(void **state)
{
	struct bytes answer = response_other(0x0400, 5, 303);
	struct request q;
	struct health h;

	health_start(&h, &(struct health_options){.unnamed = true});
	health_session(&h, 0, 2);
	report(&h, true, 5, 1, 1, &q);
	reply(&h, &q, ACK, 0x83, 4105);
	health_answer(&h, &answer);
	health_counted(&h, BP_C_CSE_ERROR, 1, BP_C_PHD_RESPONSES, 1, BP_C_COUNT);
	health_stop(&h);
}

static void removed_target_is_logged_once(void **state)
{
	const struct bytes answer = response_other(0x0400, 5, 103);
	struct bp_phd_event_record e;
	struct request q[2];
	struct health h;
	uint32_t slot;

	health_start(&h, &(struct health_options){0});
	slot = health_session(&h, 0, 2);
	report(&h, true, 5, 1, 2, q);
	health_worker(&h, 1);
	for (unsigned i = 0; i < 2; i++) {
		reply(&h, &q[i], ACK, 0x84, 4004);
		/* the first one took the pair away, so that the other one says nothing new */
		if (i == 0)
			health_answer(&h, &answer);
		health_counted(&h, BP_C_CSE_NO_TARGET, 1, BP_C_PHD_RESPONSES, i == 0,
			BP_C_CSE_ACK_DUPLICATE, i != 0, BP_C_COUNT);
		assert_int_equal(
			health_slot(&h, slot)->word >> 8 & 0xff, BP_PHD_READY | BP_PHD_STALE);
	}
	assert_false(health_event(&h, 0, &e));
	assert_true(health_event(&h, 1, &e));
	assert_int_equal(e.kind, BP_PHD_EVENT_STALE);
	assert_int_equal(e.slot, slot);
	assert_false(health_event(&h, 1, &e));
	health_stop(&h);
}

/* The repeat has a new message id, the same name, and only what is open. */
static void after_an_error_a_new_pair(void **state)
{
	const struct bytes apdu = report_make(FIXED, true, 5, 1, both, 2, 0),
			   answer = response_other(0x0400, 5, 103);
	struct request q[2], again;
	struct health h;
	uint32_t slot;

	health_start(&h, &(struct health_options){.ports = 2});
	slot = health_session(&h, 0, 2);
	report(&h, true, 5, 1, 2, q);
	reply(&h, &q[0], ACK, CREATED, 2001);
	reply(&h, &q[1], ACK, 0xa3, 0);
	health_answer(&h, &answer);
	health_counted(&h, BP_C_CSE_STORED, 1, BP_C_CSE_ACKED, 1, BP_C_CSE_BUSY, 1,
		BP_C_PHD_RESPONSES, 1, BP_C_COUNT);
	health_report(&h, &apdu);
	again = health_part(&h, 1);
	health_named(&h, &again, slot, 0);
	assert_true(again.port != q[1].port || again.mid != q[1].mid);
	assert_string_equal(again.rn, q[1].rn);
	health_counted(&h, BP_C_PHD_REPORTS, 1, BP_C_PHD_REPORTS_CONFIRMED, 1, BP_C_PHD_DUPLICATES,
		1, BP_C_CSE_REQUESTS, 1, BP_C_COUNT);
	/* the error once more, of the old pair: it is no answer to this one, and takes nothing */
	reply(&h, &q[1], ACK, 0xa3, 0);
	health_counted(&h, BP_C_CSE_BUSY, 1, BP_C_CSE_ACK_DUPLICATE, 1, BP_C_COUNT);
	health_report(&h, &apdu);
	q[1] = health_part(&h, 1);
	assert_int_equal(q[1].port << 16 | q[1].mid, again.port << 16 | again.mid);
	reply(&h, &again, ACK, CREATED, 2001);
	is_told(&h, 5);
	health_counted(&h, BP_C_PHD_REPORTS, 1, BP_C_PHD_REPORTS_CONFIRMED, 1, BP_C_PHD_DUPLICATES,
		1, BP_C_CSE_REQUESTS, 1, BP_C_CSE_STORED, 1, BP_C_PHD_RESPONSES, 1, BP_C_COUNT);
	health_stop(&h);
}

/* ---- late ones ---- */

/* A device with the same invoke-id and number in all reports: a response to an earlier report
 * neither completes the last one nor answers it. */
static void late_response_with_the_same_id(void **state)
{
	const struct value other = {1, 98, 0};
	const struct bytes apdu = report_make(FIXED, true, 0, 0, &other, 1, 0);
	struct request old, q;
	struct health h;
	uint32_t slot;

	health_start(&h, &(struct health_options){0});
	slot = health_session(&h, 0, 2);
	report(&h, true, 0, 0, 1, &old);
	health_report(&h, &apdu);
	q = health_part(&h, 0);
	assert_string_not_equal(old.rn, q.rn);
	health_counted(&h, BP_C_PHD_REPORTS, 1, BP_C_PHD_REPORTS_CONFIRMED, 1,
		BP_C_PHD_OBSERVATIONS, 1, BP_C_CSE_REQUESTS, 1, BP_C_CSE_UNACKNOWLEDGED, 1,
		BP_C_PHD_REUSED_NUMBER, 1, BP_C_COUNT);
	assert_memory_equal(old.token, q.token, 8); /* a token cannot distinguish them */
	reply(&h, &old, ACK, CREATED, 2001);
	health_counted(&h, BP_C_CSE_ACK_DUPLICATE, 1, BP_C_COUNT);
	reply(&h, &old, ACK, 0xa0, 5000);
	health_counted(&h, BP_C_CSE_ERROR, 1, BP_C_CSE_ACK_DUPLICATE, 1, BP_C_COUNT);
	reply(&h, &old, NON, 0x83, 4103);
	health_counted(&h, BP_C_CSE_DENIED, 1, BP_C_CSE_ACK_DUPLICATE, 1, BP_C_COUNT);
	assert_int_equal(open_of(&h, slot), 1);
	/* nor did that take the pair away: the repeat is the same request */
	health_report(&h, &apdu);
	old = health_part(&h, 0);
	assert_int_equal(old.port << 16 | old.mid, q.port << 16 | q.mid);
	reply(&h, &q, ACK, CREATED, 2001);
	is_told(&h, 0);
	health_counted(&h, BP_C_PHD_REPORTS, 1, BP_C_PHD_REPORTS_CONFIRMED, 1, BP_C_PHD_DUPLICATES,
		1, BP_C_CSE_REQUESTS, 1, BP_C_CSE_STORED, 1, BP_C_PHD_RESPONSES, 1, BP_C_COUNT);
	health_stop(&h);
}

static void late_response_with_another_id(void **state)
{
	struct request old[2], q;
	struct health h;
	uint32_t slot;

	health_start(&h, &(struct health_options){0});
	slot = health_session(&h, 0, 2);
	report(&h, true, 5, 1, 1, &old[0]);
	report(&h, true, 6, 2, 1, &q);
	/* of one part the token alone says enough */
	reply(&h, &old[0], ACK, CREATED, 2001);
	is_told(&h, 5);
	health_counted(&h, BP_C_CSE_STORED, 1, BP_C_PHD_RESPONSES, 1, BP_C_COUNT);
	assert_int_equal(open_of(&h, slot), 1);
	report(&h, true, 7, 3, 2, old);
	report(&h, true, 8, 4, 1, &q);
	reply(&h, &old[0], ACK, CREATED, 2001);
	reply(&h, &old[1], ACK, CREATED, 2001);
	health_counted(&h, BP_C_CSE_STORED, 2, BP_C_CSE_ACKED, 2, BP_C_COUNT);
	assert_int_equal(open_of(&h, slot), 1);
	health_stop(&h);
}

/* ---- what is none ---- */

static void unreadable_responses_are_rejected(void **state)
{
	struct request q;
	struct bytes good, m;
	struct health h;

	health_start(&h, &(struct health_options){0});
	health_session(&h, 0, 2);
	report(&h, true, 1, 1, 1, &q);
	good = coap_response(ACK, CREATED, q.mid, q.token, 2001);
	for (unsigned i = 0; i < 12; i++) {
		m = good;
		switch (i) {
		case 0:
			m.len = 0;
			break;
		case 1:
			m.len = 3;
			break;
		case 2:
			m.len = 11; /* in the token */
			break;
		case 3:
			m.b[0] = 0x28; /* version 0 */
			break;
		case 4:
			m.b[0] = 0x69; /* a token of nine */
			break;
		case 5:
			m.b[12] = 0xf2; /* an option of nibble 15 */
			break;
		case 6:
			m.len--; /* an option past the end */
			break;
		case 7:
			put8(&m, 0xff); /* a marker, and no payload */
			break;
		case 8:
			m.b[1] = 2; /* a request */
			break;
		case 9:
			m.b[1] = 0x21; /* of a class that is none */
			break;
		case 10:
			m.b[1] = 0xc1;
			break;
		default:
			m.b[1] = 0xff;
		}
		health_reply(&h, q.port, &m);
		health_counted(&h, BP_C_DROP_CSE_MALFORMED, 1, BP_C_COUNT);
	}
	m = coap_empty(CON, 7); /* a ping */
	health_reply(&h, q.port, &m);
	health_counted(&h, BP_C_DROP_CSE_MALFORMED, 1, BP_C_COUNT);
	m = coap_empty(RST, q.mid);
	health_reply(&h, q.port, &m);
	m = report_vector("A12"); /* no CoAP at all */
	m.b[0] = 0x00;
	health_reply(&h, q.port, &m);
	health_counted(&h, BP_C_CSE_RESET, 1, BP_C_DROP_CSE_MALFORMED, 1, BP_C_COUNT);
	health_stop(&h);
}

static void a_bad_token(struct health *h, const struct request *q, const struct bytes *m)
{
	health_reply(h, q->port, m);
	health_counted(h, BP_C_DROP_CSE_UNKNOWN_TOKEN, 1, BP_C_COUNT);
}

static void wrong_tokens_are_rejected(void **state)
{
	struct request q;
	struct bytes good, m;
	struct health h;
	uint32_t slot;
	uint64_t word;

	health_start(&h, &(struct health_options){0});
	slot = health_session(&h, 0, 2);
	report(&h, true, 1, 1, 1, &q);
	good = coap_response(ACK, CREATED, q.mid, q.token, 2001);
	for (unsigned bit = 0; bit < 64; bit++) {
		m = good;
		m.b[4 + bit / 8] ^= (uint8_t)(0x80u >> bit % 8);
		a_bad_token(&h, &q, &m);
	}
	m = good; /* a slot far out of the table */
	memset(m.b + 4, 0xff, 3);
	a_bad_token(&h, &q, &m);
	for (unsigned len = 0; len < 8; len++) {
		m = good;
		m.b[0] = (uint8_t)(0x60 | len);
		memmove(m.b + 4 + len, m.b + 12, m.len - 12);
		m.len -= 8 - len;
		a_bad_token(&h, &q, &m);
	}
	/* the session ended; then another one has its slot */
	word = health_slot(&h, slot)->word;
	bp_phd_session_close(h.phd, slot);
	a_bad_token(&h, &q, &good);
	atomic_store(&health_slot(&h, slot)->word, word + (1ull << 32));
	a_bad_token(&h, &q, &good);
	/* wrong responses changed nothing */
	atomic_store(&health_slot(&h, slot)->word, word);
	assert_int_equal(open_of(&h, slot), 1);
	health_reply(&h, q.port, &good);
	is_told(&h, 1);
	health_counted(&h, BP_C_CSE_STORED, 1, BP_C_PHD_RESPONSES, 1, BP_C_COUNT);
	atomic_store(&health_slot(&h, slot)->word, word & ~0xffull);
	health_stop(&h);
}

static void not_from_the_cse(void **state)
{
	struct request q;
	struct bytes m, f;
	struct health h;

	health_start(&h, &(struct health_options){0});
	health_session(&h, 0, 2);
	report(&h, true, 1, 1, 1, &q);
	m = coap_response(ACK, CREATED, q.mid, q.token, 2001);
	for (unsigned i = 0; i < 4; i++) {
		struct end from = h.cse, to = h.source;

		to.port = (uint16_t)q.port;
		if (i == 0)
			from.ip[3]++;
		else if (i == 1)
			from.port++;
		else
			to.port = (uint16_t)(i == 2 ? HEALTH_PORTS_FIRST - 1
						    : HEALTH_PORTS_FIRST + 100);
		f = wire_frame(false, &from, &to, &m);
		health_frame(&h, B, &f);
		rig_expect_kernel(&h.r, BP_EX_LOCAL, B, f.b, f.len);
		health_counted(&h, BP_C_PUNT_LOCAL, 1, BP_C_COUNT);
	}
	f = wire_frame(false, &h.cse, (struct end[]){h.source}, &m);
	f.b[14 + 20 + 2] = (uint8_t)(q.port >> 8);
	f.b[14 + 20 + 3] = (uint8_t)q.port; /* and the checksum is for another port */
	health_frame(&h, B, &f);
	health_counted(&h, BP_C_DROP_CSE_CHECKSUM, 1, BP_C_COUNT);
	health_stop(&h);
}

/* ---- the way to the device ---- */

static void handed_to_the_control_plane(void **state)
{
	const struct bytes apdu = report_make(FIXED, true, 3, 1, both, 1, 0);
	struct bp_phd_event_record e;
	struct request q;
	uint64_t token = 0;
	struct health h;
	uint32_t slot;
	unsigned events = 0;

	health_start(&h, &(struct health_options){0});
	slot = health_session(&h, 0, 2);
	report(&h, true, 3, 1, 1, &q);
	health_neighbor(&h, A, false, h.device.ip, NULL);
	reply(&h, &q, ACK, CREATED, 2001);
	health_counted(&h, BP_C_CSE_STORED, 1, BP_C_PHD_RESPONSE_HANDED_OVER, 1, BP_C_COUNT);
	assert_true(health_event(&h, 0, &e));
	for (unsigned i = 0; i < 8; i++)
		token = token << 8 | q.token[i];
	assert_int_equal(e.kind, BP_PHD_EVENT_ANSWER);
	assert_int_equal(e.slot, slot);
	assert_int_equal(e.outcome, 0); /* stored */
	assert_int_equal(e.token, token);
	assert_false(health_event(&h, 0, &e));
	/* the ring fills up, and then it is the device that asks again */
	for (;; events++) {
		health_report(&h, &apdu);
		if (h.r.shm.counters[0].v[BP_C_DROP_PHD_RESPONSE_UNSENT] != 0)
			break;
		assert_in_range(events, 0, BP_PHD_EVENTS / sizeof(e));
	}
	assert_in_range(events, 100, BP_PHD_EVENTS / sizeof(e));
	health_counted(&h, BP_C_PHD_REPORTS, (int)events + 1, BP_C_PHD_REPORTS_CONFIRMED,
		(int)events + 1, BP_C_PHD_DUPLICATES, (int)events + 1,
		BP_C_PHD_RESPONSE_HANDED_OVER, (int)events, BP_C_PHD_EVENTS_LOST, 1,
		BP_C_DROP_PHD_RESPONSE_UNSENT, 1, BP_C_COUNT);
	/* STALE is in the word, with and without an event */
	report(&h, false, 4, 2, 1, &q);
	reply(&h, &q, ACK, 0x84, 4004);
	health_counted(
		&h, BP_C_CSE_NO_TARGET, 1, BP_C_PHD_EVENTS_LOST, 1, BP_C_CSE_ACKED, 1, BP_C_COUNT);
	assert_int_equal(health_slot(&h, slot)->word >> 8 & 0xff, BP_PHD_READY | BP_PHD_STALE);
	/* there is room again */
	while (health_event(&h, 0, &e))
		assert_int_equal(e.kind, BP_PHD_EVENT_ANSWER);
	health_interface(&h, A, true, 41); /* too narrow for an answer of 20 + 8 + 14 bytes */
	health_neighbor(&h, A, false, h.device.ip, h.device.mac);
	report(&h, true, 5, 3, 1, &q);
	reply(&h, &q, ACK, 0xa3, 0);
	assert_true(health_event(&h, 0, &e));
	assert_int_equal(e.outcome, 3); /* busy */
	health_stop(&h);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(stored_and_answered),
		cmocka_unit_test(the_answer_has_the_type_of_the_report),
		cmocka_unit_test(non_confirmable_requests_are_counted),
		cmocka_unit_test(separate_responses),
		cmocka_unit_test(the_last_part_answers),
		cmocka_unit_test(at_the_other_worker),
		cmocka_unit_test(each_error),
		cmocka_unit_test(a_conflict_without_a_name),
		cmocka_unit_test(removed_target_is_logged_once),
		cmocka_unit_test(after_an_error_a_new_pair),
		cmocka_unit_test(late_response_with_the_same_id),
		cmocka_unit_test(late_response_with_another_id),
		cmocka_unit_test(unreadable_responses_are_rejected),
		cmocka_unit_test(wrong_tokens_are_rejected),
		cmocka_unit_test(not_from_the_cse),
		cmocka_unit_test(handed_to_the_control_plane),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
