/* SPDX-License-Identifier: BSD-3-Clause */
#include "proto/tls/tls.h"

#include <string.h>

#define RECORD_HEAD 5u
#define RECORD_MAX (16384u + 256u)
#define HANDSHAKE 22
#define MESSAGE_HEAD 4u
enum { CLIENT_HELLO = 1, SERVER_HELLO = 2, CERTIFICATE = 11 };
enum { EXT_SERVER_NAME = 0, EXT_ALPN = 16, EXT_SUPPORTED_VERSIONS = 43 };
#define TLS_1_3 0x0304
#define RANDOM 32u

/* Bytes that are read from the front; a length that exceeds them ends the reading. */
struct view {
	const uint8_t *p;
	uint32_t n;
};

/* Takes n bytes. False: there are not as many. */
static bool take(struct view *v, uint32_t n, struct view *out)
{
	if (n > v->n)
		return false;
	*out = (struct view){v->p, n};
	v->p += n;
	v->n -= n;
	return true;
}

static bool take_number(struct view *v, unsigned bytes, uint32_t *out)
{
	struct view b;

	if (!take(v, bytes, &b))
		return false;
	*out = 0;
	for (unsigned i = 0; i < bytes; i++)
		*out = *out << 8 | b.p[i];
	return true;
}

/* Takes a vector with a length of this many bytes. */
static bool take_vector(struct view *v, unsigned bytes, struct view *out)
{
	uint32_t n;

	return take_number(v, bytes, &n) && take(v, n, out);
}

/*
 * The bytes of handshake messages in p[0..n), to out. BP_TLS_OK: a record of another type follows
 * them; BP_TLS_BAD: none does. BP_TLS_MORE: *need, the end of the last record.
 */
static enum bp_tls unwrap(
	const uint8_t *p, uint32_t n, uint8_t *out, uint32_t *out_n, uint32_t *need)
{
	uint32_t at = 0;

	*out_n = 0;
	for (;;) {
		uint32_t len, here;

		*need = at + RECORD_HEAD;
		if (n - at < RECORD_HEAD)
			return BP_TLS_MORE;
		if (p[at] != HANDSHAKE)
			return BP_TLS_OK;
		len = (uint32_t)p[at + 3] << 8 | p[at + 4];
		if (p[at + 1] != 3 || len == 0 || len > RECORD_MAX)
			return BP_TLS_BAD;
		at += RECORD_HEAD;
		here = len < n - at ? len : n - at;
		memcpy(out + *out_n, p + at, here);
		*out_n += here;
		at += here;
		*need = at + (len - here);
		if (here < len)
			return BP_TLS_MORE;
	}
}

/* ---- ClientHello ---- */

static void read_server_name(struct view v, struct bp_tls_info *info)
{
	struct view list, name;
	uint32_t type;

	if (take_vector(&v, 2, &list) && take_number(&list, 1, &type) && type == 0 &&
		take_vector(&list, 2, &name))
		bp_tls_add(info, BP_TLS_SERVER_NAME, name.p, name.n, false);
}

static void read_alpn(struct view v, struct bp_tls_info *info)
{
	struct view list, name;

	if (!take_vector(&v, 2, &list))
		return;
	while (take_vector(&list, 1, &name))
		bp_tls_add(info, BP_TLS_ALPN, name.p, name.n, true);
}

/* The extensions of a hello; of the end, those that are complete. */
static void read_client_extensions(struct view v, struct bp_tls_info *info)
{
	struct view body;
	uint32_t type;

	while (take_number(&v, 2, &type) && take_vector(&v, 2, &body)) {
		if (type == EXT_SERVER_NAME && info->text[BP_TLS_SERVER_NAME].len == 0)
			read_server_name(body, info);
		else if (type == EXT_ALPN && info->text[BP_TLS_ALPN].len == 0)
			read_alpn(body, info);
	}
}

static void read_client_hello(struct view v, struct bp_tls_info *info)
{
	struct view skipped;
	uint32_t n;

	if (take(&v, 2 + RANDOM, &skipped) && take_vector(&v, 1, &skipped) &&
		take_vector(&v, 2, &skipped) && take_vector(&v, 1, &skipped) &&
		take_number(&v, 2, &n))
		read_client_extensions(v, info);
}

enum bp_tls bp_tls_client(
	const uint8_t *p, uint32_t n, uint8_t *scratch, struct bp_tls_info *info, uint32_t *need)
{
	uint32_t have, len;
	const enum bp_tls e = unwrap(p, n, scratch, &have, need);
	struct view v = {scratch, have};
	uint32_t type;

	memset(info, 0, sizeof(*info));
	if (!bp_tls_begins(p, n) || (have >= 1 && scratch[0] != CLIENT_HELLO))
		return BP_TLS_BAD;
	if (!take_number(&v, 1, &type) || !take_number(&v, 3, &len))
		return e == BP_TLS_MORE ? BP_TLS_MORE : BP_TLS_BAD;
	if (v.n > len)
		v.n = len;
	read_client_hello(v, info);
	if (v.n == len)
		return BP_TLS_OK;
	return e == BP_TLS_MORE ? BP_TLS_MORE : BP_TLS_BAD;
}

/* ---- the first flight of the server ---- */

/* Whether the certificate is encrypted. */
static bool is_tls_1_3(struct view v)
{
	struct view skipped, extensions, body;
	uint32_t type, version;

	if (!take(&v, 2 + RANDOM, &skipped) || !take_vector(&v, 1, &skipped) ||
		!take(&v, 3, &skipped) || !take_vector(&v, 2, &extensions))
		return false;
	while (take_number(&extensions, 2, &type) && take_vector(&extensions, 2, &body))
		if (type == EXT_SUPPORTED_VERSIONS && take_number(&body, 2, &version))
			return version >= TLS_1_3;
	return false;
}

/* The first certificate of the list, the server's own. False: its end is missing. */
static bool read_certificates(struct view v, struct bp_tls_info *info)
{
	uint32_t list, n;

	if (!take_number(&v, 3, &list) || !take_number(&v, 3, &n))
		return false;
	bp_tls_certificate(v.p, n < v.n ? n : v.n, info);
	return n <= v.n;
}

enum bp_tls bp_tls_server(
	const uint8_t *p, uint32_t n, uint8_t *scratch, struct bp_tls_info *info, uint32_t *need)
{
	uint32_t have, len;
	const enum bp_tls e = unwrap(p, n, scratch, &have, need);
	struct view v = {scratch, have};
	uint32_t type;

	info->text[BP_TLS_SUBJECT].len = info->text[BP_TLS_NAMES].len = 0;
	while (take_number(&v, 1, &type) && take_number(&v, 3, &len)) {
		const struct view body = {v.p, len < v.n ? len : v.n};

		if (type == CERTIFICATE)
			return read_certificates(body, info) ? BP_TLS_OK : e;
		if (len > v.n)
			return e;
		/* a resumption has no certificate */
		if (type != SERVER_HELLO || is_tls_1_3(body))
			return BP_TLS_OK;
		v.p += len;
		v.n -= len;
	}
	return e;
}
