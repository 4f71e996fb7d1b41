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
 * repeated as RFC 7252, 4.2 has it, so many at a time (its NSTART, 4.7); responses in the
 * acknowledgement or separate ones. One event loop's thread.
 *
 * A message id rests for EXCHANGE_LIFETIME, also over a restart of the process (struct bp_cse_ids),
 * so that each source port sends 256 requests in each 0.97 s at most, some 264 a second. A client
 * begins up to that time after it was made: until then there is no room.
 */
struct bp_cse_client;

#define BP_CSE_ACK_TIMEOUT_NS 2000000000ull /* times 1 to 1.5, doubled with each repetition */
#define BP_CSE_RETRANSMISSIONS 4u
#define BP_CSE_MESSAGE_MAX 4608u /* octets of a request */
#define BP_CSE_PORTS_MAX 64u

struct bp_cse_settings {
	struct sockaddr_storage address; /* with the port */
	enum bp_m2m_release release;
	unsigned outstanding;    /* requests at a time, over all ports, 1..1024 */
	unsigned ports;          /* source ports, of the kernel's choice, 1..64; 0: one */
	uint64_t ack_timeout_ns; /* 0: BP_CSE_ACK_TIMEOUT_NS */
	uint64_t id_lifetime_ns; /* of a message id; 0: BP_COAP_EXCHANGE_LIFETIME_S */
};

/* What happened since the client was made. */
struct bp_cse_counts {
	uint64_t requests, answered, repeats, timed_out, resets;
	uint64_t separate;   /* responses that came after an empty acknowledgement */
	uint64_t unmatched;  /* messages that nothing waits for, or that say nothing new */
	uint64_t unreadable; /* no CoAP */
	uint64_t not_sent;   /* transmissions for which the kernel had no way to the CSE */
	uint64_t refused;    /* requests that ended so */
	uint64_t refusals;   /* datagrams that nobody took, as the CSE's host says */
	uint64_t reconnects; /* after silence */
};

/* NULL when memory is short. That the CSE can't be reached shows in the requests. */
struct bp_cse_client *bp_cse_client_new(
	struct event_base *base, const struct bp_cse_settings *settings);
/* What is outstanding ends with BP_CSE_CANCELLED. Not from within a bp_cse_done. */
void bp_cse_client_free(struct bp_cse_client *c);

/* As bp_cse_send_request(). */
enum bp_cse_sent bp_cse_send(
	struct bp_cse_client *c, const struct bp_m2m_request *q, bp_cse_done *done, void *arg);
/*
 * A whole request as services/health/convert.h writes it, of at most BP_CSE_MESSAGE_MAX octets and
 * with a token of 8: it becomes confirmable, message id and token become the client's.
 */
enum bp_cse_sent bp_cse_send_message(
	struct bp_cse_client *c, const uint8_t *message, size_t len, bp_cse_done *done, void *arg);
/* Whether another request has room: a place, and a message id. */
bool bp_cse_has_capacity(const struct bp_cse_client *c);

void bp_cse_watch_capacity(struct bp_cse_client *c, struct bp_cse_watch *w);

/* For who doesn't mind how the CSE is asked. */
struct bp_cse bp_cse_by_coap(struct bp_cse_client *c);

unsigned bp_cse_outstanding(const struct bp_cse_client *c);
const struct bp_cse_counts *bp_cse_counts(const struct bp_cse_client *c);

#endif
