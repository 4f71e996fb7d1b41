/* SPDX-License-Identifier: BSD-3-Clause */
/* `biplane replay` as a function: captures in, captures and a JSON object out. */
#include "tests/unit/dataplane/test.h"
#include "dataplane/replay/capture.h"
#include "dataplane/replay/replay.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sysexits.h>
#include <unistd.h>

#include <jansson.h>
#include <pcap/pcap.h>

#include "tests/unit/dataplane/fixture.h"

#define T0 1700000000000000000ull

static char dir[64];

static const char *path(const char *name)
{
	static char p[64][128];
	static unsigned turn;
	char *out = p[turn++ % 64];

	snprintf(out, sizeof(p[0]), "%s/%s", dir, name);
	return out;
}

static void write_file(const char *name, const char *text)
{
	FILE *f = fopen(path(name), "w");

	assert_non_null(f);
	assert_true(fputs(text, f) >= 0);
	assert_int_equal(fclose(f), 0);
}

static size_t read_file(const char *name, char **data)
{
	FILE *f = fopen(path(name), "r");
	size_t n, size = 1 << 20;

	assert_non_null(f);
	*data = malloc(size);
	assert_non_null(*data);
	n = fread(*data, 1, size - 1, f);
	(*data)[n] = '\0';
	fclose(f);
	return n;
}

struct writer {
	pcap_t *format;
	pcap_dumper_t *dumper;
};

static struct writer capture_open(const char *name, int link)
{
	struct writer w = {.format = pcap_open_dead_with_tstamp_precision(
				   link, 262144, PCAP_TSTAMP_PRECISION_NANO)};

	w.dumper = pcap_dump_open(w.format, path(name));
	assert_non_null(w.dumper);
	return w;
}

static void capture_add(
	struct writer *w, uint64_t ns, const void *data, uint32_t len, uint32_t wire)
{
	struct pcap_pkthdr h = {.caplen = len, .len = wire};

	h.ts.tv_sec = (time_t)(ns / 1000000000u);
	h.ts.tv_usec = (suseconds_t)(ns % 1000000000u);
	pcap_dump((u_char *)w->dumper, &h, data);
}

static void capture_close(struct writer *w)
{
	pcap_dump_close(w->dumper);
	pcap_close(w->format);
}

#define SWITCH                                                                                     \
	"version: 1\nports:\n"                                                                     \
	"  - {name: a, device: \"0000:03:00.0\"}\n"                                                \
	"  - {name: b, device: \"net_af_packet0,iface=nowhere\"}\n"                                \
	"  - {name: c, device: net_null0}\n"                                                       \
	"bridges: [{name: bridge0, ports: [a, b, c]}]\n"
#define RULES                                                                                      \
	SWITCH "mqtt:\n"                                                                           \
	       "  publisher: {broker: \"mqtt://127.0.0.1\"}\n"                                     \
	       "  rules:\n"                                                                        \
	       "    - {name: hot, topic: plant/+/t, value: text, raise: \"> 80\", action: "        \
	       "publish, "                                                                         \
	       "publish: {topic: \"alarm/{topic}\"}}\n"

/* A client's side of a TCP connection, as a capture on its port holds it. */
struct stream {
	struct writer *w;
	uint64_t ns;
	uint32_t seq, ack; /* of the client */
};

static void put32(uint8_t *p, uint32_t v)
{
	p[0] = (uint8_t)(v >> 24);
	p[1] = (uint8_t)(v >> 16);
	p[2] = (uint8_t)(v >> 8);
	p[3] = (uint8_t)v;
}

static uint16_t checksum(const uint8_t *p, uint32_t n, uint32_t sum)
{
	for (uint32_t i = 0; i < n; i++)
		sum += i % 2 ? p[i] : (uint32_t)p[i] << 8;
	while (sum >> 16)
		sum = (sum & 0xffff) + (sum >> 16);
	return (uint16_t)~sum;
}

/* From the client, or from the broker. */
static void send_from(struct stream *s, bool broker, uint8_t flags, const void *data, uint32_t len)
{
	uint32_t *seq = broker ? &s->ack : &s->seq;
	uint8_t f[512];
	uint16_t sum;

	frame_make(f, 54, 1, 2, 0x0800);
	memset(f + 14, 0, 40);
	f[14] = 0x45;
	f[16] = (uint8_t)((40 + len) >> 8);
	f[17] = (uint8_t)(40 + len);
	f[22] = 64;
	f[23] = 6;
	memcpy(f + 26, broker ? "\x0a\0\0\2\x0a\0\0\1" : "\x0a\0\0\1\x0a\0\0\2", 8);
	sum = checksum(f + 14, 20, 0);
	f[24] = (uint8_t)(sum >> 8);
	f[25] = (uint8_t)sum;
	memcpy(f + 34, broker ? "\x07\x5b\x9c\x40" : "\x9c\x40\x07\x5b", 4);
	put32(f + 38, *seq);
	put32(f + 42, flags & 0x10 ? (broker ? s->seq : s->ack) : 0);
	f[46] = 0x50;
	f[47] = flags;
	f[48] = 0x20;
	memcpy(f + 54, data, len);
	sum = checksum(f + 34, 20 + len, (uint32_t)(0x0a00 + 1 + 0x0a00 + 2 + 6 + 20) + len);
	f[50] = (uint8_t)(sum >> 8);
	f[51] = (uint8_t)sum;
	capture_add(s->w, s->ns, f, 54 + len, 54 + len);
	*seq += len + (flags & 2 ? 1 : 0);
	s->ns += 1000001;
}

static void send_segment(struct stream *s, uint8_t flags, const void *data, uint32_t len)
{
	send_from(s, false, flags, data, len);
}

static void publish(struct stream *s, const char *topic, const char *value)
{
	char p[200];
	int n = snprintf(p + 4, sizeof(p) - 4, "%s%s", topic, value);

	p[0] = 0x30;
	p[1] = (char)(n + 2);
	p[2] = 0;
	p[3] = (char)strlen(topic);
	send_segment(s, 0x18, p, (uint32_t)n + 4);
}

/* The handshake, CONNECT and CONNACK, three publications of which the second and third are too hot.
 */
static void make_mqtt_capture(const char *name)
{
	struct writer w = capture_open(name, DLT_EN10MB);
	struct stream s = {&w, T0, 1000, 0};

	send_segment(&s, 0x02, "", 0);
	send_from(&s, true, 0x12, "", 0);
	send_segment(&s, 0x10, "", 0);
	send_segment(&s, 0x18, "\x10\x10\0\4MQTT\4\2\0\x3c\0\4dev1", 18);
	send_from(&s, true, 0x18, "\x20\2\0\0", 4);
	publish(&s, "plant/1/t", "20.5");
	publish(&s, "plant/1/t", "80.1");
	publish(&s, "plant/2/t", "99e0");
	capture_close(&w);
}

static json_t *replay_json(const char *yaml, const struct bp_replay_file *in, unsigned n_in,
	const struct bp_replay_file *out, unsigned n_out)
{
	struct bp_replay_options o = {.config_path = path("c.yaml"),
		.in = in,
		.n_in = n_in,
		.out = out,
		.n_out = n_out,
		.json = true};
	json_error_t error;
	json_t *j;
	char *text;

	write_file("c.yaml", yaml);
	o.report = fopen(path("report.json"), "w");
	assert_non_null(o.report);
	assert_int_equal(bp_replay_run(&o), EX_OK);
	fclose(o.report);
	read_file("report.json", &text);
	j = json_loads(text, 0, &error);
	assert_non_null(j);
	free(text);
	return j;
}

static json_int_t number(const json_t *j, const char *a, const char *b, const char *c)
{
	j = json_object_get(j, a);
	j = b ? json_object_get(j, b) : j;
	j = c ? json_object_get(j, c) : j;
	assert_true(json_is_integer(j));
	return json_integer_value(j);
}

static void merges_by_time(void **state)
{
	struct writer a = capture_open("a.pcap", DLT_EN10MB),
		      b = capture_open("b.pcap", DLT_EN10MB);
	uint8_t f[64];
	const struct bp_replay_file in[] = {{"a", path("a.pcap")}, {"b", path("b.pcap")}};
	const struct bp_replay_file out[] = {{"c", path("o.pcap")}};
	/* file, time; equal times: the file named first */
	static const struct {
		unsigned file;
		uint64_t ns;
	} want[] = {{0, 5}, {1, 7}, {0, 9}, {1, 9}, {0, 10}, {0, 3}, {1, 11}};
	struct bp_captures *c = bp_captures_create();
	struct bp_capture_frame got;
	char err[256];
	json_t *j;

	for (unsigned i = 0; i < sizeof(want) / sizeof(want[0]); i++) {
		frame_make(f, sizeof(f), (uint8_t)(want[i].file + 1), 0xff, 0x0800);
		f[20] = (uint8_t)i;
		capture_add(want[i].file ? &b : &a, T0 + want[i].ns, f, sizeof(f), sizeof(f));
	}
	capture_close(&a);
	capture_close(&b);
	j = replay_json(SWITCH, in, 2, out, 1);
	assert_int_equal(number(j, "ports", "a", "rx_packets"), 4);
	assert_int_equal(number(j, "ports", "b", "rx_packets"), 3);
	assert_int_equal(number(j, "ports", "c", "tx_packets"), 7);
	assert_int_equal(number(j, "ports", "c", "tx_bytes"), 7 * 64);
	assert_true(json_is_true(json_object_get(json_object_get(j, "totals"), "balanced")));
	assert_int_equal(
		json_integer_value(json_object_get(json_object_get(j, "totals"), "punted")), 0);
	assert_true(json_is_integer(json_object_get(json_object_get(j, "totals"), "punted")));
	json_decref(j);
	assert_int_equal(bp_captures_add(c, path("o.pcap"), err, sizeof(err)), 0);
	for (unsigned i = 0; i < sizeof(want) / sizeof(want[0]); i++) {
		assert_true(bp_captures_next(c, &got));
		assert_int_equal(got.time_ns, T0 + want[i].ns);
		assert_int_equal(got.len, 64);
		assert_int_equal(got.data[20], i);
	}
	assert_false(bp_captures_next(c, &got));
	assert_null(bp_captures_error(c, 0));
	bp_captures_free(c);
}

static void raises_alarms(void **state)
{
	const struct bp_replay_file in[] = {{"a", path("m.pcap")}};
	const json_t *alarms, *first;
	json_t *j;

	make_mqtt_capture("m.pcap");
	j = replay_json(RULES, in, 1, NULL, 0);
	alarms = json_object_get(j, "alarms");
	assert_int_equal(json_array_size(alarms), 2);
	first = json_array_get(alarms, 0);
	assert_int_equal(number(first, "time_ns", NULL, NULL), T0 + 6 * 1000001);
	assert_string_equal(json_string_value(json_object_get(first, "rule")), "hot");
	assert_string_equal(json_string_value(json_object_get(first, "state")), "raised");
	assert_string_equal(json_string_value(json_object_get(first, "client")), "10.0.0.1:40000");
	assert_string_equal(json_string_value(json_object_get(first, "client_id")), "dev1");
	assert_string_equal(json_string_value(json_object_get(first, "topic")), "plant/1/t");
	assert_true(json_real_value(json_object_get(first, "value")) == 80.1);
	assert_int_equal(number(j, "rules", "hot", "matched"), 3);
	assert_int_equal(number(j, "rules", "hot", "raised"), 2);
	assert_int_equal(number(j, "counters", "publishes", NULL), 3);
	assert_int_equal(number(j, "drops", "runt", NULL), 0);
	json_decref(j);
}

static void is_deterministic(void **state)
{
	const struct bp_replay_file in[] = {{"a", path("m.pcap")}};
	const struct bp_replay_file out[] = {{"b", path("o.pcap")}};
	char *report[2], *capture[2];
	size_t n[2], m[2];

	make_mqtt_capture("m.pcap");
	for (unsigned i = 0; i < 2; i++) {
		json_decref(replay_json(RULES, in, 1, out, 1));
		n[i] = read_file("report.json", &report[i]);
		m[i] = read_file("o.pcap", &capture[i]);
	}
	assert_true(n[0] > 1000 && m[0] > 300);
	assert_int_equal(n[0], n[1]);
	assert_memory_equal(report[0], report[1], n[0]);
	assert_int_equal(m[0], m[1]);
	assert_memory_equal(capture[0], capture[1], m[0]);
	for (unsigned i = 0; i < 2; i++) {
		free(report[i]);
		free(capture[i]);
	}
}

/* Longer than any buffer; cut by the snap length; empty. */
static void frames_of_any_size(void **state)
{
	const struct bp_replay_file in[] = {{"a", path("big.pcap")}};
	const struct bp_replay_file out[] = {{"b", path("o.pcap")}};
	struct writer w = capture_open("big.pcap", DLT_EN10MB);
	struct bp_captures *c = bp_captures_create();
	uint8_t *f = malloc(100000);
	struct bp_capture_frame got;
	const json_t *input;
	char err[256];
	json_t *j;

	assert_non_null(f);
	frame_make(f, 100000, 1, 2, 0x0800);
	capture_add(&w, T0, f, 100000, 100000);
	capture_add(&w, T0 + 1, f, 60, 1514);
	capture_add(&w, T0 + 2, f, 0, 0);
	capture_close(&w);
	j = replay_json(SWITCH, in, 1, out, 1);
	input = json_array_get(json_object_get(j, "inputs"), 0);
	assert_int_equal(number(input, "frames", NULL, NULL), 3);
	assert_int_equal(number(input, "truncated", NULL, NULL), 1);
	assert_int_equal(number(j, "drops", "runt", NULL), 1);
	json_decref(j);
	assert_int_equal(bp_captures_add(c, path("o.pcap"), err, sizeof(err)), 0);
	assert_true(bp_captures_next(c, &got));
	assert_int_equal(got.len, 100000);
	assert_memory_equal(got.data, f, 100000);
	assert_true(bp_captures_next(c, &got));
	assert_int_equal(got.len, 60);
	assert_false(bp_captures_next(c, &got));
	bp_captures_free(c);
	free(f);
}

static void cut_file_is_read_to_its_end(void **state)
{
	const struct bp_replay_file in[] = {{"a", path("cut.pcap")}};
	struct writer w = capture_open("cut.pcap", DLT_EN10MB);
	uint8_t f[64];
	json_t *j;

	frame_make(f, sizeof(f), 1, 2, 0x0800);
	for (unsigned i = 0; i < 3; i++)
		capture_add(&w, T0 + i, f, sizeof(f), sizeof(f));
	capture_close(&w);
	assert_int_equal(truncate(path("cut.pcap"), 24 + 2 * (16 + 64) + 20), 0);
	j = replay_json(SWITCH, in, 1, NULL, 0);
	assert_int_equal(number(j, "ports", "a", "rx_packets"), 2);
	assert_true(json_is_string(
		json_object_get(json_array_get(json_object_get(j, "inputs"), 0), "error")));
	json_decref(j);
}

static int run(struct bp_replay_file in, const struct bp_replay_file *out, unsigned n_out)
{
	struct bp_replay_options o = {.config_path = path("c.yaml"),
		.in = &in,
		.n_in = 1,
		.out = out,
		.n_out = n_out,
		.report = fopen("/dev/null", "w")};
	int status;

	assert_non_null(o.report);
	status = bp_replay_run(&o);
	fclose(o.report);
	return status;
}

static void invalid_arguments_are_refused(void **state)
{
	const struct bp_replay_file nowhere[] = {{"b", "/nonexistent/o.pcap"}};
	const struct bp_replay_file twice[] = {{"b", path("o1.pcap")}, {"b", path("o2.pcap")}};
	const struct bp_replay_file unknown[] = {{"z", path("o1.pcap")}};
	const struct bp_replay_file full[] = {{"b", "/dev/full"}};
	struct writer w = capture_open("radio.pcap", DLT_IEEE802_11);

	capture_close(&w);
	make_mqtt_capture("m.pcap");
	write_file("c.yaml", SWITCH);
	write_file("no.pcap", "this is no capture\n");
	assert_int_equal(run((struct bp_replay_file){"a", path("m.pcap")}, NULL, 0), EX_OK);
	assert_int_equal(run((struct bp_replay_file){"z", path("m.pcap")}, NULL, 0), EX_USAGE);
	assert_int_equal(run((struct bp_replay_file){"a", path("none.pcap")}, NULL, 0), EX_NOINPUT);
	assert_int_equal(run((struct bp_replay_file){"a", path("no.pcap")}, NULL, 0), EX_NOINPUT);
	assert_int_equal(
		run((struct bp_replay_file){"a", path("radio.pcap")}, NULL, 0), EX_NOINPUT);
	assert_int_equal(
		run((struct bp_replay_file){"a", path("m.pcap")}, nowhere, 1), EX_CANTCREAT);
	assert_int_equal(run((struct bp_replay_file){"a", path("m.pcap")}, twice, 2), EX_USAGE);
	assert_int_equal(run((struct bp_replay_file){"a", path("m.pcap")}, unknown, 1), EX_USAGE);
	assert_int_equal(run((struct bp_replay_file){"a", path("m.pcap")}, full, 1), EX_IOERR);
	write_file("c.yaml", "ports: 7\n");
	assert_int_equal(run((struct bp_replay_file){"a", path("m.pcap")}, NULL, 0), EX_CONFIG);
}

static int start(void **state)
{
	snprintf(dir, sizeof(dir), "/tmp/biplane-test-replay-XXXXXX");
	return mkdtemp(dir) ? 0 : -1;
}

static int finish(void **state)
{
	static const char *const files[] = {"c.yaml", "report.json", "a.pcap", "b.pcap", "o.pcap",
		"m.pcap", "big.pcap", "cut.pcap", "o1.pcap", "o2.pcap", "radio.pcap", "no.pcap"};

	for (unsigned i = 0; i < sizeof(files) / sizeof(files[0]); i++)
		unlink(path(files[i]));
	return rmdir(dir);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(merges_by_time),
		cmocka_unit_test(raises_alarms),
		cmocka_unit_test(is_deterministic),
		cmocka_unit_test(frames_of_any_size),
		cmocka_unit_test(cut_file_is_read_to_its_end),
		cmocka_unit_test(invalid_arguments_are_refused),
	};

	return cmocka_run_group_tests(tests, start, finish);
}
