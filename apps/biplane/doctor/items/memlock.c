/* SPDX-License-Identifier: BSD-3-Clause */
#include <inttypes.h>
#include <linux/capability.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "apps/biplane/doctor/doctor.h"
#include "apps/biplane/doctor/tree.h"

#define MIB ((uint64_t)1 << 20)

/* The soft limit of locked memory of this process, bytes. False: it cannot be read. */
static bool read_limit(const char *root, uint64_t *bytes)
{
	static const char name[] = "Max locked memory";
	size_t len;
	char *text = bp_tree_read_all(root, &len, "/proc/self/limits");
	const char *line = text ? strstr(text, name) : NULL;
	bool found = false;

	if (line) {
		line += sizeof(name) - 1;
		line += strspn(line, " ");
		*bytes = UINT64_MAX;
		found = !strncmp(line, "unlimited", 9) || sscanf(line, "%" SCNu64, bytes) == 1;
	}
	free(text);
	return found;
}

void bp_doctor_item_memlock(const struct bp_doctor *d, struct bp_report *r)
{
	static const char why[] =
		"vfio locks all memory that a NIC can access; the limit applies to this memory";
	const uint64_t want = d->config ? d->facts->memory : 1024 * MIB;
	uint64_t uid, capabilities = 0, bytes;
	json_t *item;

	if (!read_limit(d->root, &bytes)) {
		bp_report_item(r, "memory lock limit", BP_CHECK_SKIP, why,
			"/proc/self/limits cannot be read");
		return;
	}
	bp_doctor_user(d->root, &uid, &capabilities);
	if (bytes == UINT64_MAX)
		bp_report_item(r, "memory lock limit", BP_CHECK_OK, "", "unlimited");
	else if (capabilities & ((uint64_t)1 << CAP_IPC_LOCK))
		bp_report_item(r, "memory lock limit", BP_CHECK_OK, "",
			"%" PRIu64 " MiB; does not apply to this user (CAP_IPC_LOCK)", bytes / MIB);
	else if (bytes >= want || !bp_doctor_needs_pci(d))
		bp_report_item(
			r, "memory lock limit", BP_CHECK_OK, "", "%" PRIu64 " MiB", bytes / MIB);
	else {
		item = bp_report_item(r, "memory lock limit", BP_CHECK_FAIL, why,
			"%" PRIu64 " MiB; about %" PRIu64 " MiB are required", bytes / MIB,
			want / MIB);
		bp_report_do(item, "echo \"$USER - memlock unlimited\" | sudo tee "
				   "/etc/security/limits.d/biplane.conf  # and log in again");
		bp_report_do(item, "# in a systemd unit: LimitMEMLOCK=infinity");
	}
}
