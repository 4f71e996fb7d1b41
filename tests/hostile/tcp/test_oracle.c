/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A lossy path and an off-path attacker: simulated connections whose segments are lost, duplicated,
 * reordered and split on both sides of inspection, with forged segments between them. The broker's
 * end is the oracle: exactly the publications that it delivered must have raised an alarm, except
 * for a counted cause.
 *
 *   test_oracle [--streams N] [--seed S] [--only NUMBER]
 *
 * --only shows the segments of one stream. By hand: --streams 1000000.
 */
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "biplane/counters/mqtt.h"
#include "endpoints.h"
#include "rig.h"

enum { PUBLISHES = 64, FORGED_VALUE = 99999 };
/* Further than any window that is believed. */
enum { FAR = 64 * 1024 * 1024 };

/* Counters of causes for missed values. */
static const bp_counter_t causes[] = {BP_C_SEG_REORDER_FULL, BP_C_SEG_REORDER_TOTAL, BP_C_GAP_LOST,
	BP_C_RESYNC_STARTED, BP_C_UNESTABLISHED_BUFFER_FULL, BP_C_MQTT_PUBLISH_INCOMPLETE,
	BP_C_REASSEMBLY_LIMIT_CONNECTION, BP_C_REASSEMBLY_LIMIT_TOTAL, BP_C_CONN_MIDSTREAM,
	BP_C_UNESTABLISHED_BYTES_DISCARDED, BP_C_NOT_INSPECTED_NOT_MQTT, BP_C_SEG_NO_CONNECTION,
	BP_C_SEG_ACK_UNSEEN};
#define N_CAUSES (sizeof(causes) / sizeof(causes[0]))

struct stream {
	struct sim sim;
	struct rig *rig;
	uint8_t version;
	bool early, refuse, disconnect, reset, resend;
	unsigned n, written; /* publications */
	uint8_t qos[PUBLISHES], hot[PUBLISHES];
	bool connected;        /* the client has its CONNACK */
	bool ended, over;      /* the client's script, and the broker's reading */
	bool id_in_flight[65]; /* at the broker */
	unsigned delivered[PUBLISHES];
	uint64_t begins; /* inspection, µs */
	uint64_t shown;  /* when the last frame was */
	unsigned forged;
	bool hidden; /* bytes went by unseen, and none were seen behind them */
};

static bool trace;

struct totals {
	uint64_t streams, published, delivered, raised, missed, doubled, in_flight;
	uint64_t cause[N_CAUSES];
};

static void write_bytes(struct stream *t, unsigned from, struct bytes *b)
{
	sim_write(&t->sim, from, b->p, b->n);
	bytes_free(b);
}

static void write_publish(struct stream *t, unsigned k, bool dup)
{
	struct bytes b = {0};
	char value[16];

	snprintf(value, sizeof(value), "%u", t->hot[k] ? 1000 + k : 10);
	mq_publish(&b, &(struct mq_publish){.version = t->version,
			       .qos = t->qos[k],
			       .dup = dup,
			       .id = (uint16_t)(k + 1),
			       .topic = k % 3 ? "t/x" : "t/some/longer/topic",
			       .payload = value});
	write_bytes(t, CLIENT, &b);
}

static void write_empty(struct stream *t, unsigned from, uint8_t first)
{
	struct bytes b = {0};

	mq_empty(&b, first);
	write_bytes(t, from, &b);
}

static void write_ack(struct stream *t, unsigned from, uint8_t first, uint16_t id)
{
	struct bytes b = {0};

	mq_ack(&b, first, id);
	write_bytes(t, from, &b);
}

/* The next bytes of the client. */
static void go_on(struct stream *t)
{
	struct sim *s = &t->sim;

	if (t->ended)
		return;
	for (unsigned k = sim_random(s, 4); k != 0 && t->written < t->n; k--) {
		unsigned i = t->written++;

		write_publish(t, i, false);
		if (t->resend && t->qos[i] == 2 && sim_random(s, 2))
			write_publish(t, i, sim_random(s, 2));
	}
	if (sim_random(s, 8) == 0)
		write_empty(t, CLIENT, MQ_PINGREQ);
	if (t->written < t->n)
		return;
	t->ended = true;
	if (t->reset) {
		sim_reset(s, CLIENT);
		return;
	}
	if (t->disconnect) {
		write_empty(t, CLIENT, MQ_DISCONNECT);
		t->hot[0] = 1;
		if (sim_random(s, 3) == 0)
			for (unsigned k = 0; k < 3; k++)
				write_publish(t, 0, false); /* no one reads that */
	}
	sim_close(s, CLIENT);
}

/* The packet at e->read, without the urgent byte if that is in it; its length, or 0. */
static uint32_t packet_at(struct end *e, uint8_t *out)
{
	uint32_t n = 0, at = e->read, need = 2, shift = 0, left = 0;
	bool length = false;

	while (at < e->rcv && (n < need || !length)) {
		uint8_t c = e->in[at];

		if (at++ == e->in_urgent)
			continue;
		out[n++] = c;
		if (n >= 2 && !length) {
			left |= (uint32_t)(c & 0x7f) << shift;
			shift += 7;
			length = (c & 0x80) == 0;
			need = length ? n + left : n + 1;
		}
	}
	if (!length || n < need)
		return 0;
	e->read = at;
	return n;
}

static uint16_t id_of(const uint8_t *packet)
{
	return (uint16_t)(packet[2] << 8 | packet[3]);
}

static void client_reads(struct stream *t, const uint8_t *p)
{
	if (p[0] == 0x20)
		t->connected = p[3] == 0;
	else if (p[0] == MQ_PUBREC)
		write_ack(t, CLIENT, MQ_PUBREL, id_of(p));
}

static void broker_publish(struct stream *t, const uint8_t *p, uint32_t n)
{
	unsigned qos = p[0] >> 1 & 3, topic = (unsigned)(p[2] << 8 | p[3]);
	uint16_t id = qos != 0 ? id_of(p + 2 + topic) : 0;
	const char *value = (const char *)p + 4 + topic + (qos != 0 ? 2 : 0) + (t->version == 5);
	char text[16] = "";

	memcpy(text, value, (size_t)((const char *)p + n - value));
	if (atoi(text) >= 1000 && !(qos == 2 && t->id_in_flight[id]))
		t->delivered[atoi(text) - 1000]++;
	if (qos == 2)
		t->id_in_flight[id] = true;
	if (qos != 0)
		write_ack(t, BROKER, qos == 1 ? MQ_PUBACK : MQ_PUBREC, id);
}

static void broker_reads(struct stream *t, const uint8_t *p, uint32_t n)
{
	struct bytes b = {0};

	switch (p[0] & 0xf0) {
	case 0x10:
		mq_connack(&b, t->version, t->refuse ? (t->version == 5 ? 0x87 : 5) : 0, 0, NULL);
		write_bytes(t, BROKER, &b);
		t->over = t->refuse;
		break;
	case 0x30:
		broker_publish(t, p, n);
		break;
	case 0x60:
		t->id_in_flight[id_of(p)] = false;
		write_ack(t, BROKER, MQ_PUBCOMP, id_of(p));
		break;
	case 0xc0:
		write_empty(t, BROKER, MQ_PINGRESP);
		break;
	case 0xe0:
		t->over = true;
		break;
	}
	if (t->over)
		sim_close(&t->sim, BROKER);
}

static void came(void *arg, unsigned to)
{
	static uint8_t packet[STREAM_MAX];
	struct stream *t = arg;
	struct end *e = &t->sim.end[to];
	uint32_t n;

	while (!(to == BROKER && t->over) && (n = packet_at(e, packet)) != 0) {
		if (to == CLIENT)
			client_reads(t, packet);
		else
			broker_reads(t, packet, n);
	}
	if (to == CLIENT && (t->connected || t->early))
		go_on(t);
	if (e->fin_rcvd)
		sim_close(&t->sim, to);
}

/* ---- what inspection sees ---- */

static void show(struct stream *t, const struct frame *f)
{
	struct rig *r = t->rig;
	size_t l4 = peer_l4(&t->sim.peer);
	size_t len = peer_frame(
		&t->sim.peer, f->from, f->flags, f->seq, f->ack, f->data, f->n, r->frame);

	rig_advance(r, (t->sim.now - t->shown) * 1000);
	t->shown = t->sim.now;
	if (f->urgent != 0) {
		r->frame[l4 + 18] = (uint8_t)(f->urgent >> 8);
		r->frame[l4 + 19] = (uint8_t)f->urgent;
		peer_checksums(&t->sim.peer, r->frame, len);
	}
	if (trace)
		fprintf(stderr, "%llu %s flags %02x seq %u ack %u n %u\n",
			(unsigned long long)t->sim.now, f->from ? "broker" : "client", f->flags,
			f->seq - t->sim.end[f->from].isn - 1, f->ack - t->sim.end[!f->from].isn - 1,
			f->n);
	rig_frame(r, r->frame, len);
}

/* Somebody who knows the addresses, and guesses the rest: not both numbers, which is luck. */
static void forge(struct stream *t)
{
	static const uint8_t flags[] = {TH_ACK, TH_ACK | TH_PSH, TH_ACK | TH_FIN, TH_ACK | TH_RST,
		TH_RST, TH_SYN, TH_SYN | TH_ACK, 0};
	struct sim *s = &t->sim;
	struct frame f = {.from = sim_random(s, 2), .flags = flags[sim_random(s, sizeof(flags))]};
	const struct end *e = &s->end[f.from];
	struct bytes b = {0};
	char value[16];

	f.seq = e->isn + 1 + e->nxt + FAR + sim_random(s, 0x70000000);
	f.ack = s->end[!f.from].isn + FAR + sim_random(s, 0x70000000);
	/* the right one of the two, where it is checked against the other */
	if ((f.flags & ~TH_PSH) == TH_ACK && s->miss == 0 && t->begins == 0 && e->open &&
		sim_random(s, 2))
		f.seq = e->isn + 1 + e->nxt;
	if (sim_random(s, 2) && f.flags != TH_SYN) {
		snprintf(value, sizeof(value), "%u", FORGED_VALUE);
		mq_publish(&b, &(struct mq_publish){
				       .version = t->version, .topic = "t/x", .payload = value});
		memcpy(f.data, b.p, b.n);
		f.n = (uint16_t)b.n;
		bytes_free(&b);
	}
	show(t, &f);
}

static void tap(void *arg, const struct frame *f)
{
	struct stream *t = arg;

	if (t->sim.now < t->begins || f->unseen) {
		t->hidden = t->hidden || f->n != 0;
		return;
	}
	t->hidden = t->hidden && f->n == 0;
	show(t, f);
	if (t->forged != 0 && sim_random(&t->sim, 1000) < t->forged)
		forge(t);
}

/* ---- one stream ---- */

static void set_up(struct stream *t, struct rig *r, uint32_t number, uint64_t seed)
{
	struct sim *s = &t->sim;
	bool perfect;

	memset(t, 0, sizeof(*t));
	t->rig = r;
	s->s = seed * 0x9e3779b97f4a7c15u + number;
	(void)sim_random(s, 2);
	perfect = sim_random(s, 4) == 0;
	s->lose = perfect ? 0 : sim_random(s, 100);
	s->repeat = perfect ? 0 : sim_random(s, 100);
	s->reorder = perfect ? 0 : sim_random(s, 500);
	s->miss = sim_random(s, 5) == 0 ? 1 + sim_random(s, 40) : 0;
	s->window = 2000 + sim_random(s, 60000);
	s->tap = tap;
	s->came = came;
	s->arg = t;
	t->begins = sim_random(s, 10) == 0 ? 500 + sim_random(s, 30000) : 0;
	t->forged = sim_random(s, 3) == 0 ? sim_random(s, 300) : 0;
	t->version = sim_random(s, 2) ? 5 : 4;
	t->early = sim_random(s, 3) == 0;
	t->refuse = sim_random(s, 10) == 0;
	t->disconnect = sim_random(s, 3) != 0;
	t->reset = sim_random(s, 10) == 0;
	t->resend = sim_random(s, 2);
	t->n = 1 + sim_random(s, PUBLISHES - 1);
	for (unsigned k = 0; k < t->n; k++) {
		t->qos[k] = (uint8_t)sim_random(s, 3);
		t->hot[k] = sim_random(s, 2) != 0;
	}
	t->qos[0] = 0;
	for (unsigned k = 0; k < 2; k++) {
		s->end[k].isn = sim_random(s, 4) == 0 ? 0u - sim_random(s, 3000)
						      : sim_random(s, UINT32_MAX);
		s->end[k].mss = 40 + sim_random(s, 1400);
		s->end[k].urgent_at = s->end[k].in_urgent = UINT32_MAX;
	}
	peer_init(&s->peer, sim_random(s, 4) == 0, number, 0, 0);
}

static void begin(struct stream *t)
{
	struct sim *s = &t->sim;
	struct bytes b = {0};

	mq_connect(&b, t->version, "oracle", 0);
	if (sim_random(s, 6) == 0) {
		s->syn_data = (uint32_t)b.n;
		s->syn_data_taken = sim_random(s, 2);
	} else if (sim_random(s, 8) == 0) { /* a byte out of band, somewhere */
		uint32_t at = sim_random(s, (uint32_t)b.n);

		sim_write(s, CLIENT, b.p, at);
		sim_write(s, CLIENT, "!", 1);
		sim_write(s, CLIENT, b.p + at, b.n - at);
		s->end[CLIENT].urgent_at = at;
		bytes_free(&b);
		return;
	}
	write_bytes(t, CLIENT, &b);
}

/* ---- the verdict ---- */

static bool wrong(const struct stream *t, uint32_t number, const char *what, unsigned value)
{
	fprintf(stderr,
		"stream %u: value %u %s (lose %u, miss %u, begins %llu, early %d, refuse %d, reset "
		"%d, "
		"version %u)\n",
		number, value, what, t->sim.lose, t->sim.miss, (unsigned long long)t->begins,
		t->early, t->refuse, t->reset, t->version);
	return false;
}

/* Whether alarms and deliveries agree; else a counted cause must say why. */
static bool compare(struct stream *t, uint32_t number, const uint64_t *before, struct totals *sum)
{
	unsigned raised[PUBLISHES] = {0};
	struct told_list l = rig_told(t->rig);
	bool cause = false, seen = false, ok = true, all;

	for (unsigned c = 0; c < N_CAUSES; c++) {
		uint64_t by = rig_count(t->rig, causes[c]) - before[c];

		sum->cause[c] += by != 0;
		cause = cause || by != 0;
		/* this one may be counted when an earlier connection expires */
		seen = seen || (by != 0 && causes[c] != BP_C_UNESTABLISHED_BYTES_DISCARDED);
	}
	/* where inspection sees all, nothing is a cause; forged segments may be counted as one */
	all = t->sim.miss == 0 && t->begins == 0 && !t->reset &&
	      (t->forged == 0 || t->sim.syn_data == 0);
	cause = cause || t->hidden;
	/* reset behind bytes that were not seen, nor their acknowledgement */
	cause = cause || (t->reset && t->sim.miss != 0 &&
				 rig_count(t->rig, BP_C_CONN_RST_IGNORED) != before[N_CAUSES]);
	if (all && !t->refuse && t->sim.syn_data == 0 && seen && t->forged == 0)
		ok = wrong(t, number, "has a cause without a loss", 0);
	for (size_t i = 0; i < l.n; i++) {
		unsigned v = (unsigned)l.a[i].value;

		if (v < 1000 || v >= 1000 + PUBLISHES)
			ok = wrong(t, number, "is forged", v);
		else
			raised[v - 1000]++;
	}
	told_free(&l);
	sum->streams++;
	sum->published += t->written;
	for (unsigned k = 0; k < PUBLISHES; k++) {
		sum->delivered += t->delivered[k];
		sum->raised += raised[k];
		if (raised[k] > t->delivered[k]) {
			/* it was under way when the client broke off */
			if (!(t->reset && !t->refuse && k < t->written && t->delivered[k] == 0))
				ok = wrong(t, number, "raised an alarm that is false", 1000 + k);
			sum->in_flight++;
		} else if (raised[k] < t->delivered[k]) {
			sum->missed++;
			if (all || !cause)
				ok = wrong(t, number, "was missed without a cause", 1000 + k);
		}
	}
	return ok;
}

static bool one(struct rig *r, uint32_t number, uint64_t seed, struct totals *sum)
{
	static struct stream t;
	uint64_t before[N_CAUSES + 1];

	set_up(&t, r, number, seed);
	for (unsigned c = 0; c < N_CAUSES; c++)
		before[c] = rig_count(r, causes[c]);
	before[N_CAUSES] = rig_count(r, BP_C_CONN_RST_IGNORED);
	begin(&t);
	sim_run(&t.sim, 20000);
	rig_advance(r, 1000000000);
	bp_mqtt_worker_tick(r->in, r->mono_ns);
	return compare(&t, number, before, sum);
}

static int report(const struct totals *sum, uint64_t wrong_streams)
{
	printf("%llu streams, %llu publications, %llu delivered over the threshold, %llu alarms, "
	       "%llu missed "
	       "with a cause, %llu of broken connections\n",
		(unsigned long long)sum->streams, (unsigned long long)sum->published,
		(unsigned long long)sum->delivered, (unsigned long long)sum->raised,
		(unsigned long long)sum->missed, (unsigned long long)sum->in_flight);
	for (unsigned c = 0; c < N_CAUSES; c++)
		if (sum->cause[c] != 0)
			printf("  %s: %llu streams\n", bp_counter_info[causes[c]].name,
				(unsigned long long)sum->cause[c]);
	if (wrong_streams != 0)
		printf("%llu streams are wrong\n", (unsigned long long)wrong_streams);
	return wrong_streams != 0;
}

int main(int argc, char **argv)
{
	static const struct option options[] = {{"streams", required_argument, NULL, 'n'},
		{"seed", required_argument, NULL, 's'}, {"only", required_argument, NULL, 'o'},
		{NULL, 0, NULL, 0}};
	uint64_t n = 10000, seed = 1, wrong_streams = 0;
	struct bp_rule_spec rule = rig_rule("r", "t/#", BP_COND_GT, 80);
	struct totals sum = {0};
	static struct rig r;
	uint32_t only = 0;
	int c;

	while ((c = getopt_long(argc, argv, "", options, NULL)) != -1) {
		if (c == 'n')
			n = strtoull(optarg, NULL, 10);
		else if (c == 's')
			seed = strtoull(optarg, NULL, 10);
		else if (c == 'o')
			only = (uint32_t)strtoul(optarg, NULL, 10);
		else
			return 64;
	}
	trace = only != 0;
	rig_defaults(&r);
	r.bursts = true;
	r.mqtt.reorder_buffer = 512 * 1024;
	r.mqtt.reassembly_per_connection = 2 * 1024 * 1024;
	r.mqtt.reassembly_total = 16 * 1024 * 1024;
	rig_open(&r);
	rig_rules(&r, &rule, 1);
	for (uint32_t i = 1; i <= n; i++)
		if (only == 0 || i == only)
			wrong_streams += !one(&r, i, seed, &sum);
	rig_close(&r);
	return report(&sum, wrong_streams);
}
