/* SPDX-License-Identifier: BSD-3-Clause */
#include "bench/harness/traffic.h"

#include <pcap/pcap.h>
#include <stdio.h>
#include <string.h>

#include "proto/net/frame.h"

#define TEXT_TOPIC "plant/%05u/temp"
#define PAIRS_TOPIC "plant/%05u/%s" /* as long */
#define TEXT_PAYLOAD 5u             /* "023.5": with headers and topic a frame of 79 bytes */
#define JSON_PAYLOAD 120u
/* Sparkplug B: the timestamp, eight metrics with alias, timestamp and a double, and seq, at an even
 * offset of the frame */
#define SPARKPLUG_TOPIC "spBv1.0/g/NDATA/n%05u"
#define SPARKPLUG_BIRTH_TOPIC "spBv1.0/g/NBIRTH/n%05u"
#define SPARKPLUG_METRICS 8u
#define SPARKPLUG_ALIAS 6u /* of the metric of the rule */
#define SPARKPLUG_PAYLOAD (7u + SPARKPLUG_METRICS * 20 + 4)

const char bench_topic_level[BENCH_TOPICS_MAX][5] = {
	"temp", "pres", "flow", "load", "mass", "rate", "time", "volt"};

void bench_traffic_init(struct bench_traffic *t, enum bench_payload kind)
{
	static const uint32_t payload[] = {
		TEXT_PAYLOAD, JSON_PAYLOAD, SPARKPLUG_PAYLOAD, TEXT_PAYLOAD};
	uint32_t topic = kind == BENCH_SPARKPLUG ? 22 : 16;
	uint32_t remaining = 2 + topic + payload[kind];

	t->kind = kind;
	t->mqtt_len = (remaining < 128 ? 2 : 3) + remaining;
	t->frame_len = BENCH_HEADERS + t->mqtt_len;
	t->frames = kind == BENCH_PAIRS ? BENCH_PAIRS_FRAMES : BENCH_FRAMES;
}

uint32_t bench_connection(const struct bench_traffic *t, uint32_t frame)
{
	return frame * 7 % t->frames; /* 7 is coprime to both numbers */
}

/* A combination is true for both of its topics. */
bool bench_is_over(const struct bench_traffic *t, uint32_t c)
{
	return (t->kind == BENCH_PAIRS ? c / 2 : c) % BENCH_RAISE_EVERY == 0;
}

bool bench_is_observed(uint32_t c)
{
	return c % BENCH_OBSERVE_EVERY == 1; /* none that raises alarms */
}

static void topic_of(const struct bench_traffic *t, uint32_t c, char *out, size_t size)
{
	if (t->kind == BENCH_PAIRS)
		snprintf(out, size, PAIRS_TOPIC, c / 2, c % 2 == 0 ? "temp" : "pres");
	else
		snprintf(out, size, t->kind == BENCH_SPARKPLUG ? SPARKPLUG_TOPIC : TEXT_TOPIC, c);
}

uint32_t bench_isn(uint32_t c)
{
	return c * 2654435761u;
}

void bench_checksums(uint8_t *frame, uint32_t len)
{
	struct bp_frame f = {.data = frame,
		.l3 = 14,
		.l4 = 34,
		.payload = BENCH_HEADERS,
		.payload_len = len - BENCH_HEADERS};
	uint16_t sum;

	memset(frame + 24, 0, 2);
	sum = (uint16_t)~bp_sum_fold(bp_sum(frame + 14, 20, 0));
	memcpy(frame + 24, &sum, 2);
	memset(frame + 50, 0, 2);
	sum = (uint16_t)~bp_sum_fold(bp_sum(frame + 34, len - 34, bp_tcp_pseudo_sum(&f)));
	memcpy(frame + 50, &sum, 2);
}

static uint8_t *fixed_header(uint8_t *p, uint8_t first, uint32_t remaining)
{
	*p++ = first;
	if (remaining < 128) {
		*p++ = (uint8_t)remaining;
	} else {
		*p++ = (uint8_t)(remaining | 0x80);
		*p++ = (uint8_t)(remaining >> 7);
	}
	return p;
}

static void json_payload(char *out, uint32_t c, double value)
{
	char text[JSON_PAYLOAD + 64];
	int n = snprintf(text, sizeof(text),
		"{\"device\":\"oven-%05u\",\"seq\":%u,\"ts\":1764000000.123,\"site\":\"hall 7\","
		"\"celsius\":%.1f,\"humidity\":41.7,\"ok\":true,\"fw\":\"1.%02u.3-%s",
		c, 10000 + c, value, c % 100, "0123456789abcdef");

	/* cut the last string so that the text has exactly its length */
	(void)n;
	memcpy(out, text, JSON_PAYLOAD - 2);
	memcpy(out + JSON_PAYLOAD - 2, "\"}", 2);
}

static uint8_t *put(uint8_t *p, const void *bytes, uint32_t n)
{
	memcpy(p, bytes, n);
	return p + n;
}

/* Field 13 of a metric, or field 1 and 3 with the time. */
static uint8_t *put_double(uint8_t *p, double v)
{
	*p++ = 0x69;
	return put(p, &v, sizeof(v));
}

static uint8_t *put_time(uint8_t *p, uint8_t tag)
{
	static const uint8_t time[] = {0x80, 0xac, 0xb7, 0xcb, 0xb7, 0x33};

	*p++ = tag;
	return put(p, time, sizeof(time));
}

static void sparkplug_payload(uint8_t *p, double value)
{
	p = put_time(p, 0x08);
	for (uint8_t alias = 1; alias <= SPARKPLUG_METRICS; alias++) {
		p = put(p, (const uint8_t[]){0x12, 18, 0x10, alias}, 4);
		p = put_time(p, 0x18);
		p = put_double(p, alias == SPARKPLUG_ALIAS ? value : 23.5);
	}
	put(p, (const uint8_t[]){0x18, 0x80, 0x80, 0}, 4); /* bench_sparkplug_seq() */
}

uint32_t bench_sparkplug_seq(uint8_t seq)
{
	const uint8_t field[] = {0x18, seq | 0x80, (uint8_t)(0x80 | seq >> 7), 0};
	uint32_t word;

	memcpy(&word, field, sizeof(word));
	return word;
}

void bench_birth(const struct bench_traffic *t, uint32_t c, uint8_t *mqtt)
{
	static const char name[] = BENCH_METRIC;
	const uint8_t name_len = sizeof(name) - 1;
	uint8_t *p = fixed_header(mqtt, 0x30, t->mqtt_len - 3), *end = mqtt + t->mqtt_len;
	char topic[32];

	snprintf(topic, sizeof(topic), SPARKPLUG_BIRTH_TOPIC, c);
	bp_put_be16(p, 23);
	p = put(p + 2, topic, 23);
	p = put_time(p, 0x08);
	p = put(p, (const uint8_t[]){0x12, (uint8_t)(name_len + 15), 0x0a, name_len}, 4);
	p = put(p, name, name_len);
	p = put(p, (const uint8_t[]){0x10, SPARKPLUG_ALIAS, 0x20, 10}, 4);
	p = put_double(p, 23.5);
	p = put(p, (const uint8_t[]){0x18, 0, 0x22, (uint8_t)(end - p - 4)}, 4);
	memset(p, 'x', (size_t)(end - p)); /* uuid: as long as the other frames */
}

void bench_publish(const struct bench_traffic *t, uint32_t c, uint8_t *frame)
{
	static const uint8_t head[34] = {2, 0, 0, 0, 2, 1, 2, 0, 0, 0, 1, 1, 8, 0, 0x45, 0, 0, 0, 0,
		0, 0x40, 0, 64, 6, 0, 0, 10, 0, 0, 0, 192, 0, 2, 1};
	double value = bench_is_over(t, c) ? 91.5 : 23.5;
	char topic[32], text[JSON_PAYLOAD + 1];
	uint8_t *p;

	memset(frame, 0, t->frame_len);
	memcpy(frame, head, sizeof(head));
	bp_put_be16(frame + 16, (uint16_t)(t->frame_len - 14));
	bp_put_be32(frame + 26, BENCH_CLIENT + c);
	bp_put_be16(frame + 34, (uint16_t)(32768 + c));
	bp_put_be16(frame + 36, 1883);
	bp_put_be32(frame + 38, bench_isn(c));
	bp_put_be32(frame + 42, 1);
	frame[46] = 5 << 4;
	frame[47] = BP_TCP_ACK | BP_TCP_PSH;
	bp_put_be16(frame + 48, 64240);
	p = fixed_header(
		frame + BENCH_HEADERS, 0x30, t->mqtt_len - (t->mqtt_len - 2 < 128 ? 2u : 3u));
	topic_of(t, c, topic, sizeof(topic));
	bp_put_be16(p, (uint16_t)strlen(topic));
	p = put(p + 2, topic, (uint32_t)strlen(topic));
	if (t->kind == BENCH_TEXT || t->kind == BENCH_PAIRS) {
		snprintf(text, sizeof(text), "%05.1f", value);
		memcpy(p, text, TEXT_PAYLOAD);
	} else if (t->kind == BENCH_SPARKPLUG) {
		sparkplug_payload(p, value);
	} else {
		json_payload((char *)p, c, value);
	}
	bench_checksums(frame, t->frame_len);
}

static const uint8_t connect_head[] = {0, 4, 'M', 'Q', 'T', 'T', 4, 2, 0, 60};

static uint32_t remaining_of(const struct bench_traffic *t)
{
	return t->mqtt_len - (t->mqtt_len - 2 < 128 ? 2u : 3u);
}

uint32_t bench_client_id_len(const struct bench_traffic *t)
{
	return remaining_of(t) - (uint32_t)sizeof(connect_head) - 2;
}

void bench_connect(const struct bench_traffic *t, uint32_t c, uint8_t *mqtt)
{
	const uint32_t id = bench_client_id_len(t);
	uint8_t *p = fixed_header(mqtt, 0x10, remaining_of(t));

	p = put(p, connect_head, sizeof(connect_head));
	bp_put_be16(p, (uint16_t)id);
	memset(p + 2, 'c', id);
	p += 2 + id;
	for (uint32_t i = 0; i < BENCH_CLIENT_DIGITS; i++, c /= 10)
		*--p = (uint8_t)('0' + c % 10);
}

int bench_write_pcap(const struct bench_traffic *t, const char *path)
{
	pcap_t *p = pcap_open_dead(DLT_EN10MB, 65535);
	pcap_dumper_t *d = pcap_dump_open(p, path);
	uint8_t frame[BENCH_FRAME_MAX];

	if (d == NULL) {
		fprintf(stderr, "%s: %s\n", path, pcap_geterr(p));
		return -1;
	}
	for (uint32_t i = 0; i < t->frames; i++) {
		struct pcap_pkthdr h = {.caplen = t->frame_len, .len = t->frame_len};

		bench_publish(t, bench_connection(t, i), frame);
		pcap_dump((u_char *)d, &h, frame);
	}
	pcap_dump_close(d);
	pcap_close(p);
	return 0;
}
