/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_CONFIG_LCL_SETTINGS_H
#define BP_CONFIG_LCL_SETTINGS_H

#include "biplane/lcl.h"
#include "config/config.h"
#include "services/lcl/admission.h"

/* Section lcl. */
struct bp_config_lcl {
	uint16_t ethertype;
	uint32_t n_ports;
	uint32_t max_flows; /* flows with statistics of their own on each port; the rest shares one
			       row */
	struct bp_lcl_port port[BP_MAX_PORTS];
	struct bp_lcl_rules rules;
};
BP_CONFIG_SERVICE(lcl, LCL)

/* Returns whether the file has an entry of lcl.ports. */
static inline bool bp_config_has_lcl(const struct bp_config *c)
{
	return bp_config_lcl(c)->n_ports != 0;
}

/* Returns whether a port has an entry of lcl.ports. */
static inline bool bp_config_lcl_port(const struct bp_config *c, unsigned port)
{
	const struct bp_config_lcl *l = bp_config_lcl(c);

	for (uint32_t i = 0; i < l->n_ports; i++)
		if (l->port[i].port == port)
			return true;
	return false;
}

/* Computes the admission of each of lcl.flows: out[0..rules.n_flows). All are admitted in a
 * configuration that was read. */
void bp_config_lcl_admit(const struct bp_config *c, struct bp_lcl_admitted *out);

#endif
