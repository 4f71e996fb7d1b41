/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BIPLANE_COUNTERS_SAMPLING_H
#define BIPLANE_COUNTERS_SAMPLING_H

#include "biplane/counters.h"

/* Frames that are mirrored. */
#define BP_COUNTER_GROUPS_OF_SAMPLING(X)                                                           \
	X(SAMPLING, "sampling",                                                                    \
		"Sampling: frames that entries matched, and those of which there is no "           \
		"mirrored frame. They are forwarded all the same.")

#define BP_COUNTERS_OF_SAMPLING(X)                                                                 \
	/* frames that biplane made */                                                             \
	X(SAMPLING_MIRRORED, ORIGINATED, "sampling_mirrored",                                      \
		"copies of sampled frames to the port that they are mirrored to")                  \
	/* sampling */                                                                             \
	X(SAMPLING_MATCHED, SAMPLING, "sampling_matched", "frames that an entry matched")          \
	X(SAMPLING_NO_MBUF, SAMPLING, "sampling_no_mbuf",                                          \
		"sampled frames that were not mirrored for want of mbufs")                         \
	X(SAMPLING_TOO_LONG, SAMPLING, "sampling_too_long",                                        \
		"sampled frames that were not mirrored: longer than the MTU of the port "          \
		"they would be mirrored to")

BP_DECLARE_COUNTERS(SAMPLING, 1 + BP_SERVICE_SAMPLING);

#endif
