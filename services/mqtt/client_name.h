/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_SERVICES_MQTT_CLIENT_NAME_H
#define BP_SERVICES_MQTT_CLIENT_NAME_H

#include <stdint.h>

#include "services/mqtt/flow.h"

/* "10.0.0.5:40312" or "[fd00::5]:40312", not terminated; returns its length, 0 when it won't fit.
 */
uint32_t bp_client_name(const struct bp_flow *f, char *out, uint32_t size);

#endif
