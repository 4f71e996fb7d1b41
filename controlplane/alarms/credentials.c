/* SPDX-License-Identifier: BSD-3-Clause */
#include "controlplane/alarms/credentials.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

int bp_password_read(
	const char *who, const char *path, char *out, size_t size, char *err, size_t err_size)
{
	FILE *f = fopen(path, "re");
	size_t n;

	if (f == NULL) {
		snprintf(err, err_size,
			"%s password file %s cannot be read: %s; expected a file "
			"whose first line is the password",
			who, path, strerror(errno));
		return -1;
	}
	if (fgets(out, (int)size, f) == NULL) {
		snprintf(err, err_size,
			"%s password file %s is empty; its first line must be the password", who,
			path);
		fclose(f);
		return -1;
	}
	n = strcspn(out, "\r\n");
	if (out[n] == '\0' && n == size - 1) {
		snprintf(err, err_size,
			"the first line of the password file %s is too long; at most %zu bytes",
			path, size - 2);
		fclose(f);
		return -1;
	}
	fclose(f);
	out[n] = '\0';
	return 0;
}

int bp_tls_file_check(
	const char *who, const char *setting, const char *path, char *err, size_t err_size)
{
	FILE *f;

	if (path[0] == '\0')
		return 0;
	f = fopen(path, "re");
	if (f == NULL) {
		snprintf(err, err_size,
			"%s TLS file %s (%s) cannot be read: %s; expected a file in PEM form", who,
			path, setting, strerror(errno));
		return -1;
	}
	fclose(f);
	return 0;
}
