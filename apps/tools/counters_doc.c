/* SPDX-License-Identifier: BSD-3-Clause */
/* Writes docs/reference/counters.md to stdout. A test compares what it writes with what is there.
 */
#include <stdio.h>

#include "biplane/counters.h"
#include "shm/health/phd_status.h"

static void group(bp_counter_group_t g)
{
	const struct bp_counter_group_info *i = &bp_counter_group_info[g];

	if (i->name == NULL)
		return;
	printf("\n## %s\n\n%s\n\n| counter | meaning |\n| --- | --- |\n", i->name, i->text);
	for (unsigned c = 0; c < BP_C_COUNT; c++)
		if (bp_counter_info[c].name != NULL && bp_counter_info[c].group == g)
			printf("| `%s` | %s |\n", bp_counter_info[c].name, bp_counter_info[c].help);
}

/* What the control plane counts is in the segment's global block, not among the counters. */
static void controlplane(void)
{
	puts("\n## What `show planes` counts\n\n"
	     "The control plane's own numbers, by their keys in `biplane show planes --json`. They "
	     "outlive it\n"
	     "with the segment.\n\n"
	     "| key | meaning |\n| --- | --- |\n"
	     "| `planes.restarts` | restarts by `biplane run` |\n"
	     "| `planes.restarts_hung` | of these, because the plane gave no heartbeat for "
	     "`runtime.watchdog` |\n"
	     "| `edge.connects` | connections that the edge broker accepted |\n"
	     "| `edge.disconnects` | of these, lost or given up |\n"
	     "| `alarms.read` | alarms taken from the rings |\n"
	     "| `alarms.acknowledged` | acknowledgements of the edge broker |\n"
	     "| `alarms.in_flight` | sent and not yet acknowledged, now |\n"
	     "| `alarms.spooled` | alarms written to the spool |\n"
	     "| `alarms.unspooled` | acknowledged and deleted from the spool |\n"
	     "| `alarms.dropped_size` | lost: the spool reached max_size |\n"
	     "| `alarms.dropped_age` | lost: older than max_age |\n"
	     "| `alarms.unordered` | published before older alarms of their rule and topic, which "
	     "the "
	     "spool did not give back |\n"
	     "| `alarms.invalid` | not published: topic or record not valid |\n"
	     "| `spool.rows` | alarms in the spool, now |\n"
	     "| `spool.bytes` | what they take, now |\n"
	     "| `spool.errors` | failures of the spool's disk; alarms wait in the rings meanwhile "
	     "|\n"
	     "| `reloads.done` | reloads taken over |\n"
	     "| `reloads.refused` | reloads refused whole |\n"
	     "| `reloads.generation` | of the rules in force |\n"
	     "| `trouble.now` | what of the data plane is in trouble now, see `show trouble` |\n"
	     "| `sync.events` | Netlink messages applied, those of dumps not |\n"
	     "| `sync.resyncs` | times that the kernel's tables were read again |\n"
	     "| `sync.overruns` | times that Netlink messages were lost, each followed by a resync "
	     "|\n"
	     "| `sync.load_us` | duration of the last reading, in microseconds |\n"
	     "| `sync.unmirrored` | prefixes that the kernel forwards instead, now |\n"
	     "| `sync.probes` | neighbours that the kernel was asked to probe |\n"
	     "| `sync.refused` | routes and neighbours that found no room, ever |");
}

static void health_devices(void)
{
	puts("\n## What `show planes` counts of health devices\n\n"
	     "Where there is a section health_devices: the control plane's words, by their keys, "
	     "written once "
	     "a "
	     "second.\n"
	     "They outlive it with the segment; one that is killed takes what it counted in its "
	     "last "
	     "second\n"
	     "with it.\n\n"
	     "| key | meaning |\n| --- | --- |");
	for (int i = 0; i < BP_PHD_S_COUNT; i++)
		printf("| `phd.%s.%s` | %s |\n",
			bp_phd_status_group_name[bp_phd_status_info[i].group],
			bp_phd_status_info[i].name, bp_phd_status_info[i].help);
}

int main(void)
{
	puts("<!-- Generated from include/biplane/counters/ by `meson compile counters-doc`: "
	     "change it "
	     "there. -->\n"
	     "# Counters\n\n"
	     "The counters of `biplane show counters` and `biplane replay --json`. Every frame "
	     "that "
	     "enters is forwarded, punted to the kernel, terminated in biplane or dropped for one "
	     "reason, so that at rest\n\n"
	     "    sum of rx over all ports + originated = sum of tx over all ports + drop + punted "
	     "+ "
	     "terminated\n\n"
	     "where `originated`, `drop`, `punted` and `terminated` are the sums of these groups. "
	     "`biplane show drops` prints both sides. The other groups are not part of this "
	     "balance.");
	for (unsigned g = 0; g < BP_CG_COUNT; g++)
		group(g);
	controlplane();
	health_devices();
	return 0;
}
