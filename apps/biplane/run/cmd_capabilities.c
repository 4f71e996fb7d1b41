/* SPDX-License-Identifier: BSD-3-Clause */
/* `biplane capabilities`: privileges of the planes beyond those of an ordinary user. */
#include <stdio.h>
#include <string.h>

#include <jansson.h>

#include "apps/biplane/commands.h"
#include "apps/biplane/exit_status.h"
#include "apps/biplane/print_json.h"
#include "daemon/privileges.h"

enum { OPT_JSON = BP_CLI_LONG };

static const struct bp_cli_option options[] = {
	{OPT_JSON, "json", NULL, "print it as one JSON object"},
	{0, NULL, NULL, NULL},
};

static json_t *row_to_json(const struct bp_privilege_row *row)
{
	char caps[160];

	bp_privilege_caps_text(row, caps, sizeof(caps));

	json_t *list = json_array();
	for (char *rest = caps, *cap; row->n_caps && (cap = strsep(&rest, ", ")) != NULL;)
		if (*cap != '\0')
			json_array_append_new(list, json_string(cap));
	return json_pack("{s:s, s:s, s:o, s:b, s:s, s:s}", "plane", row->plane, "component",
		row->component, "capabilities", list, "locked_memory", row->memlock, "files",
		row->files, "reason", row->reason);
}

static int print_json(void)
{
	json_t *rows = json_array(), *all;

	for (unsigned p = 0; p < BP_PRIVILEGES; p++)
		json_array_append_new(rows, row_to_json(bp_privilege_row(p)));
	all = json_pack("{s:o}", "components", rows);
	return bp_print_json_new(all, false, stdout) == 0 ? BP_EX_OK : BP_EX_OSERR;
}

static int capabilities_main(const struct bp_cli_command *command, int argc, char **argv)
{
	bool json = false;
	struct bp_cli cli;
	int key;

	bp_cli_begin(&cli, command, argc, argv);
	while ((key = bp_cli_next(&cli)) != BP_CLI_END) {
		if (key == BP_CLI_STOP)
			return cli.status;
		json = true;
	}
	if (bp_cli_no_operands(&cli))
		return BP_EX_USAGE;
	if (json)
		return print_json();
	bp_privileges_markdown(stdout);
	return BP_EX_OK;
}

const struct bp_cli_command bp_cmd_capabilities = {
	.name = "capabilities",
	.summary = "capabilities, devices and memory that each plane needs",
	.synopsis = "[--json]",
	.text = "Prints the capabilities, device files and locked memory that each driver of the\n"
		"data plane and each task of the control plane needs to run without root. The\n"
		"systemd units of the package grant them. A plane that lacks one of them reports\n"
		"it and exits.",
	.example = "  biplane capabilities --json",
	.options = options,
	.main = capabilities_main,
};
