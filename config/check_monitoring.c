/* SPDX-License-Identifier: BSD-3-Clause */
#include "config/check_place.h"

/* Section monitoring: checks across several settings. */

static void check_tls(struct bp_reader *r, const struct bp_yaml *n)
{
	const struct bp_yaml *cert = bp_yaml_find(n, "tls_certificate");
	const struct bp_yaml *key = bp_yaml_find(n, "tls_key");
	const struct bp_yaml *one = cert != NULL ? cert : key;

	if ((cert == NULL) != (key == NULL))
		bp_error(r->messages, one->key->line, one->key->column,
			"monitoring.%s: there is no %s; expected both tls_certificate and tls_key",
			cert != NULL ? "tls_certificate" : "tls_key",
			cert != NULL ? "tls_key" : "tls_certificate");
}

void bp_check_monitoring(struct bp_reader *r, const struct bp_yaml *n, void *base)
{
	const struct bp_config_monitoring *m = &((const struct bp_config *)base)->monitoring;
	const struct bp_yaml *listen = bp_good(n, "listen");
	const bool tls =
		bp_yaml_find(n, "tls_certificate") != NULL || bp_yaml_find(n, "tls_key") != NULL;
	const bool token = bp_yaml_find(n, "token_file") != NULL;

	check_tls(r, n);
	bp_check_secret_file(r, bp_good(n, "tls_key"), "tls_key", m->tls_key);
	bp_check_secret_file(r, bp_good(n, "token_file"), "token_file", m->token_file);
	if (listen == NULL || bp_config_listen_is_local(&m->listen) || (tls && token))
		return;
	BP_AT_ERROR(r, listen,
		"monitoring.listen: '%s' is an address beyond loopback, and there is no %s%s%s; "
		"set monitoring.tls_certificate, monitoring.tls_key and monitoring.token_file, or "
		"listen on 127.0.0.1 or a Unix socket",
		listen->text, tls ? "" : "TLS", tls || token ? "" : " and no ",
		token ? "" : "token");
}
