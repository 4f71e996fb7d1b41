/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_APPS_BIPLANE_MONITOR_REQUEST_H
#define BP_APPS_BIPLANE_MONITOR_REQUEST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

struct bp_event_reader;
struct bp_monitor;

/*
 * One HTTP request and its answer, without the server: http.c fills the request from the
 * connection and sends the answer; tests and the fuzzer call bp_request_answer() directly.
 */
#define BP_REQUEST_ARGS_MAX 8u

struct bp_http_request {
	const char *method; /* "GET" */
	const char *path;   /* decoded, without the query */
	const char *host;   /* NULL: there is no such header, here and below */
	const char *authorization;
	const char *accept;
	const char *fetch_site; /* Sec-Fetch-Site */
	const char *if_none_match;
	unsigned n_args; /* may be more than BP_REQUEST_ARGS_MAX: those beyond are not kept */
	struct {
		const char *name, *value; /* decoded; value: "" for NULL */
	} arg[BP_REQUEST_ARGS_MAX];
};

struct bp_http_answer {
	unsigned status;
	const char *content_type;
	const char *etag;  /* NULL: is not cached */
	char *body;        /* from malloc(), the receiver's; NULL: `fixed` */
	const char *fixed; /* valid as long as the process */
	size_t len;
	unsigned retry_after_s; /* 0: none */
	/* A stream of events instead of a body, event_stream.h; the receiver's. NULL: none. */
	struct bp_event_reader *events;
};

/* Answers a request; never fails. */
void bp_request_answer(
	struct bp_monitor *m, const struct bp_http_request *q, struct bp_http_answer *a);

/* The value of an argument of the query, or NULL. */
const char *bp_request_arg(const struct bp_http_request *q, const char *name);
/* Whether the query has only arguments of the list, which ends with NULL, each once; otherwise the
 * answer is an error. */
bool bp_request_args_known(
	const struct bp_http_request *q, struct bp_http_answer *a, const char *const *known);

/* An answer with a JSON object {"error": SENTENCE}. */
__attribute__((format(printf, 3, 4))) void bp_answer_error(
	struct bp_http_answer *a, unsigned status, const char *format, ...);
/* An answer with what `write(arg, out)` writes; an error 500 if it returns false. */
void bp_answer_written(struct bp_http_answer *a, const char *content_type,
	bool (*write)(void *arg, FILE *out), void *arg);

#define BP_CONTENT_JSON "application/json"

/* The resources below /api/v1/, api.c. `rest`: the path after the resource's name, "" or "/...". */
struct bp_api_resource {
	const char *name; /* "show" */
	void (*answer)(struct bp_monitor *m, const struct bp_http_request *q, const char *rest,
		struct bp_http_answer *a);
};
extern const struct bp_api_resource bp_api_resources[]; /* name NULL ends them */

/* Whether a client prefers OpenMetrics to the Prometheus text format: the header Accept, or
 * NULL. */
bool bp_accepts_openmetrics(const char *accept);

#endif
