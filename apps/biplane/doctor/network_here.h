/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_APPS_BIPLANE_DOCTOR_NETWORK_HERE_H
#define BP_APPS_BIPLANE_DOCTOR_NETWORK_HERE_H

#include "apps/biplane/doctor/network.h"

/*
 * Whether these interfaces, read from sysfs, are those of this process's network namespace: sysfs
 * shows those of whoever mounted it (`nsenter -n` leaves it as it was). What Netlink says would
 * else be held against somebody else's interfaces.
 */
bool bp_doctor_network_is_here(const struct bp_doctor_network *n);

#endif
