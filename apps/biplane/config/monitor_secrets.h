/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_APPS_BIPLANE_CONFIG_MONITOR_SECRETS_H
#define BP_APPS_BIPLANE_CONFIG_MONITOR_SECRETS_H

#include <stddef.h>

#include "config/config.h"

/* Secrets are read at the start and after SIGHUP, before the process gives up its privileges. */
#define BP_MONITOR_TOKEN_MIN 16u
#define BP_MONITOR_TOKEN_MAX 255u

struct bp_monitor_secrets {
	char token[BP_MONITOR_TOKEN_MAX + 1]; /* "": none is required */
	char *certificate, *key;              /* PEM, NULL: no TLS */
};

/* Reads token, certificate and key again. 0, or -1 with a sentence; *s is unchanged then. */
int bp_monitor_secrets_read(struct bp_monitor_secrets *s, const struct bp_config_monitoring *c,
	char *err, size_t err_size);
/* Whether they can be read: 0, or -1 with a sentence. */
int bp_monitor_secrets_check(const struct bp_config_monitoring *c, char *err, size_t err_size);
void bp_monitor_secrets_free(struct bp_monitor_secrets *s);

#endif
