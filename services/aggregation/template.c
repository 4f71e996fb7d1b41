/* SPDX-License-Identifier: BSD-3-Clause */
#include "services/aggregation/template.h"

#include "services/aggregation/datagram.h"

/* The compared bytes of each piece of a head. Destination MAC, type, version and length of the
 * header, TOS; lengths, fragment, TTL and protocol, first byte of the source; destination and its
 * port. */
static const bp_v16 compared[3] = {
	{255, 255, 255, 255, 255, 255, 0, 0, 0, 0, 0, 0, 255, 255, 255, 255},
	{255, 255, 0, 0, 255, 255, 255, 255, 0, 0, 255, 0, 0, 0, 255, 255},
	{255, 255, 0, 0, 255, 255, 255, 255, 0, 0, 0, 0, 0, 0, 0, 0},
};
#define AT_SRC (BP_ETHER_HDR + BP_IP4_SRC)
#define AT_DST (BP_ETHER_HDR + BP_IP4_DST)
#define AT_UDP (BP_ETHER_HDR + BP_IP4_HDR)
#define AT_PAYLOAD (AT_UDP + BP_UDP_HDR)
#define IN_HEAD (BP_AGG_TEMPLATE_READS - AT_PAYLOAD) /* payload bytes in the pieces of a head */

static uint32_t word(const uint8_t *p)
{
	uint16_t w;

	memcpy(&w, p, sizeof(w));
	return w;
}

/* The missing part of each of four sums: the common sum, and the constant that each word counts
 * too little. */
static bp_v4 lacks(uint32_t sum, unsigned words)
{
	return (bp_v4){0} + (sum + words * BP_CHECKSUM_LESS);
}

static void set_payload(struct bp_agg_template *x, unsigned len)
{
	const unsigned tail = (len - IN_HEAD - 1) % 16 + 1;

	for (unsigned i = 0; i < 16; i++)
		x->last[i] = (uint8_t)(i < tail ? 16 - tail + i : 0x80);
}

bool bp_agg_template_set(struct bp_agg_template *x, const struct bp_agg_input *in, unsigned len,
	bool paper, const struct bp_agg_senders *senders)
{
	const uint8_t *f = in->frame;
	const unsigned chunks = len > IN_HEAD ? (len - IN_HEAD + 15) / 16 : 0;
	uint32_t dst, from, udp;
	bp_v16 mask = bp_v16_of(0);

	x->kind = BP_AGG_TEMPLATE_NONE;
	if (in->len < BP_AGG_TEMPLATE_READS || chunks == 0)
		return false;
	x->kind = paper ? BP_AGG_TEMPLATE_LIN2018 : BP_AGG_TEMPLATE_FULL;
	for (unsigned i = 0; i < 3; i++) {
		x->head[i] = bp_agg_template_piece(f, i);
		x->compared[i] = compared[i];
	}
	from = bp_agg_senders_mask4(senders, f + AT_SRC);
	memcpy((uint8_t *)&mask + AT_SRC - 16, &from, sizeof(from));
	x->compared[1] |= mask;
	if (paper)
		x->compared[2][AT_PAYLOAD - 32] = 255;
	set_payload(x, len);
	x->lens = bp_agg_template_lens(in);
	x->mac = in->mac;
	x->from = bp_agg_template_from(in);
	x->end = AT_PAYLOAD + len;
	x->hops = f[BP_ETHER_HDR + BP_IP4_TTL];

	dst = word(f + AT_DST);
	udp = word(f + AT_UDP + BP_UDP_LEN) + ((uint32_t)BP_PROTO_UDP << 8) + dst;
	x->ip = lacks(word(f + BP_ETHER_HDR) + word(f + AT_DST + 2), 8);
	x->udp = lacks(udp, paper ? 2 + 8 : 2 + 5);
	x->sum = lacks(0, (paper ? 0 : 3) + 8 * chunks);
	return true;
}

bool bp_agg_template_set_streams(struct bp_agg_template *x, const struct bp_agg_input *in,
	unsigned len, bool paper, const struct bp_agg_senders *senders, uint32_t to, bool port)
{
	const uint8_t *f = in->frame;

	if (!bp_agg_template_set(x, in, len, paper, senders))
		return false;
	memcpy((uint8_t *)&x->compared[1] + AT_DST - 16, &to, 2);
	memcpy((uint8_t *)&x->compared[2], (const uint8_t *)&to + 2, 2);
	for (unsigned i = 0; i < 2; i++)
		x->compared[2][AT_UDP + 2 - 32 + i] = port ? 255 : 0;
	x->compared[1][BP_ETHER_HDR + BP_IP4_TTL - 16] = 0;
	x->ip = lacks(word(f + BP_ETHER_HDR), 9);
	x->udp = lacks(word(f + AT_UDP + BP_UDP_LEN) + ((uint32_t)BP_PROTO_UDP << 8),
		paper ? 3 + 8 : 3 + 5);
	return true;
}

/* Compares one to three messages in four lanes; the last one fills the rest. */
static inline __attribute__((always_inline)) bool few(const struct bp_agg_template *x,
	const struct bp_agg_input *in, unsigned n, enum bp_agg_template_kind kind, uint32_t *sum)
{
	struct bp_agg_input of[4];
	uint32_t sums[4];

	for (unsigned i = 0; i < 4; i++)
		of[i] = in[i < n ? i : n - 1];
	if (!bp_agg_template_match4(x, of, kind, false, sums))
		return false;
	for (unsigned i = 0; i < n; i++)
		sum[i] = sums[i];
	return true;
}

static __attribute__((always_inline)) inline unsigned match_run(const struct bp_agg_template *x,
	const struct bp_agg_input *in, unsigned n, enum bp_agg_template_kind kind, uint32_t *sum)
{
	unsigned i = 0;

	while (i + 4 <= n && bp_agg_template_match4(x, in + i, kind, false, sum + i))
		i += 4;
	/* the remaining messages, together with some before them */
	if (i + 4 > n && i < n &&
		(i != 0 ? bp_agg_template_match4(x, in + n - 4, kind, false, sum + n - 4)
			: few(x, in, n, kind, sum)))
		return n;
	/* the next four, or the remaining ones, do not all match */
	while (i < n && few(x, in + i, 1, kind, sum + i))
		i++;
	return i;
}

unsigned bp_agg_template_match_run(
	const struct bp_agg_template *x, const struct bp_agg_input *in, unsigned n, uint32_t *sum)
{
	switch (x->kind) {
	case BP_AGG_TEMPLATE_LIN2018:
		return match_run(x, in, n, BP_AGG_TEMPLATE_LIN2018, sum);
	case BP_AGG_TEMPLATE_FULL:
		return match_run(x, in, n, BP_AGG_TEMPLATE_FULL, sum);
	default:
		return 0;
	}
}
