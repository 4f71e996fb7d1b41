/* SPDX-License-Identifier: BSD-3-Clause */
#include "dataplane/process/notifier.h"

#include <stdio.h>

#include "daemon/notify.h"

_Static_assert(BP_MAX_WORKERS + 1 <= BP_WATCHDOG_THREADS_MAX, "a count for each thread");

/* Reads the round counter of each thread. Returns the number of threads. */
static unsigned counts(const struct bp_dp_notifier *l, uint64_t *count)
{
	unsigned n = 0;

	for (unsigned w = 0; w < l->workers->n; w++) {
		const struct bp_worker *worker = l->workers->worker[w];

		if (worker->graph) /* a worker without queues does not run */
			count[n++] = __atomic_load_n(&worker->mono_ns, __ATOMIC_RELAXED);
	}
	if (l->exception)
		count[n++] = bp_exception_thread_rounds(l->exception);
	return n;
}

void bp_dp_notifier_init(struct bp_dp_notifier *l, const struct bp_workers *workers,
	const struct bp_exception_thread *exception, uint64_t now_ns)
{
	uint64_t count[BP_WATCHDOG_THREADS_MAX];

	*l = (struct bp_dp_notifier){
		.workers = workers, .exception = exception, .links = UINT64_MAX};
	bp_watchdog_init(&l->watchdog, bp_notify_watchdog_ns(), counts(l, count), now_ns);
}

static void notify_links(struct bp_dp_notifier *l, const struct bp_shm *shm)
{
	const unsigned n = (unsigned)atomic_load(&shm->global->dp_ports);
	uint64_t up = 0;
	char down[256] = "";
	size_t used = 0;

	for (unsigned i = 0; i < n; i++) {
		if (shm->ports[i].link_up)
			up |= 1ull << i;
		else if (used < sizeof(down))
			used += (size_t)snprintf(down + used, sizeof(down) - used, "%s%s",
				used ? ", " : "; no link: ", shm->ports[i].name);
	}
	if (up == l->links)
		return;
	if (bp_notify_status("%u port%s, %u worker%s%s", n, n == 1 ? "" : "s", l->workers->n,
		    l->workers->n == 1 ? "" : "s", down))
		l->links = up;
}

void bp_dp_notifier_update(struct bp_dp_notifier *l, const struct bp_shm *shm, uint64_t now_ns)
{
	uint64_t count[BP_WATCHDOG_THREADS_MAX];

	counts(l, count);
	if (!l->ready && bp_watchdog_all_moved(&l->watchdog, count))
		l->ready = bp_notify_ready();
	if (bp_watchdog_due(&l->watchdog, count, now_ns))
		bp_notify_alive();
	notify_links(l, shm);
}
