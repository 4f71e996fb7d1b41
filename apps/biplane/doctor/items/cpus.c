/* SPDX-License-Identifier: BSD-3-Clause */
#include <stdio.h>

#include "apps/biplane/doctor/boot_option.h"
#include "dataplane/process/cpu_list.h"
#include "apps/biplane/doctor/doctor.h"
#include "apps/biplane/doctor/tree.h"

#define CPUS "/sys/devices/system/cpu"

static const char why[] =
	"a worker polls its queues continuously; any other task on its CPU delays "
	"frames by milliseconds";

static bool read_cpus(const char *root, const char *file, cpu_set_t *out)
{
	char text[1024];

	CPU_ZERO(out);
	return bp_tree_text(root, text, sizeof(text), CPUS "/%s", file) &&
	       bp_cpu_list_read(text, out);
}

/* Where no configuration says more: the last core of those online, with its siblings. */
static void propose_some(const char *root, const cpu_set_t *online, cpu_set_t *out)
{
	char text[1024];
	int last = -1;

	for (int i = 0; i < CPU_SETSIZE; i++)
		if (CPU_ISSET((unsigned)i, online))
			last = i;
	CPU_ZERO(out);
	if (last < 0)
		return;
	if (!bp_tree_text(
		    root, text, sizeof(text), CPUS "/cpu%d/topology/thread_siblings_list", last) ||
		!bp_cpu_list_read(text, out) || CPU_COUNT(out) == 0)
		CPU_SET((unsigned)last, out);
}

static void propose(const char *root, json_t *item, const cpu_set_t *cpus)
{
	char list[512], words[1600];

	bp_cpu_list_text(cpus, list, sizeof(list));
	snprintf(words, sizeof(words), "isolcpus=%s nohz_full=%s rcu_nocbs=%s", list, list, list);
	bp_doctor_boot_option(root, item, "biplane-cpus", words);
}

/* Workers' CPUs that are missing, and those that are not isolated. */
static void check_workers(const struct bp_doctor *d, struct bp_report *r, const cpu_set_t *online,
	const cpu_set_t *isolated)
{
	cpu_set_t workers, missing, shared;
	char list[512];
	json_t *item;

	CPU_ZERO(&workers);
	CPU_ZERO(&missing);
	for (unsigned w = 0; w < d->facts->n_workers; w++) {
		CPU_SET(d->facts->worker_cpu[w], &workers);
		if (!CPU_ISSET(d->facts->worker_cpu[w], online))
			CPU_SET(d->facts->worker_cpu[w], &missing);
	}
	CPU_AND(&shared, &workers, isolated);
	CPU_XOR(&shared, &shared, &workers);
	bp_cpu_list_text(CPU_COUNT(&missing) ? &missing : &shared, list, sizeof(list));
	if (CPU_COUNT(&missing)) {
		item = bp_report_item(r, "CPU isolation", BP_CHECK_FAIL,
			"the configuration assigns a worker to it", "this machine has no CPU %s",
			list);
		bp_cpu_list_text(online, list, sizeof(list));
		bp_report_do(item, "# set `workers:` to CPUs of this machine: %s", list);
	} else if (CPU_COUNT(&shared) == 0) {
		bp_cpu_list_text(&workers, list, sizeof(list));
		bp_report_item(r, "CPU isolation", BP_CHECK_OK, "",
			"the CPUs of the workers are isolated: %s", list);
	} else {
		item = bp_report_item(r, "CPU isolation", BP_CHECK_WARN, why,
			"CPUs of workers that are not isolated: %s", list);
		if (CPU_COUNT(&workers) < CPU_COUNT(online))
			propose(d->root, item, &workers);
		else
			bp_report_do(item,
				"# one CPU must remain for other tasks: configure fewer workers");
	}
}

void bp_doctor_item_cpus(const struct bp_doctor *d, struct bp_report *r)
{
	cpu_set_t online, isolated, some;
	char list[512];
	json_t *item;

	if (!read_cpus(d->root, "online", &online)) {
		bp_report_item(
			r, "CPU isolation", BP_CHECK_SKIP, why, CPUS "/online cannot be read");
		return;
	}
	read_cpus(d->root, "isolated", &isolated);
	if (d->config && d->facts->n_workers) {
		check_workers(d, r, &online, &isolated);
		return;
	}
	bp_cpu_list_text(&isolated, list, sizeof(list));
	if (CPU_COUNT(&isolated)) {
		bp_report_item(r, "CPU isolation", BP_CHECK_OK, "",
			"CPUs %s are isolated; set `workers:` to these CPUs", list);
		return;
	}
	item = bp_report_item(r, "CPU isolation", BP_CHECK_WARN, why, "none of %d CPUs is isolated",
		CPU_COUNT(&online));
	propose_some(d->root, &online, &some);
	if (CPU_COUNT(&some) && CPU_COUNT(&some) < CPU_COUNT(&online))
		propose(d->root, item, &some);
	else
		bp_report_do(item, "# this machine has too few CPUs to isolate one");
}
