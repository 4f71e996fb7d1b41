/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_CONTROLPLANE_FLEET_REDIS_LINK_H
#define BP_CONTROLPLANE_FLEET_REDIS_LINK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/uio.h>

#include "controlplane/fleet/state.h"

struct bp_config_fleet_state;

/*
 * The connection to the Redis master: finds it (by Sentinel, if configured), logs in, checks its
 * role, loads the scripts, and connects again after a failure, with increasing intervals.
 */
struct bp_redis_link;

struct bp_redis_link_owner {
	void (*up)(void *arg);
	/* The connection failed, or the attempt to make one. Commands without a reply get none. */
	void (*down)(void *arg, enum bp_fleet_error why, const char *text);
	/* The replies of commands, in their order; valid during the call. */
	void (*reply)(void *arg, const struct bp_resp *reply);
	void *arg;
	const char *const *scripts; /* NULL ends the list */
	uint64_t backoff_max_ns;    /* between two attempts to connect; 0: 5 s */
};
#define BP_REDIS_SCRIPTS_MAX 8u

/* NULL without memory, or with a sentence. */
struct bp_redis_link *bp_redis_link_new(struct event_base *base,
	const struct bp_config_fleet_state *c, const struct bp_redis_link_owner *owner, char *err,
	size_t err_size);
void bp_redis_link_free(struct bp_redis_link *l);

bool bp_redis_link_is_up(const struct bp_redis_link *l);
/* Only while it is up. */
void bp_redis_link_send(struct bp_redis_link *l, unsigned n, const struct iovec *words);
/* The SHA-1 of a script, as the server has returned it. */
#define BP_REDIS_SHA_LEN 40u
const char *bp_redis_link_script(const struct bp_redis_link *l, unsigned script);
/* Closes the connection and makes a new one. */
void bp_redis_link_fail(struct bp_redis_link *l, enum bp_fleet_error why, const char *text);
/* "192.0.2.1:6379": the server of the last attempt. */
const char *bp_redis_link_peer(const struct bp_redis_link *l);

/* What an error of Redis means. */
enum bp_fleet_error bp_redis_error(const struct bp_resp *reply);

#endif
