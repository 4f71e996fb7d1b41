/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_TESTS_UNIT_DATAPLANE_TRANSFORM_TRANSFORM_MODEL_H
#define BP_TESTS_UNIT_DATAPLANE_TRANSFORM_TRANSFORM_MODEL_H

#include "tests/unit/dataplane/transform/transform_rig.h"

/*
 * A model of a bridge with entries of `transform`, frame by frame and byte by byte as in the
 * specifications: every search is a loop over all entries, and every checksum is computed again. Of
 * the product it uses only the number formats and the methods' arithmetic, one point at a time.
 */
#define MODEL_FRAME 2300u
#define MODEL_OUT 256u

struct model_frame {
	unsigned port;
	uint32_t len;
	uint8_t byte[MODEL_FRAME];
};

struct model {
	/* with the matrices that are set now */
	const struct bp_transform_config *file;
	uint32_t one_buffer; /* bytes that one holds */
	unsigned n_out;
	struct model_frame out[MODEL_OUT];
	uint64_t counter[BP_C_COUNT];
	struct {
		uint64_t readings, sent, bare, saturated, refused, overflow, unknown;
	} rule[BP_TRANSFORM_RULES_MAX];
	struct {
		uint64_t readings, saturated, refused;
	} source[X_MATRICES];
};

/* A frame that came in on a port of the wire between ports 0 and 1. */
void model_take(struct model *m, unsigned port, const uint8_t *frame, uint32_t len);

#endif
