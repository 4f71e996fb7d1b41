/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BIPLANE_COUNTERS_LCL_H
#define BIPLANE_COUNTERS_LCL_H

#include "biplane/counters.h"

/* Latency control labels. */
#define BP_COUNTER_GROUPS_OF_LCL(X)                                                                \
	X(LCL, "lcl",                                                                              \
		"Latency control labels: what was added, taken off and refused, and "              \
		"what schedulers made of time-sensitive frames. What was dropped of "              \
		"them is among the drops.")

#define BP_COUNTERS_OF_LCL(X)                                                                      \
	/* frames that left nowhere */                                                             \
	X(DROP_LCL_FULL, DROP, "lcl_full", "time-sensitive, and all queues were full")             \
	X(DROP_LCL_BEST_EFFORT_FULL, DROP, "lcl_best_effort_full",                                 \
		"best effort, and the queue for that was full")                                    \
	X(DROP_LCL_HANDOVER_FULL, DROP, "lcl_handover_full",                                       \
		"on the way to the worker that owns the port: the ring was full")                  \
	X(DROP_LCL_NO_MBUF, DROP, "lcl_no_mbuf",                                                   \
		"with a label that could not be taken off, or a first buffer too "                 \
		"short to tell, for want of an mbuf")                                              \
	/* LCL scheduling */                                                                       \
	X(LCL_ADDED, LCL, "lcl_added",                                                             \
		"frames that became time-sensitive here: of an entry of flows")                    \
	X(LCL_REMOVED, LCL, "lcl_removed", "frames at their last node: they left without a label") \
	X(LCL_UNTRUSTED, LCL, "lcl_untrusted",                                                     \
		"labels taken off because the port does not trust labels")                         \
	X(LCL_BAD_TRUNCATED, LCL, "lcl_bad_truncated", "frames that end in their label")           \
	X(LCL_BAD_VERSION, LCL, "lcl_bad_version", "labels taken off: of an unknown version")      \
	X(LCL_BAD_HOPS, LCL, "lcl_bad_hops", "labels taken off: no node ahead, or too many")       \
	X(LCL_BAD_DELAY, LCL, "lcl_bad_delay",                                                     \
		"labels taken off: a delay that is more than a second, either way")                \
	X(LCL_BAD_NESTED, LCL, "lcl_bad_nested", "labels taken off: one behind another")           \
	X(LCL_LOST, LCL, "lcl_lost",                                                               \
		"time-sensitive frames that left by a port without LCL, plain")                    \
	X(LCL_CONSUMED, LCL, "lcl_consumed",                                                       \
		"labels of frames that a service or the kernel took in")                           \
	X(LCL_LATE, LCL, "lcl_late",                                                               \
		"time-sensitive frames whose delay was used up when they came")                    \
	X(LCL_EARLY, LCL, "lcl_early",                                                             \
		"those whose time lies further ahead than the queues reach")                       \
	X(LCL_MOVED, LCL, "lcl_moved", "those that went to a later queue: their own was full")     \
	X(LCL_UNLABELLED_LENGTH, LCL, "lcl_unlabelled_length",                                     \
		"sent as best effort: with the label, longer than the port's MTU allows")          \
	X(LCL_UNLABELLED_HEADROOM, LCL, "lcl_unlabelled_headroom",                                 \
		"sent as best effort: no room for the label in the buffer")                        \
	X(LCL_UNLABELLED_NO_MBUF, LCL, "lcl_unlabelled_no_mbuf",                                   \
		"sent as best effort: the buffer is shared, and there was none for a copy")        \
	X(LCL_HANDED_OVER, LCL, "lcl_handed_over",                                                 \
		"frames taken over from workers that do not own the port")

BP_DECLARE_COUNTERS(LCL, 1 + BP_SERVICE_LCL);

#endif
