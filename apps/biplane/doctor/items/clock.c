/* SPDX-License-Identifier: BSD-3-Clause */
#include <stdlib.h>
#include <string.h>

#include "apps/biplane/doctor/boot_option.h"
#include "apps/biplane/doctor/doctor.h"
#include "apps/biplane/doctor/tree.h"

#define CLOCK "/sys/devices/system/clocksource/clocksource0"

static bool has_word(const char *text, const char *word)
{
	const size_t n = strlen(word);

	for (const char *p = text; (p = strstr(p, word)) != NULL; p += n)
		if ((p == text || p[-1] == ' ') && (p[n] == ' ' || p[n] == 0))
			return true;
	return false;
}

void bp_doctor_item_clock(const struct bp_doctor *d, struct bp_report *r)
{
	char now[64], available[256];
	json_t *item;

	if (!bp_tree_text(d->root, now, sizeof(now), CLOCK "/current_clocksource")) {
		bp_report_item(r, "clock source", BP_CHECK_SKIP, "",
			CLOCK "/current_clocksource cannot be read");
		return;
	}
	bp_tree_text(d->root, available, sizeof(available), CLOCK "/available_clocksource");
	/* those that a program reads without a system call */
	if (!strcmp(now, "tsc") || !strcmp(now, "arch_sys_counter")) {
		bp_report_item(r, "clock source", BP_CHECK_OK, "", "%s", now);
		return;
	}
	if (!strcmp(now, "kvm-clock") || !strncmp(now, "hyperv", 6)) {
		bp_report_item(r, "clock source", BP_CHECK_OK, "",
			"%s, the clock of this virtual machine", now);
		return;
	}
	item = bp_report_item(r, "clock source", BP_CHECK_WARN,
		"each read of this clock is a system call of 1 us or more; DPDK uses the TSC, "
		"which the kernel considers unreliable on this machine",
		"%s", now);
	if (has_word(available, "tsc"))
		bp_report_do(item, "echo tsc >" CLOCK "/current_clocksource");
	else
		bp_doctor_boot_option(d->root, item, "biplane-clock", "tsc=reliable");
}
