/* SPDX-License-Identifier: BSD-3-Clause */
#include <stdlib.h>

#include "apps/biplane/show/show.h"
#include "apps/biplane/table.h"
#include "apps/biplane/text.h"
#include "apps/biplane/text_value.h"
#include "controlplane/alarms/alarm_log.h"

static json_t *severity(const struct bp_alarm_log *a)
{
	const char *name = bp_severity_name(a->severity);

	return name != NULL ? json_string(name) : json_null();
}

static json_t *alarm_row(const struct bp_alarm_log *a)
{
	char time[BP_TEXT_TIME], client[BP_TEXT_ADDRESS];

	bp_text_time(a->time_ns, time);
	bp_text_address(a->client_ip, a->flags & BP_ALARM_F_IP6, a->client_port, client);
	return json_pack("{sI ss sI so ss so so ss so so so ss}", "id", (json_int_t)a->id, "time",
		time, "time_ns", (json_int_t)a->time_ns, "rule",
		bp_text_json(a->rule, sizeof(a->rule)), "state",
		a->state == BP_ALARM_CLEARED ? "cleared" : "raised", "severity", severity(a),
		"value", bp_text_alarm_json(a), "client", client, "client_id",
		bp_text_json(a->client_id, sizeof(a->client_id)), "topic",
		bp_text_json(a->topic, sizeof(a->topic)), "publish_topic",
		bp_text_json(a->to, sizeof(a->to)), "action",
		a->flags & BP_ALARM_F_MIRROR ? "mirror" : "publish");
}

static json_t *collect(const struct bp_show_source *s, char *err, size_t err_size)
{
	struct bp_alarm_log *log = calloc(BP_ALARM_LOG_LEN, sizeof(*log));
	json_t *list = json_array();
	unsigned max = BP_ALARM_LOG_LEN, n;

	if (s->limit && s->limit < max)
		max = (unsigned)s->limit;
	n = log ? bp_alarm_log_read(s->shm->alarm_log, log, max) : 0;
	for (unsigned i = 0; i < n; i++) {
		if (json_array_append_new(list, alarm_row(&log[i])) == 0)
			continue;
		/* a value that JSON has no number for, in a damaged segment */
		snprintf(err, err_size, "the alarm log in the segment is damaged");
		json_decref(list);
		free(log);
		return NULL;
	}
	free(log);
	return json_pack("{so}", "alarms", list);
}

static void print(const json_t *view, bool all, FILE *out)
{
	static const struct bp_column columns[] = {
		{"time", "TIME", 0},
		{"rule", "RULE", 0},
		{"state", "STATE", 0},
		{"severity", "SEVERITY", 0},
		{"value", "VALUE", 1},
		{"client", "CLIENT", 0},
		{"client_id", "CLIENT-ID", 0},
		{"topic", "TOPIC", 0},
		{"publish_topic", "PUBLISH-TOPIC", 0},
		{NULL, NULL, 0},
	};

	(void)all;
	bp_table_print(out, columns, json_object_get(view, "alarms"), "no alarms yet");
}

const struct bp_show_view bp_show_alarms = {
	.name = "alarms",
	.summary = "the latest alarms, oldest first",
	.default_limit = 20,
	.collect = collect,
	.print = print,
};
