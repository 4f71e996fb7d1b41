/* SPDX-License-Identifier: BSD-3-Clause */
#include "config/service.h"

#define X(name, NAME) extern const struct bp_config_service bp_config_service_##name;
BP_SERVICES(X)
#undef X

const struct bp_config_service *const bp_config_services[BP_SERVICE_COUNT] = {
#define X(name, NAME) [BP_SERVICE_##NAME] = &bp_config_service_##name,
	BP_SERVICES(X)
#undef X
};
