/* SPDX-License-Identifier: BSD-3-Clause */
#include "dataplane/transform/usual8.h"

#ifdef BP_TRANSFORM_X86

#include <immintrin.h>

/*
 * A frame is two vectors: its first 64 octets, compared with the head, and the 56 from the source
 * address to its end, which are all that the UDP checksum covers. Sums are of 32-bit halves in
 * lanes of 64 bits, so that no carry is lost; those of eight frames become the lanes of one vector.
 */
#define AT_COVERED BP_USUAL_AT_SRC
#define COVERED 0x7f /* octets of eight that are read there */

/* What bp_reading.rest leaves out: the checksum, x, and y and z. */
static inline __m512i left_out(void)
{
	return _mm512_set_epi64(
		0, 0, 0, -1, (long long)0xffffffff00000000u, 0, (long long)0xffff000000000000u, 0);
}

static inline __m512i halves(__m512i v)
{
	return _mm512_add_epi64(
		_mm512_and_si512(v, _mm512_set1_epi64(0xffffffff)), _mm512_srli_epi64(v, 32));
}

/* Lane k is the sum of s[k]'s lanes. */
static inline __m512i sums(const __m512i s[8])
{
	__m512i pair[4], four[2];

	for (unsigned i = 0; i < 4; i++)
		pair[i] = _mm512_add_epi64(_mm512_unpacklo_epi64(s[2 * i], s[2 * i + 1]),
			_mm512_unpackhi_epi64(s[2 * i], s[2 * i + 1]));
	for (unsigned i = 0; i < 2; i++)
		four[i] = _mm512_add_epi64(_mm512_shuffle_i64x2(pair[2 * i], pair[2 * i + 1], 0x88),
			_mm512_shuffle_i64x2(pair[2 * i], pair[2 * i + 1], 0xdd));
	return _mm512_add_epi64(_mm512_shuffle_i64x2(four[0], four[1], 0x88),
		_mm512_shuffle_i64x2(four[0], four[1], 0xdd));
}

/* Bit per lane whose sum folds to 0xffff; the sums are less than 2^40, and not 0. */
static inline __mmask8 right(__m512i sum)
{
	const __m512i low = _mm512_set1_epi64(0xffff);

	for (unsigned i = 0; i < 3; i++)
		sum = _mm512_add_epi64(_mm512_and_si512(sum, low), _mm512_srli_epi64(sum, 16));
	return _mm512_cmpeq_epi64_mask(sum, low);
}

/* The sums of the IPv4 headers but for the destination; in another order of frames. */
static inline __m512i ip_sums(uint8_t *const f[8])
{
	__m512i v[2];

	for (unsigned i = 0; i < 2; i++) {
		const __m128i *const at[4] = {(const __m128i *)(f[4 * i] + BP_ETHER_HDR),
			(const __m128i *)(f[4 * i + 1] + BP_ETHER_HDR),
			(const __m128i *)(f[4 * i + 2] + BP_ETHER_HDR),
			(const __m128i *)(f[4 * i + 3] + BP_ETHER_HDR)};

		v[i] = _mm512_castsi128_si512(_mm_loadu_si128(at[0]));
		v[i] = _mm512_inserti32x4(v[i], _mm_loadu_si128(at[1]), 1);
		v[i] = _mm512_inserti32x4(v[i], _mm_loadu_si128(at[2]), 2);
		v[i] = halves(_mm512_inserti32x4(v[i], _mm_loadu_si128(at[3]), 3));
	}
	return _mm512_add_epi64(
		_mm512_unpacklo_epi64(v[0], v[1]), _mm512_unpackhi_epi64(v[0], v[1]));
}

/* Where the frames are; false: one is of another port, in pieces, or too short. */
static inline bool find(const struct bp_usual *u, struct rte_mbuf *const *m, uint8_t *f[8])
{
	const uint64_t like = (uint64_t)u->port << 16 | 1;
	uint64_t other = 0;
	bool too_short = false;

	for (unsigned k = 0; k < 8; k++) {
		uint64_t w; /* data_off, refcnt, nb_segs, port */

		memcpy(&w, (const uint8_t *)m[k] + offsetof(struct rte_mbuf, data_off), sizeof(w));
		f[k] = (uint8_t *)m[k]->buf_addr + (uint16_t)w;
		other |= w >> 32 ^ like;
		too_short |= m[k]->data_len < BP_USUAL_PAYLOAD + 40;
	}
	return !(other | too_short);
}

/* Eight frames, if all are usual. */
static inline __attribute__((always_inline)) bool judge(const struct bp_usual *u,
	struct rte_mbuf *const *m, struct bp_reading *r, uint8_t **payload)
{
	const __m512i head = _mm512_loadu_si512(u->first);
	const __m512i common = _mm512_loadu_si512(bp_usual_first_common);
	const __m512i check = _mm512_set_epi64(0, 0, 0, 0, 0, 0, (long long)0xffff000000000000u, 0);
	const uint64_t ip = bp_reading_half(u->first + 30);
	const uint64_t udp = __builtin_bswap16(BP_UDP_HDR + 40) + (BP_PROTO_UDP << 8);
	__m512i rest[8], other[8], all;
	__mmask8 unlike = 0, checked = 0xff;
	uint64_t sum[8] __attribute__((aligned(64)));
	uint64_t from[8];
	uint8_t *f[8];

	if (__builtin_expect(!find(u, m, f), 0))
		return false;
	for (unsigned k = 0; k < 8; k++) {
		const __m512i covered = _mm512_maskz_loadu_epi64(COVERED, f[k] + AT_COVERED);
		const __m512i out = _mm512_and_si512(covered, left_out());

		unlike |= _mm512_test_epi64_mask(
			_mm512_xor_si512(_mm512_loadu_si512(f[k]), head), common);
		checked &= _mm512_test_epi64_mask(covered, check);
		other[k] = halves(out);
		rest[k] = halves(_mm512_xor_si512(covered, out));
		from[k] = (uint32_t)_mm_cvtsi128_si32(_mm512_castsi512_si128(covered));
	}
	all = _mm512_add_epi64(sums(rest), _mm512_set1_epi64((long long)udp));
	_mm512_store_si512(sum, all);
	if (__builtin_expect(unlike != 0 || checked == 0 ||
				     right(_mm512_add_epi64(all, sums(other))) != 0xff ||
				     right(_mm512_add_epi64(
					     ip_sums(f), _mm512_set1_epi64((long long)ip))) != 0xff,
		    0))
		return false;
	for (unsigned k = 0; k < 8; k++) {
		r[k].frame = f[k];
		r[k].from[0] = from[k];
		r[k].from[1] = 0;
		r[k].rest = sum[k];
		r[k].kind = u->kind;
		payload[k] = f[k] + BP_USUAL_PAYLOAD;
	}
	return true;
}

unsigned bp_usual8_judge(const struct bp_usual *u, struct rte_mbuf *const *m, unsigned n,
	struct bp_reading *r, uint8_t **payload, const struct bp_reading *first, uint64_t *others)
{
	const struct bp_usual here = *u;
	unsigned i = 0;

	for (; i + 8 <= n; i += 8) {
		if (i + 16 <= n)
			for (unsigned k = i + 8; k < i + 16; k++)
				rte_prefetch0(rte_pktmbuf_mtod_offset(
					m[k], uint8_t *, RTE_CACHE_LINE_SIZE));
		if (!judge(&here, m + i, r + i, payload + i))
			break;
		for (unsigned k = 0; k < 8; k++)
			*others |= r[i + k].from[0] ^ first->from[0];
	}
	return i;
}

bool bp_usual8_possible(void)
{
	return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq");
}

#else

bool bp_usual8_possible(void)
{
	return false;
}

unsigned bp_usual8_judge(const struct bp_usual *u, struct rte_mbuf *const *m, unsigned n,
	struct bp_reading *r, uint8_t **payload, const struct bp_reading *first, uint64_t *others)
{
	return 0;
}

#endif
