/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_CONTROLPLANE_ALARMS_CONNECTOR_H
#define BP_CONTROLPLANE_ALARMS_CONNECTOR_H

#include <stdbool.h>
#include <stdint.h>

struct bp_client;

/*
 * One connection attempt, in a thread: mosquitto_connect() resolves a name and waits for TCP, which
 * may take minutes. The attempt owns the client until bp_connector_finish() returns it.
 */
struct bp_connector;

/* Takes ownership of the client. NULL (the client is freed) when no thread can be created. */
struct bp_connector *bp_connector_start(
	struct bp_client *client, const char *host, uint16_t port, uint32_t keep_alive_s);
/* Becomes readable when the attempt has ended. */
int bp_connector_fd(const struct bp_connector *c);
/* Call it after fd became readable: returns the client; *rc is libmosquitto's result, *err the
 * errno. */
struct bp_client *bp_connector_finish(struct bp_connector *c, int *rc, int *err);
/* Does not wait: the thread frees its resources when its calls return. */
void bp_connector_abandon(struct bp_connector *c);

#endif
