/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_SERVICES_HEALTH_WORDS_H
#define BP_SERVICES_HEALTH_WORDS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "services/health/repeat.h"
#include "shm/cas128.h"
#include "shm/health/phd.h"

/*
 * How workers and the slow path change what a session says of its last report, at the same time and
 * without waiting for each other. `sent` is 0 from before a new report has its number, by which
 * `reports` grows, until the rest is there. So who finds `reports` as it was, and no 0, has words
 * of one report.
 */
#ifndef BP_PHD_WORDS_STEP
#define BP_PHD_WORDS_STEP() /* a test lets the others go on here */
#endif

struct bp_phd_words {
	uint64_t last, sent;
	uint32_t reports; /* of bp_phd_words_read() alone */
};

/* For who judges a report. Of one report for certain only where bp_phd_words_number() says so. */
static inline struct bp_phd_words bp_phd_words_read(const struct bp_phd_session *s)
{
	struct bp_phd_words w;

	w.reports = atomic_load_explicit(&s->reports, memory_order_acquire);
	BP_PHD_WORDS_STEP();
	w.sent = atomic_load_explicit(&s->sent, memory_order_acquire);
	BP_PHD_WORDS_STEP();
	w.last = atomic_load_explicit(&s->last, memory_order_acquire);
	BP_PHD_WORDS_STEP();
	return w;
}

/* For who judges what the CSE says of one: the other way round, so that the `sent` of an earlier
 * report is not taken for that of `last`. */
static inline struct bp_phd_words bp_phd_words_last(const struct bp_phd_session *s)
{
	struct bp_phd_words w = {0};

	w.last = atomic_load_explicit(&s->last, memory_order_acquire);
	BP_PHD_WORDS_STEP();
	w.sent = atomic_load_explicit(&s->sent, memory_order_acquire);
	BP_PHD_WORDS_STEP();
	return w;
}

/* The number in the session of the report that the words are of. False: there is another report by
 * now, or on its way, and what was read is of no use. */
static inline bool bp_phd_words_number(
	const struct bp_phd_session *s, const struct bp_phd_words *w, uint32_t *number)
{
	*number = w->reports - 1;
	return w->sent != 0 &&
	       atomic_load_explicit(&s->reports, memory_order_relaxed) == w->reports;
}

/* A new report: its number in the session. From here on the session knows of none, until
 * bp_phd_words_end(). Who dies in between has sent nothing. */
static inline uint32_t bp_phd_words_begin(struct bp_phd_session *s)
{
	atomic_store_explicit(&s->sent, 0, memory_order_relaxed);
	BP_PHD_WORDS_STEP();
	/* also another's report may get its number now: none is given twice */
	return atomic_fetch_add_explicit(&s->reports, 1, memory_order_release);
}
static inline void bp_phd_words_end(struct bp_phd_session *s, uint64_t last, uint64_t sent)
{
	BP_PHD_WORDS_STEP();
	atomic_store_explicit(&s->last, last, memory_order_release);
	BP_PHD_WORDS_STEP();
	atomic_store_explicit(&s->sent, sent, memory_order_release);
}

/* Another `sent` for the report that the words were read of; nothing where there is another one. */
static inline void bp_phd_words_resend(
	struct bp_phd_session *s, const struct bp_phd_words *w, uint64_t sent)
{
	uint64_t was = w->sent;

	atomic_compare_exchange_strong_explicit(
		&s->sent, &was, sent, memory_order_relaxed, memory_order_relaxed);
}

/* Another open word for the report that the words were read of. False: they are not so any more.
 * Both are compared: a device whose numbers are always the same has the same `last` again. */
static inline bool bp_phd_words_close(
	struct bp_phd_session *s, const struct bp_phd_words *w, uint32_t open)
{
	return bp_cas128(&s->last, w->last, w->sent, bp_phd_last_with_open(w->last, open), w->sent);
}

#endif
