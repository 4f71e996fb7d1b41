/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_SERVICES_MQTT_FLOW_UNREAD_H
#define BP_SERVICES_MQTT_FLOW_UNREAD_H

#include <stdint.h>

/* Connections that pass unread: alive, and not read for longer than a limit. */
struct bp_unread {
	uint32_t connections;
	uint64_t longest_ns;
};

/*
 * Counts them in one worker's table, a part of it in each call, beside the worker: it takes no part
 * in this, and a flow that changes meanwhile is counted as it is met.
 */
struct bp_unread_scan {
	uint64_t at;           /* the next flow */
	struct bp_unread turn; /* so far */
	struct bp_unread last; /* the last whole turn */
};
void bp_unread_scan(struct bp_unread_scan *s, const void *table, uint64_t len, uint64_t mono_ns,
	uint64_t limit_ns, uint32_t budget);

#endif
