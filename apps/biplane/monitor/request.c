/* SPDX-License-Identifier: BSD-3-Clause */
#include "apps/biplane/monitor/request.h"

#include <arpa/inet.h>
#include <jansson.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "apps/biplane/monitor/assets.h"
#include "apps/biplane/monitor/health.h"
#include "apps/biplane/metrics/metrics.h"
#include "apps/biplane/monitor/monitor.h"

#define API "/api/v1/"
#define CONSOLE "/console/"

/* ---- answers ---- */

void bp_answer_error(struct bp_http_answer *a, unsigned status, const char *format, ...)
{
	char sentence[512];
	json_t *object;
	va_list args;

	va_start(args, format);
	vsnprintf(sentence, sizeof(sentence), format, args);
	va_end(args);
	free(a->body);
	*a = (struct bp_http_answer){.status = status, .content_type = BP_CONTENT_JSON};
	object = json_pack("{ss}", "error", sentence);
	a->body = object != NULL ? json_dumps(object, JSON_COMPACT) : NULL;
	json_decref(object);
	/* text of the client may be no UTF-8, and then it is not in the answer */
	if (a->body == NULL)
		a->fixed = "{\"error\":\"invalid request\"}";
	a->len = strlen(a->body != NULL ? a->body : a->fixed);
}

void bp_answer_written(struct bp_http_answer *a, const char *content_type,
	bool (*write)(void *arg, FILE *out), void *arg)
{
	char *text = NULL;
	size_t len = 0;
	FILE *out = open_memstream(&text, &len);
	bool whole = out != NULL && write(arg, out);

	if (out != NULL && (ferror(out) | fclose(out)) != 0)
		whole = false;
	if (!whole) {
		free(text);
		bp_answer_error(a, 500, "not enough memory");
		return;
	}
	*a = (struct bp_http_answer){
		.status = 200, .content_type = content_type, .body = text, .len = len};
}

/* ---- arguments ---- */

const char *bp_request_arg(const struct bp_http_request *q, const char *name)
{
	for (unsigned i = 0; i < q->n_args && i < BP_REQUEST_ARGS_MAX; i++)
		if (strcmp(q->arg[i].name, name) == 0)
			return q->arg[i].value;
	return NULL;
}

bool bp_request_args_known(
	const struct bp_http_request *q, struct bp_http_answer *a, const char *const *known)
{
	if (q->n_args > BP_REQUEST_ARGS_MAX) {
		bp_answer_error(a, 400, "more than %u arguments", BP_REQUEST_ARGS_MAX);
		return false;
	}
	for (unsigned i = 0; i < q->n_args; i++) {
		const char *name = q->arg[i].name;
		unsigned k = 0;

		while (known[k] != NULL && strcmp(known[k], name) != 0)
			k++;
		if (known[k] == NULL) {
			bp_answer_error(a, 400, "unknown argument '%.64s'", name);
			return false;
		}
		if (bp_request_arg(q, name) != q->arg[i].value) {
			bp_answer_error(a, 400, "argument '%.64s' is given twice", name);
			return false;
		}
	}
	return true;
}

/* ---- who may ask ---- */

/*
 * The host of the header without its port. A page of another site that resolves its own name to a
 * loopback address (DNS rebinding) sends that name.
 */
static bool is_local_host(const struct bp_config_listen *l, const char *host)
{
	static const char *const local[] = {"localhost", "127.0.0.1", "[::1]", NULL};
	const char *end = host == NULL ? NULL : strrchr(host, ':');
	char own[INET6_ADDRSTRLEN + 4], text[INET6_ADDRSTRLEN];
	size_t len;

	if (host == NULL)
		return true; /* HTTP/1.0: no browser */
	if (end == NULL || strchr(end, ']') != NULL)
		end = host + strlen(host);
	else if (strspn(end + 1, "0123456789") != strlen(end + 1))
		return false;
	len = (size_t)(end - host);
	for (unsigned i = 0; local[i] != NULL; i++)
		if (strlen(local[i]) == len && strncasecmp(local[i], host, len) == 0)
			return true;
	inet_ntop(
		l->address.family == 4 ? AF_INET : AF_INET6, l->address.bytes, text, sizeof(text));
	snprintf(own, sizeof(own), l->address.family == 4 ? "%s" : "[%s]", text);
	return strlen(own) == len && strncasecmp(own, host, len) == 0;
}

static bool host_allowed(const struct bp_monitor *m, const char *host)
{
	const struct bp_config_listen *l = &m->config->monitoring.listen;

	return l->kind != BP_LISTEN_TCP || !bp_config_listen_is_local(l) || is_local_host(l, host);
}

/* Compares in a time that does not depend on the contents. */
static bool token_equal(const char *token, const char *given)
{
	const size_t n = strlen(token), given_len = strlen(given);
	unsigned differs = n != given_len;

	for (size_t i = 0; i < n; i++)
		differs |=
			(unsigned char)token[i] ^ (unsigned char)(i < given_len ? given[i] : '\0');
	return differs == 0;
}

static bool authorized(const struct bp_monitor *m, const char *authorization)
{
	static const char scheme[] = "Bearer ";

	if (m->secrets.token[0] == '\0')
		return true;
	if (authorization == NULL || strncasecmp(authorization, scheme, strlen(scheme)) != 0)
		return false;
	authorization += strlen(scheme);
	return token_equal(m->secrets.token, authorization + strspn(authorization, " "));
}

/* Browsers say which site a request comes from. A page of another site cannot read an answer, but
 * could cause work. */
static bool cross_site(const char *fetch_site)
{
	return fetch_site != NULL && strcmp(fetch_site, "same-origin") != 0 &&
	       strcmp(fetch_site, "none") != 0;
}

/* ---- resources ---- */

/* What needs no token: the page, which has no data of the gateway and asks for the token; and
 * whether the process turns. */
static bool is_public(const char *path)
{
	return strcmp(path, "/") == 0 || strcmp(path, "/livez") == 0 ||
	       strncmp(path, CONSOLE, strlen(CONSOLE)) == 0;
}

static bool write_metrics(void *arg, FILE *out)
{
	const void *const *args = arg;
	const struct bp_monitor *m = args[0];

	return bp_metrics_write(bp_monitor_shm(m), args[1] != NULL, out) == 0;
}

static void answer_metrics(
	struct bp_monitor *m, const struct bp_http_request *q, struct bp_http_answer *a)
{
	static const char *const none[] = {NULL};
	const bool openmetrics = bp_accepts_openmetrics(q->accept);
	const void *args[] = {m, openmetrics ? "" : NULL};

	if (bp_request_args_known(q, a, none))
		bp_answer_written(a, openmetrics ? BP_METRICS_OPENMETRICS : BP_METRICS_TEXT,
			write_metrics, args);
}

static void answer_asset(const struct bp_http_request *q, struct bp_http_answer *a)
{
	const char *name = strcmp(q->path, "/") == 0 ? "index.html" : q->path + strlen(CONSOLE);

	for (const struct bp_monitor_asset *f = bp_monitor_assets; f->name != NULL; f++) {
		if (strcmp(f->name, name) != 0)
			continue;
		*a = (struct bp_http_answer){.status = 200,
			.content_type = f->content_type,
			.etag = f->etag,
			.fixed = (const char *)f->data,
			.len = f->len};
		if (q->if_none_match != NULL && strcmp(q->if_none_match, f->etag) == 0) {
			a->status = 304;
			a->len = 0;
		}
		return;
	}
	bp_answer_error(a, 404, "there is no such page");
}

static void answer_api(
	struct bp_monitor *m, const struct bp_http_request *q, struct bp_http_answer *a)
{
	const char *path = q->path + strlen(API);

	for (const struct bp_api_resource *r = bp_api_resources; r->name != NULL; r++) {
		const size_t n = strlen(r->name);

		if (strncmp(path, r->name, n) == 0 && (path[n] == '\0' || path[n] == '/')) {
			r->answer(m, q, path + n, a);
			return;
		}
	}
	bp_answer_error(a, 404, "there is no such resource");
}

static void answer_get(
	struct bp_monitor *m, const struct bp_http_request *q, struct bp_http_answer *a)
{
	if (strncmp(q->path, API, strlen(API)) == 0)
		answer_api(m, q, a);
	else if (strcmp(q->path, "/metrics") == 0)
		answer_metrics(m, q, a);
	else if (strcmp(q->path, "/livez") == 0)
		bp_health_live(a);
	else if (strcmp(q->path, "/readyz") == 0)
		bp_health_ready(m, a);
	else if (is_public(q->path))
		answer_asset(q, a);
	else
		bp_answer_error(a, 404, "there is no such resource");
}

static void answer(struct bp_monitor *m, const struct bp_http_request *q, struct bp_http_answer *a)
{
	*a = (struct bp_http_answer){.status = 500};
	if (strcmp(q->method, "GET") != 0 && strcmp(q->method, "HEAD") != 0) {
		bp_answer_error(a, 405, "only GET and HEAD are allowed: everything is read-only");
	} else if (!host_allowed(m, q->host)) {
		bp_answer_error(a, 421,
			"the header Host is neither localhost nor the address of "
			"monitoring.listen");
	} else if (!is_public(q->path) && !authorized(m, q->authorization)) {
		bp_monitor_counters.unauthorized++;
		bp_answer_error(a, 401,
			"expected the header Authorization: Bearer TOKEN, with the token of "
			"monitoring.token_file");
	} else if (!is_public(q->path) && cross_site(q->fetch_site)) {
		bp_answer_error(a, 403, "requests from pages of another site are not answered");
	} else {
		answer_get(m, q, a);
	}
}

void bp_request_answer(
	struct bp_monitor *m, const struct bp_http_request *q, struct bp_http_answer *a)
{
	struct bp_monitor_counters *c = &bp_monitor_counters;
	const uint64_t begin = bp_monitor_mono_ns();

	answer(m, q, a);
	c->answer_ns += bp_monitor_mono_ns() - begin;
	c->requests++;
	c->requests_4xx += a->status / 100 == 4;
	c->requests_5xx += a->status / 100 == 5;
}
