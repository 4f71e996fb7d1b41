/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Reads messages that are to be staged, four at a time, in registers of 64 octets (AVX-512): a frame
 * from its IP header on is one, which is compared, summed up, and written to the message's record.
 * What it judges is what bp_alike_four() does.
 */
#include "agg/aggregator_many_parts.h"

#if defined(__x86_64__)
#include <immintrin.h>

#define WIDE __attribute__((target("avx512f,avx512bw,avx512dq,avx512vl")))
#define LEAST 1u  /* octets of a payload */
#define MOST 32u  /* likewise: the words that one sum has room for */

bool bp_aggregator_can_wide(void)
{
	return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
	       __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
}

static uint32_t word(const uint8_t *p)
{
	uint16_t w;

	memcpy(&w, p, sizeof(w));
	return w;
}

void bp_aggregator_wide_set(struct bp_aggregator_wide *x, const struct bp_alike *like,
	const struct bp_agg_input *in, unsigned len)
{
	static const struct bp_agg_input all = {.len = UINT32_MAX,
		.frame_len = UINT32_MAX,
		.mac = UINT64_MAX,
		.port = UINT8_MAX,
		.routed = true};
	const uint8_t *f = in->frame, *ip = f + AT_IP, *udp = f + AT_UDP;
	const uint32_t more = in->frame_len - bp_agg_least(len);
	struct bp_agg_input as_all = {.port = in->port};

	x->reads = 0;
	if (like->kind != BP_ALIKE_LONG || len < LEAST || len > MOST || more > UINT16_MAX)
		return;
	memcpy(x->head, ip, sizeof(x->head));
	memcpy(x->asked, (const uint8_t *)like->asked + AT_IP, sizeof(x->asked));
	memcpy(x->macs, f, sizeof(x->macs));
	memcpy(x->macs_asked, like->asked, sizeof(x->macs_asked));
	as_all.len = in->len;
	as_all.frame_len = in->frame_len;
	as_all.mac = in->mac;
	as_all.routed = in->routed;
	memcpy(x->input, &as_all, sizeof(x->input));
	memcpy(x->input_asked, &all, sizeof(x->input_asked));
	x->reads = (1ull << (AT_PAYLOAD - AT_IP + len)) - 1;
	x->record = len << 8 | more << 16;
	/* of a header's words, those that are the same in all are not read again */
	x->ip = word(ip) + word(ip + BP_IP4_TOTAL) + word(ip + BP_IP4_FRAGMENT) +
		7 * BP_CHECKSUM_LESS;
	x->udp = 2 * word(udp + BP_UDP_LEN) + ((uint32_t)BP_PROTO_UDP << 8) + 7 * BP_CHECKSUM_LESS;
	x->sum = 16 * BP_CHECKSUM_LESS;
}
_Static_assert(sizeof(struct bp_agg_input) == 32, "compared as one number");

/* What the registers have throughout a burst. */
struct all {
	__m256i input, input_asked, head, asked;
	__m128i macs, macs_asked;
	__m512i words, bias, counted, record;
	__mmask64 reads;
};

WIDE static inline __attribute__((always_inline)) void load(
	struct all *v, const struct bp_aggregator_wide *x, uint64_t now_ns)
{
	/* the sums' words: IP header and UDP, each without what is the same in all, and payload */
	v->words = _mm512_set_epi16(29, 28, 27, 26, 25, 24, 23, 22, 21, 20, 19, 18, 17, 16, 15, 14,
		0, 13, 11, 10, 9, 8, 7, 6, 0, 9, 8, 7, 6, 5, 4, 2);
	v->counted = _mm512_set_epi16(1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 0, 1, 1, 1, 1,
		1, 1, 1, 0, 1, 1, 1, 1, 1, 1, 1);
	v->bias = _mm512_set1_epi16(INT16_MIN);
	v->input = _mm256_loadu_si256((const __m256i *)x->input);
	v->input_asked = _mm256_loadu_si256((const __m256i *)x->input_asked);
	v->head = _mm256_loadu_si256((const __m256i *)x->head);
	v->asked = _mm256_loadu_si256((const __m256i *)x->asked);
	v->macs = _mm_loadu_si128((const __m128i *)x->macs);
	v->macs_asked = _mm_loadu_si128((const __m128i *)x->macs_asked);
	v->record = _mm512_zextsi128_si512(_mm_set_epi64x((long long)x->record, (long long)now_ns));
	v->reads = x->reads;
}

/* a | (b ^ c) */
#define OR_DIFFER 0xf6

WIDE static inline __attribute__((always_inline)) bool are_inputs(
	const struct all *v, const struct bp_agg_input *in)
{
	__m256i odd = _mm256_setzero_si256();

#pragma GCC unroll 4
	for (unsigned q = 0; q < 4; q++)
		odd = _mm256_ternarylogic_epi64(odd, _mm256_loadu_si256((const __m256i *)&in[q]),
			v->input, OR_DIFFER);
	return _mm256_testz_si256(odd, v->input_asked) != 0;
}

/* Of four frames: the sums of each one's parts. */
WIDE static inline __attribute__((always_inline)) __m512i add_up(
	const struct all *v, const __m512i ip[4])
{
	__m512i sum[4], two[2];

#pragma GCC unroll 4
	for (unsigned q = 0; q < 4; q++)
		sum[q] = _mm512_madd_epi16(
			_mm512_xor_si512(_mm512_permutexvar_epi16(v->words, ip[q]), v->bias),
			v->counted);
#pragma GCC unroll 2
	for (unsigned q = 0; q < 2; q++)
		two[q] = _mm512_add_epi32(_mm512_unpacklo_epi32(sum[2 * q], sum[2 * q + 1]),
			_mm512_unpackhi_epi32(sum[2 * q], sum[2 * q + 1]));
	return _mm512_add_epi32(_mm512_unpacklo_epi64(two[0], two[1]),
		_mm512_unpackhi_epi64(two[0], two[1]));
}

/* bp_v4_sums_ok() of all eight. */
WIDE static inline __attribute__((always_inline)) bool are_right(__m128i ip, __m128i udp)
{
	const __m256i sums = _mm256_inserti128_si256(_mm256_castsi128_si256(ip), udp, 1);
	const __m256i low = _mm256_set1_epi32(0xffff);
	const __m256i fold = _mm256_add_epi32(
		_mm256_and_si256(sums, low), _mm256_srli_epi32(sums, 16));

	return _mm256_cmpeq_epi32_mask(fold, low) == 0xff;
}

/* Judges four, and writes them to their records. False: they are not alike. */
WIDE static inline __attribute__((always_inline)) bool read_four(
	struct bp_aggregator_burst *k, const struct all *v, unsigned i)
{
	const struct bp_aggregator_wide *x = &k->a->many.wide;
	const struct bp_agg_input *in = &k->in[i];
	struct bp_agg_record *records = k->a->streams.stage.record;
	const __m256i all = _mm256_set1_epi8(-1);
	__m256i differ = _mm256_setzero_si256(), least8 = all, least16 = all;
	__m128i macs = _mm_setzero_si128(), udp, sum;
	__m512i ip[4], sums;

	if (__builtin_expect(!are_inputs(v, in), 0))
		return false;
#pragma GCC unroll 4
	for (unsigned q = 0; q < 4; q++) {
		const uint8_t *f = in[q].frame;
		__m256i head;

		ip[q] = _mm512_maskz_loadu_epi8(v->reads, f + AT_IP);
		head = _mm512_castsi512_si256(ip[q]);
		differ = _mm256_ternarylogic_epi64(differ, head, v->head, OR_DIFFER);
		macs = _mm_ternarylogic_epi64(
			macs, _mm_loadu_si128((const __m128i *)f), v->macs, OR_DIFFER);
		least8 = _mm256_min_epu8(least8, head);
		least16 = _mm256_min_epu16(least16, head);
	}
	sums = add_up(v, ip);
	sum = _mm_add_epi32(_mm_add_epi32(_mm512_extracti32x4_epi32(sums, 2),
				    _mm512_extracti32x4_epi32(sums, 3)),
		_mm_set1_epi32((int)x->sum));
	udp = _mm_add_epi32(_mm_add_epi32(_mm512_extracti32x4_epi32(sums, 1), sum),
		_mm_set1_epi32((int)x->udp));
	/* nobody has 0 hops to go, or port 0 */
	if (!are_right(_mm_add_epi32(_mm512_castsi512_si128(sums), _mm_set1_epi32((int)x->ip)),
		    udp) ||
		!_mm256_testz_si256(differ, v->asked) || !_mm_testz_si128(macs, v->macs_asked) ||
		(_mm256_mask_cmpeq_epi8_mask(1u << BP_IP4_TTL, least8, _mm256_setzero_si256()) |
			_mm256_mask_cmpeq_epi16_mask(
				1u << BP_IP4_HDR / 2, least16, _mm256_setzero_si256())) != 0)
		return false;
	_mm_storeu_si128((__m128i *)&k->sum[i], sum);
#pragma GCC unroll 4
	for (unsigned q = 0; q < 4; q++) {
		struct bp_agg_record *r = &records[k->record[i + q]];
		__m512i record;

		/* when it came, length and more; the source MAC address, by words; the sum */
		record = _mm512_mask_blend_epi8(0xeff, ip[q], v->record);
		record = _mm512_mask_loadu_epi16(record, 0x3800,
			(const void *)((uintptr_t)in[q].frame + 6 -
				       offsetof(struct bp_agg_record, mac)));
		record = _mm512_mask_permutexvar_epi32(record, 1u << 4, _mm512_set1_epi32((int)q),
			_mm512_castsi128_si512(sum));
		_mm512_store_si512(r, record);
	}
	return true;
}
_Static_assert(offsetof(struct bp_agg_record, mac) == 22 && offsetof(struct bp_agg_record, sum) == 16,
	"words 11 to 13, and number 4");

WIDE unsigned bp_aggregator_many_read_wide(struct bp_aggregator_burst *k)
{
	struct all v;
	unsigned i = 0;

	if (k->n < 4)
		return 0;
	load(&v, &k->a->many.wide, k->now_ns);
	for (; i + 4 <= k->n; i += 4)
		if (__builtin_expect(!read_four(k, &v, i) || !bp_aggregator_many_note_four(k, i), 0))
			return i;
	/* what is left, with some of those before */
	if (i < k->n && read_four(k, &v, k->n - 4) && bp_aggregator_many_note_four(k, k->n - 4))
		i = k->n;
	k->a->alike_streams += i;
	return i;
}
#else
bool bp_aggregator_can_wide(void)
{
	return false;
}

void bp_aggregator_wide_set(struct bp_aggregator_wide *x, const struct bp_alike *like,
	const struct bp_agg_input *in, unsigned len)
{
	(void)like;
	(void)in;
	(void)len;
	x->reads = 0;
}

unsigned bp_aggregator_many_read_wide(struct bp_aggregator_burst *k)
{
	(void)k;
	return 0;
}
#endif
