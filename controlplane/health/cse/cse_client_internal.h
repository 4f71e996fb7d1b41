/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_CONTROLPLANE_HEALTH_CSE_CSE_CLIENT_INTERNAL_H
#define BP_CONTROLPLANE_HEALTH_CSE_CSE_CLIENT_INTERNAL_H

#include <event2/event.h>

#include "controlplane/health/cse/cse_client.h"
#include "controlplane/health/cse/cse_socket.h"

/* What the parts of the CSE's client share. */

/*
 * Message ids of one CoAP endpoint, by the clock alone: time goes in slots, 255 of them a lifetime,
 * and in slot t only the ids of block t modulo 256 are used. So an id is used again 255 slots after
 * the end of its slot or later, which is a lifetime (RFC 7252 4.8.2, EXCHANGE_LIFETIME), whatever
 * the process did in between, and nothing has to be kept for the next one: it begins with the slot
 * behind the one that it is started in, since it does not know what was used in that.
 *
 * Times are of CLOCK_MONOTONIC, which all processes of a machine share until it is started anew.
 */
#define BP_CSE_ID_BLOCK 256u
#define BP_CSE_ID_BLOCKS (65536u / BP_CSE_ID_BLOCK)

struct bp_cse_ids {
	uint64_t slot_ns;
	uint64_t slot;  /* in which ids were taken last, or before the first that may be used */
	unsigned taken; /* in it; BP_CSE_ID_BLOCK: all */
};

/* The ids of an endpoint that others may have used until now. */
void bp_cse_ids_init(struct bp_cse_ids *ids, uint64_t lifetime_ns, uint64_t now_ns);
/* When there is an id: now_ns, or the time to wait for. */
uint64_t bp_cse_ids_at(const struct bp_cse_ids *ids, uint64_t now_ns);
/* The next id; bp_cse_ids_at() must have said that there is one. */
uint16_t bp_cse_ids_take(struct bp_cse_ids *ids, uint64_t now_ns);

#define BP_CSE_NS_PER_S 1000000000ull
/* A separate response may take as long as a whole series of transmissions (4.8.2,
 * MAX_TRANSMIT_WAIT). */
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
	bool refused; /* to be ended so */
	uint16_t mid;
	uint8_t token[BP_COAP_TOKEN_MAX];
	unsigned sent;    /* transmissions */
	uint64_t sent_ns; /* the last of them */
	uint64_t first_ns;
	uint64_t timeout_ns;
	struct event *timer;
	uint8_t *octets;
	size_t len;
	bp_cse_done *done;
	void *arg;
};

struct bp_cse_client {
	struct event_base *base;
	struct bp_cse_settings settings;
	struct bp_cse_counts counts;
	struct bp_cse_lane lane[BP_CSE_PORTS_MAX];
	unsigned next_lane;  /* whose turn it is */
	uint32_t serial;     /* of requests; the first half of a token */
	uint32_t secret;     /* the second half: who doesn't see the requests can't answer */
	uint64_t last_rx_ns; /* the last datagram from the CSE */
	unsigned outstanding;
	bool closing;
	bool full; /* there was no room; `room` looks when there may be again */
	struct event *room;
	struct bp_cse_watch *watch; /* the first to be told */
	struct bp_cse_outstanding request[];
};

/* ---- cse_outstanding.c ---- */

static inline struct timeval bp_cse_timeval(uint64_t ns)
{
	return (struct timeval){
		(time_t)(ns / BP_CSE_NS_PER_S), (suseconds_t)(ns % BP_CSE_NS_PER_S / 1000)};
}

/* Ends a request: its place is free, and who asked is told. */
void bp_cse_end_request(struct bp_cse_outstanding *r, const struct bp_cse_reply *reply);
void bp_cse_send_octets(struct bp_cse_lane *lane, const uint8_t *p, size_t len);
void bp_cse_set_timer(struct bp_cse_outstanding *r, uint64_t ns);

/* ---- cse_client_receive.c ---- */

/* A lane has something to read, or an error: for its socket. */
void bp_cse_on_readable(evutil_socket_t fd, short what, void *lane);

#endif
