/* SPDX-License-Identifier: BSD-3-Clause */
/* `show sessions` over session tables filled by the real writer: the filters, and that a million
 * rows are not kept in memory. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include <arpa/inet.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "services/health/convert.h"
#include "config/segment.h"
#include "config/config.h"
#include "config/health/settings.h"
#include "apps/biplane/show/status_view.h"
#include "apps/biplane/show/show.h"
#include "apps/biplane/table.h"
#include "shm/health/phd_writer.h"
#include "tests/unit/apps/biplane/view_out.h"

#define SESSIONS 40000u

static struct bp_shm shm;
static struct bp_show_source source;
static struct bp_phd_writer *writer;
static char err[2048];

static int set_up(void **state)
{
	static struct bp_config config;
	static struct bp_config_phd phd;
	struct bp_seg_spec specs[BP_SHM_SPECS_MAX];
	struct bp_segment *s;

	(void)state;
	memset(&config, 0, sizeof(config));
	config.n_workers = 1;
	config.n_ports = 2; /* in no bridge: they route */
	config.routing = (struct bp_config_routing){.max_ipv4_routes = 64,
		.max_ipv6_routes = 64,
		.max_neighbors = 64,
		.max_nexthops = 64,
		.max_nexthop_groups = 8};
	config.service[BP_SERVICE_HEALTH] = &phd;
	phd.enabled = true;
	phd.max_sessions = SESSIONS;
	phd.max_configurations = 16;
	s = bp_segment_anonymous(specs, bp_shm_specs(&config, specs), err, sizeof(err));
	if (!s || bp_shm_map(&shm, s, err, sizeof(err)))
		return -1;
	writer = bp_phd_writer_new(&shm.phd, &shm.fib, NULL, NULL, err, sizeof(err));
	source = (struct bp_show_source){.shm = &shm, .mono_ns = 5000000000ull};
	return writer ? 0 : -1;
}

static int tear_down(void **state)
{
	(void)state;
	bp_phd_writer_free(writer);
	bp_segment_close(shm.segment);
	return 0;
}

/* `id`: the last digits of the system-id. */
static void open_session(
	uint8_t id, const char *address, enum bp_phd_state state, uint16_t spec, uint8_t flags)
{
	struct bp_phd_session_spec s = {.system_id = {0, 0x22, 9, 0x22, 0x58, 1, 0, id},
		.address = {[10] = 0xff, [11] = 0xff},
		.port = 40000,
		.transport = BP_PHD_TRANSPORT_UDP,
		.config_id = 400,
		.state = (uint8_t)state,
		.spec = spec,
		.flags = flags,
		.layout = BP_PHD_NO_LAYOUT,
		.reports = 7,
		.opened_ns = 2000000000ull};
	const bool six = strchr(address, ':') != NULL;
	uint32_t slot;

	assert_int_equal(
		inet_pton(six ? AF_INET6 : AF_INET, address, six ? s.address : s.address + 12), 1);
	assert_int_equal(bp_phd_session_open(writer, &s, &slot), 0);
	for (unsigned i = 0; i < 2; i++)
		bp_phd_session_refuse(&shm.phd.sessions[slot], BP_PHD_BAD_MAP);
}

/* Five devices that differ in all that can be asked for. */
static void open_five(void)
{
	open_session(1, "10.1.0.2", BP_PHD_OPERATING, 4100, BP_PHD_READY);
	open_session(2, "10.1.0.3", BP_PHD_WAITING, 0, 0);
	open_session(3, "10.1.128.2", BP_PHD_OPERATING, 4137, 0);
	open_session(4, "fd01::2", BP_PHD_OPERATING, 4100, BP_PHD_READY);
	open_session(5, "fd01::a01:2", BP_PHD_RELEASING, 9999, 0);
}

/* That just these are shown: the last digits of their system-ids, in any order. */
static void shown(const char *digits)
{
	json_t *v = view_parsed(&bp_show_sessions, &source, false),
	       *list = json_object_get(v, "sessions"), *row;
	char got[16] = "";
	size_t i;

	assert_int_equal(json_integer_value(json_object_get(v, "total")), strlen(digits));
	assert_int_equal(json_array_size(list), strlen(digits));
	json_array_foreach(list, i, row)
	{
		const char *id = json_string_value(json_object_get(row, "system_id"));

		assert_int_equal(strlen(id), 16);
		got[i] = id[15];
		assert_non_null(strchr(digits, id[15]));
	}
	for (i = 0; digits[i]; i++)
		assert_non_null(strchr(got, digits[i]));
	json_decref(v);
	source.sessions = (struct bp_session_filter){0};
}

#define TAKES(kind, text)                                                                          \
	assert_true(bp_session_filter_##kind(&source.sessions, text, err, sizeof(err)))
#define REFUSES(kind, text)                                                                        \
	do {                                                                                       \
		struct bp_session_filter f = {0};                                                  \
		err[0] = '\0';                                                                     \
		assert_false(bp_session_filter_##kind(&f, text, err, sizeof(err)));                \
		assert_non_null(strstr(err, "expected"));                                          \
	} while (0)

static void filters_choose(void **state)
{
	(void)state;
	open_five();
	shown("12345");
	TAKES(state, "operating");
	shown("134");
	TAKES(state, "configuring");
	shown("2");
	TAKES(state, "releasing");
	shown("5");
	TAKES(type, "pulse_oximeter");
	shown("14");
	TAKES(type, "4137");
	shown("3");
	TAKES(type, "9999");
	shown("5");
	TAKES(type, "unknown");
	shown("2");
	TAKES(type, "thermometer");
	shown("");
	TAKES(address, "10.1.0.2");
	shown("1");
	TAKES(address, "10.1.0.0/17");
	shown("12");
	TAKES(address, "10.1.77.1/16"); /* bits beyond the length do not count */
	shown("123");
	TAKES(address, "0.0.0.0/0");
	shown("123");
	TAKES(address, "fd01::2");
	shown("4");
	TAKES(address, "fd01::/64");
	shown("45");
	TAKES(address, "::/0");
	shown("45");
	TAKES(id, "0022092258010003");
	shown("3");
	TAKES(id, "0022092258010009");
	shown("");
}

static void filters_add_up(void **state)
{
	(void)state;
	open_five();
	TAKES(state, "operating");
	TAKES(type, "4100");
	TAKES(address, "fd00::/8");
	shown("4");
	TAKES(id, "0022092258010001");
	TAKES(state, "configuring");
	shown("");
}

static void what_is_none_is_refused(void **state)
{
	(void)state;
	REFUSES(state, "");
	REFUSES(state, "free");
	REFUSES(state, "Operating");
	assert_non_null(strstr(err, "configuring, operating or releasing"));
	REFUSES(type, "");
	REFUSES(type, "0");
	REFUSES(type, "65536");
	REFUSES(type, "-1");
	REFUSES(type, "oximeter");
	assert_non_null(strstr(err, "unknown, pulse_oximeter, ecg, "));
	assert_non_null(strstr(err, "gas_sensor"));
	REFUSES(address, "10.1.0");
	REFUSES(address, "10.1.0.0/33");
	REFUSES(address, "fd01::/129");
	REFUSES(id, "002209225801000");
	REFUSES(id, "002209225801000x");
	REFUSES(id, "0000000000000000");
}

static void a_row_says_all(void **state)
{
	json_t *v, *row, *want;
	char *text;

	(void)state;
	open_session(4, "fd01::2", BP_PHD_OPERATING, 4100, BP_PHD_READY);
	want = json_pack("{ss ss ss ss ss si sb si si si si ss si}", "system_id",
		"0022092258010004", "device", "[fd01::2]:40000", "transport", "udp", "state",
		"operating", "type", "pulse_oximeter", "config_id", 400, "containers", 1, "reports",
		7, "stored", 0, "errors", 0, "refused", 2, "refused_reason", "value_map_mismatch",
		"age_s", 3);
	assert_non_null(want);
	for (int compact = 0; compact < 2; compact++) {
		v = view_parsed(&bp_show_sessions, &source, compact);
		row = json_array_get(json_object_get(v, "sessions"), 0);
		assert_true(json_equal(row, want));
		json_decref(v);
	}
	json_decref(want);
	text = view_written(&bp_show_sessions, &source, false, false);
	assert_string_equal(text,
		"SYSTEM-ID         DEVICE           TRANSPORT  STATE      TYPE            CONFIG  "
		"CONTAINERS  REPORTS  STORED  ERRORS  REFUSED  REASON              AGE-S\n"
		"0022092258010004  [fd01::2]:40000  udp        operating  pulse_oximeter     400  "
		"yes               7       0       0        2  value_map_mismatch      3\n");
	free(text);
}

static void nobody_is_said(void **state)
{
	char *text = view_written(&bp_show_sessions, &source, false, false);

	(void)state;
	assert_string_equal(text, "no sessions\n");
	free(text);
	shown("");
	open_five();
	TAKES(address, "192.0.2.1");
	text = view_written(&bp_show_sessions, &source, false, false);
	assert_string_equal(text, "no session matches the filter\n");
	free(text);
}

static void the_limit_is_said(void **state)
{
	json_t *v;
	char *text;

	(void)state;
	open_five();
	source.limit = 2;
	TAKES(state, "operating");
	text = view_written(&bp_show_sessions, &source, false, false);
	assert_non_null(strstr(text, "\n\n2 of 3 sessions; -n 0 shows all\n"));
	free(text);
	v = view_parsed(&bp_show_sessions, &source, true);
	assert_int_equal(json_integer_value(json_object_get(v, "total")), 3);
	assert_int_equal(json_array_size(json_object_get(v, "sessions")), 2);
	json_decref(v);
}

static void rows_are_not_held(void **state)
{
	(void)state;
	for (uint32_t i = 0; i < SESSIONS; i++) {
		struct bp_phd_session_spec s = {.address = {[10] = 0xff,
							[11] = 0xff,
							[12] = 10,
							[14] = (uint8_t)(i >> 8),
							[15] = (uint8_t)i},
			.system_id = {1, 2, 3, 4, 5, 6, (uint8_t)(i >> 8), (uint8_t)i},
			.port = 40000,
			.transport = BP_PHD_TRANSPORT_UDP,
			.state = BP_PHD_OPERATING,
			.spec = 4100,
			.layout = BP_PHD_NO_LAYOUT};
		uint32_t slot;

		assert_int_equal(bp_phd_session_open(writer, &s, &slot), 0);
	}
	for (int json = 0; json < 2; json++) {
		const struct view_size size = view_size(&bp_show_sessions, &source, json);

		assert_int_equal(size.objects, json ? SESSIONS + 1 : 0);
		assert_int_equal(size.lines, json ? SESSIONS + 6 : SESSIONS + 1);
		/* a row as an object takes over 1 KiB: all of them were 40 MiB */
		assert_true(size.heap < (json ? 64u << 10 : 4u << 20));
	}
}

/* A cell that is wider than the columns were made moves the rest of its row, and is not cut. */
static void wider_later_row_is_complete(void **state)
{
	static const struct bp_column columns[] = {
		{"a", "A", 0}, {"b", "B", 1}, {"c", "C", 0}, {NULL, NULL, 0}};
	char *text = NULL;
	size_t len = 0;
	FILE *out = open_memstream(&text, &len);
	struct bp_table *t = bp_table_begin(out, columns, 2);

	(void)state;
	assert_non_null(t);
	assert_true(bp_table_row(t, json_pack("{ss si ss}", "a", "xy", "b", 1, "c", "p")));
	assert_true(bp_table_row(t, json_pack("{ss si ss}", "a", "x", "b", 22, "c", "q")));
	assert_true(bp_table_row(t, json_pack("{ss si ss}", "a", "wider", "b", 333, "c", "r")));
	assert_true(bp_table_row(t, json_pack("{ss si ss}", "a", "z", "b", 4, "c", "s")));
	assert_true(bp_table_end(t, "empty"));
	fclose(out);
	assert_string_equal(text, "A    B  C\n"
				  "xy   1  p\n"
				  "x   22  q\n"
				  "wider  333  r\n"
				  "z    4  s\n");
	free(text);
}

static char *planes(json_t **v)
{
	char *text = NULL;
	size_t len = 0;
	FILE *out = open_memstream(&text, &len);

	*v = bp_status_view.collect(&source, err, sizeof(err));
	assert_non_null(*v);
	bp_status_view.print(*v, false, out);
	fclose(out);
	return text;
}

static json_int_t word(const json_t *v, const char *group, const char *name)
{
	const json_t *n =
		json_object_get(json_object_get(json_object_get(v, "health_devices"), group), name);

	assert_true(json_is_integer(n));
	return json_integer_value(n);
}

static void planes_tell_of_health_devices(void **state)
{
	json_t *v;
	char *text;

	(void)state;
	atomic_store(&shm.phd.status->v[BP_PHD_S_AARQ], 12);
	atomic_store(&shm.phd.status->v[BP_PHD_S_REJECTED_UNAUTHORIZED], 2);
	text = planes(&v);
	assert_int_equal(word(v, "associations", "requested"), 12);
	assert_int_equal(word(v, "associations", "rejected_unauthorized"), 2);
	assert_int_equal(word(v, "associations", "rejected_rate"), 0);
	assert_int_equal(word(v, "tcp", "idle"), 0);
	assert_non_null(strstr(text, "\nhealth devices\n  sessions      open 0, operating 0, "));
	assert_non_null(strstr(text, "\n  associations  requested 12, rejected_unauthorized 2\n"));
	assert_non_null(strstr(text, "\n  tcp           -\n"));
	assert_null(strstr(text, "warning"));
	json_decref(v);
	free(text);
	atomic_store(&shm.phd.status->v[BP_PHD_S_CSE_AWAY_S], 31);
	atomic_store(&shm.phd.status->v[BP_PHD_S_PROVISION_TO_DO], 4);
	text = planes(&v);
	assert_non_null(
		strstr(text, "\nwarning: the CSE has been unreachable for 31 s; 4 devices wait for "
			     "their containers\n"));
	json_decref(v);
	free(text);
	/* without a section health_devices there is nothing to show */
	shm.phd.n_slots = 0;
	text = planes(&v);
	assert_true(json_is_null(json_object_get(v, "health_devices")));
	assert_null(strstr(text, "health"));
	json_decref(v);
	free(text);
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(filters_choose),
		CASE(filters_add_up),
		CASE(what_is_none_is_refused),
		CASE(a_row_says_all),
		CASE(nobody_is_said),
		CASE(the_limit_is_said),
		CASE(rows_are_not_held),
		CASE(planes_tell_of_health_devices),
		cmocka_unit_test(wider_later_row_is_complete),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
