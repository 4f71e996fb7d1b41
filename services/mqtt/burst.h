/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_SERVICES_MQTT_BURST_H
#define BP_SERVICES_MQTT_BURST_H

#include "services/mqtt/inspect.h"
#include "proto/net/frame.h"
#include "shm/rules/part_state.h"
#include "shm/rules/window_place.h"

/*
 * Frames that are inspected together in stages, so that the memory that each needs is prefetched
 * while the others are processed. The result is the same as for one frame after the other.
 */
#define BP_MQTT_BURST 64 /* enough to cover a miss, few enough for the first-level cache */

enum bp_burst_kind {
	BP_BURST_PARSED, /* frame[i] is not read, parsed[i] is */
	/* Untagged IPv4 without options, TCP to the broker, completely at frame[i], lengths
	 * checked: */
	BP_BURST_VERIFIED,   /* with right checksums */
	BP_BURST_UNVERIFIED, /* with checksums to be verified */
};

/* The single PUBLISH in the payload of a simple frame, of any connection. */
struct bp_single_publish {
	uint64_t topic_hash;
	uint16_t body; /* offset behind topic and packet identifier; 0: it is no single PUBLISH */
	uint16_t end;  /* offset of the segment's end, which is the end of the PUBLISH */
	uint16_t len;  /* of the segment's payload */
	uint16_t pad;
};

struct bp_mqtt_burst {
	/* in */
	uint32_t n;                          /* 1..BP_MQTT_BURST */
	const uint8_t *frame[BP_MQTT_BURST]; /* from the Ethernet header on */
	uint8_t kind[BP_MQTT_BURST];         /* enum bp_burst_kind */
	/* Number of the network of frame[i], where parsed[i] does not have it; that of the first
	 * one is that of all, unless networks_differ. */
	uint8_t network[BP_MQTT_BURST];
	bool networks_differ;
	struct bp_frame parsed[BP_MQTT_BURST];
	/* Bit i: bytes of frame[i] may be overwritten, which the policy then does. 0: of none,
	 * where bp_enforce_allowed() does not follow. */
	uint64_t writable;
	/* out, for `general` */
	struct bp_lookup l[BP_MQTT_BURST];
	/* Out, bit i: the topic of frame[i] was overwritten: its TCP checksum is wrong. The caller,
	 * which corrects it, clears the bit. */
	uint64_t changed;
	/* inside */
	uint32_t group[BP_MQTT_BURST]; /* of the flow table */
	struct bp_single_publish p[BP_MQTT_BURST];
	/* bit i is frame i: */
	uint64_t same_template; /* p[i] was read four frames at a time: same_template.h */
	uint64_t numbers;       /* of these, those whose number[i] was read */
	uint64_t raises;        /* of these, those that raise, if their flow fits */
	uint64_t windows;       /* those whose value is one of window[i] */
	uint64_t parts;         /* those whose value is one of part[i] */
	uint32_t number[BP_MQTT_BURST] __attribute__((aligned(16)));
	/* those that would raise, but for which the policy has no memory: they are dropped */
	uint64_t without_room;
	double result[BP_MQTT_BURST]; /* of windows, and of BP_RULE_FAST_SPARKPLUG */
	struct bp_window_place window[BP_MQTT_BURST];
	struct bp_part_key part[BP_MQTT_BURST];
};
_Static_assert(BP_MQTT_BURST == 64, "a bit of a word for each");

/*
 * Reads them. Calls general(arg, i), in order, for each frame that is not a single PUBLISH as
 * single_publish.h has it: the caller parses it if it was plain, verifies its checksums, and calls
 * bp_inspect_segment() with b->l[i].
 */
void bp_mqtt_burst_read(struct bp_mqtt_worker *in, struct bp_mqtt_burst *b,
	void (*general)(void *arg, uint32_t i), void *arg);

#endif
