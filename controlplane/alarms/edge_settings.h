/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_CONTROLPLANE_ALARMS_EDGE_SETTINGS_H
#define BP_CONTROLPLANE_ALARMS_EDGE_SETTINGS_H

#include <stddef.h>

#include "config/mqtt/settings.h"
#include "controlplane/alarms/mosquitto_link.h"

/*
 * Fills the link's settings from the configuration, with the password from its file (first line,
 * without the line end). Returns 0, or -1 with a sentence in `err` when that file or a TLS file
 * cannot be read.
 */
int bp_edge_settings(const struct bp_config_publisher *edge, struct bp_edge_link_settings *out,
	char *err, size_t err_size);

#endif
