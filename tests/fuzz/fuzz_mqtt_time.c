/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Searches for input with a high cost of inspection per byte of the frames. In addition to
 * coverage, the accounted work (services/mqtt/work.h) and the run time, each per byte, are counters
 * for libFuzzer. It fails when
 *
 * - the accounted work exceeds the budget of the bytes and of the accounts; - a run takes far
 * longer than its accounted work: something costs that nothing accounts for.
 *
 * An input is a small program that generates the streams of a connection, so that few input bytes
 * give many bytes on the link: append, repeat, send in segments of a size, leave a hole,
 * acknowledge.
 */
#include "rig.h"

#include <stddef.h>
#include <string.h>
#include <time.h>

#include "services/mqtt/work.h"
#include "tests/fuzz/fuzz.h"

#define WIRE_MAX (1024u * 1024u) /* bytes of the line that a run has at most */
#define PENDING_MAX (128u * 1024u)
#define OVERHEAD 78u /* of a segment: Ethernet, IPv4, TCP, and what is in no buffer */
/*
 * Limit of a run: sanitizers and coverage make it several times slower, and the machine is shared,
 * so the bounds are generous; quadratic time still exceeds them.
 */
#define RUNS 12
#define NS_PER_BYTE 2000u
#define NS_PER_WORK 40u

#define COST_COUNTERS 64
__attribute__((section("__libfuzzer_extra_counters"))) static uint8_t cost[2][COST_COUNTERS];

struct input {
	const uint8_t *p, *end;
};

static uint8_t take(struct input *in)
{
	return in->p < in->end ? *in->p++ : 0;
}

static struct rig rig;
static uint32_t connections;

static void start(void)
{
	static const char *const filters[] = {
		"#", "+", "+/+", "a/+", "+/b", "a/b", "a/b/#", "+/+/+"};
	struct bp_rule_spec rules[64];
	struct bp_config_mqtt *m = &rig.mqtt;

	rig_defaults(&rig);
	m->max_connections = 64;
	m->connection_cpu_percent = 20;
	m->worker_cpu_percent = 50;
	m->reassembly_per_connection = 256 * 1024;
	m->max_topic_aliases = 65535;
	m->alarm_queue_size = 4 * 1024 * 1024;
	rig_open(&rig);
	rig.trust_checksums = true;
	for (unsigned i = 0; i < 64; i++) {
		char name[8];

		snprintf(name, sizeof(name), "r%u", i);
		rules[i] = rig_rule(name, filters[i % 8], BP_COND_GT, (double)(i * 10));
		if (i % 3 == 1)
			rules[i].repeat = BP_REPEAT_ON_CHANGE;
		if (i % 5 == 1) {
			const char *error;
			char path[16];
			size_t at;

			snprintf(path, sizeof(path), "$.a%u", i);
			rules[i].value.kind = BP_VALUE_JSON;
			HOLDS(bp_json_path_compile(path, &rules[i].value.json, &error, &at) == 0);
		}
	}
	rig_rules(&rig, rules, 64);
}

/* One run of the input. */
struct run {
	struct peer peer;
	uint8_t pending[2][PENDING_MAX];
	uint32_t n[2];
	uint64_t wire; /* bytes of the frames */
	uint64_t segments;
	uint64_t ns; /* of virtual time that passed */
};

static void append(struct run *r, unsigned d, const void *p, size_t n)
{
	if (n > PENDING_MAX - r->n[d])
		n = PENDING_MAX - r->n[d];
	memcpy(r->pending[d] + r->n[d], p, n);
	r->n[d] += (uint32_t)n;
}

/* Packets that lead somewhere, so that not each must be found. */
static void append_packet(struct run *r, unsigned d, uint8_t which, uint8_t with)
{
	static const char *const topics[] = {"a", "a/b", "a/b/c", "b/b", "", "x/y/z/1/2/3"};
	static const char *const payloads[] = {
		"81", "1e400", "{\"a1\":1}", "[[[1]]]", "{\"a6\":\"\\u0041\"}", ""};
	struct mq_publish p = {.version = 5,
		.topic = topics[with % 6],
		.alias = (uint16_t)(which & 8 ? 1 + with : 0),
		.payload = payloads[with / 6 % 6],
		.qos = which & 16 ? 1 : 0,
		.id = 7,
		.properties = "\x26\0\1a\0\1b",
		.properties_len = which & 32 ? 7 : 0};
	struct bytes b = {0};

	switch (which & 7) {
	case 0:
		mq_empty(&b, d == CLIENT ? MQ_PINGREQ : MQ_PINGRESP);
		break;
	case 1:
		mq_ack(&b, MQ_PUBACK, 7);
		break;
	case 2:
		if (d == CLIENT)
			mq_subscribe(&b, 5, 7, "a/#");
		else
			mq_suback(&b, 5, 7, 0);
		break;
	default:
		mq_publish(&b, &p);
	}
	append(r, d, b.p, b.n);
	bytes_free(&b);
}

/* The head of a PUBLISH whose topic and properties are to come. */
static void append_head(struct run *r, unsigned d, uint8_t topic, uint8_t size)
{
	uint32_t remaining = ((uint32_t)size + 1) * 1024;
	struct bytes b = {0};

	bytes_u8(&b, 0x30);
	bytes_varint(&b, remaining);
	bytes_be16(&b, (uint16_t)(topic << (topic & 7)));
	append(r, d, b.p, b.n);
	bytes_free(&b);
}

static void repeat(struct run *r, unsigned d, uint32_t last, uint32_t times)
{
	if (last > r->n[d])
		last = r->n[d];
	for (; times != 0 && last != 0 && r->n[d] + last <= PENDING_MAX; times--)
		append(r, d, r->pending[d] + r->n[d] - last, last);
}

static void send_pending(struct run *r, unsigned d, uint32_t size)
{
	for (uint32_t at = 0; at < r->n[d] && r->wire < WIRE_MAX; at += size) {
		uint32_t n = r->n[d] - at < size ? r->n[d] - at : size;

		rig_send(&rig, &r->peer, d, r->pending[d] + at, n);
		r->wire += n + OVERHEAD;
		r->segments++;
	}
	r->n[d] = 0;
}

static void step(struct run *r, struct input *in, unsigned *d)
{
	static const uint16_t sizes[] = {1, 2, 3, 16, 100, 536, 1000, 1448};
	uint8_t op = take(in), a = take(in), literal[256];
	uint32_t n;

	switch (op % 9) {
	case 0:
		for (n = 0; n < a && in->p < in->end; n++)
			literal[n] = take(in);
		append(r, *d, literal, n);
		break;
	case 1:
		append_packet(r, *d, a, take(in));
		break;
	case 2:
		repeat(r, *d, a + 1u, take(in) * 16u);
		break;
	case 3:
		send_pending(r, *d, sizes[a % 8]);
		break;
	case 4: /* bytes that never come, or come later */
		r->peer.seq[*d] += a;
		break;
	case 5:
		r->peer.seq[*d] -= a;
		break;
	case 6:
		rig_segment(&rig, &r->peer, !*d, TH_ACK, r->peer.seq[!*d],
			r->peer.seq[*d] + (a & 1), NULL, 0);
		r->wire += OVERHEAD;
		break;
	case 7:
		append_head(r, *d, a, take(in));
		break;
	case 8:
		*d ^= a & 1;
		rig_advance(&rig, (uint64_t)(a >> 1) * 100000);
		r->ns += (uint64_t)(a >> 1) * 100000;
		break;
	}
}

static uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* Returns what it took; r->wire and *work say what for. */
static uint64_t run(struct run *r, const uint8_t *data, size_t size, uint64_t *work)
{
	struct input in = {data, data + size};
	uint64_t begin, before;
	unsigned d = CLIENT;

	/* accounts are empty, and nothing is left of the run before */
	rig_advance(&rig, 60ull * 1000 * 1000 * 1000);
	r->n[0] = r->n[1] = 0;
	r->wire = r->ns = r->segments = 0;
	peer_init(&r->peer, false, ++connections, 1000, 2000);
	rig_connect_alias(&rig, &r->peer, "time", 65535, 65535);
	begin = now_ns();
	before = bp_mqtt_worker_work(rig.in);
	while (in.p < in.end && r->wire < WIRE_MAX)
		step(r, &in, &d);
	send_pending(r, CLIENT, 1448);
	send_pending(r, BROKER, 1448);
	*work = bp_mqtt_worker_work(rig.in) - before;
	begin = now_ns() - begin;
	(void)rig_told_count(&rig);
	return begin;
}

/* Twice the cost is four counters further. */
static void note(uint8_t *counters, uint64_t milli_per_byte)
{
	unsigned log = milli_per_byte == 0 ? 0 : 63 - (unsigned)__builtin_clzll(milli_per_byte);
	unsigned quarter = log < 2 ? 0 : (unsigned)(milli_per_byte >> (log - 2) & 3);
	unsigned at = log * 4 + quarter;

	counters[at < COST_COUNTERS ? at : COST_COUNTERS - 1] = 1;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct run r;
	uint64_t ns, work, most;

	if (rig.in == NULL)
		start();
	ns = run(&r, data, size, &work);
	if (r.wire == 0)
		return 0;
	note(cost[0], work * 1000 / r.wire);
	note(cost[1], ns / 64 * 1000 / r.wire); /* coarse: it is a time */
	/*
	 * Free work, twice because cut packets and held segments bring theirs again; the shares of
	 * what passed; what the account of a connection holds at once (20 % of a core for 8 ms); a
	 * step that began within them; and, of each segment, a small step that began within what is
	 * free.
	 */
	most = r.wire * BP_WORK_PER_BYTE * 4 + r.ns / 5 + 1677720 + 600000 +
	       r.segments * BP_WORK_AHEAD;
	HOLDS(work <= most);
	for (unsigned i = 0; i < RUNS && ns > r.wire * NS_PER_BYTE + work * NS_PER_WORK; i++) {
		uint64_t again = run(&r, data, size, &work);

		ns = again < ns ? again : ns;
	}
	HOLDS(ns <= r.wire * NS_PER_BYTE + work * NS_PER_WORK);
	return 0;
}
