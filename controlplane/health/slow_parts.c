/* SPDX-License-Identifier: BSD-3-Clause */
#include <stdlib.h>
#include <string.h>

#include "controlplane/health/slow_internal.h"
#include "services/health/last_report.h"
#include "services/health/token.h"

static struct bp_phd_session *session_of(const struct bp_slow *s, const struct bp_slow_pending *p)
{
	return &s->t->sessions[p->slot];
}

/* Returns whether the session that sent the report still exists. */
static bool is_alive(const struct bp_slow *s, const struct bp_slow_pending *p)
{
	const uint64_t word = atomic_load_explicit(&session_of(s, p)->word, memory_order_relaxed);

	return bp_phd_word_life(word) == p->life && bp_phd_word_state(word) != BP_PHD_FREE;
}

/* Returns whether the session's record still describes this report. */
static bool is_last(const struct bp_slow *s, const struct bp_slow_pending *p)
{
	return is_alive(s, p) && atomic_load_explicit(&session_of(s, p)->reports,
					 memory_order_relaxed) == p->report + 1;
}

static void worse(struct bp_slow_pending *p, enum bp_m2m_outcome o)
{
	if (o > p->worst)
		p->worst = (uint8_t)o;
}

/* ---- result ---- */

/* Returns whether the answer to the device is final; otherwise it asks for a repetition. */
static bool is_settled(enum bp_m2m_outcome o)
{
	return o != BP_M2M_NO_TARGET && o != BP_M2M_BUSY;
}

static void finish(struct bp_slow *s, struct bp_slow_pending *p)
{
	const struct bp_slow_pending was = *p;
	const bool alive = is_alive(s, p), stored = was.worst == BP_M2M_STORED;
	const bool last = is_last(s, p);
	uint8_t apdu[BP_PHD_ANSWER_MAX];

	if (was.confirmed && !was.no_reply && alive && !stored)
		atomic_fetch_add_explicit(&session_of(s, p)->errors, 1, memory_order_relaxed);
	bp_slow_give_back(s, p);
	if (!was.confirmed) {
		s->counts.lost += was.no_reply || !stored; /* no device repeats it */
		return;
	}
	if (was.no_reply) /* it may or may not be stored: the device repeats it */
		return;
	s->ops.answer(s->arg, was.slot, was.life, apdu,
		bp_phd_answer_write(apdu, (enum bp_m2m_outcome)was.worst, was.invoke_id, was.type));
	if (last && is_settled((enum bp_m2m_outcome)was.worst))
		session_of(s, &was)->unanswered = BP_PHD_ANSWER_WAITS;
}

/* No further part is sent: the device's repetition continues with the rest. */
static void stop(struct bp_slow_pending *p)
{
	if (p->at == p->parts)
		return;
	worse(p, BP_M2M_BUSY);
	p->at = p->parts;
}

static bool is_over(const struct bp_slow_pending *p)
{
	return p->busy == 0 && p->at == p->parts;
}

static void count_outcome(struct bp_slow *s, enum bp_m2m_outcome o)
{
	switch (o) {
	case BP_M2M_STORED:
		s->counts.stored++;
		break;
	case BP_M2M_DENIED:
		s->counts.denied++;
		break;
	case BP_M2M_NO_TARGET:
		s->counts.no_target++;
		break;
	case BP_M2M_BUSY:
		s->counts.busy++;
		break;
	default:
		s->counts.refused++;
	}
}

/* Returns the open word with all stored parts closed that it can represent: closing a part may move
 * the first open part, so that more parts can be represented. */
static uint32_t close_stored(const struct bp_slow_pending *p, uint32_t open)
{
	for (unsigned i = 0; i < bp_phd_open_end(open, p->parts); i++) {
		if ((p->stored[i / 64] >> i % 64 & 1) != 0)
			open = bp_phd_open_close(open, p->parts, i);
	}
	return open;
}

/* The part is stored: it is no longer open. */
static void close_part(struct bp_slow *s, struct bp_slow_pending *p, unsigned part)
{
	struct bp_phd_session *session = session_of(s, p);
	struct bp_phd_report_words words;

	p->stored[part / 64] |= 1ull << part % 64;
	p->open = close_stored(p, p->open);
	if (is_alive(s, p))
		atomic_fetch_add_explicit(&session->stored, 1, memory_order_relaxed);
	do {
		words = bp_phd_report_words_read(session);
		if (!is_last(s, p) || bp_phd_last_invoke_id(words.last) != p->invoke_id)
			return;
	} while (!bp_phd_report_words_close(
		session, &words, close_stored(p, bp_phd_last_open(words.last))));
}

/* A repetition with the same message id would return the same error. */
static void forget_number(struct bp_slow *s, const struct bp_slow_pending *p)
{
	_Atomic uint64_t *sent = &session_of(s, p)->sent;
	uint64_t was = atomic_load_explicit(sent, memory_order_relaxed);

	if (is_last(s, p))
		atomic_compare_exchange_strong_explicit(sent, &was, bp_phd_sent_after_error(was),
			memory_order_relaxed, memory_order_relaxed);
}

static void answered(struct bp_slow *s, struct bp_slow_pending *p, unsigned part,
	const struct bp_m2m_reply *reply)
{
	const enum bp_m2m_outcome o = bp_m2m_outcome(reply, s->t->control->plan.named);

	count_outcome(s, o);
	worse(p, o);
	if (o == BP_M2M_STORED)
		close_part(s, p, part);
	else
		forget_number(s, p);
	if (o == BP_M2M_NO_TARGET && is_alive(s, p))
		s->ops.no_target(s->arg, p->slot, p->life);
}

/* ---- sending ---- */

static void ended(void *arg, const struct bp_cse_reply *reply);

/*
 * Returns an id that distinguishes this part's request from all others, also in the log of the CSE.
 * It is never decoded: the client uses its own tokens, so parts beyond the range of a token may
 * differ in the check value.
 */
static uint64_t request_id(const struct bp_slow *s, const struct bp_slow_pending *p, unsigned part)
{
	const struct bp_phd_token t = {.slot = p->slot,
		.invoke_id = p->invoke_id,
		.type = (uint8_t)(p->type - BP_PHD_SCAN_FIXED),
		.part = (uint8_t)(part % BP_PHD_TOKEN_PARTS),
		.only = p->parts == 1,
		.confirmed = p->confirmed};

	return bp_phd_token_pack(&t, p->life, s->t->hash_key) ^ part / BP_PHD_TOKEN_PARTS;
}

/* Plans a range of parts that includes p->at, into s->conversion. False: the session has no layout
 * any more. */
static bool plan_parts(struct bp_slow *s, const struct bp_slow_pending *p,
	const struct bp_phd_layout *l, const uint8_t *apdu, size_t len)
{
	return bp_phd_convert_plan_from(l, &s->t->control->plan, apdu, len, p->at,
		       &s->conversion) == BP_PHD_CONVERT &&
	       s->conversion.total == p->parts;
}

/* Sends part p->at, which is planned. */
static enum bp_cse_sent send_part(struct bp_slow *s, struct bp_slow_pending *p,
	const struct bp_phd_layout *l, const uint8_t *apdu)
{
	const struct bp_phd_session *session = session_of(s, p);
	const struct bp_phd_identity id = {.system_id = session->system_id,
		.associated_s = p->name.associated_s,
		.report = p->name.report,
		.life = p->name.life,
		.token = request_id(s, p, p->at)};
	const unsigned place = (unsigned)__builtin_ctz(~p->busy);
	const uint32_t i = (uint32_t)(p - s->pending);
	struct bp_slow_part *part = &s->part[(size_t)i * BP_SLOW_PENDING_MAX + place];
	const size_t len = bp_phd_convert_write(l, &s->t->control->plan, apdu, &s->conversion,
		p->at - s->conversion.first_part, &id, s->message, sizeof(s->message));
	enum bp_cse_sent sent = BP_CSE_TOO_LONG;

	*part = (struct bp_slow_part){.s = s, .pending = i, .part = p->at};
	if (len != 0)
		sent = bp_cse_send_message(s->cse, s->message, len, ended, part);
	if (sent == BP_CSE_TAKEN) {
		p->busy |= 1u << place;
		s->counts.instances++;
	}
	return sent;
}

/*
 * Returns whether part p->at must wait for other parts of its report: all slots are in use, or the
 * record cannot represent it as stored and it has no name by which the CSE would recognize a
 * duplicate.
 */
static bool must_wait(const struct bp_slow *s, const struct bp_slow_pending *p)
{
	return p->busy == UINT32_MAX ||
	       (!s->t->control->plan.named && p->at >= bp_phd_open_end(p->open, p->parts));
}

/* Sends the parts from p->at. False: the client has no capacity, and the function must be called
 * again. */
static bool send_more(struct bp_slow *s, struct bp_slow_pending *p, const uint8_t *apdu, size_t len)
{
	const struct bp_phd_layout *l = bp_phd_layout_of(
		s->t, atomic_load_explicit(&session_of(s, p)->word, memory_order_relaxed));
	unsigned planned = 0; /* end of the planned range */

	if (p->no_reply || !is_alive(s, p) || !l)
		stop(p);
	for (; p->at < p->parts; p->at++) {
		if (!bp_phd_open_has(p->open, p->parts, p->at))
			continue;
		if (must_wait(s, p)) {
			if (p->busy == 0) /* after an error the repetition continues from here */
				stop(p);
			return true;
		}
		if (p->at >= planned) {
			if (!plan_parts(s, p, l, apdu, len)) {
				stop(p);
				return true;
			}
			planned = p->at + s->conversion.parts;
		}
		switch (send_part(s, p, l, apdu)) {
		case BP_CSE_TAKEN:
			break;
		case BP_CSE_QUEUE_FULL:
			return false;
		case BP_CSE_TOO_LONG:
			s->counts.refused++;
			worse(p, BP_M2M_REFUSED);
			break;
		}
	}
	return true;
}

/* Called after send_more(): queues the report for capacity, or removes it from the queue. */
static void queue(struct bp_slow *s, struct bp_slow_pending *p, bool waits)
{
	if (waits == p->waits)
		return;
	p->waits = waits;
	if (waits)
		TAILQ_INSERT_TAIL(&s->waiting, p, waiting);
	else
		TAILQ_REMOVE(&s->waiting, p, waiting);
}

static void ended(void *arg, const struct bp_cse_reply *reply)
{
	const struct bp_slow_part *part = arg;
	struct bp_slow *s = part->s;
	struct bp_slow_pending *p = &s->pending[part->pending];

	p->busy &= ~(1u << ((size_t)(part - s->part) % BP_SLOW_PENDING_MAX));
	if (reply->end == BP_CSE_ANSWERED) {
		answered(s, p, part->part, &reply->m2m);
	} else {
		s->counts.no_reply++;
		p->no_reply = true;
	}
	if (p->at < p->parts)
		queue(s, p, !send_more(s, p, p->apdu, p->len));
	if (is_over(p))
		finish(s, p);
}

bool bp_slow_begin(struct bp_slow *s, struct bp_slow_pending *p, const uint8_t *apdu, size_t len)
{
	const bool waits = !send_more(s, p, apdu, len);

	if (p->at < p->parts) {
		if (p->busy != 0 && bp_slow_keep(s, p, apdu, len)) {
			queue(s, p, waits);
		} else {
			stop(p);
		}
	}
	if (p->busy != 0)
		return true;
	bp_slow_give_back(s, p);
	return false;
}

void bp_slow_on_capacity(void *arg)
{
	struct bp_slow *s = arg;
	struct bp_slow_pending *p;

	while ((p = TAILQ_FIRST(&s->waiting)) != NULL) {
		if (!send_more(s, p, p->apdu, p->len))
			return;
		queue(s, p, false);
		if (is_over(p))
			finish(s, p);
	}
}

/* ---- pending reports ---- */

/* Bytes of reports that wait to be sent, over all devices. */
#define KEPT_MAX (64u << 20)

struct bp_slow_pending *bp_slow_take(struct bp_slow *s, uint32_t slot)
{
	uint32_t *b = bp_slow_bucket(s, slot), i = s->free;
	struct bp_slow_pending *p = &s->pending[i];

	s->free = p->next;
	*p = (struct bp_slow_pending){.slot = slot, .next = *b};
	*b = i;
	s->counts.pending++;
	return p;
}

void bp_slow_give_back(struct bp_slow *s, struct bp_slow_pending *p)
{
	const uint32_t i = (uint32_t)(p - s->pending), slot = p->slot;
	uint32_t *at = bp_slow_bucket(s, slot);

	while (*at != i)
		at = &s->pending[*at].next;
	*at = p->next;
	if (p->waits)
		TAILQ_REMOVE(&s->waiting, p, waiting);
	if (p->apdu)
		s->kept -= p->len;
	free(p->apdu);
	*p = (struct bp_slow_pending){.next = s->free};
	s->free = i;
	s->counts.pending--;
	if (s->ops.idle && !bp_slow_busy(s, slot))
		s->ops.idle(s->arg, slot);
}

bool bp_slow_busy(const struct bp_slow *s, uint32_t slot)
{
	uint32_t i = *bp_slow_bucket(s, slot);

	while (i != BP_SLOW_NONE && s->pending[i].slot != slot)
		i = s->pending[i].next;
	return i != BP_SLOW_NONE;
}

bool bp_slow_is_pending(const struct bp_slow *s, uint32_t slot, uint16_t life, uint32_t report)
{
	for (uint32_t i = *bp_slow_bucket(s, slot); i != BP_SLOW_NONE; i = s->pending[i].next) {
		const struct bp_slow_pending *p = &s->pending[i];

		if (p->slot == slot && p->life == life && p->report == report)
			return true;
	}
	return false;
}

bool bp_slow_keep(struct bp_slow *s, struct bp_slow_pending *p, const uint8_t *apdu, size_t len)
{
	if (p->apdu)
		return true;
	if (len == 0 || len > KEPT_MAX - s->kept)
		return false;
	p->apdu = malloc(len);
	if (!p->apdu)
		return false;
	memcpy(p->apdu, apdu, len);
	p->len = len;
	s->kept += len;
	return true;
}
