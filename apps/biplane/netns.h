/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_APPS_BIPLANE_NETNS_H
#define BP_APPS_BIPLANE_NETNS_H

#include <stdint.h>

/* Whether a process is in the network namespace of this process, and so has the same interfaces. */
enum bp_netns {
	BP_NETNS_SAME,
	BP_NETNS_OTHER,
	BP_NETNS_REMOVED, /* no such process */
	BP_NETNS_UNKNOWN, /* not to be asked: it is another user's; errno says why */
};
enum bp_netns bp_netns_of(uint64_t pid);

#endif
