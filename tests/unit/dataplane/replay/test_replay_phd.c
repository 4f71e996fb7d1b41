/* SPDX-License-Identifier: BSD-3-Clause */
/* Health devices in `biplane replay`: many devices, and invalid bytes.
 * tests/e2e/health/test_replay_phd.py checks the output for each APDU. */
#include "tests/unit/dataplane/test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sysexits.h>
#include <unistd.h>

#include <jansson.h>
#include <pcap/pcap.h>

#include "dataplane/replay/replay.h"
#include "dataplane/replay/replay_phd_known.h"
#include "dataplane/replay/replay_phd_peers.h"
#include "tests/unit/proto/health/phd_vectors.h"

#define T0 1700000000000000000ull
#define SYSTEM_ID_AT 36 /* in an AARQ of one protocol */
#define DEVICES 300u

#define CONFIG                                                                                     \
	"version: 1\nports:\n"                                                                     \
	"  - {name: left, device: net_null0, routed: {addresses: [10.1.0.1/16]}}\n"                \
	"  - {name: right, device: net_null1, routed: {addresses: [10.2.0.1/24]}}\n"               \
	"routing:\n"                                                                               \
	"  static_neighbors: [{address: 10.2.0.2, mac: \"02:00:00:00:cc:02\", interface: "         \
	"right}]\n"                                                                                \
	"health_devices:\n"                                                                        \
	"  max_sessions: 1024\n"                                                                   \
	"  cse: {coap: \"coap://10.2.0.2\", path: \"cse-in/{system_id}/{object}\"}\n"

static char dir[64];
static const json_t *vectors;

static const char *path(const char *name)
{
	static char p[16][128];
	static unsigned turn;
	char *out = p[turn++ % 16];

	snprintf(out, sizeof(p[0]), "%s/%s", dir, name);
	return out;
}

/* ---- a capture ---- */

struct writer {
	pcap_t *format;
	pcap_dumper_t *dumper;
	uint64_t ns;
};

static struct writer capture_open(const char *name)
{
	struct writer w = {.ns = T0};

	w.format = pcap_open_dead_with_tstamp_precision(
		DLT_EN10MB, 262144, PCAP_TSTAMP_PRECISION_NANO);
	w.dumper = pcap_dump_open(w.format, path(name));
	assert_non_null(w.dumper);
	return w;
}

static void capture_close(struct writer *w)
{
	pcap_dump_close(w->dumper);
	pcap_close(w->format);
}

static void put16(uint8_t *p, uint32_t v)
{
	p[0] = (uint8_t)(v >> 8);
	p[1] = (uint8_t)v;
}

static void capture_add(struct writer *w, const uint8_t *frame, uint32_t len)
{
	struct pcap_pkthdr h = {.caplen = len, .len = len};

	w->ns += 1000003;
	h.ts.tv_sec = (time_t)(w->ns / 1000000000u);
	h.ts.tv_usec = (suseconds_t)(w->ns % 1000000000u);
	pcap_dump((u_char *)w->dumper, &h, frame);
}

/* From a device at 10.1.x.y, without an UDP checksum, as IPv4 allows it. */
static void says(struct writer *w, unsigned device, const uint8_t *apdu, size_t len)
{
	uint8_t f[2048] = {2, 0, 0, 0, 0, 0, 2, 0, 0, 0xaa};
	uint32_t sum = 0;

	put16(f + 10, device);
	put16(f + 12, 0x800);
	f[14] = 0x45;
	put16(f + 16, (uint32_t)(28 + len));
	f[22] = 64;
	f[23] = 17;
	memcpy(f + 26, "\x0a\1\0\0\x0a\1\0\1", 8);
	put16(f + 28, 256 + device);
	for (unsigned i = 14; i < 34; i += 2)
		sum += (uint32_t)f[i] << 8 | f[i + 1];
	sum = (sum & 0xffff) + (sum >> 16);
	put16(f + 24, ~sum);
	put16(f + 34, 50000);
	put16(f + 36, 6024);
	put16(f + 38, (uint32_t)(8 + len));
	memcpy(f + 42, apdu, len);
	capture_add(w, f, (uint32_t)(42 + len));
}

static void says_vector(struct writer *w, unsigned device, const char *name)
{
	size_t len;
	uint8_t *apdu = vector_bytes(vector_named(vectors, name), &len);

	if (name[0] == 'A')
		put16(apdu + SYSTEM_ID_AT + 6, device);
	says(w, device, apdu, len);
	free(apdu);
}

/* ---- a replay ---- */

static size_t read_file(const char *name, char **data)
{
	FILE *f = fopen(path(name), "r");
	long n;

	assert_non_null(f);
	assert_int_equal(fseek(f, 0, SEEK_END), 0);
	n = ftell(f);
	rewind(f);
	*data = calloc(1, (size_t)n + 1);
	assert_non_null(*data);
	assert_int_equal(fread(*data, 1, (size_t)n, f), (size_t)n);
	fclose(f);
	return (size_t)n;
}

/* The report, whose balance is exact; the output is in l.pcap and r.pcap. */
static json_t *replay(bool assume_stored)
{
	const struct bp_replay_file in[] = {{"left", path("in.pcap")}};
	const struct bp_replay_file out[] = {{"left", path("l.pcap")}, {"right", path("r.pcap")}};
	struct bp_replay_options o = {.config_path = path("c.yaml"),
		.in = in,
		.n_in = 1,
		.out = out,
		.n_out = 2,
		.json = true,
		.assume_stored = assume_stored};
	FILE *config = fopen(path("c.yaml"), "w");
	json_t *j;
	char *text;

	assert_true(config && fputs(CONFIG, config) >= 0 && fclose(config) == 0);
	o.report = fopen(path("report.json"), "w");
	assert_non_null(o.report);
	assert_int_equal(bp_replay_run(&o), EX_OK);
	fclose(o.report);
	read_file("report.json", &text);
	j = json_loads(text, 0, NULL);
	assert_non_null(j);
	free(text);
	assert_true(json_is_true(json_object_get(json_object_get(j, "totals"), "balanced")));
	return j;
}

static json_int_t health(const json_t *j, const char *a, const char *b)
{
	j = json_object_get(json_object_get(j, "health_devices"), a);
	j = b ? json_object_get(j, b) : j;
	assert_true(json_is_integer(j));
	return json_integer_value(j);
}

/* More than any table of replay begins with, each with a configuration of its own. */
static void many_devices(void **state)
{
	struct writer w = capture_open("in.pcap");
	json_t *j;

	vectors = *state;
	for (unsigned round = 0; round < 2; round++) {
		for (unsigned d = 0; d < DEVICES; d++) {
			says_vector(&w, d, "A04");
			if (round == 0) /* it is known then */
				says_vector(&w, d, "C03");
		}
		for (unsigned d = 0; d < DEVICES; d++) {
			says_vector(&w, d, "S10");
			says_vector(&w, d, "R01");
		}
	}
	capture_close(&w);
	j = replay(true);
	assert_int_equal(health(j, "associations", "requests"), 2 * DEVICES);
	assert_int_equal(health(j, "associations", "accepted"), 2 * DEVICES);
	assert_int_equal(health(j, "associations", "released"), 2 * DEVICES);
	assert_int_equal(health(j, "configurations_accepted", NULL), DEVICES);
	assert_int_equal(health(j, "reports", NULL), 2 * DEVICES);
	assert_int_equal(health(j, "responses", NULL), 2 * DEVICES);
	assert_int_equal(health(j, "cse_requests", NULL), 2 * 5 * DEVICES);
	assert_int_equal(health(j, "stored", NULL), 2 * 5 * DEVICES);
	json_decref(j);
}

/* Every vector, whole and with changed bytes, from devices in all states: the balance remains
 * exact, and two runs have the same output. */
static void arbitrary_apdus_keep_the_totals_exact(void **state)
{
	struct writer w = capture_open("in.pcap");
	uint64_t random = 1;
	size_t n[2][2];
	char *was[2][2];

	vectors = *state;
	for (unsigned i = 0; i < 5000; i++) {
		size_t len, at;
		uint8_t *apdu;

		random = random * 6364136223846793005ull + 1442695040888963407ull;
		apdu = vector_bytes(json_array_get(vectors, (random >> 33) % VECTORS), &len);
		at = (random >> 24) % len;
		if (random >> 60 < 6)
			apdu[at] = (uint8_t)(random >> 40);
		if (random >> 60 == 15)
			len = at;
		says(&w, (random >> 50) % 8, apdu, len);
		free(apdu);
	}
	capture_close(&w);
	for (unsigned i = 0; i < 2; i++) {
		json_t *j = replay(true);

		assert_true(health(j, "associations", "accepted") > 50);
		assert_true(health(j, "stored", NULL) > 10);
		assert_true(health(j, "discarded", "phd_discarded_unknown_session") > 10);
		json_decref(j);
		n[i][0] = read_file("l.pcap", &was[i][0]);
		n[i][1] = read_file("r.pcap", &was[i][1]);
	}
	for (unsigned p = 0; p < 2; p++) {
		assert_int_equal(n[0][p], n[1][p]);
		assert_memory_equal(was[0][p], was[1][p], n[0][p]);
		free(was[0][p]);
		free(was[1][p]);
	}
}

/* ---- what replay keeps ---- */

static void known_configurations(void **state)
{
	size_t len;
	uint8_t *apdu = vector_bytes(vector_named(*state, "C03"), &len);
	/* the ConfigReport behind PRST, lengths, invoke-id, choice, handle, time and type */
	const struct bp_phd_bytes report = {apdu + 22, (uint16_t)(len - 22)};
	struct bp_replay_known *k = bp_replay_known_new(200);
	struct bp_phd_model m;
	uint16_t spec = 7;

	assert_non_null(k);
	for (unsigned i = 0; i < 201; i++) {
		uint8_t id[8] = {0, 0, 0, 0, 0, 0, 1, (uint8_t)i};

		assert_false(bp_replay_known_find(k, id, 0x4000, &m, &spec));
		bp_replay_known_learn(k, id, 0x4000, report);
		bp_replay_known_spec(k, id, 0x4000, (uint16_t)(4000 + i));
	}
	for (unsigned i = 0; i < 201; i++) {
		uint8_t id[8] = {0, 0, 0, 0, 0, 0, 1, (uint8_t)i};

		/* there is room for 200 */
		assert_int_equal(bp_replay_known_find(k, id, 0x4000, &m, &spec), i < 200);
		assert_false(bp_replay_known_find(k, id, 0x4001, &m, &spec));
		if (i == 200)
			break;
		assert_int_equal(m.config_id, 0x4000);
		assert_int_equal(m.n, 5);
		assert_int_equal(spec, 4000 + i);
		bp_replay_known_learn(k, id, 0x4000, report);
		assert_true(bp_replay_known_find(k, id, 0x4000, &m, &spec));
		assert_int_equal(spec, 0);
	}
	bp_replay_known_free(k);
	free(apdu);
}

static void heard_addresses(void **state)
{
	struct bp_replay_peers *p = bp_replay_peers_new();
	struct bp_replay_peer peer = {.address = {[10] = 0xff, 0xff, 10}};
	const struct bp_replay_peer *found;

	(void)state;
	assert_non_null(p);
	for (unsigned round = 0; round < 2; round++) {
		for (unsigned i = 0; i < 1000; i++) {
			put16(peer.address + 14, i);
			put16(peer.mac + 4, i ^ 0x5555 * round);
			peer.interface = (uint8_t)(i % 7);
			assert_true(bp_replay_peers_note(p, &peer));
		}
		for (unsigned i = 0; i < 1000; i++) {
			put16(peer.address + 14, i);
			found = bp_replay_peers_find(p, peer.address);
			assert_non_null(found);
			put16(peer.mac + 4, i ^ 0x5555 * round);
			assert_memory_equal(found->mac, peer.mac, 6);
			assert_int_equal(found->interface, i % 7);
		}
	}
	put16(peer.address + 14, 1000);
	assert_null(bp_replay_peers_find(p, peer.address));
	bp_replay_peers_free(p);
}

static int start(void **state)
{
	snprintf(dir, sizeof(dir), "/tmp/biplane-test-replay-phd-XXXXXX");
	return mkdtemp(dir) ? vectors_setup(state) : -1;
}

static int finish(void **state)
{
	static const char *const files[] = {"c.yaml", "report.json", "in.pcap", "l.pcap", "r.pcap"};

	for (unsigned i = 0; i < sizeof(files) / sizeof(files[0]); i++)
		unlink(path(files[i]));
	return rmdir(dir) == 0 ? vectors_teardown(state) : -1;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(known_configurations),
		cmocka_unit_test(heard_addresses),
		cmocka_unit_test(many_devices),
		cmocka_unit_test(arbitrary_apdus_keep_the_totals_exact),
	};

	return cmocka_run_group_tests(tests, start, finish);
}
