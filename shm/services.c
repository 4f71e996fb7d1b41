/* SPDX-License-Identifier: BSD-3-Clause */
#include "shm/service.h"

#define X(name, NAME) extern const struct bp_service_tables bp_tables_##name;
BP_SERVICES(X)
#undef X

const struct bp_service_tables *const bp_service_tables[BP_SERVICE_COUNT] = {
#define X(name, NAME) [BP_SERVICE_##NAME] = &bp_tables_##name,
	BP_SERVICES(X)
#undef X
};
