/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_CONTROLPLANE_HEALTH_CSE_CSE_CLIENT_H
#define BP_CONTROLPLANE_HEALTH_CSE_CSE_CLIENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

#include "controlplane/health/cse/cse_binding.h"

struct event_base;

/*
 * The control plane's CoAP client to one CSE, over connected UDP sockets: confirmable requests,
 * retransmitted as in RFC 7252, 4.2, with a limited number outstanding (its NSTART, 4.7);
 * piggybacked or separate responses. For one event loop's thread.
 *
 * A message id is not reused within EXCHANGE_LIFETIME, even after a restart of the process (struct
 * bp_cse_ids), so each source port sends at most 256 requests per 0.97 s, about 264 per second. A
 * client starts up to 0.97 s after its creation: until then there is no capacity.
 */
struct bp_cse_client;

#define BP_CSE_ACK_TIMEOUT_NS 2000000000ull /* times 1 to 1.5, doubled with each retransmission */
#define BP_CSE_RETRANSMISSIONS 4u
#define BP_CSE_MESSAGE_MAX 4608u /* bytes of a request */
#define BP_CSE_PORTS_MAX 64u

struct bp_cse_settings {
	struct sockaddr_storage address; /* with the port */
	enum bp_m2m_release release;
	unsigned outstanding;    /* requests outstanding over all ports, 1..1024 */
	unsigned ports;          /* source ports, chosen by the kernel, 1..64; 0: one */
	uint64_t ack_timeout_ns; /* 0: BP_CSE_ACK_TIMEOUT_NS */
	uint64_t id_lifetime_ns; /* of a message id; 0: BP_COAP_EXCHANGE_LIFETIME_S */
};

/* Counts since the client was created. */
struct bp_cse_counts {
	uint64_t requests, answered, repeats, timed_out, resets;
	uint64_t separate;   /* responses after an empty acknowledgement */
	uint64_t unmatched;  /* messages without an outstanding request, or duplicates */
	uint64_t unreadable; /* invalid CoAP */
	uint64_t not_sent;   /* transmissions without a route to the CSE */
	uint64_t refused;    /* requests that ended with BP_CSE_REFUSED */
	uint64_t refusals;   /* datagrams for which the CSE's host returned an ICMP error */
	uint64_t reconnects; /* after a lack of answers */
};

/* Returns NULL without memory. An unreachable CSE is reported by the requests. */
struct bp_cse_client *bp_cse_client_new(
	struct event_base *base, const struct bp_cse_settings *settings);
/* Outstanding requests end with BP_CSE_CANCELLED. Not from within a bp_cse_done. */
void bp_cse_client_free(struct bp_cse_client *c);

/* Like bp_cse_send_request(). */
enum bp_cse_sent bp_cse_send(
	struct bp_cse_client *c, const struct bp_m2m_request *q, bp_cse_done *done, void *arg);
/*
 * Sends a whole request as services/health/convert.h writes it, of at most BP_CSE_MESSAGE_MAX bytes
 * and with a token of 8 bytes: it becomes confirmable, and the client replaces message id and
 * token.
 */
enum bp_cse_sent bp_cse_send_message(
	struct bp_cse_client *c, const uint8_t *message, size_t len, bp_cse_done *done, void *arg);
/* Returns whether another request can be sent: a free slot and a message id. */
bool bp_cse_has_capacity(const struct bp_cse_client *c);

void bp_cse_watch_capacity(struct bp_cse_client *c, struct bp_cse_watch *w);

/* The interface that is independent of the binding. */
struct bp_cse bp_cse_by_coap(struct bp_cse_client *c);

unsigned bp_cse_outstanding(const struct bp_cse_client *c);
const struct bp_cse_counts *bp_cse_counts(const struct bp_cse_client *c);

#endif
