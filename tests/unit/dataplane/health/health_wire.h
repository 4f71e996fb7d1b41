/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_TESTS_UNIT_DATAPLANE_HEALTH_HEALTH_WIRE_H
#define BP_TESTS_UNIT_DATAPLANE_HEALTH_HEALTH_WIRE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Datagrams, APDUs of ISO/IEEE 11073-20601 and CoAP as the tests of nodes phd and cse write and
 * read them: directly from the standards, without the code under test.
 */

struct bytes {
	uint8_t b[2048];
	uint32_t len;
};

void put8(struct bytes *x, unsigned v);
void put16(struct bytes *x, unsigned v);
void put32(struct bytes *x, uint32_t v);
void put_bytes(struct bytes *x, const void *p, size_t n);
unsigned get16(const uint8_t *p);

/* ---- frames ---- */

/* One end of a datagram. */
struct end {
	uint8_t mac[6];
	uint8_t ip[16]; /* an IPv4 address in the first four bytes */
	uint16_t port;
};

/* A frame with right checksums, filled up to 60 bytes. */
struct bytes wire_frame(
	bool ip6, const struct end *from, const struct end *to, const struct bytes *payload);
/* Makes the checksums right again after a change. */
void wire_seal(struct bytes *frame);
/* Checks every field of a frame that biplane made, and returns its payload. from->port 0: any,
 * which is stored there. */
struct bytes wire_open(const struct bytes *frame, bool ip6, struct end *from, const struct end *to);

/* ---- reports ---- */

enum { FIXED = 3357, VARIABLE, MP_FIXED, MP_VARIABLE };

struct value {
	unsigned handle;
	unsigned sfloat; /* as on the wire */
	unsigned person;
};
/* A report of SFLOATs; `more` bytes of an attribute that no one knows in each variable entry. */
struct bytes report_make(unsigned type, bool confirmed, unsigned invoke_id, unsigned number,
	const struct value *v, unsigned n, unsigned more);
/* The vector of tests/fixtures/phd-apdus.json. */
struct bytes report_vector(const char *id);

/* Responses to a confirmed report; code: of an error (0300) or a rejection (0400). */
struct bytes response_stored(unsigned invoke_id, unsigned type);
struct bytes response_other(unsigned choice, unsigned invoke_id, unsigned code);

/* ---- CoAP ---- */

enum { CON, NON, ACK, RST };

/* A decoded create request of a content instance; the other fields were checked. */
struct request {
	unsigned type, port, mid;
	uint8_t token[8];
	unsigned slot, invoke_id, event, part; /* of the token */
	bool only, confirmed;
	char path[256];
	char rn[64]; /* empty: none */
	char con[1500];
};
void request_read(const struct bytes *message, unsigned port, struct request *out);

/* A response; rsc 0: without that option. */
struct bytes coap_response(
	unsigned type, unsigned code, unsigned mid, const uint8_t token[8], unsigned rsc);
struct bytes coap_empty(unsigned type, unsigned mid);

#endif
