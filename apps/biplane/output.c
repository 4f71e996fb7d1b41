/* SPDX-License-Identifier: BSD-3-Clause */
#include "apps/biplane/output.h"

#include <stdio.h>

#include "apps/biplane/exit_status.h"
#include "apps/biplane/pager.h"

int bp_output_end(int status)
{
	if (fflush(stdout) || ferror(stdout)) {
		fputs("biplane: the output could not be written\n", stderr);
		return status ? status : BP_EX_IOERR;
	}
	bp_pager_end();
	return status;
}
