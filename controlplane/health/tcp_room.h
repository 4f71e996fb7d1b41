/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_CONTROLPLANE_HEALTH_TCP_ROOM_H
#define BP_CONTROLPLANE_HEALTH_TCP_ROOM_H

#include <stdint.h>

/* Descriptors that devices on TCP leave to all else: the store, the CSE, commands, the routes. */
#define BP_PHD_TCP_RESERVE 512u

/*
 * How many of `wanted` connections this process may have open: its limit of descriptors
 * (RLIMIT_NOFILE) is raised as far as is needed and allowed. At least 1. Fewer than wanted is said
 * in the log.
 */
uint32_t bp_phd_tcp_room(uint32_t wanted);

#endif
