/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * MQTT over WebSocket. Three kinds of input, selected by the first byte:
 *
 * - a head of the upgrade, of any bytes.
 * - frames of a client and of a broker behind an upgrade, made of the input, in the pieces that the
 *   input asks for, and in one piece: what is read must be the same, and nothing may be carried
 * when the flow is gone.
 * - the same with raw bytes instead of frames.
 */
#include "config/mqtt/settings.h"
#include "biplane/counters/mqtt.h"
#include "rig.h"
#include "websocket_peer.h"

#include <string.h>

#include "proto/websocket/websocket.h"
#include "tests/fuzz/fuzz.h"

static struct rig rig;

static void start(void)
{
	struct bp_rule_spec rules[2] = {
		rig_rule("a", "t/#", BP_COND_GT, 50), rig_rule("b", "#", BP_COND_NE, 7)};

	rig_defaults(&rig);
	rig.mqtt.n_websocket_ports = 1;
	rig.mqtt.websocket_ports[0] = WS_PORT;
	rig.mqtt.directions = BP_DIRECTIONS_BOTH;
	rig_open(&rig);
	rig_rules(&rig, rules, 2);
}

static void head(const uint8_t *data, uint32_t n)
{
	uint8_t *p = exact_copy(data, n), accept[BP_WS_ACCEPT] = {0};
	const uint32_t end = bp_ws_head_end(p, n, 0);

	HOLDS(end <= n);
	for (uint32_t cut = 1; cut < n && cut < 200; cut++) {
		const uint32_t before = bp_ws_head_end(p, cut, 0);

		HOLDS(before == (end != 0 && end <= cut ? end : 0));
		if (before == 0)
			HOLDS(bp_ws_head_end(p, n, cut) == end);
	}
	(void)bp_ws_request(p, n, accept);
	(void)bp_ws_response(p, n, accept);
	free(p);
}

/* What the input sends, one after the other. */
struct talk {
	struct bytes bytes[64];
	unsigned from[64], n;
};

static void make_talk(struct talk *t, const uint8_t *p, const uint8_t *end, bool raw)
{
	for (t->n = 0; t->n < 64 && end - p >= 2; t->n++) {
		const uint8_t op = *p++, asked = *p++;
		const size_t left = (size_t)(end - p), n = asked < left ? asked : left;
		/* FIN, and an opcode; the highest bit of the length is the sender */
		const uint8_t first = (uint8_t)((op & 0x80) | (op & 0x0f));

		memset(&t->bytes[t->n], 0, sizeof(t->bytes[t->n]));
		t->from[t->n] = op >> 6 & 1;
		if (raw)
			bytes_add(&t->bytes[t->n], p, n);
		else
			ws_frame(&t->bytes[t->n], t->from[t->n], first, p, n);
		p += n;
	}
}

static void upgrade(struct peer *c, uint32_t number)
{
	struct bytes b = {0}, mqtt = {0};

	peer_init(c, false, number, 0xffffff00u, 0xfffffff0u);
	c->broker_port = WS_PORT;
	rig_handshake(&rig, c);
	ws_request(&b, "");
	rig_send_bytes(&rig, c, CLIENT, &b);
	ws_response(&b, "");
	rig_send_bytes(&rig, c, BROKER, &b);
	mq_connect(&mqtt, 4, "f", 0);
	ws_message(&b, CLIENT, &mqtt);
	rig_send_bytes(&rig, c, CLIENT, &b);
	mq_connack(&mqtt, 4, 0, 0, NULL);
	ws_message(&b, BROKER, &mqtt);
	rig_send_bytes(&rig, c, BROKER, &b);
}

struct result {
	uint64_t raised, not_inspected;
	size_t alarms;
};

static struct result run(const struct talk *t, size_t piece)
{
	static uint32_t number;
	struct result r = {0};
	struct peer c;

	memset(&rig.shm.counters[0], 0, sizeof(rig.shm.counters[0]));
	upgrade(&c, number++);
	for (unsigned i = 0; i < t->n; i++) {
		const struct bytes *b = &t->bytes[i];

		for (size_t at = 0; at < b->n; at += piece)
			rig_send(&rig, &c, t->from[i], b->p + at,
				b->n - at < piece ? b->n - at : piece);
	}
	r.alarms = rig_told_count(&rig);
	r.raised = rig_count(&rig, BP_C_ALARM_RAISED);
	for (unsigned k = BP_C_NOT_INSPECTED_NOT_MQTT; k <= BP_C_NOT_INSPECTED_LAST; k++)
		r.not_inspected += rig_count(&rig, k) << (k - BP_C_NOT_INSPECTED_NOT_MQTT);
	HOLDS(rig_count(&rig, BP_C_RESYNC_STARTED) == 0);
	HOLDS(rig_count(&rig, BP_C_CONN_WEBSOCKET) == 1);
	rig_expire_all(&rig);
	HOLDS(bp_mqtt_worker_carried(rig.in) == 0);
	(void)rig_told_count(&rig);
	return r;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct result whole, cut;
	struct talk t;

	if (rig.in == NULL)
		start();
	if (size < 3 || size > BP_WS_HEAD_MAX)
		return 0;
	if (data[0] % 3 == 0) {
		head(data + 1, (uint32_t)size - 1);
		return 0;
	}
	make_talk(&t, data + 2, data + size, data[0] % 3 == 2);
	whole = run(&t, SIZE_MAX / 2);
	cut = run(&t, 1 + data[1] % 32);
	HOLDS(same_bytes(&whole, &cut, sizeof(whole)));
	for (unsigned i = 0; i < t.n; i++)
		bytes_free(&t.bytes[i]);
	return 0;
}
