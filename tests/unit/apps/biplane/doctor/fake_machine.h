/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_TESTS_UNIT_APPS_BIPLANE_DOCTOR_FAKE_MACHINE_H
#define BP_TESTS_UNIT_APPS_BIPLANE_DOCTOR_FAKE_MACHINE_H

#include "apps/biplane/doctor/doctor.h"

/* A machine that is a folder, as the doctor's root takes it. */
struct fake {
	char root[64];
};

void fake_begin(struct fake *f);
void fake_end(struct fake *f);
/* Writes a file, and makes the folders above it. */
void fake_file(const struct fake *f, const char *text, const char *path, ...)
	__attribute__((format(printf, 3, 4)));
/* Makes a symbolic link, in place of what is there. A target that begins with / is below the root.
 */
void fake_link(const struct fake *f, const char *target, const char *path, ...)
	__attribute__((format(printf, 3, 4)));
void fake_folder(const struct fake *f, const char *path, ...) __attribute__((format(printf, 2, 3)));
/* Removes a file, a link, or a folder with all that is in it. */
void fake_remove(const struct fake *f, const char *path, ...) __attribute__((format(printf, 2, 3)));

/* Two NUMA nodes, an IOMMU, hugepages, everything as it should be; no NIC. */
void fake_server(const struct fake *f);

struct fake_nic {
	const char *address, *driver, *interface; /* the latter two: NULL for none */
	int index, group, node;                   /* of the interface; -1: none */
	bool up;
};
/* A NIC that DPDK's net_ixgbe knows; group: made when it is not there. */
void fake_nic(const struct fake *f, const struct fake_nic *n);
/* An interface without a device, such as a bridge. */
void fake_interface(const struct fake *f, const char *name, int index, bool up);
/* `above` is an upper device of `below`: a bridge or a bond (master), or a VLAN. */
void fake_stand(const struct fake *f, const char *above, const char *below, bool master);
/* Output of `ip -j` for addresses and routes. */
void fake_ip(const struct fake *f, const char *addresses, const char *routes4, const char *routes6);

/* Facts of the data plane without a configuration. */
extern const struct bp_dataplane_facts fake_facts;
/* Begins the doctor on it; ssh: SSH_CONNECTION or NULL; pid 0: no process. */
void fake_doctor(const struct fake *f, struct bp_doctor *d, const char *ssh, uint64_t pid);

/* The whole report, and what an item of it says; fails when there is no such item. */
void fake_report(const struct fake *f, struct bp_report *r);
const char *report_verdict(const struct bp_report *r, const char *item);
const char *report_seen(const struct bp_report *r, const char *item);
/* Whether one of the item's commands contains this text. */
bool report_says(const struct bp_report *r, const char *item, const char *text);

#endif
