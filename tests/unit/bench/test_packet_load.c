/* SPDX-License-Identifier: BSD-3-Clause */
/* bench/peers/packet_load: its options, the segments of its MQTT connections, and its open loop. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>
#include <getopt.h>

#include "bench/harness/cpu_of.h"
#include "bench/harness/load.h"
#include "bench/peers/packet_options.h"
#include "bench/peers/packet_publish.h"
#include "proto/net/frame.h"

#define WORDS_MAX 40

static bool read_options(struct packet_options *o, const char *text)
{
	static char copy[512];
	char *word[WORDS_MAX] = {(char[]){"packet_load"}}, *rest = copy;
	struct bench_cpu cpu = {0};
	int n = 1;

	snprintf(copy, sizeof(copy), "-F left -T right -i eth0 -m 02:00:00:00:00:01 %s", text);
	while ((word[n] = strtok_r(rest, " ", &rest)) != NULL)
		n++;
	optind = 0; /* start again (glibc) */
	opterr = 0;
	return packet_options_read(o, &cpu, n, word);
}

#define ENDS "-s 10.0.0.1 -d 10.0.0.2 "

static void options_have_defaults(void **state)
{
	struct packet_options o;

	(void)state;
	assert_true(read_options(&o, ENDS));
	assert_int_equal(o.size, 64);
	assert_int_equal(o.connections, 0);
	assert_false(o.open_loop);
	assert_string_equal(o.source, "10.0.0.1");
	assert_string_equal(o.destination, "10.0.0.2");
	assert_string_equal(o.load.from, "left");
	assert_int_equal(o.load.every, 1);
}

static void options_select_size_connections_and_open_loop(void **state)
{
	static const uint32_t sizes[] = {64, 128, 512, 1518};
	struct packet_options o;
	char text[128];

	(void)state;
	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		snprintf(text, sizeof(text), ENDS "-o -r 1000 -t 0.5 -c 1000 -z %u", sizes[i]);
		assert_true(read_options(&o, text));
		assert_int_equal(o.size, sizes[i]);
		assert_int_equal(o.connections, 1000);
		assert_true(o.open_loop);
		assert_true(o.load.rate == 1000);
	}
}

static void invalid_options_are_rejected(void **state)
{
	static const char *const bad[] = {"-s 10.0.0.1", "-d 10.0.0.2", ENDS "-z 63",
		ENDS "-z 1519", ENDS "-z", ENDS "-z 64x", ENDS "-z -64", ENDS "-o -r 1 -c 31",
		ENDS "-o -r 1 -c 16385", ENDS "-x", ENDS "word", ENDS "-n 3", ENDS "-t 0",
		ENDS "-o",                      /* an open loop without a rate */
		ENDS "-c 1000 -r 1",            /* segments have no time stamp */
		ENDS "-o -r 1 -c 1000 -z 188"}; /* no PUBLISH has this length */
	struct packet_options o;

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		if (read_options(&o, bad[i]))
			fail_msg("accepted: %s", bad[i]);
}

static const struct packet_mqtt_ends ends = {.client_mac = {2, 0, 0, 0, 0, 1},
	.broker_mac = {2, 0, 0, 0, 0, 2},
	.client = 0x0a000001,
	.broker = 0x0a010001};

static struct bp_frame parsed(uint8_t *data, uint32_t len)
{
	struct bp_frame f = {.data = data, .l3 = 14, .l4 = 34, .payload = PACKET_HEADERS};

	assert_int_equal(bp_be16(data + 16), len - 14);
	f.payload_len = len - PACKET_HEADERS;
	assert_true(bp_frame_checksum_ok(&f));
	return f;
}

/* The topic, with the payload after it; both are within the frame. */
static const uint8_t *publish_of(const uint8_t *frame, uint32_t len, uint32_t *payload_len)
{
	const uint8_t *p = frame + PACKET_HEADERS;
	uint32_t remaining, topic_len;

	assert_int_equal(*p++, 0x30);
	remaining = *p & 0x7f;
	if (*p++ & 0x80)
		remaining |= (uint32_t)*p++ << 7;
	assert_int_equal(remaining, len - (uint32_t)(p - frame));
	topic_len = bp_be16(p);
	assert_in_range(topic_len, 1, remaining - 3);
	*payload_len = remaining - 2 - topic_len;
	return p + 2;
}

static void publications_fill_their_frames(void **state)
{
	static const uint32_t sizes[] = {64, 65, 100, 127, 128, 187, 189, 512, 1518};
	uint8_t frame[PACKET_SIZE_MAX];

	(void)state;
	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		const uint32_t len = sizes[i] - PACKET_FCS;
		const bool large = sizes[i] >= 128;
		uint32_t n;

		for (unsigned high = 0; high < 2; high++) {
			const uint8_t *topic;
			char value[64] = "";

			packet_publish(&ends, 7, high, len, frame);
			parsed(frame, len);
			topic = publish_of(frame, len, &n);
			assert_memory_equal(
				topic, large ? "plant/00007/temperature" : "t", large ? 23 : 1);
			snprintf(value, sizeof(value), "{\"celsius\":%s,\"x\":\"",
				high ? "91.5" : "23.5");
			if (large)
				assert_memory_equal(topic + 23, value, strlen(value));
			assert_int_equal(frame[len - 1], large ? '}' : high ? '9' : '2');
		}
	}
}

static void sequence_numbers_follow_the_handshake(void **state)
{
	uint8_t frame[PACKET_SIZE_MAX];
	struct bp_frame f;
	uint32_t len;

	(void)state;
	len = packet_control(&ends, PACKET_SYN, 3, 0xfffffff0, frame);
	parsed(frame, len);
	assert_int_equal(bp_be32(frame + 26), ends.client + 3);
	assert_int_equal(bp_be16(frame + 34), PACKET_CLIENT_PORT + 3);
	len = packet_control(&ends, PACKET_SYN_ACK, 3, 0xfffffff0, frame);
	parsed(frame, len);
	assert_int_equal(bp_be32(frame + 42), 0xfffffff1);
	len = packet_control(&ends, PACKET_CONNECT, 3, 0xfffffff0, frame);
	f = parsed(frame, len);
	assert_int_equal(bp_be32(frame + 38) + f.payload_len, packet_first_seq(0xfffffff0));
	len = packet_control(&ends, PACKET_CONNACK, 3, 0xfffffff0, frame);
	parsed(frame, len);
	assert_int_equal(bp_be32(frame + 42), packet_first_seq(0xfffffff0));
	len = packet_ack(&ends, 3, 99, frame);
	parsed(frame, len);
	assert_int_equal(bp_be32(frame + 42), 99);
	packet_publish(&ends, 3, false, 60, frame);
	for (uint32_t seq = 0xffffff00; seq != 0x100; seq += 0x10) {
		packet_set_seq(frame, seq);
		parsed(frame, 60);
		assert_int_equal(bp_be32(frame + 38), seq);
	}
}

struct calls {
	uint64_t next;
	bool accepted;
};

static uint32_t count_call(void *arg, uint64_t first, uint32_t n)
{
	struct calls *c = arg;

	assert_int_equal(first, c->next);
	assert_in_range(n, 1, BENCH_LOAD_BATCH);
	c->next += c->accepted ? n : 0;
	return c->accepted ? n : 0;
}

static void intended_send_times_do_not_depend_on_the_sender(void **state)
{
	struct bench_load_open l = {.rate = 1000, .seconds = 0.05, .begin_ns = bench_load_now_ns()};
	struct calls none = {0};

	(void)state;
	bench_load_send_open(&l, count_call, &none);
	assert_int_equal(l.intended, 50);
	assert_int_equal(l.sent, 0);
	assert_true(l.max_late_ns > 0);
	assert_true(l.end_ns >= l.begin_ns + 50000000);
	assert_int_equal(bench_load_intended_ns(&l, 0), l.begin_ns);
	assert_int_equal(bench_load_intended_ns(&l, 49), l.begin_ns + 49000000);
}

static void late_frames_are_sent_and_count_as_late(void **state)
{
	/* at the end of this interval, all of its frames are due */
	struct bench_load_open l = {.rate = 10, .seconds = 100};
	struct calls all = {.accepted = true};

	(void)state;
	l.begin_ns = bench_load_now_ns() - 100000000000ull;
	bench_load_send_open(&l, count_call, &all);
	assert_int_equal(l.intended, 1000);
	assert_int_equal(l.sent, all.next);
	assert_int_equal(l.sent, 1000);
	assert_true(l.max_late_ns >= 100000000000ull);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(options_have_defaults),
		cmocka_unit_test(options_select_size_connections_and_open_loop),
		cmocka_unit_test(invalid_options_are_rejected),
		cmocka_unit_test(publications_fill_their_frames),
		cmocka_unit_test(sequence_numbers_follow_the_handshake),
		cmocka_unit_test(intended_send_times_do_not_depend_on_the_sender),
		cmocka_unit_test(late_frames_are_sent_and_count_as_late),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
