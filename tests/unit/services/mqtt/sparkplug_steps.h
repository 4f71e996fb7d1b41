/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_TESTS_UNIT_SERVICES_MQTT_SPARKPLUG_STEPS_H
#define BP_TESTS_UNIT_SERVICES_MQTT_SPARKPLUG_STEPS_H

#include "test.h"

#include <stdio.h>
#include <string.h>

#include "rig.h"
#include "tests/unit/proto/sparkplug/spb_writer.h"

/* One node of Sparkplug B, its messages and the alarms that rules raise on them. */

static struct rig rig;
static struct peer node;

enum { INT32 = 3, DOUBLE = 10 };

/* Raised above 80, cleared below 75. */
static inline struct bp_rule_spec metric_rule(const char *filter, const char *metric)
{
	struct bp_rule_spec r = rig_rule("hot", filter, BP_COND_GT, 80);

	r.value.kind = BP_VALUE_SPARKPLUG;
	snprintf(r.value.names.metric, sizeof(r.value.names.metric), "%s", metric);
	r.has_clear = true;
	r.clear = (struct bp_condition){.op = BP_COND_LT, .a = 75};
	r.repeat = BP_REPEAT_ON_CHANGE;
	return r;
}

static inline struct bp_rule_spec online_rule(const char *filter)
{
	struct bp_rule_spec r = rig_rule("offline", filter, BP_COND_EQ, 0);

	r.value.kind = BP_VALUE_SPARKPLUG;
	r.value.sparkplug.what = BP_SPARKPLUG_ONLINE;
	r.repeat = BP_REPEAT_ON_CHANGE;
	return r;
}

static inline void open_rig_with(const struct bp_rule_spec *rules, uint32_t n)
{
	rig_defaults(&rig);
	rig_open(&rig);
	rig_rules(&rig, rules, n);
	peer_init(&node, false, 1, 1, 2);
	rig_connect(&rig, &node, 4, "node-1");
}

static inline void open_rig(const char *filter, const char *metric)
{
	const struct bp_rule_spec r = metric_rule(filter, metric);

	open_rig_with(&r, 1);
}

static inline void send(const char *topic, const struct spb *b)
{
	rig_publish(&rig, &node, CLIENT,
		&(struct mq_publish){
			.version = 4, .topic = topic, .payload = b->p, .payload_len = b->n});
}

static inline void birth(const char *topic, uint64_t time, uint64_t seq, uint64_t bdseq,
	const char *name, uint64_t alias, double value)
{
	struct spb b = {.n = 0};

	spb_number(&b, SPB_TIMESTAMP, time);
	spb_bdseq(&b, bdseq);
	if (name != NULL)
		spb_metric(&b, name, alias, DOUBLE, value);
	spb_number(&b, SPB_SEQ, seq);
	send(topic, &b);
}

static inline void data(
	const char *topic, uint64_t seq, const char *name, uint64_t alias, double value)
{
	struct spb b = {.n = 0};

	spb_metric(&b, name, alias, 0, value);
	spb_number(&b, SPB_SEQ, seq);
	send(topic, &b);
}

static inline void death(const char *topic, uint64_t bdseq)
{
	struct spb b = {.n = 0};

	spb_bdseq(&b, bdseq);
	send(topic, &b);
}

/* "+81 TOPIC, -74 TOPIC": raised and cleared. */
static inline const char *told(void)
{
	static char text[4096];
	struct told_list l = rig_told(&rig);
	size_t n = 0;

	text[0] = 0;
	for (size_t i = 0; i < l.n; i++)
		n += (size_t)snprintf(text + n, sizeof(text) - n, "%s%c%g %s", i ? ", " : "",
			l.a[i].state == BP_ALARM_RAISED ? '+' : '-', l.a[i].value,
			l.a[i].topic + strlen("spBv1.0/"));
	told_free(&l);
	return text;
}

#endif
