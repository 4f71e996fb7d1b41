/* SPDX-License-Identifier: BSD-3-Clause */
#include "apps/biplane/doctor/boot_option.h"

#include "apps/biplane/doctor/report.h"
#include "apps/biplane/doctor/tree.h"

void bp_doctor_boot_option(const char *root, json_t *item, const char *file, const char *words)
{
	if (!bp_tree_exists(root, "/etc/default/grub")) {
		bp_report_do(item, "# add to the kernel command line, and reboot: %s", words);
		return;
	}
	bp_report_do(item, "mkdir -p /etc/default/grub.d");
	bp_report_do(item,
		"echo 'GRUB_CMDLINE_LINUX=\"$GRUB_CMDLINE_LINUX %s\"' >/etc/default/grub.d/%s.cfg",
		words, file);
	bp_report_do(item, "update-grub && reboot");
}
