/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_SERVICES_MQTT_ENFORCE_H
#define BP_SERVICES_MQTT_ENFORCE_H

#include <stdbool.h>
#include <stdint.h>

#include "proto/net/frame.h"
#include "shm/rules/policy.h"

/*
 * What becomes of a frame where the policy refuses packets.
 *
 * Of a client's stream, only bytes that the policy was asked about are forwarded, in their order
 * and once: what the client sends again is overwritten with the bytes that were judged, and a
 * segment that inspection has not read, in whole or in part, is not forwarded: its sender sends it
 * again. So the broker cannot be given anything else than what was judged, by retransmissions,
 * overlaps or segments that arrive out of order. No sequence number is changed.
 */

struct bp_flow;
struct bp_lookup;
struct bp_mqtt_burst;
struct bp_mqtt_worker;

enum bp_frame_verdict {
	BP_FRAME_FORWARD,
	BP_FRAME_CUT, /* only the first `keep` bytes of its payload, without FIN */
	BP_FRAME_DROP,
};

/* A segment that biplane sends in the name of one end to the other. */
struct bp_answer {
	bool to_client;
	uint8_t tcp_flags;
	uint8_t len;
	uint8_t data[8];
	uint32_t seq, ack;
};
#define BP_ANSWERS_MAX 2

struct bp_enforced {
	uint8_t verdict; /* enum bp_frame_verdict */
	bool changed;    /* bytes of the payload were overwritten: the TCP checksum is wrong */
	uint8_t n_answers;
	uint16_t reason; /* of group DROP */
	uint32_t keep;
	struct bp_answer answer[BP_ANSWERS_MAX];
	/* while the segment is read */
	uint8_t *payload; /* the writable payload */
	const struct bp_flow *flow;
	bool was_closed; /* the flow, before the segment */
	bool reserved;   /* memory for its payload; the stream continues where bp_judged_end() is */
	bool refused;
	bool between;    /* the connection ends between two packets: the will can be discarded */
	bool behind_end; /* what is refused is behind the end of the stream */
	bool filed;      /* the PUBLISH has the alias of a topic that was overwritten */
	bool passed;     /* the PUBLISH is not overwritten: mqtt.policy.fallback */
	uint32_t at;     /* sequence number of the refused packet, or of its part in this segment */
	/* the packet that is being read, or the part of it that arrived, and the number of its
	 * first byte: of a WebSocket only the bytes from unmasked_seq on have such numbers */
	const uint8_t *packet;
	uint32_t packet_have, packet_seq;
	/* of a WebSocket, the bytes without their mask that are being read: the number of the first
	 * one, and the mask from there on */
	uint32_t unmasked_seq;
	uint8_t mask[4];
};

/* Whether these rules have a policy that refuses packets. */
static inline bool bp_policy_refuses(const struct bp_ruleset *rs)
{
	return rs->generation != 0 && rs->policy_given && rs->policy_refuses;
}
/* The same of the active rules: then bp_inspect_enforce() inspects each frame. */
bool bp_mqtt_worker_enforces(const struct bp_mqtt_worker *in);
/* bp_inspect_segment() for such a policy. `payload`: that of the frame, writable, contiguous; NULL:
 * the frame is in pieces, and is not forwarded where bytes of it had to be overwritten. */
void bp_inspect_enforce(struct bp_mqtt_worker *in, const struct bp_frame *f, struct bp_lookup *l,
	uint8_t *payload, struct bp_enforced *e);

/* Frames [from, to) of a burst, which the burst path has read: each is a PUBLISH that the policy
 * allows, or the topic of which was overwritten. Bit i: frame i is not forwarded, since there is no
 * memory to keep its bytes; its stream is back at its first byte. */
uint64_t bp_enforce_allowed(
	struct bp_mqtt_worker *in, const struct bp_mqtt_burst *b, uint32_t from, uint32_t to);

/* answer_frame.c. Bytes of the frame; 0: it cannot be built in answer to this one. */
#define BP_ANSWER_FRAME_MAX 256u
uint32_t bp_answer_frame_size(const struct bp_frame *f, const struct bp_answer *a);
/* Writes exactly that number of bytes. */
void bp_answer_frame_build(const struct bp_frame *f, const struct bp_answer *a, uint8_t *out);
/* Shortens the frame in place to `keep` bytes of payload: lengths, flags and checksums; also after
 * bytes were overwritten. Returns its new length in bytes. */
uint32_t bp_frame_cut(uint8_t *data, const struct bp_frame *f, uint32_t keep);
/* After bytes of the payload were overwritten: its TCP checksum. Returns its length in bytes,
 * without what follows the datagram. */
uint32_t bp_frame_changed(uint8_t *data, const struct bp_frame *f);

#endif
