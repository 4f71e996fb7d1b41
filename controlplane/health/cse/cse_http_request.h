/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_CONTROLPLANE_HEALTH_CSE_CSE_HTTP_REQUEST_H
#define BP_CONTROLPLANE_HEALTH_CSE_CSE_HTTP_REQUEST_H

#include <curl/curl.h>
#include <stdbool.h>
#include <stdint.h>

#include "proto/health/onem2m.h"

/* A oneM2M request and its response as HTTP messages (TS-0009, 6.2 to 6.4), with libcurl. */

enum bp_http_operation { BP_HTTP_CREATE, BP_HTTP_RETRIEVE, BP_HTTP_UPDATE };
enum bp_http_operation bp_http_operation_of(const struct bp_m2m_request *q);

#define BP_HTTP_BODY_MAX 4096u

enum bp_http_written {
	BP_HTTP_WRITTEN,
	BP_HTTP_UNREPRESENTABLE, /* it cannot be encoded: too long, or invalid in a header */
	BP_HTTP_NO_MEMORY,
};

/*
 * Sets method, URL, headers and body of `q`, which is copied. q->rqi NULL: "p" and the serial
 * number. The caller frees *headers after the transfer, whatever is returned.
 */
enum bp_http_written bp_http_request_write(CURL *easy, struct curl_slist **headers,
	const char *authority, enum bp_m2m_release release, uint32_t serial,
	const struct bp_m2m_request *q);

/* Parses the response, as described in cse_http.h. False: it is not from a CSE. */
bool bp_http_reply_read(CURL *easy, enum bp_http_operation operation, struct bp_m2m_reply *out);

#endif
