/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_CONTROLPLANE_HEALTH_PHD_SERVICE_H
#define BP_CONTROLPLANE_HEALTH_PHD_SERVICE_H

#include <event2/event.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "services/health/manager.h"
#include "shm/fib/fib.h"
#include "shm/health/phd.h"

struct bp_config;

/*
 * The manager of personal health devices as it runs in the control plane: sockets, manager, the
 * client of the CSE, and what connects them. Sessions whose containers are there are marked ready
 * for workers, which take their reports from then on. What it counts is in the segment
 * (shm/health/phd_status.h).
 */
struct bp_phd_service;

struct bp_phd_service_setup {
	const struct bp_config *config; /* stays until bp_phd_service_configure() gives another */
	struct bp_phd_tables *tables;
	const struct bp_fib *fib; /* to know our interfaces by; NULL: all are ours */
	const struct bp_fib *epochs;
	bool (*readers_gone)(void *arg); /* as for bp_epoch_init() */
	void *readers;
	uint8_t mac[6]; /* the system-id is made of it, where the file gives none */
	int udp, tcp;   /* sockets, or -1: they are opened here. Ours from now on. */
};

/* NULL with a sentence. */
struct bp_phd_service *bp_phd_service_new(struct event_base *base,
	const struct bp_phd_service_setup *setup, char *err, size_t err_size);
void bp_phd_service_free(struct bp_phd_service *s);

/* What may change while it runs. */
void bp_phd_service_configure(struct bp_phd_service *s, const struct bp_config *c);

/* Asks a device to release its association. */
enum bp_phd_disconnect_result {
	BP_PHD_DISCONNECT_REQUESTED,
	BP_PHD_DISCONNECT_PENDING, /* its answer is still to come */
	BP_PHD_DISCONNECT_UNKNOWN,
};
enum bp_phd_disconnect_result bp_phd_service_release(
	struct bp_phd_service *s, const uint8_t system_id[8]);

/* What the manager counted since it began; live, and the service's. */
const struct bp_phd_manager_counts *bp_phd_service_counts(const struct bp_phd_service *s);

#endif
