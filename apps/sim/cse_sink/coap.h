/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_APPS_SIM_CSE_SINK_COAP_H
#define BP_APPS_SIM_CSE_SINK_COAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* CoAP (RFC 7252) reader and writer of the sink, independent of the gateway's codec. */

enum { SINK_CON, SINK_NON, SINK_ACK, SINK_RST };
enum { SINK_GET = 1, SINK_POST = 2 };
enum { SINK_URI_PATH = 11, SINK_CONTENT_FORMAT = 12, SINK_URI_QUERY = 15, SINK_TY = 267 };
#define SINK_PATH_MAX 512

struct sink_text {
	const char *p;
	size_t len;
};

/* A message; texts point into it. An absent field has p == NULL. */
struct sink_message {
	uint8_t type;
	uint8_t code;
	uint16_t mid;
	uint8_t token[8];
	unsigned token_len;
	char path[SINK_PATH_MAX]; /* segments with '/' between */
	int32_t format;           /* -1: absent */
	struct sink_text query;   /* the first one */
	int32_t ty;
	struct sink_text fr, rqi, rvi;
	struct sink_text payload;
};

/* Numbers of the oneM2M options (TS-0008): two generations. */
struct sink_numbers {
	uint32_t fr, rqi, rvi, rsc; /* rvi 0: absent */
};
extern const struct sink_numbers sink_numbers_old; /* releases 1 and 2 */
extern const struct sink_numbers sink_numbers_new;

/* NULL, or a description of its error. */
const char *sink_read(
	struct sink_message *m, const struct sink_numbers *n, const uint8_t *p, size_t len);

/* An answer to m with this code, message type and id; rsc 0: empty message. Returns its length. */
size_t sink_write(uint8_t *out, size_t size, const struct sink_message *m,
	const struct sink_numbers *n, uint8_t type, uint16_t mid, uint8_t code, uint16_t rsc,
	const char *body);

#endif
