/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_CONTROLPLANE_HEALTH_PHD_SERVICE_H
#define BP_CONTROLPLANE_HEALTH_PHD_SERVICE_H

#include <event2/event.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "services/health/manager.h"
#include "shm/events/event_ring.h"
#include "shm/fib/fib.h"
#include "shm/health/phd.h"

struct bp_config;

/*
 * The manager of personal health devices in the control plane: sockets, manager, the client of the
 * CSE, and their connections. Sessions with all containers are marked ready for workers, which
 * process their reports from then on. Its counters are in the segment (shm/health/phd_status.h).
 */
struct bp_phd_service;

struct bp_associations;
struct bp_fleet_state;
struct bp_ring_events;
struct bp_shm_fleet;

struct bp_phd_service_setup {
	const struct bp_config *config; /* valid until bp_phd_service_configure() replaces it */
	struct bp_phd_tables *tables;
	const struct bp_fib *fib; /* to identify our interfaces; NULL: all are ours */
	const struct bp_fib *epochs;
	struct bp_ring_events *rings;    /* of the workers; ends before the service; NULL: none */
	bool (*readers_gone)(void *arg); /* as for bp_epoch_init() */
	void *readers;
	uint8_t mac[6];              /* the default system-id is derived from it */
	struct bp_event_ring events; /* of sessions; opened */
	struct bp_fleet_state
		*fleet;             /* NULL: associations are not shared; ends before the service */
	struct bp_shm_fleet *shown; /* its counters in the segment */
	int udp, tcp; /* sockets, or -1: they are opened here. The service takes ownership. */
};

/* Returns NULL with a sentence in `err` on failure. */
struct bp_phd_service *bp_phd_service_new(struct event_base *base,
	const struct bp_phd_service_setup *setup, char *err, size_t err_size);
void bp_phd_service_free(struct bp_phd_service *s);

/* Applies the settings that may change at run time. */
void bp_phd_service_configure(struct bp_phd_service *s, const struct bp_config *c);

/* NULL: associations are not shared with a fleet. */
struct bp_associations *bp_phd_service_associations(const struct bp_phd_service *s);

/* Requests a device to release its association. */
enum bp_phd_disconnect_result {
	BP_PHD_DISCONNECT_REQUESTED,
	BP_PHD_DISCONNECT_PENDING, /* its answer is pending */
	BP_PHD_DISCONNECT_UNKNOWN,
};
enum bp_phd_disconnect_result bp_phd_service_release(
	struct bp_phd_service *s, const uint8_t system_id[8]);

/* Returns the manager's counters since its start; updated live, owned by the service. */
const struct bp_phd_manager_counts *bp_phd_service_counts(const struct bp_phd_service *s);

#endif
