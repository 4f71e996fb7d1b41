/* SPDX-License-Identifier: BSD-3-Clause */
#include "tests/unit/apps/biplane/doctor/fake_machine.h"

#include <errno.h>
#include <ftw.h>
#include <limits.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <setjmp.h>
#include <cmocka.h>

#define PATH_SIZE 512

const struct bp_dataplane_facts fake_facts = {.dpdk = "DPDK 22.11.0", .driver_dir = "/pmds"};

void fake_begin(struct fake *f)
{
	snprintf(f->root, sizeof(f->root), "/tmp/biplane-doctor-XXXXXX");
	assert_non_null(mkdtemp(f->root));
}

static int remove_one(const char *path, const struct stat *s, int type, struct FTW *w)
{
	(void)s;
	(void)type;
	(void)w;
	return remove(path);
}

void fake_end(struct fake *f)
{
	nftw(f->root, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

static void make_folders(char *path)
{
	for (char *slash = strchr(path + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
		*slash = 0;
		if (mkdir(path, 0755) != 0)
			assert_int_equal(errno, EEXIST);
		*slash = '/';
	}
}

static void make_path(const struct fake *f, char out[PATH_SIZE], const char *format, va_list args)
{
	const int n = snprintf(out, PATH_SIZE, "%s", f->root);

	assert_true(n + vsnprintf(out + n, PATH_SIZE - (size_t)n, format, args) < PATH_SIZE);
	make_folders(out);
}

void fake_file(const struct fake *f, const char *text, const char *format, ...)
{
	char path[PATH_SIZE];
	va_list args;
	FILE *out;

	va_start(args, format);
	make_path(f, path, format, args);
	va_end(args);
	out = fopen(path, "w");
	assert_non_null(out);
	fputs(text, out);
	assert_int_equal(fclose(out), 0);
}

void fake_link(const struct fake *f, const char *target, const char *format, ...)
{
	char path[PATH_SIZE], full[PATH_SIZE];
	va_list args;

	va_start(args, format);
	make_path(f, path, format, args);
	va_end(args);
	snprintf(full, sizeof(full), "%s%s", target[0] == '/' ? f->root : "", target);
	unlink(path);
	assert_int_equal(symlink(full, path), 0);
}

void fake_folder(const struct fake *f, const char *format, ...)
{
	char path[PATH_SIZE];
	va_list args;

	va_start(args, format);
	make_path(f, path, format, args);
	va_end(args);
	if (mkdir(path, 0755) != 0)
		assert_int_equal(errno, EEXIST);
}

void fake_remove(const struct fake *f, const char *format, ...)
{
	char path[PATH_SIZE];
	va_list args;

	va_start(args, format);
	make_path(f, path, format, args);
	va_end(args);
	assert_int_equal(nftw(path, remove_one, 16, FTW_DEPTH | FTW_PHYS), 0);
}

static void add_node(const struct fake *f, int node)
{
	char folder[128];

	snprintf(folder, sizeof(folder), "/sys/devices/system/node/node%d/hugepages", node);
	fake_file(f, "1024\n", "%s/hugepages-2048kB/nr_hugepages", folder);
	fake_file(f, "1024\n", "%s/hugepages-2048kB/free_hugepages", folder);
	fake_file(f, "0\n", "%s/hugepages-1048576kB/nr_hugepages", folder);
	fake_file(f, "0\n", "%s/hugepages-1048576kB/free_hugepages", folder);
}

static void add_cpus(const struct fake *f)
{
	fake_file(f, "0-7\n", "/sys/devices/system/cpu/online");
	fake_file(f, "2-3,6-7\n", "/sys/devices/system/cpu/isolated");
	for (int cpu = 0; cpu < 8; cpu++) {
		fake_file(f, "performance\n",
			"/sys/devices/system/cpu/cpu%d/cpufreq/scaling_governor", cpu);
		fake_folder(f, "/sys/devices/system/cpu/cpu%d/node%d", cpu, cpu / 4);
	}
}

void fake_server(const struct fake *f)
{
	add_node(f, 0);
	add_node(f, 1);
	add_cpus(f);
	fake_file(f, "MemTotal: 1 kB\nHugepagesize:       2048 kB\n", "/proc/meminfo");
	fake_file(f, "proc /proc proc rw 0 0\nhugetlbfs /dev/hugepages hugetlbfs rw 0 0\n",
		"/proc/mounts");
	fake_file(f, "vendor_id\t: GenuineIntel\nflags\t\t: fpu tsc\n", "/proc/cpuinfo");
	fake_file(f, "6.1.0-test\n", "/proc/sys/kernel/osrelease");
	fake_file(f, "3f2c\n", "/proc/sys/kernel/random/boot_id");
	fake_file(f, "vfio_pci 1 0\n", "/proc/modules");
	fake_file(f, "kernel/drivers/vfio/pci/vfio-pci.ko: x\nkernel/drivers/vhost/vhost_net.ko:\n",
		"/lib/modules/6.1.0-test/modules.dep");
	fake_file(f, "Name:\tbiplane\nUid:\t0\t0\t0\t0\nCapEff:\t000001ffffffffff\n",
		"/proc/self/status");
	fake_file(f, "Max locked memory         8388608              8388608              bytes\n",
		"/proc/self/limits");
	fake_file(f, "tsc\n", "/sys/devices/system/clocksource/clocksource0/current_clocksource");
	fake_file(f, "tsc hpet\n",
		"/sys/devices/system/clocksource/clocksource0/available_clocksource");
	fake_file(f, "", "/dev/vhost-net");
	fake_file(f, "", "/dev/net/tun");
	fake_folder(f, "/sys/module/vfio_pci");
	fake_folder(f, "/sys/bus/pci/drivers/vfio-pci");
	fake_folder(f, "/sys/kernel/iommu_groups/1");
	fake_file(f,
		"\x7f"
		"ELF PMD_INFO_STRING= {\"name\": \"net_ixgbe\", \"pci_ids\": [[32902, 4347, 65535, "
		"65535]]}",
		"/pmds/librte_net_ixgbe.so");
	fake_interface(f, "lo", 1, true);
	fake_ip(f, "[]", "[]", "[]");
}

static void add_interface_of(const struct fake *f, const struct fake_nic *n, const char *device)
{
	char folder[160], text[32];

	snprintf(folder, sizeof(folder), "%s/net/%s", device, n->interface);
	snprintf(text, sizeof(text), "%d\n", n->index);
	fake_file(f, text, "%s/ifindex", folder);
	fake_file(f, n->up ? "0x1003\n" : "0x1002\n", "%s/flags", folder);
	if (n->up)
		fake_file(f, "1\n", "%s/carrier", folder);
	fake_link(f, "../..", "%s/device", folder);
	fake_link(f, folder, "/sys/class/net/%s", n->interface);
}

void fake_nic(const struct fake *f, const struct fake_nic *n)
{
	char device[96], text[96];

	snprintf(device, sizeof(device), "/sys/devices/pci0000:00/%s", n->address);
	fake_file(f, "0x020000\n", "%s/class", device);
	fake_file(f, "0x8086\n", "%s/vendor", device);
	fake_file(f, "0x10fb\n", "%s/device", device);
	fake_file(f, "0x8086\n", "%s/subsystem_vendor", device);
	fake_file(f, "0x0003\n", "%s/subsystem_device", device);
	fake_file(f, "(null)\n", "%s/driver_override", device);
	snprintf(text, sizeof(text), "%d\n", n->node);
	fake_file(f, text, "%s/numa_node", device);
	fake_link(f, device, "/sys/bus/pci/devices/%s", n->address);
	if (n->driver) {
		fake_folder(f, "/sys/bus/pci/drivers/%s", n->driver);
		snprintf(text, sizeof(text), "/sys/bus/pci/drivers/%s", n->driver);
		fake_link(f, text, "%s/driver", device);
	}
	if (n->group >= 0) {
		snprintf(text, sizeof(text), "/sys/kernel/iommu_groups/%d", n->group);
		fake_link(f, device, "%s/devices/%s", text, n->address);
		fake_link(f, text, "%s/iommu_group", device);
	}
	if (n->interface)
		add_interface_of(f, n, device);
}

void fake_interface(const struct fake *f, const char *name, int index, bool up)
{
	char text[64];

	snprintf(text, sizeof(text), "%d\n", index);
	fake_file(f, text, "/sys/devices/virtual/net/%s/ifindex", name);
	fake_file(f, up ? "0x1003\n" : "0x1002\n", "/sys/devices/virtual/net/%s/flags", name);
	snprintf(text, sizeof(text), "../../devices/virtual/net/%s", name);
	fake_link(f, text, "/sys/class/net/%s", name);
}

void fake_stand(const struct fake *f, const char *above, const char *below, bool master)
{
	char text[64];

	snprintf(text, sizeof(text), "/sys/class/net/%s", below);
	fake_link(f, text, "/sys/class/net/%s/lower_%s", above, below);
	snprintf(text, sizeof(text), "/sys/class/net/%s", above);
	fake_link(f, text, "/sys/class/net/%s/upper_%s", below, above);
	if (master)
		fake_link(f, text, "/sys/class/net/%s/master", below);
}

void fake_ip(const struct fake *f, const char *addresses, const char *routes4, const char *routes6)
{
	fake_file(f, addresses, "/ip-address.json");
	fake_file(f, routes4, "/ip-route-4.json");
	fake_file(f, routes6, "/ip-route-6.json");
}

void fake_doctor(const struct fake *f, struct bp_doctor *d, const char *ssh, uint64_t pid)
{
	*d = (struct bp_doctor){.root = f->root, .facts = &fake_facts};
	assert_true(bp_doctor_begin(d, ssh, pid));
}

void fake_report(const struct fake *f, struct bp_report *r)
{
	struct bp_doctor d;

	fake_doctor(f, &d, NULL, 0);
	assert_true(bp_report_begin(r));
	bp_doctor_check(&d, r);
	bp_doctor_end(&d);
}

static const json_t *find(const struct bp_report *r, const char *item)
{
	json_t *o;
	size_t i;

	json_array_foreach(r->items, i,
		o) if (!strcmp(json_string_value(json_object_get(o, "item")), item)) return o;
	fail_msg("the report has no item '%s'", item);
	return NULL;
}

const char *report_verdict(const struct bp_report *r, const char *item)
{
	return json_string_value(json_object_get(find(r, item), "verdict"));
}

const char *report_seen(const struct bp_report *r, const char *item)
{
	return json_string_value(json_object_get(find(r, item), "found"));
}

bool report_says(const struct bp_report *r, const char *item, const char *text)
{
	const json_t *commands = json_object_get(find(r, item), "commands"), *command;
	size_t i;

	json_array_foreach(
		commands, i, command) if (strstr(json_string_value(command), text)) return true;
	return false;
}
