/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_BENCH_HARNESS_INSTANCE_H
#define BP_BENCH_HARNESS_INSTANCE_H

#include <stddef.h>

/*
 * What is to be found again when this is killed. scripts/bench removes what has the number of its
 * run in the name, which is in the environment as BIPLANE_BENCH, and the directory TMPDIR.
 */

#define BENCH_INSTANCE 48 /* bytes of a name */

/* A name for an instance of biplane, or for a segment, that no other process has. */
void bench_instance(char name[BENCH_INSTANCE]);
/* Makes a new directory in TMPDIR, or in /tmp. Returns 0, or -1 with errno set. */
int bench_directory(char *path, size_t size);

#endif
