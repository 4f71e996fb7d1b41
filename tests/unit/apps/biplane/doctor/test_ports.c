/* SPDX-License-Identifier: BSD-3-Clause */
/* The doctor's results for a machine and a configuration. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "config/config.h"
#include "apps/biplane/doctor/plan.h"
#include "apps/biplane/doctor/step.h"
#include "tests/unit/apps/biplane/doctor/fake_machine.h"

#define A "0000:03:00.0"
#define B "0000:83:00.0"
#define MIB ((uint64_t)1 << 20)

static struct machine {
	struct fake fake;
	struct bp_config *config;
	struct bp_dataplane_facts facts;
} machine;

static struct bp_config *parse(const char *hugepages, const char *kernel)
{
	char text[1024];

	snprintf(text, sizeof(text),
		"name: t\nruntime: {hugepages: %s}\nworkers: [2, 6]\nports:\n"
		"  - {name: left, device: \"" A "\", routed: {host_interface: {backend: %s}}}\n"
		"  - {name: right, device: \"" B "\", routed: {host_interface: {backend: %s}}}\n"
		"  - {name: wire, device: \"net_af_packet0,iface=eth9\", routed: {host_interface: "
		"{backend: off}}}\n",
		hugepages, kernel, kernel);
	return bp_config_parse("t.yaml", text, strlen(text), stderr);
}

/* A server of two nodes with a NIC on each; workers on CPUs 2 (node 0) and 6 (node 1). */
static int begin(void **state)
{
	struct machine *m = &machine;

	fake_begin(&m->fake);
	fake_server(&m->fake);
	m->config = parse("require", "auto");
	assert_non_null(m->config);
	m->facts = fake_facts;
	m->facts.memory = 3000 * MIB;
	m->facts.n_workers = 1;
	m->facts.worker_cpu[0] = 2;
	snprintf(m->facts.port[0].pci, sizeof(m->facts.port[0].pci), A);
	snprintf(m->facts.port[1].pci, sizeof(m->facts.port[1].pci), B);
	snprintf(m->facts.port[2].interface, sizeof(m->facts.port[2].interface), "eth9");
	fake_nic(&m->fake, &(struct fake_nic){A, "vfio-pci", NULL, 0, 1, 0, false});
	fake_interface(&m->fake, "eth9", 9, true);
	*state = m;
	return 0;
}

static int end(void **state)
{
	struct machine *m = *state;

	bp_config_free(m->config);
	fake_end(&m->fake);
	return 0;
}

static void add_b(const struct machine *m, const char *driver, const char *interface)
{
	fake_nic(&m->fake, &(struct fake_nic){B, driver, interface, 3, 2, 1, true});
}

static void look(const struct machine *m, struct bp_doctor *d, struct bp_report *r)
{
	*d = (struct bp_doctor){.root = m->fake.root, .config = m->config, .facts = &m->facts};
	assert_true(bp_doctor_begin(d, NULL, 0));
	assert_true(bp_report_begin(r));
	bp_doctor_check(d, r);
}

static void expect(const struct machine *m, const char *item, const char *verdict, const char *says)
{
	struct bp_doctor d;
	struct bp_report r;

	look(m, &d, &r);
	assert_string_equal(report_verdict(&r, item), verdict);
	if (says && !report_says(&r, item, says) && !strstr(report_seen(&r, item), says))
		fail_msg("%s: neither '%s' nor a command has '%s'", item, report_seen(&r, item),
			says);
	bp_report_end(&r);
	bp_doctor_end(&d);
}

static void nics_of_ports(void **state)
{
	struct machine *m = *state;

	expect(m, "port right", "fail", "this machine has no NIC " B);
	add_b(m, "ixgbe", "eth1");
	expect(m, "port left", "ok", A " is bound to vfio-pci");
	expect(m, "port right", "fail", "biplane doctor --fix --nic " B);
	fake_ip(&m->fake,
		"[{\"ifname\":\"eth1\",\"addr_info\":[{\"local\":\"10.1.2.3\",\"prefixlen\":24}]}]",
		"[]", "[]");
	expect(m, "port right", "fail", "--force");
	fake_ip(&m->fake, "[]", "[{\"dst\":\"default\",\"dev\":\"eth1\"}]", "[]");
	expect(m, "port right", "fail", "# configure another NIC for the port");
	fake_ip(&m->fake, "[]", "[]", "[]");
	add_b(m, "vfio-pci", NULL);
	fake_remove(&m->fake, "/sys/class/net/eth1");
	/* its worker is on node 0 */
	expect(m, "port right", "warn", "on NUMA node 1, CPU 2 of a worker is on another");
	m->facts.worker_cpu[0] = 6;
	expect(m, "port right", "ok", NULL);
	expect(m, "port left", "warn", "CPU 6 of a worker is on another");
}

static void a_port_on_an_interface(void **state)
{
	struct machine *m = *state;

	expect(m, "port wire", "ok", "eth9 is up");
	fake_interface(&m->fake, "eth9", 9, false);
	expect(m, "port wire", "fail", "ip link set eth9 up");
	fake_remove(&m->fake, "/sys/class/net/eth9");
	expect(m, "port wire", "fail", "interface eth9 does not exist");
}

static void a_group_that_is_not_whole(void **state)
{
	struct machine *m = *state;

	fake_nic(&m->fake, &(struct fake_nic){"0000:03:00.1", "ixgbe", "eth4", 4, 1, 0, false});
	expect(m, "port left", "fail",
		"IOMMU group 1 with devices of kernel drivers: 0000:03:00.1 (ixgbe)");
}

static void hugepages_of_ports_nodes(void **state)
{
	struct machine *m = *state;

	/* one port is there, on node 0, and 1024 pages are free on each */
	expect(m, "hugepages node 0", "fail", "needs about 3000 MiB on this node");
	expect(m, "hugepages node 0", "fail", "echo 1500 >/sys/devices/system/node/node0/");
	expect(m, "hugepages node 1", "ok", NULL);
	add_b(m, "vfio-pci", NULL);
	expect(m, "hugepages node 1", "ok", "needs about 1500 MiB on this node");
	expect(m, "hugepages node 0", "ok", NULL);
	m->facts.memory = 5000 * MIB;
	expect(m, "hugepages node 1", "fail", "echo 1250 >/sys/devices/system/node/node1/");
	/* pages that are taken stay taken */
	fake_file(&m->fake, "1000\n",
		"/sys/devices/system/node/node1/hugepages/hugepages-2048kB/free_hugepages");
	expect(m, "hugepages node 1", "fail", "echo 1274 >/sys/devices/system/node/node1/");
	/* a running instance has its resources */
	fake_file(&m->fake, "321\n", "/run/biplane/t-dataplane.pid");
	expect(m, "hugepages node 1", "fail", NULL); /* of one that was killed */
	fake_file(&m->fake, "biplane\n", "/proc/321/comm");
	expect(m, "hugepages node 1", "ok", "it is running");
	fake_remove(&m->fake, "/proc/321");
	bp_config_free(m->config);
	m->config = parse("auto", "auto");
	expect(m, "hugepages node 1", "warn", NULL);
	bp_config_free(m->config);
	m->config = parse("never", "auto");
	expect(m, "hugepages node 1", "ok", NULL);
	fake_file(&m->fake, "", "/proc/mounts");
	expect(m, "hugetlbfs", "ok", "uses no hugepages");
}

static void workers_cpus(void **state)
{
	struct machine *m = *state;

	expect(m, "CPU isolation", "ok", "the CPUs of the workers are isolated: 2");
	m->facts.n_workers = 2;
	m->facts.worker_cpu[1] = 5;
	expect(m, "CPU isolation", "warn", "isolcpus=2,5");
	m->facts.worker_cpu[1] = 12;
	expect(m, "CPU isolation", "fail", "this machine has no CPU 12");
	fake_file(&m->fake, "ondemand\n", "/sys/devices/system/cpu/cpu1/cpufreq/scaling_governor");
	expect(m, "CPU frequency", "ok", NULL); /* no worker is there */
	fake_file(&m->fake, "ondemand\n", "/sys/devices/system/cpu/cpu2/cpufreq/scaling_governor");
	expect(m, "CPU frequency", "warn", "governor ondemand on CPUs 2");
}

static void kernel_interfaces_of_ports(void **state)
{
	struct machine *m = *state;

	fake_remove(&m->fake, "/dev/vhost-net");
	fake_remove(&m->fake, "/dev/net/tun");
	expect(m, "vhost-net", "warn", NULL); /* taps serve */
	expect(m, "tun", "fail", NULL);
	bp_config_free(m->config);
	m->config = parse("require", "virtio");
	expect(m, "vhost-net", "fail", "modprobe vhost-net");
	bp_config_free(m->config);
	m->config = parse("require", "off");
	expect(m, "vhost-net", "ok", NULL);
	expect(m, "tun", "ok", NULL);
}

/* A configuration without NICs wants none of what they need. */
static void no_port_on_pci(void **state)
{
	struct machine *m = *state;

	m->facts.port[0].pci[0] = m->facts.port[1].pci[0] = 0;
	fake_remove(&m->fake, "/sys/kernel/iommu_groups");
	fake_remove(&m->fake, "/sys/bus/pci/drivers/vfio-pci");
	fake_remove(&m->fake, "/sys/module/vfio_pci");
	expect(m, "IOMMU", "ok", "no port of this configuration needs it");
	expect(m, "vfio-pci", "ok", NULL);
	m->facts.memory = 3000 * MIB; /* which node it is of does not matter */
	expect(m, "hugepages node 0", "fail", "3000 MiB");
}

/* Actions of --fix for a configuration. */
static void fix_plan_follows_the_configuration(void **state)
{
	const struct bp_doctor_plan_request nothing = {0};
	struct machine *m = *state;
	struct bp_doctor d;
	struct bp_report r;
	char text[256];
	json_t *steps;

	add_b(m, "ixgbe", "eth1");
	m->facts.memory = 5000 * MIB;
	look(m, &d, &r);
	steps = bp_doctor_plan_create(&d, &nothing, stderr);
	assert_int_equal(json_array_size(steps), 3);
	bp_step_describe(json_array_get(steps, 0), false, text, sizeof(text));
	assert_string_equal(text, "hugepages of 2 MiB on NUMA node 0: 1024 -> 1250");
	bp_step_describe(json_array_get(steps, 1), false, text, sizeof(text));
	assert_string_equal(text, "hugepages of 2 MiB on NUMA node 1: 1024 -> 1250");
	bp_step_describe(json_array_get(steps, 2), false, text, sizeof(text));
	assert_string_equal(text, B " (eth1): ixgbe -> vfio-pci");
	json_decref(steps);
	bp_report_end(&r);
	bp_doctor_end(&d);
}

int main(void)
{
#define T(name) cmocka_unit_test_setup_teardown(name, begin, end)
	const struct CMUnitTest tests[] = {
		T(nics_of_ports),
		T(a_port_on_an_interface),
		T(a_group_that_is_not_whole),
		T(hugepages_of_ports_nodes),
		T(workers_cpus),
		T(kernel_interfaces_of_ports),
		T(no_port_on_pci),
		T(fix_plan_follows_the_configuration),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
