/* SPDX-License-Identifier: BSD-3-Clause */
#include "shm/fib/lpm/lpm_lines.h"

#include <stdlib.h>
#include <time.h>

#define WAITING 0x80000000u /* in `length` */

bool bp_lpm_lines_init(struct bp_lpm_lines *l, uint32_t total, struct bp_epoch *epoch)
{
	*l = (struct bp_lpm_lines){.epoch = epoch, .total = total};
	for (unsigned s = 0; s < BP_LPM_SIZES; s++)
		l->list[s] = BP_LPM_NO_LINE;
	l->unlinked.head = l->limbo.head = BP_LPM_NO_LINE;
	/* One more, so that a line follows the last one; it is never free. */
	l->at = calloc((size_t)total + 1, sizeof(*l->at));
	return l->at != NULL;
}

void bp_lpm_lines_free(struct bp_lpm_lines *l)
{
	free(l->at);
	l->at = NULL;
}

static unsigned size_of(uint32_t n)
{
	return (n < BP_LPM_SIZES ? n : BP_LPM_SIZES) - 1;
}

static void enlist(struct bp_lpm_lines *l, uint32_t first, uint32_t n)
{
	unsigned s = size_of(n);
	uint32_t next = l->list[s];

	l->at[first] = (struct bp_lpm_extent){next, BP_LPM_NO_LINE, n};
	l->at[first + n - 1].length = n;
	if (next != BP_LPM_NO_LINE)
		l->at[next].prev = first;
	l->list[s] = first;
	l->sizes |= 1u << s;
}

/* Afterwards both ends say that the lines are taken. */
static void delist(struct bp_lpm_lines *l, uint32_t first)
{
	const struct bp_lpm_extent e = l->at[first];
	unsigned s = size_of(e.length);

	if (e.next != BP_LPM_NO_LINE)
		l->at[e.next].prev = e.prev;
	if (e.prev != BP_LPM_NO_LINE)
		l->at[e.prev].next = e.next;
	else
		l->list[s] = e.next;
	if (l->list[s] == BP_LPM_NO_LINE)
		l->sizes &= ~(1u << s);
	l->at[first].length = 0;
	l->at[first + e.length - 1].length = 0;
}

static bool is_free(uint32_t length)
{
	return length != 0 && (length & WAITING) == 0;
}

static void give(struct bp_lpm_lines *l, uint32_t first, uint32_t n)
{
	l->free += n;
	l->at[first].length = l->at[first + n - 1].length = 0;
	if (first > 0 && is_free(l->at[first - 1].length)) {
		uint32_t before = l->at[first - 1].length;

		first -= before;
		n += before;
		delist(l, first);
	}
	if (is_free(l->at[first + n].length)) {
		uint32_t after = l->at[first + n].length;

		delist(l, first + n);
		n += after;
	}
	enlist(l, first, n);
}

static uint32_t take(struct bp_lpm_lines *l, unsigned n)
{
	uint32_t enough = l->sizes >> (n - 1) << (n - 1), first, length;

	if (enough == 0)
		return BP_LPM_NO_LINE;
	first = l->list[__builtin_ctz(enough)];
	length = l->at[first].length;
	delist(l, first);
	if (length > n) {
		l->at[first + n - 1].length = 0;
		enlist(l, first + n, length - n);
	}
	l->free -= n;
	return first;
}

void bp_lpm_lines_await(struct bp_lpm_lines *l)
{
	static const struct timespec little = {.tv_nsec = 100000};

	while (bp_lpm_lines_settle(l) && l->max_waits > 0) {
		l->max_waits--;
		nanosleep(&little, NULL);
	}
}

uint32_t bp_lpm_lines_take(struct bp_lpm_lines *l, unsigned n)
{
	uint32_t first = take(l, n);

	if (first != BP_LPM_NO_LINE || l->limbo.head == BP_LPM_NO_LINE)
		return first;
	bp_lpm_lines_await(l);
	return take(l, n);
}

static void append(struct bp_lpm_lines *l, struct bp_lpm_queue *q, uint32_t head, uint32_t tail)
{
	if (q->head == BP_LPM_NO_LINE)
		q->head = head;
	else
		l->at[q->tail].next = head;
	q->tail = tail;
	l->at[tail].next = BP_LPM_NO_LINE;
}

void bp_lpm_lines_unlink(struct bp_lpm_lines *l, uint32_t first, uint32_t n)
{
	l->at[first].length = WAITING | n;
	l->waiting += n;
	append(l, &l->unlinked, first, first);
}

void bp_lpm_lines_retire(struct bp_lpm_lines *l)
{
	uint64_t epoch;

	if (l->unlinked.head == BP_LPM_NO_LINE)
		return;
	epoch = bp_epoch_retire(l->epoch);
	for (uint32_t i = l->unlinked.head; i != BP_LPM_NO_LINE; i = l->at[i].next)
		l->at[i].prev = (uint32_t)epoch;
	append(l, &l->limbo, l->unlinked.head, l->unlinked.tail);
	l->unlinked.head = BP_LPM_NO_LINE;
}

/* The full epoch from the low half in an extent: it is not later than the current epoch. */
static uint64_t full_epoch(const struct bp_lpm_lines *l, uint32_t low)
{
	uint64_t now = atomic_load_explicit(&l->epoch->control->epoch, memory_order_relaxed);

	return now - (uint32_t)((uint32_t)now - low);
}

bool bp_lpm_lines_settle(struct bp_lpm_lines *l)
{
	uint32_t first;

	while ((first = l->limbo.head) != BP_LPM_NO_LINE) {
		uint32_t n = l->at[first].length & ~WAITING;

		if (!bp_epoch_passed(l->epoch, full_epoch(l, l->at[first].prev)))
			return true;
		l->limbo.head = l->at[first].next;
		l->waiting -= n;
		give(l, first, n);
	}
	return false;
}
