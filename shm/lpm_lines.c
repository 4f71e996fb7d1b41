/* SPDX-License-Identifier: BSD-3-Clause */
#include "shm/lpm_lines.h"

#include <stdlib.h>
#include <string.h>

#define SIZES BP_LPM_NODE_LINES_MAX
/* Joining looks at every line: not before so many were freed since the last time. */
#define JOIN_AFTER 1024u

int bp_lpm_lines_init(struct bp_lpm_lines *l, uint32_t max, struct bp_epoch *e)
{
	memset(l, 0, sizeof(*l));
	l->epoch = e;
	l->max = max;
	l->fresh = max;
	return 0;
}

void bp_lpm_lines_free(struct bp_lpm_lines *l)
{
	for (unsigned s = 0; s <= SIZES; s++)
		free(l->list[s].line);
	free(l->waiting);
}

static bool grow(void **array, uint32_t *room, uint32_t n, size_t element)
{
	uint32_t more = *room != 0 ? 2 * *room : 64;
	void *p;

	if (n < *room)
		return true;
	p = realloc(*array, more * element);
	if (p == NULL)
		return false;
	*array = p;
	*room = more;
	return true;
}

/* Without memory for the list the lines are lost until the next writer finds them. */
static void push(struct bp_lpm_lines *l, uint32_t line, uint32_t lines)
{
	if (!grow((void **)&l->list[lines].line, &l->list[lines].room, l->list[lines].n,
		    sizeof(uint32_t)))
		return;
	l->list[lines].line[l->list[lines].n++] = line;
	l->free += lines;
}

/* Any stretch of free lines, in blocks. */
static void push_stretch(struct bp_lpm_lines *l, uint32_t line, uint32_t lines)
{
	while (lines != 0) {
		uint32_t n = lines < SIZES ? lines : SIZES;

		push(l, line, n);
		line += n;
		lines -= n;
	}
}

static uint32_t pop(struct bp_lpm_lines *l, uint32_t lines)
{
	if (l->list[lines].n == 0)
		return 0;
	l->free -= lines;
	return l->list[lines].line[--l->list[lines].n];
}

static uint32_t split_larger(struct bp_lpm_lines *l, uint32_t lines)
{
	for (uint32_t s = lines + 1; s <= SIZES; s++) {
		uint32_t line = pop(l, s);

		if (line != 0) {
			push(l, line + lines, s - lines);
			return line;
		}
	}
	return 0;
}

static uint32_t take_fresh(struct bp_lpm_lines *l, uint32_t lines)
{
	uint32_t line = l->fresh;

	if (l->max - l->fresh < lines)
		return 0;
	l->fresh += lines;
	l->free -= lines;
	return line;
}

/* Bits of the lines from `from` to `to` that are 0 become blocks. */
static void push_unmarked(struct bp_lpm_lines *l, const uint64_t *used, uint32_t from, uint32_t to)
{
	uint32_t begin = from;

	for (uint32_t i = from; i < to; i++) {
		if (!(used[i / 64] >> i % 64 & 1))
			continue;
		push_stretch(l, begin, i - begin);
		begin = i + 1;
	}
	push_stretch(l, begin, to - begin);
}

/* Joins neighbouring free blocks. */
static bool join(struct bp_lpm_lines *l)
{
	uint64_t *used;

	if (l->freed < JOIN_AFTER)
		return false;
	used = malloc((l->max / 64 + 1) * sizeof(*used));
	if (used == NULL)
		return false;
	memset(used, 0xff, (l->max / 64 + 1) * sizeof(*used));
	for (uint32_t s = 1; s <= SIZES; s++) {
		for (uint32_t k = 0; k < l->list[s].n; k++)
			for (uint32_t i = 0; i < s; i++) {
				uint32_t at = l->list[s].line[k] + i;

				used[at / 64] &= ~(1ull << at % 64);
			}
		l->free -= s * l->list[s].n;
		l->list[s].n = 0;
	}
	push_unmarked(l, used, 1, l->fresh);
	l->freed = 0;
	free(used);
	return true;
}

static uint32_t find(struct bp_lpm_lines *l, uint32_t lines)
{
	uint32_t line = pop(l, lines);

	if (line == 0)
		line = take_fresh(l, lines);
	return line != 0 ? line : split_larger(l, lines);
}

uint32_t bp_lpm_lines_take(struct bp_lpm_lines *l, uint32_t lines)
{
	uint32_t line = find(l, lines);

	if (line == 0 && l->n_waiting != 0) {
		bp_lpm_lines_settle(l);
		line = find(l, lines);
	}
	if (line == 0 && l->free >= lines && join(l))
		line = find(l, lines);
	return line;
}

void bp_lpm_lines_give(struct bp_lpm_lines *l, uint32_t line, uint32_t lines)
{
	l->freed += lines;
	push_stretch(l, line, lines);
}

void bp_lpm_lines_retire(struct bp_lpm_lines *l, uint32_t line, uint32_t lines)
{
	uint64_t epoch = bp_epoch_retire(l->epoch);

	if (l->waiting_from != 0 && l->waiting_from + l->n_waiting == l->waiting_room) {
		memmove(l->waiting, l->waiting + l->waiting_from,
			l->n_waiting * sizeof(*l->waiting));
		l->waiting_from = 0;
	}
	if (!grow((void **)&l->waiting, &l->waiting_room, l->waiting_from + l->n_waiting,
		    sizeof(*l->waiting)))
		return;
	l->waiting[l->waiting_from + l->n_waiting++] = (struct bp_lpm_block){line, lines, epoch};
}

bool bp_lpm_lines_settle(struct bp_lpm_lines *l)
{
	while (l->n_waiting != 0) {
		const struct bp_lpm_block *b = &l->waiting[l->waiting_from];

		if (!bp_epoch_passed(l->epoch, b->epoch))
			return true;
		bp_lpm_lines_give(l, b->line, b->lines);
		l->waiting_from++;
		l->n_waiting--;
	}
	l->waiting_from = 0;
	return false;
}

void bp_lpm_lines_rebuild(struct bp_lpm_lines *l, const uint64_t *used)
{
	uint32_t last = 0;

	for (uint32_t i = 1; i < l->max; i++)
		if (used[i / 64] >> i % 64 & 1)
			last = i;
	for (uint32_t s = 1; s <= SIZES; s++)
		l->list[s].n = 0;
	l->n_waiting = l->waiting_from = 0;
	l->fresh = last + 1;
	l->free = l->max - l->fresh;
	push_unmarked(l, used, 1, l->fresh);
}
