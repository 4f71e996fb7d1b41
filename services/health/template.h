/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_SERVICES_HEALTH_QUICK_H
#define BP_SERVICES_HEALTH_QUICK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "services/health/convert.h"
#include "services/health/copy_text.h"
#include "services/health/decode.h"
#include "proto/health/coap.h"
#include "proto/net/frame.h"
#include "proto/health/phd_report.h"
#include "proto/net/vec16.h"

/*
 * The template of a request. A device reports the same objects each time, and only numbers, times
 * and values differ. The request for one such report is therefore stored as a frame with gaps for
 * the differing bytes. The next report of the same form is not parsed, and its request is not
 * composed: the frame is copied, the gaps are filled, and the sum over the copied bytes is known.
 * The result is byte for byte the output of services/health/convert.h for that report.
 *
 * Templates exist for fixed reports of one person, of known objects with SFLOATs, without time and
 * status, as one instance. services/health/convert.h processes all other reports, and those with a
 * value that is no number.
 */
#define BP_PHD_TEMPLATE_APDU 64u     /* maximum length of a report, bytes */
#define BP_PHD_TEMPLATE_APDU_MIN 36u /* with one observation */
#define BP_PHD_TEMPLATE_VALUES 6u    /* more do not fit into them */
#define BP_PHD_TEMPLATE_TEXT 768u    /* maximum length of a frame without the values, bytes */
#define BP_PHD_TEMPLATE_READ 128u    /* of a frame with a report, those that validation may read */
#define BP_PHD_TEMPLATE_STEP                                                                       \
	64u /* bytes that are copied at a time, also where fewer are meant                         \
	     */

/* The position of a value in the report. */
struct bp_phd_template_place {
	uint8_t at; /* byte of the report */
	uint8_t by; /* what its sum is moved by: 0, or 8 where the byte is odd */
};

/* The text after a value, up to the next value or the end. */
struct bp_phd_template_piece {
	uint16_t at, len;
	uint16_t sum; /* folded, as if it began at an even byte */
};

struct bp_phd_template {
	uint16_t len; /* of the report */
	/* length of the frame's memory that writing may modify, bytes, including the bytes of the
	 * report that are read */
	uint16_t bound;
	uint32_t life;  /* bp_phd_layout.life of the layout of this template */
	uint8_t values; /* 0: there is none */
	uint8_t patches;
	uint8_t wait; /* for the code that creates the template */
	struct bp_phd_template_place value[BP_PHD_TEMPLATE_VALUES];
	/* bytes of the frame: CoAP's header, request id, name (0: none), system-ids, first value
	 */
	uint16_t coap, rqi, rn, patch[BP_PHD_PATCHES], first;
	uint32_t sum;          /* of the UDP payload before the first value */
	uint32_t expected_sum; /* sum of the constant bytes of a report */
	struct bp_phd_template_piece behind[BP_PHD_TEMPLATE_VALUES];
	/* the bytes of a report under the mask, and the mask */
	bp_v16 expected[BP_PHD_TEMPLATE_APDU / 16], mask[BP_PHD_TEMPLATE_APDU / 16];
	uint8_t text[BP_PHD_TEMPLATE_TEXT + BP_PHD_TEMPLATE_STEP] __attribute__((aligned(64)));
} __attribute__((aligned(64)));

/*
 * Sets *q from a report apdu[0..len) for which bp_phd_convert_plan() just returned CONVERT with the
 * result *c, and which is not overwritten yet. `before`: the bytes before the UDP payload in the
 * frame; before_len is even. False: the report is of another kind, and *q is unchanged where it
 * belongs to this layout; or the request is too long, and *q is empty.
 */
bool bp_phd_template_init(struct bp_phd_template *q, const struct bp_phd_layout *l,
	const struct bp_phd_settings *plan, const struct bp_phd_conversion *c, const uint8_t *apdu,
	size_t len, const uint8_t *before, size_t before_len);

/* Whether it was made, or tried, of this layout. */
static inline bool bp_phd_template_is_of(
	const struct bp_phd_template *q, const struct bp_phd_layout *l)
{
	return q->life == atomic_load_explicit(&l->life, memory_order_relaxed);
}

/* Whether a report of the layout has this form. BP_PHD_TEMPLATE_APDU bytes are readable. */
static inline bool bp_phd_template_is(const struct bp_phd_template *q,
	const struct bp_phd_layout *l, const uint8_t *apdu, uint32_t len)
{
	bp_v16 differ = {0};

	if (q->len != len || q->values == 0 || !bp_phd_template_is_of(q, l))
		return false;
	for (unsigned i = 0; i < BP_PHD_TEMPLATE_APDU / 16; i++)
		differ |= (bp_v16_load(apdu + i * 16) & q->mask[i]) ^ q->expected[i];
	return bp_v16_same(differ, bp_v16_of(0));
}

/* ---- of a report that has the shape ---- */

static inline bool bp_phd_template_confirmed(const uint8_t *apdu)
{
	return (apdu[BP_PHD_AT_DATA + 1] & 1) != 0;
}

/*
 * Reads the values of a report; value[] has BP_PHD_TEMPLATE_VALUES elements. False: one value is no
 * number, and the report cannot be written. *sum: bp_sum() of all bytes of the report.
 */
static inline bool bp_phd_template_read(const struct bp_phd_template *q, const uint8_t *apdu,
	const struct bp_phd_sfloat *value[], uint64_t *sum)
{
	const struct bp_phd_sfloat *const table = bp_phd_sfloats;
	unsigned others = 0;
	uint64_t all = q->expected_sum;
	uint32_t begin, time;
	uint16_t number;

	/* what the mask leaves out, each at an even byte */
	memcpy(&begin, apdu + BP_PHD_AT_INVOKE, sizeof(begin));
	memcpy(&time, apdu + BP_PHD_AT_HANDLE + 2, sizeof(time));
	memcpy(&number, apdu + BP_PHD_AT_REPORT_NO, sizeof(number));
	all += (uint64_t)begin + time + number;
	for (unsigned i = 0; i < q->values; i++) {
		uint16_t v;

		memcpy(&v, apdu + q->value[i].at, sizeof(v));
		all += (uint64_t)v << q->value[i].by;
		value[i] = &table[(uint16_t)__builtin_bswap16(v)];
		others |= value[i]->len == 0;
	}
	*sum = all;
	return others == 0;
}

static inline void bp_phd_template_copy(uint8_t *p, const uint8_t *from, size_t n)
{
	size_t i = 0;

	do {
		memcpy(p + i, from + i, BP_PHD_TEMPLATE_STEP);
		i += BP_PHD_TEMPLATE_STEP;
	} while (i < n);
}

/* Sixteen hex digits at a byte of the frame; their sum there. No byte of a digit has its top
 * bit, so that two words of them add up without a carry. */
static inline uint64_t bp_phd_template_digits(uint8_t *frame, unsigned at, const uint64_t digits[2])
{
	memcpy(frame + at, digits, 16);
	return bp_sum_moved(digits[0] + digits[1], at);
}

/* The name, of part 0: see put_name() of services/health/convert.c. */
static inline uint64_t bp_phd_template_name(
	uint8_t *frame, unsigned at, const struct bp_phd_identity *id)
{
	uint64_t first[2], last[2];

	bp_hex16_words(
		(uint64_t)id->associated_s << 32 | (uint64_t)id->life << 16 | id->report >> 16,
		first);
	bp_hex16_words((uint64_t)id->life << 40 | (uint64_t)id->report << 8, last);
	memcpy(frame + at + BP_PHD_RN_TEXT - 16, last, 16);
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
	last[1] >>= 16;
#else
	last[1] <<= 16;
#endif
	memcpy(frame + at, first, 16);
	return bp_sum_moved(bp_sum_add(first[0] + first[1], last[1]), at);
}

/* Message id, token, request id, system-id and name; their sum. */
static inline uint64_t bp_phd_template_patch(
	const struct bp_phd_template *q, const struct bp_phd_identity *id, uint8_t *frame)
{
	const unsigned coap = q->coap, rqi = q->rqi, rn = q->rn, patches = q->patches;
	uint64_t digits[2], token, sum;
	uint16_t mid;

	bp_put_be16(frame + coap + 2, id->mid);
	bp_phd_token_store((uint8_t *)&token, id->token);
	bp_put_be16((uint8_t *)&mid, id->mid);
	memcpy(frame + coap + BP_COAP_HEADER_LEN, &token, sizeof(token));
	sum = bp_sum_add(token, mid);
	bp_hex16_words(id->token, digits);
	sum = bp_sum_add(sum, bp_phd_template_digits(frame, rqi, digits));
	bp_hex16_words(bp_phd_load_be64(id->system_id), digits);
	for (unsigned i = 0; i < patches; i++)
		sum = bp_sum_add(sum, bp_phd_template_digits(frame, q->patch[i], digits));
	if (rn != 0)
		sum = bp_sum_add(sum, bp_phd_template_name(frame, rn, id));
	return sum;
}

/*
 * Writes the frame, which may overlay the report; up to q->bound bytes are modified. The bytes
 * before the UDP payload are those of bp_phd_template_init(). `id` is the identity of part 0,
 * value[] the result of bp_phd_template_read(). Returns the length of the frame, bytes. *sum:
 * bp_sum() of the UDP payload.
 */
static inline uint32_t bp_phd_template_write(const struct bp_phd_template *q,
	const struct bp_phd_identity *id, const struct bp_phd_sfloat *const value[], uint8_t *frame,
	uint64_t *sum)
{
	/* in registers, whatever is stored to the frame */
	const unsigned values = q->values;
	const struct bp_phd_template_piece *piece = q->behind;
	unsigned at = q->first;
	uint64_t all = q->sum;

	bp_phd_template_copy(frame, q->text, at);
	for (unsigned i = 0; i < values; i++, piece++) {
		const struct bp_phd_sfloat *v = value[i];
		const unsigned len = v->len, more = piece->len;

		all += (uint64_t)v->sum << (at & 1) * 8;
		/* what is behind the text is written over */
		memcpy(frame + at, v, sizeof(*v));
		at += len;
		all += (uint64_t)piece->sum << (at & 1) * 8;
		bp_phd_template_copy(frame + at, q->text + piece->at, more);
		at += more;
	}
	*sum = bp_sum_add(all, bp_phd_template_patch(q, id, frame));
	return at;
}

#endif
