/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_DATAPLANE_PROCESS_EAL_H
#define BP_DATAPLANE_PROCESS_EAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "dataplane/process/cpus.h"

struct bp_config;

/* The settings for the start of EAL, and the reasons. */
struct bp_eal {
	struct bp_cpus cpus;
	bool huge;          /* memory from hugepages */
	bool in_memory;     /* without files: no hugetlbfs is mounted */
	bool pci;           /* a port is a PCI device */
	uint64_t huge_free; /* bytes in free hugepages */
	uint64_t needed;    /* approximate bytes that biplane requests from DPDK */
	char warning[512];  /* a message, or "" */
};

#define BP_EAL_ARGS_MAX 64

/* Arguments for rte_eal_init(). The strings are in `text`. */
struct bp_eal_args {
	int argc;
	char *argv[BP_EAL_ARGS_MAX + 1];
	char text[4096];
	size_t used;
};

/* Bytes in free hugepages of all sizes. */
uint64_t bp_eal_huge_free(void);

/* Chooses CPUs and memory. `needed`: bytes. Returns 0, or -1 with a message in `err`. */
int bp_eal_choose(
	const struct bp_config *c, uint64_t needed, struct bp_eal *e, char *err, size_t err_size);

/*
 * Builds the arguments. Those of the user (after `--`) are last, so that they take precedence.
 * Devices are not included: ports are attached afterwards, in the order of the configuration.
 * Returns 0, or -1 with a message in `err` if there are too many.
 */
int bp_eal_build_args(const struct bp_config *c, const struct bp_eal *e, int extra_argc,
	char *const *extra_argv, struct bp_eal_args *args, char *err, size_t err_size);

/* Starts EAL. Returns 0, or -1 with a message in `err`. */
int bp_eal_start(const struct bp_config *c, struct bp_eal_args *args, char *err, size_t err_size);

#endif
