/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_SERVICES_LCL_ADMISSION_H
#define BP_SERVICES_LCL_ADMISSION_H

#include <stdbool.h>
#include <stdint.h>

#include "biplane/lcl.h"

/*
 * Admission control: whether a port keeps the latency bound of flows, d0 +- tau end to end, in the
 * worst case. The model assumes that all nodes on the path are like this port (tau, K, rate), that
 * all its flows share the path for as many hops as each has, and that no other flows join them. In
 * any time t a flow sends at most A(t) = min(burst + rate t, frame + peak t).
 *
 * A frame with d and n that arrives at t is assigned to the slot that contains T = t + d/n. At a
 * hop, a flow's d is in [lo, hi]: at the first hop both are d0. Frames of a flow that are assigned
 * to one slot left their source within tau + J, where J = (hi - lo)(1 - 1/n), because a longer wait
 * so far compensates a later arrival, plus the difference of the transmission times of a longest
 * and a shortest frame at the hops so far. Slots of total length y are therefore assigned at most
 * S(y) = sum A(y + J) over the flows.
 *
 * A frame waits at least max(0, d/n - tau), since its slot began no earlier. It waits at most the
 * minimum of:
 *   - d/n + S(tau) / rate, where a slot fits: this is at most d/n + tau. Where a slot does not fit,
 *     frames are moved into later slots, behind the frames there; these slots are full no
 *     longer than up to the root y of S(y) = rate y, and a frame waits at most
 *     d/n + S(root + tau) / rate.
 *   - max(hi, 0)/n plus the transmission time of frames of other flows that can be sent with it
 *     without a pause: frames of its own flow arrive no faster than they leave, so they do
 *     not delay it.
 *   - d/n + J plus the same time, because the frames left their source no faster, either.
 *
 * A best-effort frame on the link, and a longer frame before a shorter one, add their transmission
 * time where they can. The waits give [lo, hi] of the next hop. The bound is kept where lo >= 0 at
 * the last hop, no frame waits more than d + tau there, and no frame is ever assigned to, or moved
 * to, a slot without a queue.
 */
enum bp_lcl_why {
	BP_LCL_KEPT,
	BP_LCL_RATE,  /* the sum of the flows' rates exceeds the port's rate: `need` bit/s, `have`
			 bit/s */
	BP_LCL_BURST, /* a slot cannot hold all bytes that may be assigned to it, after the bytes
			 that may occupy the link already: `need` bytes, `have` bytes */
	BP_LCL_QUEUE_DEPTH, /* likewise for its frames: `need` frames, `have` frames
			       (slot_queue_len) */
	BP_LCL_QUEUES, /* a frame's slot may be beyond the last queue: `need` queues, `have` queues
			*/
	BP_LCL_BUDGET, /* the budget may be used up before the last hop: `need` ns, `have` ns */
};

struct bp_lcl_admitted {
	enum bp_lcl_why why;
	uint64_t need, have;
	uint8_t hop;               /* 1..: where */
	int64_t early_ns, late_ns; /* end-to-end delay is in [d0 + early, d0 + late]; where KEPT */
	uint64_t slot_bytes;       /* the most that may be meant for one slot of any of its hops */
};

/*
 * Checks flows[0..n), n at most BP_LCL_FLOWS_MAX, all of port `p`, and sets out[i] for each. Where
 * one flow is rejected, the flows that share the hop with it get its reason. best_effort_max:
 * maximum length of a best-effort frame, bytes, without checksum; 0: no best-effort traffic.
 */
void bp_lcl_admit(const struct bp_lcl_port *p, uint32_t best_effort_max,
	const struct bp_lcl_flow *flows, unsigned n, struct bp_lcl_admitted *out);

#endif
