/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_PROTO_HEALTH_COAP_H
#define BP_PROTO_HEALTH_COAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * CoAP messages over UDP (RFC 7252, section 3; section numbers below are its). Pure functions over
 * bytes; every pointer in a result points into the input.
 */

enum bp_coap_type { BP_COAP_CON, BP_COAP_NON, BP_COAP_ACK, BP_COAP_RST };

/* Codes are written class.detail in texts (12.1): BP_COAP_CODE(2, 1) is 2.01 Created. */
#define BP_COAP_CODE(class_, detail_) ((class_) << 5 | (detail_))
#define BP_COAP_EMPTY 0
/* Whether a code is that of a response. Classes 1, 6 and 7 are reserved, and a message with one is
 * invalid (3, 4.2); 3 is reserved within the range of responses (12.1.2). */
#define BP_COAP_IS_RESPONSE(code_) ((code_) >> 5 >= 2 && (code_) >> 5 <= 5)
#define BP_COAP_GET BP_COAP_CODE(0, 1)
#define BP_COAP_POST BP_COAP_CODE(0, 2)
#define BP_COAP_PUT BP_COAP_CODE(0, 3)

/* Option numbers of RFC 7252 that are used here (12.2). */
#define BP_COAP_URI_PATH 11
#define BP_COAP_CONTENT_FORMAT 12
#define BP_COAP_URI_QUERY 15

#define BP_COAP_HEADER_LEN 4u
#define BP_COAP_TOKEN_MAX 8u

/* For so long after its first transmission a message id may not be used again (4.8.2). */
#define BP_COAP_EXCHANGE_LIFETIME_S 247u

struct bp_coap {
	uint8_t type; /* enum bp_coap_type */
	uint8_t code;
	uint8_t token_len;
	uint16_t mid;
	uint8_t token[BP_COAP_TOKEN_MAX];
	const uint8_t *options; /* after the token; bp_coap_next() walks them */
	const uint8_t *payload; /* after the marker; NULL without a payload */
	uint32_t options_len;
	uint32_t payload_len;
};

enum bp_coap_error {
	BP_COAP_OK,
	BP_COAP_E_SHORT,   /* ends within the header or the token */
	BP_COAP_E_VERSION, /* not version 1 */
	BP_COAP_E_TOKEN,   /* token length 9..15 (3) */
	BP_COAP_E_OPTION,  /* reserved nibble, runs past the end, or a number over 65535 (3.1) */
	BP_COAP_E_MARKER,  /* a payload marker and no payload (3) */
	BP_COAP_E_EMPTY    /* code 0.00 with bytes after the message id (4.1) */
};

/*
 * Reads the message p[0..len), a whole datagram. All options are checked, so that bp_coap_next()
 * can trust their lengths. A Reset that is not empty is accepted, since some CSEs send it: the type
 * is sufficient. The caller checks code classes and critical options. *out is written with OK only.
 */
enum bp_coap_error bp_coap_read(const uint8_t *p, size_t len, struct bp_coap *out);

struct bp_coap_option {
	uint32_t number;
	const uint8_t *value;
	uint32_t len;
};

/*
 * The next option of a message that bp_coap_read() accepted: *cursor is NULL before the first.
 * False at the end. *o must be handed in as the last call left it: it keeps the number that the
 * next one adds to.
 */
bool bp_coap_next(const struct bp_coap *m, const uint8_t **cursor, struct bp_coap_option *o);

/* An option's value as an unsigned integer (3.2). False if it has more than four bytes. */
bool bp_coap_uint(const struct bp_coap_option *o, uint32_t *value);

/* One message is written at a time: begin, options in ascending order, end. */
struct bp_coap_writer {
	uint8_t *p, *end;
	uint32_t last; /* number of the last option */
	bool full;     /* an option did not fit, or was invalid: nothing more is written */
};

/* `n` is the token's length, at most 8. Writes to out[0..size). */
void bp_coap_begin(struct bp_coap_writer *w, uint8_t *out, size_t size, enum bp_coap_type type,
	uint8_t code, uint16_t mid, const uint8_t *token, uint8_t n);

/* `value` may be NULL if `len` is 0. A number below the preceding one, or above 65535, sets
 * `full`. */
void bp_coap_option(struct bp_coap_writer *w, uint32_t number, const void *value, uint32_t len);

/* An option of format uint, in the minimum number of bytes. */
void bp_coap_option_uint(struct bp_coap_writer *w, uint32_t number, uint32_t value);

/*
 * Ends the message that was begun at `out`, with `payload` if `len` is not 0. Returns its length,
 * or 0 if an option was invalid or did not fit.
 */
size_t bp_coap_end(struct bp_coap_writer *w, const uint8_t *out, const void *payload, uint32_t len);

#endif
