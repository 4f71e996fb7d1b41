/* SPDX-License-Identifier: BSD-3-Clause */
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "biplane/counters/mqtt.h"
#include "broker.h"
#include "refused.h"
#include "rig.h"

/*
 * A client sends packets that brokers and inspection may interpret differently, so that the broker
 * delivers publications that inspection does not evaluate, or the reverse. The same bytes go to a
 * real mosquitto and to inspection; the publications that a subscriber received and those that
 * raised an alarm must be the same. A mosquitto that is newer than the one which inspection follows
 * may end a session earlier, at one of the packets in refused.h: then they must be those of the
 * session up to this packet.
 *
 * test_mosquitto [--sessions N] [--seed N] [--only NUMBER] [--batch N]
 */

#define SKIP 77
#define SHOWN 12
#define FOLLOWED "2.0.11" /* the version of mosquitto whose behaviour inspection assumes */

struct totals {
	uint64_t sessions, delivered, alarms, refused, unreleased, shorter, differ;
};

/* ---- the inspector's view ---- */

static uint64_t random_state = 1;

static uint32_t below(uint32_t n)
{
	random_state ^= random_state >> 12;
	random_state ^= random_state << 25;
	random_state ^= random_state >> 27;
	return (uint32_t)((random_state * 0x2545f4914f6cdd1dull >> 32) % n);
}

/* All of [p, p + n) in segments of a random size. */
static void send_in_segments(
	struct rig *r, struct peer *c, unsigned from, const uint8_t *p, size_t n)
{
	size_t most = below(3) == 0 ? 1 + below(8) : below(2) ? 64 : 1400;

	while (n != 0) {
		size_t take = 1 + below((uint32_t)most);

		if (take > n)
			take = n;
		rig_send(r, c, from, p, take);
		p += take;
		n -= take;
	}
}

/* The end of the first packet in what the broker answered. */
static size_t first_answer(const struct bytes *b)
{
	return b->n < 2                                        ? 0
	       : b->p[1] < 0x80 && b->n >= 2 + (size_t)b->p[1] ? 2 + (size_t)b->p[1]
							       : b->n;
}

static void inspect(struct rig *r, const struct session *s, const struct outcome *broker,
	struct outcome *o, uint64_t *unreleased)
{
	struct told_list told;
	struct peer c;
	size_t connect = s->n_packets != 0 && s->end[0] < s->out.n ? s->end[0] : s->out.n;
	size_t connack = first_answer(&broker->answers);

	random_state = s->seed * 31 + s->number + 1;
	memset(o, 0, sizeof(*o));
	peer_init(&c, below(8) == 0, s->number, below(UINT32_MAX), below(UINT32_MAX));
	rig_handshake(r, &c);
	if (below(2) == 0 && !session_plain) /* the client does not wait for the CONNACK */
		connect = s->out.n;
	send_in_segments(r, &c, CLIENT, s->out.p, connect);
	send_in_segments(r, &c, BROKER, broker->answers.p, connack);
	rig_ack(r, &c, CLIENT);
	if (s->out.n > connect)
		send_in_segments(r, &c, CLIENT, s->out.p + connect, s->out.n - connect);
	if (broker->answers.n > connack)
		send_in_segments(
			r, &c, BROKER, broker->answers.p + connack, broker->answers.n - connack);
	rig_fin_both(r, &c);
	rig_flush(r);
	told = rig_told(r);
	for (size_t i = 0; i < told.n; i++) {
		uint64_t number = session_payload(told.a[i].payload, told.a[i].payload_len);
		bool twice = false, delivered = false;

		for (size_t k = 0; k < o->n_got; k++)
			twice |= o->got[k].number == number;
		for (size_t k = 0; k < broker->n_got; k++)
			delivered |= broker->got[k].number == number;
		/* the alarm does not wait for the PUBREL, the delivery does */
		if (told.a[i].qos == 2 && !delivered && !twice) {
			*unreleased += 1;
			continue;
		}
		if (number / SESSION_PER == s->number)
			outcome_add(o, number, told.a[i].topic, strlen(told.a[i].topic));
	}
	told_free(&told);
}

/* ---- comparison ---- */

static int by_number(const void *a, const void *b)
{
	const struct delivery *x = a, *y = b;

	if (x->number != y->number)
		return x->number < y->number ? -1 : 1;
	return strcmp(x->topic, y->topic);
}

static void outcome_sort(struct outcome *o)
{
	if (o->n_got > 1)
		qsort(o->got, o->n_got, sizeof(*o->got), by_number);
}

static const char *difference(struct outcome *broker, struct outcome *o)
{
	size_t i = 0;

	outcome_sort(broker);
	outcome_sort(o);
	for (; i < broker->n_got && i < o->n_got; i++) {
		int d = by_number(&broker->got[i], &o->got[i]);

		if (d != 0)
			return broker->got[i].number == o->got[i].number ? "another topic"
			       : d < 0 ? "no alarm of what was delivered"
				       : "an alarm of what was not delivered";
	}
	if (i < broker->n_got)
		return "no alarm of what was delivered";
	return i < o->n_got ? "an alarm of what was not delivered" : NULL;
}

/* Whether inspection of the session up to one of the packets that newer versions of mosquitto
 * refuse agrees with the broker. */
static bool agrees_when_shorter(struct rig *r, const struct session *s, struct outcome *broker)
{
	size_t offset[SESSION_PACKETS_MAX];
	unsigned n;
	bool agrees = false;

	if (strverscmp(broker_version(), FOLLOWED) <= 0)
		return false;
	n = refused_later(s, offset, SESSION_PACKETS_MAX);
	for (unsigned i = 0; i < n && !agrees; i++) {
		struct session shorter = *s;
		uint64_t unreleased = 0;
		struct outcome o;

		shorter.out.n = offset[i];
		inspect(r, &shorter, broker, &o, &unreleased);
		agrees = difference(broker, &o) == NULL;
		outcome_free(&o);
	}
	return agrees;
}

static void print_hex(const char *name, const uint8_t *p, size_t n)
{
	printf("   %s", name);
	for (size_t i = 0; i < n; i++)
		printf("%s%02x", i % 4 == 0 ? " " : "", p[i]);
	printf("\n");
}

static void print_got(const char *name, const struct outcome *o)
{
	printf("   %s", name);
	for (size_t i = 0; i < o->n_got; i++)
		printf(" %llu:%s", (unsigned long long)o->got[i].number % SESSION_PER,
			o->got[i].topic);
	printf("\n");
}

static void print_session(
	const struct session *s, const struct outcome *broker, const struct outcome *o)
{
	size_t at = 0;

	for (unsigned i = 0; i < s->n_packets && at < s->out.n; at = s->end[i++]) {
		size_t end = s->end[i] < s->out.n ? s->end[i] : s->out.n;

		print_hex("client", s->out.p + at, end - at);
	}
	print_hex("broker", broker->answers.p, broker->answers.n);
	print_got("delivered", broker);
	print_got("alarms   ", o);
}

/* The counters of group stream and mqtt that a session moved, but for the ordinary ones. */
static void print_counters(const uint64_t *before, const struct rig *r)
{
	for (unsigned c = 0; c < BP_C_COUNT; c++) {
		uint64_t n = rig_count(r, c) - before[c];

		if (n != 0 &&
			(bp_counter_info[c].group == BP_CG_STREAM ||
				bp_counter_info[c].group == BP_CG_MQTT) &&
			c != BP_C_MQTT_PACKETS)
			printf(" %s=%llu", bp_counter_info[c].name, (unsigned long long)n);
	}
}

/* Both views of one session; prints the first differences. */
static void compare(struct rig *r, const struct session *s, struct outcome *broker,
	struct totals *t, bool all, bool alone)
{
	uint64_t before[BP_C_COUNT];
	struct outcome o;
	const char *differ;

	for (unsigned c = 0; c < BP_C_COUNT; c++)
		before[c] = rig_count(r, c);
	inspect(r, s, broker, &o, &t->unreleased);
	differ = difference(broker, &o);
	/* alone: without the effect of another session of the batch with the same client identifier
	 */
	if (differ != NULL && !alone) {
		struct outcome again;

		outcome_free(&o);
		broker_run(s, &again, 1);
		compare(r, s, &again, t, all, true);
		outcome_free(&again);
		return;
	}
	if (differ != NULL && agrees_when_shorter(r, s, broker)) {
		differ = NULL;
		t->shorter++;
	}
	t->sessions++;
	t->delivered += broker->n_got;
	t->alarms += o.n_got;
	t->refused +=
		broker->answers.n < 4 || broker->answers.p[0] != 0x20 || broker->answers.p[3] != 0;
	if (differ != NULL && (++t->differ <= SHOWN || all)) {
		printf("session %u version %u [%s]: %s;", s->number, s->version, s->faults, differ);
		print_counters(before, r);
		printf("\n");
		if (t->differ <= SHOWN)
			print_session(s, broker, &o);
	}
	if (all && differ == NULL && t->sessions == 1)
		print_session(s, broker, &o);
	outcome_free(&o);
}

/* ---- */

static void open_rig(struct rig *r)
{
	struct bp_rule_spec rules[2];

	rig_defaults(r);
	r->bursts = true;
	rig_open(r);
	rules[0] = rig_rule("all", "#", BP_COND_GT, 0);
	rules[1] = rig_rule("own", "$t/#", BP_COND_GT, 0);
	rig_rules(r, rules, 2);
}

static uint64_t argument(const char *text)
{
	return strtoull(text, NULL, 0);
}

int main(int argc, char **argv)
{
	static const struct option options[] = {{"sessions", 1, NULL, 'n'}, {"seed", 1, NULL, 's'},
		{"only", 1, NULL, 'o'}, {"plain", 0, NULL, 'p'}, {"batch", 1, NULL, 'b'},
		{"all", 0, NULL, 'a'}, {NULL, 0, NULL, 0}};
	uint64_t sessions = 2000, seed = 1, only = 0, batch = 100;
	struct totals t = {0};
	bool all = false;
	struct session *s;
	struct outcome *o;
	struct rig r;
	int c;

	while ((c = getopt_long(argc, argv, "", options, NULL)) != -1) {
		if (c == 'n')
			sessions = argument(optarg);
		else if (c == 's')
			seed = argument(optarg);
		else if (c == 'o')
			only = argument(optarg);
		else if (c == 'b')
			batch = argument(optarg);
		else if (c == 'p')
			session_plain = true;
		else if (c == 'a')
			all = true;
		else
			return 2;
	}
	if (!broker_start()) {
		printf("there is no mosquitto on this machine\n");
		return SKIP;
	}
	open_rig(&r);
	if (only != 0) {
		sessions = batch = 1;
		all = true;
	}
	s = calloc(batch, sizeof(*s));
	o = calloc(batch, sizeof(*o));
	for (uint64_t done = 0; done < sessions; done += batch) {
		if (batch > sessions - done)
			batch = sessions - done;
		for (uint64_t i = 0; i < batch; i++)
			session_make(&s[i], seed, (uint32_t)(only != 0 ? only : 1 + done + i));
		broker_run(s, o, batch);
		for (uint64_t i = 0; i < batch; i++) {
			compare(&r, &s[i], &o[i], &t, all, batch == 1);
			session_free(&s[i]);
			outcome_free(&o[i]);
		}
	}
	rig_close(&r);
	broker_stop();
	free(s);
	free(o);
	printf("mosquitto %s, seed %llu: %llu sessions (%llu refused), %llu publications "
	       "delivered, "
	       "%llu alarms (and %llu of QoS 2 without PUBREL); %llu sessions end earlier than "
	       "with mosquitto " FOLLOWED "; %llu sessions differ\n",
		broker_version(), (unsigned long long)seed, (unsigned long long)t.sessions,
		(unsigned long long)t.refused, (unsigned long long)t.delivered,
		(unsigned long long)t.alarms, (unsigned long long)t.unreleased,
		(unsigned long long)t.shorter, (unsigned long long)t.differ);
	return t.differ != 0;
}
