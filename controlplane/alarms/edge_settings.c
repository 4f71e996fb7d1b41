/* SPDX-License-Identifier: BSD-3-Clause */
#include "controlplane/alarms/edge_settings.h"

#include <stdio.h>
#include <string.h>

#include "config/mqtt/settings.h"
#include "controlplane/alarms/credentials.h"

#define WHO "the edge broker's"

static void copy(char *to, size_t size, const char *from)
{
	snprintf(to, size, "%s", from);
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
	if (bp_tls_file_check(WHO, "mqtt.publisher.tls.ca", edge->ca_file, err, err_size) != 0 ||
		bp_tls_file_check(WHO, "mqtt.publisher.tls.cert", edge->cert_file, err, err_size) !=
			0 ||
		bp_tls_file_check(WHO, "mqtt.publisher.tls.key", edge->key_file, err, err_size) !=
			0)
		return -1;
	if (edge->password_file[0] == '\0')
		return 0;
	return bp_password_read(
		WHO, edge->password_file, out->password, sizeof(out->password), err, err_size);
}
