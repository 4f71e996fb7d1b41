/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BIPLANE_COUNTERS_LCL_H
#define BIPLANE_COUNTERS_LCL_H

#include "biplane/counters.h"

/* Latency control labels. */
#define BP_COUNTER_GROUPS_OF_LCL(X)                                                                \
	X(LCL, "lcl",                                                                              \
		"Latency control labels and scheduling of time-sensitive frames. Dropped frames "  \
		"are in group drop.")

#define BP_COUNTERS_OF_LCL(X)                                                                      \
	/* dropped frames */                                                                       \
	X(DROP_LCL_SLOT_QUEUES_FULL, DROP, "lcl_slot_queues_full",                                 \
		"time-sensitive frames: all slot queues full")                                     \
	X(DROP_LCL_BEST_EFFORT_FULL, DROP, "lcl_best_effort_full",                                 \
		"best-effort frames: best-effort queue full")                                      \
	X(DROP_LCL_HANDOVER_FULL, DROP, "lcl_handover_full",                                       \
		"handover queue to the worker that owns the port full")                            \
	X(DROP_LCL_NO_MBUF, DROP, "lcl_no_mbuf",                                                   \
		"no mbuf to remove a label, or to linearize a header")                             \
	/* LCL scheduling */                                                                       \
	X(LCL_ADDED, LCL, "lcl_added", "frames labeled: matched an entry of lcl.flows")            \
	X(LCL_REMOVED, LCL, "lcl_removed", "labels removed at the last node")                      \
	X(LCL_UNTRUSTED, LCL, "lcl_untrusted", "labels removed: port without trust_labels")        \
	X(LCL_BAD_TRUNCATED, LCL, "lcl_bad_truncated", "frames with a truncated label")            \
	X(LCL_BAD_VERSION, LCL, "lcl_bad_version", "labels removed: unknown version")              \
	X(LCL_BAD_HOPS, LCL, "lcl_bad_hops", "labels removed: invalid hop count")                  \
	X(LCL_BAD_DELAY, LCL, "lcl_bad_delay", "labels removed: delay beyond ±1 s")                \
	X(LCL_BAD_NESTED, LCL, "lcl_bad_nested", "labels removed: nested")                         \
	X(LCL_LOST_LABEL, LCL, "lcl_lost_label",                                                   \
		"time-sensitive frames sent without a label by a port without LCL")                \
	X(LCL_TERMINATED, LCL, "lcl_terminated",                                                   \
		"labels of frames terminated by a service or punted")                              \
	X(LCL_LATE, LCL, "lcl_late",                                                               \
		"time-sensitive frames that arrived with their latency budget used up")            \
	X(LCL_BEYOND_HORIZON, LCL, "lcl_beyond_horizon",                                           \
		"time-sensitive frames due after the last slot queue")                             \
	X(LCL_DEFERRED, LCL, "lcl_deferred",                                                       \
		"time-sensitive frames deferred to a later slot: slot queue full")                 \
	X(LCL_UNLABELED_MTU, LCL, "lcl_unlabeled_mtu",                                             \
		"sent as best effort: larger than the MTU with the label")                         \
	X(LCL_UNLABELED_HEADROOM, LCL, "lcl_unlabeled_headroom",                                   \
		"sent as best effort: no headroom for the label")                                  \
	X(LCL_UNLABELED_NO_MBUF, LCL, "lcl_unlabeled_no_mbuf",                                     \
		"sent as best effort: shared mbuf, and no mbuf for a copy")                        \
	X(LCL_HANDED_OVER, LCL, "lcl_handed_over",                                                 \
		"frames handed over by workers that do not own the port")

BP_DECLARE_COUNTERS(LCL, 1 + BP_SERVICE_LCL);

#endif
