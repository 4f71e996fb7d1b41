/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_CONTROLPLANE_ALARMS_MOSQUITTO_LINK_H
#define BP_CONTROLPLANE_ALARMS_MOSQUITTO_LINK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct event_base;

/*
 * The connection to the edge broker: libmosquitto inside a libevent loop. It keeps connecting, with
 * a backoff of 100 ms to 5 s, until it is freed.
 *
 * Looking a name up and connecting block in libmosquitto, so each attempt runs in a thread of its
 * own that owns the handle until it hands it back; at every instant one thread touches a handle.
 * Every connection is a fresh client with a clean session: what was not acknowledged is sent again
 * by the publisher, not by the library.
 */
struct bp_edge_link;

struct bp_edge_link_settings {
	char host[256];
	uint16_t port;
	char client_id[128]; /* "": the library makes one */
	char username[128];  /* "": none */
	char password[256];
	bool tls;
	char ca_file[512]; /* "": the system's certificate store */
	char cert_file[512], key_file[512];
	uint32_t keep_alive_s;
};

/* Called from the event loop; `down` also from bp_edge_link_flush(), _reset() and _configure(). */
struct bp_edge_link_events {
	void (*up)(void *arg);   /* the broker accepted the connection */
	void (*down)(void *arg); /* nothing in flight will be acknowledged any more */
	void (*acked)(void *arg, uint16_t mid); /* must not publish or flush */
	void (*ready)(void *arg); /* after any number of acked: the place to publish more */
};

/* NULL without memory. Starts connecting with the first bp_edge_link_configure(). */
struct bp_edge_link *bp_edge_link_new(
	struct event_base *base, const struct bp_edge_link_events *events, void *arg);
/* Says DISCONNECT if connected. */
void bp_edge_link_free(struct bp_edge_link *l);

/* Takes the settings; connects anew, calling `down` if it was up, when they differ from those in
 * force. */
void bp_edge_link_configure(struct bp_edge_link *l, const struct bp_edge_link_settings *settings);

bool bp_edge_link_up(const struct bp_edge_link *l);

/*
 * Queues a PUBLISH with QoS 1 and no RETAIN. `topic` is terminated. Payload and topic are copied.
 * Returns 0 with *mid, > 0 when this message can never be sent (topic or payload not allowed),
 * < 0 when it can't now.
 */
int bp_edge_link_publish(struct bp_edge_link *l, const char *topic, const void *payload,
	uint32_t len, uint16_t *mid);
/* Writes what is queued, as far as the socket takes it, in as few segments as possible. */
void bp_edge_link_flush(struct bp_edge_link *l);
/* Gives the connection up and makes a new one. Calls `down`. `why` is a sentence for the log. */
void bp_edge_link_reset(struct bp_edge_link *l, const char *why);

#endif
