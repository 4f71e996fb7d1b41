/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Reads messages that are to be staged, four at a time, in registers of 64 octets (AVX-512): a
 * message's frame is one, or its last 64 octets where it is longer, which is compared, summed up,
 * and written to the message's record. What it judges is what bp_alike_four() does.
 */
#include "services/aggregation/aggregator_many_parts.h"

#if defined(__x86_64__)
#include <immintrin.h>

#define WIDE __attribute__((target("avx512f,avx512bw,avx512dq,avx512vl")))
#define MOST 32u /* octets of a payload: the words that one sum has room for */

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
	if (like->kind != BP_ALIKE_LONG || len > MOST || more > UINT16_MAX)
		return;
	/* no line of the cache that the message is not in */
	x->skip = AT_PAYLOAD + len > 64 ? (AT_PAYLOAD + len - 63) & ~1u : 0;
	memset(x->asked, 0, sizeof(x->asked));
	memcpy(x->asked, (const uint8_t *)like->asked + x->skip, sizeof(like->asked) - x->skip);
	memcpy(x->head, (const uint8_t *)like->head + x->skip, sizeof(like->head) - x->skip);
	memcpy(x->macs, f, sizeof(x->macs));
	memcpy(x->macs_asked, like->asked, sizeof(x->macs_asked));
	as_all.len = in->len;
	as_all.frame_len = in->frame_len;
	as_all.mac = in->mac;
	as_all.routed = in->routed;
	memcpy(x->input, &as_all, sizeof(x->input));
	memcpy(x->input_asked, &all, sizeof(x->input_asked));
	x->reads = ~0ull >> (64 - (AT_PAYLOAD + len - x->skip));
	/* what follows the message may be read where it can be left out by words */
	x->masked = len % 2 != 0 || in->len < x->skip + 64;
	x->record = len << 8 | more << 16;
	/* of a header's words, those that are the same in all are not read again */
	x->ip = word(ip) + word(ip + BP_IP4_TOTAL) + word(ip + BP_IP4_FRAGMENT) +
		7 * BP_CHECKSUM_LESS;
	x->udp = 2 * word(udp + BP_UDP_LEN) + ((uint32_t)BP_PROTO_UDP << 8) + 7 * BP_CHECKSUM_LESS;
	x->sum = 16 * BP_CHECKSUM_LESS;
}
_Static_assert(sizeof(struct bp_agg_input) == 32, "compared as one number");

/* The words of a record that are its MAC address. */
#define RECORD_MAC (7u << offsetof(struct bp_agg_record, mac) / 2)

/* What the registers have throughout a burst. */
struct all {
	__m512i head, asked, words, bias, counted, places, record;
	__m256i input, input_asked, rest, key[2];
	__m256i nobody;
	__m128i macs, macs_asked;
	__mmask64 reads;
	__mmask32 words_read, places_read;
	uint32_t skip;
	uint16_t len;
	uint8_t rule;
};

WIDE static inline __attribute__((always_inline)) void load(
	struct all *v, const struct bp_aggregator *a, uint64_t now_ns)
{
	const struct bp_aggregator_wide *x = &a->many_wide;
	const __m512i end = _mm512_set1_epi16((short)((a->many.alike.end - x->skip + 1) / 2));
	const __m512i ip = _mm512_set1_epi16((short)((AT_IP - x->skip) / 2));
	const __m512i each = _mm512_set_epi16(31, 30, 29, 28, 27, 26, 25, 24, 23, 22, 21, 20, 19,
		18, 17, 16, 15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0);

	/* the sums' words, from the IP header on: of that and of UDP, each without what is the same
	 * in all, and payload */
	v->words = _mm512_add_epi16(
		ip, _mm512_set_epi16(29, 28, 27, 26, 25, 24, 23, 22, 21, 20, 19, 18, 17, 16, 15, 14,
			    0, 13, 11, 10, 9, 8, 7, 6, 0, 9, 8, 7, 6, 5, 4, 2));
	v->words_read = _mm512_cmplt_epu16_mask(v->words, end);
	/* a record's; where the frame is read from its first octet on, its source MAC address, too
	 */
	v->places = _mm512_add_epi16(ip, each);
	if (x->skip == 0)
		v->places = _mm512_mask_sub_epi16(v->places, RECORD_MAC, each,
			_mm512_set1_epi16(offsetof(struct bp_agg_record, mac) / 2 - 3));
	v->places_read = _mm512_cmplt_epu16_mask(v->places, end);
	v->counted = _mm512_set_epi16(1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 0, 1, 1, 1, 1,
		1, 1, 1, 0, 1, 1, 1, 1, 1, 1, 1);
	v->bias = _mm512_set1_epi16(INT16_MIN);
	v->input = _mm256_loadu_si256((const __m256i *)x->input);
	v->input_asked = _mm256_loadu_si256((const __m256i *)x->input_asked);
	v->head = _mm512_loadu_si512(x->head);
	v->asked = _mm512_loadu_si512(x->asked);
	v->macs = _mm_loadu_si128((const __m128i *)x->macs);
	v->macs_asked = _mm_loadu_si128((const __m128i *)x->macs_asked);
	v->record = _mm512_zextsi128_si512(_mm_set_epi64x((long long)x->record, (long long)now_ns));
	/* with 0 hops to go, as a word with the protocol; from port 0 */
	v->nobody =
		_mm256_set_epi16(0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, BP_PROTO_UDP << 8, 0, 0, 0, 0);
	v->reads = x->reads;
	v->skip = x->skip;
	v->rest = _mm256_set1_epi64x((long long)a->many.rest);
	v->key[0] = _mm256_set1_epi64x((long long)a->streams.hash_key[0]);
	v->key[1] = _mm256_set1_epi64x((long long)a->streams.hash_key[1]);
	v->len = (uint16_t)(a->many.alike.end - AT_PAYLOAD);
	v->rule = a->many.rule;
}

/* For ternarylogic: a | (b ^ c); (a & b) | c */
#define OR_DIFFER 0xf6
#define AND_OR 0xea

WIDE static inline __attribute__((always_inline)) bool are_inputs(
	const struct all *v, const struct bp_agg_input *in)
{
	__m256i odd = _mm256_setzero_si256();

#pragma GCC unroll 4
	for (unsigned q = 0; q < 4; q++)
		odd = _mm256_ternarylogic_epi64(
			odd, _mm256_loadu_si256((const __m256i *)&in[q]), v->input, OR_DIFFER);
	return _mm256_testz_si256(odd, v->input_asked) != 0;
}

/* Of four frames: the sums of each one's parts. */
WIDE static inline __attribute__((always_inline)) __m512i add_up(
	const struct all *v, const __m512i frame[4])
{
	__m512i sum[4], two[2];

#pragma GCC unroll 4
	for (unsigned q = 0; q < 4; q++)
		sum[q] = _mm512_madd_epi16(
			_mm512_xor_si512(
				_mm512_maskz_permutexvar_epi16(v->words_read, v->words, frame[q]),
				v->bias),
			v->counted);
#pragma GCC unroll 2
	for (unsigned q = 0; q < 2; q++)
		two[q] = _mm512_add_epi32(_mm512_unpacklo_epi32(sum[2 * q], sum[2 * q + 1]),
			_mm512_unpackhi_epi32(sum[2 * q], sum[2 * q + 1]));
	return _mm512_add_epi32(
		_mm512_unpacklo_epi64(two[0], two[1]), _mm512_unpackhi_epi64(two[0], two[1]));
}

/* bp_v4_sums_ok() of all eight. */
WIDE static inline __attribute__((always_inline)) bool are_right(__m128i ip, __m128i udp)
{
	const __m256i sums = _mm256_inserti128_si256(_mm256_castsi128_si256(ip), udp, 1);
	const __m256i low = _mm256_set1_epi32(0xffff);
	const __m256i fold =
		_mm256_add_epi32(_mm256_and_si256(sums, low), _mm256_srli_epi32(sums, 16));

	return _mm256_cmpeq_epi32_mask(fold, low) == 0xff;
}

/* How a frame is read. */
enum way {
	PLAIN,  /* its first 64 octets */
	MASKED, /* those of them that are the message's */
	LATER   /* so many of later ones, and its MAC addresses by themselves */
};

/* Judges four, and writes them to their records. False: they are not alike. */
WIDE static inline __attribute__((always_inline)) bool read_four(
	struct bp_aggregator_burst *k, const struct all *v, unsigned i, enum way way)
{
	const struct bp_aggregator_wide *x = &k->a->many_wide;
	const struct bp_agg_input *in = &k->in[i];
	__m256i least = _mm256_set1_epi8(-1);
	__m128i macs = _mm_setzero_si128(), udp, sum;
	__m512i differ = _mm512_setzero_si512(), frame[4], record[4], sums;

	if (__builtin_expect(!are_inputs(v, in), 0))
		return false;
#pragma GCC unroll 4
	for (unsigned q = 0; q < 4; q++) {
		const uint8_t *f = in[q].frame;

		if (way == PLAIN)
			frame[q] = _mm512_loadu_si512(f);
		else
			frame[q] =
				_mm512_maskz_loadu_epi8(v->reads, way == LATER ? f + v->skip : f);
		differ = _mm512_ternarylogic_epi64(differ, frame[q], v->head, OR_DIFFER);
		record[q] = _mm512_maskz_permutexvar_epi16(v->places_read, v->places, frame[q]);
		least = _mm256_min_epu16(least, _mm512_castsi512_si256(record[q]));
		if (way == LATER)
			macs = _mm_ternarylogic_epi64(
				macs, _mm_loadu_si128((const __m128i *)f), v->macs, OR_DIFFER);
	}
	sums = add_up(v, frame);
	sum = _mm_add_epi32(_mm_add_epi32(_mm512_extracti32x4_epi32(sums, 2),
				    _mm512_extracti32x4_epi32(sums, 3)),
		_mm_set1_epi32((int)x->sum));
	udp = _mm_add_epi32(_mm_add_epi32(_mm512_extracti32x4_epi32(sums, 1), sum),
		_mm_set1_epi32((int)x->udp));
	if (!are_right(
		    _mm_add_epi32(_mm512_castsi512_si128(sums), _mm_set1_epi32((int)x->ip)), udp) ||
		_mm512_test_epi64_mask(differ, v->asked) != 0 ||
		(way == LATER && !_mm_testz_si128(macs, v->macs_asked)) ||
		_mm256_mask_cmpeq_epi16_mask(
			1u << BP_IP4_TTL / 2 | 1u << BP_IP4_HDR / 2, least, v->nobody) != 0)
		return false;
	_mm_storeu_si128((__m128i *)&k->sum[i], sum);
#pragma GCC unroll 4
	for (unsigned q = 0; q < 4; q++) {
		__m512i to;

		/* when it came, length and more; the source MAC address; the sum */
		to = _mm512_mask_blend_epi8(0xeff, record[q], v->record);
		if (way == LATER)
			to = _mm512_mask_loadu_epi16(to, RECORD_MAC,
				(const void *)((uintptr_t)in[q].frame + 6 -
					       offsetof(struct bp_agg_record, mac)));
		to = _mm512_mask_permutexvar_epi32(
			to, 1u << 4, _mm512_set1_epi32((int)q), _mm512_castsi128_si512(sum));
		_mm512_store_si512(bp_agg_record_at(&k->a->streams.stage, k->record[i + q]), to);
	}
	return true;
}
_Static_assert(
	offsetof(struct bp_agg_record, mac) % 2 == 0 && offsetof(struct bp_agg_record, sum) == 16,
	"words, and number 4");

/* Notes four that are alike: of which streams they are, by bp_agg_streams_hash_usual(). */
WIDE static inline __attribute__((always_inline)) void note_four(
	struct bp_aggregator_burst *k, const struct all *v, unsigned i)
{
	const struct bp_agg_streams *t = &k->a->streams;
	struct bp_agg_input *in = &k->in[i];
	__m256i usual, h;
	uint32_t hash[4];

	usual = _mm256_set_epi64x((long long)bp_sum_word(in[3].frame + AT_IP + BP_IP4_DST),
		(long long)bp_sum_word(in[2].frame + AT_IP + BP_IP4_DST),
		(long long)bp_sum_word(in[1].frame + AT_IP + BP_IP4_DST),
		(long long)bp_sum_word(in[0].frame + AT_IP + BP_IP4_DST));
	usual = _mm256_ternarylogic_epi64(
		usual, _mm256_set1_epi64x((long long)BP_AGG_USUAL_FRAME), v->rest, AND_OR);
	_mm256_storeu_si256((__m256i *)&k->usual[i], usual);
	h = _mm256_mullo_epi64(_mm256_xor_si256(usual, v->key[0]),
		_mm256_set1_epi64x((long long)BP_AGG_HASH_FACTOR));
	h = _mm256_mullo_epi64(_mm256_xor_si256(h, _mm256_srli_epi64(h, 32)), v->key[1]);
	_mm_storeu_si128((__m128i *)&k->hash[i], _mm256_cvtepi64_epi32(_mm256_srli_epi64(h, 32)));
	memcpy(hash, &k->hash[i], sizeof(hash));
	for (unsigned q = 0; q < 4; q++) {
		bp_agg_streams_prefetch_slot(t, hash[q]);
		in[q].verdict = BP_AGG_TAKEN;
		in[q].rule = v->rule;
		k->len[i + q] = v->len;
	}
}

/* So many messages are read before the first stream is looked for, whose slot is there then. */
#define BEHIND 16u

/* Looks for the streams of messages, and fetches what is staged of them. */
WIDE static inline __attribute__((always_inline)) void look(
	struct bp_aggregator_burst *k, unsigned from, unsigned until)
{
	const struct bp_agg_streams *t = &k->a->streams;
	const __m128i tag = _mm_set1_epi32((int)(UINT32_MAX << BP_AGG_SLOT_TAG));

	for (unsigned i = from; i < until; i++) {
		const uint32_t hash = k->hash[i], at = hash & t->slot_mask;
		const __m128i four = _mm_loadu_si128((const __m128i *)&t->slot[at]);
		const uint32_t may =
			_mm_testn_epi32_mask(_mm_xor_si128(four, _mm_set1_epi32((int)hash)), tag);

		k->g[i] = bp_agg_streams_guess_staged(t, hash, at, may, 1);
		__builtin_prefetch(k->g[i], 1);
	}
}

/* Reads all of a burst of four or more; returns how many that goes well with. */
WIDE static inline __attribute__((always_inline)) unsigned read_all(
	struct bp_aggregator_burst *k, enum way way)
{
	struct all v;
	unsigned i, looked = 0;

	load(&v, k->a, k->now_ns);
	for (i = 0; i + 4 <= k->n; i += 4) {
		if (__builtin_expect(!read_four(k, &v, i, way), 0) ||
			!bp_aggregator_many_for_rule(k->a, &k->in[i]))
			break;
		note_four(k, &v, i);
		if (i >= BEHIND) {
			look(k, looked, looked + 4);
			looked += 4;
		}
	}
	/* what is left, with some of those before */
	if (i < k->n && i + 4 > k->n && read_four(k, &v, k->n - 4, way) &&
		bp_aggregator_many_for_rule(k->a, &k->in[k->n - 4])) {
		note_four(k, &v, k->n - 4);
		i = k->n;
	}
	if (i == k->n)
		look(k, looked, k->n);
	return i;
}

WIDE unsigned bp_aggregator_many_read_wide(struct bp_aggregator_burst *k)
{
	const struct bp_aggregator_wide *x = &k->a->many_wide;
	unsigned i = 0;

	if (k->n < 4)
		return 0;
	if (x->skip != 0)
		i = read_all(k, LATER);
	else if (x->masked)
		i = read_all(k, MASKED);
	else
		i = read_all(k, PLAIN);
	k->a->alike_streams += i;
	k->a->wide += i;
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
