/* SPDX-License-Identifier: BSD-3-Clause */
#include "tests/hostile/segment/gateway.h"

#include <stdlib.h>
#include <string.h>

#include "tests/unit/proto/sparkplug/spb_writer.h"
#include "tests/unit/services/mqtt/mqtt_peer.h"

#define PEERS 16u

/* Connections from port a to a broker behind port b. */
struct traffic {
	struct peer peer[PEERS];
	bool open[PEERS];
	unsigned next, number, sent;
	uint8_t frame[PEER_FRAME_MAX];
};

void gateway_mqtt_start(struct gateway *g)
{
	g->mqtt = calloc(1, sizeof(struct traffic));
	assert_non_null(g->mqtt);
}

void gateway_mqtt_stop(struct gateway *g)
{
	free(g->mqtt);
	g->mqtt = NULL;
}

static void segment(
	struct gateway *g, struct peer *c, unsigned from, uint8_t flags, struct bytes *b)
{
	struct traffic *t = g->mqtt;
	const size_t n = peer_frame(c, from, flags, c->seq[from],
		flags == TH_SYN ? 0 : c->seq[!from], b ? b->p : NULL, b ? b->n : 0, t->frame);

	gateway_put(g, from == CLIENT ? GW_A : GW_B, t->frame, (uint32_t)n);
	gateway_walk(g);
	gateway_clear(g);
	c->seq[from] += (uint32_t)((b ? b->n : 0) + (flags & (TH_SYN | TH_FIN) ? 1 : 0));
	if (b)
		bytes_free(b);
}

static void connection_open(struct gateway *g, struct peer *c, unsigned number)
{
	const uint8_t version = number % 2 ? 5 : 4;
	struct bytes b = {0};

	peer_init(c, number % 3 == 2, number + 1, 1000 * number, 77000 * number);
	segment(g, c, CLIENT, TH_SYN, NULL);
	segment(g, c, BROKER, TH_SYN | TH_ACK, NULL);
	segment(g, c, CLIENT, TH_ACK, NULL);
	mq_connect(&b, version, "client", 10);
	segment(g, c, CLIENT, TH_ACK | TH_PSH, &b);
	mq_connack(&b, version, 0, 10, NULL);
	segment(g, c, BROKER, TH_ACK | TH_PSH, &b);
}

/* Of each rule of gateway_rules(), and one that no rule matches. */
enum { TEXT, STRING, ELEMENTS, SPARKPLUG };
static const struct {
	const char *name;
	uint8_t payload;
} topics[] = {{"t/0", TEXT}, {"plant/1/x", TEXT}, {"t/2", TEXT}, {"plant/3/temperature", TEXT},
	{"t/4", TEXT}, {"plant/5/y", TEXT}, {"other", TEXT}, {"cell/1/temperature", TEXT},
	{"cell/1/pressure", TEXT}, {"kind/absent", TEXT}, {"kind/string", STRING},
	{"kind/values", TEXT}, {"kind/time", TEXT}, {"spBv1.0/g/NDATA/node", SPARKPLUG},
	{"kind/elements", ELEMENTS}, {"kind/deadband", TEXT}};
#define TOPICS (sizeof(topics) / sizeof(topics[0]))

/* A birth, data by alias and a death, in turn; the metric is above and below its limit. */
static void sparkplug(struct mq_publish *p, struct spb *b, unsigned n)
{
	const double value = n / 4 % 2 ? 20 : 70;

	spb_number(b, SPB_TIMESTAMP, n);
	if (n % 4 == 0) {
		p->topic = "spBv1.0/g/NBIRTH/node";
		spb_bdseq(b, n / 4 % 256);
		spb_metric(b, "motor/temperature", 7, 10, value);
	} else if (n % 4 == 3) {
		p->topic = "spBv1.0/g/NDEATH/node";
		spb_bdseq(b, n / 4 % 256);
	} else {
		spb_metric(b, NULL, 7, 0, value);
	}
	spb_number(b, SPB_SEQ, n % 4);
	p->payload = b->p;
	p->payload_len = b->n;
}

static void publish(struct gateway *g, struct peer *c, uint8_t version, unsigned topic, unsigned n)
{
	static const char *const text[] = {"99.5", "12", "45", "x", "70"};
	static const char *const string[] = {"{\"state\":\"open\"}", "{\"state\":\"closed\"}"};
	static const char *const elements[] = {
		"[{\"celsius\":12},{\"celsius\":70}]", "[{\"celsius\":12},{}]", "[]"};
	struct bytes b = {0};
	struct spb metrics = {.n = 0};
	struct mq_publish p = {.version = version,
		.qos = 1,
		.id = (uint16_t)(1 + g->serial % 1000),
		.topic = topics[topic].name,
		.payload = text[n % 5]};

	if (topics[topic].payload == STRING)
		p.payload = string[n % 2];
	else if (topics[topic].payload == ELEMENTS)
		p.payload = elements[n % 3];
	else if (topics[topic].payload == SPARKPLUG)
		sparkplug(&p, &metrics, n);
	mq_publish(&b, &p);
	segment(g, c, CLIENT, TH_ACK | TH_PSH, &b);
	mq_ack(&b, MQ_PUBACK, p.id);
	segment(g, c, BROKER, TH_ACK | TH_PSH, &b);
}

void gateway_mqtt(struct gateway *g)
{
	struct traffic *t = g->mqtt;
	const unsigned i = t->next++ % PEERS;
	struct peer *c = &t->peer[i];

	if (!t->open[i] || t->next % (PEERS + 1) == 0) {
		if (t->open[i])
			segment(g, c, CLIENT, TH_RST, NULL);
		connection_open(g, c, t->number++);
		t->open[i] = true;
	}
	/* the topic that it published last, also in the burst before, and another */
	for (unsigned n = 0; n < 4; n++, t->sent++)
		publish(g, c, c->first[CLIENT] / 1000 % 2 ? 5 : 4, (n != 2 ? i : t->sent) % TOPICS,
			t->sent);
	(void)bp_ring_tail(bp_shm_ring(&g->x.r.shm, 0));
	bp_ring_release_all(bp_shm_ring(&g->x.r.shm, 0));
}
