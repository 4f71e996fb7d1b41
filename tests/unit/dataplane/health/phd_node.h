/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_TESTS_UNIT_DATAPLANE_HEALTH_PHD_NODE_H
#define BP_TESTS_UNIT_DATAPLANE_HEALTH_PHD_NODE_H

#include "tests/unit/dataplane/health/health_rig.h"

#include <stdio.h>
#include <string.h>

/* Reports that node phd takes, and what it makes of them. */

#define SPO2 "/cse-in/" HEALTH_SYSTEM_ID "/spo2"
#define PULSE "/cse-in/" HEALTH_SYSTEM_ID "/pulse_rate"

/* 97.5 %, 61 bpm */
static const struct value both[] = {{1, 0xf3cf, 1}, {10, 61, 2}};
static const char con1[] = "{\"v\":97.5,\"u\":\"%\",\"t\":null}",
		  con2[] = "{\"v\":61,\"u\":\"bpm\",\"t\":null}";

static inline struct bytes one(bool confirmed, unsigned invoke_id, unsigned number)
{
	return report_make(FIXED, confirmed, invoke_id, number, both, 1, 0);
}

static inline struct bytes two(bool confirmed, unsigned invoke_id, unsigned number)
{
	return report_make(FIXED, confirmed, invoke_id, number, both, 2, 0);
}

/* The request of a part; `name` and `con` as they must be. */
static inline struct request goes(struct health *h, uint32_t slot, unsigned report, unsigned part,
	const char *path, const char *con)
{
	const struct request q = health_part(h, part);

	assert_string_equal(q.path, path);
	assert_string_equal(q.con, con);
	assert_int_equal(q.part, part);
	health_named(h, &q, slot, report);
	return q;
}

#endif
