/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_CONTROLPLANE_HEALTH_CSE_CSE_CLIENT_INTERNAL_H
#define BP_CONTROLPLANE_HEALTH_CSE_CSE_CLIENT_INTERNAL_H

#include <event2/event.h>

#include "controlplane/health/cse/cse_client.h"
#include "controlplane/health/cse/cse_socket.h"

/* Shared by the parts of the CSE client. */

/*
 * Message ids of one CoAP endpoint, derived from the clock: time is divided into slots, 255 per
 * lifetime, and slot t uses only the ids of block t modulo 256. So an id is reused at the earliest
 * 255 slots after the end of its slot, which is a lifetime (RFC 7252, 4.8.2, EXCHANGE_LIFETIME),
 * whatever the process did meanwhile, and nothing must be stored for the next process: that one
 * starts with the slot after the current one, because it does not know which ids of the current one
 * were used.
 *
 * Times are of CLOCK_MONOTONIC, which all processes of a machine share until it reboots.
 */
#define BP_CSE_ID_BLOCK 256u
#define BP_CSE_ID_BLOCKS (65536u / BP_CSE_ID_BLOCK)

struct bp_cse_ids {
	uint64_t slot_ns;
	uint64_t slot;  /* slot of the last id, or the one before the first usable slot */
	unsigned taken; /* ids used in it; BP_CSE_ID_BLOCK: all */
};

/* Initialises the ids of an endpoint; other processes may have used ids until now. */
void bp_cse_ids_init(struct bp_cse_ids *ids, uint64_t lifetime_ns, uint64_t now_ns);
/* Returns when an id is available: now_ns, or a later time. */
uint64_t bp_cse_ids_at(const struct bp_cse_ids *ids, uint64_t now_ns);
/* Returns the next id; bp_cse_ids_at() must have reported one. */
uint16_t bp_cse_ids_take(struct bp_cse_ids *ids, uint64_t now_ns);

#define BP_CSE_NS_PER_S 1000000000ull
/* Timeout of a separate response: a whole series of transmissions (4.8.2, MAX_TRANSMIT_WAIT). */
#define BP_CSE_SEPARATE_TIMEOUTS 47u

/* A source port: a socket, and the message ids of its endpoint. */
struct bp_cse_lane {
	struct bp_cse_client *client;
	struct bp_cse_socket socket;
	struct bp_cse_ids ids;
	uint64_t last_rx_ns; /* the last datagram from the CSE to this port */
	uint64_t reconnected_ns;
};

struct bp_cse_outstanding {
	struct bp_cse_client *client;
	struct bp_cse_lane *lane;
	bool used, acknowledged;
	bool refused; /* marked to end with BP_CSE_REFUSED */
	uint16_t mid;
	uint8_t token[BP_COAP_TOKEN_MAX];
	unsigned sent;    /* number of transmissions */
	uint64_t sent_ns; /* time of the last one */
	uint64_t first_ns;
	uint64_t timeout_ns;
	struct event *timer;
	uint8_t *bytes;
	size_t len;
	bp_cse_done *done;
	void *arg;
};

struct bp_cse_client {
	struct event_base *base;
	struct bp_cse_settings settings;
	struct bp_cse_counts counts;
	struct bp_cse_lane lane[BP_CSE_PORTS_MAX];
	unsigned next_lane;  /* next lane in round-robin order */
	uint32_t serial;     /* number of requests; the first half of a token */
	uint32_t secret;     /* the second half: only who sees a request can answer it */
	uint64_t last_rx_ns; /* the last datagram from the CSE */
	unsigned outstanding;
	bool closing;
	bool full; /* there was no capacity; the `room` timer checks again */
	struct event *room;
	struct bp_cse_watch *watch; /* the first watcher to be called */
	struct bp_cse_outstanding request[];
};

/* ---- cse_outstanding.c ---- */

static inline struct timeval bp_cse_timeval(uint64_t ns)
{
	return (struct timeval){
		(time_t)(ns / BP_CSE_NS_PER_S), (suseconds_t)(ns % BP_CSE_NS_PER_S / 1000)};
}

/* Ends a request: frees its slot, then calls its callback. */
void bp_cse_end_request(struct bp_cse_outstanding *r, const struct bp_cse_reply *reply);
void bp_cse_send_bytes(struct bp_cse_lane *lane, const uint8_t *p, size_t len);
void bp_cse_set_timer(struct bp_cse_outstanding *r, uint64_t ns);

/* ---- cse_client_receive.c ---- */

/* A lane is readable or has an error: callback of its socket. */
void bp_cse_on_readable(evutil_socket_t fd, short what, void *lane);

#endif
