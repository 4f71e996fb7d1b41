/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * One session, changed by a worker that has the device's reports, by one that has the CSE's
 * answers, and by the slow path, at the same time. The evaluate is a CSE that knows which report
 * each request was made of: no name is used for two of them, and none is said to be stored that is
 * not.
 */
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* Between any two steps others may come, also on a machine of one processor. */
static void others_first(void);
#define BP_PHD_REPORT_WORDS_STEP() others_first()
#include "services/health/last_report.h"

#define REPORTS 6000u
#define NAMES (REPORTS * 8u)
#define PARTS 3u
#define TRIES 4u /* of a device, before it gives a report up */
#define ACTORS 3u
#define AHEAD 128u /* turns that one may be ahead of another */
#define WAITING 16u
#define NOW (40 * 1000000000ull)

struct report {
	uint32_t id; /* from 1 on; known only to the CSE and the device */
	uint16_t invoke_id, report_no, bytes;
	unsigned parts;
};

struct answer {
	struct report of;
	uint32_t pair;
	unsigned part;
	bool stored;
};

struct scene {
	struct bp_phd_session s;
	bool constant; /* the device has one invoke-id and one number for all its reports */

	pthread_mutex_t device;
	struct report now;
	unsigned tries;
	_Atomic uint8_t told[REPORTS + 1]; /* the device got the confirmation */

	_Atomic uint32_t named[NAMES][PARTS]; /* id of the report that has this name */
	_Atomic uint8_t kept[REPORTS + 1];    /* a bit for each part that is stored */

	pthread_mutex_t way; /* of the CSE's answers to the worker */
	struct answer waiting[WAITING];
	unsigned n;

	pthread_mutex_t new_report; /* two of one device do not come on both ways at once */
	_Atomic uint32_t pair;
	_Atomic bool stop;
	_Atomic uint32_t turns[ACTORS];
	_Atomic uint64_t untrue, two_of_a_name, repeats, closed, errors, slow;
};

struct actor {
	struct scene *x;
	unsigned index;
	uint64_t seed;
	pthread_t thread;
};

static uint32_t draw(struct actor *a, uint32_t below)
{
	a->seed ^= a->seed << 13;
	a->seed ^= a->seed >> 7;
	a->seed ^= a->seed << 17;
	return (uint32_t)(a->seed >> 32) % below;
}

static void others_first(void)
{
	static _Thread_local uint32_t turn;

	turn = turn * 1664525u + 1013904223u;
	if (turn >> 28 == 0)
		sched_yield();
}

/* Whether this thread may continue; a thread that is far ahead waits, so that all have an equal
 * share of the reports on a busy machine. */
static bool turn(struct actor *a)
{
	struct scene *x = a->x;
	const uint32_t mine = atomic_fetch_add(&x->turns[a->index], 1);

	for (unsigned i = 0; i < ACTORS; i++)
		while (mine > atomic_load(&x->turns[i]) + AHEAD && !atomic_load(&x->stop))
			sched_yield();
	return !atomic_load(&x->stop);
}

/* ---- the device ---- */

/* The next datagram: the report again, until it is stored or too old. */
static struct report say(struct actor *a)
{
	struct scene *x = a->x;
	struct report r;

	pthread_mutex_lock(&x->device);
	if (atomic_load(&x->told[x->now.id]) != 0 || x->tries == TRIES) {
		x->tries = 0;
		x->now.id++;
		if (x->now.id == REPORTS)
			atomic_store(&x->stop, true);
		x->now.bytes = (uint16_t)(x->now.id * 40503u);
		x->now.parts = 1 + draw(a, PARTS);
		if (!x->constant) {
			x->now.invoke_id++;
			x->now.report_no = (uint16_t)(x->now.id / 2);
		}
	}
	x->tries++;
	r = x->now;
	pthread_mutex_unlock(&x->device);
	return r;
}

static void tell(struct scene *x, const struct report *r)
{
	if (atomic_load(&x->kept[r->id]) != (1u << r->parts) - 1)
		atomic_fetch_add(&x->untrue, 1);
	atomic_store(&x->told[r->id], 1);
}

/* ---- the CSE ---- */

enum fate { LOST, REFUSED, STORED };

static enum fate create(struct actor *a, uint32_t number, unsigned part, const struct report *r)
{
	struct scene *x = a->x;
	uint32_t had = 0;

	if (number >= NAMES || draw(a, 6) == 0)
		return LOST;
	if (draw(a, 6) == 0)
		return REFUSED;
	if (!atomic_compare_exchange_strong(&x->named[number][part], &had, r->id) && had != r->id)
		atomic_fetch_add(&x->two_of_a_name, 1);
	else
		atomic_fetch_or(&x->kept[r->id], (uint8_t)(1u << part));
	return STORED; /* also a name that is there already counts so */
}

/* ---- which report it is, as both ways evaluate ---- */

static bool is_repeat(
	struct scene *x, const struct report *r, struct bp_phd_report_words *w, uint32_t *number)
{
	*w = bp_phd_report_words_read(&x->s);
	return bp_phd_is_repeat(w->last, w->sent, r->invoke_id, r->report_no, r->bytes, NOW) &&
	       bp_phd_report_words_number(&x->s, w, number);
}

static uint32_t note_new(struct scene *x, const struct report *r, uint32_t open, uint32_t pair)
{
	uint32_t number;

	pthread_mutex_lock(&x->new_report);
	number = bp_phd_report_words_begin(&x->s);
	bp_phd_report_words_end(&x->s, bp_phd_last_pack(r->invoke_id, r->report_no, open),
		bp_phd_sent_pack(pair, r->bytes, NOW));
	pthread_mutex_unlock(&x->new_report);
	return number;
}

/* ---- the worker that has the reports: node phd ---- */

static void send_part(
	struct actor *a, const struct report *r, uint32_t number, uint32_t pair, unsigned part)
{
	struct scene *x = a->x;
	const enum fate fate = create(a, number, part, r);

	if (fate == LOST)
		return;
	pthread_mutex_lock(&x->way);
	if (x->n < WAITING)
		x->waiting[x->n++] = (struct answer){
			.of = *r, .pair = pair, .part = part, .stored = fate == STORED};
	pthread_mutex_unlock(&x->way);
}

static void *report_on(void *arg)
{
	struct actor *a = arg;
	struct scene *x = a->x;

	while (turn(a)) {
		const struct report r = say(a);
		uint32_t number, pair, open = bp_phd_open_begin(r.parts);
		struct bp_phd_report_words w;

		if (!is_repeat(x, &r, &w, &number)) {
			pair = atomic_fetch_add(&x->pair, PARTS);
			number = note_new(x, &r, open, pair);
		} else {
			atomic_fetch_add(&x->repeats, 1);
			open &= bp_phd_last_open(w.last);
			pair = bp_phd_sent_number(w.sent);
			if (open == 0) {
				tell(x, &r);
				continue;
			}
			if (!bp_phd_sent_has_number(w.sent)) {
				pair = atomic_fetch_add(&x->pair, PARTS);
				bp_phd_report_words_resend(
					&x->s, &w, bp_phd_sent_pack(pair, r.bytes, NOW));
			}
		}
		for (unsigned i = 0; i < r.parts; i++)
			if ((open >> i & 1) != 0)
				send_part(a, &r, number, pair, i);
	}
	return NULL;
}

/* ---- the worker that has the answers: node cse ---- */

static bool next_answer(struct actor *a, struct answer *out)
{
	struct scene *x = a->x;
	bool any;
	unsigned i;

	pthread_mutex_lock(&x->way);
	any = x->n != 0;
	if (any) {
		i = draw(a, x->n);
		*out = x->waiting[i];
		x->waiting[i] = x->waiting[--x->n];
	}
	pthread_mutex_unlock(&x->way);
	return any;
}

static void take(struct scene *x, const struct answer *one)
{
	const uint32_t bit = 1u << one->part;
	struct bp_phd_report_words w;

	do {
		w = bp_phd_report_words_last(&x->s);
		if (bp_phd_last_invoke_id(w.last) != one->of.invoke_id ||
			!bp_phd_sent_has_number(w.sent) ||
			bp_phd_sent_number(w.sent) != one->pair ||
			(bp_phd_last_open(w.last) & bit) == 0)
			return;
		if (!one->stored) {
			bp_phd_report_words_resend(&x->s, &w, bp_phd_sent_after_error(w.sent));
			atomic_fetch_add(&x->errors, 1);
			return;
		}
	} while (!bp_phd_report_words_close(&x->s, &w, bp_phd_last_open(w.last) & ~bit));
	atomic_fetch_add(&x->closed, 1);
	if ((bp_phd_last_open(w.last) & ~bit) == 0)
		tell(x, &one->of);
}

static void *answer_on(void *arg)
{
	struct actor *a = arg;
	struct answer one;

	while (turn(a)) {
		while (next_answer(a, &one))
			take(a->x, &one);
	}
	return NULL;
}

/* ---- the slow path ---- */

static bool is_last(struct scene *x, uint32_t number)
{
	return atomic_load(&x->s.reports) == number + 1;
}

static void close_slow(struct scene *x, const struct report *r, uint32_t number, unsigned part)
{
	struct bp_phd_report_words w;

	do {
		w = bp_phd_report_words_read(&x->s);
		if (!is_last(x, number) || bp_phd_last_invoke_id(w.last) != r->invoke_id)
			return;
	} while (!bp_phd_report_words_close(
		&x->s, &w, bp_phd_open_close(bp_phd_last_open(w.last), r->parts, part)));
}

static void forget_number(struct scene *x, uint32_t number)
{
	const struct bp_phd_report_words w = bp_phd_report_words_read(&x->s);

	if (is_last(x, number))
		bp_phd_report_words_resend(&x->s, &w, bp_phd_sent_after_error(w.sent));
}

static void *slow_on(void *arg)
{
	struct actor *a = arg;
	struct scene *x = a->x;

	while (turn(a)) {
		const struct report r = say(a);
		uint32_t number, open = bp_phd_open_begin(r.parts);
		struct bp_phd_report_words w;

		if (!is_repeat(x, &r, &w, &number)) {
			number = note_new(x, &r, open, BP_PHD_SENT_NONE);
		} else {
			open &= bp_phd_last_open(w.last);
			if (open == 0) {
				tell(x, &r);
				continue;
			}
			bp_phd_report_words_resend(
				&x->s, &w, bp_phd_sent_pack(BP_PHD_SENT_NONE, r.bytes, NOW));
		}
		atomic_fetch_add(&x->slow, 1);
		for (unsigned i = 0; i < r.parts; i++) {
			enum fate fate;

			if ((open >> i & 1) == 0)
				continue;
			fate = create(a, number, i, &r);
			if (fate == STORED)
				close_slow(x, &r, number, i);
			else if (fate == REFUSED)
				forget_number(x, number);
		}
	}
	return NULL;
}

/* How often the cases occurred that a run is for: not all in each one on a busy machine. */
struct occurred {
	uint64_t repeats, closed, errors, slow;
};

static void run(bool constant, struct occurred *o)
{
	static void *(*const role[])(void *) = {report_on, answer_on, slow_on};
	const size_t size = (sizeof(struct scene) + 63) & ~(size_t)63;
	struct scene *x = aligned_alloc(64, size);
	struct actor actor[ACTORS];

	assert_non_null(x);
	memset(x, 0, size);
	x->constant = constant;
	atomic_store(&x->pair, bp_phd_pair(20000, 0));
	atomic_store(&x->told[0], 1);
	pthread_mutex_init(&x->device, NULL);
	pthread_mutex_init(&x->way, NULL);
	pthread_mutex_init(&x->new_report, NULL);
	for (unsigned i = 0; i < ACTORS; i++) {
		actor[i] =
			(struct actor){.x = x, .index = i, .seed = 0x9e3779b97f4a7c15ull * (i + 1)};
		assert_int_equal(pthread_create(&actor[i].thread, NULL, role[i], &actor[i]), 0);
	}
	for (unsigned i = 0; i < ACTORS; i++)
		pthread_join(actor[i].thread, NULL);
	assert_int_equal(atomic_load(&x->untrue), 0);
	assert_int_equal(atomic_load(&x->two_of_a_name), 0);
	assert_true(atomic_load(&x->s.reports) < NAMES);
	o->repeats += atomic_load(&x->repeats);
	o->closed += atomic_load(&x->closed);
	o->errors += atomic_load(&x->errors);
	o->slow += atomic_load(&x->slow);
	pthread_mutex_destroy(&x->device);
	pthread_mutex_destroy(&x->way);
	pthread_mutex_destroy(&x->new_report);
	free(x);
}

static void run_all(bool constant)
{
	struct occurred o = {0};

	for (unsigned n = 0; n == 0 || !o.repeats || !o.closed || !o.errors || !o.slow; n++) {
		assert_true(n < 20);
		run(constant, &o);
	}
}

static void numbered_reports(void **state)
{
	(void)state;
	run_all(false);
}

static void reports_with_equal_numbers(void **state)
{
	(void)state;
	run_all(true);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(numbered_reports),
		cmocka_unit_test(reports_with_equal_numbers),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
