/* SPDX-License-Identifier: BSD-3-Clause */
/* `biplane fleet rollback`: an older bundle again. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "apps/biplane/commands.h"
#include "apps/biplane/exit_status.h"
#include "apps/biplane/fleet/operator.h"

enum { OPT_SELECTOR = BP_CLI_LONG, OPT_TO, OPT_SIGN, OPT_SERIAL, OPT_JSON };

static const struct bp_cli_option options[] = {
	{'c', "config", "FILE", "a configuration file with fleet.config"},
	{OPT_SELECTOR, "selector", "LABELS", "the selector of the rollout, or all"},
	{OPT_TO, "to", "VERSION", "default: the version before the present one"},
	{OPT_SIGN, "sign", "KEY", "the private key that signs, PEM"},
	{OPT_SERIAL, "serial", "NUMBER", "lowest serial number; default: the next one"},
	{OPT_JSON, "json", NULL, "one JSON object"},
	{0, NULL, NULL, NULL},
};

struct rollback {
	const char *path, *selector, *key;
	uint64_t to, serial;
	bool json;
};

/* The version that the selector has now; 0: none. */
static int present(const struct bp_fleet_operator *o, const char *selector, uint64_t *version)
{
	struct bp_fleet_rollout *r = malloc(sizeof(*r));
	struct bp_etcd_rows rows = {.n = 0};
	char err[1024] = "";
	int status = r == NULL ? bp_cli_fail(o->command, BP_EX_OSERR, "no memory")
			       : bp_fleet_operator_read(o, "rollouts", selector, &rows);

	*version = 0;
	if (status == BP_EX_OK && rows.n > 0) {
		if (bp_fleet_rollout_read(&o->keys, o->fleet, &rows.row[0], r, err, sizeof(err)) ==
			0)
			*version = r->version;
		else
			status = bp_cli_fail(
				o->command, BP_EX_DATAERR, "rollout %s: %s", selector, err);
	}
	bp_etcd_rows_free(&rows);
	free(r);
	return status;
}

static int newest_first(const void *a, const void *b)
{
	const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? 1 : x > y ? -1 : 0;
}

/* The versions before `now`, the newest first; free the list. NULL: printed. */
static uint64_t *list_versions(const struct bp_fleet_operator *o, uint64_t now, size_t *n)
{
	char prefix[BP_FLEET_KEY_MAX], err[1024];
	struct bp_etcd_rows rows;
	uint64_t *list = NULL;

	bp_fleet_path(o->fleet, "bundles", "", prefix);
	*n = 0;
	if (bp_etcd_read(o->etcd, prefix, BP_ETCD_NAMES_BELOW, &rows, err, sizeof(err)) == 0)
		list = calloc(rows.n + 1, sizeof(*list));
	else
		bp_cli_fail(o->command, BP_EX_UNAVAILABLE, "%s", err);
	for (unsigned i = 0; list != NULL && i < rows.n; i++)
		if (now > 1 &&
			bp_cli_number(rows.row[i].key + strlen(prefix), 1, now - 1, &list[*n]))
			++*n;
	if (list != NULL)
		qsort(list, *n, sizeof(*list), newest_first);
	bp_etcd_rows_free(&rows);
	return list;
}

static void choose(const struct bp_fleet_bundle *b, struct bp_fleet_rollout *r)
{
	r->version = b->version;
	memcpy(r->sha256, b->sha256, sizeof(r->sha256));
}

/* The newest bundle of the selector before version `now`. Bundles are read one by one: together
 * they can be longer than any answer. */
static int find_before(const struct bp_fleet_operator *o, const char *selector, uint64_t now,
	struct bp_fleet_rollout *r)
{
	size_t n;
	uint64_t *version = list_versions(o, now, &n);
	char err[1024];
	int rc = 0;

	if (version == NULL)
		return BP_EX_UNAVAILABLE;
	for (size_t i = 0; rc >= 0 && r->version == 0 && i < n; i++) {
		struct bp_fleet_bundle b;

		rc = bp_fleet_operator_bundle(o, version[i], &b, err, sizeof(err));
		if (rc > 0 && strcmp(b.selector, selector) == 0)
			choose(&b, r);
		free(b.text);
	}
	free(version);
	if (rc < 0)
		return bp_cli_fail(o->command, BP_EX_UNAVAILABLE, "%s", err);
	if (r->version != 0)
		return BP_EX_OK;
	return bp_cli_fail(o->command, BP_EX_UNAVAILABLE,
		"selector %s has no bundle before version %" PRIu64 "; expected --to VERSION",
		selector, now);
}

static int find(const struct bp_fleet_operator *o, const char *selector, uint64_t to, uint64_t now,
	struct bp_fleet_rollout *r)
{
	struct bp_fleet_bundle b;
	char err[1024];

	if (to == 0)
		return find_before(o, selector, now, r);
	if (bp_fleet_operator_bundle(o, to, &b, err, sizeof(err)) <= 0)
		return bp_cli_fail(o->command, BP_EX_UNAVAILABLE, "%s", err);
	choose(&b, r);
	free(b.text);
	return BP_EX_OK;
}

static int rollback(const struct bp_fleet_operator *o, const struct rollback *p)
{
	struct bp_fleet_rollout *r = calloc(1, sizeof(*r));
	struct bp_config_fleet_labels selector;
	struct bp_fleet_signer signer;
	uint64_t now = 0;
	char err[1024];
	int status;

	if (r == NULL)
		return bp_cli_fail(o->command, BP_EX_OSERR, "no memory");
	if (!bp_fleet_selector_read(p->selector, &selector, err, sizeof(err)))
		status = bp_cli_fail(o->command, BP_EX_USAGE, "%s", err);
	else if (bp_fleet_signer_read(&signer, p->key, err, sizeof(err)) != 0)
		status = bp_cli_fail(o->command, BP_EX_NOINPUT, "%s", err);
	else {
		bp_fleet_selector_text(&selector, r->selector);
		r->serial = p->serial;
		status = present(o, r->selector, &now);
		if (status == BP_EX_OK)
			status = find(o, r->selector, p->to, now, r);
		if (status == BP_EX_OK)
			status = bp_fleet_operator_store(o, &signer, r, NULL);
		explicit_bzero(&signer, sizeof(signer));
	}
	if (status == BP_EX_OK) {
		struct bp_etcd_rows rows;
		size_t n = 0;

		status = bp_fleet_operator_read(o, "members", NULL, &rows);
		if (status == BP_EX_OK) {
			json_t *members = bp_fleet_members(&rows), *m;
			size_t i;

			json_array_foreach(members, i, m) n +=
				bp_fleet_member_matches(m, &selector);
			json_decref(members);
			bp_etcd_rows_free(&rows);
			bp_fleet_print_rollout(r, n, p->json);
		}
	}
	free(r);
	return status;
}

static int rollback_main(const struct bp_cli_command *command, int argc, char **argv)
{
	struct rollback p = {.path = NULL};
	struct bp_fleet_operator o;
	struct bp_cli cli;
	int key, status;

	bp_cli_begin(&cli, command, argc, argv);
	while ((key = bp_cli_next(&cli)) != BP_CLI_END) {
		if (key == BP_CLI_STOP)
			return cli.status;
		if (key == 'c')
			p.path = cli.value;
		else if (key == OPT_SELECTOR)
			p.selector = cli.value;
		else if (key == OPT_SIGN)
			p.key = cli.value;
		else if (key == OPT_JSON)
			p.json = true;
		else if (key == OPT_SERIAL &&
			 !bp_cli_number(cli.value, 1, BP_FLEET_SERIAL_MAX, &p.serial))
			return bp_cli_usage_error(
				command, "--serial %s: expected a serial number", cli.value);
		else if (key == OPT_TO && !bp_cli_number(cli.value, 1, BP_FLEET_SERIAL_MAX, &p.to))
			return bp_cli_usage_error(
				command, "--to %s: expected a version", cli.value);
	}
	if (bp_cli_just_config(&cli, p.path) != 0)
		return BP_EX_USAGE;
	if (p.selector == NULL || p.key == NULL)
		return bp_cli_usage_error(command, "missing option %s",
			p.selector == NULL ? "--selector LABELS" : "--sign KEY");
	status = bp_fleet_operator_open(&o, command, p.path);
	if (status == BP_EX_OK)
		status = rollback(&o, &p);
	bp_fleet_operator_close(&o);
	return status;
}

const struct bp_cli_command bp_cmd_fleet_rollback = {
	.name = "fleet rollback",
	.summary = "roll out an older bundle again",
	.synopsis = "-c FILE --selector LABELS --sign KEY [OPTION]...",
	.text = "Signs a rollout of an older bundle for the members that match the selector: of\n"
		"VERSION, or of the last version of this selector before the present one. The\n"
		"members apply it as a new one, all at the same time.",
	.example = "  biplane fleet rollback -c plant.yaml --selector site=north --sign fleet.key",
	.options = options,
	.main = rollback_main,
};
