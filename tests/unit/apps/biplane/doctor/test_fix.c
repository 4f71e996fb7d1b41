/* SPDX-License-Identifier: BSD-3-Clause */
/* doctor --fix and --undo on a machine that is a folder, with a kernel that the test plays. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "apps/biplane/doctor/apply.h"
#include "apps/biplane/doctor/fix.h"
#include "apps/biplane/doctor/journal.h"
#include "apps/biplane/doctor/step.h"
#include "apps/biplane/doctor/tree.h"
#include "apps/biplane/exit_status.h"
#include "tests/unit/apps/biplane/doctor/fake_actions.h"

#define A "0000:03:00.0"
#define B "0000:03:00.1"
#define PAGES "/sys/devices/system/node/node%d/hugepages/hugepages-2048kB/%s_hugepages"

static struct machine {
	struct fake fake;
	struct fake_kernel kernel;
	char *before; /* fake_state() */
	char out[8192], err[8192];
} machine;

/* A machine without loaded modules, hugepages and mounts. */
static int begin(void **state)
{
	struct machine *m = &machine;
	struct fake *f = &m->fake;

	memset(m, 0, sizeof(*m));
	fake_begin(f);
	fake_server(f);
	fake_nic(f, &(struct fake_nic){A, "ixgbe", "eth0", 2, 1, 0, true});
	fake_nic(f, &(struct fake_nic){B, "ixgbe", "eth1", 3, 2, 0, false});
	for (int node = 0; node < 2; node++) {
		fake_file(f, "0", PAGES, node, "nr");
		fake_file(f, "0", PAGES, node, "free");
	}
	fake_file(f, "", "/proc/mounts");
	fake_remove(f, "/sys/module/vfio_pci");
	fake_remove(f, "/sys/bus/pci/drivers/vfio-pci");
	fake_remove(f, "/dev/vhost-net");
	fake_kernel_begin(&m->kernel, f);
	m->before = fake_state(f);
	*state = m;
	return 0;
}

static int end(void **state)
{
	struct machine *m = *state;

	free(m->before);
	fake_end(&m->fake);
	return 0;
}

static int run(struct machine *m, const struct bp_doctor_plan_request *q, const char *answer)
{
	const struct bp_actions actions = fake_actions(&m->kernel);
	FILE *out = fmemopen(m->out, sizeof(m->out), "w"),
	     *err = fmemopen(m->err, sizeof(m->err), "w"),
	     *in = fmemopen(
		     (void *)(uintptr_t)(answer ? answer : "\n"), answer ? strlen(answer) : 1, "r");
	const struct bp_fix f = {
		.actions = &actions,
		.in = in,
		.out = out,
		.err = err,
		.yes = !answer,
		.terminal = answer && *answer != '!',
	};
	struct bp_doctor d;
	int status;

	if (q) {
		fake_doctor(&m->fake, &d, NULL, 0);
		status = bp_fix(&d, q, &f);
		bp_doctor_end(&d);
	} else {
		status = bp_fix_undo(m->fake.root, &f);
	}
	fclose(out);
	fclose(err);
	fclose(in);
	return status;
}

static int fix(struct machine *m, const struct bp_doctor_plan_request *q)
{
	return run(m, q, NULL);
}

static int undo(struct machine *m)
{
	return run(m, NULL, NULL);
}

static void expect_as_before(struct machine *m)
{
	char *now = fake_state(&m->fake);

	assert_string_equal(now, m->before);
	free(now);
}

static void expect_driver(struct machine *m, const char *nic, const char *driver)
{
	char now[64];

	bp_tree_link(m->fake.root, now, sizeof(now), "/sys/bus/pci/devices/%s/driver", nic);
	assert_string_equal(now, driver);
}

static const struct bp_doctor_plan_request both = {
	.n_nics = 2, .nic = {A, "eth1"}, .n_hugepages = 1, .hugepages = {{-1, 512}}};

static void a_bare_machine_and_back(void **state)
{
	const struct bp_doctor_plan_request again = {.n_nics = 2, .nic = {A, B}};
	struct machine *m = *state;
	int64_t pages;

	assert_int_equal(fix(m, &both), BP_EX_OK);
	expect_driver(m, A, "vfio-pci");
	expect_driver(m, B, "vfio-pci");
	assert_true(bp_tree_number(m->fake.root, &pages, PAGES, 1, "nr"));
	assert_int_equal(pages, 512);
	assert_true(bp_tree_exists(m->fake.root, "/sys/module/vhost_net"));
	assert_false(bp_tree_exists(m->fake.root, "/sys/class/net/eth0"));
	/* how, in this order; never new_id, which is about every NIC of the kind */
	assert_string_equal(m->kernel.log,
		"modprobe vfio-pci\n"
		"modprobe vhost-net\n"
		"write /sys/devices/system/node/node0/hugepages/hugepages-2048kB/nr_hugepages 512\n"
		"write /sys/devices/system/node/node1/hugepages/hugepages-2048kB/nr_hugepages 512\n"
		"mount /dev/hugepages, made\n"
		"write /sys/bus/pci/devices/" A "/driver_override vfio-pci\n"
		"write /sys/bus/pci/devices/" A "/driver/unbind " A "\n"
		"write /sys/bus/pci/drivers_probe " A "\n"
		"write /sys/bus/pci/devices/" B "/driver_override vfio-pci\n"
		"write /sys/bus/pci/devices/" B "/driver/unbind " B "\n"
		"write /sys/bus/pci/drivers_probe " B "\n");
	assert_non_null(strstr(m->out, "driverctl set-override " A " vfio-pci"));
	assert_non_null(strstr(m->out, "w /sys/devices/system/node/node1/hugepages/"
				       "hugepages-2048kB/nr_hugepages - - - - 512"));
	assert_int_equal(fix(m, &again), BP_EX_OK);
	assert_non_null(strstr(m->out, "nothing to do"));
	assert_int_equal(undo(m), BP_EX_OK);
	expect_as_before(m); /* eth0 is up again, eth1 is not */
	assert_string_equal(m->kernel.up, "eth0");
	assert_int_equal(undo(m), BP_EX_OK);
	assert_non_null(strstr(m->out, "nothing to undo"));
}

/* Killed at any point, and each time what was is put back. */
static void interrupted_anywhere(void **state)
{
	struct machine *m = *state;
	unsigned acts;

	assert_int_equal(fix(m, &both), BP_EX_OK);
	acts = m->kernel.acts;
	assert_true(acts >= 10);
	assert_int_equal(undo(m), BP_EX_OK);
	expect_as_before(m);
	for (unsigned at = 1; at <= acts; at++) {
		m->kernel.acts = 0;
		m->kernel.dies_at = at; /* no change is reverted: the process is dead */
		assert_int_equal(fix(m, &both), BP_EX_OSERR);
		m->kernel.dies_at = 0;
		assert_int_equal(undo(m), BP_EX_OK);
		expect_as_before(m);
	}
}

/* An undo that is killed has not touched its journal yet; the next does all of it again. */
static void interrupted_undo(void **state)
{
	struct machine *m = *state;

	for (unsigned at = 1; at <= 16; at++) {
		char *journal;
		size_t len;

		assert_int_equal(fix(m, &both), BP_EX_OK);
		journal = bp_tree_read_all(m->fake.root, &len, BP_JOURNAL_PATH);
		assert_non_null(journal);
		m->kernel.acts = 0;
		m->kernel.dies_at = at;
		undo(m);
		m->kernel.dies_at = 0;
		fake_file(&m->fake, journal, BP_JOURNAL_PATH);
		free(journal);
		assert_int_equal(undo(m), BP_EX_OK);
		expect_as_before(m);
	}
}

/* Without udev the kernel calls them as they come, and the last that was taken comes first. */
static void interfaces_with_other_names(void **state)
{
	struct machine *m = *state;

	assert_int_equal(fix(m, &both), BP_EX_OK);
	m->kernel.comes_as = "eth0";
	assert_int_equal(undo(m), BP_EX_OK);
	assert_non_null(strstr(m->kernel.log, "rename eth0 eth1\n"));
	expect_as_before(m);
	assert_int_equal(fix(m, &both), BP_EX_OK);
	m->kernel.comes_as = "eth7";
	fake_interface(&m->fake, "eth0", 20, false); /* another interface has taken the name */
	assert_int_equal(undo(m), BP_EX_OK);
	assert_non_null(strstr(m->err, "interface eth0 is now named eth7"));
	assert_string_equal(m->kernel.up, "eth7");
}

/* One after the other, and all of it back at once. */
static void two_fixes_one_undo(void **state)
{
	struct machine *m = *state;

	assert_int_equal(
		fix(m, &(struct bp_doctor_plan_request){.n_nics = 1, .nic = {A}}), BP_EX_OK);
	assert_int_equal(fix(m, &(struct bp_doctor_plan_request){.n_nics = 1,
					.nic = {B},
					.n_hugepages = 1,
					.hugepages = {{1, 2048}}}),
		BP_EX_OK);
	assert_int_equal(undo(m), BP_EX_OK);
	expect_as_before(m);
}

static void asked_first(void **state)
{
	struct machine *m = *state;

	assert_int_equal(run(m, &both, "n\n"), BP_EX_CHECK_FAILED);
	assert_non_null(strstr(m->out, "  1. modprobe vfio-pci\n"));
	assert_non_null(strstr(m->out, A " (eth0): ixgbe -> vfio-pci\n"));
	assert_non_null(strstr(m->out, "Continue? [y/N] nothing was changed"));
	assert_int_equal(run(m, &both, ""), BP_EX_CHECK_FAILED); /* the end of input is no yes */
	assert_int_equal(run(m, &both, "!"), BP_EX_USAGE);       /* no one is there */
	assert_non_null(strstr(m->err, "--yes"));
	assert_int_equal(m->kernel.acts, 0);
	expect_as_before(m);
	assert_int_equal(run(m, &both, "y\n"), BP_EX_OK);
	expect_driver(m, A, "vfio-pci");
}

static void never_the_default_route(void **state)
{
	struct machine *m = *state;
	struct bp_doctor_plan_request q = both;

	q.force = true;
	fake_ip(&m->fake, "[]", "[{\"dst\":\"default\",\"dev\":\"eth0\"}]", "[]");
	assert_int_equal(fix(m, &q), BP_EX_CHECK_FAILED);
	assert_non_null(
		strstr(m->err, A " must keep its kernel driver: eth0 carries the default route"));
	assert_int_equal(m->kernel.acts, 0); /* no other change is made */
	expect_as_before(m);
}

static void in_use_when_insisted_on(void **state)
{
	struct machine *m = *state;
	struct bp_doctor_plan_request q = {.n_nics = 1, .nic = {A}};

	fake_ip(&m->fake,
		"[{\"ifname\":\"eth0\",\"addr_info\":[{\"local\":\"10.1.2.3\",\"prefixlen\":24}]}]",
		"[]", "[]");
	assert_int_equal(fix(m, &q), BP_EX_CHECK_FAILED);
	assert_non_null(strstr(m->err, "10.1.2.3/24 (use --force"));
	assert_int_equal(m->kernel.acts, 0);
	q.force = true;
	assert_int_equal(fix(m, &q), BP_EX_OK);
	assert_int_equal(undo(m), BP_EX_OK);
	assert_non_null(strstr(m->err, "ip address add 10.1.2.3/24 dev eth0"));
	expect_as_before(m);
}

/* The default route appears while the confirmation is pending: the answer yes binds no NIC. */
static int route_comes(void *arg, const char *module, bool remove)
{
	const struct fake_kernel *k = arg;

	fake_ip(k->fake, "[]", "[{\"dst\":\"default\",\"dev\":\"eth0\"}]", "[]");
	return fake_actions(arg).modprobe(arg, module, remove);
}

static void looked_at_again_before_it_is_taken(void **state)
{
	struct machine *m = *state;
	struct bp_actions actions = fake_actions(&m->kernel);
	FILE *out = fmemopen(m->out, sizeof(m->out), "w"),
	     *err = fmemopen(m->err, sizeof(m->err), "w");
	const struct bp_fix f = {.actions = &actions, .out = out, .err = err, .yes = true};
	struct bp_doctor d;

	actions.modprobe = route_comes;
	fake_doctor(&m->fake, &d, NULL, 0);
	assert_int_equal(bp_fix(&d, &(struct bp_doctor_plan_request){.n_nics = 1, .nic = {A}}, &f),
		BP_EX_OSERR);
	bp_doctor_end(&d);
	fclose(out);
	fclose(err);
	assert_non_null(strstr(m->err, "carries the default route"));
	expect_driver(m, A, "ixgbe");
	assert_true(bp_tree_exists(m->fake.root, "/sys/class/net/eth0"));
}

static void groups_go_whole(void **state)
{
	struct machine *m = *state;
	const struct bp_doctor_plan_request one = {.n_nics = 1, .nic = {"0000:05:00.0"}};
	const struct bp_doctor_plan_request two = {
		.n_nics = 2, .nic = {"0000:05:00.0", "0000:05:00.1"}};

	fake_nic(&m->fake, &(struct fake_nic){"0000:05:00.0", "ixgbe", "eth5", 7, 9, 0, false});
	fake_nic(&m->fake, &(struct fake_nic){"0000:05:00.1", "ixgbe", "eth6", 8, 9, 0, false});
	assert_int_equal(fix(m, &one), BP_EX_CHECK_FAILED);
	assert_non_null(strstr(m->err, "group 9 with 0000:05:00.1 (ixgbe)"));
	assert_int_equal(fix(m, &two), BP_EX_OK);
	expect_driver(m, "0000:05:00.1", "vfio-pci");
}

static void vfio_refuses(void **state)
{
	struct machine *m = *state;

	m->kernel.vfio_refuses = true;
	assert_int_equal(fix(m, &both), BP_EX_OSERR);
	assert_non_null(strstr(m->err, "the NIC cannot be bound to vfio-pci"));
	expect_driver(m, A, "ixgbe"); /* taken back at once */
	assert_true(bp_tree_exists(m->fake.root, "/sys/class/net/eth0"));
	assert_int_equal(undo(m), BP_EX_OK);
	expect_as_before(m);
}

static void too_few_pages(void **state)
{
	struct machine *m = *state;

	m->kernel.pages_max = 300;
	assert_int_equal(fix(m, &both), BP_EX_OSERR);
	assert_non_null(strstr(m->err, "reserved 300 of 512 pages: memory is fragmented"));
	assert_int_equal(undo(m), BP_EX_OK);
	expect_as_before(m);
}

static int write_nothing(void *arg, const char *path, const char *text)
{
	(void)arg;
	(void)path;
	(void)text;
	return 0;
}

/* Hugepages in use by a program are freed when it ends. */
static void pages_that_stay(void **state)
{
	struct machine *m = *state;
	struct bp_actions stuck = fake_actions(&m->kernel);
	struct bp_apply b = {.root = m->fake.root, .actions = &stuck, .out = stdout};
	char why[512];
	json_t *step = bp_step_hugepages(0, 2048, 0, 16);

	stuck.write = write_nothing;
	b.err = fmemopen(m->err, sizeof(m->err), "w");
	fake_file(&m->fake, "3\n", PAGES, 0, "nr");
	assert_int_equal(bp_undo_step(&b, step, why, sizeof(why)), 0);
	fclose(b.err);
	assert_non_null(strstr(m->err, "3 hugepages are still in use"));
	json_decref(step);
}

static void too_many_pages(void **state)
{
	struct machine *m = *state;

	fake_file(&m->fake, "Node 0 MemTotal:       1048576 kB\n",
		"/sys/devices/system/node/node0/meminfo");
	assert_int_equal(fix(m, &both), BP_EX_CHECK_FAILED); /* 1 GiB of 1 GiB */
	assert_non_null(strstr(m->err, "90 % of the memory of NUMA node 0 (1024 MiB)"));
	assert_int_equal(
		fix(m, &(struct bp_doctor_plan_request){.n_hugepages = 1, .hugepages = {{7, 16}}}),
		BP_EX_CHECK_FAILED);
	assert_non_null(strstr(m->err, "no NUMA node 7"));
	assert_int_equal(m->kernel.acts, 0);
}

/* Without a setting each node that needs hugepages gets some; existing ones remain. */
static void pages_by_default(void **state)
{
	struct machine *m = *state;
	int64_t pages;

	assert_int_equal(fix(m, &(struct bp_doctor_plan_request){0}), BP_EX_OK);
	assert_true(bp_tree_number(m->fake.root, &pages, PAGES, 0, "nr"));
	assert_int_equal(pages, 1024);
	assert_true(bp_tree_number(m->fake.root, &pages, PAGES, 1, "nr"));
	assert_int_equal(pages, 0); /* no NIC is there */
	assert_int_equal(undo(m), BP_EX_OK);
	expect_as_before(m);
	fake_file(&m->fake, "900", PAGES, 0, "nr");
	assert_int_equal(fix(m, &both), BP_EX_OK);
	assert_true(bp_tree_number(m->fake.root, &pages, PAGES, 0, "nr"));
	assert_int_equal(pages, 900);
}

static void without_an_iommu(void **state)
{
	struct machine *m = *state;
	struct bp_doctor_plan_request q = both;

	fake_remove(&m->fake, "/sys/kernel/iommu_groups");
	fake_file(&m->fake, "kernel/drivers/vfio/vfio.ko:\nkernel/drivers/vfio/pci/vfio-pci.ko:\n",
		"/lib/modules/6.1.0-test/modules.dep");
	assert_int_equal(fix(m, &q), BP_EX_CHECK_FAILED);
	assert_non_null(strstr(m->err, "--noiommu binds without it"));
	assert_int_equal(m->kernel.acts, 0);
	q.noiommu = true;
	fake_file(&m->fake, "\n# CONFIG_VFIO_NOIOMMU is not set\n", "/boot/config-6.1.0-test");
	assert_int_equal(fix(m, &q), BP_EX_CHECK_FAILED);
	assert_non_null(strstr(m->err, "vfio of this kernel needs one"));
	assert_int_equal(m->kernel.acts, 0);
	fake_remove(&m->fake, "/boot/config-6.1.0-test");
	assert_int_equal(fix(m, &q), BP_EX_OK);
	assert_non_null(strstr(m->kernel.log, "modprobe vfio\nwrite /sys/module/vfio/parameters/"
					      "enable_unsafe_noiommu_mode Y\nmodprobe vfio-pci\n"));
	expect_driver(m, A, "vfio-pci");
	assert_int_equal(undo(m), BP_EX_OK);
	expect_driver(m, A, "ixgbe");
	assert_false(bp_tree_exists(m->fake.root, "/sys/module/vfio"));
}

static void a_kernel_without_vfio(void **state)
{
	struct machine *m = *state;

	fake_file(&m->fake, "kernel/fs/ext4/ext4.ko:\n", "/lib/modules/6.1.0-test/modules.dep");
	assert_int_equal(fix(m, &both), BP_EX_CHECK_FAILED);
	assert_non_null(strstr(m->err, "kernel 6.1.0-test has no module vfio-pci"));
	assert_int_equal(m->kernel.acts, 0);
}

static void no_such_nic(void **state)
{
	struct machine *m = *state;

	fake_file(&m->fake, "0x1234\n", "/sys/devices/pci0000:00/" A "/device");
	assert_int_equal(
		fix(m, &(struct bp_doctor_plan_request){.n_nics = 1, .nic = {A}}), BP_EX_OK);
	assert_non_null(
		strstr(m->err, "warning: no installed DPDK driver supports " A " (8086:1234)"));

	assert_int_equal(fix(m, &(struct bp_doctor_plan_request){.n_nics = 1, .nic = {"04:00.0"}}),
		BP_EX_CHECK_FAILED);
	assert_non_null(strstr(m->err, "no PCI NIC 04:00.0"));
}

/* A NIC that a program has open is not torn from it: the kernel would wait. */
static void undo_while_it_is_used(void **state)
{
	struct machine *m = *state;
	char path[160];

	assert_int_equal(fix(m, &both), BP_EX_OK);
	fake_file(&m->fake, "biplane\n", "/proc/4711/comm");
	fake_folder(&m->fake, "/proc/4711/fd");
	snprintf(path, sizeof(path), "%s/proc/4711/fd/9", m->fake.root);
	assert_int_equal(symlink("/dev/vfio/2", path), 0);
	assert_int_equal(undo(m), BP_EX_OSERR);
	assert_non_null(
		strstr(m->err, "process 4711 (biplane) uses the NIC; stop the process first"));
	expect_driver(m, B, "vfio-pci");
	expect_driver(m, A, "vfio-pci");
	fake_remove(&m->fake, "/proc/4711");
	assert_int_equal(undo(m), BP_EX_OK);
	expect_as_before(m);
}

/* An existing driver override is restored, and a NIC that had no driver has none again. */
static void overrides_and_no_driver(void **state)
{
	struct machine *m = *state;

	free(m->before);
	fake_file(&m->fake, "ixgbe\n", "/sys/devices/pci0000:00/" A "/driver_override");
	fake_nic(&m->fake, &(struct fake_nic){"0000:06:00.0", NULL, NULL, 0, 3, 0, false});
	m->before = fake_state(&m->fake);
	assert_int_equal(
		fix(m, &(struct bp_doctor_plan_request){.n_nics = 2, .nic = {A, "0000:06:00.0"}}),
		BP_EX_OK);
	expect_driver(m, "0000:06:00.0", "vfio-pci");
	assert_int_equal(undo(m), BP_EX_OK);
	expect_as_before(m);
}

/* A journal from before the last boot describes no active change. */
static void a_journal_of_another_start(void **state)
{
	struct machine *m = *state;

	assert_int_equal(fix(m, &both), BP_EX_OK);
	fake_file(&m->fake, "another\n", "/proc/sys/kernel/random/boot_id");
	m->kernel.acts = 0;
	assert_int_equal(undo(m), BP_EX_OK);
	assert_int_equal(m->kernel.acts, 0);
}

static void write_journal(struct machine *m, const char *steps)
{
	char path[160];
	FILE *f;

	snprintf(path, sizeof(path), "%s" BP_JOURNAL_PATH, m->fake.root);
	f = fopen(path, "w");
	fprintf(f, "{\"boot\":\"3f2c\"}\n%s", steps);
	fclose(f);
	chmod(path, 0600);
}

/* A record truncated by a crash was never started; a step with another path is not executed. */
static void journals_that_are_damaged(void **state)
{
	static const char *const bad[] = {
		"{\"do\":\"bind\",\"nic\":\"../../etc\",\"driver\":\"x\",\"override\":\"\","
		"\"interfaces\":[]}\n",
		"{\"do\":\"bind\",\"nic\":\"" A "\",\"driver\":\"../x\",\"override\":\"\","
		"\"interfaces\":[]}\n",
		"{\"do\":\"module\",\"name\":\"-rf\"}\n",
		"{\"do\":\"mount\",\"dir\":\"/../x\",\"made\":true}\n",
		"{\"do\":\"hugepages\",\"node\":0,\"kib\":2048,\"was\":-5,\"to\":1}\n",
		"{\"do\":\"reboot\"}\n",
		"nonsense\n",
	};
	struct machine *m = *state;

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		write_journal(m, bad[i]);
		assert_int_equal(undo(m), BP_EX_OSERR);
		assert_non_null(strstr(m->err, "is not a step"));
		assert_int_equal(m->kernel.acts, 0);
	}
	write_journal(m,
		"{\"do\":\"hugepages\",\"node\":0,\"kib\":2048,\"was\":7,\"to\":9}\n{\"do\":\"mod");
	assert_int_equal(
		fix(m, &(struct bp_doctor_plan_request){.n_hugepages = 1, .hugepages = {{0, 64}}}),
		BP_EX_OK);
	assert_int_equal(undo(m), BP_EX_OK);
	assert_non_null(strstr(m->out, "hugepages of 2 MiB on NUMA node 0: 9 -> 7"));
}

/* Root executes it: a file that other users can write is refused. */
static void a_journal_of_somebody_else(void **state)
{
	struct machine *m = *state;
	char path[160];

	write_journal(m, "");
	snprintf(path, sizeof(path), "%s" BP_JOURNAL_PATH, m->fake.root);
	chmod(path, 0666);
	assert_int_equal(undo(m), BP_EX_UNAVAILABLE);
	assert_non_null(strstr(m->err, "another user can write to it"));
	unlink(path);
	assert_int_equal(symlink("/dev/null", path), 0);
	assert_int_equal(undo(m), BP_EX_UNAVAILABLE);
}

static void one_at_a_time(void **state)
{
	struct machine *m = *state;
	struct bp_journal j;
	char err[256];

	assert_int_equal(bp_journal_open(&j, m->fake.root, true, err, sizeof(err)), 0);
	assert_int_equal(fix(m, &both), BP_EX_UNAVAILABLE);
	assert_non_null(strstr(m->err, "is running"));
	assert_int_equal(m->kernel.acts, 0);

	/* a modprobe of one that was killed is still one */
	FILE *child = popen("cat >/dev/null", "w");

	assert_non_null(child);
	bp_journal_close(&j);
	assert_int_equal(undo(m), BP_EX_UNAVAILABLE);
	assert_int_equal(pclose(child), 0);
	assert_int_equal(undo(m), BP_EX_OK);
	expect_as_before(m);
}

int main(void)
{
#define T(name) cmocka_unit_test_setup_teardown(name, begin, end)
	const struct CMUnitTest tests[] = {
		T(a_bare_machine_and_back),
		T(interrupted_anywhere),
		T(interrupted_undo),
		T(interfaces_with_other_names),
		T(two_fixes_one_undo),
		T(asked_first),
		T(never_the_default_route),
		T(in_use_when_insisted_on),
		T(looked_at_again_before_it_is_taken),
		T(groups_go_whole),
		T(vfio_refuses),
		T(too_few_pages),
		T(pages_that_stay),
		T(too_many_pages),
		T(pages_by_default),
		T(without_an_iommu),
		T(a_kernel_without_vfio),
		T(no_such_nic),
		T(undo_while_it_is_used),
		T(overrides_and_no_driver),
		T(a_journal_of_another_start),
		T(journals_that_are_damaged),
		T(a_journal_of_somebody_else),
		T(one_at_a_time),
	};

	umask(022);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
