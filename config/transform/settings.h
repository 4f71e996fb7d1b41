/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_CONFIG_TRANSFORM_SETTINGS_H
#define BP_CONFIG_TRANSFORM_SETTINGS_H

#include "biplane/transform.h"
#include "config/config.h"

struct bp_config_transform {
	struct bp_transform_config entries; /* section transform */
	/* section transformation */
	uint32_t matrices;        /* of all sources, those that are set while it runs too */
	struct bp_address loader; /* loopback address of the matrix loader; family 0: none */
	uint16_t loader_tcp;
	uint32_t loader_connections; /* at one time */
};
BP_CONFIG_SERVICE(transform, TRANSFORM)

/* Whether the file has an entry of transform. */
static inline bool bp_config_transforms(const struct bp_config *c)
{
	return bp_config_transform(c)->entries.n_rules != 0;
}

#endif
