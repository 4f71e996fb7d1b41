/* SPDX-License-Identifier: BSD-3-Clause */
#include "shm/process_use.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

static uint64_t ns(const struct timeval *t)
{
	return (uint64_t)t->tv_sec * 1000000000u + (uint64_t)t->tv_usec * 1000u;
}

/* The second number of /proc/self/statm, in pages; 0 where it cannot be read. Not ru_maxrss: after
 * exec(2), it includes the memory of the program before. */
static uint64_t resident_bytes(void)
{
	const int fd = open("/proc/self/statm", O_RDONLY | O_CLOEXEC);
	char text[128], *end;
	ssize_t n;

	if (fd < 0)
		return 0;
	n = read(fd, text, sizeof(text) - 1);
	close(fd);
	if (n <= 0)
		return 0;
	text[n] = '\0';
	strtoull(text, &end, 10);
	return strtoull(end, NULL, 10) * (uint64_t)sysconf(_SC_PAGESIZE);
}

void bp_process_use_publish(struct bp_process_use *u)
{
	struct rusage r;

	if (getrusage(RUSAGE_SELF, &r) == 0)
		atomic_store_explicit(
			&u->cpu_ns, ns(&r.ru_utime) + ns(&r.ru_stime), memory_order_relaxed);
	atomic_store_explicit(&u->resident_bytes, resident_bytes(), memory_order_relaxed);
}
