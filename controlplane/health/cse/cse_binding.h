/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_CONTROLPLANE_HEALTH_CSE_CSE_BINDING_H
#define BP_CONTROLPLANE_HEALTH_CSE_CSE_BINDING_H

#include <stdbool.h>
#include <stdint.h>

#include "proto/health/onem2m.h"

/*
 * A CSE that is asked by CoAP (cse_client.h) or by HTTP (cse_http.h): what both have in common, so
 * that who asks need not know which it is.
 */

enum bp_cse_end {
	BP_CSE_ANSWERED,
	BP_CSE_TIMED_OUT, /* not answered, however often it was sent */
	BP_CSE_RESET,     /* the other end has no idea of oneM2M requests */
	BP_CSE_CANCELLED, /* the client was freed */
	/* Nobody listens at the CSE's port, as its host says; at once, so who asks again should
	 * wait first. By CoAP all that is outstanding ends so: what the CSE had is forgotten with
	 * it. */
	BP_CSE_REFUSED,
};

struct bp_cse_reply {
	enum bp_cse_end end;
	struct bp_m2m_reply m2m; /* with BP_CSE_ANSWERED */
	const uint8_t *payload;  /* valid during the call; NULL: none */
	uint32_t payload_len;
};

/* Called once for each request taken, never from within its sending. It may send the next. */
typedef void bp_cse_done(void *arg, const struct bp_cse_reply *r);

enum bp_cse_sent {
	BP_CSE_TAKEN,
	BP_CSE_QUEUE_FULL, /* as many as may are outstanding, or the client can't take one now */
	BP_CSE_TOO_LONG,   /* or a path or a name that can't be written */
};

/* Who wants to know when there is room again. Owned by who watches; it must stay until the client
 * is freed. */
struct bp_cse_watch {
	/*
	 * There was no room, and now there is. From the event loop; it may send. Those that watch
	 * are called in turns, and who comes later may find that it is taken already: it is called
	 * again then.
	 */
	void (*room)(void *arg);
	void *arg;
	struct bp_cse_watch *next; /* the client's */
};

/* For the clients: a list of those that watch, which begins with the first to be told. */
void bp_cse_watch_add(struct bp_cse_watch **list, struct bp_cse_watch *w);
/* Tells all; who was the first is the last next time. */
void bp_cse_watch_notify(struct bp_cse_watch **list);

struct bp_cse_binding {
	enum bp_cse_sent (*send)(
		void *client, const struct bp_m2m_request *q, bp_cse_done *done, void *arg);
	void (*watch_capacity)(void *client, struct bp_cse_watch *w);
};

/* A client of either kind; bp_cse_by_coap() and bp_cse_by_http() make one. */
struct bp_cse {
	const struct bp_cse_binding *binding;
	void *client; /* stays its owner's */
};

/*
 * A create where q->ty is given; else an update where there is a body, and a retrieve where there
 * is none. q->rqi NULL: the client makes one. Nothing of q is needed after the call.
 */
static inline enum bp_cse_sent bp_cse_send_request(
	const struct bp_cse *c, const struct bp_m2m_request *q, bp_cse_done *done, void *arg)
{
	return c->binding->send(c->client, q, done, arg);
}

#endif
