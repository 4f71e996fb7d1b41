/* SPDX-License-Identifier: BSD-3-Clause */
#include "dataplane/mqtt/clone_frame.h"

#include "proto/copy.h"
#include "proto/mqtt.h"

#define IP4_HDR 20u
#define IP6_HDR 40u
#define TCP_HDR 20u

uint32_t bp_clone_frame_size(const struct bp_clone_request *r, const struct bp_clone_target *to,
	uint32_t mtu, enum bp_clone_result *result)
{
	uint32_t ip = r->frame->ip6 ? IP6_HDR : IP4_HDR;
	size_t mqtt;

	*result = BP_CLONE_E_FAMILY;
	if (r->frame->ip6 ? !to->has_ip6 : !to->has_ip4)
		return 0;
	*result = BP_CLONE_E_SIZE;
	mqtt = bp_mqtt_publish_rewrite(r->version, r->publish, r->to, r->to_len, NULL, 0);
	if (mqtt == 0 || ip + TCP_HDR + mqtt > mtu ||
		r->frame->l3 + ip + TCP_HDR + mqtt > UINT16_MAX)
		return 0;
	*result = BP_CLONE_OK;
	return r->frame->l3 + ip + TCP_HDR + (uint32_t)mqtt;
}

static void write_ip(
	const struct bp_frame *f, const struct bp_clone_target *to, uint8_t *ip, uint32_t l4_len)
{
	const uint8_t *old = f->data + f->l3;

	if (f->ip6) {
		memcpy(ip, old, IP6_HDR);
		bp_put_be16(ip + 4, (uint16_t)l4_len);
		ip[6] = 6; /* TCP: no extension headers */
		if (!f->to_broker)
			memcpy(ip + 8, old + 24, 16);
		memcpy(ip + 24, to->ip6, 16);
		return;
	}
	memcpy(ip, old, IP4_HDR);
	ip[0] = 0x45;
	bp_put_be16(ip + 2, (uint16_t)(IP4_HDR + l4_len));
	ip[10] = ip[11] = 0;
	if (!f->to_broker)
		memcpy(ip + 12, old + 16, 4);
	memcpy(ip + 16, to->ip4, 4);
	uint16_t sum = (uint16_t)~bp_sum_fold(bp_sum(ip, IP4_HDR, 0));
	memcpy(ip + 10, &sum, 2);
}

void bp_clone_frame_build(const struct bp_clone_request *r, const struct bp_clone_target *to,
	uint8_t *out, uint32_t size)
{
	const struct bp_frame *f = r->frame;
	uint32_t ip = f->ip6 ? IP6_HDR : IP4_HDR;
	uint32_t l4 = f->l3 + ip;
	uint8_t *t = out + l4;
	struct bp_frame made = {.data = out,
		.l3 = f->l3,
		.l4 = (uint16_t)l4,
		.payload = (uint16_t)(l4 + TCP_HDR),
		.payload_len = size - l4 - TCP_HDR,
		.ip6 = f->ip6};
	uint16_t sum;

	bp_copy(out, f->data, f->l3); /* Ethernet and VLAN tags */
	/*
	 * It comes from the client, also when a frame of the broker set it off: one that was judged
	 * itself, or an acknowledgement that let go what was held.
	 */
	if (!f->to_broker)
		memcpy(out + 6, f->data, 6);
	memcpy(out, to->mac, 6);
	write_ip(f, to, out + f->l3, size - l4);
	memcpy(t, f->data + f->l4, TCP_HDR);
	bp_put_be16(t, f->to_broker ? f->sport : f->dport);
	bp_put_be16(t + 2, to->tcp_port);
	bp_put_be32(t + 4, r->seq);
	t[12] = TCP_HDR / 4 << 4;
	t[13] = BP_TCP_PSH | BP_TCP_ACK;
	memset(t + 16, 0, 4); /* checksum, urgent pointer */
	bp_mqtt_publish_rewrite(
		r->version, r->publish, r->to, r->to_len, t + TCP_HDR, made.payload_len);
	sum = (uint16_t)~bp_sum_fold(bp_sum(t, size - l4, bp_tcp_pseudo_sum(&made)));
	memcpy(t + 16, &sum, 2);
}
