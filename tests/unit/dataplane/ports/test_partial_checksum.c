/* SPDX-License-Identifier: BSD-3-Clause */
/* Frames are in heap blocks of exactly their size, so that a sanitizer detects each read outside.
 */
#include "tests/unit/dataplane/test.h"
#include "dataplane/ports/partial_checksum.h"

#include <stdlib.h>
#include <string.h>

#define FRAME_MAX 400

struct built {
	uint8_t f[FRAME_MAX];
	uint32_t len, l4, l4_len, sum_at;
	uint32_t pseudo; /* not folded */
	uint8_t proto;
};

static uint32_t add_words(const uint8_t *p, uint32_t n, uint32_t sum)
{
	for (uint32_t i = 0; i < n; i++)
		sum += i % 2 ? p[i] : (uint32_t)p[i] << 8;
	return sum;
}

static uint16_t fold(uint32_t sum)
{
	while (sum >> 16)
		sum = (sum & 0xffff) + (sum >> 16);
	return (uint16_t)sum;
}

static void put16(uint8_t *p, uint16_t v)
{
	p[0] = (uint8_t)(v >> 8);
	p[1] = (uint8_t)v;
}

static void add_l4(struct built *b, uint8_t proto, uint32_t payload)
{
	uint32_t head = proto == 6 ? 20 : 8;

	b->proto = proto;
	b->l4 = b->len;
	b->l4_len = head + payload;
	b->sum_at = b->l4 + (proto == 6 ? 16 : 6);
	for (uint32_t i = 0; i < b->l4_len; i++)
		b->f[b->l4 + i] = (uint8_t)(i * 7 + 3);
	if (proto == 6)
		b->f[b->l4 + 12] = 0x50;
	else
		put16(b->f + b->l4 + 4, (uint16_t)b->l4_len);
	b->len += b->l4_len;
}

/* Writes the checksum as a sender does that leaves it to its card. */
static void leave_partial(struct built *b)
{
	put16(b->f + b->sum_at, fold(b->pseudo));
}

static struct built make4(unsigned tags, uint32_t options, uint8_t proto, uint32_t payload)
{
	struct built b = {.len = 12};
	uint8_t *ip;

	for (unsigned i = 0; i < tags; i++) {
		put16(b.f + b.len, i == 0 && tags == 2 ? 0x88a8 : 0x8100);
		put16(b.f + b.len + 2, (uint16_t)(i + 5));
		b.len += 4;
	}
	put16(b.f + b.len, 0x0800);
	b.len += 2;
	ip = b.f + b.len;
	b.len += 20 + options;
	ip[0] = (uint8_t)(0x45 + options / 4);
	ip[9] = proto;
	memcpy(ip + 12, "\x0a\x01\x02\x03\xc0\xa8\x01\x09", 8);
	add_l4(&b, proto, payload);
	put16(ip + 2, (uint16_t)(20 + options + b.l4_len));
	b.pseudo = add_words(ip + 12, 8, proto + b.l4_len);
	leave_partial(&b);
	return b;
}

static struct built make6(unsigned extensions, uint8_t proto, uint32_t payload)
{
	struct built b = {.len = 12};
	uint32_t l4;
	uint8_t *ip;

	put16(b.f + 12, 0x86dd);
	b.len = 14;
	ip = b.f + b.len;
	b.len += 40;
	ip[0] = 0x60;
	ip[6] = extensions ? 0 : proto;
	for (unsigned i = 0; i < 32; i++)
		ip[8 + i] = (uint8_t)(0x20 + i);
	for (unsigned i = 0; i < extensions; i++) {
		b.f[b.len] = i + 1 < extensions ? 60 : proto;
		b.f[b.len + 1] = 1;
		b.len += 16;
	}
	l4 = b.len;
	add_l4(&b, proto, payload);
	put16(ip + 4, (uint16_t)(b.len - 54));
	assert_int_equal(l4, b.l4);
	b.pseudo = add_words(ip + 8, 32, proto + b.l4_len);
	leave_partial(&b);
	return b;
}

/* An mbuf over a block of exactly n bytes. */
static bool complete(const uint8_t *f, uint32_t n, uint8_t *after)
{
	struct rte_mbuf m = {.nb_segs = 1};
	uint8_t *block = malloc(n ? n : 1);
	bool changed;

	assert_non_null(block);
	memcpy(block, f, n);
	m.buf_addr = block;
	m.buf_len = m.data_len = (uint16_t)n;
	m.pkt_len = n;
	changed = bp_partial_checksum_complete(&m);
	if (after)
		memcpy(after, block, n);
	if (!changed)
		assert_memory_equal(block, f, n);
	free(block);
	return changed;
}

static void expect_completed(const struct built *b)
{
	uint8_t after[FRAME_MAX], want[FRAME_MAX];
	uint32_t sum = b->pseudo;
	uint16_t checksum;

	memcpy(want, b->f, b->len);
	put16(want + b->sum_at, 0);
	checksum = (uint16_t)~fold(add_words(want + b->l4, b->l4_len, sum));
	if (checksum == 0 && b->proto == 17)
		checksum = 0xffff;
	put16(want + b->sum_at, checksum);
	assert_true(complete(b->f, b->len, after));
	assert_memory_equal(after, want, b->len);
}

static void partial_checksums_are_completed(void **state)
{
	static const uint32_t payloads[] = {0, 1, 2, 9, 100, 101};
	static const uint8_t protocols[] = {6, 17};

	for (unsigned k = 0; k < 2; k++) {
		for (unsigned i = 0; i < sizeof(payloads) / sizeof(payloads[0]); i++) {
			for (unsigned tags = 0; tags <= 2; tags++) {
				struct built b = make4(tags, tags * 8, protocols[k], payloads[i]);

				expect_completed(&b);
			}
			for (unsigned ext = 0; ext <= 4; ext++) {
				struct built b = make6(ext, protocols[k], payloads[i]);

				expect_completed(&b);
			}
		}
	}
}

/* Padding after a short datagram is no part of it. */
static void ignores_padding(void **state)
{
	struct built b = make4(0, 0, 17, 1);

	memset(b.f + b.len, 0xee, 20);
	b.len += 20;
	expect_completed(&b);
}

/* UDP may not say 0, which means "no checksum". */
static void udp_zero_is_sent_as_ones(void **state)
{
	struct built b = make4(0, 0, 17, 2);
	uint8_t after[FRAME_MAX];
	uint16_t rest;

	/* choose the payload so that all adds up to 0xffff */
	put16(b.f + b.l4 + 8, 0);
	rest = fold(add_words(b.f + b.l4, b.l4_len, 0));
	put16(b.f + b.l4 + 8, (uint16_t)~rest);
	assert_true(complete(b.f, b.len, after));
	assert_memory_equal(after + b.sum_at, "\xff\xff", 2);
}

static void leaves_the_rest_alone(void **state)
{
	struct built b = make4(0, 0, 6, 10), whole = b;

	b.f[b.sum_at] ^= 1; /* wrong, but not partial */
	assert_false(complete(b.f, b.len, NULL));
	b = make4(0, 0, 17, 10);
	put16(b.f + b.sum_at, 0); /* UDP without checksum */
	assert_false(complete(b.f, b.len, NULL));
	b = whole;
	put16(b.f + 20, 0x2000); /* a fragment */
	assert_false(complete(b.f, b.len, NULL));
	b = whole;
	put16(b.f + 20, 0x0001);
	assert_false(complete(b.f, b.len, NULL));
	b = whole;
	b.f[23] = 132; /* SCTP */
	assert_false(complete(b.f, b.len, NULL));
	b = make4(0, 0, 6, 10);
	put16(b.f + 12, 0x0806);
	assert_false(complete(b.f, b.len, NULL));
	b = make6(9, 6, 4); /* more extension headers than are followed */
	assert_false(complete(b.f, b.len, NULL));
}

/* Every prefix of a valid frame, and every change of one byte, is handled safely; truncated frames
 * are never changed.
 */
static void damaged_frames_are_tolerated(void **state)
{
	struct built b[] = {
		make4(0, 0, 6, 20), make4(2, 8, 17, 20), make6(0, 17, 20), make6(2, 6, 20)};

	for (unsigned k = 0; k < 4; k++) {
		for (uint32_t n = 0; n < b[k].len; n++)
			assert_false(complete(b[k].f, n, NULL));
		for (uint32_t i = 12; i < b[k].len; i++) {
			for (unsigned v = 0; v < 256; v++) {
				struct built lie = b[k];

				lie.f[i] = (uint8_t)v;
				complete(lie.f, lie.len, NULL);
			}
		}
	}
}

/* The same frame in two buffers, cut at `cut`, by the same rules whether or not the headers are in
 * the first. */
static void make_chain(struct rte_mbuf m[2], uint8_t *f, uint32_t n, uint32_t cut)
{
	memset(m, 0, 2 * sizeof(*m));
	m[0].buf_addr = f;
	m[0].buf_len = m[0].data_len = (uint16_t)cut;
	m[1].buf_addr = f + cut;
	m[1].buf_len = m[1].data_len = (uint16_t)(n - cut);
	m[0].pkt_len = n;
	m[0].nb_segs = 2;
	m[1].nb_segs = 1;
	m[0].next = &m[1];
}

static void completes_at_every_cut(void **state)
{
	const struct built all[] = {make4(0, 0, 6, 51), make4(2, 8, 17, 50), make6(2, 6, 33)};

	for (unsigned k = 0; k < sizeof(all) / sizeof(all[0]); k++) {
		const struct built *b = &all[k];
		uint8_t want[FRAME_MAX];

		assert_true(complete(b->f, b->len, want));
		for (uint32_t cut = 1; cut < b->len; cut++) {
			uint8_t f[FRAME_MAX];
			struct rte_mbuf m[2];

			memcpy(f, b->f, b->len);
			make_chain(m, f, b->len, cut);
			if (!bp_partial_checksum_complete(m))
				fail_msg("frame %u, cut at %u", k, cut);
			assert_memory_equal(f, want, b->len);
		}
	}
}

static enum bp_partial leave(const struct built *b, struct rte_mbuf *m, uint8_t *f)
{
	memcpy(f, b->f, b->len);
	*m = (struct rte_mbuf){.nb_segs = 1, .pkt_len = b->len, .buf_addr = f};
	m->buf_len = m->data_len = (uint16_t)b->len;
	return bp_partial_checksum_leave(m);
}

/* The offload request to a device, which gets the frame unchanged. */
static void checksum_is_left_to_the_device(void **state)
{
	const struct {
		struct built b;
		uint64_t flags;
		unsigned l2, l3;
	} rows[] = {
		{make4(0, 0, 6, 10), RTE_MBUF_F_TX_IPV4 | RTE_MBUF_F_TX_TCP_CKSUM, 14, 20},
		{make4(1, 0, 17, 10), RTE_MBUF_F_TX_IPV4 | RTE_MBUF_F_TX_UDP_CKSUM, 18, 20},
		{make4(2, 16, 6, 10), RTE_MBUF_F_TX_IPV4 | RTE_MBUF_F_TX_TCP_CKSUM, 22, 36},
		{make6(0, 17, 10), RTE_MBUF_F_TX_IPV6 | RTE_MBUF_F_TX_UDP_CKSUM, 14, 40},
	};
	uint8_t f[FRAME_MAX];
	struct rte_mbuf m;

	for (unsigned i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		assert_int_equal(leave(&rows[i].b, &m, f), BP_PARTIAL_LEFT);
		assert_int_equal(m.ol_flags, rows[i].flags);
		assert_int_equal(m.l2_len, rows[i].l2);
		assert_int_equal(m.l3_len, rows[i].l3);
		assert_memory_equal(f, rows[i].b.f, rows[i].b.len);
	}
}

/* Checksums that devices may not support are completed in software, and complete ones are
 * unchanged. */
static void only_valid_fast_packets_take_the_fast_path(void **state)
{
	struct built b = make6(1, 6, 10);
	uint8_t f[FRAME_MAX], want[FRAME_MAX];
	struct rte_mbuf m[2];

	assert_true(complete(b.f, b.len, want));
	assert_int_equal(leave(&b, m, f), BP_PARTIAL_COMPLETED);
	assert_memory_equal(f, want, b.len);
	assert_int_equal(m[0].ol_flags, 0);

	b = make4(0, 0, 6, 40);
	assert_true(complete(b.f, b.len, want));
	memcpy(f, b.f, b.len);
	make_chain(m, f, b.len, b.l4 + 19);
	assert_int_equal(bp_partial_checksum_leave(m), BP_PARTIAL_COMPLETED);
	assert_memory_equal(f, want, b.len);
	memcpy(f, b.f, b.len);
	make_chain(m, f, b.len, b.l4 + 20);
	assert_int_equal(bp_partial_checksum_leave(m), BP_PARTIAL_LEFT);

	b.f[b.sum_at] ^= 1;
	assert_int_equal(leave(&b, m, f), BP_PARTIAL_NONE);
	assert_int_equal(m[0].ol_flags, 0);
	assert_memory_equal(f, b.f, b.len);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(partial_checksums_are_completed),
		cmocka_unit_test(ignores_padding),
		cmocka_unit_test(udp_zero_is_sent_as_ones),
		cmocka_unit_test(leaves_the_rest_alone),
		cmocka_unit_test(damaged_frames_are_tolerated),
		cmocka_unit_test(completes_at_every_cut),
		cmocka_unit_test(checksum_is_left_to_the_device),
		cmocka_unit_test(only_valid_fast_packets_take_the_fast_path),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
