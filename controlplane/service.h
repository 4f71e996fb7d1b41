/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_CONTROLPLANE_SERVICE_H
#define BP_CONTROLPLANE_SERVICE_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "biplane/services.h"
#include "controlplane/process/control.h"
#include "controlplane/process/listen_fds.h"
#include "shm/layout.h"

struct bp_config;

struct bp_fleet_state;
struct bp_publication;
struct bp_ring_events;
struct event_base;

/*
 * A service's half in the control plane. controlplane/process/ walks the array of these.
 *
 * Its life:
 *
 *   check        checks of a configuration beyond its validation, such as files that it names. At
 * the start, and before each reload create       the configuration is loaded; neither privileges
 * nor the segment are available yet publication  its rules are activated: prepare, stage, publish,
 * published (below) start        the first publication is pending tick         every second
 *   configure    another configuration is active, after its publication
 *   drain        the control plane ends: completes pending work
 *   free         NULL is never passed
 *
 * Members that are NULL are not needed by the service. `state` is the result of create().
 */

#define BP_LOW_PORTS 1024 /* to open one below is a privilege */

/* State of the control plane for all services; it outlives their states. */
struct bp_plane_context {
	struct event_base *base;
	struct bp_shm *shm;             /* mapped before the first publication */
	const struct bp_config *config; /* active */
	const struct bp_listen_fds *fds;
	struct bp_ring_events *rings; /* of the workers */
	struct bp_publication *publication;
	struct bp_control *control;   /* NULL until all have started */
	struct bp_fleet_state *fleet; /* NULL: the gateway shares no state */
	bool first_start;             /* the first control plane of this data plane */
	/* Whether no worker of a data plane can still read the segment; arg: shm->global. */
	bool (*readers_gone)(void *arg);
	void *state[BP_SERVICE_COUNT];
	struct {
		unsigned left; /* services that drain */
		void (*done)(void *arg);
		void *arg;
	} draining;
};

struct bp_controlplane_service {
	const char *name;
	enum bp_service_id id;

	/* 0, or -1 with a sentence. x->config is `c` at the start. */
	int (*check)(const struct bp_plane_context *x, const struct bp_config *c, char *err,
		size_t err_size);
	/* NULL with a sentence. */
	void *(*create)(struct bp_plane_context *x, char *err, size_t err_size);
	/* The setting by which it must open a port below 1024; NULL: by none. */
	const char *(*low_port)(const void *state);
	/* 0, or -1 with a sentence: the control plane ends. */
	int (*start)(void *state, char *err, size_t err_size);
	int (*tick)(void *state, char *err, size_t err_size);
	void (*configure)(void *state);
	/* Calls done(arg) once, immediately or within this number of nanoseconds and a moment. */
	void (*drain)(void *state, uint64_t wait_ns, void (*done)(void *arg), void *arg);
	void (*free)(void *state);

	/* ---- a publication (controlplane/process/publication.h) ---- */

	/* Builds the rules of `c` in private memory. same: an unchanged active generation is kept.
	 * 1: workers must release an earlier generation before stage(); 0: they need not; -1 with a
	 * sentence. */
	int (*prepare)(
		void *state, const struct bp_config *c, bool same, char *err, size_t err_size);
	/* A worker that does not use the active generation yet, or -1. */
	int (*behind)(const void *state);
	/* Writes what can still be rejected, once no worker uses an older generation. 0, or -1 with
	 * a sentence: the active generation stays. Only one service may have this: a rejection
	 * leaves all others unchanged. */
	int (*stage)(void *state, const struct bp_config *c, char *err, size_t err_size);
	/* Active from now on. */
	void (*publish)(void *state, const struct bp_config *c);
	/* All workers have it, or were waited for long enough; or it was refused. */
	void (*published)(void *state, bool ok);
	/* Publishes the same once more, for a data plane that began with the file as it is now. */
	void (*republish)(void *state);

	/* ---- the control socket ---- */

	/* Adds to the answer of the command reload, after a publication. */
	void (*report)(const void *state, json_t *answer);
	/* Additional text for the log; NULL: none. */
	const char *(*changed)(const void *state);
	/* Adds to the answer of the command status. */
	void (*status)(const void *state, json_t *answer);
	const struct bp_control_command *commands; /* their arg is the state */
	unsigned n_commands;
};

/* By enum bp_service_id. */
extern const struct bp_controlplane_service *const bp_controlplane_services[BP_SERVICE_COUNT];

/* Over all services. */
int bp_cp_services_check(
	const struct bp_plane_context *x, const struct bp_config *c, char *err, size_t err_size);
int bp_cp_services_create(struct bp_plane_context *x, char *err, size_t err_size);
int bp_cp_services_start(struct bp_plane_context *x, char *err, size_t err_size);
int bp_cp_services_tick(struct bp_plane_context *x, char *err, size_t err_size);
void bp_cp_services_configure(struct bp_plane_context *x);
/* Calls done(arg) once all have. */
void bp_cp_services_drain(
	struct bp_plane_context *x, uint64_t wait_ns, void (*done)(void *arg), void *arg);
void bp_cp_services_free(struct bp_plane_context *x);
void bp_cp_services_republish(struct bp_plane_context *x);
void bp_cp_services_report(const struct bp_plane_context *x, json_t *answer);
void bp_cp_services_status(const struct bp_plane_context *x, json_t *answer);
/* 0, or -1: too many. */
int bp_cp_services_add_commands(struct bp_plane_context *x);

#endif
