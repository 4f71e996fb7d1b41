/* SPDX-License-Identifier: BSD-3-Clause */
/* `biplane fleet push`: a new bundle for the members that match a selector. */
#include <stdlib.h>
#include <string.h>

#include "apps/biplane/commands.h"
#include "apps/biplane/exit_status.h"
#include "apps/biplane/fleet/operator.h"
#include "config/schema.h"

enum {
	OPT_SELECTOR = BP_CLI_LONG,
	OPT_CANARY,
	OPT_TRIAL,
	OPT_SIGN,
	OPT_SERIAL,
	OPT_NO_CHECK,
	OPT_JSON
};

static const struct bp_cli_option options[] = {
	{'c', "config", "FILE", "a configuration file with fleet.config"},
	{OPT_SELECTOR, "selector", "LABELS", "members, such as site=north,role=edge, or all"},
	{OPT_CANARY, "canary", "N", "members that apply the bundle first; default: 0"},
	{OPT_TRIAL, "trial", "TIME", "trial time; default: fleet.config.trial_time"},
	{OPT_SIGN, "sign", "KEY", "the private key that signs, PEM"},
	{OPT_SERIAL, "serial", "NUMBER", "lowest serial number; default: the next one"},
	{OPT_NO_CHECK, "no-check", NULL, "do not check the bundle with FILE"},
	{OPT_JSON, "json", NULL, "one JSON object"},
	{0, NULL, NULL, NULL},
};

struct push {
	const char *path, *selector, *key, *file;
	uint64_t canaries, trial_ns, serial;
	bool no_check, json;
};

static int read_bundle(
	const struct bp_cli_command *command, const char *file, struct bp_fleet_bundle *b)
{
	b->text = bp_config_read_file(file, &b->len, stderr);
	if (b->text == NULL)
		return BP_EX_NOINPUT;
	if (b->len > BP_BUNDLE_MAX)
		return bp_cli_fail(command, BP_EX_DATAERR,
			"%s is too long; expected at most %u KiB", file, BP_BUNDLE_MAX >> 10);
	bp_sha256_hex(b->text, b->len, b->sha256);
	return BP_EX_OK;
}

/* The bundle with the file of the operator, as members check it with theirs. */
static int check(const struct push *p, const struct bp_fleet_bundle *b)
{
	const struct bp_bundle bundle = {p->file, b->text, b->len};
	size_t len = 0;
	char *text = bp_config_read_file(p->path, &len, stderr);
	struct bp_config *c =
		text != NULL ? bp_config_parse_with(p->path, text, len, &bundle, stderr) : NULL;

	free(text);
	bp_config_free(c);
	return c != NULL ? BP_EX_OK : BP_EX_CONFIG;
}

/* Chooses the canaries, by name; *n: the number of members that match. */
static int choose(const struct bp_fleet_operator *o, const struct bp_config_fleet_labels *selector,
	uint64_t canaries, struct bp_fleet_rollout *r, size_t *n)
{
	struct bp_etcd_rows rows;
	json_t *members, *m;
	int status = bp_fleet_operator_read(o, "members", NULL, &rows);
	size_t i;

	if (status != BP_EX_OK)
		return status;
	members = bp_fleet_members(&rows);
	bp_etcd_rows_free(&rows);
	*n = 0;
	json_array_foreach(members, i, m)
	{
		const char *name = json_string_value(json_object_get(m, "member"));

		if (!bp_fleet_member_matches(m, selector))
			continue;
		++*n;
		if (r->n_canaries < canaries && strlen(name) <= BP_NAME_MAX)
			snprintf(r->canary[r->n_canaries++], sizeof(r->canary[0]), "%s", name);
	}
	json_decref(members);
	if (r->n_canaries < canaries)
		return bp_cli_fail(o->command, BP_EX_UNAVAILABLE,
			"%zu connected members match %s; expected at least %llu, the number of "
			"canaries",
			*n, r->selector, (unsigned long long)canaries);
	return BP_EX_OK;
}

static int push(const struct bp_fleet_operator *o, const struct push *p)
{
	struct bp_config_fleet_labels selector;
	struct bp_fleet_rollout *r = calloc(1, sizeof(*r));
	struct bp_fleet_bundle b = {.text = NULL};
	struct bp_fleet_signer signer;
	char err[1024];
	size_t members = 0;
	int status;

	if (r == NULL)
		return bp_cli_fail(o->command, BP_EX_OSERR, "no memory");
	if (!bp_fleet_selector_read(p->selector, &selector, err, sizeof(err)))
		status = bp_cli_fail(o->command, BP_EX_USAGE, "%s", err);
	else
		status = read_bundle(o->command, p->file, &b);
	if (status == BP_EX_OK && !p->no_check)
		status = check(p, &b);
	if (status == BP_EX_OK && bp_fleet_signer_read(&signer, p->key, err, sizeof(err)) != 0)
		status = bp_cli_fail(o->command, BP_EX_NOINPUT, "%s", err);
	if (status == BP_EX_OK) {
		bp_fleet_selector_text(&selector, r->selector);
		r->serial = p->serial;
		r->trial_s = p->trial_ns / 1000000000u;
		memcpy(r->sha256, b.sha256, sizeof(r->sha256));
		status = choose(o, &selector, p->canaries, r, &members);
		if (status == BP_EX_OK)
			status = bp_fleet_operator_store(o, &signer, r, &b);
		explicit_bzero(&signer, sizeof(signer));
	}
	if (status == BP_EX_OK)
		status = bp_fleet_print_rollout(r, members, p->json);
	free(b.text);
	free(r);
	return status;
}

static int read_options(struct bp_cli *cli, struct push *p)
{
	char **operand;
	int key;

	while ((key = bp_cli_next(cli)) != BP_CLI_END) {
		if (key == BP_CLI_STOP)
			return -1;
		if (key == 'c')
			p->path = cli->value;
		else if (key == OPT_SELECTOR)
			p->selector = cli->value;
		else if (key == OPT_SIGN)
			p->key = cli->value;
		else if (key == OPT_NO_CHECK)
			p->no_check = true;
		else if (key == OPT_JSON)
			p->json = true;
		else if (key == OPT_CANARY &&
			 !bp_cli_number(cli->value, 0, BP_FLEET_CANARIES_MAX, &p->canaries))
			return bp_cli_usage_error(cli->command,
				"--canary %s: expected a number from 0 to %u", cli->value,
				BP_FLEET_CANARIES_MAX);
		else if (key == OPT_SERIAL &&
			 !bp_cli_number(cli->value, 1, BP_FLEET_SERIAL_MAX, &p->serial))
			return bp_cli_usage_error(
				cli->command, "--serial %s: expected a serial number", cli->value);
		else if (key == OPT_TRIAL &&
			 !bp_cli_duration(cli->value, 1, BP_FLEET_TRIAL_MAX_S, &p->trial_ns))
			return bp_cli_usage_error(cli->command,
				"--trial %s: expected a duration from 1s to 24h", cli->value);
	}
	if (bp_cli_operands(cli, &operand) != 1)
		return bp_cli_usage_error(cli->command, "expected one file: the bundle");
	p->file = operand[0];
	if (p->path == NULL || p->selector == NULL || p->key == NULL)
		return bp_cli_usage_error(cli->command, "missing option %s",
			p->path == NULL       ? "-c FILE: a configuration file with fleet.config"
			: p->selector == NULL ? "--selector LABELS"
					      : "--sign KEY");
	return BP_EX_OK;
}

static int push_main(const struct bp_cli_command *command, int argc, char **argv)
{
	struct push p = {.path = NULL};
	struct bp_fleet_operator o;
	struct bp_cli cli;
	int status;

	bp_cli_begin(&cli, command, argc, argv);
	status = read_options(&cli, &p);
	if (status != BP_EX_OK)
		return status < 0 ? cli.status : status;
	status = bp_fleet_operator_open(&o, command, p.path);
	if (status == BP_EX_OK)
		status = push(&o, &p);
	bp_fleet_operator_close(&o);
	return status;
}

const struct bp_cli_command bp_cmd_fleet_push = {
	.name = "fleet push",
	.summary = "sign a bundle and roll it out",
	.synopsis = "-c FILE --selector LABELS --sign KEY [OPTION]... BUNDLE",
	.text = "Signs BUNDLE, a YAML file with settings, and stores it in etcd for the members\n"
		"of the fleet of FILE whose labels match the selector. Each member checks it,\n"
		"applies it by a reload, and restores its previous bundle if its health becomes\n"
		"worse in the trial time. With --canary, the first N members by name apply it\n"
		"first, and the others when all of these have passed their trial. Before it is\n"
		"stored, BUNDLE is checked with FILE, as 'biplane config check' does.",
	.example = "  biplane fleet push -c plant.yaml --selector site=north --canary 1 --sign "
		   "fleet.key rules.yaml",
	.options = options,
	.main = push_main,
};
