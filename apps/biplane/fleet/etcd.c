/* SPDX-License-Identifier: BSD-3-Clause */
#include "apps/biplane/fleet/etcd.h"

#include <curl/curl.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "apps/biplane/fleet/bounded_json.h"
#include "config/messages.h"

#define SERVERS_MAX 8u

struct answer {
	char *text;
	size_t len;
	bool too_long;
};

struct bp_etcd {
	CURL *curl;
	char servers[512]; /* HOST:PORT, each followed by NUL */
	const char *server[SERVERS_MAX];
	unsigned n_servers, current;
	bool tls;
	char username[64], password[256], token[2048];
	struct answer answer;
	uint64_t round_end_ns; /* CLOCK_MONOTONIC; 0: none */
	uint64_t call_end_ns;
	bool (*waiting)(void *arg);
	void *arg;
};

static uint64_t mono_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000ull + (uint64_t)t.tv_nsec;
}

static size_t on_data(char *data, size_t size, size_t n, void *arg)
{
	struct answer *a = arg;
	const size_t len = size * n;
	char *more;

	if (len > BP_ETCD_ANSWER_MAX - a->len) {
		a->too_long = true;
		return 0;
	}
	more = realloc(a->text, a->len + len + 1);
	if (more == NULL)
		return 0;
	a->text = more;
	memcpy(a->text + a->len, data, len);
	a->len += len;
	a->text[a->len] = '\0';
	return len;
}

static int on_progress(void *arg, curl_off_t a, curl_off_t b, curl_off_t c, curl_off_t d)
{
	const struct bp_etcd *e = arg;

	(void)a;
	(void)b;
	(void)c;
	(void)d;
	return e->waiting != NULL && e->waiting(e->arg);
}

static bool read_password(struct bp_etcd *e, const char *path, char *err, size_t err_size)
{
	FILE *f = fopen(path, "re");

	if (f == NULL || fgets(e->password, sizeof(e->password), f) == NULL) {
		snprintf(err, err_size, "fleet.config.password_file: cannot read %s: %s", path,
			f == NULL ? strerror(errno) : "it is empty");
		if (f != NULL)
			fclose(f);
		return false;
	}
	fclose(f);
	e->password[strcspn(e->password, "\r\n")] = '\0';
	return true;
}

static void split_servers(struct bp_etcd *e, const char *url)
{
	char *rest, *host;

	e->tls = strncmp(url, "etcds://", 8) == 0;
	snprintf(e->servers, sizeof(e->servers), "%s", strstr(url, "://") + 3);
	rest = e->servers;
	while (e->n_servers < SERVERS_MAX && (host = strsep(&rest, ",")) != NULL)
		e->server[e->n_servers++] = host;
}

static void set_options(struct bp_etcd *e, const struct bp_config_fleet_config *c)
{
	curl_easy_setopt(e->curl, CURLOPT_NOSIGNAL, 1L);
	curl_easy_setopt(e->curl, CURLOPT_QUICK_EXIT, 1L); /* waits for no resolver */
	curl_easy_setopt(e->curl, CURLOPT_PROTOCOLS_STR, "http,https");
	curl_easy_setopt(e->curl, CURLOPT_FOLLOWLOCATION, 0L);
	curl_easy_setopt(e->curl, CURLOPT_PROXY, "");
	curl_easy_setopt(e->curl, CURLOPT_CONNECTTIMEOUT_MS, (long)BP_ETCD_CONNECT_MS);
	curl_easy_setopt(e->curl, CURLOPT_WRITEFUNCTION, on_data);
	curl_easy_setopt(e->curl, CURLOPT_WRITEDATA, &e->answer);
	curl_easy_setopt(e->curl, CURLOPT_NOPROGRESS, 0L);
	curl_easy_setopt(e->curl, CURLOPT_XFERINFOFUNCTION, on_progress);
	curl_easy_setopt(e->curl, CURLOPT_XFERINFODATA, e);
	if (c->ca_file[0] != '\0')
		curl_easy_setopt(e->curl, CURLOPT_CAINFO, c->ca_file);
	if (c->cert_file[0] != '\0') {
		curl_easy_setopt(e->curl, CURLOPT_SSLCERT, c->cert_file);
		curl_easy_setopt(e->curl, CURLOPT_SSLKEY, c->key_file);
	}
}

struct bp_etcd *bp_etcd_new(const struct bp_config_fleet_config *c, bool (*waiting)(void *arg),
	void *arg, char *err, size_t err_size)
{
	struct bp_etcd *e = calloc(1, sizeof(*e));

	if (e != NULL)
		e->curl = curl_easy_init();
	if (e == NULL || e->curl == NULL) {
		snprintf(err, err_size, "no memory for the client of etcd");
		free(e);
		return NULL;
	}
	e->waiting = waiting;
	e->arg = arg;
	split_servers(e, c->server);
	set_options(e, c);
	snprintf(e->username, sizeof(e->username), "%s", c->username);
	if (c->username[0] != '\0' && !read_password(e, c->password_file, err, err_size)) {
		bp_etcd_free(e);
		return NULL;
	}
	return e;
}

void bp_etcd_free(struct bp_etcd *e)
{
	if (e == NULL)
		return;
	curl_easy_cleanup(e->curl);
	free(e->answer.text);
	explicit_bzero(e, sizeof(*e));
	free(e);
}

void bp_etcd_begin(struct bp_etcd *e, unsigned ms)
{
	e->round_end_ns = mono_ns() + ms * 1000000ull;
}

/* ---- requests ---- */

static void begin_call(struct bp_etcd *e)
{
	e->call_end_ns = mono_ns() + BP_ETCD_CALL_MS * 1000000ull;
	if (e->round_end_ns != 0 && e->round_end_ns < e->call_end_ns)
		e->call_end_ns = e->round_end_ns;
}

/* The time of the next server, so that a silent one leaves the same time to each of the others. */
static long share_ms(const struct bp_etcd *e, unsigned servers)
{
	const uint64_t now = mono_ns();

	return e->call_end_ns > now ? (long)((e->call_end_ns - now) / 1000000 / servers) : 0;
}

static CURLcode send_to(struct bp_etcd *e, const char *server, const char *path, const char *body)
{
	struct curl_slist *headers = curl_slist_append(NULL, "Content-Type: application/json");
	char url[512], token[2048 + 64];
	CURLcode rc;

	snprintf(url, sizeof(url), "%s://%s%s", e->tls ? "https" : "http", server, path);
	if (e->token[0] != '\0') {
		snprintf(token, sizeof(token), "Authorization: %s", e->token);
		headers = curl_slist_append(headers, token);
	}
	free(e->answer.text);
	e->answer = (struct answer){.text = NULL};
	curl_easy_setopt(e->curl, CURLOPT_URL, url);
	curl_easy_setopt(e->curl, CURLOPT_HTTPHEADER, headers);
	curl_easy_setopt(e->curl, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)strlen(body));
	curl_easy_setopt(e->curl, CURLOPT_POSTFIELDS, body);
	rc = curl_easy_perform(e->curl);
	curl_slist_free_all(headers);
	return rc;
}

/* The error of etcd, or the begin of the answer. */
static void describe_refusal(
	struct bp_etcd *e, const char *server, long status, char *err, size_t err_size)
{
	json_t *answer = bp_fleet_json(e->answer.text, e->answer.len);
	const char *why = json_string_value(json_object_get(answer, "error"));
	char shown[BP_SHOWN];

	snprintf(err, err_size, "etcd %s: HTTP status %ld%s%s", server, status,
		why != NULL ? ": " : "", why != NULL ? bp_shown(why, strlen(why), shown) : "");
	json_decref(answer);
}

/* Sends to one server. The answer, or NULL with a sentence; *again: another server may help. */
static json_t *ask(struct bp_etcd *e, const char *server, const char *path, const char *body,
	long *status, char *err, size_t err_size)
{
	const CURLcode rc = send_to(e, server, path, body);
	json_t *answer;

	*status = 0;
	if (rc != CURLE_OK) {
		snprintf(err, err_size, "etcd %s: %s", server,
			e->answer.too_long ? "the answer is too long" : curl_easy_strerror(rc));
		return NULL;
	}
	curl_easy_getinfo(e->curl, CURLINFO_RESPONSE_CODE, status);
	if (*status != 200) {
		describe_refusal(e, server, *status, err, err_size);
		return NULL;
	}
	answer = bp_fleet_json(e->answer.text != NULL ? e->answer.text : "", e->answer.len);
	if (json_is_object(answer))
		return answer;
	snprintf(err, err_size, "etcd %s: the answer is not a JSON object of at most %u values",
		server, BP_FLEET_JSON_VALUES_MAX);
	json_decref(answer);
	return NULL;
}

/* Asks the servers in turn, the last one that answered first. */
static json_t *ask_any(struct bp_etcd *e, const char *path, const char *body, long *status,
	char *err, size_t err_size)
{
	json_t *answer = NULL;

	*status = 0;
	for (unsigned i = 0; i < e->n_servers && answer == NULL; i++) {
		const long ms = share_ms(e, e->n_servers - i);

		if (ms <= 0) { /* 0 is no limit for curl */
			snprintf(err, err_size, "etcd %s: no time is left for the request",
				e->server[e->current]);
			break;
		}
		curl_easy_setopt(e->curl, CURLOPT_TIMEOUT_MS, ms);
		answer = ask(e, e->server[e->current], path, body, status, err, err_size);
		if (answer != NULL || *status == 400 || *status == 401 ||
			(e->waiting != NULL && e->waiting(e->arg)))
			break;
		e->current = (e->current + 1) % e->n_servers;
	}
	return answer;
}

static bool log_in(struct bp_etcd *e, char *err, size_t err_size)
{
	json_t *request = json_pack("{ss ss}", "name", e->username, "password", e->password);
	char *body = request != NULL ? json_dumps(request, JSON_COMPACT) : NULL;
	json_t *answer;
	const char *token;
	long status;

	e->token[0] = '\0';
	answer = body != NULL ? ask_any(e, "/v3/auth/authenticate", body, &status, err, err_size)
			      : NULL;
	token = json_string_value(json_object_get(answer, "token"));
	if (token != NULL && strlen(token) < sizeof(e->token) && strpbrk(token, "\r\n") == NULL)
		snprintf(e->token, sizeof(e->token), "%s", token);
	else if (answer != NULL)
		snprintf(err, err_size, "etcd: the answer to the login has no valid token");
	if (body != NULL)
		explicit_bzero(body, strlen(body));
	free(body);
	json_decref(request);
	json_decref(answer);
	return e->token[0] != '\0';
}

/* Takes the reference to the request. */
static json_t *call(
	struct bp_etcd *e, const char *path, json_t *request, char *err, size_t err_size)
{
	char *body = request != NULL ? json_dumps(request, JSON_COMPACT) : NULL;
	json_t *answer = NULL;
	long status = 0;

	json_decref(request);
	if (body == NULL) {
		snprintf(err, err_size, "no memory for a request to etcd");
		return NULL;
	}
	begin_call(e);
	if (e->username[0] == '\0' || e->token[0] != '\0' || log_in(e, err, err_size))
		answer = ask_any(e, path, body, &status, err, err_size);
	/* tokens expire; etcd answers 400 after a change of its users */
	if (answer == NULL && (status == 401 || status == 400) && e->username[0] != '\0' &&
		log_in(e, err, err_size))
		answer = ask_any(e, path, body, &status, err, err_size);
	free(body);
	return answer;
}

/* Whether the rows from `first` on have keys of the range: readers rely on the prefix. */
static bool in_range(
	const struct bp_etcd_rows *rows, unsigned first, const char *key, enum bp_etcd_range range)
{
	const size_t len = strlen(key) + (range == BP_ETCD_KEY);

	for (unsigned i = first; i < rows->n; i++)
		if (strncmp(rows->row[i].key, key, len) != 0)
			return false;
	return true;
}

/* The first key behind the last one that was read. */
static json_t *behind(const struct bp_etcd_rows *rows)
{
	const char *last = rows->row[rows->n - 1].key;

	return bp_etcd_encode(last, strlen(last) + 1);
}

/* The next page; *more: there is another one. */
static int read_page(struct bp_etcd *e, const char *key, json_t *end, enum bp_etcd_range range,
	struct bp_etcd_rows *rows, bool *more, char *err, size_t err_size)
{
	const unsigned before = rows->n;
	json_t *request = json_pack("{so sI sb}", "key",
		before == 0 ? bp_etcd_encode(key, strlen(key)) : behind(rows), "limit",
		(json_int_t)BP_ETCD_PAGE, "keys_only", range == BP_ETCD_NAMES_BELOW);
	json_t *answer;
	int rc = -1;

	if (end != NULL)
		json_object_set(request, "range_end", end);
	answer = call(e, "/v3/kv/range", request, err, err_size);
	if (answer == NULL)
		return -1;
	*more = json_is_true(json_object_get(answer, "more"));
	if (!bp_etcd_rows_add(json_object_get(answer, "kvs"), rows) || (*more && rows->n == before))
		snprintf(err, err_size, "etcd: the answer has invalid keys or values");
	else if (!in_range(rows, before, key, range))
		snprintf(err, err_size,
			"etcd: the answer has a key that was not requested; expected %s%s",
			range == BP_ETCD_KEY ? "" : "keys that begin with ", key);
	else
		rc = 0;
	json_decref(answer);
	return rc;
}

int bp_etcd_read(struct bp_etcd *e, const char *key, enum bp_etcd_range range,
	struct bp_etcd_rows *rows, char *err, size_t err_size)
{
	const unsigned max = range == BP_ETCD_NAMES_BELOW ? BP_ETCD_NAMES_MAX : BP_ETCD_KEYS_MAX;
	const size_t len = strlen(key);
	json_t *end = NULL;
	size_t bytes;
	bool more = false;
	char last[1024];
	int rc;

	*rows = (struct bp_etcd_rows){.n = 0};
	if (len == 0 || len >= sizeof(last)) {
		snprintf(err, err_size, "the key is too long for etcd");
		return -1;
	}
	if (range != BP_ETCD_KEY) {
		/* the range ends before the prefix with its last byte incremented */
		memcpy(last, key, len);
		last[len - 1]++;
		end = bp_etcd_encode(last, len);
	}
	rc = read_page(e, key, end, range, rows, &more, err, err_size);
	bytes = e->answer.len;
	while (rc == 0 && more && rows->n < max && bytes <= BP_ETCD_READ_MAX) {
		rc = read_page(e, key, end, range, rows, &more, err, err_size);
		bytes += e->answer.len;
	}
	if (rc == 0 && more) {
		snprintf(err, err_size, "etcd: more than %u keys or %u MiB below %s", max,
			BP_ETCD_READ_MAX >> 20, key);
		rc = -1;
	}
	json_decref(end);
	return rc;
}

static void add_write(const struct bp_etcd_write *w, json_t *compare, json_t *success)
{
	char revision[24];
	json_t *put = json_pack("{so so}", "key", bp_etcd_encode(w->key, strlen(w->key)), "value",
		bp_etcd_encode(w->value, strlen(w->value)));

	if (w->lease != NULL)
		json_object_set_new(put, "lease", json_string(w->lease));
	json_array_append_new(success, json_pack("{so}", "request_put", put));
	if (!w->conditional)
		return;
	snprintf(revision, sizeof(revision), "%" PRId64, w->mod_revision);
	json_array_append_new(
		compare, json_pack("{so ss ss ss}", "key", bp_etcd_encode(w->key, strlen(w->key)),
				 "target", "MOD", "result", "EQUAL", "mod_revision", revision));
}

int bp_etcd_write(struct bp_etcd *e, const struct bp_etcd_write *writes, unsigned n, char *err,
	size_t err_size)
{
	json_t *compare = json_array(), *success = json_array(), *answer;
	int rc;

	for (unsigned i = 0; i < n; i++)
		add_write(&writes[i], compare, success);
	answer = call(e, "/v3/kv/txn", json_pack("{so so}", "compare", compare, "success", success),
		err, err_size);
	if (answer == NULL)
		return -1;
	rc = json_is_true(json_object_get(answer, "succeeded")) ? 1 : 0;
	json_decref(answer);
	return rc;
}

int bp_etcd_lease_grant(
	struct bp_etcd *e, unsigned ttl_s, char lease[BP_ETCD_LEASE], char *err, size_t err_size)
{
	json_t *answer =
		call(e, "/v3/lease/grant", json_pack("{si}", "TTL", (int)ttl_s), err, err_size);
	int64_t id;
	int rc = -1;

	if (answer == NULL)
		return -1;
	if (!bp_etcd_int(json_object_get(answer, "ID"), &id) || id == 0)
		snprintf(err, err_size, "etcd: the answer has no valid lease");
	else
		rc = snprintf(lease, BP_ETCD_LEASE, "%" PRId64, id) > 0 ? 0 : -1;
	json_decref(answer);
	return rc;
}

int bp_etcd_lease_keepalive(struct bp_etcd *e, const char *lease, char *err, size_t err_size)
{
	json_t *answer =
		call(e, "/v3/lease/keepalive", json_pack("{ss}", "ID", lease), err, err_size);
	int64_t ttl;
	int rc;

	if (answer == NULL)
		return -1;
	/* one answer of a stream; without a time to live the lease is gone */
	rc = bp_etcd_int(json_object_get(json_object_get(answer, "result"), "TTL"), &ttl) &&
	     ttl > 0;
	json_decref(answer);
	return rc;
}
