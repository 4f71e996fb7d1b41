/* SPDX-License-Identifier: BSD-3-Clause */
#include "apps/biplane/monitor/sandbox.h"

#include <cap-ng.h>
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/landlock.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "daemon/log.h"

#define GROUPS_MAX 8
#define NICE 10 /* the planes share the CPUs with it */

/* linux/landlock.h of a kernel with ABI 6; that of Debian 12 ends with the first member. */
struct ruleset {
	uint64_t handled_access_fs;
	uint64_t handled_access_net; /* ABI 4 */
	uint64_t scoped;             /* ABI 6 */
};
#define NET_BIND_TCP (1ull << 0)
#define NET_CONNECT_TCP (1ull << 1)
#define FS_REFER (1ull << 13)    /* ABI 2 */
#define FS_TRUNCATE (1ull << 14) /* ABI 3 */
#define SCOPE_SIGNAL (1ull << 1) /* root may signal no process outside */

#define FS_WRITE                                                                                   \
	(LANDLOCK_ACCESS_FS_WRITE_FILE | LANDLOCK_ACCESS_FS_REMOVE_DIR |                           \
		LANDLOCK_ACCESS_FS_REMOVE_FILE | LANDLOCK_ACCESS_FS_MAKE_CHAR |                    \
		LANDLOCK_ACCESS_FS_MAKE_DIR | LANDLOCK_ACCESS_FS_MAKE_REG |                        \
		LANDLOCK_ACCESS_FS_MAKE_SOCK | LANDLOCK_ACCESS_FS_MAKE_FIFO |                      \
		LANDLOCK_ACCESS_FS_MAKE_BLOCK | LANDLOCK_ACCESS_FS_MAKE_SYM)

/* Files in it may be created, written and removed. */
static int allow(int ruleset, const char *directory, uint64_t truncate)
{
	struct landlock_path_beneath_attr a = {
		.allowed_access = LANDLOCK_ACCESS_FS_WRITE_FILE | LANDLOCK_ACCESS_FS_REMOVE_FILE |
				  LANDLOCK_ACCESS_FS_MAKE_REG | LANDLOCK_ACCESS_FS_MAKE_SOCK |
				  truncate,
		.parent_fd = open(directory, O_PATH | O_CLOEXEC),
	};
	long rc;

	if (a.parent_fd < 0)
		return errno == ENOENT ? 0 : -1;
	rc = syscall(SYS_landlock_add_rule, ruleset, LANDLOCK_RULE_PATH_BENEATH, &a, 0);
	close(a.parent_fd);
	return (int)rc;
}

/* A kernel rejects members that it does not know. */
static size_t ruleset_size(long abi)
{
	if (abi >= 6)
		return sizeof(struct ruleset);
	return abi >= 4 ? offsetof(struct ruleset, scoped)
			: offsetof(struct ruleset, handled_access_net);
}

static int enter_landlock(const char *const *writable, bool connects)
{
	const long abi =
		syscall(SYS_landlock_create_ruleset, NULL, 0, LANDLOCK_CREATE_RULESET_VERSION);
	const uint64_t truncate = abi >= 3 ? FS_TRUNCATE : 0;
	struct ruleset r = {.handled_access_fs = FS_WRITE | LANDLOCK_ACCESS_FS_EXECUTE |
						 (abi >= 2 ? FS_REFER : 0) | truncate,
		.handled_access_net =
			abi >= 4 ? NET_BIND_TCP | (connects ? 0 : NET_CONNECT_TCP) : 0,
		.scoped = abi >= 6 ? SCOPE_SIGNAL : 0};
	int fd, rc = 0;

	if (abi < 1) {
		bp_log(BP_LOG_INFO, "this kernel has no Landlock: this process runs without it");
		return 0;
	}
	fd = (int)syscall(SYS_landlock_create_ruleset, &r, ruleset_size(abi), 0);
	if (fd < 0)
		return -1;
	for (unsigned i = 0; rc == 0 && writable[i] != NULL; i++)
		rc = allow(fd, writable[i], truncate);
	if (rc == 0)
		rc = (int)syscall(SYS_landlock_restrict_self, fd, 0);
	close(fd);
	return rc;
}

static int join_groups(const char *const *readable)
{
	gid_t groups[GROUPS_MAX];
	struct stat st;
	size_t n = 0;

	for (unsigned i = 0; readable[i] != NULL && n < GROUPS_MAX; i++)
		if (stat(readable[i], &st) == 0)
			groups[n++] = st.st_gid;
	return setgroups(n, groups);
}

static int drop_capabilities(void)
{
	if (capng_get_caps_process() != 0)
		return -1;
	if (capng_have_capabilities(CAPNG_SELECT_CAPS) == CAPNG_NONE)
		return 0;
	/* the bounding set is for programs that this process executes, which it cannot */
	capng_clear(CAPNG_SELECT_CAPS);
	return capng_apply(CAPNG_SELECT_CAPS);
}

int bp_sandbox_enter(const char *const *readable, const char *const *writable, bool connects,
	char *err, size_t err_size)
{
	const struct rlimit no_core = {0, 0}; /* it would contain the token and the key */
	const char *what = NULL;

	setrlimit(RLIMIT_CORE, &no_core);
	setpriority(PRIO_PROCESS, 0, NICE);
	if (geteuid() == 0 && join_groups(readable) != 0 && errno != EPERM)
		what = "join the groups of the planes' directories";
	else if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0)
		what = "give up new privileges";
	else if (drop_capabilities() != 0)
		what = "drop its capabilities";
	else if (enter_landlock(writable, connects) != 0)
		what = "restrict itself (Landlock)";
	if (what == NULL)
		return 0;
	snprintf(err, err_size, "this process cannot %s: %s", what, strerror(errno));
	return -1;
}
