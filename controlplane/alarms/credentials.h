/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_CONTROLPLANE_ALARMS_CREDENTIALS_H
#define BP_CONTROLPLANE_ALARMS_CREDENTIALS_H

#include <stddef.h>

/*
 * Password and TLS files of a destination. `who`: "the edge broker's". Return 0, or -1 with a
 * sentence in `err`.
 */

/* Reads the password: the first line of the file, without the line end. */
int bp_password_read(
	const char *who, const char *path, char *out, size_t size, char *err, size_t err_size);
/* Checks that a TLS file can be read: libraries report only invalid arguments. `setting`: its path
 * in the configuration. A path of "" is accepted. */
int bp_tls_file_check(
	const char *who, const char *setting, const char *path, char *err, size_t err_size);

#endif
