/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_SERVICES_MQTT_BATCH_H
#define BP_SERVICES_MQTT_BATCH_H

#include "services/mqtt/inspect.h"
#include "proto/frame.h"

/*
 * Frames that are read together, so that the memory that each needs is on its way while the others
 * are worked on. What they lead to is the same as one by one and in order.
 */
#define BP_BATCH 64 /* enough to cover a miss, few enough for the first-level cache */

enum bp_batch_kind {
	BP_BATCH_PARSED, /* frame[i] is not looked at, parsed[i] is */
	/* Untagged IPv4 without options, TCP to the broker, all of it at frame[i], lengths checked:
	 */
	BP_BATCH_PLAIN,      /* with right checksums */
	BP_BATCH_UNVERIFIED, /* with checksums to be verified */
};

/* What fast.h finds in a plain frame by itself, whatever connection it is of. */
struct bp_fast_publish {
	uint64_t topic_hash;
	uint16_t body; /* offset behind topic and packet identifier; 0: not the usual kind */
	uint16_t end;  /* offset of the segment's end, which is the end of the PUBLISH */
	uint16_t len;  /* of the segment's payload */
	uint16_t pad;
};

struct bp_batch {
	/* in */
	uint32_t n;                     /* 1..BP_BATCH */
	const uint8_t *frame[BP_BATCH]; /* from the Ethernet header on */
	uint8_t kind[BP_BATCH];         /* enum bp_batch_kind */
	struct bp_frame parsed[BP_BATCH];
	/* out, for `general` */
	struct bp_lookup l[BP_BATCH];
	/* inside */
	uint32_t group[BP_BATCH]; /* of the flow table */
	struct bp_fast_publish p[BP_BATCH];
	/* bit i is frame i: */
	uint64_t looked; /* alike as fast_four.h has it: p[i] is filled in */
	uint64_t alike;  /* of these, those whose numbers were read */
	uint64_t raises; /* of these, those that raise, if they can be taken */
	uint32_t number[BP_BATCH] __attribute__((aligned(16)));
};
_Static_assert(BP_BATCH == 64, "a bit of a word for each");

/*
 * Reads them. Calls general(arg, i), in order, for each frame that is not the usual kind: the
 * caller parses it if it was plain, judges its checksums, and calls bp_inspect_segment() with
 * b->l[i].
 */
void bp_batch_read(struct bp_mqtt_worker *in, struct bp_batch *b,
	void (*general)(void *arg, uint32_t i), void *arg);

#endif
