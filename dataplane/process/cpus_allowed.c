/* SPDX-License-Identifier: BSD-3-Clause */
#include <stdio.h>
#include <string.h>

#include "dataplane/process/cpu_list.h"
#include "dataplane/process/cpus.h"

#define ISOLATED "/sys/devices/system/cpu/isolated"

static void read_isolated(cpu_set_t *out)
{
	char text[1024] = "";
	FILE *f = fopen(ISOLATED, "re");

	CPU_ZERO(out);
	if (!f)
		return;
	if (fgets(text, sizeof(text), f))
		text[strcspn(text, "\n")] = 0;
	fclose(f);
	bp_cpu_list_read(text, out);
}

int bp_cpus_allowed(bool isolated, cpu_set_t *out)
{
	cpu_set_t before, wanted;

	if (sched_getaffinity(0, sizeof(before), &before) != 0)
		return -1;
	*out = before;
	if (!isolated)
		return 0;
	read_isolated(&wanted);
	CPU_OR(&wanted, &wanted, &before);
	/* the kernel applies those that the cpuset contains, which only an attempt shows */
	if (sched_setaffinity(0, sizeof(wanted), &wanted) != 0)
		return 0;
	if (sched_getaffinity(0, sizeof(*out), out) != 0)
		*out = before;
	/* EAL runs its own threads on the rest of this set: on no isolated CPU */
	return sched_setaffinity(0, sizeof(before), &before);
}
