/* SPDX-License-Identifier: BSD-3-Clause */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "dataplane/process/cpu_list.h"
#include "apps/biplane/doctor/doctor.h"
#include "apps/biplane/doctor/tree.h"

#define CPUS "/sys/devices/system/cpu"

static bool is_workers(const struct bp_doctor *d, unsigned cpu)
{
	for (unsigned w = 0; w < d->facts->n_workers; w++)
		if (d->facts->worker_cpu[w] == cpu)
			return true;
	return d->facts->n_workers == 0; /* not known: any may be */
}

void bp_doctor_item_governor(const struct bp_doctor *d, struct bp_report *r)
{
	struct bp_tree_names names = bp_tree_list(d->root, CPUS);
	char governor[64], slow[64] = "", list[512];
	unsigned n = 0;
	cpu_set_t cpus;
	json_t *item;

	CPU_ZERO(&cpus);
	for (size_t i = 0; i < names.n; i++) {
		unsigned cpu;

		if (sscanf(names.name[i], "cpu%u", &cpu) != 1 || cpu >= CPU_SETSIZE ||
			!is_workers(d, cpu) ||
			!bp_tree_text(d->root, governor, sizeof(governor),
				CPUS "/cpu%u/cpufreq/scaling_governor", cpu))
			continue;
		n++;
		if (!strcmp(governor, "performance"))
			continue;
		snprintf(slow, sizeof(slow), "%s", governor);
		CPU_SET(cpu, &cpus);
	}
	bp_tree_names_free(&names);
	if (n == 0) {
		bp_report_item(r, "CPU frequency", BP_CHECK_OK, "",
			"the kernel does not control the CPU frequency of this machine");
		return;
	}
	if (CPU_COUNT(&cpus) == 0) {
		bp_report_item(r, "CPU frequency", BP_CHECK_OK, "", "governor performance");
		return;
	}
	bp_cpu_list_text(&cpus, list, sizeof(list));
	item = bp_report_item(r, "CPU frequency", BP_CHECK_WARN, "frequency changes cause jitter",
		"governor %s on CPUs %s", slow, list);
	bp_report_do(item,
		"for g in " CPUS "/cpu*/cpufreq/scaling_governor; do echo performance >$g; done");
}
