/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_TESTS_UNIT_SERVICES_HEALTH_RIG_H
#define BP_TESTS_UNIT_SERVICES_HEALTH_RIG_H

#include "tests/unit/proto/exact.h"

#include "services/health/convert.h"
#include "services/health/layout.h"
#include "proto/health/onem2m.h"
#include "tests/unit/proto/health/coap_plain.h"

/* Common parts of the health device tests: models of the vectors, reports, and the expected
 * requests, from encoders that share no code with the code under test. */

/* Release 4, CON, named, an instance an object, 1,024 bytes. */
extern const struct bp_phd_settings rig_plan;
extern const struct bp_phd_target rig_target; /* cse-in/{system_id}/{object}, Cbiplane */

/* Configurations: standard 400; those of vectors C01, C03, C04 and C05; a blood pressure monitor.
 * Written by hand, not decoded. */
extern const struct bp_phd_model rig_400, rig_c01, rig_c03, rig_c04, rig_c05, rig_700;

/* A compiled layout, to be freed; fails the test when it cannot be compiled. */
struct bp_phd_layout *rig_compile(const struct bp_phd_model *m, const struct bp_phd_settings *plan,
	const struct bp_phd_target *target, const char *type);
/* Memory for one. */
struct bp_phd_layout *rig_layout_new(void);

/* The vector `id` of tests/fixtures/phd-apdus.json, in a block of exactly its size. */
uint8_t *rig_apdu(const char *id, size_t *len);

/* System-id 1122334455667788, the 43rd report of a session of life 0x0102; part i has message id
 * 0x1234 + i and its own token. */
struct bp_phd_identity rig_identity(unsigned part);

/* The path that rig_target becomes for an object, segment by segment, and the originator. */
struct rig_request {
	const char *segment[8]; /* up to NULL */
	const char *originator;
};
/* The request for the JSON text `con`, in *m. */
void rig_expect(struct plain *m, const struct bp_phd_settings *plan, const struct rig_request *q,
	unsigned part, const char *con);

/* Fails unless part i of what was planned is exactly *m, written to a block of exactly its room. */
void rig_assert_part(const struct bp_phd_layout *l, const struct bp_phd_settings *plan,
	const uint8_t *apdu, struct bp_phd_conversion *c, unsigned i, const struct plain *m);

/* The "con" of a request, parsed out of it and checked to be JSON; to be freed. NULL: it is not
 * what a create request looks like. */
char *rig_content(const uint8_t *message, size_t len);

#endif
