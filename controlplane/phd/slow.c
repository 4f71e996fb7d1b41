/* SPDX-License-Identifier: BSD-3-Clause */
#include "controlplane/phd/slow.h"

#include <stdlib.h>
#include <string.h>

#include "phd/convert.h"
#include "shm/hash.h"

#define NONE UINT32_MAX

/* A report on its way. */
struct pending {
	uint32_t slot;
	uint32_t next; /* of the same bucket, or the next free one */
	uint16_t life, invoke_id, type, report_no;
	uint8_t left;  /* requests without an end yet */
	uint8_t worst; /* enum bp_m2m_outcome of those that ended */
	bool confirmed, away;
};

/* A request of one: what is handed to the client of the CSE. */
struct part {
	struct bp_slow *s;
	uint32_t pending;
	uint8_t part;
};

struct bp_slow {
	struct bp_phd_tables *t;
	struct bp_cse_client *cse;
	struct bp_slow_ops ops;
	void *arg;
	struct bp_slow_counts counts;
	uint32_t n, free, mask;
	struct pending *pending; /* [n] */
	struct part *part;       /* [n * BP_PHD_TOKEN_PARTS] */
	uint32_t *bucket;        /* [mask + 1]: by slot */
	struct bp_phd_conversion conversion;
	uint8_t message[BP_CSE_MESSAGE_MAX];
};

static uint32_t *bucket_of(const struct bp_slow *s, uint32_t slot)
{
	return &s->bucket[slot * 0x9e3779b1u >> 7 & s->mask];
}

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
	for (s->mask = 1; s->mask < pending; s->mask = s->mask * 2 + 1)
		;
	s->pending = calloc(pending, sizeof(*s->pending));
	s->part = calloc((size_t)pending * BP_PHD_TOKEN_PARTS, sizeof(*s->part));
	s->bucket = calloc(s->mask + 1, sizeof(*s->bucket));
	if (!s->pending || !s->part || !s->bucket) {
		bp_slow_free(s);
		return NULL;
	}
	memset(s->bucket, 0xff, (s->mask + 1) * sizeof(*s->bucket));
	for (uint32_t i = 0; i < pending; i++)
		s->pending[i].next = i + 1 < pending ? i + 1 : NONE;
	return s;
}

void bp_slow_free(struct bp_slow *s)
{
	if (!s)
		return;
	free(s->pending);
	free(s->part);
	free(s->bucket);
	free(s);
}

void bp_slow_count(const struct bp_slow *s, struct bp_slow_counts *out)
{
	*out = s->counts;
}

/* ---- what is on its way ---- */

bool bp_slow_busy(const struct bp_slow *s, uint32_t slot)
{
	uint32_t i = *bucket_of(s, slot);

	while (i != NONE && s->pending[i].slot != slot)
		i = s->pending[i].next;
	return i != NONE;
}

/* Whether this very report of a session is on its way. */
static bool is_pending(
	const struct bp_slow *s, uint32_t slot, uint16_t life, const struct bp_phd_conversion *c)
{
	for (uint32_t i = *bucket_of(s, slot); i != NONE; i = s->pending[i].next) {
		const struct pending *p = &s->pending[i];

		if (p->slot == slot && p->life == life && p->invoke_id == c->invoke_id &&
			p->report_no == c->report_no)
			return true;
	}
	return false;
}

static struct pending *take(struct bp_slow *s, uint32_t slot)
{
	uint32_t *b = bucket_of(s, slot), i = s->free;
	struct pending *p = &s->pending[i];

	s->free = p->next;
	*p = (struct pending){.slot = slot, .next = *b};
	*b = i;
	s->counts.pending++;
	return p;
}

static void give_back(struct bp_slow *s, struct pending *p)
{
	const uint32_t i = (uint32_t)(p - s->pending);
	uint32_t *at = bucket_of(s, p->slot);

	while (*at != i)
		at = &s->pending[*at].next;
	*at = p->next;
	*p = (struct pending){.next = s->free};
	s->free = i;
	s->counts.pending--;
}

/* ---- which report it is ---- */

/* What bp_phd_session.last says of a report besides what is open. */
static uint64_t name_of(const struct bp_phd_conversion *c)
{
	return (uint64_t)c->invoke_id << 48 | (uint64_t)c->report_no << 32;
}

/* Sixteen bits of its octets, in the place of the UDP checksum that workers have. */
static uint16_t octets_of(const struct bp_slow *s, const uint8_t *apdu, size_t len)
{
	return (uint16_t)bp_hash_bytes(s->t->hash_key, apdu, len);
}

static uint64_t sent_word(uint16_t octets, uint64_t mono_ns)
{
	/* the number of its (port, MID) is all ones, as no worker's is: it went by this way */
	return 0xffffffffull << 32 | (uint64_t)octets << 16 | (uint16_t)(mono_ns / 4000000000u);
}

static bool is_repeat(const struct bp_phd_session *p, const struct bp_phd_conversion *c,
	uint16_t octets, uint64_t mono_ns)
{
	const uint64_t last = atomic_load_explicit(&p->last, memory_order_relaxed);
	const uint64_t sent = atomic_load_explicit(&p->sent, memory_order_relaxed);
	const uint16_t age = (uint16_t)((uint16_t)(mono_ns / 4000000000u) - (uint16_t)sent);

	return sent != 0 && last >> 32 == name_of(c) >> 32 && (uint16_t)(sent >> 16) == octets &&
	       age < BP_PHD_ID_LIFETIME_S / 4;
}

/* ---- how it ended ---- */

/* What the device is told. 0: nothing. */
static size_t write_answer(const struct pending *p, uint8_t out[64])
{
	if (p->away)
		return 0; /* it may be stored or not: the device asks again */
	switch ((enum bp_m2m_outcome)p->worst) {
	case BP_M2M_STORED:
		bp_phd_write_rors_event(out, p->invoke_id, 0, p->type);
		return BP_PHD_RORS_EVENT_LEN;
	case BP_M2M_DENIED:
		return bp_phd_write_roer(out, 64, p->invoke_id, BP_PHD_ACCESS_DENIED);
	case BP_M2M_NO_TARGET:
	case BP_M2M_BUSY:
		return bp_phd_write_rorj(out, 64, p->invoke_id, BP_PHD_RESOURCE_LIMITATION);
	case BP_M2M_REFUSED:
	default:
		return bp_phd_write_rorj(out, 64, p->invoke_id, BP_PHD_UNEXPECTED_ERROR);
	}
}

static void finish(struct bp_slow *s, struct pending *p)
{
	const struct pending was = *p;
	uint8_t apdu[64];
	size_t len;

	give_back(s, p);
	if (!was.confirmed) {
		/* nobody asks for it again */
		s->counts.lost += was.away || was.worst != BP_M2M_STORED;
		return;
	}
	len = write_answer(&was, apdu);
	if (len != 0)
		s->ops.answer(s->arg, was.slot, was.life, apdu, len);
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

/* The part is stored: it is open no more, if the session is still at that report. */
static void close_part(struct bp_slow *s, const struct pending *p, unsigned part)
{
	struct bp_phd_session *session = &s->t->sessions[p->slot];
	uint64_t last = atomic_load_explicit(&session->last, memory_order_relaxed);

	atomic_fetch_add_explicit(&session->stored, 1, memory_order_relaxed);
	while (last >> 48 == p->invoke_id && (uint16_t)(last >> 32) == p->report_no &&
		!atomic_compare_exchange_weak_explicit(&session->last, &last,
			last & ~(1ull << part), memory_order_relaxed, memory_order_relaxed))
		;
}

static void ended(void *arg, const struct bp_cse_reply *reply)
{
	const struct part *part = arg;
	struct bp_slow *s = part->s;
	struct pending *p = &s->pending[part->pending];
	const struct bp_phd_session *session = &s->t->sessions[p->slot];
	const uint64_t word = atomic_load_explicit(&session->word, memory_order_relaxed);
	const bool alive =
		bp_phd_word_life(word) == p->life && bp_phd_word_state(word) != BP_PHD_FREE;

	if (reply->end == BP_CSE_ANSWERED) {
		const enum bp_m2m_outcome o =
			bp_m2m_outcome(&reply->m2m, s->t->control->plan.named);

		count_outcome(s, o);
		if (o > p->worst)
			p->worst = (uint8_t)o;
		if (alive && o == BP_M2M_STORED)
			close_part(s, p, part->part);
		if (alive && o == BP_M2M_NO_TARGET)
			s->ops.no_target(s->arg, p->slot, p->life);
	} else {
		s->counts.away++;
		p->away = true;
	}
	if (--p->left == 0)
		finish(s, p);
}

/* ---- a report ---- */

/* What tells this part's request from all others, also in the CSE's log. */
static uint64_t token_of(const struct bp_slow *s, const struct pending *p, unsigned part)
{
	const struct bp_phd_token t = {.slot = p->slot,
		.invoke_id = p->invoke_id,
		.type = (uint8_t)(p->type - BP_PHD_SCAN_FIXED),
		.part = (uint8_t)part,
		.only = s->conversion.parts == 1,
		.confirmed = p->confirmed};

	return bp_phd_token_make(&t, p->life, s->t->hash_key);
}

/* Sends the parts that are open. How many. */
static unsigned send_parts(struct bp_slow *s, struct pending *p, const struct bp_phd_layout *l,
	const uint8_t *apdu, uint32_t open)
{
	const struct bp_phd_session *session = &s->t->sessions[p->slot];
	struct bp_phd_identity id = {.system_id = session->system_id,
		.associated_s = session->associated_s,
		.report = atomic_load_explicit(&session->reports, memory_order_relaxed) - 1,
		.life = p->life};
	struct part *first = &s->part[(size_t)(p - s->pending) * BP_PHD_TOKEN_PARTS];
	unsigned sent = 0;

	for (unsigned i = 0; i < s->conversion.parts; i++) {
		struct part *part = first + i;
		size_t len;

		if (!(open >> i & 1))
			continue;
		*part = (struct part){
			.s = s, .pending = (uint32_t)(p - s->pending), .part = (uint8_t)i};
		id.token = token_of(s, p, i);
		len = bp_phd_convert_write(l, &s->t->control->plan, apdu, &s->conversion, i, &id,
			s->message, sizeof(s->message));
		if (len == 0 ||
			bp_cse_send_message(s->cse, s->message, len, ended, part) != BP_CSE_TAKEN) {
			/* it stays open, so that the device's repeat brings it */
			p->worst = BP_M2M_BUSY;
			continue;
		}
		s->counts.instances++;
		sent++;
	}
	return sent;
}

/* A new one becomes the session's last; for a repeat nothing changes. The parts that are open. */
static uint32_t note(
	struct bp_slow *s, struct bp_phd_session *p, bool repeat, uint16_t octets, uint64_t mono_ns)
{
	const uint32_t parts = s->conversion.parts;
	const uint32_t all = parts == 32 ? UINT32_MAX : (1u << parts) - 1;

	if (repeat)
		return (uint32_t)atomic_load_explicit(&p->last, memory_order_relaxed) & all;
	atomic_store_explicit(&p->last, name_of(&s->conversion) | all, memory_order_relaxed);
	atomic_store_explicit(&p->sent, sent_word(octets, mono_ns), memory_order_relaxed);
	atomic_fetch_add_explicit(&p->reports, 1, memory_order_relaxed);
	return all;
}

static enum bp_phd_taken convert(struct bp_slow *s, uint32_t slot, uint64_t word,
	const struct bp_phd_layout *l, const uint8_t *apdu, size_t len, uint64_t mono_ns)
{
	struct bp_phd_session *session = &s->t->sessions[slot];
	const uint16_t octets = octets_of(s, apdu, len);
	const bool repeat = is_repeat(session, &s->conversion, octets, mono_ns);
	const bool stored = s->t->control->plan.confirm == BP_PHD_CONFIRM_STORED;
	struct pending *p;
	uint32_t open;

	s->counts.repeated += repeat;
	if (repeat && is_pending(s, slot, bp_phd_word_life(word), &s->conversion))
		return BP_PHD_TAKEN; /* its answer will come */
	if (repeat && (uint32_t)atomic_load_explicit(&session->last, memory_order_relaxed) == 0)
		return BP_PHD_TAKEN_ANSWER; /* and was lost, since all is stored */
	if (s->free == NONE || !bp_cse_has_room(s->cse)) {
		s->counts.full++;
		return BP_PHD_TAKEN_FULL;
	}
	open = note(s, session, repeat, octets, mono_ns);
	p = take(s, slot);
	p->life = bp_phd_word_life(word);
	p->invoke_id = s->conversion.invoke_id;
	p->report_no = s->conversion.report_no;
	p->type = s->conversion.type;
	p->confirmed = s->conversion.confirmed && stored;
	s->counts.reports++;
	s->counts.resumed += repeat;
	p->left = (uint8_t)send_parts(s, p, l, apdu, open);
	if (p->left == 0) {
		give_back(s, p);
		s->counts.full++;
		return BP_PHD_TAKEN_FULL;
	}
	return s->conversion.confirmed && !stored ? BP_PHD_TAKEN_ANSWER : BP_PHD_TAKEN;
}

enum bp_phd_taken bp_slow_report(
	struct bp_slow *s, uint32_t slot, const uint8_t *apdu, size_t len, uint64_t mono_ns)
{
	const uint64_t word =
		atomic_load_explicit(&s->t->sessions[slot].word, memory_order_relaxed);
	const struct bp_phd_layout *l = bp_phd_layout_of(s->t, word);

	if (!l) {
		s->counts.unusable++;
		return BP_PHD_TAKEN_BAD;
	}
	switch (bp_phd_convert_plan(l, &s->t->control->plan, apdu, len, &s->conversion)) {
	case BP_PHD_CONVERT:
		return convert(s, slot, word, l, apdu, len, mono_ns);
	case BP_PHD_EMPTY:
		s->counts.empty++;
		return BP_PHD_TAKEN_ANSWER;
	case BP_PHD_NO_HANDLE:
	case BP_PHD_BAD_HANDLE:
		s->counts.unusable++;
		return BP_PHD_TAKEN_NO_OBJECT;
	case BP_PHD_SLOW: /* more than a report's token can count, or than one message can carry */
	case BP_PHD_NOT_REPORT:
	case BP_PHD_BAD_APDU:
	case BP_PHD_BAD_LENGTH:
	case BP_PHD_BAD_MAP:
	default:
		s->counts.unusable++;
		return BP_PHD_TAKEN_BAD;
	}
}
