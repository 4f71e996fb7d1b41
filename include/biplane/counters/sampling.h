/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BIPLANE_COUNTERS_SAMPLING_H
#define BIPLANE_COUNTERS_SAMPLING_H

#include "biplane/counters.h"

/* Frames that are mirrored. */
#define BP_COUNTER_GROUPS_OF_SAMPLING(X)                                                           \
	X(SAMPLING, "sampling",                                                                    \
		"Sampling: matched frames, and frames that could not be mirrored. All of them "    \
		"are forwarded.")

#define BP_COUNTERS_OF_SAMPLING(X)                                                                 \
	/* frames that biplane generated */                                                        \
	X(SAMPLING_MIRRORED, ORIGINATED, "sampling_mirrored",                                      \
		"copies of sampled frames sent to mirror ports")                                   \
	/* sampling */                                                                             \
	X(SAMPLING_MATCHED, SAMPLING, "sampling_matched", "frames that match an entry")            \
	X(SAMPLING_NO_MBUF, SAMPLING, "sampling_no_mbuf", "sampled frames not mirrored: no mbuf")  \
	X(SAMPLING_TOO_LONG, SAMPLING, "sampling_too_long",                                        \
		"sampled frames not mirrored: larger than the MTU of the mirror port")

BP_DECLARE_COUNTERS(SAMPLING, 1 + BP_SERVICE_SAMPLING);

#endif
