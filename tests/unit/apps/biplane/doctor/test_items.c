/* SPDX-License-Identifier: BSD-3-Clause */
/* The doctor's results for machines, each simulated by a folder with its sysfs and proc files. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "dataplane/process/cpu_list.h"
#include "tests/unit/apps/biplane/doctor/fake_machine.h"

static int begin(void **state)
{
	static struct fake f;

	fake_begin(&f);
	fake_server(&f);
	*state = &f;
	return 0;
}

static int end(void **state)
{
	fake_end(*state);
	return 0;
}

/* Looks, and expects this verdict of this item. */
static void expect(const struct fake *f, const char *item, const char *verdict, const char *says)
{
	struct bp_report r;

	fake_report(f, &r);
	assert_string_equal(report_verdict(&r, item), verdict);
	if (says && !report_says(&r, item, says))
		fail_msg("%s: no command has '%s'", item, says);
	bp_report_end(&r);
}

static void a_server_that_is_ready(void **state)
{
	const struct fake *f = *state;
	struct bp_report r;
	json_t *o;
	size_t i;

	fake_nic(f, &(struct fake_nic){"0000:03:00.0", "vfio-pci", NULL, 0, 1, 0, false});
	fake_report(f, &r);
	json_array_foreach(r.items, i,
		o) if (strcmp(json_string_value(json_object_get(o, "verdict")), "ok") != 0)
		fail_msg("%s", json_dumps(o, 0));
	assert_int_equal(r.worst, BP_CHECK_OK);
	assert_true(json_array_size(r.items) >= 13);
	assert_string_equal(report_seen(&r, "hugepages node 1"),
		"1024 pages of 2 MiB, 1024 free; none required");
	assert_string_equal(report_seen(&r, "NICs"), "1 of 1 can be used as ports");
	bp_report_end(&r);
}

static void hugepages_by_node(void **state)
{
	const struct fake *f = *state;
	static const char file[] =
		"/sys/devices/system/node/node%d/hugepages/hugepages-2048kB/%s_hugepages";

	fake_file(f, "0\n", file, 1, "nr");
	fake_file(f, "0\n", file, 1, "free");
	expect(f, "hugepages node 1", "ok", NULL); /* no process needs any */
	fake_nic(f, &(struct fake_nic){"0000:83:00.0", "ixgbe", "eth3", 4, 1, 1, false});
	expect(f, "hugepages node 1", "warn",
		"echo 1024 "
		">/sys/devices/system/node/node1/hugepages/hugepages-2048kB/nr_hugepages");
	fake_file(f, "0\n", file, 0, "nr");
	fake_file(f, "0\n", file, 0, "free");
	expect(f, "hugepages node 0", "warn", "node0/hugepages/hugepages-2048kB/nr_hugepages");
	expect(f, "hugepages node 1", "warn", NULL);
	/* a small machine keeps half of its memory */
	fake_file(f, "Node 1 MemTotal:        1048576 kB\n",
		"/sys/devices/system/node/node1/meminfo");
	expect(f, "hugepages node 1", "warn", "echo 256 >/sys");
	fake_file(f, "proc /proc proc rw 0 0\n", "/proc/mounts");
	expect(f, "hugetlbfs", "warn", "mount -t hugetlbfs hugetlbfs /dev/hugepages");
}

static void a_kernel_without_numa_or_hugepages(void **state)
{
	const struct fake *f = *state;

	fake_remove(f, "/sys/devices/system/node");
	expect(f, "hugepages", "warn", NULL);
	fake_file(f, "512\n", "/sys/kernel/mm/hugepages/hugepages-2048kB/nr_hugepages");
	fake_file(f, "500\n", "/sys/kernel/mm/hugepages/hugepages-2048kB/free_hugepages");
	expect(f, "hugepages", "ok", NULL);
}

static void iommu_off_in_the_kernel(void **state)
{
	const struct fake *f = *state;

	fake_remove(f, "/sys/kernel/iommu_groups");
	fake_file(f, "x", "/sys/firmware/acpi/tables/DMAR");
	expect(f, "IOMMU", "fail", "kernel command line, and reboot: intel_iommu=on");
	fake_file(f, "GRUB_DEFAULT=0\n", "/etc/default/grub");
	expect(f, "IOMMU", "fail", "update-grub");
	expect(f, "IOMMU", "fail",
		"echo 'GRUB_CMDLINE_LINUX=\"$GRUB_CMDLINE_LINUX intel_iommu=on iommu=pt\"' "
		">/etc/default/grub.d/biplane-iommu.cfg");
}

static void iommu_off_in_the_firmware(void **state)
{
	const struct fake *f = *state;

	fake_remove(f, "/sys/kernel/iommu_groups");
	expect(f, "IOMMU", "fail", "enable VT-d");
}

static void a_guest_without_iommu(void **state)
{
	const struct fake *f = *state;
	static const char noiommu[] = "/sys/module/vfio/parameters/enable_unsafe_noiommu_mode";
	static const char mode[] = "enable_unsafe_noiommu_mode=1", xdp[] = "net_af_xdp0";

	fake_remove(f, "/sys/kernel/iommu_groups");
	fake_file(f, "flags\t\t: fpu hypervisor tsc\n", "/proc/cpuinfo");
	expect(f, "IOMMU", "fail", "-device intel-iommu");
	/* a kernel that can do without, and ones that cannot */
	expect(f, "IOMMU", "fail", xdp); /* no module vfio */
	fake_file(f, "kernel/drivers/vfio/vfio.ko:\n", "/lib/modules/6.1.0-test/modules.dep");
	expect(f, "IOMMU", "fail", mode);
	fake_file(f, "\n# CONFIG_VFIO_NOIOMMU is not set\n", "/boot/config-6.1.0-test");
	expect(f, "IOMMU", "fail", xdp);
	fake_file(f, "\nCONFIG_VFIO_NOIOMMU=y\n", "/boot/config-6.1.0-test");
	expect(f, "IOMMU", "fail", mode);
	fake_folder(f, "/sys/module/vfio"); /* loaded, and without the parameter */
	expect(f, "IOMMU", "fail", xdp);
	fake_file(f, "N\n", noiommu);
	expect(f, "IOMMU", "fail", mode);
	fake_file(f, "Y\n", noiommu);
	expect(f, "IOMMU", "warn", NULL);
}

static void vfio_not_loaded_and_not_there(void **state)
{
	const struct fake *f = *state;

	fake_remove(f, "/sys/module/vfio_pci");
	fake_remove(f, "/sys/bus/pci/drivers/vfio-pci");
	expect(f, "vfio-pci", "fail", "modprobe vfio-pci");
	fake_file(f, "kernel/fs/ext4/ext4.ko:\n", "/lib/modules/6.1.0-test/modules.dep");
	expect(f, "vfio-pci", "fail", "linux-image-amd64");
	fake_remove(f, "/lib/modules/6.1.0-test");
	expect(f, "vfio-pci", "skip", "modprobe vfio-pci");
	fake_file(f, "kernel/drivers/vfio/pci/vfio-pci.ko\n",
		"/lib/modules/6.1.0-test/modules.builtin");
	expect(f, "vfio-pci", "ok", NULL);
}

static void kernel_interfaces(void **state)
{
	const struct fake *f = *state;

	fake_remove(f, "/dev/vhost-net");
	expect(f, "vhost-net", "warn", "modprobe vhost-net"); /* vhost_net.ko on the disk */
	fake_remove(f, "/dev/net/tun");
	expect(f, "tun", "warn", "# this kernel has no module tun");
}

static void cpu_isolation_and_frequency_are_checked(void **state)
{
	const struct fake *f = *state;

	fake_file(f, "\n", "/sys/devices/system/cpu/isolated");
	fake_file(f, "3,7\n", "/sys/devices/system/cpu/cpu7/topology/thread_siblings_list");
	expect(f, "CPU isolation", "warn", "isolcpus=3,7 nohz_full=3,7 rcu_nocbs=3,7");
	fake_file(f, "0\n", "/sys/devices/system/cpu/online");
	expect(f, "CPU isolation", "warn", "too few CPUs");
	fake_file(f, "powersave\n", "/sys/devices/system/cpu/cpu5/cpufreq/scaling_governor");
	expect(f, "CPU frequency", "warn", "echo performance");
}

static void cpu_lists(void **state)
{
	static const char *const wrong[] = {"x", "1-", "3-1", "1,,2", "1,", "99999", "-1"};
	cpu_set_t set;
	char text[64];

	(void)state;
	assert_true(bp_cpu_list_read("0-2,5,7-8", &set));
	assert_int_equal(CPU_COUNT(&set), 6);
	bp_cpu_list_text(&set, text, sizeof(text));
	assert_string_equal(text, "0-2,5,7-8");
	assert_true(bp_cpu_list_read("(null)", &set));
	assert_int_equal(CPU_COUNT(&set), 0);
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		assert_false(bp_cpu_list_read(wrong[i], &set));
		assert_int_equal(CPU_COUNT(&set), 0);
	}
}

static void not_root(void **state)
{
	const struct fake *f = *state;

	fake_file(f, "Name:\tb\nUid:\t1000\t1000\t1000\t1000\nCapEff:\t0000000000000000\n",
		"/proc/self/status");
	expect(f, "capabilities", "fail",
		"setcap cap_net_admin,cap_net_raw+ep '/"); /* of the program that runs */
	expect(f, "memory lock limit", "fail", "memlock unlimited");
	/* net_admin (12), net_raw (13), ipc_lock (14) */
	fake_file(f, "Name:\tb\nUid:\t1000\t1000\t1000\t1000\nCapEff:\t0000000000007000\n",
		"/proc/self/status");
	expect(f, "capabilities", "ok", NULL);
	expect(f, "memory lock limit", "ok", NULL);
	fake_remove(f, "/sys/kernel/iommu_groups");
	expect(f, "capabilities", "fail", "cap_sys_rawio");
	fake_file(
		f, "Name:\tb\nUid:\t0\t0\t0\t0\nCapEff:\t0000000000000000\n", "/proc/self/status");
	expect(f, "capabilities", "fail", "container");
	fake_file(f, "Max locked memory         unlimited            unlimited            bytes\n",
		"/proc/self/limits");
	expect(f, "memory lock limit", "ok", NULL);
}

static void clock_source_is_checked(void **state)
{
	const struct fake *f = *state;
	static const char now[] =
		"/sys/devices/system/clocksource/clocksource0/current_clocksource";

	fake_file(f, "hpet\n", now);
	expect(f, "clock source", "warn", "echo tsc >/sys/devices/system/clocksource");
	fake_file(f, "hpet acpi_pm\n",
		"/sys/devices/system/clocksource/clocksource0/available_clocksource");
	expect(f, "clock source", "warn", "tsc=reliable");
	fake_file(f, "kvm-clock\n", now);
	expect(f, "clock source", "ok", NULL);
	fake_remove(f, now);
	expect(f, "clock source", "skip", NULL);
}

static void dpdk_without_drivers(void **state)
{
	const struct fake *f = *state;

	fake_remove(f, "/pmds");
	expect(f, "DPDK", "fail", "apt-get install");
}

/* A machine of which nothing is known is not said to be ok. */
static void an_empty_folder(void **state)
{
	struct bp_report r;
	struct fake f;

	(void)state;
	fake_begin(&f);
	fake_report(&f, &r);
	assert_int_equal(r.worst, BP_CHECK_FAIL);
	assert_string_equal(report_verdict(&r, "capabilities"), "skip");
	assert_string_equal(report_verdict(&r, "CPU isolation"), "skip");
	assert_string_equal(report_verdict(&r, "management interfaces"), "skip");
	bp_report_end(&r);
	fake_end(&f);
}

static void as_text(void **state)
{
	const struct fake *f = *state;
	struct bp_report r;
	char *text = NULL;
	size_t len;
	FILE *out;

	fake_remove(f, "/dev/vhost-net");
	fake_nic(f, &(struct fake_nic){"0000:03:00.0", "ixgbe", "eth0", 2, 1, 0, false});
	fake_report(f, &r);
	out = open_memstream(&text, &len);
	bp_report_print(&r, out, false);
	fclose(out);
	assert_non_null(strstr(text, "ok        clock source          tsc\n"));
	assert_non_null(
		strstr(text, "warn      vhost-net             /dev/vhost-net does not exist\n"));
	assert_non_null(strstr(text, "\n                                modprobe vhost-net\n"));
	assert_non_null(
		strstr(text, "\n0000:03:00.0  8086:10fb  ixgbe   eth0       -        0      1  "
			     "net_ixgbe  safe   -\n"));
	assert_non_null(strstr(text, " ok, 2 warn, 0 fail, 0 skip\n"));
	assert_null(strchr(text, '\033'));
	free(text);
	bp_report_end(&r);
}

/* A port's name may be longer than the column. */
static void a_long_item_name_is_separated_from_its_text(void **state)
{
	struct bp_report r;
	char *text = NULL;
	size_t len;
	FILE *out;

	(void)state;
	assert_true(bp_report_begin(&r));
	bp_report_item(&r, "port abcdefghijklmnopqrstuvwxyz01234", BP_CHECK_OK, "", "is up");
	out = open_memstream(&text, &len);
	bp_report_print(&r, out, false);
	fclose(out);
	assert_non_null(strstr(text, "ok        port abcdefghijklmnopqrstuvwxyz01234 is up\n"));
	free(text);
	bp_report_end(&r);
}

int main(void)
{
#define T(name) cmocka_unit_test_setup_teardown(name, begin, end)
	const struct CMUnitTest tests[] = {
		T(a_server_that_is_ready),
		T(hugepages_by_node),
		T(a_kernel_without_numa_or_hugepages),
		T(iommu_off_in_the_kernel),
		T(iommu_off_in_the_firmware),
		T(a_guest_without_iommu),
		T(vfio_not_loaded_and_not_there),
		T(kernel_interfaces),
		T(cpu_isolation_and_frequency_are_checked),
		T(cpu_lists),
		T(not_root),
		T(clock_source_is_checked),
		T(dpdk_without_drivers),
		T(an_empty_folder),
		T(as_text),
		T(a_long_item_name_is_separated_from_its_text),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
