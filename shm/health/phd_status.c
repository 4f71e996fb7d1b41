/* SPDX-License-Identifier: BSD-3-Clause */
#include "shm/health/phd_status.h"

const struct bp_phd_status_info bp_phd_status_info[BP_PHD_S_COUNT] = {
#define X(id, group, kind, name, help)                                                             \
	[BP_PHD_S_##id] = {name, BP_PHD_SG_##group, BP_PHD_SK_##kind, help},
	BP_PHD_STATUS (X)
#undef X
};

const char *const bp_phd_status_group_name[BP_PHD_SG_COUNT] = {
	[BP_PHD_SG_SESSIONS] = "sessions",
	[BP_PHD_SG_ASSOCIATIONS] = "associations",
	[BP_PHD_SG_SIGNALLING] = "signalling",
	[BP_PHD_SG_REPORTS] = "reports",
	[BP_PHD_SG_INSTANCES] = "instances",
	[BP_PHD_SG_EVENTS] = "events",
	[BP_PHD_SG_CSE] = "cse",
	[BP_PHD_SG_PROVISIONING] = "provisioning",
	[BP_PHD_SG_STORE] = "store",
	[BP_PHD_SG_UDP] = "udp",
	[BP_PHD_SG_TCP] = "tcp",
};
