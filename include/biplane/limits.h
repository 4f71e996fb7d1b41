/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BIPLANE_LIMITS_H
#define BIPLANE_LIMITS_H

/* Limits that are fixed when biplane is compiled. All other limits are configured. */
#define BP_MAX_PORTS 32
#define BP_MAX_WORKERS 64
#define BP_MAX_BRIDGES 16
/* Networks of MQTT inspection; 0: the main one. Those of the configuration are followed by those of
 * VRFs, and by one for the VRFs that have no number. */
#define BP_NETWORKS 128
#define BP_NETWORKS_CONFIGURED (1 + BP_MAX_BRIDGES)
#define BP_NETWORK_OTHER (BP_NETWORKS - 1)
#define BP_MAX_MQTT_PORTS 8
#define BP_MAX_NODES 128
#define BP_NAME_MAX 31 /* bytes of a port's or instance's name, without the NUL */

#endif
