/* SPDX-License-Identifier: BSD-3-Clause */
/* ARP, neighbor discovery and the IPv4 header, against bytes written out and a plain checksum. */
#include "tests/unit/proto/exact.h"

#include <string.h>

#include "proto/net/arp.h"
#include "proto/net/ip.h"
#include "proto/net/nd.h"

static const uint8_t our_mac[6] = {0x02, 0, 0, 0, 0, 0x99};

/* 10.1.0.2 at 02:00:00:00:00:02 asks for 10.1.0.1 */
static const uint8_t arp_request[42] = {0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x02, 0, 0, 0, 0, 0x02,
	0x08, 0x06, 0x00, 0x01, 0x08, 0x00, 6, 4, 0x00, 0x01, 0x02, 0, 0, 0, 0, 0x02, 10, 1, 0, 2,
	0, 0, 0, 0, 0, 0, 10, 1, 0, 1};
static const uint8_t arp_reply[42] = {0x02, 0, 0, 0, 0, 0x02, 0x02, 0, 0, 0, 0, 0x99, 0x08, 0x06,
	0x00, 0x01, 0x08, 0x00, 6, 4, 0x00, 0x02, 0x02, 0, 0, 0, 0, 0x99, 10, 1, 0, 1, 0x02, 0, 0,
	0, 0, 0x02, 10, 1, 0, 2};

/* fd01::2 asks fd01::1 through its solicited-node group; source option; checksum not filled in */
static const uint8_t solicitation[86] = {0x33, 0x33, 0xff, 0, 0, 0x01, 0x02, 0, 0, 0, 0, 0x02, 0x86,
	0xdd, 0x60, 0, 0, 0, 0, 32, 58, 255, 0xfd, 0x01, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
	0x02, 0xff, 0x02, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0x01, 0xff, 0, 0, 0x01, 135, 0, 0, 0, 0, 0, 0,
	0, 0xfd, 0x01, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0x01, 1, 1, 0x02, 0, 0, 0, 0, 0x02};

/* The Internet checksum as RFC 1071 says it, over bytes, big endian; 0 over data that has it right.
 */
static uint16_t plain_checksum(const uint8_t *p, size_t len, uint32_t sum)
{
	for (size_t i = 0; i < len; i++)
		sum += i & 1 ? p[i] : (uint32_t)p[i] << 8;
	while (sum >> 16)
		sum = (sum & 0xffff) + (sum >> 16);
	return (uint16_t)~sum;
}

static uint16_t icmp6_checksum(const uint8_t *frame, uint32_t icmp_len)
{
	uint32_t sum = icmp_len + 58;

	sum += (uint16_t)~plain_checksum(frame + 14 + 8, 32, 0);
	return plain_checksum(frame + 54, icmp_len, sum);
}

static void solicitation_make(uint8_t out[86])
{
	uint16_t check;

	memcpy(out, solicitation, 86);
	check = icmp6_checksum(out, 32);
	out[56] = (uint8_t)(check >> 8);
	out[57] = (uint8_t)check;
}

static void arp_is_answered(void **state)
{
	uint8_t f[42];
	const uint8_t *target;

	memcpy(f, arp_request, 42);
	assert_true(bp_arp_is_request(f, 42, &target));
	assert_memory_equal(target, "\x0a\x01\x00\x01", 4);
	bp_arp_write_reply(f, our_mac);
	assert_memory_equal(f, arp_reply, 42);
	/* a reply is not answered */
	assert_false(bp_arp_is_request(f, 42, &target));
}

static void arp_that_is_no_request_for_ip4(void **state)
{
	static const uint8_t at[] = {12, 13, 14, 15, 16, 17, 18, 19, 20, 21};
	const uint8_t *target;

	for (uint32_t len = 0; len < 42; len++) {
		uint8_t *p = exact_copy(arp_request, len);

		assert_false(bp_arp_is_request(p, len, &target));
		free(p);
	}
	for (size_t i = 0; i < sizeof(at); i++) {
		uint8_t f[42];

		memcpy(f, arp_request, 42);
		f[at[i]] ^= 0x20;
		assert_false(bp_arp_is_request(f, 42, &target));
	}
}

static void solicitation_is_answered(void **state)
{
	uint8_t f[86];
	const uint8_t *target;

	solicitation_make(f);
	assert_true(bp_nd_is_solicitation(f, 86, &target));
	assert_ptr_equal(target, f + 62);
	bp_nd_write_advertisement(f, our_mac);
	assert_memory_equal(f, "\x02\0\0\0\0\x02\x02\0\0\0\0\x99\x86\xdd", 14);
	assert_int_equal(bp_be16(f + 18), 32);
	assert_int_equal(f[21], 255);
	assert_memory_equal(f + 22, solicitation + 62, 16); /* from the address asked for */
	assert_memory_equal(f + 38, solicitation + 22, 16);
	assert_int_equal(f[54], 136);
	assert_int_equal(f[58], 0xe0); /* router, solicited, override */
	assert_memory_equal(f + 62, solicitation + 62, 16);
	assert_memory_equal(f + 78, "\x02\x01\x02\0\0\0\0\x99", 8);
	assert_int_equal(icmp6_checksum(f, 32), 0);
}

/* Duplicate address detection: no source address, no option. */
static void solicitation_from_unspecified(void **state)
{
	uint8_t f[86];
	const uint8_t *target;
	uint16_t check;

	memcpy(f, solicitation, 86);
	memset(f + 22, 0, 16);
	check = icmp6_checksum(f, 32);
	f[56] = (uint8_t)(check >> 8);
	f[57] = (uint8_t)check;
	assert_false(bp_nd_is_solicitation(f, 86, &target)); /* says a MAC of no address */
	f[19] = 24;
	f[56] = f[57] = 0;
	check = icmp6_checksum(f, 24);
	f[56] = (uint8_t)(check >> 8);
	f[57] = (uint8_t)check;
	assert_true(bp_nd_is_solicitation(f, 78, &target));
	bp_nd_write_advertisement(f, our_mac);
	assert_memory_equal(f, "\x33\x33\0\0\0\x01", 6);
	assert_memory_equal(f + 38, "\xff\x02\0\0\0\0\0\0\0\0\0\0\0\0\0\x01", 16);
	assert_int_equal(f[58], 0xa0); /* no one asked by name */
	assert_int_equal(icmp6_checksum(f, 32), 0);
}

static void solicitation_that_must_be_discarded(void **state)
{
	const uint8_t *target;
	uint8_t f[86];

	solicitation_make(f);
	for (uint32_t len = 0; len < 86; len++) {
		uint8_t *p = exact_copy(f, len);

		assert_false(bp_nd_is_solicitation(p, len, &target));
		free(p);
	}
	/* any bit of it that the checksum covers, and those of the header that it does not */
	for (uint32_t bit = 18 * 8; bit < 86 * 8; bit++) {
		f[bit / 8] ^= (uint8_t)(1u << bit % 8);
		assert_false(bp_nd_is_solicitation(f, 86, &target));
		f[bit / 8] ^= (uint8_t)(1u << bit % 8);
	}
	assert_true(bp_nd_is_solicitation(f, 86, &target));
	f[6] |= 1; /* no station sends from a group: the answer would go to all of it */
	assert_false(bp_nd_is_solicitation(f, 86, &target));
}

static void ttl_and_checksum_go_together(void **state)
{
	uint32_t x = 1;

	for (unsigned round = 0; round < 200000; round++) {
		uint8_t h[20];
		uint16_t check;

		for (unsigned i = 0; i < 20; i++) {
			x = x * 1664525 + 1013904223;
			h[i] = (uint8_t)(x >> 24);
		}
		h[10] = h[11] = 0;
		if (h[8] == 0)
			h[8] = 1;
		if (round % 16 == 0) /* sums at the edge of one's complement */
			memset(h + 12, 0xff, 8);
		check = plain_checksum(h, 20, 0);
		h[10] = (uint8_t)(check >> 8);
		h[11] = (uint8_t)check;
		assert_true(bp_ip4_checksum_ok20(h));
		bp_ip4_decrement_ttl(h);
		assert_int_equal(plain_checksum(h, 20, 0), 0);
		assert_true(bp_ip4_checksum_ok20(h));
		h[16] ^= 1;
		assert_false(bp_ip4_checksum_ok20(h));
	}
}

static void kinds_of_addresses(void **state)
{
	static const uint8_t v4[16] = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 10, 0, 0, 1};
	static const uint8_t one[16] = {[15] = 1}, none[16] = {0}, wide[16] = {0, 0x64, 0xff, 0x9b};

	assert_int_equal(bp_ip4_kind(0), BP_IP4_MARTIAN);
	assert_int_equal(bp_ip4_kind(1), BP_IP4_UNICAST);
	assert_int_equal(bp_ip4_kind(126), BP_IP4_UNICAST);
	assert_int_equal(bp_ip4_kind(127), BP_IP4_MARTIAN);
	assert_int_equal(bp_ip4_kind(128), BP_IP4_UNICAST);
	assert_int_equal(bp_ip4_kind(223), BP_IP4_UNICAST);
	assert_int_equal(bp_ip4_kind(224), BP_IP4_MULTICAST);
	assert_int_equal(bp_ip4_kind(239), BP_IP4_MULTICAST);
	assert_int_equal(bp_ip4_kind(240), BP_IP4_MARTIAN);
	assert_int_equal(bp_ip4_kind(255), BP_IP4_MARTIAN);
	assert_true(bp_ip6_is_martian(v4));
	assert_true(bp_ip6_is_martian(one));
	assert_true(bp_ip6_is_martian(none));
	assert_false(bp_ip6_is_martian(wide)); /* 64:ff9b::/96 is forwarded (RFC 6052) */
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(arp_is_answered),
		cmocka_unit_test(arp_that_is_no_request_for_ip4),
		cmocka_unit_test(solicitation_is_answered),
		cmocka_unit_test(solicitation_from_unspecified),
		cmocka_unit_test(solicitation_that_must_be_discarded),
		cmocka_unit_test(ttl_and_checksum_go_together),
		cmocka_unit_test(kinds_of_addresses),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
