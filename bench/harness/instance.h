/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_BENCH_HARNESS_INSTANCE_H
#define BP_BENCH_HARNESS_INSTANCE_H

#include <stddef.h>

/*
 * Names of objects that must be found again if this process is killed. scripts/bench removes all
 * objects with the number of its run in their names (environment variable BIPLANE_BENCH) and the
 * directory TMPDIR.
 */

#define BENCH_INSTANCE 48 /* bytes of a name */

/* Writes a unique name for an instance of biplane or a segment. */
void bench_instance(char name[BENCH_INSTANCE]);
/* Creates a directory in TMPDIR, or in /tmp. Returns 0, or -1 with errno set. */
int bench_directory(char *path, size_t size);

#endif
