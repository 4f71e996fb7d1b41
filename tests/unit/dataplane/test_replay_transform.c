/* SPDX-License-Identifier: BSD-3-Clause */
/* Transformation in replay: the file's own rules and matrices, and the report's part on them. */
#include "tests/unit/dataplane/test.h"
#include "tests/unit/dataplane/transform_rig.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sysexits.h>
#include <unistd.h>

#include <pcap/pcap.h>

#include "dataplane/capture.h"
#include "dataplane/replay.h"

#define FILE_                                                                                      \
	"ports:\n"                                                                                 \
	"  - {name: a, device: net_null0}\n"                                                       \
	"  - {name: b, device: net_null1}\n"                                                       \
	"bridge: [[a, b]]\n"                                                                       \
	"transform:\n"                                                                             \
	"  - port: a\n"                                                                            \
	"    udp: 10000\n"                                                                         \
	"    layout: paper\n"                                                                      \
	"    sources:\n"                                                                           \
	"      - address: 10.0.0.5\n"                                                              \
	"        receivers:\n"                                                                     \
	"          - {address: 10.1.0.9, udp: 20000, matrix: [[-1, 0, 0, 0.5], [0, -1, 0, 1], "    \
	"[0, 0, 1, 1.5]]}\n"                                                                       \
	"          - {address: 10.1.0.10, udp: 20001}\n"
#define READINGS 100u

static char dir[64];

static const char *path(const char *name)
{
	static char p[8][128];
	static unsigned turn;
	char *out = p[turn++ % 8];

	snprintf(out, sizeof(p[0]), "%s/%s", dir, name);
	return out;
}

static void capture(const char *name)
{
	pcap_t *format = pcap_open_dead(DLT_EN10MB, 65535);
	pcap_dumper_t *d = pcap_dump_open(format, path(name));

	assert_non_null(d);
	for (unsigned i = 0; i < READINGS; i++) {
		const struct udp u = x_reading(i);
		uint8_t f[UDP_FRAME_MAX];
		struct pcap_pkthdr h = {.len = agg_frame(&u, f), .ts = {.tv_sec = (time_t)i}};

		h.caplen = h.len;
		pcap_dump((u_char *)d, &h, f);
	}
	pcap_dump_close(d);
	pcap_close(format);
}

static json_t *statistics(const struct bp_shm *shm)
{
	return json_pack("{sI sI}", "readings", (json_int_t)shm->transform.rule_stats->readings,
		"sent", (json_int_t)shm->transform.rule_stats->sent);
}

static void print_statistics(const json_t *j, FILE *out)
{
	fprintf(out, "readings: %d\n", (int)json_integer_value(json_object_get(j, "readings")));
}

static char *replay(bool json)
{
	const struct bp_replay_file in = {"a", path("in.pcap")}, out = {"b", path("out.pcap")};
	struct bp_replay_options options = {.config_path = path("c.yaml"),
		.in = &in,
		.n_in = 1,
		.out = &out,
		.n_out = 1,
		.json = json,
		.transformation = statistics,
		.print_transformation = print_statistics};
	FILE *config = fopen(options.config_path, "w");
	char *report = NULL;
	size_t size;

	assert_non_null(config);
	assert_true(fputs(FILE_, config) >= 0);
	assert_int_equal(fclose(config), 0);
	options.report = open_memstream(&report, &size);
	assert_non_null(options.report);
	assert_int_equal(bp_replay_run(&options), EX_OK);
	assert_int_equal(fclose(options.report), 0);
	assert_non_null(report);
	return report;
}

static void expect(const struct bp_capture_frame *f, const struct udp *u)
{
	uint8_t frame[UDP_FRAME_MAX];

	assert_int_equal(f->len, agg_frame(u, frame));
	assert_memory_equal(f->data, frame, f->len);
}

static void replayed(void **state)
{
	const struct bp_transform_receiver to[2] = {
		x_receiver("10.1.0.9", 20000, 0.5), x_receiver("10.1.0.10", 20001, 0)};
	struct bp_captures *c = bp_captures_create();
	struct bp_capture_frame f;
	char err[256] = "", *text = replay(true);
	json_error_t error;
	json_t *j = json_loads(text, 0, &error), *part;

	assert_non_null(j);
	assert_true(json_is_true(json_object_get(json_object_get(j, "sum"), "exact")));
	part = json_object_get(j, "transformation");
	assert_int_equal(json_integer_value(json_object_get(part, "readings")), READINGS);
	assert_int_equal(json_integer_value(json_object_get(part, "sent")), 2 * READINGS);
	json_decref(j);
	free(text);
	assert_int_equal(bp_captures_add(c, path("out.pcap"), err, sizeof(err)), 0);
	for (unsigned i = 0; i < READINGS; i++) {
		for (unsigned k = 0; k < 2; k++) {
			const struct udp u = x_result(i, &to[k]);

			assert_true(bp_captures_next(c, &f));
			assert_int_equal(f.time_ns, (uint64_t)i * 1000000000u);
			expect(&f, &u);
		}
	}
	assert_false(bp_captures_next(c, &f));
	bp_captures_free(c);
	text = replay(false);
	assert_non_null(strstr(text, "readings: 100\n"));
	free(text);
}

static int set_up(void **state)
{
	snprintf(dir, sizeof(dir), "/tmp/bp-replay-transform-XXXXXX");
	if (mkdtemp(dir) == NULL)
		return -1;
	capture("in.pcap");
	return 0;
}

static int tear_down(void **state)
{
	unlink(path("in.pcap"));
	unlink(path("out.pcap"));
	unlink(path("c.yaml"));
	return rmdir(dir);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(replayed),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
