/* SPDX-License-Identifier: BSD-3-Clause */
#include "apps/sim/agg/message.h"

#include <string.h>

#include "proto/aggregation/agg_full.h"
#include "proto/aggregation/agg_lin2018.h"
#include "proto/net/frame.h"

#define IP 14u
#define UDP (IP + 20u)
#define PAYLOAD (UDP + 8u)

/* Plain and slow: the simulator is not to share the gateway's arithmetic. */
static uint32_t sum(const uint8_t *p, unsigned len, uint32_t from)
{
	for (unsigned i = 0; i + 1 < len; i += 2)
		from += bp_be16(p + i);
	return from;
}

static uint16_t folded(uint32_t s)
{
	s = (s & 0xffff) + (s >> 16);
	s = (s & 0xffff) + (s >> 16);
	return (uint16_t)~s;
}

void sim_message_init(struct sim_message *m, bool lin2018, uint8_t sender)
{
	static const uint8_t ether[] = {
		2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1, 0x08, 0x00}; /* to :02 from :01 */
	const unsigned header = lin2018 ? BP_AGG_LIN2018_HEADER : 0;
	uint8_t *f = m->frame;

	memset(m, 0, sizeof(*m));
	m->len = (uint16_t)(PAYLOAD + header + SIM_PAYLOAD);
	m->number_at = (uint16_t)(PAYLOAD + header);
	memcpy(f, ether, sizeof(ether));
	f[IP] = 0x45;
	bp_put_be16(f + IP + 2, (uint16_t)(m->len - IP));
	f[IP + 8] = 64;
	f[IP + 9] = 17;
	bp_put_be32(f + IP + 12, 0x0a000000u | sender);
	bp_put_be32(f + IP + 16, SIM_DESTINATION);
	bp_put_be16(f + IP + 10, folded(sum(f + IP, 20, 0)));
	bp_put_be16(f + UDP, (uint16_t)(40000 + sender));
	bp_put_be16(f + UDP + 2, SIM_UDP);
	bp_put_be16(f + UDP + 4, (uint16_t)(m->len - UDP));
	if (lin2018)
		f[PAYLOAD] = BP_AGG_LIN2018_MESSAGE;
	memcpy(f + m->number_at + 4, "IOTMESSAGE..", SIM_PAYLOAD - 4);
	m->sum = sum(f + UDP, m->len - UDP, sum(f + IP + 12, 8, 17 + m->len - UDP));
}

void sim_message_number(struct sim_message *m, uint32_t number)
{
	const uint16_t c = folded(m->sum + (number >> 16) + (number & 0xffff));

	bp_put_be32(m->frame + m->number_at, number);
	bp_put_be16(m->frame + UDP + 6, c != 0 ? c : 0xffff);
}

unsigned sim_packet_read(const uint8_t *f, uint32_t len, bool lin2018, uint32_t first)
{
	const uint8_t *at;
	unsigned n;

	if (len < PAYLOAD + BP_AGG_LIN2018_HEADER || f[IP] != 0x45 ||
		bp_be16(f + IP + 2) != len - IP || bp_be16(f + UDP + 4) != len - UDP)
		return 0;
	if (lin2018) {
		n = (len - PAYLOAD - BP_AGG_LIN2018_HEADER) / SIM_PAYLOAD;
		if (f[PAYLOAD] != BP_AGG_LIN2018_PACKET || len != 48 + 16 * n)
			return 0;
	} else {
		/* Payloads lie at the end, back to back, and all have the same length. */
		n = f[PAYLOAD + BP_AGG_FULL_AT_COUNT];
		if (bp_be16(f + PAYLOAD) != BP_AGG_FULL_MAGIC ||
			len < PAYLOAD + BP_AGG_FULL_HEADER + n * SIM_PAYLOAD)
			return 0;
	}
	at = f + len - n * SIM_PAYLOAD;
	for (unsigned i = 0; i < n; i++, at += SIM_PAYLOAD) {
		if (bp_be32(at) != first + i || memcmp(at + 4, "IOTMESSAGE..", 12) != 0)
			return 0;
	}
	return n;
}
