/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_TESTS_FUZZ_FORWARDED_H
#define BP_TESTS_FUZZ_FORWARDED_H

#include "tests/fuzz/fuzz.h"

/*
 * What a policy that refuses packets forwards of a client's stream: each byte with one value only,
 * until the broker acknowledges it.
 */

#define FORWARDED_MAX (1u << 17) /* of a connection; more than an input has */

struct forwarded {
	bool any;
	uint32_t begin, acked;        /* sequence numbers */
	uint32_t n;                   /* positions up to the last one with a value */
	uint16_t byte[FORWARDED_MAX]; /* and 0x100, if it has left */
};

/* Another connection, of which the first byte is not known. */
static inline void forwarded_reset(struct forwarded *f)
{
	f->any = false;
}

/* ...or known, by the handshake. */
static inline void forwarded_begin(struct forwarded *f, uint32_t seq)
{
	f->any = true;
	f->begin = f->acked = seq;
	memset(f->byte, 0, f->n * sizeof(f->byte[0]));
	f->n = 0;
}

static inline void forwarded_acked(struct forwarded *f, uint32_t ack)
{
	if (f->any && ack - f->acked <= f->n - (f->acked - f->begin))
		f->acked = ack;
}

static inline void forwarded_bytes(struct forwarded *f, uint32_t seq, const uint8_t *p, size_t n)
{
	if (n != 0 && !f->any)
		forwarded_begin(f, seq);
	for (size_t i = 0; i < n; i++, seq++) {
		const uint32_t at = seq - f->begin;

		if ((int32_t)(seq - f->acked) < 0 || at >= FORWARDED_MAX)
			continue;
		HOLDS(f->byte[at] == 0 || f->byte[at] == (0x100 | p[i]));
		f->byte[at] = 0x100 | p[i];
		if (at >= f->n)
			f->n = at + 1;
	}
}

#endif
