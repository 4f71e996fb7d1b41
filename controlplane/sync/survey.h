/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_CONTROLPLANE_SYNC_SURVEY_H
#define BP_CONTROLPLANE_SYNC_SURVEY_H

#include <stddef.h>
#include <stdint.h>

#include "biplane/fib.h"

/*
 * Which ways out of this machine the kernel knows: the addresses of its interfaces, and the unicast
 * routes of all its tables, whichever rules lead to them. For `biplane doctor`, which must not take
 * from the kernel a NIC that one of them leads through. Knows no configuration and no tables.
 */
struct bp_survey {
	void *arg;
	void (*address)(
		void *arg, uint32_t ifindex, const struct bp_address *address, unsigned length);
	/* Once a hop, or more often. ifindex 0: the kernel does not say which interface. */
	void (*way)(void *arg, const struct bp_prefix *to, uint32_t table, uint32_t ifindex);
};

/* Asks the kernel of this network namespace. Needs no rights. 0, or -1 with a sentence. */
int bp_survey_kernel(const struct bp_survey *s, char *err, size_t err_size);

#endif
