/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_CONFIG_TRANSFORM_SETTINGS_H
#define BP_CONFIG_TRANSFORM_SETTINGS_H

#include "biplane/transform.h"
#include "config/config.h"

struct bp_config_transform {
	struct bp_transform_config entries;
	uint32_t max_matrices; /* of all sources, including those that are set at run time */
	struct bp_address matrix_loader_address; /* loopback; family 0: no matrix loader */
	uint16_t matrix_loader_tcp_port;
	uint32_t matrix_loader_max_connections;
};
BP_CONFIG_SERVICE(transform, TRANSFORM)

/* Returns whether the file has an entry of transform. */
static inline bool bp_config_transforms(const struct bp_config *c)
{
	return bp_config_transform(c)->entries.n_rules != 0;
}

#endif
