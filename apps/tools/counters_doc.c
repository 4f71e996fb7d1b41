/* SPDX-License-Identifier: BSD-3-Clause */
/* Writes docs/reference/counters.md to stdout. A test compares the output with the file. */
#include <stdio.h>

#include "biplane/counters.h"
#include "shm/health/phd_status.h"

static void group(bp_counter_group_t g)
{
	const struct bp_counter_group_info *i = &bp_counter_group_info[g];

	if (i->name == NULL)
		return;
	printf("\n## %s\n\n%s\n\n| Counter | Description |\n| --- | --- |\n", i->name, i->text);
	for (unsigned c = 0; c < BP_C_COUNT; c++)
		if (bp_counter_info[c].name != NULL && bp_counter_info[c].group == g)
			printf("| `%s` | %s |\n", bp_counter_info[c].name, bp_counter_info[c].help);
}

/* The counts of the control plane are in the global block of the segment, not among the
 * counters. */
static void controlplane(void)
{
	puts("\n## Totals of `biplane status --json`\n\n"
	     "Totals of the control plane, by member. They are in the segment and survive a "
	     "restart of the control plane.\n\n"
	     "| Member | Description |\n| --- | --- |\n"
	     "| `planes.restarts` | restarts by `biplane run` |\n"
	     "| `planes.restarts_hung` | of these, because of no heartbeat for `runtime.watchdog` "
	     "|\n"
	     "| `publisher.connects` | connections accepted by the broker |\n"
	     "| `publisher.disconnects` | of these, lost or closed |\n"
	     "| `alarms.read` | alarms read from the alarm queues |\n"
	     "| `alarms.acknowledged` | PUBACK of the broker |\n"
	     "| `alarms.in_flight` | published, not yet acknowledged (current) |\n"
	     "| `alarms.spooled` | alarms written to the spool |\n"
	     "| `alarms.unspooled` | acknowledged and deleted from the spool |\n"
	     "| `alarms.dropped_size` | dropped from the spool: max_size reached |\n"
	     "| `alarms.dropped_age` | dropped from the spool: older than max_age |\n"
	     "| `alarms.dropped_disk` | dropped from the alarm queue: the destination was not "
	     "reachable, its spool failed, and another destination needed the queue |\n"
	     "| `alarms.unordered` | published before older alarms of the same rule and topic that "
	     "could not be read from the spool |\n"
	     "| `alarms.invalid` | not published: invalid topic or record |\n"
	     "| `spool.rows` | alarms in the spool (current) |\n"
	     "| `spool.bytes` | size of these (current) |\n"
	     "| `spool.errors` | disk errors of the spool; alarms wait in the alarm queue "
	     "meanwhile |\n"
	     "| `kafka.*` | the same of the publisher of Kafka |\n"
	     "| `kafka.rejected` | refused by the brokers for ever |\n"
	     "| `reloads.done` | successful reloads |\n"
	     "| `reloads.refused` | rejected reloads |\n"
	     "| `reloads.generation` | generation of the active rules |\n"
	     "| `netlink.events` | Netlink messages applied, without those of dumps |\n"
	     "| `netlink.resyncs` | dumps of all kernel tables |\n"
	     "| `netlink.overruns` | overruns of the receive buffer, each followed by a dump |\n"
	     "| `netlink.load_us` | duration of the last dump, us |\n"
	     "| `netlink.punted_prefixes` | prefixes that the kernel forwards instead (current) |\n"
	     "| `netlink.probes` | neighbor probes requested from the kernel |\n"
	     "| `netlink.refused` | routes and neighbors not installed: table full |");
}

static void health_devices(void)
{
	puts("\n## Totals of health devices\n\n"
	     "Members of `health_devices` in `biplane status --json`, updated once a second. They "
	     "are in the segment and survive a restart of the control plane, except for the last "
	     "second of a control plane that was killed.\n\n"
	     "| Member | Description |\n| --- | --- |");
	for (int i = 0; i < BP_PHD_S_COUNT; i++)
		printf("| `health_devices.%s.%s` | %s |\n",
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
