/* SPDX-License-Identifier: BSD-3-Clause */
#include "fixture.h"

#include <pcap/pcap.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "proto/net/frame.h"
#include "websocket_peer.h"

static void must(bool ok, const char *what, const char *detail)
{
	if (!ok) {
		fprintf(stderr, "fixture: %s %s\n", what, detail);
		abort();
	}
}

void fixture_path(char *out, size_t size, const char *name, const char *suffix)
{
	const char *folder = getenv("BP_FIXTURES");

	snprintf(out, size, "%s/%s%s", folder != NULL ? folder : "tests/fixtures", name, suffix);
}

static void *grown(void *p, size_t n, size_t size)
{
	p = realloc(p, n * size);
	must(p != NULL, "no memory", "");
	return p;
}

static bool is_broker_port(uint16_t port)
{
	return port == 1883 || port == WS_PORT;
}

static struct talk *talk_of(struct fixture *f, const struct bp_frame *frame, bool may_add)
{
	const uint8_t *src = frame->data + frame->l3 + (frame->ip6 ? 8 : 12);
	unsigned width = frame->ip6 ? 16 : 4, from = frame->to_broker ? CLIENT : BROKER;
	const uint8_t *client = from == CLIENT ? src : src + width;
	const uint8_t *broker = from == CLIENT ? src + width : src;
	uint16_t port = from == CLIENT ? frame->sport : frame->dport;
	struct talk *t;

	for (size_t i = f->n_talks; i != 0; i--) {
		t = &f->talk[i - 1];
		if (t->peer.client_port == port && memcmp(t->peer.client_ip, client, width) == 0)
			return t;
	}
	if (!may_add)
		return NULL;
	f->talk = grown(f->talk, ++f->n_talks, sizeof(*f->talk));
	t = &f->talk[f->n_talks - 1];
	memset(t, 0, sizeof(*t));
	t->peer.ip6 = frame->ip6;
	memcpy(t->peer.client_ip, client, width);
	memcpy(t->peer.broker_ip, broker, width);
	t->peer.client_port = port;
	t->peer.broker_port = from == CLIENT ? frame->dport : frame->sport;
	if (frame->vlan_outer != 0)
		t->peer.vlan[t->peer.n_vlan++] = frame->vlan_outer;
	if (frame->vlan_inner != 0)
		t->peer.vlan[t->peer.n_vlan++] = frame->vlan_inner;
	return t;
}

static void add_bytes(struct talk *t, unsigned from, const uint8_t *p, size_t n)
{
	bytes_add(&t->stream[from], p, n);
	if (t->n_turns == 0 || t->turn[t->n_turns - 1].from != from) {
		t->turn = grown(t->turn, ++t->n_turns, sizeof(*t->turn));
		t->turn[t->n_turns - 1] = (struct turn){from, 0};
	}
	t->turn[t->n_turns - 1].n += n;
}

static void read_frame(struct fixture *f, const uint8_t *p, size_t len)
{
	struct bp_frame frame;
	struct talk *t;
	unsigned from;
	uint32_t old;

	if (bp_frame_parse(p, (uint32_t)len, (uint32_t)len, &frame) != BP_FRAME_TCP)
		return;
	frame.to_broker = is_broker_port(frame.dport);
	if (!frame.to_broker && !is_broker_port(frame.sport))
		return;
	from = frame.to_broker ? CLIENT : BROKER;
	t = talk_of(f, &frame, (frame.tcp_flags & (TH_SYN | TH_ACK)) == TH_SYN);
	if (t == NULL)
		return;
	if (frame.tcp_flags & TH_SYN) {
		t->syn[from] = true;
		t->next[from] = frame.seq + 1;
		return;
	}
	must(t->syn[from], "a connection without its beginning", "");
	old = t->next[from] - frame.seq;
	must((int32_t)old >= 0 || frame.payload_len == 0, "a capture with a hole", "");
	if (frame.payload_len != 0 && old < frame.payload_len) {
		add_bytes(t, from, p + frame.payload + old, frame.payload_len - old);
		t->next[from] = frame.seq + frame.payload_len;
	}
	if (frame.tcp_flags & TH_FIN)
		t->fin[from] = true;
}

void fixture_load(struct fixture *f, const char *name)
{
	char path[1024], err[PCAP_ERRBUF_SIZE] = "";
	struct pcap_pkthdr *h;
	const u_char *p;
	pcap_t *in;

	memset(f, 0, sizeof(*f));
	fixture_path(path, sizeof(path), name, ".pcap");
	in = pcap_open_offline(path, err);
	must(in != NULL, "can't open it:", err);
	while (pcap_next_ex(in, &h, &p) == 1) {
		struct captured *c;

		must(h->caplen == h->len, "a frame that was cut in", path);
		f->frame = grown(f->frame, ++f->n_frames, sizeof(*f->frame));
		c = &f->frame[f->n_frames - 1];
		c->len = h->caplen;
		c->frame = grown(NULL, 1, c->len);
		memcpy(c->frame, p, c->len);
		read_frame(f, c->frame, c->len);
	}
	pcap_close(in);
	must(f->n_talks != 0, "no connections in", path);
}

void fixture_free(struct fixture *f)
{
	for (size_t i = 0; i < f->n_frames; i++)
		free(f->frame[i].frame);
	for (size_t i = 0; i < f->n_talks; i++) {
		bytes_free(&f->talk[i].stream[0]);
		bytes_free(&f->talk[i].stream[1]);
		free(f->talk[i].turn);
	}
	free(f->frame);
	free(f->talk);
}

const char *const fixture_rule_names[FIXTURE_RULES] = {"text", "json", "frame", "cold", "raw"};

void fixture_rules(struct bp_rule_spec rules[FIXTURE_RULES])
{
	const char *error;
	size_t at;

	rules[0] = rig_rule("text", "plant/+/temperature", BP_COND_GT, 80);
	rules[1] = rig_rule("json", "plant/+/temperature", BP_COND_GT, 80);
	rules[2] = rig_rule("frame", "plant/camera/frame", BP_COND_GT, 80);
	rules[3] = rig_rule("cold", "#", BP_COND_LE, 0);
	rules[4] = rig_rule("raw", "plant/oven1/raw", BP_COND_GE, 80);
	rules[1].value.kind = rules[2].value.kind = BP_VALUE_JSON;
	must(bp_json_path_compile("$.celsius", &rules[1].value.json, &error, &at) == 0, "path", "");
	rules[2].value.json = rules[1].value.json;
	rules[4].value.kind = BP_VALUE_BINARY;
	rules[4].value.binary.type = BP_BIN_FLOAT32;
}
