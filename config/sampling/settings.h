/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_CONFIG_SAMPLING_SETTINGS_H
#define BP_CONFIG_SAMPLING_SETTINGS_H

#include "biplane/sampling.h"
#include "config/config.h"

/* Section sampling. */
struct bp_config_sampling {
	struct bp_sampling_rules rules;
};
BP_CONFIG_SERVICE(sampling, SAMPLING)

#endif
