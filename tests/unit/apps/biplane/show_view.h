/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_TESTS_UNIT_APPS_BIPLANE_SHOW_VIEW_H
#define BP_TESTS_UNIT_APPS_BIPLANE_SHOW_VIEW_H

#include <stdlib.h>
#include <string.h>

#include "apps/biplane/show/show.h"
#include "shm/layout.h"
#include "config/segment.h"
#include "config/mqtt/settings.h"

/* A segment in private memory, and what views say of it. */

static struct bp_config config;
static struct bp_config_mqtt mqtt;
static struct bp_shm shm;
static struct bp_show_source source;
static char err[512];

static inline int set_up(void **state)
{
	struct bp_seg_spec specs[BP_SHM_SPECS_MAX];

	memset(&config, 0, sizeof(config));
	memset(&mqtt, 0, sizeof(mqtt));
	config.service[BP_SERVICE_MQTT] = &mqtt;
	snprintf(config.name, sizeof(config.name), "test");
	config.n_workers = 2;
	config.n_ports = 2;
	mqtt.enabled = true;
	mqtt.max_rules = 8;
	mqtt.max_alarm_states = 64;
	mqtt.alarm_queue_size = 65536;
	config.monitoring.event_queue_size = 64;

	unsigned n = bp_shm_specs(&config, specs);
	struct bp_segment *s = bp_segment_anonymous(specs, n, err, sizeof(err));

	if (!s || bp_shm_map(&shm, s, err, sizeof(err)))
		return -1;
	source = (struct bp_show_source){
		.shm = &shm, .unix_ns = 10000000000000ull, .mono_ns = 5000000000ull};
	return 0;
}

static inline int tear_down(void **state)
{
	bp_segment_close(shm.segment);
	return 0;
}

static inline json_t *collect(const struct bp_show_view *view)
{
	json_t *v = view->collect(&source, err, sizeof(err));

	assert_non_null(v);
	return v;
}

/* The view as people see it; ends the JSON. */
static inline char *text_of(const struct bp_show_view *view, json_t *v, bool all)
{
	char *text = NULL;
	size_t len = 0;
	FILE *out = open_memstream(&text, &len);

	view->print(v, all, out);
	fclose(out);
	json_decref(v);
	return text;
}

static inline json_t *row(const json_t *v, const char *list, size_t i)
{
	json_t *r = json_array_get(json_object_get(v, list), i);

	assert_non_null(r);
	return r;
}

#define assert_text(object, key, expected)                                                         \
	assert_string_equal(json_string_value(json_object_get(object, key)), expected)
#define assert_number(object, key, expected)                                                       \
	assert_int_equal(json_integer_value(json_object_get(object, key)), expected)

#define CASE(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

#endif
