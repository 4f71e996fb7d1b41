/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_CONTROLPLANE_PROCESS_CONTROL_H
#define BP_CONTROLPLANE_PROCESS_CONTROL_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct event_base;

/*
 * The control socket: a unix stream socket on which each line is a JSON object with a command, and
 * each answer a line:
 *
 *   {"command":"status"} -> {"ok":true,...}
 *   {"command":"reload"} -> {"ok":true,"generation":N,"rules":N,"unchanged":N}
 *                        or {"ok":false,"retry":false,"errors":["sentence",...]}; "retry": the
 *                        configuration is not the reason, and it may be possible later
 *   {"command":"config"} -> {"ok":true,"file":"its path","config":"the active settings as YAML"}
 *   {"command":"sessions-release","id":"a health device's system-id, 16 hexadecimal digits"}
 *                     -> {"ok":true,"again":false}: the device was asked to release (again:
 *                        it was asked before and has not answered yet); or
 * {"ok":false,"errors":["sentence"]}
 *
 *   {"command":"matrix-set","source":"10.0.0.5","matrix":[[..],[..],[..]],"entry":0,"receiver":0,
 *    "add":false}     -> {"ok":true,"entries":N}: the number of changed entries of transform;
 *                        without "entry", all entries with this source change
 *   {"command":"matrix-clear","source":"10.0.0.5","entry":0}
 *                     -> {"ok":true,"entries":N}: the number of entries that have the matrix of
 *                        the file again
 *
 *   {"command":"capture-start","kind":"frames","ports":["lan"],"rx":true,"tx":true,"drops":false,
 *    "snap_length":65535,"filter":"1,6 0 0 65535"}
 *                     -> {"ok":true,"id":N,"slot":N,"since":N}: controlplane/process/captures.h
 *   {"command":"capture-keep"}, {"command":"capture-stop"}
 *   {"command":"fleet-report",...}: controlplane/fleet/agent_watch.h
 *
 * Lines, clients and pending answers are bounded. A client that does not read or write delays only
 * itself. It is closed after BP_CONTROL_IDLE_S. When there are too many clients, a new one replaces
 * the client that was silent for the longest time and waits for no answer; if all wait, the new
 * client is rejected with an error. Access is by the permissions of the socket file (0660).
 */
#define BP_CONTROL_LINE_MAX 16384u
#define BP_CONTROL_CLIENTS_MAX 16u
#define BP_CONTROL_IDLE_S 60
/* Request rate of one user: per second on average, and burst; of these, reloads. Requests above it
 * are rejected, and logged at a limited rate. */
#define BP_CONTROL_REQUESTS_S 200u
#define BP_CONTROL_REQUESTS_BURST 400u
#define BP_CONTROL_RELOADS_S 5u
#define BP_CONTROL_RELOADS_BURST 40u

/* A command. It has `answer` or `begin`; `arg`: bp_control_add()'s. */
struct bp_control_command {
	const char *name;
	const char *members; /* what follows in the request, as a refusal shows it; NULL: nothing */
	/* Returns the answer, a new reference; NULL without memory. */
	json_t *(*answer)(void *arg, const json_t *request);
	/* Answers with bp_control_reply(), now or later. */
	void (*begin)(void *arg, const json_t *request, uint64_t client);
	bool reload;    /* it counts as one of the user's reloads */
	bool for_agent; /* also for a user that bp_control_restrict() names */
};

struct bp_control;

#define BP_CONTROL_COMMANDS_MAX 32u

/* NULL with a sentence. An old socket file is replaced: the caller holds the instance's lock. */
struct bp_control *bp_control_new(
	struct event_base *base, const char *path, char *err, size_t err_size);
/* The commands stay the caller's. 0, or -1: more than BP_CONTROL_COMMANDS_MAX. */
int bp_control_add(
	struct bp_control *c, const struct bp_control_command *commands, unsigned n, void *arg);
/* This user, that of the agent of a fleet, may only use commands with for_agent: it is in the group
 * of the socket, and needs no captures, matrices or settings. */
void bp_control_restrict(struct bp_control *c, uid_t uid);
void bp_control_free(struct bp_control *c); /* removes the socket file */

/*
 * For commands whose effect ends with the connection: closed(arg, client) is called when a client
 * is closed, for whatever reason. While a client is held, it does not make place for a new one; it
 * is closed when it sends nothing for BP_CONTROL_IDLE_S, as any other.
 */
void bp_control_on_close(
	struct bp_control *c, void (*closed)(void *arg, uint64_t client), void *arg);
void bp_control_hold(struct bp_control *c, uint64_t client, bool hold);
/* The user of a client; (uid_t)-1: it is not there. */
uid_t bp_control_uid(const struct bp_control *c, uint64_t client);
/* Its process when it connected, which may have ended; 0: not known. */
pid_t bp_control_pid(const struct bp_control *c, uint64_t client);

/* Sends the answer (takes the reference) to that client, if it is still there. */
void bp_control_reply(struct bp_control *c, uint64_t client, json_t *answer);

/* Where an instance's socket is. Returns 0, or -1 when the path is too long for one. */
int bp_control_path(const char *runtime_dir, const char *name, char *path, size_t size);

/* {"ok":false,"errors":[sentence]}, a new reference; NULL without memory. */
json_t *bp_control_refusal(const char *sentence);
/* The same of a request that may succeed later: with "retry":true. */
json_t *bp_control_refusal_for_now(const char *sentence);

/*
 * Client side, for commands: sends one command and waits for its answer. Returns 0 with *reply (a
 * new reference, whatever its "ok" is), or -1 with a sentence.
 */
int bp_control_request(
	const char *socket_path, const char *command, json_t **reply, char *err, size_t err_size);
/* The same for a command that has more in it than its name: takes the reference to `request`. */
int bp_control_call(
	const char *socket_path, json_t *request, json_t **reply, char *err, size_t err_size);
/* The same with a limit of the time. `waiting`: called once a second while it waits, may be NULL.
 */
struct bp_control_wait {
	unsigned seconds;
	void (*waiting)(void *arg);
	void *arg;
};
int bp_control_call_waiting(const char *socket_path, json_t *request,
	const struct bp_control_wait *wait, json_t **reply, char *err, size_t err_size);
/* The same in steps, for several commands on one connection. Returns a descriptor, or -1. */
int bp_control_connect(const char *socket_path, char *err, size_t err_size);
int bp_control_exchange(int fd, const char *socket_path, json_t *request, json_t **reply, char *err,
	size_t err_size);

#endif
