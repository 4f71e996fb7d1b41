/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_CONFIG_MQTT_SCHEMA_H
#define BP_CONFIG_MQTT_SCHEMA_H

#include "config/mqtt/settings.h"
#include "config/schema.h"

extern const struct bp_schema_part bp_schema_mqtt;
extern const struct bp_type bp_type_annotations, bp_type_broker, bp_type_kafka_brokers,
	bp_type_kafka_topic, bp_type_condition, bp_type_json_path, bp_type_combination,
	bp_type_days, bp_type_time_of_day, bp_type_packet_rate, bp_type_policy_payload,
	bp_type_positive, bp_type_bridge_or_port;

/* check_mqtt.c: checks across several settings. */
void bp_check_publisher(struct bp_reader *r, const struct bp_yaml *n, void *base);
void bp_check_kafka(struct bp_reader *r, const struct bp_yaml *n, void *base);
void bp_check_mirror(struct bp_reader *r, const struct bp_yaml *n, void *base);
/* check_combination.c: of a rule, for bp_check_rule(). */
void bp_check_combination(struct bp_reader *r, const struct bp_yaml *n, struct bp_rule_spec *rule);
/* check_window.c */
void bp_check_window(struct bp_reader *r, const struct bp_yaml *n, void *base);
void bp_check_windows(struct bp_reader *r, const struct bp_yaml *n, const struct bp_config_mqtt *m);
void bp_check_rule(struct bp_reader *r, const struct bp_yaml *n, void *base);
/* check_sparkplug.c: the topic of a rule, or part of one, with a metric of Sparkplug B. */
void bp_check_sparkplug(
	struct bp_reader *r, const struct bp_yaml *n, const struct bp_rule_spec *rule, bool part);
void bp_check_mqtt(struct bp_reader *r, const struct bp_yaml *n, void *base);

/* check_policy.c */
void bp_check_policy(struct bp_reader *r, const struct bp_yaml *n, void *base);
void bp_check_policy_rule(struct bp_reader *r, const struct bp_yaml *n, void *base);
void bp_check_policy_keep_alive(struct bp_reader *r, const struct bp_yaml *n, void *base);
void bp_check_policy_hours(struct bp_reader *r, const struct bp_yaml *n, void *base);
void bp_check_policy_rate(struct bp_reader *r, const struct bp_yaml *n, void *base);

/* Reports elements of the list whose names are equal; name_of() returns that of an element. */
void bp_check_names(struct bp_reader *r, const struct bp_yaml *list, const char *what,
	const char *(*name_of)(const void *items, uint32_t i), const void *items);

/* check_absence.c: the settings of a rule with absent, and that one without has raise. */
void bp_check_absence(struct bp_reader *r, const struct bp_yaml *n, struct bp_rule_spec *rule);
/* check_value.c: the value of a rule or part; its strings get the order that conditions need. */
void bp_check_value(struct bp_reader *r, const struct bp_yaml *n, struct bp_rule_spec *rule);
/* Finds a string or boolean that satisfies raise and clear together: -1 is another string. */
bool bp_value_overlap(const struct bp_rule_spec *rule, double *v);
/* Returns the text of a value; `number` may hold it. */
const char *bp_value_text_of(const struct bp_rule_spec *rule, double v, char number[32]);

/*
 * Writes a compiled path as text ($.a['b c'][2]) that compiles to the same path. `out` has
 * BP_JSON_PATH_TEXT bytes: each byte of a name may become six, and a step has its brackets.
 */
#define BP_JSON_PATH_TEXT (BP_JSON_NAMES_MAX * 6 + BP_JSON_STEPS_MAX * 16 + 2)
void bp_json_path_format(const struct bp_json_path *path, char *out);

#endif
