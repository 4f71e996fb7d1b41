/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_CONTROLPLANE_SYNC_SURVEY_H
#define BP_CONTROLPLANE_SYNC_SURVEY_H

#include <stddef.h>
#include <stdint.h>

#include "biplane/fib.h"

/*
 * The addresses of the machine's interfaces, and the unicast routes of all tables of the kernel,
 * whatever policy rules select them. For `biplane doctor`, which must not take a NIC from the
 * kernel that such a route uses. Independent of configuration and forwarding tables.
 */
struct bp_survey {
	void *arg;
	void (*address)(
		void *arg, uint32_t ifindex, const struct bp_address *address, unsigned length);
	/* Called at least once per hop. ifindex 0: the kernel does not report the interface. */
	void (*way)(void *arg, const struct bp_prefix *to, uint32_t table, uint32_t ifindex);
};

/* Reads from the kernel of this network namespace. Needs no privileges. Returns 0, or -1 with a
 * sentence in `err`. */
int bp_survey_kernel(const struct bp_survey *s, char *err, size_t err_size);

#endif
