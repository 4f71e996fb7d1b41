/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_SERVICES_MQTT_PEEK_H
#define BP_SERVICES_MQTT_PEEK_H

#include "services/mqtt/connection_record.h"
#include "services/mqtt/flow.h"
#include "services/mqtt/inspect.h"

/* Copies for a record of another process (flow_export.c), which the worker may change meanwhile:
 * the caller then discards them. */

/* The arena of one worker. */
struct bp_arena {
	const void *memory;
	uint64_t bytes;
};
/* ref: that of a flow with TLS. */
bool bp_tls_peek(const struct bp_arena *a, bp_reassembly_ref ref, struct bp_tls_info *info);
#define BP_ALIASES_PEEKED 1024u /* further ones are left out */
struct bp_alias_peeked {
	bool all; /* none is left out */
	struct bp_record_alias alias[BP_ALIASES_PEEKED];
	uint8_t text[2 * BP_CONNECTION_RECORD_MAX] __attribute__((aligned(8)));
};
/* Returns their number. */
uint16_t bp_alias_peek(const struct bp_arena *a, const uint64_t key[2], const struct bp_flow *f,
	unsigned dir, struct bp_alias_peeked *out);
/* text: BP_WILL_PEEKED bytes, aligned as a uint64_t. False: it is damaged. */
#define BP_WILL_PEEKED (64u + BP_RECORD_WILL_MAX)
bool bp_will_peek(const struct bp_arena *a, const struct bp_flow *f, struct bp_record_will *out,
	uint8_t *text);
/* id: BP_RECORD_QOS2_MAX. Returns their number. */
uint16_t bp_qos2_peek(
	const struct bp_arena *a, const struct bp_flow *f, unsigned dir, uint16_t *id);

#endif
