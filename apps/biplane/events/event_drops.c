/* SPDX-License-Identifier: BSD-3-Clause */
#include "apps/biplane/events/event_drops.h"

#include "biplane/counters/general.h"

#define NS_PER_MS 1000000u

/* Frames that biplane dropped, and those that the NIC or its driver dropped before. */
static bool is_drop(unsigned counter)
{
	return bp_counter_info[counter].name != NULL &&
	       (bp_counter_info[counter].group == BP_CG_DROP || counter == BP_C_NIC_MISSED ||
		       counter == BP_C_NIC_NO_MBUF || counter == BP_C_NIC_ERRORS);
}

json_t *bp_event_drops(
	struct bp_event_drops *d, const struct bp_shm *m, uint64_t interval_ns, uint64_t now_ns)
{
	/* a data plane counts from 0 */
	const uint64_t started =
		atomic_load_explicit(&m->global->dp_started_ns, memory_order_relaxed);
	const uint64_t passed = now_ns - d->last_ns;
	json_t *reasons;
	uint64_t total = 0;

	if (d->begun && now_ns >= d->last_ns && passed < interval_ns)
		return NULL;
	reasons = json_object();
	for (unsigned c = 0; c < BP_C_COUNT; c++) {
		uint64_t now, before;

		if (!is_drop(c))
			continue;
		now = bp_shm_counter(m, c);
		before = d->dataplane_started_ns == started && d->before[c] <= now ? d->before[c]
										   : 0;
		d->before[c] = now;
		if (now == before)
			continue;
		total += now - before;
		json_object_set_new(reasons, bp_counter_info[c].name,
			json_integer((json_int_t)((now - before) & INT64_MAX)));
	}
	d->dataplane_started_ns = started;
	d->last_ns = now_ns;
	if (!d->begun || total == 0) {
		d->begun = true;
		json_decref(reasons);
		return NULL;
	}
	return json_pack("{sI sI so}", "interval_ms", (json_int_t)(passed / NS_PER_MS), "total",
		(json_int_t)(total & INT64_MAX), "reasons", reasons);
}
