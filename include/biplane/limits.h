/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BIPLANE_LIMITS_H
#define BIPLANE_LIMITS_H

/* Limits that are fixed when biplane is compiled. All other limits are configured. */
#define BP_MAX_PORTS 32
#define BP_MAX_WORKERS 64
#define BP_MAX_BRIDGES 16
#define BP_NETWORKS (1 + BP_MAX_BRIDGES) /* of MQTT inspection; 0: the main one */
#define BP_MAX_MQTT_PORTS 8
#define BP_MAX_NODES 128
#define BP_NAME_MAX 31 /* bytes of a port's or instance's name, without the NUL */

#endif
