/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_TESTS_UNIT_PROTO_SPARKPLUG_SPB_WRITER_H
#define BP_TESTS_UNIT_PROTO_SPARKPLUG_SPB_WRITER_H

#include <stdint.h>
#include <string.h>

/* Writes payloads of Sparkplug B; shares no code with what it tests. */

struct spb {
	uint8_t p[4096];
	uint32_t n;
};

static inline void spb_varint(struct spb *b, uint64_t v)
{
	for (; v >= 0x80; v >>= 7)
		b->p[b->n++] = (uint8_t)(v | 0x80);
	b->p[b->n++] = (uint8_t)v;
}

static inline void spb_number(struct spb *b, uint32_t field, uint64_t v)
{
	spb_varint(b, field << 3);
	spb_varint(b, v);
}

static inline void spb_bytes(struct spb *b, uint32_t field, const void *p, uint32_t n)
{
	spb_varint(b, field << 3 | 2);
	spb_varint(b, n);
	memcpy(b->p + b->n, p, n);
	b->n += n;
}

static inline void spb_double(struct spb *b, uint32_t field, double v)
{
	spb_varint(b, field << 3 | 1);
	memcpy(b->p + b->n, &v, 8);
	b->n += 8;
}

static inline void spb_float(struct spb *b, uint32_t field, float v)
{
	spb_varint(b, field << 3 | 5);
	memcpy(b->p + b->n, &v, 4);
	b->n += 4;
}

enum { SPB_TIMESTAMP = 1, SPB_METRICS = 2, SPB_SEQ = 3 };
enum {
	SPB_NAME = 1,
	SPB_ALIAS = 2,
	SPB_TIME = 3,
	SPB_DATATYPE = 4,
	SPB_HISTORICAL = 5,
	SPB_NULL = 7
};
enum {
	SPB_INT = 10,
	SPB_LONG = 11,
	SPB_FLOAT = 12,
	SPB_DOUBLE = 13,
	SPB_BOOLEAN = 14,
	SPB_STRING = 15
};

/* A metric with a double; name NULL: none; alias, datatype 0: none. */
static inline void spb_metric(
	struct spb *b, const char *name, uint64_t alias, uint32_t datatype, double value)
{
	struct spb m = {.n = 0};

	if (name != NULL)
		spb_bytes(&m, SPB_NAME, name, (uint32_t)strlen(name));
	if (alias != 0)
		spb_number(&m, SPB_ALIAS, alias);
	if (datatype != 0)
		spb_number(&m, SPB_DATATYPE, datatype);
	spb_double(&m, SPB_DOUBLE, value);
	spb_bytes(b, SPB_METRICS, m.p, m.n);
}

static inline void spb_bdseq(struct spb *b, uint64_t bdseq)
{
	struct spb m = {.n = 0};

	spb_bytes(&m, SPB_NAME, "bdSeq", 5);
	spb_number(&m, SPB_DATATYPE, 8);
	spb_number(&m, SPB_LONG, bdseq);
	spb_bytes(b, SPB_METRICS, m.p, m.n);
}

#endif
