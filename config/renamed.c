/* SPDX-License-Identifier: BSD-3-Clause */
#include <stdio.h>
#include <string.h>

#include "config/schema.h"

/* Names of settings before version 1, for the errors about a file that still has them. */
const struct bp_renamed bp_renamed[] = {
	{"idle", "poll_mode: busy or adaptive"},
	{"trouble", "monitoring"},
	{"monitoring.link_settle", "monitoring.link_up_delay"},
	{"monitoring.buffers_low", "monitoring.mbuf_low_percent"},
	{"monitoring.worker_overrun", "monitoring.poll_gap_warning"},
	{"monitoring.worker_stuck", "monitoring.worker_stall_timeout"},
	{"monitoring.not_inspected", "monitoring.not_inspected_warning"},
	{"monitoring.log_every", "monitoring.log_interval"},
	{"aggregate", "aggregation.encapsulate"},
	{"disaggregate", "aggregation.decapsulate"},
	{"aggregation.streams", "aggregation.max_streams"},
	{"aggregation.queue", "aggregation.pacing_queue_len"},
	{"aggregation.encapsulate[].to.udp", "aggregation.encapsulate[].to.udp_port"},
	{"aggregation.encapsulate[].senders", "aggregation.encapsulate[].allowed_senders"},
	{"aggregation.encapsulate[].messages", "aggregation.encapsulate[].max_messages"},
	{"aggregation.encapsulate[].max_message", "aggregation.encapsulate[].max_message_size"},
	{"aggregation.encapsulate[].from", "aggregation.encapsulate[].source"},
	{"aggregation.encapsulate[].source.udp", "aggregation.encapsulate[].source.udp_port"},
	{"aggregation.decapsulate[].to.udp", "aggregation.decapsulate[].to.udp_port"},
	{"aggregation.decapsulate[].senders", "aggregation.decapsulate[].allowed_senders"},
	{"aggregation.decapsulate[].pace", "aggregation.decapsulate[].pacing_gap"},
	{"aggregation.decapsulate[].gap", "aggregation.decapsulate[].pacing_gap"},
	{NULL, NULL},
};

const char *bp_renamed_to(const struct bp_setting *section, const char *key)
{
	char path[256];

	snprintf(path, sizeof(path), "%s%s%s%s", section != NULL ? section->path : "",
		section != NULL && section->list != NULL ? "[]" : "", section != NULL ? "." : "",
		key);
	for (const struct bp_renamed *r = bp_renamed; r->was != NULL; r++)
		if (strcmp(path, r->was) == 0)
			return r->is;
	return NULL;
}
