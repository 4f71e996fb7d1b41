/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_PROTO_HEALTH_PHD_FIELDS_H
#define BP_PROTO_HEALTH_PHD_FIELDS_H

#include "proto/net/frame.h"
#include "proto/health/phd_apdu.h"

/* Fields in MDER, taken one after the other; shared by the files of the codec. */

static inline bool bp_phd_take_u16(struct bp_phd_bytes *b, uint16_t *v)
{
	if (b->len < 2)
		return false;
	*v = bp_be16(b->p);
	b->p += 2;
	b->len = (uint16_t)(b->len - 2);
	return true;
}

static inline bool bp_phd_take_u32(struct bp_phd_bytes *b, uint32_t *v)
{
	if (b->len < 4)
		return false;
	*v = bp_be32(b->p);
	b->p += 4;
	b->len = (uint16_t)(b->len - 4);
	return true;
}

/* An OCTET STRING or ANY: u16 length, and that many bytes. */
static inline bool bp_phd_take_bytes(struct bp_phd_bytes *b, struct bp_phd_bytes *v)
{
	uint16_t len;

	if (!bp_phd_take_u16(b, &len) || b->len < len)
		return false;
	v->p = b->p;
	v->len = len;
	b->p += len;
	b->len = (uint16_t)(b->len - len);
	return true;
}

/* A SEQUENCE OF: u16 count, u16 length of the entries, which are not looked at. */
static inline bool bp_phd_take_list(
	struct bp_phd_bytes *b, uint16_t *count, struct bp_phd_bytes *entries)
{
	return bp_phd_take_u16(b, count) && bp_phd_take_bytes(b, entries);
}

/* Validates `n` entries of {u16, ANY}: all are complete and nothing follows. */
enum bp_phd_error bp_phd_attributes_prove(struct bp_phd_bytes entries, uint16_t n);

#endif
