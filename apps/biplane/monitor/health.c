/* SPDX-License-Identifier: BSD-3-Clause */
#include "apps/biplane/monitor/health.h"

#include <stdlib.h>
#include <string.h>

#include "apps/biplane/monitor/health_checks.h"
#include "apps/biplane/show/status_view.h"
#include "config/mqtt/settings.h"

static json_t *without_segment(void)
{
	return json_pack("{sb s[{ss sb ss}]}", "ready", 0, "checks", "check", "dataplane", "ok", 0,
		"reason", "the instance has no shared segment: it is not running");
}

static uint64_t spool_max(const struct bp_monitor *m)
{
	const struct bp_config_mqtt *c = bp_config_mqtt(m->config);

	return c->publisher.enabled ? c->spool.max_bytes : 0;
}

static void answer_json(struct bp_http_answer *a, unsigned status, json_t *object)
{
	char *text = object != NULL ? json_dumps(object, JSON_COMPACT | JSON_PRESERVE_ORDER) : NULL;

	json_decref(object);
	if (text == NULL) {
		bp_answer_error(a, 500, "not enough memory");
		return;
	}
	*a = (struct bp_http_answer){.status = status,
		.content_type = BP_CONTENT_JSON,
		.body = text,
		.len = strlen(text)};
}

void bp_health_live(struct bp_http_answer *a)
{
	answer_json(a, 200, json_pack("{sb}", "live", 1));
}

void bp_health_ready(const struct bp_monitor *m, struct bp_http_answer *a)
{
	const struct bp_shm *shm = bp_monitor_shm(m);
	const struct bp_show_source source = {
		.shm = shm, .unix_ns = bp_monitor_unix_ns(), .mono_ns = bp_monitor_mono_ns()};
	json_t *status, *health;
	char err[256];
	bool ready;

	if (shm == NULL) {
		answer_json(a, 503, without_segment());
		return;
	}
	status = bp_status_view.collect(&source, err, sizeof(err));
	health = status != NULL ? bp_health_checks(status, spool_max(m)) : NULL;
	ready = json_is_true(json_object_get(health, "ready"));
	json_decref(status);
	answer_json(a, ready ? 200 : 503, health);
}
