/* SPDX-License-Identifier: BSD-3-Clause */
#include "controlplane/health/slow.h"

#include <stdlib.h>
#include <string.h>

#include "controlplane/health/slow_internal.h"
#include "services/health/last_report.h"

/* ---- start and end ---- */

struct bp_slow *bp_slow_new(struct bp_phd_tables *tables, struct bp_cse_client *cse,
	uint32_t pending, const struct bp_slow_ops *ops, void *arg)
{
	struct bp_slow *s = calloc(1, sizeof(*s));

	if (!s)
		return NULL;
	s->t = tables;
	s->cse = cse;
	s->ops = *ops;
	s->arg = arg;
	s->n = pending;
	TAILQ_INIT(&s->waiting);
	for (s->mask = 1; s->mask < pending; s->mask = s->mask * 2 + 1)
		;
	s->pending = calloc(pending, sizeof(*s->pending));
	s->part = calloc((size_t)pending * BP_SLOW_PENDING_MAX, sizeof(*s->part));
	s->bucket = calloc((size_t)s->mask + 1, sizeof(*s->bucket));
	if (!s->pending || !s->part || !s->bucket) {
		bp_slow_free(s);
		return NULL;
	}
	memset(s->bucket, 0xff, ((size_t)s->mask + 1) * sizeof(*s->bucket));
	for (uint32_t i = 0; i < pending; i++)
		s->pending[i].next = i + 1 < pending ? i + 1 : BP_SLOW_NONE;
	s->watch = (struct bp_cse_watch){.room = bp_slow_on_capacity, .arg = s};
	bp_cse_watch_capacity(cse, &s->watch);
	return s;
}

void bp_slow_free(struct bp_slow *s)
{
	if (!s)
		return;
	for (uint32_t i = 0; s->pending && i < s->n; i++)
		free(s->pending[i].apdu);
	free(s->pending);
	free(s->part);
	free(s->bucket);
	free(s);
}

void bp_slow_count(const struct bp_slow *s, struct bp_slow_counts *out)
{
	*out = s->counts;
}

/* ---- identification of a report ---- */

/* The session's record of the current report. */
struct known {
	struct bp_phd_report_words words;
	bool repeat;
	uint16_t hash;   /* bp_phd_report_hash() */
	uint32_t open;   /* only for a repeat */
	uint32_t report; /* only for a repeat: its number in the session; negative if it is from an
			    earlier session */
};

static struct known find_session(const struct bp_slow *s, const struct bp_phd_session *p,
	const uint8_t *apdu, size_t len, uint64_t mono_ns)
{
	const struct bp_phd_conversion *c = &s->conversion;
	struct known k = {.words = bp_phd_report_words_read(p),
		.hash = bp_phd_report_hash(bp_phd_report_key, apdu, len)};

	k.open = bp_phd_last_open(k.words.last);
	k.repeat = bp_phd_is_repeat(k.words.last, k.words.sent, c->invoke_id, c->report_no, k.hash,
			   mono_ns) &&
		   bp_phd_open_valid(k.open, c->total) &&
		   bp_phd_report_words_number(p, &k.words, &k.report);
	return k;
}

/*
 * A new report becomes the session's last one. For an open repeat the time starts again: until the
 * report is stored, the device repeats this one, however long that takes.
 */
static void note(
	const struct bp_slow *s, struct bp_phd_session *p, struct known *k, uint64_t mono_ns)
{
	const struct bp_phd_conversion *c = &s->conversion;
	const uint32_t number = c->total > BP_PHD_OPEN_PARTS ? BP_PHD_SENT_MANY : BP_PHD_SENT_NONE;
	const uint64_t sent = bp_phd_sent_pack(number, k->hash, mono_ns);
	const uint8_t unanswered = c->confirmed ? BP_PHD_UNANSWERED : BP_PHD_ANSWERED;

	if (k->repeat) {
		p->unanswered = unanswered;
		bp_phd_report_words_resend(p, &k->words, sent);
		return;
	}
	k->open = bp_phd_open_begin(c->total);
	k->report = bp_phd_report_words_begin(p);
	p->origin = (struct bp_phd_origin){0};
	p->unanswered = unanswered;
	bp_phd_report_words_end(p, bp_phd_last_pack(c->invoke_id, c->report_no, k->open), sent);
}

/* Returns the origin in the names of the instances of this report, which is recorded. */
static struct bp_phd_origin name_of(const struct bp_phd_session *p, uint16_t life, uint32_t report)
{
	if (p->origin.associated_s != 0)
		return p->origin;
	return (struct bp_phd_origin){
		.associated_s = p->associated_s, .report = report, .life = life};
}

/* ---- processing of a report ---- */

static enum bp_phd_taken full(struct bp_slow *s)
{
	s->counts.full++;
	return BP_PHD_TAKEN_FULL;
}

static enum bp_phd_taken convert(struct bp_slow *s, uint32_t slot, uint64_t word,
	const uint8_t *apdu, size_t len, uint64_t mono_ns)
{
	struct bp_phd_session *session = &s->t->sessions[slot];
	const struct bp_phd_conversion *c = &s->conversion;
	const bool stored = s->t->control->plan.confirm == BP_PHD_CONFIRM_STORED;
	const enum bp_phd_taken taken =
		c->confirmed && !stored ? BP_PHD_TAKEN_ANSWER : BP_PHD_TAKEN;
	struct known k = find_session(s, session, apdu, len, mono_ns);
	struct bp_slow_pending *p;

	s->counts.repeated += k.repeat;
	if (k.repeat && k.open == 0)
		return BP_PHD_TAKEN_ANSWER; /* all parts are stored: the answer was lost */
	if (k.repeat && bp_slow_is_pending(s, slot, bp_phd_word_life(word), k.report))
		return taken; /* its answer is pending */
	if (s->free == BP_SLOW_NONE || !bp_cse_has_capacity(s->cse))
		return full(s);
	note(s, session, &k, mono_ns);
	p = bp_slow_take(s, slot);
	p->life = bp_phd_word_life(word);
	p->invoke_id = c->invoke_id;
	p->type = c->type;
	p->parts = c->total;
	p->open = k.open;
	p->report = k.report;
	p->name = name_of(session, p->life, k.report);
	p->confirmed = c->confirmed && stored;
	s->counts.reports++;
	s->counts.resumed += k.repeat;
	return bp_slow_begin(s, p, apdu, len) ? taken : full(s);
}

/* Checks all parts: no part of a report is sent unless all of them can be sent. */
static enum bp_phd_verdict plan_all(
	struct bp_slow *s, const struct bp_phd_layout *l, const uint8_t *apdu, size_t len)
{
	const struct bp_phd_settings *plan = &s->t->control->plan;
	enum bp_phd_verdict v;
	unsigned first = 0;

	do {
		v = bp_phd_convert_plan_from(l, plan, apdu, len, first, &s->conversion);
		first += s->conversion.parts;
	} while (v == BP_PHD_CONVERT && first < s->conversion.total);
	return v;
}

static void refuse(struct bp_slow *s, uint32_t slot, enum bp_phd_verdict why)
{
	s->counts.unusable++;
	bp_phd_session_refuse(&s->t->sessions[slot], (uint8_t)why);
}

enum bp_phd_taken bp_slow_report(
	struct bp_slow *s, uint32_t slot, const uint8_t *apdu, size_t len, uint64_t mono_ns)
{
	const uint64_t word =
		atomic_load_explicit(&s->t->sessions[slot].word, memory_order_relaxed);
	const struct bp_phd_layout *l = bp_phd_layout_of(s->t, word);
	enum bp_phd_verdict verdict;

	if (!l) {
		s->counts.unusable++;
		return BP_PHD_TAKEN_BAD;
	}
	verdict = plan_all(s, l, apdu, len);
	switch (verdict) {
	case BP_PHD_CONVERT:
		s->counts.trailing += s->conversion.trailing;
		return convert(s, slot, word, apdu, len, mono_ns);
	case BP_PHD_EMPTY:
		s->counts.empty++;
		return BP_PHD_TAKEN_ANSWER;
	case BP_PHD_NO_HANDLE:
	case BP_PHD_BAD_HANDLE:
		refuse(s, slot, verdict);
		return BP_PHD_TAKEN_NO_OBJECT;
	case BP_PHD_SLOW:
		s->counts.too_large++;
		return BP_PHD_TAKEN_UNFIT;
	case BP_PHD_NOT_REPORT:
	case BP_PHD_BAD_APDU:
	case BP_PHD_BAD_LENGTH:
	case BP_PHD_BAD_MAP:
	default:
		refuse(s, slot, verdict);
		return BP_PHD_TAKEN_BAD;
	}
}
