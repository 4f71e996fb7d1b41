/* SPDX-License-Identifier: BSD-3-Clause */
#include "tests/unit/services/aggregation/udp_frame.h"

#include "services/aggregation/copy_sum.h"
#include "services/aggregation/datagram.h"
#include "proto/net/sum_carry.h"
#include "tests/unit/times.h"

/* Datagrams read and written, against what udp_frame.h makes of the same by the RFCs. */

static struct udp random_datagram(uint64_t *seed)
{
	const uint64_t r = next_random(seed);
	struct udp u = {.family = r & 1 ? 6 : 4,
		.n_tags = (uint8_t)((r >> 1) % 3 * 4),
		.tos = (uint8_t)(r >> 8),
		.hops = (uint8_t)(r >> 16),
		.sport = (uint16_t)(r >> 24),
		.dport = (uint16_t)(r >> 40),
		.len = (uint16_t)(r >> 56)};

	for (unsigned i = 0; i < 12; i++)
		u.macs[i] = (uint8_t)next_random(seed);
	for (unsigned i = 0; i < u.n_tags; i++)
		u.tags[i] = (uint8_t)next_random(seed);
	for (unsigned i = 0; i < u.n_tags; i += 4)
		put(u.tags + i, 2, next_random(seed) & 1 ? 0x8100 : 0x88a8);
	for (unsigned i = 0; i < (u.family == 4 ? 4 : 16); i++) {
		u.src[i] = (uint8_t)next_random(seed);
		u.dst[i] = (uint8_t)next_random(seed);
	}
	u.id = (uint16_t)next_random(seed);
	u.dont_fragment = u.family == 4 && (next_random(seed) & 1);
	for (unsigned i = 0; i < u.len; i++)
		u.payload[i] = (uint8_t)next_random(seed);
	return u;
}

static void written_values_are_read(void **state)
{
	uint64_t seed = 0x9e3779b97f4a7c15;
	uint8_t frame[FRAME_MOST];

	for (unsigned round = 0; round < TEST_TIMES(20000); round++) {
		struct udp u = random_datagram(&seed);
		const unsigned bytes = u.family == 4 ? 4 : 16, len = udp_write(&u, frame);
		uint8_t *exact = exact_copy(frame, len);
		struct bp_datagram d;

		assert_true(bp_datagram_parse(exact, len, len, &d));
		assert_int_equal(d.family, u.family);
		assert_int_equal(d.l3, 14 + u.n_tags);
		assert_int_equal(d.tos, u.tos);
		assert_int_equal(d.hops, u.hops);
		assert_int_equal(d.sport, u.sport);
		assert_int_equal(d.dport, u.dport);
		assert_int_equal(d.dont_fragment, u.dont_fragment);
		assert_memory_equal(bp_datagram_src(&d), u.src, bytes);
		assert_memory_equal(bp_datagram_dst(&d), u.dst, bytes);
		assert_false(bp_datagram_has_options(&d));
		assert_true(bp_datagram_lengths_ok(&d));
		assert_int_equal(bp_datagram_payload_len(&d), u.len);
		assert_memory_equal(bp_datagram_payload(&d), u.payload, u.len);
		assert_true(bp_datagram_ip_ok(&d));
		assert_true(bp_datagram_has_checksum(&d));
		assert_true(bp_datagram_udp_ok(&d, bp_datagram_payload_sum(&d)));
		free(exact);
	}
}

/* Headers of every kind; sometimes with a payload that gives checksum 0. */
static void headers_and_checksums_are_written(void **state)
{
	uint64_t seed = 0x2545f4914f6cdd1d;
	uint8_t frame[FRAME_MOST], head[48];
	unsigned zeros = 0;

	for (unsigned round = 0; round < TEST_TIMES(20000); round++) {
		struct udp u = random_datagram(&seed);
		const unsigned ip = 14 + u.n_tags, head_len = bp_datagram_head_len(u.family);
		const struct bp_datagram_head h = {u.src, u.dst, u.sport, u.dport, u.id, u.family,
			u.tos, u.hops, u.dont_fragment};
		unsigned check;

		udp_write(&u, frame);
		if (round % 4 == 0 && u.len >= 2) {
			/* what the checksum is, added to the first word, makes it 0 */
			check = get(frame + ip + head_len - 2, 2) + get(u.payload, 2);
			put(u.payload, 2, (check & 0xffff) + (check >> 16));
			udp_write(&u, frame);
		}
		zeros += get(frame + ip + head_len - 2, 2) == 0xffff;
		memset(head, 0xa5, sizeof(head));
		bp_datagram_put_head(head, &h, u.len, bp_sum(u.payload, u.len, 0));
		assert_memory_equal(head, frame + ip, head_len);
		for (unsigned i = head_len; i < sizeof(head); i++)
			assert_int_equal(head[i], 0xa5);
	}
	assert_true(zeros > TEST_TIMES(4000));
}

/* For any frame and length: no read after its end, and both parsers of a plain frame have the same
 * result. */
static void damaged_and_cut(void **state)
{
	uint64_t seed = 0xd1342543de82ef95;
	uint8_t frame[FRAME_MOST];
	unsigned read = 0;

	for (unsigned round = 0; round < TEST_TIMES(40000); round++) {
		struct udp u = random_datagram(&seed);
		const unsigned whole = udp_write(&u, frame);
		const unsigned len = next_random(&seed) % 2 ? whole : next_random(&seed) % whole;
		struct bp_datagram d, general;
		uint8_t *exact;
		bool found;

		for (unsigned i = next_random(&seed) % 4; i != 0; i--)
			frame[12 + next_random(&seed) % 40] = (uint8_t)next_random(&seed);
		exact = exact_copy(frame, len);
		found = bp_datagram_parse(exact, len, whole, &d);
		assert_int_equal(bp_datagram_parse_general(exact, len, whole, &general), found);
		if (found) {
			read++;
			assert_int_equal(d.l3, general.l3);
			assert_int_equal(d.l4, general.l4);
			assert_int_equal(d.l4_len, general.l4_len);
			assert_int_equal(d.sport, general.sport);
			assert_int_equal(d.dport, general.dport);
			assert_int_equal(d.family, general.family);
			assert_int_equal(d.tos, general.tos);
			assert_int_equal(d.hops, general.hops);
			assert_int_equal(d.dont_fragment, general.dont_fragment);
			assert_true(d.l4 + 8u <= len);
			(void)bp_datagram_ip_ok(&d);
			(void)bp_datagram_has_checksum(&d);
			if (bp_datagram_lengths_ok(&d)) {
				assert_int_equal(len, whole);
				assert_true(bp_datagram_payload(&d) + bp_datagram_payload_len(&d) <=
					    exact + len);
				(void)bp_datagram_udp_ok(&d, bp_datagram_payload_sum(&d));
			}
		}
		free(exact);
	}
	assert_true(read > TEST_TIMES(10000));
}

/* By itself: gcc takes lengths for possible that cannot be where it knows the buffers' sizes. */
static __attribute__((noinline)) uint64_t copied(uint8_t *to, const uint8_t *from, unsigned len)
{
	return bp_copy_and_sum(to, from, len);
}

/* All variants of the checksum, with carries and any length. */
static void checksum_variants_are_equal(void **state)
{
	uint64_t seed = 0x9e6c63d0876a9a35;

	for (unsigned round = 0; round < TEST_TIMES(20000); round++) {
		const unsigned len = (unsigned)(next_random(&seed) % 80);
		uint8_t from[80], six[48], to[96], *exact;
		uint64_t w[6], sum;

		for (unsigned i = 0; i < 10; i++) {
			const uint64_t r = next_random(&seed);

			put(from + 8 * i, 8, r & 3 ? r : r & 4 ? UINT64_MAX : 0);
		}
		memcpy(six, from, 48);
		for (unsigned i = 0; i < 6; i++)
			w[i] = bp_sum_word(six + 8 * i);
		sum = bp_sum_six(w[0], w[1], w[2], w[3], w[4], w[5]);
		assert_int_equal(__builtin_bswap16(bp_sum_fold(sum)), plain_sum(six, 48, 0));
		exact = exact_copy(from, len);
		memset(to, 0xee, sizeof(to));
		sum = copied(to, exact, len);
		assert_int_equal(__builtin_bswap16(bp_sum_fold(sum)), plain_sum(from, len, 0));
		for (unsigned i = 0; i < sizeof(to); i++)
			assert_int_equal(to[i], i < len ? from[i] : 0xee);
		free(exact);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(written_values_are_read),
		cmocka_unit_test(headers_and_checksums_are_written),
		cmocka_unit_test(checksum_variants_are_equal),
		cmocka_unit_test(damaged_and_cut),
	};

	return cmocka_run_group_tests_name("datagram", tests, NULL, NULL);
}
