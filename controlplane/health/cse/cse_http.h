/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_CONTROLPLANE_HEALTH_CSE_CSE_HTTP_H
#define BP_CONTROLPLANE_HEALTH_CSE_CSE_HTTP_H

#include <stdint.h>
#include <sys/socket.h>

#include "controlplane/health/cse/cse_binding.h"

struct event_base;

/*
 * The control plane's HTTP client to one CSE (TS-0009), by libcurl in a libevent loop: so many
 * requests at a time, over connections that are used again. No proxy and no redirection is
 * followed. What answers without X-M2M-RSC is no CSE, and what is longer than it may be is not
 * read: such requests end with BP_CSE_RESET. One event loop's thread.
 */
struct bp_cse_http;

#define BP_CSE_HTTP_TIMEOUT_NS 10000000000ull /* of a request, its connection included */
#define BP_CSE_HTTP_ANSWER_MAX 65536u         /* octets of an answer's body */
#define BP_CSE_HTTP_HEAD_MAX 16384u           /* of all its headers */

struct bp_cse_http_settings {
	struct sockaddr_storage address; /* with the port */
	enum bp_m2m_release release;
	unsigned outstanding; /* requests and connections at a time, 1..1024 */
	uint64_t timeout_ns;  /* 0: BP_CSE_HTTP_TIMEOUT_NS */
};

/* What happened since the client was made. Each request ends in one of the last four, or it was
 * cancelled. */
struct bp_cse_http_counts {
	uint64_t requests, connections;
	uint64_t answered, timed_out;
	uint64_t refused; /* nobody listens, there is no way, or the connection broke */
	uint64_t not_cse; /* what came was no answer of a CSE */
};

/* NULL when memory is short. That the CSE can't be reached shows in the requests. */
struct bp_cse_http *bp_cse_http_new(
	struct event_base *base, const struct bp_cse_http_settings *settings);
/* What is outstanding ends with BP_CSE_CANCELLED. Not from within a bp_cse_done. */
void bp_cse_http_free(struct bp_cse_http *h);

/*
 * To ask by. A reply's `code` is the CoAP code that says the same: of a success that of the
 * response status code; of an error class and number of the HTTP status, with .00 where CoAP has no
 * such number; 0 where status and response status code contradict each other.
 */
struct bp_cse bp_cse_by_http(struct bp_cse_http *h);

const struct bp_cse_http_counts *bp_cse_http_counts(const struct bp_cse_http *h);

#endif
