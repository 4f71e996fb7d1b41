/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_CONTROLPLANE_HEALTH_CSE_CSE_HTTP_H
#define BP_CONTROLPLANE_HEALTH_CSE_CSE_HTTP_H

#include <stdint.h>
#include <sys/socket.h>

#include "controlplane/health/cse/cse_binding.h"

struct event_base;

/*
 * The control plane's HTTP client to one CSE (TS-0009), with libcurl in a libevent loop: a limited
 * number of requests, over persistent connections. No proxy is used and no redirection is followed.
 * A response without X-M2M-RSC is not from a CSE, and a response over the size limit is not read:
 * such requests end with BP_CSE_RESET. For one event loop's thread.
 */
struct bp_cse_http;

#define BP_CSE_HTTP_TIMEOUT_NS 10000000000ull /* of a request, including its connection */
#define BP_CSE_HTTP_ANSWER_MAX 65536u         /* bytes of a response body */
#define BP_CSE_HTTP_HEAD_MAX 16384u           /* bytes of all headers of a response */

struct bp_cse_http_settings {
	struct sockaddr_storage address; /* with the port */
	enum bp_m2m_release release;
	unsigned outstanding; /* concurrent requests and connections, 1..1024 */
	uint64_t timeout_ns;  /* 0: BP_CSE_HTTP_TIMEOUT_NS */
};

/* Counts since the client was created. Each request ends in one of the last four, or was
 * cancelled. */
struct bp_cse_http_counts {
	uint64_t requests, connections;
	uint64_t answered, timed_out;
	uint64_t refused; /* port closed, no route, or connection lost */
	uint64_t not_cse; /* the response was not from a CSE */
};

/* Returns NULL without memory. An unreachable CSE is reported by the requests. */
struct bp_cse_http *bp_cse_http_new(
	struct event_base *base, const struct bp_cse_http_settings *settings);
/* Outstanding requests end with BP_CSE_CANCELLED. Not from within a bp_cse_done. */
void bp_cse_http_free(struct bp_cse_http *h);

/*
 * The interface that is independent of the binding. A reply's `code` is the equivalent CoAP code:
 * for a success that of the response status code; for an error class and number of the HTTP status,
 * or .00 if CoAP has no such number; 0 if status and response status code contradict each other.
 */
struct bp_cse bp_cse_by_http(struct bp_cse_http *h);

const struct bp_cse_http_counts *bp_cse_http_counts(const struct bp_cse_http *h);

#endif
