/* SPDX-License-Identifier: BSD-3-Clause */
#include "services/aggregation/restore.h"

#include <string.h>

#include "services/aggregation/copy_sum.h"

void bp_disagg_prepare(struct bp_disagg_packet *p, const struct bp_datagram *d, const uint8_t *flag)
{
	p->datagram = *d;
	p->payload = bp_datagram_payload(d);
	p->ip_at = (uint8_t)d->l3;
	p->head_len = (uint8_t)(d->l3 + bp_datagram_head_len(d->family));
	p->flagged = flag != NULL;
	if (flag != NULL) {
		memcpy(p->flag, flag, sizeof(p->flag));
		p->head_len += sizeof(p->flag);
	}
}

/* Inlined for each family. */
static inline __attribute__((always_inline)) void write_frames(const struct bp_disagg_packet *p,
	const struct bp_agg_message *m, unsigned n, unsigned family, uint16_t id,
	uint8_t *const to[])
{
	const struct bp_datagram *d = &p->datagram;
	const unsigned ip_at = p->ip_at;
	const uint16_t id_mask = d->dont_fragment ? 0 : 0xffff;
	const unsigned in_front = p->flagged ? sizeof(p->flag) : 0;
	const uint64_t flag_sum = bp_sum_tail(p->flag, in_front);
	const bp_v16 ether = bp_v16_load(d->frame);
	const uint64_t tags = bp_sum_word(d->frame + ip_at - 8);
	struct bp_datagram_head h = {.dst = bp_datagram_dst(d),
		.dport = d->dport,
		.family = (uint8_t)family,
		.tos = d->tos,
		.dont_fragment = d->dont_fragment};
	uint8_t dst[16];

	memcpy(dst, h.dst, family == 4 ? 4 : 16);
	h.dst = dst;
	for (unsigned i = 0; i < n; i++) {
		uint8_t *frame = to[i], *payload = frame + p->head_len;
		const unsigned len = m[i].len;
		uint64_t sum;

		/* what these write too many, the IP header overwrites */
		memcpy(frame, &ether, sizeof(ether));
		memcpy(frame + ip_at - 8, &tags, sizeof(tags));
		sum = bp_copy_and_sum(payload, p->payload + m[i].offset, len);
		if (in_front != 0) {
			memcpy(payload - sizeof(p->flag), p->flag, sizeof(p->flag));
			sum = bp_sum_add(sum, flag_sum);
		}
		h.src = m[i].from.addr;
		h.sport = m[i].from.port;
		h.hops = m[i].from.hops;
		h.id = (uint16_t)(id + i) & id_mask;
		bp_datagram_put_head(frame + ip_at, &h, in_front + len, sum);
	}
}

void bp_disagg_write(const struct bp_disagg_packet *p, unsigned first, unsigned n, uint16_t id,
	uint8_t *const to[])
{
	if (p->datagram.family == 4)
		write_frames(p, &p->message[first], n, 4, id, to);
	else
		write_frames(p, &p->message[first], n, 6, id, to);
}
