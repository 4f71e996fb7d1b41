/* SPDX-License-Identifier: BSD-3-Clause */
#include "apps/biplane/doctor/nic_grade.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "apps/biplane/doctor/tree.h"

#define DEVICES "/sys/bus/pci/devices"

static bool among(const char *const *list, size_t n, const char *word)
{
	for (size_t i = 0; i < n; i++)
		if (!strcmp(list[i], word))
			return true;
	return false;
}

bool bp_nic_driver_is_dpdks(const char *driver)
{
	static const char *const drivers[] = {
		"vfio-pci", "uio_pci_generic", "igb_uio", "virtio-pci-uio"};

	return among(drivers, sizeof(drivers) / sizeof(drivers[0]), driver);
}

/* DPDK uses these NICs together with the kernel driver, which must remain bound. */
static bool is_shared_driver(const char *driver)
{
	static const char *const drivers[] = {"mlx4_core", "mlx5_core", "mana"};

	return among(drivers, sizeof(drivers) / sizeof(drivers[0]), driver);
}

const char *bp_nic_grade_name(enum bp_nic_grade grade)
{
	switch (grade) {
	case BP_NIC_BOUND:
		return "bound";
	case BP_NIC_NOT_NEEDED:
		return "not needed";
	case BP_NIC_SAFE:
		return "safe";
	case BP_NIC_IN_USE:
		return "in use";
	case BP_NIC_NEVER:
		return "never";
	}
	return "unknown";
}

/* Keeps the worst that is said, and the first sentence for it. */
__attribute__((format(printf, 3, 4))) static void lower_grade(
	struct bp_nic *nic, enum bp_nic_grade grade, const char *format, ...)
{
	va_list args;

	if (grade <= nic->grade)
		return;
	nic->grade = grade;
	va_start(args, format);
	vsnprintf(nic->why, sizeof(nic->why), format, args);
	va_end(args);
}

static void grade_interface(const struct bp_doctor_network *net,
	const struct bp_doctor_interface *i, struct bp_nic *nic)
{
	if (i->never[0])
		lower_grade(nic, BP_NIC_NEVER, "%s %s", i->name, i->never);
	if (net->blind[0] && i->up)
		lower_grade(nic, BP_NIC_NEVER,
			"%s; %s is up and can be the management interface (if not: ip link set %s "
			"down)",
			net->blind, i->name, i->name);
	if (i->n_addresses)
		lower_grade(nic, BP_NIC_IN_USE, "%s has address %s%s", i->name, i->address,
			i->n_addresses > 1 ? " and more" : "");
	if (i->master[0])
		lower_grade(nic, BP_NIC_IN_USE, "%s is a member of %s", i->name, i->master);
	if (i->above[0])
		lower_grade(nic, BP_NIC_IN_USE, "%s carries interface %s", i->name, i->above);
}

/* A physical function takes its virtual functions with it, here or in a virtual machine. */
static void grade_functions(
	const char *root, const struct bp_doctor_network *net, struct bp_nic *nic)
{
	int64_t n = 0;

	if (!bp_tree_number(root, &n, DEVICES "/%s/sriov_numvfs", nic->address) || n <= 0)
		return;
	for (int64_t f = 0; f < n; f++) {
		char vf[BP_PCI_ADDRESS];

		if (!bp_tree_link(root, vf, sizeof(vf), DEVICES "/%s/virtfn%lld", nic->address,
			    (long long)f))
			continue;
		for (size_t i = 0; i < net->n; i++)
			if (!strcmp(net->interface[i].pci, vf) && net->interface[i].never[0])
				lower_grade(nic, BP_NIC_NEVER, "its virtual function %s: %s %s", vf,
					net->interface[i].name, net->interface[i].never);
	}
	lower_grade(nic, BP_NIC_IN_USE, "it has %lld virtual functions, which would be removed",
		(long long)n);
}

/* A virtio NIC is a device on a bus of its own below the PCI device: without a driver there,
 * nothing uses it. */
static bool is_idle_virtio(const char *root, const struct bp_nic *nic)
{
	struct bp_tree_names names = bp_tree_list(root, DEVICES "/%s", nic->address);
	bool found = false, driven = false;

	for (size_t i = 0; i < names.n; i++) {
		if (strncmp(names.name[i], "virtio", 6) != 0)
			continue;
		found = true;
		driven |=
			bp_tree_exists(root, DEVICES "/%s/%s/driver", nic->address, names.name[i]);
	}
	bp_tree_names_free(&names);
	return found && !driven;
}

void bp_nic_grade_set(const char *root, const struct bp_doctor_network *net, struct bp_nic *nic)
{
	nic->grade = BP_NIC_BOUND;
	nic->why[0] = 0;
	if (bp_nic_driver_is_dpdks(nic->driver))
		return;
	if (is_shared_driver(nic->driver)) {
		nic->grade = BP_NIC_NOT_NEEDED;
		snprintf(nic->why, sizeof(nic->why), "DPDK uses it through its kernel driver %s",
			nic->driver);
		return;
	}
	nic->grade = BP_NIC_SAFE;
	for (unsigned k = 0; k < nic->n_interfaces; k++)
		grade_interface(net, bp_doctor_interface_find(net, nic->interface[k]), nic);
	grade_functions(root, net, nic);
	if (nic->driver[0] && nic->n_interfaces == 0 && !is_idle_virtio(root, nic))
		lower_grade(nic, BP_NIC_IN_USE,
			"it is bound to %s and has no interface here; its interface may be in "
			"another network namespace",
			nic->driver);
}
