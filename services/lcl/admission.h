/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_SERVICES_LCL_ADMISSION_H
#define BP_SERVICES_LCL_ADMISSION_H

#include <stdbool.h>
#include <stdint.h>

#include "biplane/lcl.h"

/*
 * Whether a port keeps its promise to flows, d0 +- tau end to end, in the worst case. All nodes on
 * the way are taken to be like this port (tau, K, rate), all its flows to go on together for as
 * many hops as each has, and no others to join them. What a flow sends in any time t is at most
 * A(t) = min(burst + rate t, frame + peak t).
 *
 * A frame with d and n that comes at t is meant for the slot in which T = t + d/n lies. At a hop, a
 * flow's d lies in [lo, hi]: at first both are d0. Frames of it that are meant for one slot left
 * their source within tau + J, where J = (hi - lo)(1 - 1/n), since waiting longer so far makes up
 * for coming later, and what a longest frame takes more than a shortest at the hops so far. So what
 * may be meant for slots that last y together is at most S(y) = sum A(y + J) over the flows.
 *
 * A frame waits at least max(0, d/n - tau): its slot began no earlier. It waits at most the least
 * of:
 *   - d/n + S(tau) / rate, where a slot fits: this is no more than d/n + tau. Where it doesn't,
 * frames are moved into later slots, behind what is there; they are full no longer than up to the
 * root y of S(y) = rate y, and it waits at most d/n + S(root + tau) / rate.
 *   - max(hi, 0)/n and what frames of others take that can be sent with it without a pause: its own
 *     flow's came no faster than they leave, so they don't keep it waiting.
 *   - d/n + J and the same, since they left their source no faster, either.
 * A best-effort frame on the wire, and a longer frame before a shorter one, add their time where
 * they can. From the waits follows [lo, hi] of the next hop. The promise is kept where lo >= 0 at
 * the last hop, no frame waits more than d + tau there, and no frame is ever meant for, or moved
 * to, a slot that has no queue.
 */
enum bp_lcl_why {
	BP_LCL_KEPT,
	BP_LCL_RATE,  /* the flows' rates are more than the port's: `need` bps, `have` bps */
	BP_LCL_BURST, /* a slot can't hold what may be meant for it, and what may have the wire
			  already: `need` octets, `have` octets */
	BP_LCL_QUEUE_DEPTH, /* likewise, its frames: `need` places, `have` places (queue_frames) */
	BP_LCL_QUEUES, /* a frame's slot may lie further ahead than the queues reach: `need` queues,
			  `have` */
	BP_LCL_BUDGET, /* the budget may be used up before the last hop: `need` ns, `have` ns */
};

struct bp_lcl_admitted {
	enum bp_lcl_why why;
	uint64_t need, have;
	uint8_t hop;               /* 1..: where */
	int64_t early_ns, late_ns; /* end-to-end delay is in [d0 + early, d0 + late]; where KEPT */
	uint64_t slot_octets;      /* the most that may be meant for one slot of any of its hops */
};

/*
 * Of flows[0..n), n at most BP_LCL_FLOWS_MAX, all of port `p`: out[i] for each. Where one flow is
 * not kept, those that would go on beside it have its reason. best_effort_max: octets of the
 * longest best-effort frame, without checksum; 0: there is none.
 */
void bp_lcl_admit(const struct bp_lcl_port *p, uint32_t best_effort_max,
	const struct bp_lcl_flow *flows, unsigned n, struct bp_lcl_admitted *out);

#endif
