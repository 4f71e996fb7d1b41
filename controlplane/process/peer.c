/* SPDX-License-Identifier: BSD-3-Clause */
#include "controlplane/process/peer.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "controlplane/process/clock.h"

/* The heartbeat interval is one second; an older heartbeat than this is stale. */
#define STALE_NS 10000000000ull

struct process {
	char state;
	uint64_t started_ns; /* Unix time */
};

/* From /proc/PID/stat, proc(5): fields 3 (state) and 22 (start, in clock ticks since boot). */
static bool read_process(pid_t pid, struct process *out)
{
	char path[64], line[1024], *p;
	unsigned long long ticks = 0;
	struct timespec boot;
	size_t n;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
	f = fopen(path, "re");
	if (f == NULL)
		return false;
	n = fread(line, 1, sizeof(line) - 1, f);
	fclose(f);
	line[n] = '\0';
	p = strrchr(line, ')'); /* the name may contain any character */
	if (p == NULL ||
		sscanf(p + 1,
			" %c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %*u %*u %*d %*d %*d %*d %*d "
			"%*d %llu",
			&out->state, &ticks) != 2)
		return false;
	clock_gettime(CLOCK_BOOTTIME, &boot);
	uint64_t boot_ns = (uint64_t)boot.tv_sec * 1000000000u + (uint64_t)boot.tv_nsec;
	uint64_t since_boot = ticks * (1000000000u / (uint64_t)sysconf(_SC_CLK_TCK));

	out->started_ns = bp_unix_ns() - boot_ns + since_boot;
	return true;
}

bool bp_process_alive(uint64_t pid)
{
	struct process process;

	if (pid == 0 || pid > INT_MAX || (kill((pid_t)pid, 0) != 0 && errno == ESRCH))
		return false;
	return !read_process((pid_t)pid, &process) ||
	       (process.state != 'Z' && process.state != 'X');
}

bool bp_dataplane_alive(const struct bp_shm_global *g)
{
	uint64_t pid = atomic_load_explicit(&g->dp_pid, memory_order_acquire);
	uint64_t beat = atomic_load_explicit(&g->dp_heartbeat_ns, memory_order_relaxed);
	struct process process;

	if (pid == 0 || pid > INT_MAX)
		return false;
	if (kill((pid_t)pid, 0) != 0 && errno == ESRCH)
		return false;
	if (!read_process((pid_t)pid, &process))
		return true;
	if (process.state == 'Z' || process.state == 'X')
		return false;
	/* A starting data plane may not have written its first heartbeat. */
	if (beat == 0)
		return true;
	return bp_unix_ns() - beat < STALE_NS || process.started_ns < beat + STALE_NS;
}
