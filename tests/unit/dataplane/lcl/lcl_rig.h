/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_TESTS_UNIT_DATAPLANE_LCL_LCL_RIG_H
#define BP_TESTS_UNIT_DATAPLANE_LCL_LCL_RIG_H

#include "dataplane/lcl/lcl.h"
#include "tests/unit/dataplane/aggregation/agg_rig.h"
#include "tests/unit/dataplane/fixture.h"

/*
 * Frames with latency labels for a rig, written by this file's own arithmetic. The rig's clock
 * begins with a slot: when a frame comes then, slot i begins i tau later.
 */
#define LCL_TAU 10000 /* ns */
#define LCL_LABEL 14u

/* Two ports of a wire, both with a scheduler, and flow 7 from a to b. */
#define LCL_PORTS_BEGIN "lcl:\n  ports:\n"
#define LCL_PORT(name_, more_)                                                                     \
	"    - {port: " name_ ", slot: 10us, queues: 4, link_rate: 10Gbps" more_ "}\n"
#define LCL_FLOW_MORE(more_)                                                                       \
	"  flows:\n"                                                                               \
	"    - {name: arm, match: {port: a, udp_port: 7000}, latency_budget: 25us, hops: 2, "      \
	"rate: 100Mbps, "                                                                          \
	"burst: 4000, id: 7, output_port: b" more_ "}\n"
#define LCL_FLOW LCL_FLOW_MORE("")
#define LCL_TRUSTED                                                                                \
	AGG_PORTS LCL_PORTS_BEGIN LCL_PORT("a", ", trust_labels: true")                            \
		LCL_PORT("b", ", trust_labels: true") LCL_FLOW

/* A label as it is in a frame. */
struct label {
	int32_t d;
	uint32_t sequence;
	uint16_t flow, type; /* type 0: 0x88b5 */
	uint8_t n, version;  /* version 0: 1 */
};

/* The frame with that label; its length. */
uint32_t lcl_frame(const uint8_t *plain, uint32_t len, const struct label *l, uint8_t *out);
/* A datagram of flow 7. */
uint32_t lcl_datagram(uint8_t f[UDP_FRAME_MAX]);

/* Time continues by so much, and then there is a walk. */
void lcl_pass(struct rig *r, uint64_t ns);
/* Puts it in with that label. */
void lcl_put(
	struct rig *r, unsigned port, const uint8_t *plain, uint32_t len, const struct label *l);
/* The next frame that left is this one, with that label. */
void lcl_expect(
	struct rig *r, unsigned port, const uint8_t *plain, uint32_t len, const struct label *l);
/* The frame that was put in last, before it comes in. */
struct rte_mbuf *lcl_last_put(struct rig *r, unsigned port);

#endif
