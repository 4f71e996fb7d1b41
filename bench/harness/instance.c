/* SPDX-License-Identifier: BSD-3-Clause */
#include "bench/harness/instance.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

void bench_instance(char name[BENCH_INSTANCE])
{
	const char *run = getenv("BIPLANE_BENCH");
	const int pid = (int)getpid();

	if (run == NULL)
		snprintf(name, BENCH_INSTANCE, "bench-%d", pid);
	else
		snprintf(name, BENCH_INSTANCE, "bench-%.20s-%d", run, pid);
}

int bench_directory(char *path, size_t size)
{
	const char *in = getenv("TMPDIR");
	const int n = snprintf(path, size, "%s/biplane-bench-XXXXXX", in != NULL ? in : "/tmp");

	if (n < 0 || (size_t)n >= size) {
		errno = ENAMETOOLONG;
		return -1;
	}
	return mkdtemp(path) != NULL ? 0 : -1;
}
