/* SPDX-License-Identifier: BSD-3-Clause */
#include "controlplane/alarms/edge_settings.h"

#include "config/mqtt/settings.h"
#include <errno.h>
#include <stdio.h>
#include <string.h>

static void copy(char *to, size_t size, const char *from)
{
	snprintf(to, size, "%s", from);
}

static int read_password(const char *path, char *out, size_t size, char *err, size_t err_size)
{
	FILE *f = fopen(path, "re");
	size_t n;

	if (f == NULL) {
		snprintf(err, err_size,
			"the edge broker's password file %s cannot be read: %s; expected a file "
			"whose first line is the password",
			path, strerror(errno));
		return -1;
	}
	if (fgets(out, (int)size, f) == NULL) {
		snprintf(err, err_size,
			"the edge broker's password file %s is empty; its first line must be the "
			"password",
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

/* For an unreadable file libmosquitto reports only invalid "arguments". */
static int check_readable(const char *what, const char *path, char *err, size_t err_size)
{
	FILE *f;

	if (path[0] == '\0')
		return 0;
	f = fopen(path, "re");
	if (f == NULL) {
		snprintf(err, err_size,
			"the edge broker's TLS file %s (mqtt.publisher.tls.%s) cannot be read: %s; "
			"expected a file in PEM form",
			path, what, strerror(errno));
		return -1;
	}
	fclose(f);
	return 0;
}

int bp_edge_settings(const struct bp_config_publisher *edge, struct bp_edge_link_settings *out,
	char *err, size_t err_size)
{
	memset(out, 0, sizeof(*out));
	copy(out->host, sizeof(out->host), edge->broker.host);
	copy(out->client_id, sizeof(out->client_id), edge->client_id);
	copy(out->username, sizeof(out->username), edge->username);
	copy(out->ca_file, sizeof(out->ca_file), edge->ca_file);
	copy(out->cert_file, sizeof(out->cert_file), edge->cert_file);
	copy(out->key_file, sizeof(out->key_file), edge->key_file);
	out->port = edge->broker.tcp_port;
	out->tls = edge->broker.tls;
	out->keep_alive_s = edge->keep_alive_s;
	if (!edge->enabled)
		return 0;
	if (check_readable("ca", edge->ca_file, err, err_size) != 0 ||
		check_readable("cert", edge->cert_file, err, err_size) != 0 ||
		check_readable("key", edge->key_file, err, err_size) != 0)
		return -1;
	if (edge->password_file[0] == '\0')
		return 0;
	return read_password(
		edge->password_file, out->password, sizeof(out->password), err, err_size);
}
