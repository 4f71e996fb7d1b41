/* SPDX-License-Identifier: BSD-3-Clause */
/* Reports of many requests: sent a few at a time, and each of them stored once. */
#include "tests/unit/controlplane/health/slow_rig.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PARTS_MAX 300
#define RORS "e7000012001012010201000a0000ffffffff0d1d0000"

/* A confirmed or unconfirmed fixed report of configuration 400: n observations of its two objects
 * in turn, with values 1, 2, 3... */
static size_t make(uint8_t *out, unsigned n, bool confirmed, uint8_t number)
{
	const size_t list = 6 * (size_t)n, len = 30 + list;
	const uint8_t head[30] = {0xe7, 0, (uint8_t)((len - 4) >> 8), (uint8_t)(len - 4),
		(uint8_t)((len - 6) >> 8), (uint8_t)(len - 6), 0x12, number, 1, confirmed,
		(uint8_t)((len - 12) >> 8), (uint8_t)(len - 12), 0, 0, 0xff, 0xff, 0xff, 0xff, 0x0d,
		0x1d, (uint8_t)((len - 22) >> 8), (uint8_t)(len - 22), 0xf0, 0, 0, number,
		(uint8_t)(n >> 8), (uint8_t)n, (uint8_t)(list >> 8), (uint8_t)list};

	memcpy(out, head, sizeof(head));
	for (unsigned i = 0; i < n; i++) {
		const uint8_t one[6] = {
			0, i % 2 != 0 ? 10 : 1, 0, 2, (uint8_t)((i + 1) >> 8), (uint8_t)(i + 1)};

		memcpy(out + sizeof(head) + 6 * (size_t)i, one, sizeof(one));
	}
	return len;
}

static enum bp_phd_taken numbered(
	struct rig *r, uint32_t slot, unsigned n, bool confirmed, uint8_t number, uint64_t now)
{
	uint8_t *apdu = malloc(30 + 6 * PARTS_MAX), *exact;
	const size_t len = make(apdu, n, confirmed, number);
	enum bp_phd_taken t;

	exact = realloc(apdu, len); /* it is the caller's again after the call */
	assert_non_null(exact);
	t = bp_slow_report(r->s, slot, exact, len, now);
	free(exact);
	return t;
}

static enum bp_phd_taken many(
	struct rig *r, uint32_t slot, unsigned n, bool confirmed, uint64_t now)
{
	return numbered(r, slot, n, confirmed, 1, now);
}

/* The number behind `key` in a request. */
static unsigned number_in(const struct sent *s, const char *key, int base)
{
	const char *p = memmem(s->bytes, s->len, key, strlen(key));

	assert_non_null(p);
	return (unsigned)strtoul(p + strlen(key), NULL, base);
}

/* The part that a request's name says: the last two digits of 22. */
static unsigned part_of(const struct sent *s)
{
	const char *p = memmem(s->bytes, s->len, "\"rn\":\"", 6);
	char digits[3] = "";

	assert_non_null(p);
	memcpy(digits, p + 6 + 20, 2);
	return (unsigned)strtoul(digits, NULL, 16);
}

static unsigned value_of(const struct sent *s)
{
	return number_in(s, "\\\"v\\\":", 10);
}

/* The requests sent from `from` on that have no end: the oldest, or n_sent. */
static unsigned oldest(unsigned from)
{
	while (from < n_sent && sent[from].ended)
		from++;
	return from;
}

static unsigned unended(void)
{
	unsigned n = 0;

	for (unsigned i = 0; i < n_sent; i++)
		n += !sent[i].ended;
	return n;
}

/* For every number of parts: each is sent once, with its own value and name, some at a time, and
 * the device is answered when the last is stored. */
static void each_once(void **state)
{
	static const unsigned counts[] = {1, 31, 32, 33, 34, 64, 65, 100, 255, 256};

	(void)state;
	srand(4);
	for (unsigned k = 0; k < sizeof(counts) / sizeof(counts[0]); k++) {
		const unsigned n = counts[k];
		bool seen[PARTS_MAX] = {false};
		struct rig r;
		uint32_t slot;

		start(&r);
		slot = open_session(&r, 1, &rig_400);
		assert_int_equal(many(&r, slot, n, true, SECOND), BP_PHD_TAKEN);
		for (unsigned left = n; left > 0; left--) {
			unsigned i;

			assert_true(unended() <= 32 && bp_slow_busy(r.s, slot));
			assert_int_equal(r.answers + r.idle, 0);
			do
				i = (unsigned)rand() % n_sent;
			while (sent[i].ended);
			assert_false(seen[part_of(&sent[i])]);
			assert_int_equal(value_of(&sent[i]), part_of(&sent[i]) + 1);
			seen[part_of(&sent[i])] = true;
			stored(i);
			assert_int_equal(bp_phd_last_open(session(&r, slot)->last) == 0, left == 1);
		}
		assert_int_equal(n_sent, n);
		answered(&r, 1, RORS);
		assert_int_equal(r.idle, 1);
		assert_int_equal(session(&r, slot)->reports, 1);
		assert_int_equal(session(&r, slot)->stored, n);
		assert_int_equal(many(&r, slot, n, true, 2 * SECOND), BP_PHD_TAKEN_ANSWER);
		assert_int_equal(n_sent, n);
		finish(&r);
	}
}

/* No more than 256 have a name, and no more than a message's hash go into one. */
static void unsendable_reports(void **state)
{
	struct bp_phd_settings plan = rig_plan;
	struct rig r;
	uint32_t slot;

	(void)state;
	start(&r);
	slot = open_session(&r, 1, &rig_400);
	assert_int_equal(many(&r, slot, 257, true, SECOND), BP_PHD_TAKEN_UNFIT);
	assert_int_equal(n_sent, 0);
	assert_int_equal(session(&r, slot)->reports, 0);
	finish(&r);
	assert_int_equal(r.n.too_large, 1);
	assert_int_equal(r.n.unusable, 0);
	plan.max_message = 100;
	start_with(&r, 16, &plan);
	slot = open_session(&r, 1, &rig_400);
	assert_int_equal(many(&r, slot, 1, true, SECOND), BP_PHD_TAKEN_UNFIT);
	assert_int_equal(many(&r, slot, 40, true, SECOND), BP_PHD_TAKEN_UNFIT);
	assert_int_equal(n_sent, 0);
	finish(&r);
	assert_int_equal(r.n.too_large, 2);
}

/* Notes that the value of request i is stored: for the first time. */
static void stored_once(bool *has, unsigned i)
{
	assert_false(has[value_of(&sent[i])]);
	has[value_of(&sent[i])] = true;
	stored(i);
}

/* Stored parts are not sent again, with or without names, also by another control plane: the
 * session has the required state. */
static void goes_on_where_it_was(const struct bp_phd_settings *plan)
{
	bool has[PARTS_MAX] = {false};
	struct rig r;
	uint32_t slot;
	unsigned i;

	srand(8);
	start_with(&r, 16, plan);
	slot = open_session(&r, 1, &rig_400);
	assert_int_equal(many(&r, slot, 100, true, SECOND), BP_PHD_TAKEN);
	while (n_sent < 70) {
		i = oldest(0) + (unsigned)rand() % 5;
		if (i < n_sent && !sent[i].ended)
			stored_once(has, i);
	}
	while ((i = oldest(0)) < n_sent) /* the CSE is away, or so it seems */
		end(i, BP_CSE_TIMED_OUT, 0, 0);
	assert_int_equal(r.answers, 0);
	start_again(&r, 16);
	assert_int_equal(many(&r, slot, 100, true, 5 * SECOND), BP_PHD_TAKEN);
	while ((i = oldest(0)) < n_sent)
		stored_once(has, i);
	for (unsigned v = 1; v <= 100; v++)
		assert_true(has[v]);
	answered(&r, 1, RORS);
	assert_int_equal(session(&r, slot)->reports, 1);
	assert_int_equal(session(&r, slot)->stored, 100);
	assert_int_equal(bp_phd_last_open(session(&r, slot)->last), 0);
	finish(&r);
	assert_int_equal(r.n.resumed, 1);
}

static void continues_with_names(void **state)
{
	(void)state;
	goes_on_where_it_was(&rig_plan);
}

static void continues_without_names(void **state)
{
	struct bp_phd_settings plan = rig_plan;

	(void)state;
	plan.named = 0;
	goes_on_where_it_was(&plan);
}

/* An error on one part: the others are stored, and the repetition brings that one. */
static void an_error_on_one(void **state)
{
	struct rig r;
	uint32_t slot;
	unsigned i;

	(void)state;
	start(&r);
	slot = open_session(&r, 1, &rig_400);
	assert_int_equal(many(&r, slot, 60, true, SECOND), BP_PHD_TAKEN);
	end(3, BP_CSE_ANSWERED, BP_COAP_CODE(5, 3), 0);
	while ((i = oldest(0)) < n_sent)
		stored(i);
	assert_int_equal(n_sent, 60);
	answered(&r, 1, "e700000a00081201040000020067");
	assert_int_equal(session(&r, slot)->errors, 1);
	assert_int_equal(many(&r, slot, 60, true, 4 * SECOND), BP_PHD_TAKEN);
	assert_int_equal(part_of(&sent[60]), 3);
	/* parts after it that could not be recorded are sent again: the CSE has their names */
	stored(60);
	while ((i = oldest(60)) < n_sent)
		end(i, BP_CSE_ANSWERED, BP_COAP_CODE(4, 3), BP_M2M_CONFLICT);
	answered(&r, 2, RORS);
	assert_int_equal(bp_phd_last_open(session(&r, slot)->last), 0);
	finish(&r);
}

/* Without names nothing is sent of which it could not be noted that it is stored. */
static void an_error_on_one_without_names(void **state)
{
	struct bp_phd_settings plan = rig_plan;
	bool has[PARTS_MAX] = {false};
	struct rig r;
	uint32_t slot;
	unsigned i;

	(void)state;
	plan.named = 0;
	start_with(&r, 16, &plan);
	slot = open_session(&r, 1, &rig_400);
	assert_int_equal(many(&r, slot, 60, true, SECOND), BP_PHD_TAKEN);
	end(3, BP_CSE_ANSWERED, BP_COAP_CODE(5, 3), 0);
	while ((i = oldest(0)) < n_sent) {
		has[value_of(&sent[i])] = true;
		stored(i);
	}
	assert_int_equal(n_sent, 3 + 24);
	answered(&r, 1, "e700000a00081201040000020067");
	assert_int_equal(many(&r, slot, 60, true, 4 * SECOND), BP_PHD_TAKEN);
	while ((i = oldest(0)) < n_sent) {
		assert_false(has[value_of(&sent[i])]);
		has[value_of(&sent[i])] = true;
		stored(i);
	}
	for (unsigned v = 1; v <= 60; v++)
		assert_true(has[v]);
	answered(&r, 2, RORS);
	finish(&r);
}

/* Other requests use all entries of the client: waiting ones are sent when there is capacity. */
static void capacity_for_a_few(void **state)
{
	struct rig r;
	uint32_t a, b;
	unsigned i;

	(void)state;
	start(&r);
	a = open_session(&r, 1, &rig_400);
	b = open_session(&r, 2, &rig_400);
	room = 3;
	assert_int_equal(many(&r, a, 40, true, SECOND), BP_PHD_TAKEN);
	assert_int_equal(n_sent, 3);
	assert_int_equal(many(&r, b, 40, true, SECOND), BP_PHD_TAKEN_FULL);
	assert_int_equal(session(&r, b)->reports, 0);
	/* its ends find that the places are another's by then */
	for (i = 0; i < 3; i++) {
		room = (unsigned)-1; /* and the end makes it 0 */
		stored(i);
	}
	assert_int_equal(n_sent, 3);
	assert_true(bp_slow_busy(r.s, a));
	/* its repetition is known meanwhile */
	assert_int_equal(many(&r, a, 40, true, 4 * SECOND), BP_PHD_TAKEN);
	room = 2;
	watch->room(watch->arg);
	assert_int_equal(n_sent, 5);
	assert_int_equal(many(&r, b, 1, true, SECOND), BP_PHD_TAKEN_FULL);
	while ((i = oldest(0)) < n_sent)
		stored(i);
	assert_int_equal(n_sent, 40);
	answered(&r, 1, RORS);
	watch->room(watch->arg); /* no one waits */
	finish(&r);
}

/* The device disconnects before all was sent: the rest is not sent for the next session in its
 * slot. */
static void session_ends_during_a_report(void **state)
{
	struct rig r;
	uint32_t slot, other;
	unsigned i;

	(void)state;
	start(&r);
	slot = open_session(&r, 1, &rig_400);
	assert_int_equal(many(&r, slot, 100, false, SECOND), BP_PHD_TAKEN);
	bp_phd_session_close(r.x.w, slot);
	other = open_session(&r, 1, &rig_400);
	while ((i = oldest(0)) < n_sent)
		stored(i);
	assert_true(n_sent <= 32);
	assert_int_equal(session(&r, other)->stored, 0);
	assert_int_equal(session(&r, other)->last, 0);
	finish(&r);
	assert_int_equal(r.n.lost, 1);
}

/* The next report arrives while one is in flight, with the same numbers: results of the first do
 * not apply to the second. */
static void same_numbers_other_bytes(void **state)
{
	struct rig r;
	uint32_t slot;

	(void)state;
	start(&r);
	slot = open_session(&r, 1, &rig_400);
	assert_int_equal(many(&r, slot, 2, true, SECOND), BP_PHD_TAKEN);
	assert_int_equal(many(&r, slot, 3, true, SECOND), BP_PHD_TAKEN);
	assert_int_equal(n_sent, 5);
	stored(0);
	stored(1);
	assert_int_equal(bp_phd_last_open(session(&r, slot)->last), 7);
	assert_true(bp_slow_busy(r.s, slot));
	assert_int_equal(r.idle, 0);
	for (unsigned i = 2; i < 5; i++)
		stored(i);
	assert_int_equal(bp_phd_last_open(session(&r, slot)->last), 0);
	assert_int_equal(r.idle, 1);
	finish(&r);
}

/* A device repeats as long as it is not answered, and it stays one report: the CSE may have stored
 * it long ago. */
static void repeated_for_an_hour(void **state)
{
	struct rig r;
	uint32_t slot;

	(void)state;
	start(&r);
	slot = open_session(&r, 1, &rig_400);
	for (uint64_t now = SECOND; now < 3600 * SECOND; now += 60 * SECOND) {
		assert_int_equal(many(&r, slot, 1, true, now), BP_PHD_TAKEN);
		assert_int_equal(n_sent, now / (60 * SECOND) + 1);
		assert_memory_equal(sent[n_sent - 1].bytes + 4, sent[0].bytes + 4, sent[0].len - 4);
		end(n_sent - 1, BP_CSE_TIMED_OUT, 0, 0);
	}
	assert_int_equal(session(&r, slot)->reports, 1);
	finish(&r);
}

/* A worker sent the first of two, and the CSE has it: the slow path sends the other. */
static void after_a_worker(void **state)
{
	struct rig r;
	uint32_t slot;
	size_t len;
	uint8_t *apdu = rig_apdu("S02", &len);
	const uint16_t hash = bp_phd_report_hash(bp_phd_report_key, apdu, len);

	(void)state;
	start(&r);
	slot = open_session(&r, 1, &rig_400);
	session(&r, slot)->last = 0x0010000100000002ull;
	session(&r, slot)->sent = 0x0000007700000000ull | (uint64_t)hash << 16 | 3;
	session(&r, slot)->reports = 1;
	assert_int_equal(report(&r, slot, "S02", 20 * SECOND), BP_PHD_TAKEN);
	assert_int_equal(n_sent, 1);
	assert_int_equal(part_of(&sent[0]), 1);
	/* it went with another id: a worker is not to send the old one again */
	assert_int_equal(session(&r, slot)->sent >> 32, 0xffffffff);
	stored(0);
	answered(&r, 1, "e7000012001000100201000a0000ffffffff0d1d0000");
	assert_int_equal(session(&r, slot)->reports, 1);
	finish(&r);
	free(apdu);
}

/* One instance a report, and more than a message holds: several instances, each once. */
static void long_list_is_split_into_instances(void **state)
{
	struct bp_phd_settings plan = rig_plan;
	unsigned n = 0, parts = 0, lost = 0, i;
	struct rig r;
	uint32_t slot;

	(void)state;
	plan.per_report = 1;
	start_with(&r, 16, &plan);
	slot = open_session(&r, 1, &rig_400);
	assert_int_equal(many(&r, slot, 100, true, SECOND), BP_PHD_TAKEN);
	for (; (i = oldest(0)) < n_sent; parts++) {
		char *con = rig_content(sent[i].bytes, sent[i].len);

		assert_non_null(con);
		for (const char *p = con; (p = strstr(p, "\"v\":")) != NULL; p++)
			n++;
		free(con);
		if (parts == 1 && lost++ == 0) {
			end(i, BP_CSE_ANSWERED, BP_COAP_CODE(5, 3), 0);
			continue;
		}
		stored(i);
	}
	assert_int_equal(n, 100);
	assert_true(parts > 2);
	answered(&r, 1, "e700000a00081201040000020067");
	assert_int_equal(many(&r, slot, 100, true, 4 * SECOND), BP_PHD_TAKEN);
	assert_int_equal(n_sent, parts + 1);
	assert_int_equal(part_of(&sent[parts]), 1);
	stored(parts);
	answered(&r, 2, RORS);
	finish(&r);
}

/* ---- a device that repeats until it is answered, and a CSE that loses, forgets and refuses ----
 */

/* Instances of the current report in the CSE, by value. Reports differ by name; here one ends
 * before the next begins. */
static bool cse_has[PARTS_MAX];

static void cse_acts(unsigned i, bool named)
{
	const unsigned value = value_of(&sent[i]);
	const int what = rand() % 40;

	if (what == 0) { /* it never came */
		end(i, BP_CSE_TIMED_OUT, 0, 0);
	} else if (what <= 2) {
		end(i, BP_CSE_ANSWERED, BP_COAP_CODE(5, 3), 0);
	} else if (what == 3 && named) { /* stored, and the answer is lost */
		cse_has[value] = true;
		end(i, BP_CSE_TIMED_OUT, 0, 0);
	} else if (cse_has[value]) {
		assert_true(named); /* it would be there twice */
		end(i, BP_CSE_ANSWERED, BP_COAP_CODE(4, 3), BP_M2M_CONFLICT);
	} else {
		cse_has[value] = true;
		stored(i);
	}
}

static void soak(bool named)
{
	struct bp_phd_settings plan = rig_plan;
	uint64_t now = SECOND;
	unsigned resumed = 0;
	struct rig r;
	uint32_t slot;

	srand(named ? 21 : 22);
	plan.named = named;
	start_with(&r, 4, &plan);
	slot = open_session(&r, 1, &rig_400);
	for (unsigned number = 1; number <= 40; number++) {
		const unsigned n = 1 + (unsigned)rand() % 256;
		enum bp_phd_taken t = BP_PHD_TAKEN;

		memset(cse_has, 0, sizeof(cse_has));
		n_sent = 0;
		for (unsigned tries = 0; t != BP_PHD_TAKEN_ANSWER; tries++) {
			unsigned i;

			assert_true(tries < 1000);
			now += 3 * SECOND;
			room = 1 + (unsigned)rand() % 40;
			t = numbered(&r, slot, n, true, (uint8_t)number, now);
			while ((i = oldest(0)) < n_sent) {
				i += (unsigned)rand() % (n_sent - i);
				if (!sent[i].ended)
					cse_acts(i, named);
			}
			assert_false(bp_slow_busy(r.s, slot));
			if (rand() % 3 == 0) {
				bp_slow_count(r.s, &r.n);
				resumed += (unsigned)r.n.resumed;
				start_again(&r, 4);
			}
		}
		for (unsigned v = 1; v <= n; v++)
			assert_true(cse_has[v]);
		assert_int_equal(session(&r, slot)->reports, number);
	}
	assert_true(resumed > 50);
	finish(&r);
}

static void each_report_is_stored_exactly_once_with_names(void **state)
{
	(void)state;
	soak(true);
}

static void each_report_is_stored_exactly_once_without_names(void **state)
{
	(void)state;
	soak(false);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_once),
		cmocka_unit_test(unsendable_reports),
		cmocka_unit_test(continues_with_names),
		cmocka_unit_test(continues_without_names),
		cmocka_unit_test(an_error_on_one),
		cmocka_unit_test(an_error_on_one_without_names),
		cmocka_unit_test(capacity_for_a_few),
		cmocka_unit_test(session_ends_during_a_report),
		cmocka_unit_test(same_numbers_other_bytes),
		cmocka_unit_test(repeated_for_an_hour),
		cmocka_unit_test(after_a_worker),
		cmocka_unit_test(long_list_is_split_into_instances),
		cmocka_unit_test(each_report_is_stored_exactly_once_with_names),
		cmocka_unit_test(each_report_is_stored_exactly_once_without_names),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
