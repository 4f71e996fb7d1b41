/* SPDX-License-Identifier: BSD-3-Clause */
#include "config/check_place.h"
#include "config/schema.h"

/* Section fleet.state: checks across several settings. */

static void check_login(
	struct bp_reader *r, const struct bp_yaml *n, const struct bp_config_fleet_state *c)
{
	const struct bp_yaml *password = bp_good(n, "password_file");
	const struct bp_yaml *user = bp_yaml_find(n, "username");

	if (user != NULL && bp_yaml_find(n, "password_file") == NULL)
		bp_error(r->messages, user->key->line, user->key->column,
			"%s.username: there is no password_file; expected password_file with "
			"username",
			r->path);
	if (password == NULL)
		return;
	if (bp_good(n, "server") != NULL && !c->redis.tls)
		bp_warning(r->messages, password->key->line, password->key->column,
			"%s.password_file: the password is sent without TLS, readable on the "
			"network; expected a server with rediss://",
			r->path);
	bp_check_secret_file(r, password, "password_file", c->password_file);
}

void bp_check_fleet_name(struct bp_reader *r, const struct bp_yaml *n)
{
	if (bp_yaml_find(r->root, "name") == NULL)
		BP_AT_ERROR(r, n->key,
			"%s: the gateway has no 'name'; expected a name that no other gateway of "
			"the fleet has",
			r->path);
}

void bp_check_fleet_state(struct bp_reader *r, const struct bp_yaml *n, void *base)
{
	const struct bp_config_fleet_state *c = &((const struct bp_config *)base)->fleet.state;
	const struct bp_yaml *tls = bp_yaml_find(n, "tls");
	const struct bp_yaml *cert = bp_yaml_find(n, "tls.cert"), *key = bp_yaml_find(n, "tls.key");

	bp_check_fleet_name(r, n);
	check_login(r, n, c);
	if (tls != NULL && bp_good(n, "server") != NULL && !c->redis.tls)
		bp_error(r->messages, tls->key->line, tls->key->column,
			"%s.tls: the URL of the server is without TLS; expected rediss:// or "
			"rediss-sentinel://, or no tls",
			r->path);
	if ((cert == NULL) != (key == NULL)) {
		const struct bp_yaml *one = cert != NULL ? cert : key;

		bp_error(r->messages, one->key->line, one->key->column,
			"%s.tls.%s: there is no %s; expected both cert and key, or neither",
			r->path, one->key->text, cert != NULL ? "key" : "cert");
	}
	bp_check_secret_file(r, bp_good(n, "tls.key"), "tls.key", c->key_file);
}
