/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_CONTROLPLANE_ALARMS_MOSQUITTO_LINK_H
#define BP_CONTROLPLANE_ALARMS_MOSQUITTO_LINK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct event_base;

/*
 * The connection to the edge broker: libmosquitto in a libevent loop. It reconnects, with a backoff
 * of 100 ms to 5 s, until it is freed.
 *
 * Name resolution and connect block in libmosquitto, so each attempt runs in a thread of its own
 * that owns the handle until it returns it; only one thread at a time uses a handle. Every
 * connection is a new client with a clean session: the publisher and not the library repeats
 * unacknowledged messages.
 */
struct bp_edge_link;

struct bp_edge_link_settings {
	char host[256];
	uint16_t port;
	char client_id[128]; /* "": the library generates one */
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
	void (*down)(void *arg); /* no message in flight will be acknowledged any more */
	void (*acked)(void *arg, uint16_t mid); /* must not publish or flush */
	void (*ready)(void *arg);               /* after any number of acked; may publish */
};

/* NULL without memory. Starts connecting at the first bp_edge_link_configure(). */
struct bp_edge_link *bp_edge_link_new(
	struct event_base *base, const struct bp_edge_link_events *events, void *arg);
/* Sends DISCONNECT if connected. */
void bp_edge_link_free(struct bp_edge_link *l);

/* Applies the settings; reconnects if they differ from the current ones, and calls `down` if the
 * link was up. */
void bp_edge_link_configure(struct bp_edge_link *l, const struct bp_edge_link_settings *settings);

bool bp_edge_link_up(const struct bp_edge_link *l);

/*
 * Queues a PUBLISH with QoS 1 and no RETAIN. `topic` is terminated. Payload and topic are copied.
 * Returns 0 with *mid, > 0 when this message can never be sent (topic or payload not allowed), < 0
 * when it cannot be sent now.
 */
int bp_edge_link_publish(struct bp_edge_link *l, const char *topic, const void *payload,
	uint32_t len, uint16_t *mid);
/* Writes the queued messages, as far as the socket accepts them, in as few segments as possible. */
void bp_edge_link_flush(struct bp_edge_link *l);
/* Closes the connection and opens a new one. Calls `down`. `why` is a sentence for the log. */
void bp_edge_link_reset(struct bp_edge_link *l, const char *why);

#endif
