/* SPDX-License-Identifier: BSD-3-Clause */
#include <string.h>

#include "biplane/counters/mqtt.h"
#include "services/mqtt/flow.h"
#include "services/mqtt/flow_show.h"

const char *bp_flow_unread_reason(unsigned reason)
{
	static const char *const name[] = {
		[BP_UNREAD_MIDSTREAM] = "midstream",
		[BP_UNREAD_RESYNC] = "resync",
		[BP_UNREAD_OUT_OF_WINDOW] = "out_of_window",
	};

	return reason < BP_UNREAD_COUNTERS
		       ? name[reason]
		       : bp_counter_info[BP_C_NOT_INSPECTED_NOT_MQTT + reason - BP_UNREAD_COUNTERS]
				 .name;
}

void bp_flow_usage(const void *flows, uint64_t len, unsigned workers, struct bp_flow_usage *usage)
{
	const uint64_t share = workers != 0 ? len / workers : 0;

	memset(usage, 0, sizeof(*usage));
	for (unsigned w = 0; w < workers && share > sizeof(struct bp_flow_header); w++) {
		const struct bp_flow_header *h = (const void *)((const uint8_t *)flows + share * w);

		if (__atomic_load_n(&h->magic, __ATOMIC_ACQUIRE) != BP_FLOW_MAGIC)
			continue;
		usage->flows += __atomic_load_n(&h->flows, __ATOMIC_RELAXED);
		usage->max_flows += __atomic_load_n(&h->max_flows, __ATOMIC_RELAXED);
		usage->reassembly_used += __atomic_load_n(&h->reassembly_used, __ATOMIC_RELAXED);
	}
}
