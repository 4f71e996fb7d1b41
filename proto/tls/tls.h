/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_PROTO_TLS_TLS_H
#define BP_PROTO_TLS_TLS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * What the beginning of a TLS connection shows to a bystander (RFC 8446, RFC 5246): names in the
 * ClientHello, and up to TLS 1.2 the certificate of the server. Nothing is verified: the names are
 * what the ends say, with any bytes in them.
 */

enum bp_tls {
	BP_TLS_OK,   /* all that there is was read */
	BP_TLS_MORE, /* more bytes are needed */
	BP_TLS_BAD,  /* not TLS */
};

/* Bytes of one direction that are read at most: a ClientHello with post-quantum keys has 2 KiB, a
 * certificate with its issuers 5 KiB. */
#define BP_TLS_BYTES_MAX 8192u

#define BP_TLS_SERVER_NAME_MAX 255u
#define BP_TLS_ALPN_MAX 64u
#define BP_TLS_SUBJECT_MAX 128u
#define BP_TLS_NAMES_MAX 255u

/* Longer texts are cut. */
struct bp_tls_text {
	uint8_t len;
	uint8_t bytes[255];
};
enum bp_tls_name {
	BP_TLS_SERVER_NAME, /* of the ClientHello: SNI */
	BP_TLS_ALPN,        /* protocols that the client offers, separated by commas */
	BP_TLS_SUBJECT,     /* common name of the server's certificate */
	BP_TLS_NAMES,       /* its DNS names, separated by commas */
	BP_TLS_TEXTS,
};
struct bp_tls_info {
	struct bp_tls_text text[BP_TLS_TEXTS];
};

/* Whether these bytes can begin a ClientHello: at least one is given. */
static inline bool bp_tls_begins(const uint8_t *p, uint32_t n)
{
	return p[0] == 22 && (n < 2 || p[1] == 3);
}

/*
 * Reads p[0..n), at most BP_TLS_BYTES_MAX bytes from the first of a direction. `scratch`: as many
 * bytes. BP_TLS_MORE: *need is the number of bytes at the end of the record under way. What was
 * read so far is in `info`.
 */
enum bp_tls bp_tls_client(
	const uint8_t *p, uint32_t n, uint8_t *scratch, struct bp_tls_info *info, uint32_t *need);
enum bp_tls bp_tls_server(
	const uint8_t *p, uint32_t n, uint8_t *scratch, struct bp_tls_info *info, uint32_t *need);

/* tls_certificate.c: subject and names of an X.509 certificate in DER, of which the end may be
 * missing. */
void bp_tls_certificate(const uint8_t *p, uint32_t n, struct bp_tls_info *info);
/* Appends to a text, behind a comma if `list` and it is not empty. */
void bp_tls_add(
	struct bp_tls_info *info, enum bp_tls_name which, const uint8_t *p, uint32_t n, bool list);

#endif
