/* SPDX-License-Identifier: BSD-3-Clause */
#include "dataplane/transform/avx512.h"

#ifdef BP_TRANSFORM_X86

#include <immintrin.h>

/*
 * The first 64 bytes of a frame are compared with the head. The last 64 bytes contain all data of
 * both checksums except the first four bytes of the IPv4 header, which are the same in all frames.
 * They are loaded in four quarters, and the words of four frames are transposed into one vector. So
 * the sums are computed for four frames at a time, and the words of the coordinates are already
 * gathered.
 */
#define AT_QUARTERS (BP_TEMPLATE_AT_IP + 4)
#define LAST (BP_TEMPLATE_PAYLOAD + 40)
_Static_assert(AT_QUARTERS + 64 == LAST, "the quarters reach to the end");

/* The quarters, and the positions of their four words. */
enum { Q_IP, Q_UDP, Q_POINT, Q_TIMES };
#define W_IP_CHECK 1  /* of Q_IP: its upper half */
#define W_SRC 2       /* of Q_IP */
#define W_UDP_CHECK 1 /* of Q_UDP: its upper half; the lower is the UDP length */
#define WORDS(w) (0x1111 << (w))
#define IP_OF_UDP (WORDS(W_SRC) | WORDS(W_SRC + 1)) /* of Q_IP: covered by the UDP checksum */
#define OUTPUTS (WORDS(1) | WORDS(2) | WORDS(3))    /* of Q_POINT */

/* Sums are of halves of words minus 2^15, so that signed multiplication can be used. */
#define BIAS 0x8000
#define BIASES(halves) ((halves)*BIAS)

struct eight {
	__m256i before, ip; /* as in struct bp_transform_avx512_burst */
	__m256i src;
	__m512i near;  /* radii and then phi, in frame order */
	__m256i theta; /* in frame order */
};

static inline __m512i sum_halves(__m512i v)
{
	return _mm512_madd_epi16(
		_mm512_xor_si512(v, _mm512_set1_epi16((short)BIAS)), _mm512_set1_epi16(1));
}

/* For each four lanes: the sums of the first and the second two lanes of a, and those of b. */
static inline __m512i add_pairs(__m512i a, __m512i b)
{
	const __m512 x = _mm512_castsi512_ps(a), y = _mm512_castsi512_ps(b);

	return _mm512_add_epi32(_mm512_castps_si512(_mm512_shuffle_ps(x, y, 0x88)),
		_mm512_castps_si512(_mm512_shuffle_ps(x, y, 0xdd)));
}

/* Folds one's complement sums of 32 bits with small upper halves to 16 bits. */
static inline __m512i fold(__m512i v)
{
	for (unsigned i = 0; i < 2; i++)
		v = _mm512_add_epi32(
			_mm512_and_si512(v, _mm512_set1_epi32(0xffff)), _mm512_srli_epi32(v, 16));
	return v;
}

/* Gathers word `at` of each frame, from a quarter of the first four frames and of the others. */
static inline __m512i word_of(__m512i a, __m512i b, unsigned at)
{
	return _mm512_permutex2var_epi32(a,
		_mm512_add_epi32(
			_mm512_setr_epi32(0, 4, 8, 12, 16, 20, 24, 28, 1, 5, 9, 13, 17, 21, 25, 29),
			_mm512_set1_epi32((int)at)),
		b);
}

static inline void transpose(uint8_t *const f[4], __m512i q[4])
{
	const __m512i a = _mm512_loadu_si512(f[0] + AT_QUARTERS);
	const __m512i b = _mm512_loadu_si512(f[1] + AT_QUARTERS);
	const __m512i c = _mm512_loadu_si512(f[2] + AT_QUARTERS);
	const __m512i d = _mm512_loadu_si512(f[3] + AT_QUARTERS);
	const __m512i ab = _mm512_shuffle_i64x2(a, b, 0x44), cd = _mm512_shuffle_i64x2(c, d, 0x44);
	const __m512i AB = _mm512_shuffle_i64x2(a, b, 0xee), CD = _mm512_shuffle_i64x2(c, d, 0xee);

	q[0] = _mm512_shuffle_i64x2(ab, cd, 0x88);
	q[1] = _mm512_shuffle_i64x2(ab, cd, 0xdd);
	q[2] = _mm512_shuffle_i64x2(AB, CD, 0x88);
	q[3] = _mm512_shuffle_i64x2(AB, CD, 0xdd);
}

/* Sums of four frames, each in four lanes. */
struct four_sums {
	__m512i ip, udp, before;
};

static inline struct four_sums sum_up(const __m512i q[4])
{
	const __m512i ip = sum_halves(q[Q_IP]), udp = sum_halves(q[Q_UDP]);
	const __m512i point = sum_halves(q[Q_POINT]), times = sum_halves(q[Q_TIMES]);
	const __m512i payload = _mm512_add_epi32(_mm512_add_epi32(point, times), udp);
	const __m512i outputs = _mm512_maskz_mov_epi32(OUTPUTS, point);

	return (struct four_sums){
		.ip = ip,
		.udp = _mm512_mask_add_epi32(payload, IP_OF_UDP, payload, ip),
		.before = _mm512_mask_add_epi32(outputs, WORDS(W_UDP_CHECK), outputs, udp),
	};
}

/*
 * Whether both checksums of eight frames are right, with a UDP checksum; then sets *e. `like`: a
 * frame with the same head.
 */
static inline __attribute__((always_inline)) bool checksums_valid(
	const uint8_t *like, uint8_t *const f[8], struct eight *e)
{
	const uint32_t begin = (uint32_t)bp_transform_sample_half(like + BP_TEMPLATE_AT_IP);
	const uint16_t udp_len = __builtin_bswap16(BP_UDP_HDR + 40);
	/*
	 * corrections of the sums: the bias, and data that is not in the quarters or that is
	 * counted twice
	 */
	const int ip = (int)((begin & 0xffff) + (begin >> 16)) + BIASES(8);
	const int udp = udp_len + (BP_PROTO_UDP << 8) + BIASES(28);
	const __m512i check = _mm512_set1_epi32((int)0xffff0000);
	__m512i low[4], high[4], sums, before;
	struct four_sums a, b;
	__mmask16 without;

	transpose(f, low);
	transpose(f + 4, high);
	a = sum_up(low);
	b = sum_up(high);
	sums = add_pairs(add_pairs(a.ip, b.ip), add_pairs(a.udp, b.udp));
	sums = _mm512_add_epi32(sums, _mm512_broadcast_i32x4(_mm_setr_epi32(ip, ip, udp, udp)));
	without = _mm512_mask_testn_epi32_mask(WORDS(W_UDP_CHECK), low[Q_UDP], check) |
		  _mm512_mask_testn_epi32_mask(WORDS(W_UDP_CHECK), high[Q_UDP], check);
	if (__builtin_expect((without | _mm512_cmpneq_epi32_mask(
						fold(sums), _mm512_set1_epi32(0xffff))) != 0,
		    0))
		return false;
	before = add_pairs(a.before, b.before); /* the sum of a frame is still in two lanes */
	before = _mm512_add_epi32(before, _mm512_shuffle_epi32(before, 0xb1));
	e->before = _mm256_add_epi32(
		_mm512_castsi512_si256(_mm512_permutexvar_epi32(
			_mm512_setr_epi32(0, 4, 8, 12, 2, 6, 10, 14, 0, 0, 0, 0, 0, 0, 0, 0),
			before)),
		_mm256_set1_epi32(BIASES(8) - udp_len));
	e->ip = _mm256_srli_epi32(
		_mm512_castsi512_si256(word_of(low[Q_IP], high[Q_IP], W_IP_CHECK)), 16);
	e->src = _mm512_castsi512_si256(word_of(low[Q_IP], high[Q_IP], W_SRC));
	e->near = word_of(low[Q_UDP], high[Q_UDP], 2);
	e->theta = _mm512_castsi512_si256(word_of(low[Q_POINT], high[Q_POINT], 0));
	return true;
}

/* Bits in which the first bytes of frames differ from `head`. */
static inline __m512i differences(uint8_t *const f[8], __m512i head)
{
	__m512i other = _mm512_setzero_si512();

	for (unsigned k = 0; k < 8; k++) /* other | (head ^ bytes) */
		other = _mm512_ternarylogic_epi64(other, head, _mm512_loadu_si512(f[k]), 0xf6);
	return other;
}

static inline void fetch(struct rte_mbuf *const *m)
{
	for (unsigned k = 0; k < 8; k++)
		rte_prefetch0(rte_pktmbuf_mtod_offset(m[k], uint8_t *, RTE_CACHE_LINE_SIZE));
}

/* Finds the frames. False: one has another port, several segments, or is too short. */
static inline bool find(const struct bp_template *u, struct rte_mbuf *const *m, uint8_t *f[8])
{
	const uint64_t like = (uint64_t)u->port << 16 | 1;
	uint64_t other = 0;
	bool too_short = false;

	for (unsigned k = 0; k < 8; k++) {
		uint64_t w; /* data_off, refcnt, nb_segs, port */

		memcpy(&w, (const uint8_t *)m[k] + offsetof(struct rte_mbuf, data_off), sizeof(w));
		f[k] = (uint8_t *)m[k]->buf_addr + (uint16_t)w;
		other |= w >> 32 ^ like;
		too_short |= m[k]->data_len < LAST;
	}
	return !(other | too_short);
}

unsigned bp_transform_avx512_validate(const struct bp_template *u, struct rte_mbuf *const *m,
	unsigned n, struct bp_transform_sample *r, uint8_t **payload,
	const struct bp_transform_sample *first, uint64_t *others)
{
	const __m512i common = _mm512_loadu_si512(bp_template_first_mask);
	const __m512i head = _mm512_loadu_si512(u->first);
	const struct bp_transform_sample_kind kind = u->kind;
	unsigned i = 0;

	for (; i + 8 <= n; i += 8) {
		uint32_t before[8], src[8];
		struct eight e;
		uint8_t *f[8];

		if (i + 16 <= n)
			fetch(m + i + 8);
		if (!find(u, m + i, f) ||
			_mm512_test_epi64_mask(differences(f, head), common) != 0 ||
			!checksums_valid(u->first, f, &e))
			break;
		_mm256_storeu_si256((__m256i *)before, e.before);
		_mm256_storeu_si256((__m256i *)src, e.src);
		for (unsigned k = 0; k < 8; k++) {
			r[i + k].frame = f[k];
			r[i + k].from[0] = src[k];
			r[i + k].from[1] = 0;
			r[i + k].rest = ~(uint64_t)before[k];
			r[i + k].kind = kind;
			payload[i + k] = f[k] + BP_TEMPLATE_PAYLOAD;
			*others |= src[k] ^ first->from[0];
		}
	}
	return i;
}

/* ---- a burst of one tracker ---- */

/*
 * The bytes from data_off, 32 in number, that are the same in the mbufs of equal frames: nb_segs,
 * port, pkt_len and data_len.
 */
#define MBUF_AT offsetof(struct rte_mbuf, data_off)
_Static_assert(offsetof(struct rte_mbuf, nb_segs) == MBUF_AT + 4 &&
		       offsetof(struct rte_mbuf, port) == MBUF_AT + 6 &&
		       offsetof(struct rte_mbuf, pkt_len) == MBUF_AT + 20 &&
		       offsetof(struct rte_mbuf, data_len) == MBUF_AT + 24,
	"as the mask has them");

static inline __m256i mbuf_words(const struct rte_mbuf *m)
{
	return _mm256_loadu_si256((const __m256i *)((const uint8_t *)m + MBUF_AT));
}

/* Converts big-endian words to host byte order, and back. */
static inline __m512i swapped(__m512i v)
{
	return _mm512_shuffle_epi8(v, _mm512_broadcast_i32x4(_mm_setr_epi8(3, 2, 1, 0, 7, 6, 5, 4,
					      11, 10, 9, 8, 15, 14, 13, 12)));
}

/* Writes the points of the frames in `which`, and zeros for the others. */
static inline void put_points(
	const struct eight *e, __mmask8 which, struct bp_transform_points *p, unsigned i)
{
	const __m512d step = _mm512_set1_pd(0x1p-25);
	const __m512i near = swapped(e->near), theta = swapped(_mm512_castsi256_si512(e->theta));

	_mm512_storeu_pd(&p->v[0][i],
		_mm512_maskz_mul_pd(which, _mm512_cvtepi32_pd(_mm512_castsi512_si256(near)), step));
	_mm512_storeu_pd(
		&p->v[1][i], _mm512_maskz_mul_pd(which,
				     _mm512_cvtepu32_pd(_mm512_extracti64x4_epi64(near, 1)), step));
	_mm512_storeu_pd(
		&p->v[2][i], _mm512_maskz_mul_pd(which,
				     _mm512_cvtepu32_pd(_mm512_castsi512_si256(theta)), step));
}

bool bp_transform_avx512_read(const struct bp_template *u, struct rte_mbuf *const *m, unsigned n,
	struct bp_transform_avx512_burst *b, struct bp_transform_points *p)
{
	/* including the source */
	const __m512i common = _mm512_or_si512(_mm512_loadu_si512(bp_template_first_mask),
		_mm512_maskz_set1_epi16(3u << BP_TEMPLATE_AT_SRC / 2, -1));
	const __m256i same = _mm256_setr_epi32(0, -1, 0, 0, 0, -1, 0xffff, 0);
	const uint8_t *first = rte_pktmbuf_mtod(m[0], const uint8_t *);
	const __m512i head = _mm512_loadu_si512(first);
	const __m256i like = mbuf_words(m[0]);

	if (m[0]->port != u->port || m[0]->nb_segs != 1 || m[0]->data_len < LAST ||
		_mm512_test_epi64_mask(_mm512_xor_si512(head, _mm512_loadu_si512(u->first)),
			_mm512_loadu_si512(bp_template_first_mask)) != 0)
		return false;
	for (unsigned i = 0; i < n; i += 8) {
		struct rte_mbuf *const *at = m + i;
		__m256i other = _mm256_setzero_si256();
		struct rte_mbuf *filled[8];
		__mmask8 which = 0xff;
		uint8_t **f = b->frame + i;
		struct eight e;

		if (__builtin_expect(n - i < 8, 0)) {
			for (unsigned k = 0; k < 8; k++)
				filled[k] = m[RTE_MIN(i + k, n - 1)];
			at = filled;
			which = (__mmask8)((1u << (n - i)) - 1);
		} else if (n - i >= 16) {
			fetch(at + 8);
		}
		for (unsigned k = 0; k < 8; k++) {
			other = _mm256_ternarylogic_epi64(other, like, mbuf_words(at[k]), 0xf6);
			f[k] = rte_pktmbuf_mtod(at[k], uint8_t *);
		}
		if (_mm256_test_epi32_mask(other, same) != 0 ||
			_mm512_test_epi64_mask(differences(f, head), common) != 0 ||
			!checksums_valid(first, f, &e))
			return false;
		_mm256_store_si256((__m256i *)(b->before + i), e.before);
		_mm256_store_si256((__m256i *)(b->ip + i), e.ip);
		put_points(&e, which, p, i);
	}
	/* their results are discarded */
	for (unsigned j = n; j % 8 != 0; j++)
		b->frame[j] = b->nowhere;
	return true;
}

/*
 * Converts results to fixed point, in host byte order. A value outside the range becomes INT32_MIN,
 * which is also a valid result.
 */
static inline __m256i fixed(const double *v)
{
	return _mm512_cvt_roundpd_epi32(_mm512_mul_pd(_mm512_loadu_pd(v), _mm512_set1_pd(0x1p25)),
		_MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
}

/* Both checksums of eight frames in the lower halves of words: first IPv4, then UDP. */
static inline __m512i checksums(const struct bp_transform_avx512_burst *b, unsigned i,
	__m256i outputs, const struct bp_template_receiver *to)
{
	/* an addend that keeps sums positive and does not change them in one's complement */
	const int udp = bp_sum_fold(to->udp) + 8 * 0xffff;
	const __m512i ones = _mm512_set1_epi32(0xffff);
	const __m256i ip =
		_mm256_add_epi32(_mm256_xor_si256(_mm256_load_si256((const __m256i *)(b->ip + i)),
					 _mm256_set1_epi32(0xffff)),
			_mm256_set1_epi32((int)to->ip));
	const __m256i covered = _mm256_add_epi32(
		_mm256_sub_epi32(outputs, _mm256_load_si256((const __m256i *)(b->before + i))),
		_mm256_set1_epi32(udp));
	const __m512i sums = fold(_mm512_inserti64x4(_mm512_castsi256_si512(ip), covered, 1));

	/* a UDP checksum of 0 would mean that there is none: it stays 0xffff */
	return _mm512_mask_xor_epi32(
		sums, (__mmask16)(_mm512_cmpneq_epi32_mask(sums, ones) | 0xff), sums, ones);
}

/* New header values, and their positions among the first 32 halves of words. */
struct heads {
	__m512i bytes;
	__mmask32 written;
};
#define H_IP_CHECK ((BP_TEMPLATE_AT_IP + BP_IP4_CHECKSUM) / 2)
#define H_UDP_CHECK ((BP_TEMPLATE_PORTS + BP_UDP_CHECKSUM) / 2)

static inline struct heads heads_of(const struct bp_template_receiver *to)
{
	uint8_t bytes[64] = {0};
	const unsigned dst = (BP_TEMPLATE_AT_IP + BP_IP4_DST) / 2, port = BP_TEMPLATE_PORTS / 2 + 1;

	memcpy(bytes, &to->mac, 6);
	memcpy(bytes + 2 * (size_t)dst, &to->dst, 4);
	memcpy(bytes + 2 * (size_t)port, &to->port, 2);
	return (struct heads){.bytes = _mm512_loadu_si512(bytes),
		.written = (to->has_mac ? 7u : 0u) | 3u << dst | 1u << port | 1u << H_IP_CHECK |
			   1u << H_UDP_CHECK};
}

static inline void put_four(uint8_t *const f[4], __m512i points)
{
	const size_t at = BP_TEMPLATE_PAYLOAD + 12;

	_mm_mask_storeu_epi32(f[0] + at, 7, _mm512_castsi512_si128(points));
	_mm_mask_storeu_epi32(f[1] + at, 7, _mm512_extracti32x4_epi32(points, 1));
	_mm_mask_storeu_epi32(f[2] + at, 7, _mm512_extracti32x4_epi32(points, 2));
	_mm_mask_storeu_epi32(f[3] + at, 7, _mm512_extracti32x4_epi32(points, 3));
}

unsigned bp_transform_avx512_write(const struct bp_transform_avx512_burst *b, unsigned n,
	const struct bp_template_receiver *to, const struct bp_transform_points *p)
{
	const struct heads h = heads_of(to);
	const __m512i beyond = _mm512_set1_epi32(INT32_MIN);
	/* x, y, z and the bytes that are not written, of each of the first four frames */
	const __m512i point =
		_mm512_setr_epi32(0, 8, 16, 16, 1, 9, 17, 17, 2, 10, 18, 18, 3, 11, 19, 19);
	/* halves of words of `checks`; those of the next frame are two positions further */
	const __m512i sums = _mm512_mask_set1_epi16(_mm512_setzero_si512(), 1u << H_UDP_CHECK, 16);

	for (unsigned i = 0; i < n; i += 8) {
		__m512i xy = _mm512_inserti64x4(
			_mm512_castsi256_si512(fixed(&p->v[0][i])), fixed(&p->v[1][i]), 1);
		__m512i z = _mm512_broadcast_i64x4(fixed(&p->v[2][i])), checks, s;
		uint8_t *const *f = b->frame + i;

		if (__builtin_expect((_mm512_cmpeq_epi32_mask(xy, beyond) |
					     _mm512_cmpeq_epi32_mask(z, beyond)) != 0,
			    0))
			return i;
		xy = swapped(xy);
		z = swapped(z);
		s = sum_halves(xy);
		checks = checksums(b, i,
			_mm256_add_epi32(_mm256_add_epi32(_mm512_castsi512_si256(s),
						 _mm512_extracti64x4_epi64(s, 1)),
				_mm256_add_epi32(_mm512_castsi512_si256(sum_halves(z)),
					_mm256_set1_epi32(BIASES(6)))),
			to);
		put_four(f, _mm512_permutex2var_epi32(xy, point, z));
		put_four(f + 4, _mm512_permutex2var_epi32(
					xy, _mm512_add_epi32(point, _mm512_set1_epi32(4)), z));
#pragma GCC unroll 8
		for (unsigned k = 0; k < 8; k++)
			_mm512_mask_storeu_epi16(f[k], h.written,
				_mm512_mask_permutexvar_epi16(h.bytes,
					1u << H_IP_CHECK | 1u << H_UDP_CHECK,
					_mm512_add_epi16(sums, _mm512_set1_epi16((short)(2 * k))),
					checks));
	}
	return n;
}

bool bp_transform_avx512_supported(void)
{
	return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
	       __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl");
}

#else

bool bp_transform_avx512_supported(void)
{
	return false;
}

unsigned bp_transform_avx512_validate(const struct bp_template *u, struct rte_mbuf *const *m,
	unsigned n, struct bp_transform_sample *r, uint8_t **payload,
	const struct bp_transform_sample *first, uint64_t *others)
{
	return 0;
}

bool bp_transform_avx512_read(const struct bp_template *u, struct rte_mbuf *const *m, unsigned n,
	struct bp_transform_avx512_burst *b, struct bp_transform_points *p)
{
	return false;
}

unsigned bp_transform_avx512_write(const struct bp_transform_avx512_burst *b, unsigned n,
	const struct bp_template_receiver *to, const struct bp_transform_points *p)
{
	return 0;
}

#endif
