/* SPDX-License-Identifier: BSD-3-Clause */
#include "tests/fuzz/fuzz.h"

#include "services/aggregation/aggregator.h"
#include "proto/aggregation/agg_full.h"
#include "proto/aggregation/agg_lin2018.h"

/*
 * The first bytes choose N, MTU and size of the buffers; the others are a run: frames made of a
 * few bytes each or given whole, bursts, time, flushes, and buffers that run out.
 *
 * Each output frame must fit its buffer and the MTU and have correct headers and checksums. The
 * number of messages out equals the number in, except those counted as lost for lack of a buffer;
 * each buffer is freed. The checks do not use the code under test.
 */
#define STREAMS 3u
#define BURST 8u
#define FRAME_MOST 700u

static struct bp_agg_stats stats[BP_AGG_RULES_MAX];
static struct bp_agg_stream_row rows[STREAMS];
static struct bp_agg_message messages[BP_AGG_FULL_MOST];
static unsigned room, mtu, out, most_out, n_left, n_lost;

static uint8_t *get(void *arg, void **buffer)
{
	uint8_t *p;

	if (out == most_out)
		return NULL;
	p = malloc(room);
	if (p == NULL)
		abort();
	out++;
	*buffer = p;
	return p;
}

static void lost(void *arg, unsigned n)
{
	HOLDS(out == most_out);
	n_lost += n;
}

static uint32_t plain_sum(const uint8_t *p, size_t len, uint32_t sum)
{
	for (size_t i = 0; i < len; i++) {
		sum += (uint32_t)p[i] << (i & 1 ? 0 : 8);
		sum = (sum & 0xffff) + (sum >> 16);
	}
	return sum;
}

static void judge_payload(const uint8_t *p, unsigned len, unsigned family, unsigned rule)
{
	struct bp_agg_full full;
	struct bp_agg_lin2018 kunze2021;

	if (rule == 2) {
		HOLDS(bp_agg_lin2018_read(p, len, BP_AGG_FULL_MOST, &kunze2021) ==
			BP_AGG_LIN2018_OK);
		HOLDS(kunze2021.type == BP_AGG_LIN2018_PACKET);
		n_left += kunze2021.count;
		return;
	}
	HOLDS(bp_agg_full_read(p, len, family, &full, messages, BP_AGG_FULL_MOST) ==
		BP_AGG_FULL_OK);
	n_left += full.count;
	for (unsigned i = 0; i < full.count; i++)
		HOLDS(messages[i].from.port != 0 && messages[i].from.hops != 0);
}

static void sent(void *arg, const struct bp_agg_output *o)
{
	uint8_t *frame;
	const uint8_t *ip, *udp;
	unsigned l4_len;

	HOLDS(o->rule < 3 && o->offset + (unsigned)o->len <= room);
	/* alone, so that nothing behind it is read */
	frame = exact_copy((uint8_t *)o->buffer + o->offset, o->len);
	ip = frame + 14;
	while (bp_be16(ip - 2) == 0x8100 || bp_be16(ip - 2) == 0x88a8 || bp_be16(ip - 2) == 0x9100)
		ip += 4;
	HOLDS(ip <= frame + 22);
	HOLDS((unsigned)(frame + o->len - ip) <= mtu);
	if (ip[0] == 0x45) {
		HOLDS(bp_be16(ip - 2) == 0x0800 && o->rule != 1);
		HOLDS(bp_be16(ip + 2) == frame + o->len - ip);
		HOLDS(plain_sum(ip, 20, 0) == 0xffff && ip[8] == 64 && ip[9] == 17);
		udp = ip + 20;
		l4_len = (unsigned)(frame + o->len - udp);
		HOLDS(plain_sum(udp, l4_len, plain_sum(ip + 12, 8, 17 + l4_len)) == 0xffff);
	} else {
		HOLDS(bp_be16(ip - 2) == 0x86dd && ip[0] >> 4 == 6 && o->rule == 1);
		udp = ip + 40;
		l4_len = (unsigned)(frame + o->len - udp);
		HOLDS(bp_be16(ip + 4) == l4_len && ip[6] == 17 && ip[7] == 64);
		HOLDS(plain_sum(udp, l4_len, plain_sum(ip + 8, 32, 17 + l4_len)) == 0xffff);
	}
	HOLDS(bp_be16(udp + 4) == l4_len && bp_be16(udp + 6) != 0);
	judge_payload(udp + 8, l4_len - 8, o->rule == 1 ? 6 : 4, o->rule);
	free(frame);
	free(o->buffer);
	out--;
}

/* A frame with right headers; r: six bytes that say which. Returns its length. */
static unsigned write_frame(const uint8_t *r, uint8_t *to)
{
	const unsigned rule = r[0] % 3, len = rule == 2 ? 22 : r[3] * 2u % 600;
	const unsigned tags = r[0] & 0x40 ? 4 : 0, l4_len = 8 + len;
	uint8_t *ip = to + 14 + tags, *udp = ip + (rule == 1 ? 40 : 20);
	uint32_t sum;

	memset(to, 0, FRAME_MOST);
	to[0] = 2;
	to[5] = r[1] >> 7;
	bp_put_be32(to + 12, 0x81000000u | r[1]);
	bp_put_be16(ip - 2, rule == 1 ? 0x86dd : 0x0800);
	memset(udp + 8, r[5], len);
	if (rule == 2)
		udp[8] = BP_AGG_LIN2018_MESSAGE;
	bp_put_be16(udp, (uint16_t)(r[2] << (r[4] & 7)));
	bp_put_be16(udp + 2, 5555);
	bp_put_be16(udp + 4, (uint16_t)l4_len);
	if (rule == 1) {
		bp_put_be32(ip, 0x60000000u | (uint32_t)(r[0] & 0x80) << 13);
		bp_put_be16(ip + 4, (uint16_t)l4_len);
		bp_put_be16(ip + 6, (uint16_t)(17 << 8 | (r[4] >> 3)));
		ip[8] = 0xfd;
		ip[8 + (r[2] & 15)] |= r[5];
		ip[24] = 0xfd;
		ip[39] = r[1] & 7;
		sum = plain_sum(ip + 8, 32, 17 + l4_len);
	} else {
		bp_put_be16(ip, (uint16_t)(0x4500 | (r[0] & 0x80)));
		bp_put_be16(ip + 2, (uint16_t)(20 + l4_len));
		bp_put_be16(ip + 6, r[0] & 0x20 ? 0x4000 : 0);
		bp_put_be16(ip + 8, (uint16_t)((r[4] >> 3) << 8 | 17));
		bp_put_be32(ip + 12, 0x0a000000u | (uint32_t)r[2] << (r[5] & 15));
		bp_put_be32(ip + 16, 0x0a000000u | (rule + 1) << 16 | (r[1] & 7));
		bp_put_be16(ip + 10, (uint16_t)~plain_sum(ip, 20, 0));
		sum = plain_sum(ip + 12, 8, 17 + l4_len);
	}
	sum = ~plain_sum(udp, l4_len, sum) & 0xffff;
	bp_put_be16(udp + 6, (uint16_t)(sum != 0 ? sum : 0xffff));
	return (unsigned)(udp + l4_len - to);
}

static void set_rules(struct bp_aggregator *a, const uint8_t *data)
{
	struct bp_agg_rules rules = {.n_aggregate = 3};

	for (unsigned i = 0; i < 3; i++) {
		struct bp_agg_rule *r = &rules.aggregate[i];

		*r = (struct bp_agg_rule){.max_delay_ns = data[3] * 4u,
			.max_message = 512,
			.mtu = (uint16_t)mtu,
			.messages = data[i == 2 ? 4 : 0],
			.format = i == 2 ? BP_AGG_FORMAT_LIN2018 : BP_AGG_FORMAT_FULL,
			.to = {{.family = i == 1 ? 6 : 4, .length = 16}, 5555, 5555}};
		if (i == 1) {
			r->to.address.bytes[0] = 0xfd;
		} else {
			r->to.address.bytes[0] = 10;
			r->to.address.bytes[1] = (uint8_t)(i + 1);
		}
	}
	bp_aggregator_set_rules(a, &rules, 1500, 0);
}

struct run {
	struct bp_aggregator *a;
	struct bp_agg_input in[BURST];
	uint8_t *frame[BURST];
	unsigned n; /* in the burst */
	uint64_t now, taken;
};

static void take(struct run *r)
{
	bp_aggregator_take(r->a, r->in, r->n, r->now, r->now);
	for (unsigned i = 0; i < r->n; i++) {
		HOLDS(r->in[i].verdict <= BP_AGG_AMBIGUOUS_PAYLOAD);
		HOLDS(r->in[i].verdict == BP_AGG_OTHER || r->in[i].rule < 3);
		r->taken += r->in[i].verdict == BP_AGG_TAKEN;
		free(r->frame[i]);
	}
	r->n = 0;
}

static void add(struct run *r, const uint8_t *frame, unsigned len, unsigned frame_len)
{
	r->frame[r->n] = exact_copy(frame, len);
	r->in[r->n] =
		(struct bp_agg_input){.frame = r->frame[r->n], .len = len, .frame_len = frame_len};
	if (++r->n == BURST)
		take(r);
}

/* Does what the first bytes say; returns how many they were, 0 at the end. */
static size_t step(struct run *r, const uint8_t *p, size_t size)
{
	static uint8_t frame[FRAME_MOST];
	const unsigned arg = p[0] >> 4;
	unsigned len;

	switch (p[0] & 15) {
	case 0:
		take(r);
		r->now += arg * 16;
		return 1;
	case 1:
		take(r);
		bp_aggregator_poll(r->a, r->now + arg, r->now);
		r->now += arg;
		HOLDS(bp_aggregator_next(r->a) > r->now);
		return 1;
	case 2:
		take(r);
		bp_aggregator_flush(r->a, arg % BP_AGG_FLUSH_COUNT, r->now, r->now);
		HOLDS(bp_aggregator_empty(r->a) && out == 0);
		return 1;
	case 3:
		most_out = arg;
		return 1;
	case 4: /* whole frames */
		len = size > 2 && p[1] < size - 2 ? p[1] : 0;
		add(r, p + 2, len, len + (arg == 15));
		return size > 2 ? 2 + len : 0;
	default:
		if (size < 7)
			return 0;
		len = write_frame(p + 1, frame);
		/* now and then with an byte that is another */
		if (arg == 1)
			frame[12 + p[6] % 50] ^= p[5];
		add(r, frame, len, len);
		return 7;
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct bp_aggregator_options o = {.streams = STREAMS, .stats = stats, .rows = rows};
	struct run r = {.now = 1};

	if (size < 5)
		return 0;
	o.hooks = (struct bp_aggregator_hooks){.get = get, .send = sent, .lost = lost};
	o.room = (uint16_t)(room = data[1] * 8u);
	mtu = 1 + data[2] * 6u;
	out = n_left = n_lost = 0;
	most_out = UINT32_MAX;
	memset(stats, 0, sizeof(stats));
	r.a = bp_aggregator_new(&o);
	if (r.a == NULL)
		abort();
	set_rules(r.a, data);
	for (size_t at = 5, used = 1; at < size && used != 0; at += used)
		used = step(&r, data + at, size - at);
	take(&r);
	bp_aggregator_flush(r.a, BP_AGG_FLUSH_STOP, r.now, r.now);
	HOLDS(n_left + n_lost == r.taken && out == 0);
	HOLDS(stats[0].messages + stats[1].messages + stats[2].messages == n_left + n_lost);
	bp_aggregator_free(r.a);
	return 0;
}
