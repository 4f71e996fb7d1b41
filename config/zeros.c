/* SPDX-License-Identifier: BSD-3-Clause */
#include "config/config.h"

_Alignas(64) const unsigned char bp_config_zeros[BP_CONFIG_SERVICE_MAX];
