/* SPDX-License-Identifier: BSD-3-Clause */
#include "biplane/counters.h"

const struct bp_counter_info bp_counter_info[BP_C_COUNT] = {
#define X(id, group, name, help) [BP_C_##id] = {name, BP_CG_##group, help},
	BP_COUNTERS (X)
#undef X
};

const char *const bp_counter_group_name[BP_CG_COUNT] = {
	[BP_CG_MADE] = "made",
	[BP_CG_DROP] = "drop",
	[BP_CG_CONSUMED] = "consumed",
	[BP_CG_KERNEL] = "kernel",
	[BP_CG_PUNT] = "punt",
	[BP_CG_ROUTE] = "route",
	[BP_CG_PHD] = "phd",
	[BP_CG_AGGREGATION] = "aggregation",
	[BP_CG_TRANSFORM] = "transform",
	[BP_CG_LCL] = "lcl",
	[BP_CG_BRIDGE] = "bridge",
	[BP_CG_INSPECT] = "inspect",
	[BP_CG_FLOW] = "flow",
	[BP_CG_STREAM] = "stream",
	[BP_CG_MQTT] = "mqtt",
	[BP_CG_VALUE] = "value",
	[BP_CG_ALARM] = "alarm",
	[BP_CG_TROUBLE] = "trouble",
};
