/* SPDX-License-Identifier: BSD-3-Clause */
#include "services/mqtt/work.h"

#include <string.h>

/* Time in which a full account drains at its rate, 2^10 ns: 8 ms for a connection, 4 ms for the
 * worker. It bounds what the frames of others wait for, and leaves room for a document of 1 MiB now
 * and then, which no publication behind it is to miss. */
#define CONNECTION_DEPTH 8192u
#define WORKER_DEPTH 4096u

void bp_work_init(struct bp_work *w, uint32_t connection_percent, uint32_t worker_percent)
{
	memset(w, 0, sizeof(*w));
	w->rate = connection_percent * 1024 / 100;
	w->limit = w->rate * CONNECTION_DEPTH;
	w->worker_rate = worker_percent * 1024 / 100;
	w->worker_limit = w->worker_rate * WORKER_DEPTH;
}

/* Returns what is used, now. */
static uint32_t take(struct bp_work_account *a, uint32_t now, uint32_t rate, uint64_t units)
{
	uint64_t drained = (uint64_t)(now - a->at) * rate;
	uint64_t used = (a->used > drained ? a->used - drained : 0) + units;

	a->used = used < UINT32_MAX ? (uint32_t)used : UINT32_MAX;
	a->at = now;
	return a->used;
}

bool bp_work_settle(struct bp_work *w, uint32_t ahead)
{
	uint64_t units = w->done - w->allowed + ahead;
	uint32_t first =
		take(&w->account[0][(w->hash >> 20) % BP_WORK_ACCOUNTS], w->now, w->rate, units);
	uint32_t second =
		take(&w->account[1][(w->hash >> 42) % BP_WORK_ACCOUNTS], w->now, w->rate, units);
	uint32_t worker = take(&w->worker, w->now, w->worker_rate, units);
	uint32_t limit = w->limit;

	/* when the worker's account gets short, those who took the most wait first */
	if (worker > w->worker_limit / 2)
		limit /= 8;
	w->worker_over = worker > w->worker_limit;
	w->over = w->worker_over || (first < second ? first : second) > limit;
	w->allowed = w->done + ahead;
	return !w->over;
}
