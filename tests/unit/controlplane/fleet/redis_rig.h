/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_TESTS_UNIT_CONTROLPLANE_REDIS_RIG_H
#define BP_TESTS_UNIT_CONTROLPLANE_REDIS_RIG_H

#include "tests/unit/controlplane/test.h"

/* A real redis-server, or Sentinel, on a free loopback port; without persistence. */
struct test_redis {
	char dir[128];
	uint16_t port;
	pid_t pid; /* 0: stopped */
	bool sentinel;
};

/* more: further lines of its configuration. */
void test_redis_make(struct test_redis *r, const char *dir, const char *name, const char *more);
void test_redis_make_sentinel(
	struct test_redis *r, const char *dir, const char *name, const char *more);

/* For a gateway that may do no more than docs/howto/share-state-with-redis.md says: the user of its
 * section "Access control" as a line of the configuration of Redis, and his login for fleet.state,
 * with a password file in this directory. */
const char *test_redis_user(void);
const char *test_redis_login(const char *dir);
/* No command of this user was refused. */
void test_redis_assert_access(const struct test_redis *r);

void test_redis_start(struct test_redis *r); /* returns when it takes connections */
void test_redis_kill(struct test_redis *r);  /* SIGKILL */
/* Runs redis-cli with these words; its output without the last line end. */
const char *test_redis_cli(const struct test_redis *r, const char *words);

#endif
