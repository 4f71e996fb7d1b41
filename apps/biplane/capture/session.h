/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_APPS_BIPLANE_CAPTURE_SESSION_H
#define BP_APPS_BIPLANE_CAPTURE_SESSION_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/un.h>

#include "apps/biplane/cli.h"
#include "apps/biplane/show/instance_view.h"
#include "config/config.h"
#include "shm/layout.h"

/*
 * A live capture or trace of a running instance, from the side of the command: a connection to the
 * control plane, with which the capture ends, and the rings of the workers, which are read only.
 */
struct bp_capture_worker_reader {
	struct bp_capture_reader reader;
	bool has; /* `record` is the next of this worker, not returned yet */
	uint64_t until;
	uint64_t left; /* bytes of records that may be read before the next look */
	uint64_t matched[BP_MAX_PORTS + 1]; /* as read last */
	uint64_t before[BP_MAX_PORTS + 1];  /* of data planes that have ended */
	struct bp_capture_record *record;   /* BP_CAPTURE_RECORD_MAX bytes */
};

struct bp_capture_session {
	struct bp_instance_view view;
	int control;
	char path[sizeof(((struct sockaddr_un *)NULL)->sun_path)];
	uint64_t id, since;
	unsigned slot;
	uint64_t keep_due_ns;
	unsigned n_workers;
	struct bp_capture_worker_reader *worker;
	uint64_t received[BP_MAX_PORTS + 1]; /* records returned, by port */
	unsigned last;                       /* worker of the record that was returned last */
};

/* Requests a capture (takes the reference to `request`) and waits until the data plane runs it.
 * 0, or an exit status with an error on stderr. *stop ends the waiting. */
int bp_capture_session_open(struct bp_capture_session *s, const struct bp_cli_command *command,
	const struct bp_config_instance *id, json_t *request, const volatile bool *stop);

/*
 * Before a number of calls of bp_capture_session_next(): the records that are written now are read.
 * Records newer than `until_ns` (Unix time) are left for the next time, when older ones of another
 * worker have arrived.
 */
void bp_capture_session_look(struct bp_capture_session *s);
/* The next record of this capture, of all workers in the order of their times. NULL: none. The
 * lengths and indices in it are checked. Valid until the next call. */
const struct bp_capture_record *bp_capture_session_next(
	struct bp_capture_session *s, uint64_t until_ns);

/* Waits, and keeps the connection. False: the control plane has closed it. */
bool bp_capture_session_wait(struct bp_capture_session *s, unsigned ms);
/* Keeps the connection, for a caller that waits otherwise. */
void bp_capture_session_keep(struct bp_capture_session *s);
/* Ends the capture; what was captured can still be read. */
void bp_capture_session_stop(struct bp_capture_session *s);
/* Frames of a port that matched and were not returned: the ring was overwritten. Exact after
 * bp_capture_session_stop() and the last record. */
uint64_t bp_capture_session_lost(const struct bp_capture_session *s, unsigned port);
/* The name of a node of the worker whose record was returned last, "ip4"; "": unknown. */
#define BP_CAPTURE_NODE_NAME 48
void bp_capture_session_node(
	const struct bp_capture_session *s, uint16_t node, char name[BP_CAPTURE_NODE_NAME]);
/* "no_route in node ip4", for the dropped frame that was returned last. */
#define BP_CAPTURE_REASON 160
void bp_capture_session_reason(const struct bp_capture_session *s,
	const struct bp_capture_record *r, char text[BP_CAPTURE_REASON]);
/* The name of a port; "other" for frames of no port. */
void bp_capture_session_port(
	const struct bp_capture_session *s, unsigned port, char name[BP_NAME_MAX + 1]);
enum bp_capture_engine bp_capture_session_engine(const struct bp_capture_session *s);
void bp_capture_session_close(struct bp_capture_session *s);

#endif
