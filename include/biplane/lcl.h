/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BIPLANE_LCL_H
#define BIPLANE_LCL_H

#include <stdbool.h>
#include <stdint.h>

#include "biplane/match.h"
#include "proto/lcl/lcl.h"

/*
 * The configuration of LCL scheduling (section lcl), in the form in which the planes share it. The
 * label: proto/lcl/lcl.h and docs/reference/lcl-format.md. The scheduler:
 * services/lcl/scheduler.h.
 */

#define BP_LCL_FLOWS_MAX 256 /* entries of lcl.flows */
#define BP_LCL_QUEUES_MAX 64 /* cyclic queues of a port */

/* An entry of lcl.ports. Validation has replaced each 0 in `settings` by a value. */
struct bp_lcl_port {
	uint64_t tau_ns;   /* slot duration, ns: 1 us to 10 ms */
	uint64_t rate_bps; /* link rate, bit/s */
	uint64_t guard_ns; /* guard time before a slot that needs the link, ns, in addition to the
			      computed one */
	uint32_t queue_frames; /* depth of each slot queue, frames */
	uint32_t best_effort;  /* depth of the best-effort queue, frames */
	uint32_t handover;     /* depth of the ring for frames of other workers */
	uint16_t queues;       /* K, 2..BP_LCL_QUEUES_MAX */
	uint8_t port;          /* index of the port that it is for */
	bool trust;            /* labels of frames that come in on it */
};

/* An entry of lcl.flows. */
struct bp_lcl_flow {
	char name[32];
	struct bp_match match;
	uint64_t budget_ns; /* d0 */
	uint64_t rate_bps;  /* on the link, with label, preamble and gap; so are the next two */
	uint64_t peak_bps;  /* the source's link */
	uint32_t burst;     /* bytes */
	uint32_t frame;     /* bytes of the longest frame, without label and checksum */
	uint16_t id;        /* in the label; unique */
	uint8_t hops;       /* n0: LCL nodes on its path, including this one; 1..BP_LCL_HOPS_MAX */
	uint8_t out;        /* index in lcl.ports[] of the port that it leaves by */
};

/* The part that a reload may change. */
struct bp_lcl_rules {
	uint32_t n_flows;
	struct bp_lcl_flow flow[BP_LCL_FLOWS_MAX];
};

#endif
