/* SPDX-License-Identifier: BSD-3-Clause */
#include "tests/unit/proto/aggregation/agg_read_exact.h"

#include "proto/net/crc32c.h"

/*
 * Aggregates of format full that are damaged, or have wrong fields. The changes are made by offsets
 * of docs/reference/aggregation-format.md.
 */

/* A right checksum for whatever header and directory say. */
static void seal(uint8_t *p, size_t directory)
{
	uint32_t crc = bp_crc32c_portable(BP_CRC32C_INIT, p, 12);

	bp_put_be32(p + 12, ~bp_crc32c_portable(crc, p + 16, directory));
}

/* Four messages: two senders, lengths 5, 5, 0, 300. */
struct packet {
	uint8_t room[1000];
	size_t len, directory;
	unsigned family;
};

static void make(struct packet *k, unsigned family)
{
	const unsigned bytes = family == 4 ? 4 : 16;
	static const uint8_t addresses[2][16] = {
		{0x20, 0x01, 0x0d, 0xb8, 0, 0, 0, 1, 0x10}, {0x20, 0x01, 0x0d, 0xb9, 0, 7}};
	uint8_t *p = k->room + 16;

	memset(k->room, 0, sizeof(k->room));
	memcpy(k->room, "\xfd\xa6\x10\x04\x00\x00\xab\xcd\x00\x00\x01\x02", 12);
	k->room[2] |= (uint8_t)family;
	*p++ = family == 4 ? 0x74 : 0x77;
	*p++ = 5;
	*p++ = 64;
	*p++ = 0x12;
	*p++ = 0x34;
	memcpy(p, addresses[0], bytes);
	p += bytes;
	*p++ = 0x08; /* only the port's second byte */
	*p++ = 0x35;
	*p++ = 0x40; /* empty */
	*p++ = 0;
	*p++ = family == 4 ? 0xb1 : 0xb7;
	*p++ = 300 >> 8;
	*p++ = 300 & 0xff;
	*p++ = 63;
	*p++ = 0xff;
	*p++ = 0xfe;
	memcpy(p, family == 4 ? addresses[1] + 3 : addresses[1], family == 4 ? 1 : 16);
	p += family == 4 ? 1 : 16;
	k->directory = (size_t)(p - k->room) - 16;
	k->room[5] = (uint8_t)k->directory;
	for (unsigned i = 0; i < 310; i++)
		*p++ = (uint8_t)(i * 7);
	k->len = (size_t)(p - k->room);
	k->family = family;
	seal(k->room, k->directory);
	assert_int_equal(read_exact(k->room, k->len, family, 4), BP_AGG_FULL_OK);
	assert_int_equal(head.count, 4);
	assert_int_equal(got[1].from.port, 0x1235);
	assert_int_equal(got[2].len, 0);
	assert_int_equal(got[3].offset, k->len - 300);
	assert_int_equal(got[3].from.addr[3], 0xb9);
}

/* The fields that identify another version, or a payload that is no aggregate. */
static enum bp_agg_full_error expected(size_t byte, uint8_t value)
{
	if (byte < 2)
		return BP_AGG_FULL_E_MAGIC;
	if (byte == 2 && value >> 4 != 1)
		return BP_AGG_FULL_E_VERSION;
	return BP_AGG_FULL_E_CHECKSUM;
}

static void every_byte_changed(void **state)
{
	struct packet k;
	struct bp_agg_message before[4];

	for (unsigned family = 4; family <= 6; family += 2) {
		make(&k, family);
		memcpy(before, got, sizeof(before));
		for (size_t i = 0; i < k.len; i++) {
			const uint8_t was = k.room[i];

			for (unsigned v = 0; v < 256; v++) {
				enum bp_agg_full_error e;

				if (v == was)
					continue;
				k.room[i] = (uint8_t)v;
				e = read_exact(k.room, k.len, family, MOST);
				if (i >= 16 + k.directory) {
					assert_int_equal(e, BP_AGG_FULL_OK);
					assert_memory_equal(got, before, sizeof(before));
					v += 50; /* some of them do */
				} else if (i == 4 || i == 5) {
					/* another range under the checksum, or none */
					assert_true(e == BP_AGG_FULL_E_CHECKSUM ||
						    e == BP_AGG_FULL_E_SHORT);
				} else {
					assert_int_equal(e, expected(i, (uint8_t)v));
				}
			}
			k.room[i] = was;
		}
	}
}

/* Up to three bits changed anywhere in header and directory are refused always. */
static void two_and_three_bits_changed(void **state)
{
	uint64_t seed = 88172645463325252;
	struct packet k;

	for (unsigned family = 4; family <= 6; family += 2) {
		unsigned bits;

		make(&k, family);
		bits = (unsigned)(16 + k.directory) * 8;
		for (unsigned a = 0; a < bits; a++) {
			k.room[a / 8] ^= (uint8_t)(1 << a % 8);
			for (unsigned b = a + 1; b < bits; b++) {
				const unsigned c = (unsigned)(next_random(&seed) % bits);

				k.room[b / 8] ^= (uint8_t)(1 << b % 8);
				assert_int_not_equal(
					read_exact(k.room, k.len, family, MOST), BP_AGG_FULL_OK);
				k.room[c / 8] ^= (uint8_t)(1 << c % 8);
				assert_int_not_equal(
					read_exact(k.room, k.len, family, MOST), BP_AGG_FULL_OK);
				k.room[c / 8] ^= (uint8_t)(1 << c % 8);
				k.room[b / 8] ^= (uint8_t)(1 << b % 8);
			}
			k.room[a / 8] ^= (uint8_t)(1 << a % 8);
		}
		assert_int_equal(read_exact(k.room, k.len, family, MOST), BP_AGG_FULL_OK);
	}
}

/*
 * A wrong directory length is refused by the check of the entries even with a correct checksum:
 * therefore a changed bit there is never accepted either.
 */
static void wrong_directory_length_with_valid_checksum_is_rejected(void **state)
{
	struct packet k;

	for (unsigned family = 4; family <= 6; family += 2) {
		const unsigned first = family == 4 ? 9 : 21; /* bytes of the first entry */

		make(&k, family);
		for (unsigned d = 0; d < 65536; d++) {
			enum bp_agg_full_error e;

			if (d == k.directory)
				continue;
			bp_put_be16(k.room + 4, (uint16_t)d);
			if (d <= k.len - 16)
				seal(k.room, d);
			e = read_exact(k.room, k.len, family, MOST);
			if (d > k.len - 16)
				assert_int_equal(e, BP_AGG_FULL_E_SHORT);
			else if (d > k.directory)
				/* the last payload is short by now, which is seen first */
				assert_int_equal(e, BP_AGG_FULL_E_LENGTH);
			else if (d == 0 || d == first || d == first + 2 || d == first + 4)
				assert_int_equal(e, BP_AGG_FULL_E_COUNT);
			else
				assert_int_equal(e, BP_AGG_FULL_E_ENTRY);
		}
	}
}

static void every_truncation_and_more_bytes(void **state)
{
	struct packet k;

	for (unsigned family = 4; family <= 6; family += 2) {
		make(&k, family);
		for (size_t len = 0; len < sizeof(k.room); len++) {
			const enum bp_agg_full_error e = read_exact(k.room, len, family, MOST);

			if (len < 2)
				assert_int_equal(e, BP_AGG_FULL_E_MAGIC);
			else if (len < 16 + k.directory)
				assert_int_equal(e, BP_AGG_FULL_E_SHORT);
			else
				assert_int_equal(
					e, len == k.len ? BP_AGG_FULL_OK : BP_AGG_FULL_E_LENGTH);
		}
	}
}

static void versions_are_distinguished(void **state)
{
	struct packet k;

	make(&k, 4);
	for (unsigned version = 0; version < 16; version++) {
		k.room[2] = (uint8_t)(version << 4 | 4);
		/* whatever else is in it, and however short it is */
		for (size_t len = 3; len < k.len && version != 1; len++)
			assert_int_equal(read_exact(k.room, len, 4, MOST), BP_AGG_FULL_E_VERSION);
	}
	k.room[2] = 0x14;
	for (unsigned family = 0; family < 16; family++) {
		k.room[2] = (uint8_t)(0x10 | family);
		seal(k.room, k.directory);
		assert_int_equal(read_exact(k.room, k.len, 4, MOST),
			family == 4 ? BP_AGG_FULL_OK : BP_AGG_FULL_E_FAMILY);
	}
}

static void inconsistent_counts_are_rejected(void **state)
{
	struct packet k;

	make(&k, 4);
	for (unsigned n = 0; n < 256; n++) {
		k.room[3] = (uint8_t)n;
		seal(k.room, k.directory);
		assert_int_equal(read_exact(k.room, k.len, 4, MOST),
			n == 4 ? BP_AGG_FULL_OK : BP_AGG_FULL_E_COUNT);
		if (n > 4)
			assert_int_equal(read_exact(k.room, k.len, 4, 4), BP_AGG_FULL_E_MANY);
	}
}

/* A header only; and one message without a payload, whose entry is truncated. */
static void the_smallest_packets(void **state)
{
	uint8_t p[16 + 9] = "\xfd\xa6\x14\x00\x00\x00\xab\xcd\x00\x00\x00\x01\x00\x00\x00\x00"
			    "\x74\x00\x40\x12\x34\x0a\x00\x00\x01";

	for (unsigned n = 0; n < 3; n++) {
		p[3] = (uint8_t)n;
		p[5] = 0;
		seal(p, 0);
		assert_int_equal(read_exact(p, 16, 4, MOST), BP_AGG_FULL_E_COUNT);
	}
	p[3] = 1;
	for (unsigned d = 1; d <= 9; d++) {
		p[5] = (uint8_t)d;
		seal(p, d);
		assert_int_equal(read_exact(p, 16 + d, 4, MOST),
			d == 9 ? BP_AGG_FULL_OK : BP_AGG_FULL_E_ENTRY);
	}
	assert_int_equal(got[0].offset, 25);
	assert_int_equal(got[0].len, 0);
}

/* Two payloads of 32,768 bytes: right in itself, but longer than any UDP payload. */
static void longer_than_a_udp_payload(void **state)
{
	const size_t len = 16 + 11 + 2 * 32768;
	uint8_t *p = calloc(1, len);

	assert_non_null(p);
	memcpy(p,
		"\xfd\xa6\x14\x02\x00\x0b\xab\xcd\x00\x00\x00\x01\x00\x00\x00\x00"
		"\xb4\x80\x00\x40\x12\x34\x0a\x00\x00\x01\x00",
		27);
	seal(p, 11);
	assert_int_equal(read_exact(p, len, 4, MOST), BP_AGG_FULL_E_LENGTH);
	p[17] = 0x7f; /* two of 32,512 */
	seal(p, 11);
	assert_int_equal(read_exact(p, len - 512, 4, MOST), BP_AGG_FULL_OK);
	free(p);
}

/* The codes that IPv4 does not have, with more directory behind them than any number of bytes. */
static void reserved_codes_in_a_long_directory(void **state)
{
	uint8_t p[16 + 1000] = "\xfd\xa6\x14\xff\x03\xe8\xab\xcd\x00\x00\x00\x01\x00\x00\x00\x00"
			       "\x74\x00\x40\x12\x34\x0a\x00\x00\x01";

	for (unsigned flags = 0; flags < 256; flags++) {
		p[16 + 9] = (uint8_t)flags;
		seal(p, 1000);
		assert_int_equal(read_exact(p, sizeof(p), 4, MOST),
			flags >> 6 == 3 || (flags >> 3 & 3) == 3 || (flags & 7) > 4
				? BP_AGG_FULL_E_ENTRY
				: BP_AGG_FULL_E_COUNT); /* too many entries: all bytes of 0 are one
							 */
	}
}

/* A first entry without everything, and flags that are reserved, in any entry. */
static void undefined_flags_are_ignored(void **state)
{
	struct packet k;

	for (unsigned family = 4; family <= 6; family += 2) {
		for (unsigned flags = 0; flags < 256; flags++) {
			const bool reserved = flags >> 6 == 3 || (flags >> 3 & 3) == 3 ||
					      (family == 4 && (flags & 7) > 4);
			const bool whole = flags >> 6 != 0 && (flags & 0x20) != 0 &&
					   (flags >> 3 & 3) == 2 &&
					   (flags & 7) == (family == 4 ? 4 : 7);
			enum bp_agg_full_error e;

			make(&k, family);
			k.room[16] = (uint8_t)flags;
			seal(k.room, k.directory);
			e = read_exact(k.room, k.len, family, MOST);
			if (reserved || !whole)
				assert_int_equal(e, BP_AGG_FULL_E_ENTRY);
			else if (flags >> 6 == 1)
				assert_int_equal(e, BP_AGG_FULL_OK);
			else
				assert_int_not_equal(e, BP_AGG_FULL_OK); /* two bytes of length */

			make(&k, family);
			k.room[16 + 5 + (family == 4 ? 4 : 16)] = (uint8_t)flags;
			seal(k.room, k.directory);
			e = read_exact(k.room, k.len, family, MOST);
			if (reserved)
				assert_int_equal(e, BP_AGG_FULL_E_ENTRY);
		}
	}
}

/* Any directory with a correct checksum: accepted messages are inside the aggregate and fill it. */
static void random_directories_stay_inside(void **state)
{
	uint64_t seed = 0x243f6a8885a308d3;
	unsigned accepted = 0;
	struct packet k;

	for (unsigned round = 0; round < 300000; round++) {
		const unsigned family = round & 1 ? 6 : 4;
		size_t at;

		make(&k, family);
		for (unsigned n = 1 + (unsigned)(next_random(&seed) & 3); n != 0; n--) {
			const size_t i = 3 + next_random(&seed) % (13 + k.directory);

			k.room[i] = (uint8_t)next_random(&seed);
		}
		if (bp_be16(k.room + 4) > k.len - 16)
			continue;
		seal(k.room, bp_be16(k.room + 4));
		if (read_exact(k.room, k.len, family, MOST) != BP_AGG_FULL_OK)
			continue;
		accepted++;
		assert_int_equal(head.count, k.room[3]);
		at = 16 + bp_be16(k.room + 4);
		for (unsigned i = 0; i < head.count; i++) {
			assert_int_equal(got[i].offset, at);
			at += got[i].len;
		}
		assert_int_equal(at, k.len);
	}
	assert_true(accepted > 1000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_byte_changed),
		cmocka_unit_test(two_and_three_bits_changed),
		cmocka_unit_test(wrong_directory_length_with_valid_checksum_is_rejected),
		cmocka_unit_test(every_truncation_and_more_bytes),
		cmocka_unit_test(versions_are_distinguished),
		cmocka_unit_test(inconsistent_counts_are_rejected),
		cmocka_unit_test(the_smallest_packets),
		cmocka_unit_test(longer_than_a_udp_payload),
		cmocka_unit_test(reserved_codes_in_a_long_directory),
		cmocka_unit_test(undefined_flags_are_ignored),
		cmocka_unit_test(random_directories_stay_inside),
	};

	return cmocka_run_group_tests_name("agg_damage", tests, NULL, NULL);
}
