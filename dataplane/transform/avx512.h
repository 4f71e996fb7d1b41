/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_DATAPLANE_TRANSFORM_AVX512_H
#define BP_DATAPLANE_TRANSFORM_AVX512_H

#include <rte_mbuf.h>

#include "dataplane/transform/same_template.h"
#include "dataplane/workers/worker.h"
#include "services/transform/method.h"

/*
 * Processes readings that match the template eight at a time, on CPUs with AVX-512: for layout
 * kunze2021, 40 bytes, which bp_template_is_kunze2021() checks. Either only bp_template_validate(),
 * or all steps for a burst of one tracker except the arithmetic.
 */
bool bp_transform_avx512_supported(void);

static inline bool bp_template_is_kunze2021(const struct bp_template *u)
{
	return u->outputs == BP_TEMPLATE_PAYLOAD + 12 && u->end == BP_TEMPLATE_PAYLOAD + 40;
}

/*
 * Validates m[0..n) up to the first group of eight with a reading that does not match the template.
 * Returns the number of valid readings. Sets their r[] and payload[], and a bit in *others for each
 * whose source differs from that of `first`, which may be r[0].
 */
unsigned bp_transform_avx512_validate(const struct bp_template *u, struct rte_mbuf *const *m,
	unsigned n, struct bp_transform_sample *r, uint8_t **payload,
	const struct bp_transform_sample *first, uint64_t *others);

/* Data of a burst of one tracker that is kept until its results are written. */
struct bp_transform_avx512_burst {
	uint32_t before[BP_RX_BURST]; /* sum of the UDP checksum and the outputs, as received */
	uint32_t ip[BP_RX_BURST];     /* checksum of the IPv4 header, as received */
	uint8_t *frame[BP_RX_BURST];  /* after the last: `nowhere` */
	uint8_t nowhere[2 * RTE_CACHE_LINE_SIZE];
} __rte_cache_aligned;

/*
 * Whether all of m[0..n), at least one and at most BP_RX_BURST, are readings that match the
 * template, with the source and the length of m[0]. Then *b is set and p has their points, with
 * zeros up to the next multiple of 8.
 */
bool bp_transform_avx512_read(const struct bp_template *u, struct rte_mbuf *const *m, unsigned n,
	struct bp_transform_avx512_burst *b, struct bp_transform_points *p);

/*
 * Writes the results p of those readings and the headers of `to`, eight at a time, up to the first
 * group in which one may be saturated. Returns the number of written readings; the others are
 * unmodified.
 */
unsigned bp_transform_avx512_write(const struct bp_transform_avx512_burst *b, unsigned n,
	const struct bp_template_receiver *to, const struct bp_transform_points *p);

/*
 * Returns reading j of those that bp_transform_avx512_read() found, as bp_template_validate()
 * would.
 */
static inline void bp_transform_avx512_sample(const struct bp_template *u,
	const struct bp_transform_avx512_burst *b, unsigned j, struct bp_transform_sample *r)
{
	r->frame = b->frame[j];
	r->from[0] = bp_transform_sample_half(r->frame + BP_TEMPLATE_AT_SRC);
	r->from[1] = 0;
	r->rest = ~(uint64_t)b->before[j];
	r->kind = u->kind;
}

#endif
