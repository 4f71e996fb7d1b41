/* SPDX-License-Identifier: BSD-3-Clause */
#include "controlplane/health/cse/cse_http_request.h"

#include <stdio.h>
#include <string.h>

#define URL_MAX 2048
#define SEGMENT_MAX 255u /* bytes, as with CoAP */
#define HEADER_MAX 320
#define OK 2000
#define UPDATED 2004

enum bp_http_operation bp_http_operation_of(const struct bp_m2m_request *q)
{
	if (q->ty != 0)
		return BP_HTTP_CREATE;
	return q->body != NULL ? BP_HTTP_UPDATE : BP_HTTP_RETRIEVE;
}

/* ---- request ---- */

/* Characters that a path segment may contain unescaped (RFC 3986, 2.3). */
static bool is_unreserved(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
	       (c != '\0' && strchr("-._~", c) != NULL);
}

/* Appends "/" and the segment; false: it is empty or too long. */
static bool add_segment(char url[URL_MAX], size_t *used, const char *p, size_t len)
{
	if (len == 0 || len > SEGMENT_MAX || *used + 1 + 3 * len >= URL_MAX)
		return false;
	url[(*used)++] = '/';
	for (size_t i = 0; i < len; i++) {
		if (is_unreserved(p[i]))
			url[(*used)++] = p[i];
		else
			*used += (size_t)snprintf(url + *used, 4, "%%%02X", (unsigned char)p[i]);
	}
	url[*used] = '\0';
	return true;
}

static bool write_url(char url[URL_MAX], const char *authority, const struct bp_m2m_request *q)
{
	size_t used = (size_t)snprintf(url, URL_MAX, "%s", authority);
	const char *p = q->path;

	for (;; p++) {
		const size_t len = strcspn(p, "/");

		if (!add_segment(url, &used, p, len))
			return false;
		p += len;
		if (*p == '\0')
			break;
	}
	if (q->query == NULL)
		return true;
	return (size_t)snprintf(url + used, URL_MAX - used, "?%s", q->query) < URL_MAX - used;
}

/* Returns whether the text has no character that would end a header, or that no originator
 * contains. */
static bool is_text(const char *p)
{
	size_t len = 0;

	for (; p[len] != '\0' && len <= SEGMENT_MAX; len++)
		if (p[len] <= ' ' || p[len] > '~')
			return false;
	return len > 0 && len <= SEGMENT_MAX;
}

static bool add_header(struct curl_slist **list, const char *name, const char *value)
{
	char line[HEADER_MAX];
	struct curl_slist *more;

	snprintf(line, sizeof(line), "%s: %s", name, value);
	more = curl_slist_append(*list, line);
	if (more == NULL)
		return false;
	*list = more;
	return true;
}

static bool add_headers(struct curl_slist **list, enum bp_m2m_release release, const char *rqi,
	const struct bp_m2m_request *q)
{
	const char *rvi = bp_m2m_options[release].rvi_text;
	char type[64] = "application/json";

	if (q->ty != 0)
		snprintf(type, sizeof(type), "application/json;ty=%u", q->ty);
	return add_header(list, "X-M2M-Origin", q->fr) && add_header(list, "X-M2M-RI", rqi) &&
	       (rvi == NULL || add_header(list, "X-M2M-RVI", rvi)) &&
	       (q->body == NULL || add_header(list, "Content-Type", type)) &&
	       add_header(list, "Accept", "application/json");
}

/* libcurl sends a PUT from memory as a POST with another method name. */
static bool set_method(CURL *e, const struct bp_m2m_request *q)
{
	const curl_off_t len = (curl_off_t)(q->body != NULL ? q->body_len : 0);

	if (bp_http_operation_of(q) == BP_HTTP_RETRIEVE)
		return curl_easy_setopt(e, CURLOPT_HTTPGET, 1L) == CURLE_OK;
	if (bp_http_operation_of(q) == BP_HTTP_UPDATE &&
		curl_easy_setopt(e, CURLOPT_CUSTOMREQUEST, "PUT") != CURLE_OK)
		return false;
	return curl_easy_setopt(e, CURLOPT_POST, 1L) == CURLE_OK &&
	       curl_easy_setopt(e, CURLOPT_POSTFIELDSIZE_LARGE, len) == CURLE_OK &&
	       curl_easy_setopt(e, CURLOPT_COPYPOSTFIELDS, q->body != NULL ? q->body : "") ==
		       CURLE_OK;
}

enum bp_http_written bp_http_request_write(CURL *easy, struct curl_slist **headers,
	const char *authority, enum bp_m2m_release release, uint32_t serial,
	const struct bp_m2m_request *q)
{
	char url[URL_MAX], own[16];
	const char *rqi = q->rqi != NULL ? q->rqi : own;

	snprintf(own, sizeof(own), "p%x", serial);
	if (!write_url(url, authority, q) || !is_text(q->fr) || !is_text(rqi) ||
		(q->body != NULL && q->body_len > BP_HTTP_BODY_MAX))
		return BP_HTTP_UNREPRESENTABLE;
	if (!add_headers(headers, release, rqi, q) ||
		curl_easy_setopt(easy, CURLOPT_URL, url) != CURLE_OK ||
		/* a segment may be "..", which is an ordinary name */
		curl_easy_setopt(easy, CURLOPT_PATH_AS_IS, 1L) != CURLE_OK ||
		curl_easy_setopt(easy, CURLOPT_HTTPHEADER, *headers) != CURLE_OK ||
		!set_method(easy, q))
		return BP_HTTP_NO_MEMORY;
	return BP_HTTP_WRITTEN;
}

/* ---- response ---- */

/* Reads exactly four digits; returns 0 if the text is anything else. */
static uint16_t read_rsc(const char *p)
{
	unsigned n = 0;

	if (strlen(p) != 4)
		return 0;
	for (; *p != '\0'; p++) {
		if (*p < '0' || *p > '9')
			return 0;
		n = n * 10 + (unsigned)(*p - '0');
	}
	return (uint16_t)n;
}

/* Returns the CoAP code of the same success (TS-0008). */
static uint8_t success_of(uint16_t rsc, enum bp_http_operation operation)
{
	if (rsc == BP_M2M_CREATED && operation == BP_HTTP_CREATE)
		return BP_COAP_CODE(2, 1);
	if (rsc == OK && operation == BP_HTTP_RETRIEVE)
		return BP_COAP_CODE(2, 5);
	return rsc == UPDATED && operation == BP_HTTP_UPDATE ? BP_COAP_CODE(2, 4) : 0;
}

static uint8_t code_of(long status, uint16_t rsc, enum bp_http_operation operation)
{
	const long class_ = status / 100, detail = status % 100;

	if (class_ == 2)
		return success_of(rsc, operation);
	if ((class_ != 4 && class_ != 5) || rsc < 4000)
		return 0;
	return (uint8_t)BP_COAP_CODE((unsigned)class_, detail <= 31 ? (unsigned)detail : 0u);
}

bool bp_http_reply_read(CURL *easy, enum bp_http_operation operation, struct bp_m2m_reply *out)
{
	struct curl_header *h;
	long status = 0;

	if (curl_easy_header(easy, "X-M2M-RSC", 0, CURLH_HEADER, -1, &h) != CURLHE_OK ||
		h->amount != 1 ||
		curl_easy_getinfo(easy, CURLINFO_RESPONSE_CODE, &status) != CURLE_OK)
		return false;
	out->rsc = read_rsc(h->value);
	out->code = code_of(status, out->rsc, operation);
	return out->rsc != 0;
}
