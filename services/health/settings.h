/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_SERVICES_HEALTH_SETTINGS_H
#define BP_SERVICES_HEALTH_SETTINGS_H

#include "biplane/health.h"
#include "shm/health/phd.h"

/* Section health_devices in the form that workers, layouts and devices need. */

/* Bytes of a request besides an instance's representation: header, token, options and marker. A
 * path that is longer takes them from the representation. */
#define BP_PHD_REQUEST_HEAD 400u

/* `source`: our source address for requests, of the CSE's family. */
void bp_phd_settings_init(struct bp_phd_settings *out, const struct bp_config_phd *c,
	const struct bp_address *source);

/* The manager's system-id: the file's, else the EUI-64 of this MAC. */
void bp_phd_own_system_id(uint8_t out[8], const struct bp_config_phd *c, const uint8_t mac[6]);

#endif
