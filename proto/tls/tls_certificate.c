/* SPDX-License-Identifier: BSD-3-Clause */
#include "proto/tls/tls.h"

#include <string.h>

/* The names in an X.509 certificate (RFC 5280). Elements of DER that are cut are read up to where
 * they are. */

enum {
	TAG_OCTET_STRING = 0x04,
	TAG_OID = 0x06,
	TAG_SEQUENCE = 0x30,
	TAG_SET = 0x31,
	TAG_VERSION = 0xa0,    /* [0] of a TBSCertificate */
	TAG_EXTENSIONS = 0xa3, /* [3] of it */
	TAG_DNS_NAME = 0x82,   /* [2] of a GeneralName */
};

struct der {
	const uint8_t *p;
	uint32_t n;
};

struct element {
	uint8_t tag;
	struct der content;
};

/* Takes the next element of `d`. The last one may be longer than `d`: its content ends there. */
static bool next(struct der *d, struct element *e)
{
	uint32_t len, head = 2;

	if (d->n < 2)
		return false;
	e->tag = d->p[0];
	len = d->p[1];
	if (len >= 0x80) {
		/* no certificate here has 16 MiB, and DER has no indefinite lengths */
		const uint32_t bytes = len & 0x7f;

		if (bytes == 0 || bytes > 3 || d->n < 2 + bytes)
			return false;
		len = 0;
		for (; head < 2 + bytes; head++)
			len = len << 8 | d->p[head];
	}
	if (len > d->n - head)
		len = d->n - head;
	e->content = (struct der){d->p + head, len};
	d->p += head + len;
	d->n -= head + len;
	return true;
}

/* Takes the next element, which has this tag. */
static bool expect(struct der *d, uint8_t tag, struct der *content)
{
	struct element e;

	if (!next(d, &e) || e.tag != tag)
		return false;
	*content = e.content;
	return true;
}

static bool is_oid(struct der d, uint8_t a, uint8_t b, uint8_t c)
{
	return d.n == 3 && d.p[0] == a && d.p[1] == b && d.p[2] == c;
}

void bp_tls_add(
	struct bp_tls_info *info, enum bp_tls_name which, const uint8_t *p, uint32_t n, bool list)
{
	static const uint8_t most[BP_TLS_TEXTS] = {[BP_TLS_SERVER_NAME] = BP_TLS_SERVER_NAME_MAX,
		[BP_TLS_ALPN] = BP_TLS_ALPN_MAX,
		[BP_TLS_SUBJECT] = BP_TLS_SUBJECT_MAX,
		[BP_TLS_NAMES] = BP_TLS_NAMES_MAX};
	struct bp_tls_text *t = &info->text[which];

	if (list && t->len != 0 && t->len < most[which])
		t->bytes[t->len++] = ',';
	if (n > (uint32_t)(most[which] - t->len))
		n = (uint32_t)(most[which] - t->len);
	/* readers end a text at a NUL */
	for (uint32_t i = 0; i < n; i++)
		t->bytes[t->len++] = p[i] != 0 ? p[i] : '?';
}

/* A Name: the last common name is the most specific one. */
static void read_subject(struct der name, struct bp_tls_info *info)
{
	struct der set, pair, oid;
	struct element value;

	while (expect(&name, TAG_SET, &set)) {
		while (expect(&set, TAG_SEQUENCE, &pair)) {
			if (!expect(&pair, TAG_OID, &oid) || !is_oid(oid, 0x55, 0x04, 0x03) ||
				!next(&pair, &value))
				continue;
			info->text[BP_TLS_SUBJECT].len = 0;
			bp_tls_add(info, BP_TLS_SUBJECT, value.content.p, value.content.n, false);
		}
	}
}

static void read_names(struct der d, struct bp_tls_info *info)
{
	struct element name;
	struct der list;

	if (!expect(&d, TAG_SEQUENCE, &list))
		return;
	while (next(&list, &name))
		if (name.tag == TAG_DNS_NAME)
			bp_tls_add(info, BP_TLS_NAMES, name.content.p, name.content.n, true);
}

static void read_extensions(struct der d, struct bp_tls_info *info)
{
	struct der list, extension, oid;
	struct element e;

	if (!expect(&d, TAG_SEQUENCE, &list))
		return;
	while (expect(&list, TAG_SEQUENCE, &extension)) {
		if (!expect(&extension, TAG_OID, &oid) || !is_oid(oid, 0x55, 0x1d, 0x11))
			continue;
		while (next(&extension, &e)) /* critical, or the value */
			if (e.tag == TAG_OCTET_STRING)
				read_names(e.content, info);
	}
}

void bp_tls_certificate(const uint8_t *p, uint32_t n, struct bp_tls_info *info)
{
	struct der d = {p, n}, certificate, tbs, subject;
	struct element e;

	if (!expect(&d, TAG_SEQUENCE, &certificate) || !expect(&certificate, TAG_SEQUENCE, &tbs) ||
		!next(&tbs, &e))
		return;
	if (e.tag == TAG_VERSION && !next(&tbs, &e)) /* the serial number */
		return;
	/* signature, issuer, validity */
	for (unsigned i = 0; i < 3; i++)
		if (!next(&tbs, &e))
			return;
	if (!expect(&tbs, TAG_SEQUENCE, &subject))
		return;
	read_subject(subject, info);
	while (next(&tbs, &e))
		if (e.tag == TAG_EXTENSIONS)
			read_extensions(e.content, info);
}
