/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_APPS_BIPLANE_DOCTOR_NETWORK_HERE_H
#define BP_APPS_BIPLANE_DOCTOR_NETWORK_HERE_H

#include "apps/biplane/doctor/network.h"

/*
 * Whether these interfaces, read from sysfs, are those of the network namespace of this process.
 * sysfs shows the namespace of the process that mounted it, and `nsenter -n` does not mount it
 * again. Without this check, the data of Netlink would be compared with interfaces of another
 * namespace.
 */
bool bp_doctor_network_is_here(const struct bp_doctor_network *n);

#endif
