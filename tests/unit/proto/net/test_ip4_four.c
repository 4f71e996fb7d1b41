/* SPDX-License-Identifier: BSD-3-Clause */
/* Four frames at once against a judgement of one that is written down field by field. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "proto/net/ip4_four.h"

#define SHORTEST 60u
#define MAC 0x0605040302aaull /* aa:02:03:04:05:06 */

struct frame {
	uint8_t bytes[BP_IP4_FOUR_READS];
	uint32_t len, first;
};

/* The 16-bit word at p, as on the wire. */
static uint32_t word(const uint8_t *p)
{
	return (uint32_t)p[0] << 8 | p[1];
}

static uint16_t checksum_of(const uint8_t *h)
{
	uint32_t sum = 0;

	for (unsigned i = 0; i < BP_IP4_HDR; i += 2)
		sum += i == 10 ? 0 : word(h + i);
	while (sum >> 16)
		sum = (sum & 0xffff) + (sum >> 16);
	return (uint16_t)~sum;
}

static void seal(struct frame *f)
{
	uint16_t c = checksum_of(f->bytes + BP_ETHER_HDR);

	f->bytes[BP_ETHER_HDR + 10] = (uint8_t)(c >> 8);
	f->bytes[BP_ETHER_HDR + 11] = (uint8_t)c;
}

static void default_settings(struct frame *f)
{
	static const uint8_t head[] = {0xaa, 2, 3, 4, 5, 6, 9, 9, 9, 9, 9, 9, 8, 0};
	uint8_t *h = f->bytes + BP_ETHER_HDR;

	memcpy(f->bytes, head, sizeof(head));
	for (unsigned i = 0; i < BP_IP4_HDR; i++)
		h[i] = (uint8_t)rand();
	h[0] = 0x45;
	f->len = f->first = BP_ETHER_HDR + BP_IP4_HDR + (uint32_t)rand() % 1480;
	h[2] = (uint8_t)((f->len - BP_ETHER_HDR) >> 8);
	h[3] = (uint8_t)(f->len - BP_ETHER_HDR);
	h[8] = (uint8_t)(2 + rand() % 254);
	h[12] = (uint8_t)(1 + rand() % 126);
	h[16] = (uint8_t)(128 + rand() % 96);
	if (h[16] == 169 && h[17] == 254)
		h[17] = 253;
	seal(f);
}

/* One change, of a kind that may or may not matter. */
static void spoil(struct frame *f)
{
	uint8_t *h = f->bytes + BP_ETHER_HDR;
	static const uint8_t edges[] = {0, 1, 126, 127, 128, 223, 224, 239, 240, 255};

	switch (rand() % 10) {
	case 0: /* an address, its checksum right */
		h[rand() % 2 ? 12 : 16] = edges[(unsigned)rand() % sizeof(edges)];
		seal(f);
		break;
	case 1: /* the last hops */
		h[8] = (uint8_t)(rand() % 4);
		seal(f);
		break;
	case 2: /* a wrong length, or padding */
		f->len = f->first = f->len + (uint32_t)(rand() % 5) - 2;
		break;
	case 3: /* around the shortest frame */
		f->len = f->first = SHORTEST - 2 + (uint32_t)rand() % 4;
		h[2] = 0;
		h[3] = (uint8_t)(rand() % 50);
		seal(f);
		break;
	case 4: /* in pieces */
		f->first = (uint32_t)rand() % (2 * BP_IP4_FOUR_READS);
		break;
	case 5: /* a bit of what was read */
		f->bytes[(unsigned)rand() % sizeof(f->bytes)] ^= (uint8_t)(1 << rand() % 8);
		break;
	case 6: /* options, and no header at all */
		h[0] = (uint8_t)(0x40 | rand() % 16);
		seal(f);
		break;
	case 7: /* a checksum that is right but not the one that a sender computes */
		memset(h + 10, 0xff, 2);
		break;
	case 8: /* link-local, or nearly */
		memcpy(h + (rand() % 2 ? 12 : 16), rand() % 4 ? "\xa9\xfe" : "\xa9\xfd", 2);
		seal(f);
		break;
	default: /* more bits */
		for (unsigned i = 0; i < 4; i++)
			f->bytes[(unsigned)rand() % sizeof(f->bytes)] = (uint8_t)rand();
	}
}

static bool sums_up(const uint8_t *h)
{
	uint32_t sum = 0;

	for (unsigned i = 0; i < BP_IP4_HDR; i += 2)
		sum += word(h + i);
	while (sum >> 16)
		sum = (sum & 0xffff) + (sum >> 16);
	return sum == 0xffff;
}

static bool is_usual(const struct frame *f, uint64_t mac)
{
	const uint8_t *h = f->bytes + BP_ETHER_HDR;
	uint32_t end = BP_ETHER_HDR + word(h + 2);

	for (unsigned i = 0; i < 6; i++)
		if (f->bytes[i] != (uint8_t)(mac >> 8 * i))
			return false;
	return word(f->bytes + 12) == 0x0800 && h[0] == 0x45 && f->first >= BP_IP4_FOUR_READS &&
	       end >= BP_IP4_FOUR_READS &&
	       (end == f->len || (end < f->len && f->len <= SHORTEST)) && sums_up(h) && h[8] >= 2 &&
	       bp_ip4_kind(h[12]) == BP_IP4_UNICAST && bp_ip4_kind(h[16]) == BP_IP4_UNICAST &&
	       !bp_ip4_is_link_local(h + 12) && !bp_ip4_is_link_local(h + 16);
}

/* The output: TTL decremented, checksum correct, and no other change. */
static void check_hop(const struct frame *f, uint32_t hop)
{
	uint8_t h[BP_IP4_HDR];

	memcpy(h, f->bytes + BP_ETHER_HDR, sizeof(h));
	memcpy(h + BP_IP4_TTL, &hop, 4);
	assert_int_equal(h[8], f->bytes[BP_ETHER_HDR + 8] - 1);
	assert_int_equal(h[9], f->bytes[BP_ETHER_HDR + 9]);
	assert_true(sums_up(h));
	/* and it is what is written for one packet alone */
	memcpy(h, f->bytes + BP_ETHER_HDR, sizeof(h));
	bp_ip4_decrement_ttl(h);
	assert_memory_equal(h + BP_IP4_TTL, &hop, 4);
}

static uint32_t evaluate(struct frame f[4], const uint64_t mac[4])
{
	uint32_t src[4], dst[4], total[4], hop[4], mask;
	const uint8_t *bytes[4];
	bp_v16 head[4];
	const bp_v16 *expect[4];
	bp_v4 len, first;

	for (unsigned i = 0; i < 4; i++) {
		bytes[i] = f[i].bytes;
		head[i] = mac[i] == UINT64_MAX ? bp_ip4_expect_none() : bp_ip4_expect(mac[i]);
		expect[i] = &head[i];
		len[i] = f[i].len;
		first[i] = f[i].first;
	}
	mask = bp_ip4_four(bytes, expect, len, first, SHORTEST, src, dst, total, hop);
	for (unsigned i = 0; i < 4; i++) {
		const uint8_t *h = f[i].bytes + BP_ETHER_HDR;

		if (!(mask >> i & 1))
			continue;
		assert_memory_equal(&src[i], h + 12, 4);
		assert_int_equal(dst[i], word(h + 16) << 16 | word(h + 18));
		assert_int_equal(total[i], word(h + 2));
		check_hop(&f[i], hop[i]);
	}
	return mask;
}

static void burst_equals_single_steps(void **state)
{
	uint32_t seen[2] = {0, 0};

	(void)state;
	srand(7);
	for (unsigned round = 0; round < 300000; round++) {
		static const uint64_t macs[4] = {MAC, MAC, MAC, MAC};
		struct frame f[4];
		uint32_t expected = 0;

		for (unsigned i = 0; i < 4; i++) {
			default_settings(&f[i]);
			for (int n = rand() % 3; n > 0; n--)
				spoil(&f[i]);
			expected |= (uint32_t)is_usual(&f[i], MAC) << i;
		}
		assert_int_equal(evaluate(f, macs), expected);
		seen[0] += 4 - (uint32_t)__builtin_popcount(expected);
		seen[1] += (uint32_t)__builtin_popcount(expected);
	}
	assert_true(seen[0] > 300000 && seen[1] > 300000); /* both kinds were there */
}

/* Each frame is asked for its own interface's MAC. */
static void macs_of_each(void **state)
{
	(void)state;
	for (unsigned wrong = 0; wrong < 16; wrong++) {
		struct frame f[4];
		uint64_t mac[4];

		for (unsigned i = 0; i < 4; i++) {
			default_settings(&f[i]);
			mac[i] = wrong >> i & 1 ? MAC + (1ull << 8 * (wrong % 6)) : MAC;
		}
		assert_int_equal(evaluate(f, mac), ~wrong & 15);
	}
}

/* An interface that is down takes nothing, whatever a frame's bytes are. */
static void interface_down_accepts_no_frame(void **state)
{
	static const uint64_t down[4] = {UINT64_MAX, UINT64_MAX, UINT64_MAX, UINT64_MAX};

	(void)state;
	for (unsigned fill = 0; fill < 256; fill++) {
		struct frame f[4];

		for (unsigned i = 0; i < 4; i++) {
			default_settings(&f[i]);
			memset(f[i].bytes, (int)fill, 12 - 4 * (i & 1));
		}
		assert_int_equal(evaluate(f, down), 0);
	}
}

/* Every sum that a header can have: the checksum of the hop is right at the carries too. */
static void every_checksum(void **state)
{
	static const uint64_t macs[4] = {MAC, MAC, MAC, MAC};

	(void)state;
	srand(8);
	for (uint32_t id = 0; id < 65536; id += 4) {
		struct frame f[4];

		for (unsigned i = 0; i < 4; i++) {
			default_settings(&f[i]);
			f[i].bytes[BP_ETHER_HDR + 4] = (uint8_t)((id + i) >> 8);
			f[i].bytes[BP_ETHER_HDR + 5] = (uint8_t)(id + i);
			if (i > 0) /* otherwise equal: every checksum occurs */
				memcpy(f[i].bytes + BP_ETHER_HDR + 6, f[0].bytes + BP_ETHER_HDR + 6,
					BP_IP4_HDR - 6);
			seal(&f[i]);
		}
		assert_int_equal(evaluate(f, macs), 15);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(burst_equals_single_steps),
		cmocka_unit_test(macs_of_each),
		cmocka_unit_test(interface_down_accepts_no_frame),
		cmocka_unit_test(every_checksum),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
