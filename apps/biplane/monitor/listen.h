/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_APPS_BIPLANE_MONITOR_LISTEN_H
#define BP_APPS_BIPLANE_MONITOR_LISTEN_H

#include <stddef.h>

#include "config/config.h"

/*
 * Opens the listening socket of monitoring.listen. A Unix socket gets mode 0660, so that the group
 * of the process may connect; a file of that name that no process listens on is replaced. Returns a
 * nonblocking descriptor, or -1 with a sentence.
 */
int bp_listen_open(const struct bp_config_listen *l, char *err, size_t err_size);
/* Removes the file of a Unix socket. */
void bp_listen_remove(const struct bp_config_listen *l);
/* "127.0.0.1:9464" or the path. */
#define BP_LISTEN_TEXT (BP_LISTEN_PATH_MAX + 64)
const char *bp_listen_text(const struct bp_config_listen *l, char out[BP_LISTEN_TEXT]);

#endif
