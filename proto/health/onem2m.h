/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_PROTO_HEALTH_ONEM2M_H
#define BP_PROTO_HEALTH_ONEM2M_H

#include "proto/health/coap.h"

/*
 * oneM2M requests and responses over CoAP: the binding is TS-0008, resource types and response
 * status codes are those of TS-0004.
 */

/* Resource types (the option TY of a create). */
enum { BP_M2M_ACP = 1, BP_M2M_AE, BP_M2M_CNT, BP_M2M_CIN };

enum bp_m2m_release { BP_M2M_R1, BP_M2M_R2, BP_M2M_R2A, BP_M2M_R3, BP_M2M_R4, BP_M2M_R5 };
#define BP_M2M_RELEASES 6

/* CoAP option numbers. Release 3 renumbered the oneM2M options; "2a" is assumed to use the new
 * numbers. */
struct bp_m2m_options {
	uint16_t fr, rqi, ty, rsc;
	uint16_t rvi;         /* 0: the release has no such option */
	const char *rvi_text; /* its value: "4"; NULL without the option */
};
extern const struct bp_m2m_options bp_m2m_options[BP_M2M_RELEASES];

/* Content-Format of requests, application/json (a CSE responds in the format of the request). */
#define BP_M2M_FORMAT_JSON 50

/* Response status codes that more is done with than to count them. */
#define BP_M2M_CREATED 2001
#define BP_M2M_CONFLICT 4105      /* a resource of that name is there */
#define BP_M2M_NOT_REACHABLE 5103 /* the CSE responds with code 4.04, but the target exists */
#define BP_M2M_UNREADABLE                                                                          \
	UINT16_MAX /* of no CSE: its option has no number of 1..65534, or is twice */

struct bp_m2m_reply {
	uint8_t code; /* of CoAP */
	uint16_t rsc; /* response status code; 0: no such option */
};

/* Reads the result of the request from `m`, a response of a CSE of that release. */
void bp_m2m_reply_read(const struct bp_coap *m, enum bp_m2m_release r, struct bp_m2m_reply *out);

enum bp_m2m_outcome {
	BP_M2M_STORED,
	BP_M2M_DENIED,    /* 4.01, 4.03: the originator may not */
	BP_M2M_NO_TARGET, /* 4.04: the resource to create it in is not there */
	BP_M2M_BUSY,      /* 4.29, 5.03, 5.04, 5103: later it may work */
	BP_M2M_REFUSED    /* all other responses, including contradictory ones */
};

/*
 * The meaning of a response to a create. `named`: the request contained the name of the resource,
 * so that a conflict means that the same create succeeded before.
 */
enum bp_m2m_outcome bp_m2m_outcome(const struct bp_m2m_reply *r, bool named);

struct bp_m2m_request {
	uint8_t ty;        /* 0: none, as in a retrieve or an update */
	const char *path;  /* segments of Uri-Path, by '/': "cse-in/gwAE", "~/id-in/cse-in/gwAE" */
	const char *query; /* arguments by '&': "rcn=0"; or NULL */
	const char *fr;    /* originator */
	const char *rqi;   /* request identifier */
	const char *body;  /* JSON; or NULL */
	size_t body_len;
};

/*
 * Writes options and payload of `q` after bp_coap_begin(w, out, ...) and ends the message. Returns
 * its length, or 0 if it does not fit or a segment or argument is empty or longer than 255 bytes.
 */
size_t bp_m2m_create(struct bp_coap_writer *w, const uint8_t *out, enum bp_m2m_release r,
	const struct bp_m2m_request *q);

#endif
