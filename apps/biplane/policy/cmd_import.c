/* SPDX-License-Identifier: BSD-3-Clause */
/* `biplane policy import`: an ACL file of mosquitto as section mqtt.policy. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "apps/biplane/commands.h"
#include "apps/biplane/exit_status.h"
#include "apps/biplane/policy/acl.h"

static const struct bp_cli_option options[] = {{0, NULL, NULL, NULL}};

static int import_main(const struct bp_cli_command *command, int argc, char **argv)
{
	struct bp_cli cli;
	char **path;
	FILE *acl;
	bool ok;

	bp_cli_begin(&cli, command, argc, argv);
	if (bp_cli_next(&cli) == BP_CLI_STOP)
		return cli.status;
	if (bp_cli_operands(&cli, &path) != 1)
		return bp_cli_usage_error(command, "expected one ACL file of mosquitto");
	acl = fopen(path[0], "re");
	if (acl == NULL) {
		fprintf(stderr, "%s: %s; expected an ACL file of mosquitto\n", path[0],
			strerror(errno));
		return BP_EX_NOINPUT;
	}
	ok = bp_policy_from_acl(acl, path[0], stdout, stderr);
	fclose(acl);
	return ok ? BP_EX_OK : BP_EX_CONFIG;
}

const struct bp_cli_command bp_cmd_policy_import = {
	.name = "policy import",
	.summary = "convert an ACL file of mosquitto to a policy",
	.synopsis = "FILE",
	.text = "Reads FILE, an ACL file of mosquitto, and prints section policy of section mqtt:\n"
		"what the ACL allows is allowed, all else is observed. The entries keep the order\n"
		"in which mosquitto evaluates them.\n"
		"Exits with 78 if a line cannot be expressed as a rule; each is reported.",
	.example = "  biplane policy import /etc/mosquitto/acl > policy.yaml",
	.options = options,
	.main = import_main,
};
