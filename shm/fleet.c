/* SPDX-License-Identifier: BSD-3-Clause */
#include "shm/fleet.h"

const char *const bp_fleet_error_name[BP_FLEET_ERRORS] = {"connect", "closed", "timeout", "auth",
	"sentinel", "not_master", "full", "unavailable", "refused", "protocol", "epoch"};
