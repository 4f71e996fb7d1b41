/* SPDX-License-Identifier: BSD-3-Clause */
#include "shm/events/event_ring.h"

#include "shm/words.h"

/* No ring gets that far: a number beyond is damage. */
#define NUMBER_MAX (UINT64_MAX / 4)
/* Records by which a writer can have overtaken a reader. */
#define AHEAD_MAX (1ull << 40)
#define TRIES 100

static uint64_t seq_of(const void *slots, size_t slot_size, uint64_t n, uint64_t number)
{
	const _Atomic uint64_t *seq =
		(const void *)((const uint8_t *)slots + number % n * slot_size);

	return atomic_load_explicit(seq, memory_order_acquire);
}

/* The number after the newest record; an incomplete one of a writer that died counts. A number that
 * cannot belong to its slot is damage, and must not set the position. */
static uint64_t end_of(const void *slots, size_t slot_size, uint64_t n)
{
	uint64_t newest = 0;

	for (uint64_t i = 0; i < n; i++) {
		const uint64_t seq = seq_of(slots, slot_size, n, i), end = seq / 2 + (seq & 1);

		if (end != 0 && end <= NUMBER_MAX && (end - 1) % n == i && end > newest)
			newest = end;
	}
	return newest;
}

/* ---- writer ---- */

void bp_event_ring_open(struct bp_event_ring *r)
{
	if (r->size == 0)
		return;
	r->next = end_of(r->slot, sizeof(*r->slot), r->size);
	r->at = (uint32_t)(r->next % r->size);
}

/* Whole words, and zeros after the last text: what follows it in *e may never have been written. */
static void store(struct bp_event *to, const struct bp_event *e, size_t len)
{
	const size_t whole = len & ~(size_t)3;
	uint32_t last = 0;

	bp_words_store(to, e, whole);
	if (whole == len)
		return;
	memcpy(&last, (const char *)e + whole, len - whole);
	bp_words_store((char *)to + whole, &last, sizeof(last));
}

void bp_event_write(struct bp_event_ring *r, const struct bp_event *e)
{
	struct bp_event_slot *s;
	size_t len = offsetof(struct bp_event, text);

	if (r->size == 0)
		return;
	for (unsigned i = 0; i < BP_EVENT_TEXTS; i++)
		len += e->text_len[i];
	if (len > sizeof(*e))
		len = sizeof(*e);
	s = &r->slot[r->at];
	atomic_store_explicit(&s->seq, 2 * r->next + 1, memory_order_relaxed);
	/* the odd number must be visible before any byte of the new record */
	atomic_thread_fence(memory_order_release);
	store(&s->is, e, len);
	r->next++;
	r->at = r->at + 1 < r->size ? r->at + 1 : 0;
	atomic_store_explicit(&s->seq, 2 * r->next, memory_order_release);
}

/* ---- readers ---- */

void bp_event_cursor_open(struct bp_event_cursor *c, const void *slots, size_t slot_size,
	uint64_t n, uint64_t backlog)
{
	const uint64_t end = n != 0 ? end_of(slots, slot_size, n) : 0;

	if (backlog > n)
		backlog = n;
	*c = (struct bp_event_cursor){.slots = slots,
		.slot_size = slot_size,
		.n = n,
		.next = end > backlog ? end - backlog : 0,
		.opened = end};
}

static uint64_t seq_at(const struct bp_event_cursor *c, uint64_t number)
{
	return seq_of(c->slots, c->slot_size, c->n, number);
}

/* The record is not there yet; or it never will be, because its writer died, or the ring is
 * another one. */
static enum bp_event_got not_yet(struct bp_event_cursor *c, uint64_t *lost)
{
	if (c->n > 1 && seq_at(c, c->next + 1) == 2 * (c->next + 2)) {
		*lost = 1;
		c->next++;
		return BP_EVENT_GOT_LOST;
	}
	if (c->next == 0 || seq_at(c, c->next - 1) >= 2 * (c->next - 1) + 1)
		return BP_EVENT_GOT_NONE;
	bp_event_cursor_open(c, c->slots, c->slot_size, c->n, c->n);
	return BP_EVENT_GOT_RESET;
}

/* The slot has a later record: all before the oldest that can still be there are lost. */
static enum bp_event_got overtaken(struct bp_event_cursor *c, uint64_t seq, uint64_t *lost)
{
	const uint64_t later = seq / 2 + (seq & 1) - 1, oldest = later - c->n + 1;

	if (later % c->n != c->next % c->n || later - c->next > AHEAD_MAX) {
		bp_event_cursor_open(c, c->slots, c->slot_size, c->n, 0);
		return BP_EVENT_GOT_RESET;
	}
	*lost = oldest - c->next;
	c->next = oldest;
	return BP_EVENT_GOT_LOST;
}

enum bp_event_got bp_event_cursor_read(struct bp_event_cursor *c, void *out, uint64_t *lost)
{
	if (c->n == 0)
		return BP_EVENT_GOT_NONE;
	for (unsigned i = 0; i < TRIES; i++) {
		const uint64_t want = 2 * (c->next + 1), seq = seq_at(c, c->next);

		if (seq < want)
			return not_yet(c, lost);
		if (seq > want)
			return overtaken(c, seq, lost);
		bp_words_load(out,
			(const uint8_t *)c->slots + c->next % c->n * c->slot_size + sizeof(seq),
			c->slot_size - sizeof(seq));
		atomic_thread_fence(memory_order_acquire);
		if (seq_at(c, c->next) == seq) {
			c->next++;
			return BP_EVENT_GOT_RECORD;
		}
	}
	return BP_EVENT_GOT_NONE;
}
