/* SPDX-License-Identifier: BSD-3-Clause */
#include "tests/unit/apps/biplane/doctor/fake_actions.h"

#include <errno.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <setjmp.h>
#include <cmocka.h>

#include "apps/biplane/doctor/tree.h"

#define DEVICES "/sys/devices/pci0000:00"

void fake_kernel_begin(struct fake_kernel *k, const struct fake *f)
{
	*k = (struct fake_kernel){.fake = f, .own_driver = "ixgbe", .pages_max = 1 << 20};
	fake_file(f, "", "/sys/bus/pci/drivers_probe");
	fake_folder(f, "/run");
}

/* False: the kernel has "died", as a fix that is killed there looks to it. */
__attribute__((format(printf, 2, 3))) static bool act(
	struct fake_kernel *k, const char *format, ...)
{
	const size_t at = strlen(k->log);
	va_list args;

	if (++k->acts >= k->dies_at && k->dies_at)
		return false;
	va_start(args, format);
	vsnprintf(k->log + at, sizeof(k->log) - at, format, args);
	va_end(args);
	return true;
}

/* An interface that is hidden keeps its files, and whether it was up, aside. */
static void hide_interfaces(const struct fake *f, const char *nic)
{
	struct bp_tree_names names = bp_tree_list(f->root, DEVICES "/%s/net", nic);
	char from[256], to[256];

	for (size_t i = 0; i < names.n; i++) {
		fake_remove(f, "/sys/class/net/%s", names.name[i]);
		fake_file(f, "0x1002\n", DEVICES "/%s/net/%s/flags", nic, names.name[i]);
	}
	bp_tree_names_free(&names);
	snprintf(from, sizeof(from), "%s" DEVICES "/%s/net", f->root, nic);
	snprintf(to, sizeof(to), "%s" DEVICES "/%s/hidden", f->root, nic);
	rename(from, to);
}

/* Renames the folder of an interface; its link is the caller's. */
static void rename_folder(const struct fake *f, const char *nic, const char *old, const char *new)
{
	char from[256], to[256];

	snprintf(from, sizeof(from), "%s" DEVICES "/%s/net/%s", f->root, nic, old);
	snprintf(to, sizeof(to), "%s" DEVICES "/%s/net/%s", f->root, nic, new);
	assert_int_equal(rename(from, to), 0);
}

static void show_interfaces(const struct fake_kernel *k, const char *nic)
{
	const struct fake *f = k->fake;
	struct bp_tree_names names;
	char from[256], to[256];

	snprintf(from, sizeof(from), "%s" DEVICES "/%s/hidden", f->root, nic);
	snprintf(to, sizeof(to), "%s" DEVICES "/%s/net", f->root, nic);
	rename(from, to);
	names = bp_tree_list(f->root, DEVICES "/%s/net", nic);
	for (size_t i = 0; i < names.n; i++) {
		const char *name = k->comes_as ? k->comes_as : names.name[i];
		char target[128];

		if (strcmp(name, names.name[i]) != 0)
			rename_folder(f, nic, names.name[i], name);
		snprintf(target, sizeof(target), DEVICES "/%s/net/%s", nic, name);
		fake_link(f, target, "/sys/class/net/%s", name);
	}
	bp_tree_names_free(&names);
}

static int unbind(const struct fake *f, const char *nic)
{
	if (!bp_tree_exists(f->root, DEVICES "/%s/driver", nic))
		return -ENODEV;
	fake_remove(f, DEVICES "/%s/driver", nic);
	hide_interfaces(f, nic);
	return 0;
}

static int bind_to(const struct fake_kernel *k, const char *nic, const char *driver)
{
	const struct fake *f = k->fake;
	char target[128];

	if (!bp_tree_exists(f->root, "/sys/bus/pci/drivers/%s", driver))
		return -ENODEV;
	snprintf(target, sizeof(target), "/sys/bus/pci/drivers/%s", driver);
	fake_link(f, target, DEVICES "/%s/driver", nic);
	if (strcmp(driver, "vfio-pci") != 0)
		show_interfaces(k, nic);
	return 0;
}

static int probe(const struct fake_kernel *k, const char *nic)
{
	char override[64];

	bp_tree_text(k->fake->root, override, sizeof(override), DEVICES "/%s/driver_override", nic);
	if (!strcmp(override, "(null)"))
		override[0] = 0;
	if (!strcmp(override, "vfio-pci") && k->vfio_refuses)
		return -EINVAL;
	return bind_to(k, nic, override[0] ? override : k->own_driver);
}

/* Side effects of a write to sysfs. */
static int kernel_write(void *arg, const char *path, const char *text)
{
	struct fake_kernel *k = arg;
	const char *last = strrchr(path, '/') + 1;
	char nic[32], number[32];

	if (!act(k, "write %s %s\n", path, *text == '\n' ? "" : text))
		return -EIO;
	if (sscanf(path, "/sys/bus/pci/devices/%31[^/]/", nic) == 1 && !strcmp(last, "unbind"))
		return unbind(k->fake, text);
	if (!strcmp(last, "drivers_probe"))
		return probe(k, text);
	if (!strcmp(last, "bind")) {
		char driver[64];

		assert_int_equal(sscanf(path, "/sys/bus/pci/drivers/%63[^/]/", driver), 1);
		return bind_to(k, text, driver);
	}
	if (!bp_tree_exists(k->fake->root, "%s", path))
		return -ENOENT;
	if (!strcmp(last, "driver_override") && *text == '\n')
		text = "(null)\n";
	if (!strcmp(last, "nr_hugepages") && atoll(text) > k->pages_max) {
		snprintf(number, sizeof(number), "%lld", (long long)k->pages_max);
		text = number;
	}
	fake_file(k->fake, text, "%s", path);
	return 0;
}

static int kernel_modprobe(void *arg, const char *module, bool remove)
{
	struct fake_kernel *k = arg;
	char folder[64];

	if (!act(k, "modprobe %s%s\n", remove ? "-r " : "", module))
		return -EIO;
	snprintf(folder, sizeof(folder), "%s", module);
	for (char *p = folder; *p; p++)
		*p = *p == '-' ? '_' : *p;
	if (remove) {
		fake_remove(k->fake, "/sys/module/%s", folder);
		if (!strcmp(module, "vfio-pci"))
			fake_remove(k->fake, "/sys/bus/pci/drivers/vfio-pci");
		return 0;
	}
	fake_folder(k->fake, "/sys/module/%s", folder);
	if (!strcmp(module, "vfio-pci"))
		fake_folder(k->fake, "/sys/bus/pci/drivers/vfio-pci");
	if (!strcmp(module, "vfio"))
		fake_file(k->fake, "N\n", "/sys/module/vfio/parameters/enable_unsafe_noiommu_mode");
	return 0;
}

static int kernel_mount(void *arg, const char *dir, bool make)
{
	struct fake_kernel *k = arg;

	if (!act(k, "mount %s%s\n", dir, make ? ", made" : ""))
		return -EIO;
	fake_folder(k->fake, "%s", dir);
	fake_file(k->fake, "hugetlbfs /dev/hugepages hugetlbfs rw 0 0\n", "/proc/mounts");
	return 0;
}

static int kernel_unmount(void *arg, const char *dir, bool make)
{
	struct fake_kernel *k = arg;

	if (!act(k, "umount %s\n", dir))
		return -EIO;
	fake_file(k->fake, "", "/proc/mounts");
	if (make && bp_tree_exists(k->fake->root, "%s", dir))
		fake_remove(k->fake, "%s", dir);
	return 0;
}

static int kernel_set_up(void *arg, const char *interface)
{
	struct fake_kernel *k = arg;

	if (!act(k, "up %s\n", interface))
		return -EIO;
	fake_file(k->fake, "0x1003\n", "/sys/class/net/%s/flags", interface);
	snprintf(k->up, sizeof(k->up), "%s", interface);
	return 0;
}

static int kernel_rename(void *arg, const char *interface, const char *name)
{
	struct fake_kernel *k = arg;
	char nic[BP_PCI_ADDRESS], target[128];

	if (!act(k, "rename %s %s\n", interface, name))
		return -EIO;
	if (bp_tree_exists(k->fake->root, "/sys/class/net/%s", name))
		return -EEXIST;
	assert_true(bp_pci_of_link(k->fake->root, nic, "/sys/class/net/%s/device", interface));
	fake_remove(k->fake, "/sys/class/net/%s", interface);
	rename_folder(k->fake, nic, interface, name);
	snprintf(target, sizeof(target), DEVICES "/%s/net/%s", nic, name);
	fake_link(k->fake, target, "/sys/class/net/%s", name);
	return 0;
}

static void kernel_wait(void *arg, unsigned ms)
{
	(void)arg;
	(void)ms;
}

struct bp_actions fake_actions(struct fake_kernel *k)
{
	return (struct bp_actions){k, kernel_write, kernel_modprobe, kernel_mount, kernel_unmount,
		kernel_set_up, kernel_rename, kernel_wait};
}

char *fake_state(const struct fake *f)
{
	struct bp_tree_names nics = bp_tree_list(f->root, DEVICES), nodes, nets;
	char text[128], link[64], *out;
	size_t len;
	FILE *s = open_memstream(&out, &len);

	for (size_t i = 0; i < nics.n; i++) {
		bp_tree_link(f->root, link, sizeof(link), DEVICES "/%s/driver", nics.name[i]);
		bp_tree_text(
			f->root, text, sizeof(text), DEVICES "/%s/driver_override", nics.name[i]);
		fprintf(s, "%s %s %s\n", nics.name[i], link, text);
	}
	nodes = bp_tree_list(f->root, "/sys/devices/system/node");
	for (size_t i = 0; i < nodes.n; i++) {
		bp_tree_text(f->root, text, sizeof(text),
			"/sys/devices/system/node/%s/hugepages/hugepages-2048kB/nr_hugepages",
			nodes.name[i]);
		fprintf(s, "%s %s\n", nodes.name[i], text);
	}
	nets = bp_tree_list(f->root, "/sys/class/net");
	for (size_t i = 0; i < nets.n; i++) {
		bp_tree_text(f->root, text, sizeof(text), "/sys/class/net/%s/flags", nets.name[i]);
		fprintf(s, "%s %s\n", nets.name[i], text);
	}
	bp_tree_text(f->root, text, sizeof(text), "/proc/mounts");
	bp_tree_text(f->root, link, sizeof(link),
		"/sys/module/vfio/parameters/enable_unsafe_noiommu_mode");
	fprintf(s, "mounts %s noiommu %s vfio-pci %d vhost_net %d /dev/hugepages %d journal %d\n",
		text, link, bp_tree_exists(f->root, "/sys/module/vfio_pci"),
		bp_tree_exists(f->root, "/sys/module/vhost_net"),
		bp_tree_exists(f->root, "/dev/hugepages"),
		bp_tree_exists(f->root, "/run/biplane-doctor.journal"));
	fclose(s);
	bp_tree_names_free(&nics);
	bp_tree_names_free(&nodes);
	bp_tree_names_free(&nets);
	return out;
}
