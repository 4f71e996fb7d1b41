/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_SHM_MQTT_MQTT_TABLES_H
#define BP_SHM_MQTT_MQTT_TABLES_H

#include "shm/service.h"

/* The tables of MQTT inspection, by their index in the service's. */
enum {
	BP_MT_RULES,
	BP_MT_RULE_STATS,
	BP_MT_RULE_STATE,
	BP_MT_ALARM_RING,
	BP_MT_ALARM_TAIL,
	BP_MT_ALARM_LOG,
	BP_MT_ALARM_LATENCY,
	BP_MT_FLOWS,
	BP_MT_REASSEMBLY,
	BP_MQTT_TABLES,
};

#define BP_ALARM_RING_MIN 4096u /* bytes of a worker's */

#endif
