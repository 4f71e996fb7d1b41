/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Binds a NIC to vfio-pci by its driver_override, which is about this one device, and not by
 * new_id, which is about every device of its kind. Documentation/ABI/testing/sysfs-bus-pci.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "apps/biplane/doctor/apply.h"
#include "apps/biplane/doctor/network.h"
#include "apps/biplane/doctor/pci_address.h"
#include "apps/biplane/doctor/tree.h"

#define DEVICES "/sys/bus/pci/devices"
#define DRIVERS "/sys/bus/pci/drivers"
#define VFIO "vfio-pci"
#define DRIVER_MAX 64
/* How long the kernel and udev may take to bring an interface back. */
#define INTERFACE_MS 5000u
#define LOOK_MS 50u

/* The driver now, or "". */
static void driver_now(const char *root, const char *nic, char out[DRIVER_MAX])
{
	bp_tree_link(root, out, DRIVER_MAX, DEVICES "/%s/driver", nic);
}

__attribute__((format(printf, 3, 4))) static int write_to(
	const struct bp_apply *a, const char *text, const char *format, ...)
{
	char path[256];
	va_list args;

	va_start(args, format);
	vsnprintf(path, sizeof(path), format, args);
	va_end(args);
	return a->actions->write(a->actions->arg, path, text);
}

/* An empty line takes an override away; nothing at all would not be written. */
static int set_override(const struct bp_apply *a, const char *nic, const char *driver)
{
	return write_to(a, driver[0] ? driver : "\n", DEVICES "/%s/driver_override", nic);
}

static int release(const struct bp_apply *a, const char *nic)
{
	char driver[DRIVER_MAX];

	driver_now(a->root, nic, driver);
	return driver[0] ? write_to(a, nic, DEVICES "/%s/driver/unbind", nic) : 0;
}

/* The process that has the NIC open through vfio; 0: none that can be seen. */
static uint64_t holder(const char *root, const char *nic, char name[DRIVER_MAX])
{
	struct bp_tree_names pids = bp_tree_list(root, "/proc");
	char group[32], want[2][64];
	uint64_t found = 0;

	if (!bp_tree_link(root, group, sizeof(group), DEVICES "/%s/iommu_group", nic))
		pids.n = 0;
	snprintf(want[0], sizeof(want[0]), "/dev/vfio/%s", group);
	snprintf(want[1], sizeof(want[1]), "/dev/vfio/noiommu-%s", group);
	for (size_t i = 0; i < pids.n && !found; i++) {
		struct bp_tree_names fds;
		uint64_t pid;

		if (sscanf(pids.name[i], "%" SCNu64, &pid) != 1)
			continue;
		fds = bp_tree_list(root, "/proc/%s/fd", pids.name[i]);
		for (size_t k = 0; k < fds.n && !found; k++) {
			char target[128];

			bp_tree_target(root, target, sizeof(target), "/proc/%s/fd/%s", pids.name[i],
				fds.name[k]);
			if (!strcmp(target, want[0]) || !strcmp(target, want[1]))
				found = pid;
		}
		bp_tree_names_free(&fds);
	}
	bp_tree_names_free(&pids);
	if (found)
		bp_tree_text(root, name, DRIVER_MAX, "/proc/%" PRIu64 "/comm", found);
	return found;
}

/* Binds the NIC to its previous driver; its driver_override is already restored. */
static int give_back(const struct bp_apply *a, const struct bp_step *s)
{
	char driver[DRIVER_MAX];
	int error;

	if (!s->was[0])
		return 0;
	if (!bp_tree_exists(a->root, DRIVERS "/%s", s->was))
		a->actions->modprobe(a->actions->arg, s->was, false);
	driver_now(a->root, s->name, driver);
	if (!strcmp(driver, s->was))
		return 0; /* loading the module bound it */
	error = write_to(a, s->name, "/sys/bus/pci/drivers_probe");
	driver_now(a->root, s->name, driver);
	if (!strcmp(driver, s->was))
		return 0;
	/* another driver that supports it was faster */
	if (driver[0])
		release(a, s->name);
	error = write_to(a, s->name, DRIVERS "/%s/bind", s->was);
	driver_now(a->root, s->name, driver);
	if (!strcmp(driver, s->was))
		return 0;
	return error ? error : -ENODEV;
}

/* The NIC's interface of that name, or else another one of its own; false when it has none. */
static bool find_interface(
	const struct bp_apply *a, const char *nic, const char *wanted, char name[IFNAMSIZ])
{
	struct bp_tree_names names = bp_tree_list(a->root, "/sys/class/net");

	name[0] = 0;
	for (size_t i = 0; i < names.n; i++) {
		char address[BP_PCI_ADDRESS];

		if (!bp_pci_of_link(a->root, address, "/sys/class/net/%s/device", names.name[i]) ||
			strcmp(address, nic) != 0)
			continue;
		if (!name[0] || !strcmp(names.name[i], wanted))
			snprintf(name, IFNAMSIZ, "%s", names.name[i]);
	}
	bp_tree_names_free(&names);
	return name[0] != 0;
}

/* Waits for it, and where udev is there for its name, which that gives a moment later. */
static bool wait_for_interface(
	const struct bp_apply *a, const char *nic, const char *wanted, char name[IFNAMSIZ])
{
	const bool udev = bp_tree_exists(a->root, "/run/udev/control");

	for (unsigned ms = 0; ms <= INTERFACE_MS; ms += LOOK_MS) {
		if (find_interface(a, nic, wanted, name) && (!udev || !strcmp(name, wanted)))
			return true;
		a->actions->wait(a->actions->arg, LOOK_MS);
	}
	return name[0] != 0;
}

static void restore_interface(const struct bp_apply *a, const struct bp_step *s, const json_t *i)
{
	const char *wanted = json_string_value(json_object_get(i, "name"));
	const char *address = json_string_value(json_object_get(i, "address"));
	char name[IFNAMSIZ];
	int error = 0;

	if (!wait_for_interface(a, s->name, wanted, name)) {
		fprintf(a->err, "warning: %s: its interface %s does not exist\n", s->name, wanted);
		return;
	}
	/* the kernel gives names in the order in which NICs come */
	if (strcmp(name, wanted) != 0) {
		error = a->actions->rename(a->actions->arg, name, wanted);
		if (error)
			fprintf(a->err, "warning: interface %s is now named %s: %s\n", wanted, name,
				strerror(-error));
		else
			snprintf(name, sizeof(name), "%s", wanted);
	}
	error = 0;
	if (json_is_true(json_object_get(i, "up")))
		error = a->actions->set_up(a->actions->arg, name);
	if (error)
		fprintf(a->err, "warning: interface %s cannot be set up: %s\n", name,
			strerror(-error));
	if (address && *address)
		fprintf(a->err,
			"warning: interface %s had address %s; to set it again: ip address "
			"add "
			"%s dev %s\n",
			name, address, address, name);
}

int bp_unbind(const struct bp_apply *a, const struct bp_step *s, char *why, size_t size)
{
	char driver[DRIVER_MAX], name[DRIVER_MAX];
	const json_t *i;
	uint64_t pid;
	int error;
	size_t k;

	if (!bp_tree_exists(a->root, DEVICES "/%s", s->name)) {
		fprintf(a->err, "warning: this machine no longer has %s\n", s->name);
		return 0;
	}
	driver_now(a->root, s->name, driver);
	if (!strcmp(driver, VFIO)) {
		pid = holder(a->root, s->name, name);
		if (pid) {
			/* the kernel would wait for it, for as long as it takes */
			snprintf(why, size,
				"process %" PRIu64 " (%s) uses the NIC; stop the process first",
				pid, name);
			return -1;
		}
	}
	error = set_override(a, s->name, s->override);
	if (!error && strcmp(driver, s->was) != 0)
		error = release(a, s->name);
	if (!error && strcmp(driver, s->was) != 0)
		error = give_back(a, s);
	if (error) {
		snprintf(why, size, "the NIC cannot be bound to driver %s: %s",
			s->was[0] ? s->was : "(none)", strerror(-error));
		return -1;
	}
	json_array_foreach(s->interfaces, k, i) restore_interface(a, s, i);
	return 0;
}

int bp_bind(const struct bp_apply *a, const struct bp_step *s, char *why, size_t size)
{
	char driver[DRIVER_MAX];
	int error;

	if (a->may_bind && !a->may_bind(a->arg, s->name, why, size))
		return -1;
	error = set_override(a, s->name, VFIO);
	if (!error)
		error = release(a, s->name);
	if (!error)
		error = write_to(a, s->name, "/sys/bus/pci/drivers_probe");
	driver_now(a->root, s->name, driver);
	if (!strcmp(driver, VFIO))
		return 0;
	snprintf(why, size,
		"the NIC cannot be bound to vfio-pci: %s (`dmesg | tail` can show the reason)",
		error ? strerror(-error) : "the kernel gives no reason");
	return -1;
}
