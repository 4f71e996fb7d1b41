/* SPDX-License-Identifier: BSD-3-Clause */
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cap-ng.h>

#include "apps/biplane/doctor/doctor.h"
#include "apps/biplane/doctor/tree.h"
#include "daemon/privileges.h"

bool bp_doctor_user(const char *root, uint64_t *uid, uint64_t *capabilities)
{
	size_t len;
	char *text = bp_tree_read_all(root, &len, "/proc/self/status");
	const char *u = text ? strstr(text, "\nUid:") : NULL;
	const char *c = text ? strstr(text, "\nCapEff:") : NULL;
	const bool found = u && c && sscanf(u, "\nUid: %*u %" SCNu64, uid) == 1 &&
			   sscanf(c, "\nCapEff: %" SCNx64, capabilities) == 1;

	free(text);
	return found;
}

/* The rows of the table of privileges that the item checks. */
static const struct need {
	enum bp_privilege who;
	enum { ALWAYS, WITH_PCI, WITHOUT_IOMMU } when;
} needs[] = {
	{BP_PRIV_ROUTES, ALWAYS},
	{BP_PRIV_AF_PACKET, ALWAYS},
	{BP_PRIV_VFIO, WITH_PCI},
	{BP_PRIV_VFIO_NO_IOMMU, WITHOUT_IOMMU},
};

static bool applies(const struct bp_doctor *d, const struct need *n)
{
	if (n->when == ALWAYS)
		return true;
	return bp_doctor_needs_pci(d) && (n->when == WITH_PCI || !bp_doctor_has_iommu(d->root));
}

/* Bit for each CAP_*. */
static uint64_t required(const struct bp_doctor *d)
{
	uint64_t caps = 0;

	for (size_t i = 0; i < sizeof(needs) / sizeof(needs[0]); i++) {
		const struct bp_privilege_row *row = bp_privilege_row(needs[i].who);

		for (unsigned c = 0; applies(d, &needs[i]) && c < row->n_caps; c++)
			caps |= (uint64_t)1 << row->cap[c];
	}
	return caps;
}

static void names(uint64_t caps, char *out, size_t size)
{
	size_t used = 0;

	out[0] = '\0';
	for (unsigned c = 0; caps != 0 && c < 64 && used < size; c++, caps >>= 1) {
		const char *name = capng_capability_to_name(c);

		if (caps & 1)
			used += (size_t)snprintf(out + used, size - used, "%scap_%s",
				used ? "," : "", name ? name : "unknown");
	}
}

void bp_doctor_item_capabilities(const struct bp_doctor *d, struct bp_report *r)
{
	char text[256], who[32], program[PATH_MAX];
	uint64_t uid, has;
	ssize_t len;
	json_t *item;

	if (!bp_doctor_user(d->root, &uid, &has)) {
		bp_report_item(
			r, "capabilities", BP_CHECK_SKIP, "", "/proc/self/status cannot be read");
		return;
	}
	snprintf(who, sizeof(who), "root");
	if (uid != 0)
		snprintf(who, sizeof(who), "user %" PRIu64, uid);
	if ((required(d) & ~has) == 0) {
		bp_report_item(r, "capabilities", BP_CHECK_OK, "",
			"%s has all required capabilities", who);
		return;
	}
	names(required(d) & ~has, text, sizeof(text));
	item = bp_report_item(r, "capabilities", BP_CHECK_FAIL,
		"ports, host interfaces and routes need them; 'biplane capabilities' lists them",
		"%s lacks %s", who, text);
	if (uid == 0) {
		bp_report_do(item,
			"# grant them to the container or the systemd unit that runs biplane");
		return;
	}
	bp_report_do(item, "sudo biplane doctor  # checks the machine as root");
	names(required(d), text, sizeof(text));
	/* of the program that runs the planes, this one: biplane, which executes it, needs none */
	if ((len = readlink("/proc/self/exe", program, sizeof(program) - 1)) < 0)
		return;
	program[len] = '\0';
	bp_report_do(
		item, "sudo setcap %s+ep '%s'  # or use the systemd units, or root", text, program);
}
