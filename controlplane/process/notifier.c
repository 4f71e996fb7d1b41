/* SPDX-License-Identifier: BSD-3-Clause */
#include "controlplane/process/notifier.h"

#include <stdatomic.h>

#include "controlplane/process/clock.h"
#include "controlplane/sync/sync.h"
#include "daemon/notify.h"

void bp_cp_notifier_init(struct bp_cp_notifier *l)
{
	bp_watchdog_init(&l->watchdog, bp_notify_watchdog_ns(), 0, bp_mono_ns());
}

void bp_cp_notifier_update(
	struct bp_cp_notifier *l, const struct bp_sync *sync, const struct bp_shm_control *g)
{
	const bool connected = atomic_load_explicit(&g->publisher[BP_TO_MQTT].connected,
				       memory_order_relaxed) != 0;

	if (!l->ready && l->rules && (!sync || bp_sync_state(sync) == BP_SYNC_SYNCED))
		l->ready = bp_notify_ready();
	if (bp_watchdog_due(&l->watchdog, NULL, bp_mono_ns()))
		bp_notify_alive();
	if (l->ready && (!l->status_sent || connected != l->was_connected)) {
		l->status_sent =
			bp_notify_status("rules active%s%s", sync ? ", routes as the kernel's" : "",
				connected ? ", edge broker connected" : "");
		l->was_connected = connected;
	}
}
