/* SPDX-License-Identifier: BSD-3-Clause */
/* The command tree of biplane, the user's command. */
#include <stdio.h>

#include "apps/biplane/commands.h"
#include "apps/biplane/dispatch.h"
#include "apps/biplane/exit_status.h"
#include "apps/biplane/pager.h"

int main(int argc, char **argv)
{
	int status = bp_cli_dispatch(&bp_cmd_root, argc, argv);

	/* a full disk must not look like a success */
	if (fflush(stdout) || ferror(stdout)) {
		fputs("biplane: the output could not be written\n", stderr);
		return status ? status : BP_EX_IOERR;
	}
	bp_pager_end();
	return status;
}
