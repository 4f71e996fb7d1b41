/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_TESTS_UNIT_PROTO_HEALTH_PHD_BUILD_H
#define BP_TESTS_UNIT_PROTO_HEALTH_PHD_BUILD_H

#include "tests/unit/proto/exact.h"

/*
 * An encoder of MDER of its own: lengths are left open and filled in when what they measure is
 * written. It knows nothing of the codec.
 */
struct build {
	uint8_t b[1 << 17];
	size_t n;
	size_t open[16]; /* places of lengths not known yet */
	unsigned depth;
};

static inline void put16(struct build *o, unsigned v)
{
	assert_true(o->n + 2 <= sizeof(o->b));
	o->b[o->n++] = (uint8_t)(v >> 8);
	o->b[o->n++] = (uint8_t)v;
}

static inline void put32(struct build *o, uint32_t v)
{
	put16(o, v >> 16);
	put16(o, v & 0xffff);
}

static inline void put_bytes(struct build *o, const void *p, size_t n)
{
	assert_true(o->n + n <= sizeof(o->b));
	memcpy(o->b + o->n, p, n);
	o->n += n;
}

static inline void open_length(struct build *o)
{
	assert_true(o->depth < sizeof(o->open) / sizeof(o->open[0]));
	o->open[o->depth++] = o->n;
	put16(o, 0);
}

static inline void close_length(struct build *o)
{
	size_t at, n;

	assert_true(o->depth > 0);
	at = o->open[--o->depth];
	n = o->n - at - 2;
	assert_true(n <= UINT16_MAX);
	o->b[at] = (uint8_t)(n >> 8);
	o->b[at + 1] = (uint8_t)n;
}

static inline void open_list(struct build *o, unsigned count)
{
	put16(o, count);
	open_length(o);
}

static inline void close_all(struct build *o)
{
	while (o->depth > 0)
		close_length(o);
}

static inline void put_string(struct build *o, const void *p, size_t n)
{
	put16(o, (unsigned)n);
	put_bytes(o, p, n);
}

/* {id, value} of numbers of 16 bits, as nearly all attributes are. */
static inline void put_attribute(struct build *o, unsigned id, unsigned n, const uint16_t *v)
{
	put16(o, id);
	open_length(o);
	for (unsigned i = 0; i < n; i++)
		put16(o, v[i]);
	close_length(o);
}

#define ATTRIBUTE(o, id, ...)                                                                      \
	put_attribute(o, id, sizeof((uint16_t[]){__VA_ARGS__}) / 2, (const uint16_t[]){__VA_ARGS__})

/* PRST up to the body of its DATA; close_all() ends it. */
static inline void begin_prst(struct build *o, unsigned invoke, unsigned choice)
{
	o->n = 0;
	o->depth = 0;
	put16(o, 0xe700);
	open_length(o);
	open_length(o);
	put16(o, invoke);
	put16(o, choice);
	open_length(o);
}

static inline void begin_event(
	struct build *o, unsigned invoke, unsigned choice, unsigned handle, unsigned type)
{
	begin_prst(o, invoke, choice);
	put16(o, handle);
	put32(o, 0xffffffff);
	put16(o, type);
	open_length(o);
}

#endif
