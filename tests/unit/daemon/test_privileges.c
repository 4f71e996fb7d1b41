/* SPDX-License-Identifier: BSD-3-Clause */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <cap-ng.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "daemon/privileges.h"

#define NOBODY 65534

/* Runs `check` as a user that has these capabilities and no others; its result is the exit status.
 */
static int as_user(int (*check)(void), unsigned n, const unsigned *caps)
{
	int status;
	pid_t pid;

	fflush(NULL);
	pid = fork();
	if (pid == 0) {
		capng_clear(CAPNG_SELECT_BOTH);
		for (unsigned i = 0; i < n; i++)
			capng_update(CAPNG_ADD, CAPNG_EFFECTIVE | CAPNG_PERMITTED, caps[i]);
		if (capng_change_id(NOBODY, NOBODY, CAPNG_DROP_SUPP_GRP) != 0)
			_exit(99);
		_exit(check());
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	return WEXITSTATUS(status);
}

static int packet_says_what_is_missing(void)
{
	char err[512] = "";

	if (bp_privilege_check(BP_PRIV_AF_PACKET, "port a (net_af_packet0)", err, sizeof(err)) == 0)
		return 1;
	return strstr(err, "port a (net_af_packet0) needs CAP_NET_ADMIN, ") == err ? 0 : 2;
}

static int packet_is_fine(void)
{
	char err[512] = "";

	return bp_privilege_check(BP_PRIV_AF_PACKET, "port a", err, sizeof(err)) == 0 ? 0 : 1;
}

static int keeps_what_is_needed(void)
{
	char err[512] = "";

	if (bp_privileges_keep(1u << BP_PRIV_PCAP_INTERFACE, err, sizeof(err)) != 0)
		return 1;
	capng_get_caps_process();
	if (!capng_have_capability(CAPNG_EFFECTIVE, CAP_NET_RAW) ||
		!capng_have_capability(CAPNG_EFFECTIVE, CAP_IPC_LOCK))
		return 2;
	for (unsigned cap = 0; cap <= CAP_LAST_CAP; cap++)
		if (cap != CAP_NET_RAW && cap != CAP_IPC_LOCK &&
			capng_have_capability(CAPNG_PERMITTED, cap))
			return 3;
	return 0;
}

static int memlock_is_bounded(void)
{
	const struct rlimit limit = {1 << 20, 1 << 20};
	char err[512] = "";

	if (setrlimit(RLIMIT_MEMLOCK, &limit) != 0 ||
		bp_privilege_check_memlock(1 << 20, "the data plane", err, sizeof(err)) != 0)
		return 1;
	if (bp_privilege_check_memlock(5 << 20, "the data plane", err, sizeof(err)) == 0)
		return 2;
	return strstr(err, "may lock 1 MiB; raise the limit") != NULL ? 0 : 3;
}

static int memlock_by_capability(void)
{
	return memlock_is_bounded() == 2 ? 0 : 1;
}

static int file_names_its_rule(void)
{
	char err[512] = "", path[] = "/tmp/biplane-test-XXXXXX";
	int fd = mkstemp(path), rc = 0;

	close(fd);
	if (bp_privilege_check_file(path, "port a", err, sizeof(err)) != 0)
		rc = 1;
	unlink(path);
	if (bp_privilege_check_file(path, "port a", err, sizeof(err)) == 0 ||
		!strstr(err, "No such file or directory; load the kernel module"))
		rc = 2;
	if (bp_privilege_check_file("/etc/shadow", "port a", err, sizeof(err)) == 0 ||
		!strstr(err, "Permission denied; a udev rule"))
		rc = 3;
	return rc;
}

static void test_as_user(void **state)
{
	const unsigned raw[] = {CAP_NET_RAW}, both[] = {CAP_NET_RAW, CAP_NET_ADMIN},
		       more[] = {CAP_NET_RAW, CAP_NET_ADMIN, CAP_IPC_LOCK}, lock[] = {CAP_IPC_LOCK};

	(void)state;
	if (geteuid() != 0)
		skip();
	assert_int_equal(as_user(packet_says_what_is_missing, 1, raw), 0);
	assert_int_equal(as_user(packet_is_fine, 2, both), 0);
	assert_int_equal(as_user(keeps_what_is_needed, 3, more), 0);
	assert_int_equal(as_user(memlock_is_bounded, 0, NULL), 0);
	assert_int_equal(as_user(memlock_by_capability, 1, lock), 0);
	assert_int_equal(as_user(file_names_its_rule, 0, NULL), 0);
}

static void test_every_row_is_complete(void **state)
{
	(void)state;
	for (unsigned p = 0; p < BP_PRIVILEGES; p++) {
		const struct bp_privilege_row *row = bp_privilege_row(p);
		char caps[160];

		assert_non_null(row->plane);
		assert_non_null(row->component);
		assert_non_null(row->files);
		assert_true(row->n_caps == 0 || row->reason[0] != '\0');
		bp_privilege_caps_text(row, caps, sizeof(caps));
		assert_null(strchr(caps, '?'));
		assert_true(row->n_caps > 0 || strcmp(caps, "none") == 0);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_as_user),
		cmocka_unit_test(test_every_row_is_complete),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
