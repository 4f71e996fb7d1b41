/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_CONTROLPLANE_HEALTH_CSE_CSE_BINDING_H
#define BP_CONTROLPLANE_HEALTH_CSE_CSE_BINDING_H

#include <stdbool.h>
#include <stdint.h>

#include "proto/health/onem2m.h"

/*
 * A CSE that is reached by CoAP (cse_client.h) or by HTTP (cse_http.h): the common interface, so
 * that callers are independent of the binding.
 */

enum bp_cse_end {
	BP_CSE_ANSWERED,
	BP_CSE_TIMED_OUT, /* no answer after all retransmissions */
	BP_CSE_RESET,     /* the peer does not implement oneM2M */
	BP_CSE_CANCELLED, /* the client was freed */
	/*
	 * The CSE's host reports that its port is closed; this comes immediately, so the caller
	 * should wait before it repeats the request. With CoAP all outstanding requests end this
	 * way: the CSE's state about them is lost too.
	 */
	BP_CSE_REFUSED,
};

struct bp_cse_reply {
	enum bp_cse_end end;
	struct bp_m2m_reply m2m; /* with BP_CSE_ANSWERED */
	const uint8_t *payload;  /* valid during the call; NULL: none */
	uint32_t payload_len;
};

/* Called once for each accepted request, never during its sending. May send the next request. */
typedef void bp_cse_done(void *arg, const struct bp_cse_reply *r);

enum bp_cse_sent {
	BP_CSE_TAKEN,
	BP_CSE_QUEUE_FULL, /* too many outstanding requests, or no memory */
	BP_CSE_TOO_LONG,   /* or a path or a name that cannot be encoded */
};

/* A watcher that is called when there is capacity again. Owned by the caller; it must remain valid
 * until the client is freed. */
struct bp_cse_watch {
	/*
	 * There was no capacity, and now there is. Called from the event loop; may send. Watchers
	 * are called in round-robin order; if the capacity is already used up, a later watcher is
	 * called again afterwards.
	 */
	void (*room)(void *arg);
	void *arg;
	struct bp_cse_watch *next; /* owned by the client */
};

/* For the clients: a list of watchers, in calling order. */
void bp_cse_watch_add(struct bp_cse_watch **list, struct bp_cse_watch *w);
/* Calls all watchers; the first one is the last next time. */
void bp_cse_watch_notify(struct bp_cse_watch **list);

struct bp_cse_binding {
	enum bp_cse_sent (*send)(
		void *client, const struct bp_m2m_request *q, bp_cse_done *done, void *arg);
	void (*watch_capacity)(void *client, struct bp_cse_watch *w);
};

/* A client of either kind; created by bp_cse_by_coap() and bp_cse_by_http(). */
struct bp_cse {
	const struct bp_cse_binding *binding;
	void *client; /* the creator keeps ownership */
};

/*
 * Sends a create if q->ty is set; otherwise an update if there is a body, and a retrieve without
 * one. q->rqi NULL: the client generates one. q is not used after the call.
 */
static inline enum bp_cse_sent bp_cse_send_request(
	const struct bp_cse *c, const struct bp_m2m_request *q, bp_cse_done *done, void *arg)
{
	return c->binding->send(c->client, q, done, arg);
}

#endif
