/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_CONTROLPLANE_FLEET_STATE_INTERNAL_H
#define BP_CONTROLPLANE_FLEET_STATE_INTERNAL_H

#include <event2/util.h>

#include "config/config.h"
#include "controlplane/fleet/redis_link.h"
#include "controlplane/fleet/state.h"
#include "controlplane/fleet/state_queue.h"
#include "daemon/log.h"

/* For state*.c: state.c has the calls of others, state_send.c the commands to Redis and the timer,
 * state_answers.c the connection, the replies and the ends of operations, state_show.c what is
 * shown of it. */

/* An epoch is a counter in Redis and a random number, so that two processes that get the same
 * number, from a replica that was promoted too early, still have an order. */
#define BP_FLEET_NONCE_BITS 16u
#define BP_FLEET_COUNTER_MAX ((uint64_t)1 << 46)
/* A process that starts, or takes over a value, increases the counter by 1. So a value whose
 * counter is further ahead of that in Redis is not of a process of the fleet. */
#define BP_FLEET_COUNTER_AHEAD ((uint64_t)1 << 20)
/* Answers of Redis instead of a counter. */
#define BP_FLEET_EPOCH_EXHAUSTED 0
#define BP_FLEET_EPOCH_IMPLAUSIBLE (-1)
/* A value in Redis begins with epoch and version, 16 hexadecimal digits each. */
#define BP_FLEET_MARK_LEN 32u
#define BP_FLEET_PREFIX_MAX 96u

struct bp_fleet_state {
	struct event_base *base;
	struct bp_config_fleet_state c; /* a reload frees the configuration */
	struct bp_redis_link *link;
	struct event *timer;
	uint64_t armed_ns; /* when the timer fires; UINT64_MAX: it is not set */
	struct bp_fleet_queue queue;
	char fleet[32]; /* its name */
	char prefix[BP_FLEET_PREFIX_MAX];
	uint64_t epoch;
	uint64_t outrank; /* counter that a new epoch must exceed; 0: none is needed */
	/* Likewise, the lowest one that is so far ahead of the own one that Redis may refuse it. */
	uint64_t outrank_far;
	uint64_t epoch_above; /* the one of both that is requested */
	bool epoch_known;     /* Redis has our epoch, on this connection */
	bool epoch_asked;     /* the request is in flight */
	bool epoch_new;       /* ... for a new epoch */
	bool calling;         /* done() of writes */
	bool ending;
	bool draining;
	void (*drained)(void *arg); /* NULL: called, or not draining */
	void *drained_arg;
	struct event *drain_timer;
	uint64_t pause_ns; /* no writes until then */
	uint64_t heard_ns; /* the last reply */
	uint64_t grace_ns; /* no timeout before this time */
	uint16_t nonce;
	struct bp_fleet_counters counters;
	struct bp_fleet_counters shown; /* in the segment */
	struct bp_log_limit log_down, log_epoch;
	bool down_logged;
	char last_error[BP_FLEET_ERROR_TEXT];
};

static inline uint64_t bp_fleet_epoch_counter(uint64_t epoch)
{
	return epoch >> BP_FLEET_NONCE_BITS;
}

/* Whether the epoch is above those of all values that were taken over. */
static inline bool bp_fleet_outranks(const struct bp_fleet_state *s)
{
	return s->outrank == 0 && s->outrank_far == 0;
}

/* ---- state_send.c ---- */

extern const char *const bp_fleet_scripts[];
/* Sends what may be sent, calls back, and sets the timer. */
void bp_fleet_pump(struct bp_fleet_state *s);
void bp_fleet_arm(struct bp_fleet_state *s);
/* Ends bp_fleet_state_drain(). */
void bp_fleet_drained(struct bp_fleet_state *s);
void bp_fleet_on_timer(evutil_socket_t fd, short what, void *arg);

/* ---- state_answers.c ---- */

void bp_fleet_end_write(struct bp_fleet_state *s, struct bp_fleet_op *op, enum bp_fleet_result r);
/* `counter`: the reason. */
void bp_fleet_lose(struct bp_fleet_state *s, struct bp_fleet_op *op, uint64_t *counter);
/* Calls back. */
void bp_fleet_end_read(
	struct bp_fleet_state *s, struct bp_fleet_op *op, const struct bp_fleet_value *v);
/* Calls done() of writes, which may write: not while the lists are in use. */
void bp_fleet_call_back(struct bp_fleet_state *s);

/* For the connection: struct bp_redis_link_owner. */
void bp_fleet_on_up(void *arg);
void bp_fleet_on_down(void *arg, enum bp_fleet_error why, const char *text);
void bp_fleet_on_reply(void *arg, const struct bp_resp *r);

#endif
