/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_TESTS_UNIT_SHM_TRANSFORM_TRANSFORM_RIG_H
#define BP_TESTS_UNIT_SHM_TRANSFORM_TRANSFORM_RIG_H

#include "tests/unit/shm/test.h"

#include "shm/transform/transform_writer.h"

/* Banks in memory of exactly their size, and files in words. */
struct transform_rig {
	struct bp_transform_tables t;
	struct bp_transform_head head;
	struct bp_transform_readers readers;
	struct bp_config *c;
	struct bp_transform_config file;
	uint32_t room_sources, room_receivers;
};

void xform_open(struct transform_rig *x, uint32_t matrices, unsigned ports);
void xform_close(struct transform_rig *x);

/* The file: begins again, and gets rules (in the paper's layout), sources and receivers of the last
 * source. Each returns what was added. */
void xform_file(struct transform_rig *x);
struct bp_transform_rule *xform_rule(struct transform_rig *x, unsigned port, uint16_t udp);
struct bp_transform_source *xform_source(
	struct transform_rig *x, uint32_t rule, struct bp_prefix prefix);
struct bp_transform_receiver *xform_receiver(struct transform_rig *x, double mark);

/* A matrix that is known by its mark, and is none of two halves. */
void xform_matrix(double mark, double m[12]);
/* The mark of a whole one; -1: it is none. */
double xform_mark(const double m[12]);

struct bp_prefix xform_prefix4(uint32_t address, unsigned length);
struct bp_prefix xform_prefix6(uint64_t high, uint64_t low, unsigned length);

/* Builds what the file says into the bank that is not active; 0: and puts it active. */
int xform_load(struct transform_rig *x);
/* The error message. */
const char *xform_error(void);
struct bp_transform_view xform_view(const struct transform_rig *x);
/* State and mark of a receiver of the source that an address has. */
uint64_t xform_row(const struct transform_rig *x, unsigned rule, const struct bp_prefix *p,
	unsigned receiver, double *mark);

#endif
