/* SPDX-License-Identifier: BSD-3-Clause */
/* Answers of the monitor to requests, without the server. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "apps/biplane/monitor/health.h"
#include "apps/biplane/monitor/health_checks.h"
#include "apps/biplane/metrics/metrics.h"
#include "apps/biplane/monitor/monitor.h"
#include "apps/biplane/monitor/request.h"
#include "apps/biplane/show/status_view.h"
#include "fib_view.h"

static struct bp_config config;
static struct bp_monitor monitor;

static int begin(void **state)
{
	if (set_up(state) != 0)
		return -1;
	memset(&config, 0, sizeof(config));
	config.monitoring.listen = (struct bp_config_listen){
		.kind = BP_LISTEN_TCP, .address = address("127.0.0.5"), .tcp_port = 9464};
	memset(&monitor, 0, sizeof(monitor));
	monitor.path = "/nonexistent/biplane.yaml";
	monitor.config = &config;
	strcpy(monitor.instance.name, "plant");
	monitor.view = (struct bp_instance_view){.segment = shm.segment, .shm = shm};
	memset(&bp_monitor_counters, 0, sizeof(bp_monitor_counters));
	return 0;
}

/* The status of the answer to a request; its body in `body`. */
static char body[65536];
static struct bp_http_answer answer;

static unsigned ask(struct bp_http_request q)
{
	q.method = q.method != NULL ? q.method : "GET";
	bp_request_answer(&monitor, &q, &answer);
	assert_true(answer.len < sizeof(body));
	memcpy(body, answer.body != NULL ? answer.body : answer.fixed, answer.len);
	body[answer.len] = '\0';
	free(answer.body);
	return answer.status;
}

static unsigned get(const char *path)
{
	return ask((struct bp_http_request){.path = path});
}

/* With one argument. */
static unsigned get_with(const char *path, const char *name, const char *value)
{
	return ask((struct bp_http_request){
		.path = path, .n_args = 1, .arg[0] = {.name = name, .value = value}});
}

static void formats_are_negotiated(void **state)
{
	static const struct {
		const char *accept;
		bool openmetrics;
	} rows[] = {
		{NULL, false},
		{"", false},
		{"*/*", false},
		{"text/plain", false},
		{"application/openmetrics-text", true},
		{"application/openmetrics-text; version=1.0.0; charset=utf-8", true},
		{"application/openmetrics-text;version=0.0.1", false},
		/* Prometheus 2.42 and 2.53 */
		{"application/openmetrics-text;version=1.0.0,application/"
		 "openmetrics-text;version=0.0.1;q=0.75,text/plain;version=0.0.4;q=0.5,*/*;q=0.1",
			true},
		{"application/openmetrics-text;version=1.0.0;q=0.5,application/"
		 "openmetrics-text;version=0.0.1;q=0.4,text/plain;version=0.0.4;q=0.3,*/*;q=0.2",
			true},
		{"application/openmetrics-text;q=0.2, text/plain;q=0.3", false},
		{"text/plain , APPLICATION/OpenMetrics-Text ; Version=1.0.0", true},
		{"application/openmetrics-text;q=0", false},
		{"application/openmetrics-text;q=0.x", false},
		{"application/openmetrics-text;q=nan", false},
		{"application/openmetrics-text;q=2", false},
		{";;;,,,;q=", false},
	};

	(void)state;
	for (unsigned i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		if (bp_accepts_openmetrics(rows[i].accept) != rows[i].openmetrics)
			fail_msg("Accept: %s", rows[i].accept);
	assert_int_equal(ask((struct bp_http_request){
				 .path = "/metrics", .accept = "application/openmetrics-text"}),
		200);
	assert_string_equal(answer.content_type, BP_METRICS_OPENMETRICS);
	assert_non_null(strstr(body, "# EOF\n"));
	assert_int_equal(get("/metrics"), 200);
	assert_string_equal(answer.content_type, BP_METRICS_TEXT);
	assert_null(strstr(body, "# EOF"));
}

static void only_reading_methods_are_answered(void **state)
{
	static const char *const methods[] = {"POST", "PUT", "DELETE", "OPTIONS", "TRACE", "PATCH",
		"CONNECT", "get", "", "GETX", NULL};

	(void)state;
	for (unsigned i = 0; methods[i] != NULL; i++)
		assert_int_equal(
			ask((struct bp_http_request){.method = methods[i], .path = "/livez"}), 405);
	assert_int_equal(ask((struct bp_http_request){.method = "HEAD", .path = "/livez"}), 200);
	assert_int_equal(bp_monitor_counters.requests, 11);
	assert_int_equal(bp_monitor_counters.requests_4xx, 10);
}

static void hosts_of_other_sites_are_refused(void **state)
{
	static const struct {
		const char *host;
		unsigned status;
	} rows[] = {{NULL, 200}, {"localhost", 200}, {"LocalHost:9464", 200}, {"127.0.0.1", 200},
		{"127.0.0.1:1", 200}, {"[::1]", 200}, {"[::1]:9464", 200}, {"127.0.0.5:9464", 200},
		{"127.0.0.6", 421}, {"evil.example", 421}, {"evil.example:9464", 421},
		{"localhost.evil.example", 421}, {"localhost:9464.evil.example", 421},
		{"127.0.0.1.evil.example", 421}, {"", 421}, {":", 421}, {"[::1", 421}, {"::1", 421},
		{"localhost:", 200}, {"localhost@evil.example", 421}};

	(void)state;
	for (unsigned i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		if (ask((struct bp_http_request){.path = "/livez", .host = rows[i].host}) !=
			rows[i].status)
			fail_msg("Host: %s: %u", rows[i].host, answer.status);
	/* beyond loopback, the token protects: another site does not know it */
	config.monitoring.listen.address = address("0.0.0.0");
	assert_int_equal(
		ask((struct bp_http_request){.path = "/livez", .host = "gateway.example"}), 200);
}

static void a_token_is_required(void **state)
{
	static const struct {
		const char *authorization;
		unsigned status;
	} rows[] = {{NULL, 401}, {"", 401}, {"Bearer", 401}, {"Bearer ", 401},
		{"Bearer 0123456789abcdef", 200}, {"bearer   0123456789abcdef", 200},
		{"Bearer 0123456789abcde", 401}, {"Bearer 0123456789abcdefg", 401},
		{"Bearer 1123456789abcdef", 401}, {"Bearer 0123456789abcdeF", 401},
		{"Basic 0123456789abcdef", 401}, {"0123456789abcdef", 401}};

	(void)state;
	strcpy(monitor.secrets.token, "0123456789abcdef");
	for (unsigned i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		if (ask((struct bp_http_request){.path = "/metrics",
			    .authorization = rows[i].authorization}) != rows[i].status)
			fail_msg("Authorization: %s: %u", rows[i].authorization, answer.status);
	assert_int_equal(bp_monitor_counters.unauthorized, 10);
	/* what it protects, and what has no data of the gateway */
	assert_int_equal(get("/"), 200);
	assert_int_equal(get("/livez"), 200);
	assert_int_equal(get("/console/index.html"), 200);
	assert_int_equal(get("/readyz"), 401);
	assert_int_equal(get("/api/v1/status"), 401);
	assert_int_equal(get("/api/v1/events"), 401);
	assert_int_equal(get("/nothing"), 401);
	assert_null(strstr(body, "0123456789abcdef"));
}

static void pages_of_other_sites_cause_no_work(void **state)
{
	(void)state;
	assert_int_equal(
		ask((struct bp_http_request){.path = "/api/v1/status", .fetch_site = "cross-site"}),
		403);
	assert_int_equal(
		ask((struct bp_http_request){.path = "/metrics", .fetch_site = "same-site"}), 403);
	assert_int_equal(
		ask((struct bp_http_request){.path = "/metrics", .fetch_site = "same-origin"}),
		200);
	assert_int_equal(
		ask((struct bp_http_request){.path = "/metrics", .fetch_site = "none"}), 200);
	assert_int_equal(ask((struct bp_http_request){.path = "/", .fetch_site = "cross-site"}),
		200); /* a link to it */
}

static void paths_are_exact(void **state)
{
	static const char *const missing[] = {"", "//", "/index.html", "/console", "/console/",
		"/console/../index.html", "/console/index.html/", "/console//index.html",
		"/console/INDEX.HTML", "/console/%69ndex.html", "/livez/", "/Livez", "/metrics/x",
		"/api/v1", "/api/v1/", "/api/v1/shows", "/api/v1/show/", "/api/v1/show/x",
		"/api/v1/show/rout", "/api/v1/show/routes/", "/api/v1/status/", "/api/v2/status",
		"/etc/passwd", "/api/v1/config/x", "*", "http://localhost/livez", NULL};

	(void)state;
	for (unsigned i = 0; missing[i] != NULL; i++)
		if (get(missing[i]) != 404)
			fail_msg("%s: %u", missing[i], answer.status);
	assert_int_equal(get("/api/v1/show"), 200);
	assert_non_null(strstr(body, "\"name\":\"routes\""));
}

static void assets_are_cached_by_their_contents(void **state)
{
	char etag[64];

	(void)state;
	assert_int_equal(get("/"), 200);
	assert_string_equal(answer.content_type, "text/html; charset=utf-8");
	snprintf(etag, sizeof(etag), "%s", answer.etag);
	assert_int_equal(ask((struct bp_http_request){.path = "/", .if_none_match = etag}), 304);
	assert_int_equal(answer.len, 0);
	assert_int_equal(ask((struct bp_http_request){.path = "/", .if_none_match = "\"x\""}), 200);
}

/* What `biplane show VIEW --json` prints. */
static void views_are_those_of_the_command(void **state)
{
	struct bp_show_source s = {.shm = &shm};
	json_t *expected, *got;
	char *text;

	(void)state;
	put_some_routes();
	assert_int_equal(get("/api/v1/show/interfaces"), 200);
	assert_string_equal(answer.content_type, "application/json");
	got = json_loads(body, 0, NULL);
	expected = bp_show_interfaces.collect(&s, err, sizeof(err));
	json_object_set_new(expected, "schema_version", json_integer(1));
	assert_true(json_equal(expected, got));
	json_decref(expected);
	json_decref(got);
	assert_int_equal(get("/api/v1/show/routes"), 200);
	text = routes_text(true, true);
	assert_string_equal(body, text);
	free(text);
	assert_int_equal(get("/api/v1/status"), 200);
	assert_non_null(strstr(body, "\"instance\":\"plant\""));
}

static void views_take_the_filters_of_the_command(void **state)
{
	char *text;

	(void)state;
	put_some_routes();
	source.limit = 2;
	text = routes_text(true, true);
	assert_int_equal(get_with("/api/v1/show/routes", "limit", "2"), 200);
	assert_string_equal(body, text);
	free(text);
	source.limit = 0;
	source.filter.family = 6;
	text = routes_text(true, true);
	assert_int_equal(get_with("/api/v1/show/routes", "family", "6"), 200);
	assert_string_equal(body, text);
	free(text);
	source.filter = (struct bp_fib_filter){.within = prefix("10.9.0.0/16")};
	text = routes_text(true, true);
	assert_int_equal(get_with("/api/v1/show/routes", "prefix", "10.9.0.0/16"), 200);
	assert_string_equal(body, text);
	free(text);
	source.filter = (struct bp_fib_filter){0};
	source.address = address("10.9.1.1");
	text = routes_text(true, true);
	assert_int_equal(get_with("/api/v1/show/routes", "prefix", "10.9.1.1"), 200);
	assert_string_equal(body, text);
	free(text);
}

static void rates_take_a_period_and_a_step(void **state)
{
	(void)state;
	assert_int_equal(get_with("/api/v1/rates", "since", "10m"), 200);
	assert_non_null(strstr(body, "\"since_s\":600,\"step_s\":10,"));
	assert_int_equal(get_with("/api/v1/rates", "step", "30s"), 200);
	assert_non_null(strstr(body, "\"since_s\":600,\"step_s\":30,"));
	assert_int_equal(get("/api/v1/show/rates"), 200);
	assert_non_null(strstr(body, "\"times\":[]"));
	assert_int_equal(get("/api/v1/rates/x"), 404);
}

static void wrong_arguments_are_refused(void **state)
{
	static const struct {
		const char *path, *name, *value, *error;
	} rows[] = {
		{"/api/v1/show/routes", "limit", "0", "limit: expected a number from 1 to 10000"},
		{"/api/v1/show/routes", "limit", "10001", "limit: expected"},
		{"/api/v1/show/routes", "limit", "-1", "limit: expected"},
		{"/api/v1/show/routes", "limit", "99999999999999999999", "limit: expected"},
		{"/api/v1/show/routes", "limit", "", "limit: expected"},
		{"/api/v1/show/routes", "family", "5", "family: expected 4 or 6"},
		{"/api/v1/show/routes", "prefix", "10.0.0.0/99", "prefix: expected an address"},
		{"/api/v1/show/routes", "prefix", "x", "prefix: expected an address"},
		{"/api/v1/show/routes", "state", "operating", "unknown argument 'state'"},
		{"/api/v1/show/ports", "family", "4", "unknown argument 'family'"},
		{"/api/v1/show/sessions", "state", "sleeping", "state: "},
		{"/api/v1/show/sessions", "system_id", "zz", "system_id: "},
		{"/api/v1/show/sessions", "address", "10.0.0.0/8/8", "address: "},
		{"/api/v1/show/transform", "entry", "x", "entry: expected a number"},
		{"/api/v1/rates", "since", "10", "since: expected a duration from 1s to 24h"},
		{"/api/v1/rates", "step", "11m",
			"step: expected a duration of at most since=, which is 10m by default"},
		{"/api/v1/rates", "step", "0s", "step: expected a duration from 1s to 24h"},
		{"/api/v1/show/ports", "since", "10m", "unknown argument 'since'"},
		{"/api/v1/status", "limit", "1", "unknown argument 'limit'"},
		{"/api/v1/events", "types", "alarm,nonsense", "types: "},
		{"/api/v1/events", "backlog", "1001", "backlog: expected a number from 0 to 1000"},
		{"/metrics", "name[]", "up", "unknown argument 'name[]'"},
	};
	struct bp_http_request q = {.path = "/api/v1/show/routes", .n_args = 2};

	(void)state;
	for (unsigned i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		if (get_with(rows[i].path, rows[i].name, rows[i].value) != 400 ||
			strstr(body, rows[i].error) == NULL)
			fail_msg("%s?%s=%s: %u %s", rows[i].path, rows[i].name, rows[i].value,
				answer.status, body);
	}
	q.arg[0].name = q.arg[1].name = "limit";
	q.arg[0].value = "1";
	q.arg[1].value = "2";
	assert_int_equal(ask(q), 400);
	assert_non_null(strstr(body, "given twice"));
	q.n_args = 1000; /* of which only the first ones are there */
	assert_int_equal(ask(q), 400);
	assert_non_null(strstr(body, "more than 8 arguments"));
	/* a name that is no UTF-8 is not repeated */
	assert_int_equal(get_with("/api/v1/status", "\xff\xfe", "1"), 400);
	assert_string_equal(body, "{\"error\":\"invalid request\"}");
}

static void without_a_segment(void **state)
{
	(void)state;
	monitor.view.segment = NULL;
	assert_int_equal(get("/livez"), 200);
	assert_int_equal(get("/metrics"), 200);
	assert_non_null(strstr(body, "biplane_up 0"));
	assert_int_equal(get("/readyz"), 503);
	assert_non_null(strstr(body, "it is not running"));
	assert_int_equal(get("/api/v1/show/ports"), 503);
	assert_int_equal(answer.retry_after_s, 1);
	assert_int_equal(get("/api/v1/status"), 503);
	assert_int_equal(get("/api/v1/config"), 503);
}

static void expensive_answers_are_limited(void **state)
{
	(void)state;
	monitor.busy_until_ns = bp_monitor_mono_ns() + 3600000000000ull;
	assert_int_equal(get("/api/v1/show/ports"), 503);
	assert_int_equal(bp_monitor_counters.throttled, 1);
	config.monitoring.max_connections = 8;
	assert_int_equal(get("/api/v1/events"), 503);
	assert_non_null(strstr(body, "CPU"));
	assert_int_equal(bp_monitor_counters.throttled, 2);
	assert_int_equal(get("/readyz"), 503); /* is not limited: this is its own reason */
	assert_null(strstr(body, "CPU"));
	assert_int_equal(get("/metrics"), 200);
	monitor.busy_until_ns = 0;
	assert_int_equal(get("/api/v1/show/ports"), 200);
}

static void only_the_running_configuration_is_shown(void **state)
{
	char json[] = "{\"name\": \"plant\"}";

	(void)state;
	assert_int_equal(get("/api/v1/config"), 503);
	monitor.text.json = json;
	monitor.text.hash = 77;
	assert_int_equal(get("/api/v1/config"), 503);
	atomic_store(&shm.control->cp_config_hash, 77);
	assert_int_equal(get("/api/v1/config"), 200);
	assert_string_equal(body, json);
}

/* ---- readiness ---- */

static json_t *status_of(
	bool planes, bool link, const char *netlink, bool connected, json_int_t spool)
{
	return json_pack("{so s[{ss sb}{ss sb}] so s{sb} s{sI}}", "faults",
		planes ? json_array()
		       : json_pack("[{ss ss ss}]", "fault", "plane_down", "object", "control plane",
				 "description", "see its log"),
		"ports", "port", "a", "link_up", 1, "port", "b", "link_up", (int)link, "netlink",
		netlink != NULL ? json_pack("{ss}", "state", netlink) : json_null(), "publisher",
		"connected", (int)connected, "spool", "bytes", spool);
}

static json_t *with_kafka(const char *state, json_int_t spool)
{
	json_t *status = status_of(true, true, NULL, true, 0);

	json_object_set_new(status, "kafka",
		json_pack("{ss sI sI}", "state", state, "spool_bytes", spool, "spool_max_bytes",
			(json_int_t)100));
	return status;
}

/* The names of the failing checks; `ready` must agree. */
static const char *failing(json_t *status, uint64_t spool_max)
{
	static char names[256];
	json_t *health = bp_health_checks(status, spool_max), *c;
	size_t i;

	names[0] = '\0';
	json_array_foreach(json_object_get(health, "checks"), i, c)
	{
		assert_true(json_string_length(json_object_get(c, "reason")) > 0);
		if (!json_is_true(json_object_get(c, "ok")))
			strcat(strcat(names, " "), json_string_value(json_object_get(c, "check")));
	}
	assert_int_equal(json_is_true(json_object_get(health, "ready")), names[0] == '\0');
	json_decref(health);
	json_decref(status);
	return names;
}

static void readiness_has_a_reason_for_each_check(void **state)
{
	(void)state;
	assert_string_equal(failing(status_of(true, true, "synced", true, 0), 100), "");
	assert_string_equal(
		failing(status_of(false, true, "synced", true, 0), 100), " controlplane");
	assert_string_equal(failing(status_of(true, false, "synced", true, 0), 100), " ports");
	assert_string_equal(failing(status_of(true, true, "loading", true, 0), 100), " tables");
	assert_string_equal(failing(status_of(true, true, "held", true, 0), 100), " tables");
	assert_string_equal(failing(status_of(true, true, NULL, true, 0), 100), "");
	assert_string_equal(failing(status_of(true, true, NULL, false, 99), 100), "");
	assert_string_equal(failing(status_of(true, true, NULL, false, 100), 100), " publisher");
	assert_string_equal(failing(status_of(true, true, NULL, true, 100), 100), "");
	assert_string_equal(failing(status_of(true, true, NULL, false, 100), 0), "");
	assert_string_equal(failing(json_object(), 0), " ports"); /* none is set up */
	assert_string_equal(failing(with_kafka("connected", 100), 100), "");
	assert_string_equal(failing(with_kafka("unreachable", 99), 100), "");
	assert_string_equal(failing(with_kafka("unreachable", 100), 100), " kafka");
}

/* All gateways of a fleet lose Redis at the same time: that must not withdraw all of them. */
static void redis_does_not_decide_readiness(void **state)
{
	json_t *status = status_of(true, true, "synced", true, 0), *health, *check;

	(void)state;
	json_object_set_new(status, "fleet",
		json_pack("{sb sI sI sI}", "connected", 0, "lag_ms", (json_int_t)61500, "queued",
			(json_int_t)7, "max_queued", (json_int_t)16));
	health = bp_health_checks(status, 100);
	assert_true(json_is_true(json_object_get(health, "ready")));
	check = json_array_get(json_object_get(health, "checks"), 5);
	assert_string_equal(json_string_value(json_object_get(check, "check")), "fleet");
	assert_string_equal(json_string_value(json_object_get(check, "reason")),
		"not connected to Redis; lag 61.5 s, 7 of 16 changes queued");
	json_decref(health);
	json_decref(status);
}

#define MONITOR_CASE(test) cmocka_unit_test_setup_teardown(test, begin, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		MONITOR_CASE(formats_are_negotiated),
		MONITOR_CASE(only_reading_methods_are_answered),
		MONITOR_CASE(hosts_of_other_sites_are_refused),
		MONITOR_CASE(a_token_is_required),
		MONITOR_CASE(pages_of_other_sites_cause_no_work),
		MONITOR_CASE(paths_are_exact),
		MONITOR_CASE(assets_are_cached_by_their_contents),
		MONITOR_CASE(views_are_those_of_the_command),
		MONITOR_CASE(views_take_the_filters_of_the_command),
		MONITOR_CASE(rates_take_a_period_and_a_step),
		MONITOR_CASE(wrong_arguments_are_refused),
		MONITOR_CASE(without_a_segment),
		MONITOR_CASE(expensive_answers_are_limited),
		MONITOR_CASE(only_the_running_configuration_is_shown),
		cmocka_unit_test(readiness_has_a_reason_for_each_check),
		cmocka_unit_test(redis_does_not_decide_readiness),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
