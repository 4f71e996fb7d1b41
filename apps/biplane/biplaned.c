/* SPDX-License-Identifier: BSD-3-Clause */
/* Both planes, the monitor, the agent of a fleet, and every command of biplane. */
#include <sys/prctl.h>

#include "apps/biplane/commands.h"
#include "apps/biplane/dispatch.h"
#include "apps/biplane/output.h"

int main(int argc, char **argv)
{
	/* 'biplane run' starts its processes by /proc/self/exe, which would make their name "exe"
	 */
	prctl(PR_SET_NAME, "biplaned");
	return bp_output_end(bp_cli_dispatch(&bp_cmd_root, argc, argv));
}
