/* SPDX-License-Identifier: BSD-3-Clause */
#include "policy_ends.h"

#include <string.h>

#include "biplane/counters/mqtt.h"
#include "test.h"

struct rig rig;
struct bp_policy_rule_spec rules[4];
struct end broker, client;

static void receive(void *arg, const uint8_t *frame, uint32_t len, bool to_client)
{
	struct end *to = to_client ? &client : &broker;
	struct bp_frame f;

	(void)arg;
	assert_int_equal(bp_frame_parse(frame, len, len, &f), BP_FRAME_TCP);
	assert_true(bp_frame_checksum_ok(&f));
	if (to->deaf)
		return;
	if (f.tcp_flags & TH_RST) {
		to->resets++;
		to->reset_at = f.seq;
		return;
	}
	if (f.tcp_flags & TH_SYN)
		f.seq++;
	to->empty += f.payload_len == 0;
	for (uint32_t i = 0; i < f.payload_len; i++) {
		const uint32_t at = f.seq + i - to->first;

		assert_true(at < STREAM_MAX);
		if (at < to->acked)
			continue;
		/* whatever it does with bytes that come twice */
		if (to->has[at] && rig_count(&rig, BP_C_POLICY_FAILED_OPEN) == 0)
			assert_int_equal(to->byte[at], frame[f.payload + i]);
		to->has[at] = true;
		to->byte[at] = frame[f.payload + i];
	}
	to->fins += (f.tcp_flags & TH_FIN) != 0;
}

uint32_t received(const struct end *e)
{
	uint32_t n = 0;

	while (n < STREAM_MAX && e->has[n])
		n++;
	return n;
}

struct bp_policy_rule_spec *rule(uint8_t action, uint8_t packet, const char *topic)
{
	struct bp_policy_rule_spec *r = &rules[rig.mqtt.policy.n_rules++];

	*r = (struct bp_policy_rule_spec){.action = action, .packet = packet};
	snprintf(r->name, sizeof(r->name), "r%u", rig.mqtt.policy.n_rules);
	snprintf(r->topic, sizeof(r->topic), "%s", topic);
	return r;
}

void load(void)
{
	struct bp_rule_spec alarm = rig_rule("alarm", "t/#", BP_COND_GT, 80);

	rig_rules(&rig, &alarm, 1);
}

struct peer open_peer(void)
{
	struct peer c;

	memset(&broker, 0, sizeof(broker));
	memset(&client, 0, sizeof(client));
	peer_init(&c, false, 1, 1000, 2000);
	broker.first = 1001;
	client.first = 2001;
	return c;
}

void open_rig(uint8_t fail)
{
	rig_defaults(&rig);
	rig.config.monitoring.event_queue_size = 64;
	rig.mqtt.policy.given = true;
	rig.mqtt.policy.rules = rules;
	rig.mqtt.policy.n_rules = 0;
	rig.mqtt.policy.fail = fail;
	snprintf(rig.mqtt.policy.quarantine, sizeof(rig.mqtt.policy.quarantine), "$refused");
	rig_open(&rig);
	rig.forwarded = receive;
}

struct peer connected(uint8_t version)
{
	struct peer c = open_peer();

	rig_connect(&rig, &c, version, "pump-1");
	return c;
}

void publish(struct peer *c, uint8_t version, const char *topic)
{
	const struct mq_publish p = {.version = version, .topic = topic, .payload = "81"};

	rig_publish(&rig, c, CLIENT, &p);
}
