/* SPDX-License-Identifier: BSD-3-Clause */
#include "biplane/counters/mqtt.h"
#include "services/mqtt/enforcement.h"
#include "services/mqtt/judged.h"
#include "services/mqtt/policy.h"
#include "services/mqtt/stream.h"

/*
 * The will of a connection that the policy ends. A broker publishes it when the connection ends
 * without a DISCONNECT (MQTT 5.0, 3.1.2.5). A policy refuses wills with their CONNECT; one of an
 * earlier policy, which the active one refuses, is at the broker. So the connection is ended for
 * the broker by a DISCONNECT in the client's name and FIN, where the stream is between two packets.
 */

static bool between_frames(const struct bp_flow *f)
{
	const struct bp_ws_frames *s = &f->websocket.frames[BP_TO_BROKER];

	return !(f->proof & BP_FLOW_WEBSOCKET) ||
	       (f->websocket.upgraded[BP_TO_BROKER] && s->have == 0 && s->left == 0 &&
		       !(s->flags & (BP_WS_IN_MESSAGE | BP_WS_CLOSED)));
}

bool bp_will_is_between(const struct bp_flow *f)
{
	return f->stream[BP_TO_BROKER] == BP_STREAM_BOUNDARY && f->waiting[BP_TO_BROKER] == 0 &&
	       f->reassembly_len[BP_TO_BROKER] == 0 && between_frames(f) &&
	       !(f->pending & (BP_FLOW_PUSHED(BP_TO_BROKER) | BP_FLOW_HELD(BP_TO_BROKER)));
}

bool bp_will_can_discard(
	const struct bp_mqtt_worker *in, const struct bp_flow *f, const struct bp_frame *frame)
{
	const uint32_t at = f->next[BP_TO_BROKER];

	/* a broker that has closed the connection has published the will */
	if (!bp_will_is_between(f) || (f->flags & BP_FLOW_FIN(BP_FROM_BROKER)) ||
		(!frame->to_broker && (frame->tcp_flags & BP_TCP_FIN)))
		return false;
	if (!frame->to_broker)
		return frame->ack == at && (!bp_judged_any(f) || bp_judged_end(in, f) == at);
	return bp_judged_any(f) && bp_judged_end(in, f) == at && bp_judged_first(in, f) == at &&
	       !bp_judged_doubts(in, f);
}

void bp_will_left(struct bp_mqtt_worker *in, const struct bp_flow *f)
{
	if (__builtin_expect(bp_mqtt_worker_enforces(in), 0) && f->will != 0 &&
		bp_policy_refuses_kept_will(in, f, false))
		bp_tally(in, BP_C_POLICY_WILL_LEFT);
}

void bp_will_put_disconnect(const struct bp_flow *f, struct bp_answer *a)
{
	/* a binary frame, alone, with a mask of zeros (RFC 6455 5.3) */
	static const uint8_t websocket[] = {0x82, 0x82, 0, 0, 0, 0, 0xe0, 0};
	const uint32_t n = f->proof & BP_FLOW_WEBSOCKET ? sizeof(websocket) : 2;

	_Static_assert(sizeof(websocket) <= sizeof(a->data), "it fits");
	memcpy(a->data, websocket + sizeof(websocket) - n, n);
	a->len = (uint8_t)n;
	a->tcp_flags = BP_TCP_FIN | BP_TCP_PSH | BP_TCP_ACK;
}
