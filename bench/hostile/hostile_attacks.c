/* SPDX-License-Identifier: BSD-3-Clause */
/* The most expensive known frames for each parser and each table of inspection. */
#include "bench/hostile/hostile.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MSS 1448u

static void publish(struct bytes *b, const char *topic, uint16_t alias, const char *payload)
{
	mq_publish(b, &(struct mq_publish){
			      .version = 5, .topic = topic, .alias = alias, .payload = payload});
}

/* Repeats the same bytes until the time is over. */
static void repeat(struct hostile_attack_run *r, struct bytes *b, size_t size)
{
	while (hostile_send(r, b, size))
		;
	bytes_free(b);
}

static void nothing(struct hostile_attack_run *r)
{
	(void)r;
}

static void aliases(struct hostile_attack_run *r, bool connack)
{
	struct bytes b = {0};

	hostile_connect(r, 1, 65535, connack);
	for (unsigned alias = 1; alias <= 43000; alias++) {
		publish(&b, "t", (uint16_t)alias, "1");
		if (b.n > MSS - 32) {
			(void)hostile_send(r, &b, MSS);
			b.n = 0;
		}
	}
	b.n = 0;
	for (unsigned i = 0; i < 180; i++)
		publish(&b, "", (uint16_t)(42000 + i), "1");
	repeat(r, &b, MSS);
}

static void aliases_before_connack(struct hostile_attack_run *r)
{
	aliases(r, false);
}

static void aliases_allowed(struct hostile_attack_run *r)
{
	aliases(r, true);
}

static void long_topics(struct hostile_attack_run *r)
{
	static char topic[65535];
	struct bytes b = {0};

	hostile_connect(r, 1, 65535, true);
	memset(topic, '/', sizeof(topic) - 1);
	for (uint16_t alias = 1; alias <= 3; alias++) {
		topic[0] = (char)('0' + alias);
		publish(&b, topic, alias, "1");
	}
	(void)hostile_send(r, &b, MSS);
	b.n = 0;
	for (unsigned i = 0; i < 180; i++)
		publish(&b, "", (uint16_t)(1 + i % 3), "1");
	repeat(r, &b, MSS);
}

static void properties(struct hostile_attack_run *r)
{
	struct bytes p = {0}, b = {0};

	hostile_connect(r, 1, 0, true);
	for (unsigned i = 0; i < 48000; i++)
		bytes_add(&p, "\x26\0\0\0\0", 5);
	mq_publish(&b, &(struct mq_publish){.version = 5,
			       .topic = "t",
			       .properties = p.p,
			       .properties_len = p.n,
			       .payload = "1"});
	/* most of it in few segments, so that the rest follows many bytes */
	r->limit *= 2;
	(void)hostile_send(r, &(struct bytes){.p = b.p, .n = b.n - 4000}, MSS);
	r->wire = 0;
	r->limit /= 2;
	(void)hostile_send(r, &(struct bytes){.p = b.p + b.n - 4000, .n = 4000}, 1);
	bytes_free(&p);
	bytes_free(&b);
}

static void topic_in_bytes(struct hostile_attack_run *r)
{
	static char topic[65536];
	struct bytes b = {0};

	hostile_connect(r, 1, 0, true);
	for (size_t i = 0; i + 3 < sizeof(topic); i += 3)
		memcpy(topic + i, "\xe2\x82\xac", 3);
	publish(&b, topic, 0, "1");
	(void)hostile_send(r, &(struct bytes){.p = b.p, .n = b.n - 4000}, MSS);
	(void)hostile_send(r, &(struct bytes){.p = b.p + b.n - 4000, .n = 4000}, 1);
	bytes_free(&b);
}

static void rules(struct hostile_attack_run *r)
{
	struct bytes b = {0};

	hostile_connect(r, 1, 10, true);
	publish(&b, "many/t", 1, "1");
	for (unsigned i = 0; i < 180; i++)
		publish(&b, "", 1, "1");
	repeat(r, &b, MSS);
}

static void document(struct hostile_attack_run *r, const char *begin, const char *each,
	const char *end, size_t size)
{
	char *text = malloc(size + 64);
	struct bytes b = {0};
	size_t n;

	if (text == NULL)
		abort();
	n = (size_t)sprintf(text, "%s", begin);
	while (n + strlen(each) < size)
		n += (size_t)sprintf(text + n, "%s", each);
	sprintf(text + n, "%s", end);
	hostile_connect(r, 1, 0, true);
	publish(&b, "json/t", 0, text);
	free(text);
	repeat(r, &b, MSS);
}

static void documents(struct hostile_attack_run *r)
{
	document(r, "{\"x\":[", "{\"y\":1},", "1]}", 200000);
}

static void numbers(struct hostile_attack_run *r)
{
	document(r, "{\"x\":[", "1e400,", "1]}", 200000);
}

static void members(struct hostile_attack_run *r)
{
	document(r, "{", "\"v0\":1e400,", "\"v1\":1}", 200000);
}

static void holes(struct hostile_attack_run *r)
{
	uint32_t base, at = 0;

	hostile_connect(r, 1, 0, true);
	base = r->peer.seq[CLIENT];
	/* only even bytes, from random positions in the window */
	while (hostile_segment(r, CLIENT, TH_ACK,
		base + 1 + (uint32_t)(hostile_random(&r->seed) % 30000) * 2, "x", 1))
		at++;
}

static void filled_holes(struct hostile_attack_run *r)
{
	struct bytes b = {0};
	uint32_t at;

	hostile_connect(r, 1, 0, true);
	for (unsigned i = 0; i < 4000; i++)
		publish(&b, "t", 0, "1");
	for (;;) {
		/* all except the first byte, then that one: everything is read at the same time */
		for (at = 1; at < b.n && at < 60000; at += MSS) {
			if (!hostile_segment(r, CLIENT, TH_ACK, r->peer.seq[CLIENT] + at, b.p + at,
				    b.n - at < MSS ? b.n - at : MSS))
				goto done;
		}
		if (!hostile_segment(r, CLIENT, TH_ACK, r->peer.seq[CLIENT], b.p, 1))
			goto done;
		r->peer.seq[CLIENT] += at < b.n ? at : (uint32_t)b.n;
	}
done:
	bytes_free(&b);
}

static void pings(struct hostile_attack_run *r)
{
	struct bytes b = {0};

	hostile_connect(r, 1, 0, true);
	for (unsigned i = 0; i < MSS / 2; i++)
		mq_empty(&b, MQ_PINGREQ);
	repeat(r, &b, MSS);
}

static void search(struct hostile_attack_run *r)
{
	struct bytes b = {0};

	hostile_connect(r, 1, 0, true);
	r->peer.seq[CLIENT] +=
		1000; /* bytes that the broker acknowledges and inspection has not received */
	(void)hostile_segment(r, BROKER, TH_ACK, r->peer.seq[BROKER], NULL, 0);
	for (unsigned i = 0; i < 180; i++)
		publish(&b, "t", 0, "1");
	repeat(r, &b, MSS);
}

static void random_peer(struct hostile_attack_run *r)
{
	peer_init(&r->peer, false, (uint32_t)hostile_random(&r->seed), 1000, 2000);
	r->peer.client_port = (uint16_t)(1024 + hostile_random(&r->seed) % 60000);
}

static void syns(struct hostile_attack_run *r)
{
	do
		random_peer(r);
	while (hostile_segment(r, CLIENT, TH_SYN, r->peer.seq[CLIENT], NULL, 0));
}

static void mid_stream(struct hostile_attack_run *r)
{
	do
		random_peer(r);
	while (hostile_segment(r, CLIENT, TH_ACK, r->peer.seq[CLIENT], "x", 1));
}

static void connections(struct hostile_attack_run *r)
{
	for (uint32_t number = 1; r->wire < r->limit; number++) {
		hostile_connect(r, number, 0, true);
		(void)hostile_segment(r, CLIENT, TH_RST | TH_ACK, r->peer.seq[CLIENT], NULL, 0);
	}
}

static void states(struct hostile_attack_run *r)
{
	struct bytes b = {0};

	hostile_connect(r, 1, 0, true);
	do {
		b.n = 0;
		while (b.n < MSS - 40) {
			char topic[24];

			snprintf(topic, sizeof(topic), "state/%x",
				(unsigned)hostile_random(&r->seed));
			publish(&b, topic, 0, "99");
		}
	} while (hostile_send(r, &b, MSS));
	bytes_free(&b);
}

static void alarms(struct hostile_attack_run *r)
{
	static char topic[60000];
	struct bytes b = {0};

	hostile_connect(r, 1, 10, true);
	memset(topic, 'x', sizeof(topic) - 1);
	memcpy(topic, "alarm/", 6);
	publish(&b, topic, 1, "99");
	(void)hostile_send(r, &b, MSS);
	b.n = 0;
	for (unsigned i = 0; i < 180; i++)
		publish(&b, "", 1, "99");
	repeat(r, &b, MSS);
}

static void subscriptions(struct hostile_attack_run *r)
{
	struct bytes body = {0}, b = {0};

	hostile_connect(r, 1, 0, true);
	bytes_be16(&body, 7);
	bytes_u8(&body, 0);
	while (body.n < MSS - 8)
		bytes_add(&body, "\0\1#\0", 4);
	mq_raw(&b, 0x82, body.p, body.n);
	bytes_free(&body);
	repeat(r, &b, MSS);
}

const struct hostile_attack hostile_attacks[] = {
	{"none", "no attack", nothing},
	{"aliases-early", "43,000 topic aliases before a CONNACK, then aliases alone",
		aliases_before_connack},
	{"aliases", "43,000 topic aliases that the broker allows, then aliases alone",
		aliases_allowed},
	{"long-topics", "topics of 64 KiB behind aliases, in turn", long_topics},
	{"properties", "48,000 user properties, in segments of one byte", properties},
	{"topic-bytes", "a topic of 64 KiB, in segments of one byte", topic_in_bytes},
	{"rules", "publications of 8 bytes that 1,000 rules match", rules},
	{"documents", "JSON of 200 KB, read for 16 rules", documents},
	{"numbers", "the same, of numbers beyond a double's range", numbers},
	{"members", "the same, one member's name again and again", members},
	{"holes", "every other byte of a window", holes},
	{"held", "60 KB ahead of the stream, then the byte before it", filled_holes},
	{"pings", "packets of two bytes", pings},
	{"search", "packets of a stream that is searched", search},
	{"syns", "SYNs of any address", syns},
	{"mid-stream", "segments of no known connection", mid_stream},
	{"connections", "connections that are opened and reset", connections},
	{"states", "made-up topics of a rule with a state", states},
	{"alarms", "alarms with topics of 60 KB", alarms},
	{"subscriptions", "filters of one byte", subscriptions},
};
const size_t hostile_n_attacks = sizeof(hostile_attacks) / sizeof(hostile_attacks[0]);
