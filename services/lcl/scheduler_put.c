/* SPDX-License-Identifier: BSD-3-Clause */
#include "services/lcl/scheduler_parts.h"

/*
 * d / n is d times share_of_hops[n - 1], 2^63 / n rounded up, shifted by 63: exact as long as d
 * times the rounding error, less than n, is less than 2^63 (Granlund and Montgomery, "Division by
 * Invariant Integers using Multiplication", theorem 4.2). With 2 d it is the upper half of a
 * product.
 */
#define SHARE_SHIFT 63
#define PER1(n) ((1ull << SHARE_SHIFT) + (n)-1) / (n)
#define PER4(n) PER1(n), PER1((n) + 1), PER1((n) + 2), PER1((n) + 3)
#define PER16(n) PER4(n), PER4((n) + 4), PER4((n) + 8), PER4((n) + 12)
static const uint64_t share_of_hops[BP_LCL_HOPS_MAX] = {PER16(1), PER16(17), PER16(33), PER16(49)};

/* The share of one hop in d >= 0, ns, with n = 1..BP_LCL_HOPS_MAX nodes ahead. */
static inline uint64_t share(int32_t d, uint8_t n)
{
	const uint64_t twice = 2 * (uint64_t)(uint32_t)d;

	return (uint64_t)((__extension__(unsigned __int128) twice *
				  share_of_hops[(n - 1u) % BP_LCL_HOPS_MAX]) >>
			  (SHARE_SHIFT + 1));
}

/* As above, for any d: a negative d is a delay. */
static inline int32_t meant(int32_t d, uint8_t n)
{
	int64_t late;

	if (__builtin_expect(d >= 0, 1))
		return (int32_t)share(d, n);
	late = (int64_t)share((int32_t)(0u - (uint32_t)d), n);
	return (int32_t)-late;
}

/* The planned time of a frame relative to `after_ns`, in ns since the origin: d/n after its
 * arrival; d is not negative. Wraps if it is earlier. */
static inline uint64_t meant_for(
	const struct bp_lcl_scheduler *s, const struct bp_lcl_arrival *a, uint64_t after_ns)
{
	return a->in_ns - s->origin_ns - after_ns + share(a->d, a->n);
}

/* Whether the sums below do not overflow, and d/n is not in the past. */
static inline bool in_range(const struct bp_lcl_arrival *a)
{
	return (uint32_t)a->d <= BP_LCL_DELAY_MAX_NS && a->bytes <= BP_LCL_BYTES_MAX;
}

/* In slots, of less than K tau. */
static inline uint32_t slots_of(const struct bp_lcl_scheduler *s, uint64_t ns)
{
	return (uint32_t)((unsigned __int128)ns * s->per_tau >> 64);
}

/* Whether a slot takes a frame with this link time; the current slot takes frames that can begin
 * in it after all earlier frames. */
static inline bool has_room(const struct bp_lcl_scheduler *s, const struct queue *q, uint64_t wire)
{
	if (q->closed || q->tail - q->head == s->places)
		return false;
	if (q->slot != s->slot)
		return q->held + wire <= s->tau || q->held == 0;
	return later(s->ideal_free, ticks_of(s, s->last_ns)) < q->begin + s->tau;
}

static inline void fill(
	struct entry *e, const struct bp_lcl_arrival *a, int32_t meant_ns, enum bp_lcl_put verdict)
{
	e->frame = a->frame;
	e->in_ns = a->in_ns;
	e->d = a->d;
	e->meant_ns = meant_ns;
	e->bytes = (uint16_t)a->bytes;
	e->n = a->n;
	e->put = (uint8_t)verdict;
}

static inline void append(struct bp_lcl_scheduler *s, struct queue *q, uint64_t wire,
	const struct bp_lcl_arrival *a, enum bp_lcl_put verdict)
{
	fill(&q->entry[q->tail & s->mask], a, meant(a->d, a->n), verdict);
	if (is_empty(q) && (s->measured.held == 0 || q->slot < s->queue[s->first].slot))
		s->first = (uint32_t)(q - s->queue);
	q->tail++;
	q->held += wire;
	if (q->slot == s->slot)
		s->ideal_free = later(s->ideal_free, ticks_of(s, s->last_ns)) + wire;
	else
		q->planned = true;
	s->measured.held++;
	if (a->last_slot != NULL)
		*a->last_slot = q->slot;
}

static inline struct queue *queue_at(struct bp_lcl_scheduler *s, uint32_t ahead)
{
	const uint32_t at = s->at + ahead;

	return &s->queue[at < s->n_queues ? at : at - s->n_queues];
}

/* The queue of a slot, initialised for it. It holds no frame of another slot. */
static struct queue *queue_of(struct bp_lcl_scheduler *s, uint32_t ahead)
{
	struct queue *q = queue_at(s, ahead);
	const uint64_t slot = s->slot + ahead;

	if (q->slot != slot) {
		q->slot = slot;
		q->begin = (s->slot_begin_ns << TICK_SHIFT) + ahead * s->tau;
		q->closed = q->planned = false;
	}
	return q;
}

/* Which slot is the first that the frame may go to, as how many after the current one. */
static uint32_t first_choice(
	const struct bp_lcl_scheduler *s, const struct bp_lcl_arrival *a, enum bp_lcl_put *verdict)
{
	const uint64_t last = a->last_slot != NULL ? *a->last_slot : 0;
	struct bp_lcl_arrival most = *a;
	uint32_t ahead = 0;
	uint64_t ns;

	if (most.d > BP_LCL_DELAY_MAX_NS)
		most.d = BP_LCL_DELAY_MAX_NS;
	ns = meant_for(s, &most, s->slot_begin_ns);
	if (a->d < 0 || (int64_t)ns < 0) {
		*verdict = BP_LCL_PUT_LATE;
	} else if (ns >= s->span_ns) {
		*verdict = BP_LCL_PUT_EARLY;
		ahead = s->k - 1;
	} else {
		*verdict = BP_LCL_PUT_OK;
		ahead = slots_of(s, ns);
	}
	if (last <= s->slot + ahead)
		return ahead;
	if (*verdict == BP_LCL_PUT_OK)
		*verdict = BP_LCL_PUT_MOVED;
	return last - s->slot < s->k ? (uint32_t)(last - s->slot) : s->k;
}

/* Result of a put: the first slot that was tried, and the queue that took the frame; NULL: none.
 * Slots between them are closed. */
struct place {
	uint64_t from;
	struct queue *q;
};

/* With all rules. */
static __attribute__((noinline)) enum bp_lcl_put put_general(
	struct bp_lcl_scheduler *s, const struct bp_lcl_arrival *a, struct place *to)
{
	const uint64_t wire = tx_time(s, a->bytes);
	enum bp_lcl_put verdict;
	uint32_t ahead = first_choice(s, a, &verdict);
	uint64_t end = s->slot + s->k;

	*to = (struct place){.from = s->slot + ahead};
	if (a->bytes > BP_LCL_BYTES_MAX)
		return BP_LCL_PUT_FULL;
	/* with older frames still held, correspondingly fewer slots are usable */
	if (s->measured.held != 0 && s->queue[s->first].slot + s->n_queues < end)
		end = s->queue[s->first].slot + s->n_queues;
	for (; s->slot + ahead < end; ahead++) {
		struct queue *q = queue_of(s, ahead);

		if (has_room(s, q, wire)) {
			append(s, q, wire, a, verdict);
			to->q = q;
			return verdict;
		}
		q->closed = true;
		if (verdict == BP_LCL_PUT_OK)
			verdict = BP_LCL_PUT_MOVED;
	}
	return BP_LCL_PUT_FULL;
}

/* Runs after advance(). Most frames find a queue in use for their slot with free capacity. */
static inline enum bp_lcl_put put_one(
	struct bp_lcl_scheduler *s, const struct bp_lcl_arrival *a, struct place *to)
{
	const uint64_t ns = meant_for(s, a, s->slot_begin_ns), wire = tx_time(s, a->bytes);
	uint32_t ahead;

	if (ns >= s->span_ns || !in_range(a))
		return put_general(s, a, to);
	ahead = slots_of(s, ns);
	to->from = s->slot + ahead;
	to->q = queue_at(s, ahead);
	if (to->q->slot != to->from || !has_room(s, to->q, wire) ||
		(a->last_slot != NULL && *a->last_slot > to->from))
		return put_general(s, a, to);
	append(s, to->q, wire, a, BP_LCL_PUT_OK);
	return BP_LCL_PUT_OK;
}

enum bp_lcl_put bp_lcl_put(
	struct bp_lcl_scheduler *s, uint64_t now_ns, const struct bp_lcl_arrival *a)
{
	struct place to;

	advance(s, now_ns);
	return put_one(s, a, &to);
}

/*
 * Puts further frames that are planned for the slot of a preceding frame, which went to `to`, a
 * slot that has not begun: the slots between are closed, so these frames go there as well until it
 * is full. Ends at the first frame of another kind; returns the number of frames put.
 */
static inline unsigned put_same_slot(struct bp_lcl_scheduler *s, const struct place *to,
	const struct bp_lcl_arrival *a, unsigned n, uint8_t *put)
{
	struct queue *q = to->q;
	const uint32_t room = s->places - (q->tail - q->head);
	const enum bp_lcl_put verdict = q->slot == to->from ? BP_LCL_PUT_OK : BP_LCL_PUT_MOVED;
	/* the compiler must assume that the stores alias these */
	const uint64_t from_ns = s->origin_ns + s->slot_begin_ns + (to->from - s->slot) * s->tau_ns;
	const uint64_t tau = s->tau, tau_ns = s->tau_ns, per_byte = s->per_byte;
	const uint64_t slot = q->slot;
	struct entry *entry = q->entry;
	const uint32_t mask = s->mask;
	uint64_t held = q->held;
	uint32_t tail = q->tail;
	unsigned i;

	n = n < room ? n : room;
	for (i = 0; i < n; i++) {
		const uint64_t wire = tx_time_of(per_byte, a[i].bytes);
		const uint64_t meant_ns = share(a[i].d, a[i].n);

		if (!in_range(&a[i]) || held + wire > tau ||
			a[i].in_ns - from_ns + meant_ns >= tau_ns)
			break;
		if (a[i].last_slot != NULL) {
			if (*a[i].last_slot > slot)
				break;
			*a[i].last_slot = slot;
		}
		put[i] = (uint8_t)verdict;
		fill(&entry[tail++ & mask], &a[i], (int32_t)meant_ns, verdict);
		held += wire;
	}
	q->tail = tail;
	q->held = held;
	s->measured.held += i;
	return i;
}

void bp_lcl_put_burst(struct bp_lcl_scheduler *s, uint64_t now_ns, const struct bp_lcl_arrival *a,
	unsigned n, uint8_t *put)
{
	advance(s, now_ns);
	for (unsigned i = 0; i < n;) {
		struct place to;

		put[i] = (uint8_t)put_one(s, &a[i], &to);
		if ((put[i] == BP_LCL_PUT_OK || put[i] == BP_LCL_PUT_MOVED) &&
			to.q->slot != s->slot)
			i += put_same_slot(s, &to, &a[i + 1], n - i - 1, &put[i + 1]);
		i++;
	}
}

bool bp_lcl_put_best_effort(
	struct bp_lcl_scheduler *s, uint64_t now_ns, void *frame, uint32_t bytes)
{
	uint32_t at = s->be_head + s->measured.best_effort;

	s->last_ns = now_ns;
	if (s->measured.best_effort == s->be_depth || bytes > BP_LCL_BYTES_MAX)
		return false;
	/* best effort did not lose the idle time of the link before */
	if (s->measured.best_effort == 0)
		s->be_next_tx = later(s->link_free, ticks_of(s, now_ns));
	at = at < s->be_depth ? at : at - s->be_depth;
	s->be[at] = (struct best_effort){frame, bytes};
	s->measured.best_effort++;
	return true;
}
