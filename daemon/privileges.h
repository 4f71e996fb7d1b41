/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_DAEMON_PRIVILEGES_H
#define BP_DAEMON_PRIVILEGES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/*
 * Privileges that a plane may need and an unprivileged user does not have. One table defines them;
 * the checks at the start, `biplane capabilities` and docs/reference/privileges.md derive from it.
 */
enum bp_privilege {
	/* the data plane's ports, by driver */
	BP_PRIV_VFIO,
	BP_PRIV_VFIO_NO_IOMMU,
	BP_PRIV_UIO,
	BP_PRIV_BIFURCATED,
	BP_PRIV_AF_PACKET,
	BP_PRIV_AF_XDP,
	BP_PRIV_TAP,
	BP_PRIV_VIRTIO_USER,
	BP_PRIV_PCAP_INTERFACE,
	BP_PRIV_SOCKET,
	BP_PRIV_MEMORY,
	/* the data plane's kernel interfaces */
	BP_PRIV_KERNEL_TAP,
	BP_PRIV_KERNEL_VIRTIO,
	/* its request for all CPUs */
	BP_PRIV_CPU_LATENCY,
	/* the control plane */
	BP_PRIV_ROUTES,
	BP_PRIV_LOW_PORT,
	BP_PRIV_PUBLISH,
	BP_PRIV_MONITOR,
	BP_PRIV_FLEET,
	BP_PRIVILEGES,
};

#define BP_PRIV_CAPS_MAX 4

struct bp_privilege_row {
	const char *plane;
	const char *component; /* driver or section */
	unsigned n_caps;
	uint8_t cap[BP_PRIV_CAPS_MAX]; /* CAP_* of linux/capability.h */
	bool memlock;                  /* locked memory beyond RLIMIT_MEMLOCK */
	const char *files;             /* files that its user must be able to open; "" for none */
	const char *reason;
};

const struct bp_privilege_row *bp_privilege_row(enum bp_privilege p);

/* "CAP_NET_RAW, CAP_NET_ADMIN", or "none". */
void bp_privilege_caps_text(const struct bp_privilege_row *row, char *out, size_t size);

/* Writes the whole table in Markdown, as in docs/reference/privileges.md. */
void bp_privileges_markdown(FILE *out);

/*
 * Checks that this process has the capabilities of `p`. who: the object that needs it, "port
 * devices (net_af_packet0)". Returns 0, or -1 with a sentence in `err` that ends in the remedy.
 */
int bp_privilege_check(enum bp_privilege p, const char *who, char *err, size_t err_size);

/* Checks that this process may lock `bytes` bytes of memory. Returns as bp_privilege_check(). */
int bp_privilege_check_memlock(uint64_t bytes, const char *who, char *err, size_t err_size);

/* Checks that this process may read and write a device file. Returns as bp_privilege_check(). */
int bp_privilege_check_file(const char *path, const char *who, char *err, size_t err_size);

/*
 * Drops every capability that no entry of `needed` (one bit per enum bp_privilege) names,
 * permanently and for all threads that are created later. Does nothing for root, because root
 * accesses its files by capability. Returns 0, or -1 with a sentence in `err`.
 */
int bp_privileges_keep(uint32_t needed, char *err, size_t err_size);

#endif
