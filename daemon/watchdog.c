/* SPDX-License-Identifier: BSD-3-Clause */
#include "daemon/watchdog.h"

#include <string.h>

/* Heartbeats per watchdog timeout: one may be late, and one may be lost. */
#define SIGNS 4

void bp_watchdog_init(struct bp_watchdog *w, uint64_t limit_ns, unsigned n, uint64_t now_ns)
{
	memset(w, 0, sizeof(*w));
	w->every_ns = limit_ns / SIGNS;
	w->said_ns = now_ns;
	w->n = n < BP_WATCHDOG_THREADS_MAX ? n : BP_WATCHDOG_THREADS_MAX;
}

static bool moved(const struct bp_watchdog *w, const uint64_t *count)
{
	for (unsigned i = 0; i < w->n; i++)
		if (count[i] == w->seen[i])
			return false;
	return true;
}

bool bp_watchdog_all_moved(struct bp_watchdog *w, const uint64_t *count)
{
	w->moved_all = w->moved_all || moved(w, count);
	return w->moved_all;
}

bool bp_watchdog_due(struct bp_watchdog *w, const uint64_t *count, uint64_t now_ns)
{
	if (w->every_ns == 0 || now_ns - w->said_ns < w->every_ns || !moved(w, count))
		return false;
	w->said_ns = now_ns;
	w->moved_all = true;
	for (unsigned i = 0; i < w->n; i++)
		w->seen[i] = count[i];
	return true;
}
