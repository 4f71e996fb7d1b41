/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Delay of ordinary frames while a client attacks MQTT inspection, with one worker in virtual time.
 * The trace has the frames of an attack (1 Mbit/s in bursts) and those of ordinary clients. The
 * inspection code of the product processes each frame three times; the minimum time counts, because
 * the machine is shared. The queue is then simulated: the worker takes the received frames in
 * bursts, as in the product, and a frame leaves when its burst is complete. Prints a JSON array.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#include "bench/hostile/hostile.h"
#include "biplane/counters/mqtt.h"
#include "proto/net/frame.h"

#define SECONDS 2u
#define ATTACK_BPS 1000000u
#define BURST_NS 100000000u /* the attacker saves its rate for this time */
#define LINE_BPS 1000000000u
#define OTHERS_PPS 50000u
#define OTHERS 200u /* connections */
#define RUNS 3
#define BURST 64u       /* burst size of a worker */
#define FORWARD_NS 150u /* cost of a frame without inspection */
#define FRAMING 24u
#define OVER_TARGET 3 /* exit status: measured, but the delay is above the limit */
#define RULES_ON_ONE_TOPIC 1000u
#define DOCUMENT_RULES 16u

static void die(const char *what)
{
	fprintf(stderr, "hostile: %s\n", what);
	exit(1);
}

uint64_t hostile_random(uint64_t *seed)
{
	*seed ^= *seed << 13;
	*seed ^= *seed >> 7;
	*seed ^= *seed << 17;
	return *seed;
}

void hostile_frame(
	struct hostile_trace *t, uint64_t at_ns, const uint8_t *data, size_t n, bool attack)
{
	struct hostile_frame *f;

	if (t->n == t->room) {
		t->room = t->room * 2 + 1024;
		t->frame = realloc(t->frame, t->room * sizeof(*t->frame));
		if (t->frame == NULL)
			die("no memory");
	}
	f = &t->frame[t->n++];
	f->at_ns = at_ns;
	f->len = (uint32_t)n;
	f->attack = attack;
	f->data = malloc(n);
	if (f->data == NULL)
		die("no memory");
	memcpy(f->data, data, n);
}

bool hostile_attack_frame(struct hostile_attack_run *r, const uint8_t *data, size_t n)
{
	uint64_t due = r->wire * 8 * 1000000000u / ATTACK_BPS, burst = due / BURST_NS * BURST_NS;

	if (r->wire >= r->limit)
		return false;
	hostile_frame(r->trace, burst + (due - burst) / (LINE_BPS / ATTACK_BPS), data, n, true);
	r->wire += (n < 60 ? 60 : n) + FRAMING;
	return true;
}

bool hostile_segment(struct hostile_attack_run *r, unsigned from, uint8_t flags, uint32_t seq,
	const void *payload, size_t n)
{
	static uint8_t frame[PEER_FRAME_MAX];

	return hostile_attack_frame(r, frame,
		peer_frame(&r->peer, from, flags, seq, r->peer.seq[!from], payload, n, frame));
}

bool hostile_send(struct hostile_attack_run *r, const struct bytes *b, size_t size)
{
	for (size_t at = 0; at < b->n; at += size) {
		size_t n = b->n - at < size ? b->n - at : size;

		if (!hostile_segment(r, CLIENT, TH_ACK | TH_PSH, r->peer.seq[CLIENT], b->p + at, n))
			return false;
		r->peer.seq[CLIENT] += (uint32_t)n;
	}
	return true;
}

static void broker_sends(struct hostile_attack_run *r, const struct bytes *b)
{
	(void)hostile_segment(r, BROKER, TH_ACK, r->peer.seq[BROKER], b->p, b->n);
	r->peer.seq[BROKER] += (uint32_t)b->n;
}

void hostile_connect(struct hostile_attack_run *r, uint32_t number, uint16_t aliases, bool connack)
{
	struct bytes b = {0};

	peer_init(&r->peer, false, 100000 + number, 1000, 2000);
	(void)hostile_segment(r, CLIENT, TH_SYN, r->peer.seq[CLIENT]++, NULL, 0);
	(void)hostile_segment(r, BROKER, TH_SYN | TH_ACK, r->peer.seq[BROKER]++, NULL, 0);
	(void)hostile_segment(r, CLIENT, TH_ACK, r->peer.seq[CLIENT], NULL, 0);
	mq_connect(&b, 5, "hostile", 0);
	(void)hostile_send(r, &b, 1448);
	b.n = 0;
	mq_connack(&b, 5, 0, aliases, NULL);
	if (connack)
		broker_sends(r, &b);
	(void)hostile_segment(r, CLIENT, TH_ACK, r->peer.seq[CLIENT], NULL, 0);
	bytes_free(&b);
}

/* Ordinary clients: connected before the attack; each publication is from a random client at a
 * random time. */
static void others(struct hostile_trace *t)
{
	static struct peer peer[OTHERS];
	static uint8_t frame[PEER_FRAME_MAX];
	struct hostile_attack_run r = {.trace = t, .limit = UINT64_MAX};
	uint64_t seed = 88172645463325252ull, at = 0;

	for (unsigned i = 0; i < OTHERS; i++) {
		hostile_connect(&r, 50000 + i, 0, true);
		peer[i] = r.peer;
	}
	for (size_t i = 0; i < t->n; i++) {
		t->frame[i].at_ns = 0;
		t->frame[i].attack = false;
	}
	while (at < SECONDS * 1000000000ull) {
		unsigned i = (unsigned)(hostile_random(&seed) % OTHERS);
		struct bytes b = {0};
		char topic[32], value[8];

		at += hostile_random(&seed) % (2 * 1000000000ull / OTHERS_PPS);
		snprintf(topic, sizeof(topic), "plant/%u/temperature", i);
		snprintf(value, sizeof(value), "%u", (unsigned)(hostile_random(&seed) % 70));
		mq_publish(
			&b, &(struct mq_publish){.version = 5, .topic = topic, .payload = value});
		hostile_frame(t, at, frame,
			peer_frame(&peer[i], CLIENT, TH_ACK | TH_PSH, peer[i].seq[CLIENT],
				peer[i].seq[BROKER], b.p, b.n, frame),
			false);
		peer[i].seq[CLIENT] += (uint32_t)b.n;
		bytes_free(&b);
	}
}

static int by_time(const void *a, const void *b)
{
	const struct hostile_frame *x = a, *y = b;

	return x->at_ns < y->at_ns ? -1 : x->at_ns > y->at_ns;
}

/* Merges two sorted traces. */
static void merge(
	struct hostile_trace *all, const struct hostile_trace *a, const struct hostile_trace *b)
{
	size_t i = 0, k = 0;

	all->n = all->room = a->n + b->n;
	all->frame = malloc((all->n + 1) * sizeof(*all->frame));
	if (all->frame == NULL)
		die("no memory");
	for (size_t n = 0; n < all->n; n++) {
		bool first = k == b->n || (i < a->n && by_time(&a->frame[i], &b->frame[k]) <= 0);

		all->frame[n] = first ? a->frame[i++] : b->frame[k++];
	}
}

static void add_rule(struct bp_rule_spec *rules, uint32_t *n, const char *filter, const char *json)
{
	struct bp_rule_spec *s = &rules[*n];
	const char *error;
	char name[16];
	size_t at;

	snprintf(name, sizeof(name), "r%u", (unsigned)(*n)++);
	*s = rig_rule(name, filter, BP_COND_GT, 80);
	if (json == NULL)
		return;
	s->value.kind = BP_VALUE_JSON;
	if (bp_json_path_compile(json, &s->value.json, &error, &at) != 0)
		die(error);
}

static void open_rig(struct rig *r)
{
	uint32_t n = 0, most = RULES_ON_ONE_TOPIC + DOCUMENT_RULES + 16;
	struct bp_rule_spec *rules = calloc(most, sizeof(*rules));
	struct bp_config_mqtt *m = &r->mqtt;

	if (rules == NULL)
		die("no memory");
	rig_defaults(r);
	m->max_connections = 65536;
	m->connection_timeout_ns = 3600ull * 1000000000u;
	m->handshake_timeout_ns = 30ull * 1000000000u;
	m->reassembly_per_connection = 256 * 1024;
	m->reassembly_total = 64 * 1024 * 1024;
	m->max_alarm_states = 65536;
	m->max_rules = most;
	m->alarm_queue_size = 8 * 1024 * 1024;
	m->connection_cpu_percent = 20;
	m->worker_cpu_percent = 50;
	rig_open(r);
	r->trust_checksums = true;
	add_rule(rules, &n, "plant/+/temperature", NULL);
	add_rule(rules, &n, "alarm/#", NULL);
	add_rule(rules, &n, "t", NULL);
	add_rule(rules, &n, "state/+", NULL);
	rules[n - 1].hold = BP_HOLD_COUNT;
	rules[n - 1].hold_count = 3;
	for (unsigned i = 0; i < DOCUMENT_RULES; i++) {
		char path[16];

		snprintf(path, sizeof(path), "$.v%u", i);
		add_rule(rules, &n, "json/+", path);
	}
	while (n < most)
		add_rule(rules, &n, "many/#", NULL);
	rig_rules(r, rules, n);
	free(rules);
}

static uint64_t clock_ns(clockid_t id)
{
	struct timespec t;

	clock_gettime(id, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static void inspect(struct rig *r, const struct hostile_frame *frame)
{
	struct bp_frame f;

	if (bp_frame_parse(frame->data, frame->len, frame->len, &f) == BP_FRAME_TCP &&
		bp_mqtt_worker_inspects(r->in, f.sport, f.dport, &f.to_broker))
		bp_inspect_one(r->in, &f);
}

/* Processes the whole trace; cost[i] becomes the minimum of itself and the time of frame i. */
static uint64_t time_all(const struct hostile_trace *t, uint64_t *cost, uint64_t *work)
{
	static struct rig r;
	uint64_t not_inspected, began, tick = 0;

	memset(&r, 0, sizeof(r));
	open_rig(&r);
	began = r.mono_ns;
	for (size_t i = 0; i < t->n; i++) {
		uint64_t begin, cpu;

		rig_advance(&r, began + t->frame[i].at_ns - r.mono_ns);
		cpu = clock_ns(CLOCK_THREAD_CPUTIME_ID);
		begin = clock_ns(CLOCK_MONOTONIC);
		inspect(&r, &t->frame[i]);
		if (r.mono_ns - tick > 100000) { /* as a busy worker does */
			bp_mqtt_worker_tick(r.in, r.mono_ns);
			tick = r.mono_ns;
		}
		begin = clock_ns(CLOCK_MONOTONIC) - begin;
		/* the first is exact for short times, the second excludes preemption */
		cpu = clock_ns(CLOCK_THREAD_CPUTIME_ID) - cpu;
		begin = cpu < begin ? cpu : begin;
		cost[i] = begin < cost[i] ? begin : cost[i];
		if (i % 256 == 0)
			(void)rig_told_count(&r);
	}
	not_inspected = rig_count(&r, BP_C_NOT_INSPECTED_CONNECTION_BUDGET) +
			rig_count(&r, BP_C_NOT_INSPECTED_WORKER_BUDGET);
	*work = bp_mqtt_worker_work(r.in);
	rig_close(&r);
	return not_inspected;
}

/* Writes the delays of the ordinary frames; returns their number. */
static size_t queue(const struct hostile_trace *t, const uint64_t *cost, uint64_t *delay)
{
	uint64_t now = 0;
	size_t n = 0;

	for (size_t i = 0; i < t->n;) {
		size_t end = i;

		if (now < t->frame[i].at_ns)
			now = t->frame[i].at_ns;
		for (uint64_t begin = now;
			end < t->n && end - i < BURST && t->frame[end].at_ns <= begin; end++)
			now += cost[end] + FORWARD_NS;
		for (; i < end; i++) {
			/* frames at time 0 are the setup before the measurement */
			if (!t->frame[i].attack && t->frame[i].at_ns != 0)
				delay[n++] = now - t->frame[i].at_ns;
		}
	}
	return n;
}

static int by_value(const void *a, const void *b)
{
	const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

/* Returns whether the delay of ordinary frames was below 1 ms. */
static bool attack(const struct hostile_attack *a, const struct hostile_trace *ordinary, bool first)
{
	struct hostile_trace own = {0}, all;
	struct hostile_attack_run r = {
		.trace = &own, .limit = (uint64_t)SECONDS * ATTACK_BPS / 8, .seed = 42};
	uint64_t *cost, *delay, not_inspected = 0, work = 0, spent = 0, longest = 0;
	size_t n;

	a->make(&r);
	merge(&all, ordinary, &own);
	cost = malloc((all.n + 1) * sizeof(*cost));
	delay = malloc((all.n + 1) * sizeof(*delay));
	if (cost == NULL || delay == NULL)
		die("no memory");
	memset(cost, 0xff, all.n * sizeof(*cost));
	for (unsigned i = 0; i < RUNS; i++)
		not_inspected = time_all(&all, cost, &work);
	n = queue(&all, cost, delay);
	qsort(delay, n, sizeof(*delay), by_value);
	for (size_t i = 0; i < all.n; i++) {
		if (!all.frame[i].attack)
			continue;
		spent += cost[i];
		longest = cost[i] > longest ? cost[i] : longest;
	}
	const size_t p50 = n / 2, p99 = n - n / 100 - 1, p999 = n - n / 1000 - 1;

	printf("%s\n{\"attack\": \"%s\", \"what\": \"%s\", \"frames\": %zu, \"share_percent\": %.3f"
	       ", \"longest_us\": %.1f, \"p50_us\": %.1f, \"p99_us\": %.1f, \"p999_us\": %.1f"
	       ", \"max_us\": %.1f, \"not_inspected\": %" PRIu64 "}",
		first ? "" : ",", a->name, a->what, own.n, (double)spent / (SECONDS * 1e9) * 100,
		(double)longest / 1e3, (double)delay[p50] / 1e3, (double)delay[p99] / 1e3,
		(double)delay[p999] / 1e3, (double)delay[n - 1] / 1e3, not_inspected);
	fflush(stdout);
	longest = delay[n - n / 1000 - 1];
	for (size_t i = 0; i < own.n; i++)
		free(own.frame[i].data);
	free(own.frame);
	free(all.frame);
	free(cost);
	free(delay);
	return longest < 1000000;
}

int main(int argc, char **argv)
{
	struct hostile_trace ordinary = {0};
	bool ok = true, first = true;

	/* the product allocates its memory before traffic arrives */
	if (mlockall(MCL_CURRENT | MCL_FUTURE) != 0)
		fprintf(stderr, "hostile: memory can't be locked: figures will be high\n");
	others(&ordinary);
	printf("[");
	for (size_t i = 0; i < hostile_n_attacks; i++) {
		if (argc > 1 && strcmp(argv[1], hostile_attacks[i].name) != 0)
			continue;
		ok = attack(&hostile_attacks[i], &ordinary, first) && ok;
		first = false;
	}
	printf("\n]\n");
	return ok ? 0 : OVER_TARGET;
}
