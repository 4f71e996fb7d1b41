/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_PROTO_NET_CRC32C_H
#define BP_PROTO_NET_CRC32C_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>
#if defined(__SSE4_2__)
#include <nmmintrin.h>
#elif defined(__ARM_FEATURE_CRC32)
#include <arm_acle.h>
#endif

/*
 * CRC-32C (Castagnoli; RFC 3385, RFC 3720 12.1): polynomial 0x1edc6f41, reflected, initial value
 * all ones, inverted at the end. x86-64-v2 has an instruction for it, 3 cycles for 8 bytes, and so
 * has arm64 with CRC32.
 *
 * 	crc = ~bp_crc32c(bp_crc32c(BP_CRC32C_INIT, a, a_len), b, b_len);
 */
#define BP_CRC32C_INIT UINT32_MAX

/* Four bits at a time, for machines without the instruction; the tests hold both together. */
static inline uint32_t bp_crc32c_portable(uint32_t crc, const uint8_t *p, size_t len)
{
	static const uint32_t of[16] = {0x00000000, 0x105ec76f, 0x20bd8ede, 0x30e349b1, 0x417b1dbc,
		0x5125dad3, 0x61c69362, 0x7198540d, 0x82f63b78, 0x92a8fc17, 0xa24bb5a6, 0xb21572c9,
		0xc38d26c4, 0xd3d3e1ab, 0xe330a81a, 0xf36e6f75};

	for (size_t i = 0; i < len; i++) {
		crc ^= p[i];
		crc = crc >> 4 ^ of[crc & 15];
		crc = crc >> 4 ^ of[crc & 15];
	}
	return crc;
}

/* One instruction for 8, 4, 2 and 1 bytes. */
#if defined(__SSE4_2__)
#define BP_CRC32C_8(crc, eight) ((uint32_t)_mm_crc32_u64(crc, eight))
#define BP_CRC32C_4(crc, four) _mm_crc32_u32(crc, four)
#define BP_CRC32C_2(crc, two) _mm_crc32_u16(crc, two)
#define BP_CRC32C_1(crc, one) _mm_crc32_u8(crc, one)
#elif defined(__ARM_FEATURE_CRC32)
#define BP_CRC32C_8(crc, eight) __crc32cd(crc, eight)
#define BP_CRC32C_4(crc, four) __crc32cw(crc, four)
#define BP_CRC32C_2(crc, two) __crc32ch(crc, two)
#define BP_CRC32C_1(crc, one) __crc32cb(crc, one)
#endif

static inline uint32_t bp_crc32c(uint32_t crc, const uint8_t *p, size_t len)
{
#if defined(BP_CRC32C_8)
	uint64_t eight;
	uint32_t four;
	uint16_t two;

	for (; len >= 8; len -= 8, p += 8) {
		memcpy(&eight, p, 8);
		crc = BP_CRC32C_8(crc, eight);
	}
	if (len & 4) {
		memcpy(&four, p, 4);
		crc = BP_CRC32C_4(crc, four);
		p += 4;
	}
	if (len & 2) {
		memcpy(&two, p, 2);
		crc = BP_CRC32C_2(crc, two);
		p += 2;
	}
	return len & 1 ? BP_CRC32C_1(crc, *p) : crc;
#else
	return bp_crc32c_portable(crc, p, len);
#endif
}

#endif
