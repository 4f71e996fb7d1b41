/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_APPS_BIPLANE_REQUEST_H
#define BP_APPS_BIPLANE_REQUEST_H

#include <jansson.h>

#include "apps/biplane/cli.h"
#include "config/config.h"

/* For commands that the control plane of a running instance answers. */

/* Sends a request (takes the reference to `request`). 0, and *reply, a new reference, has status
 * "ok"; otherwise an exit status, with an error on stderr. */
int bp_request(const struct bp_cli_command *command, const struct bp_config_instance *id,
	json_t *request, json_t **reply);

#endif
