/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_APPS_BIPLANE_EXIT_STATUS_H
#define BP_APPS_BIPLANE_EXIT_STATUS_H

#include <sysexits.h>

/*
 * Exit statuses of the command, as in sysexits(3) and biplane(1). They show scripts and service
 * managers whether a retry can help.
 */
enum bp_exit {
	BP_EX_OK = EX_OK,
	BP_EX_DIFFERENT = 1,                /* 1: show --diff found a difference */
	BP_EX_CHECK_FAILED = 1,             /* 1: an item of doctor failed */
	BP_EX_FAULTS = 2,                   /* 2: status found an open fault */
	BP_EX_USAGE = EX_USAGE,             /* 64: the command line is wrong */
	BP_EX_DATAERR = EX_DATAERR,         /* 65: points or a matrix are refused */
	BP_EX_NOINPUT = EX_NOINPUT,         /* 66: a capture or other input is not readable */
	BP_EX_UNAVAILABLE = EX_UNAVAILABLE, /* 69: no running instance, or a missing resource */
	BP_EX_SOFTWARE = EX_SOFTWARE,       /* 70: a plane did not end as it should */
	BP_EX_OSERR = EX_OSERR,             /* 71: the system refused something basic */
	BP_EX_CANTCREAT = EX_CANTCREAT,     /* 73: a directory or file cannot be created */
	BP_EX_IOERR = EX_IOERR,             /* 74: the output cannot be written */
	BP_EX_CONFIG = EX_CONFIG,           /* 78: the configuration is refused */
};

#endif
