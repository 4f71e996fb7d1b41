/* SPDX-License-Identifier: BSD-3-Clause */
#include "apps/biplane/commands.h"

#include <stddef.h>

static const struct bp_cli_command *const config_commands[] = {&bp_cmd_config_check,
	&bp_cmd_config_show, &bp_cmd_config_diff, &bp_cmd_config_schema, NULL};
static const struct bp_cli_command group_config = {
	.name = "config",
	.summary = "configuration files",
	.text = "Checks, prints and compares configurations.",
	.example = "  biplane config check -c /etc/biplane/plant.yaml",
	.children = config_commands,
};

static const struct bp_cli_command *const policy_commands[] = {
	&bp_cmd_policy_import, &bp_cmd_policy_report, NULL};
static const struct bp_cli_command group_policy = {
	.name = "policy",
	.summary = "policy of MQTT clients",
	.text = "Prepares the policy of what MQTT clients may do, and reports what it would have\n"
		"refused; 'biplane show policy' lists the decisions of an active one.",
	.example = "  biplane policy import /etc/mosquitto/acl > policy.yaml",
	.children = policy_commands,
};

static const struct bp_cli_command *const session_commands[] = {&bp_cmd_session_disconnect, NULL};
static const struct bp_cli_command group_session = {
	.name = "session",
	.summary = "associations of health devices",
	.text = "Acts on the associations of health devices; 'biplane show sessions' lists them.",
	.example = "  biplane session disconnect 002209225801a3ff",
	.children = session_commands,
};

static const struct bp_cli_command *const matrix_commands[] = {
	&bp_cmd_matrix_set, &bp_cmd_matrix_clear, &bp_cmd_matrix_list, NULL};
static const struct bp_cli_command group_matrix = {
	.name = "transform matrix",
	.summary = "matrices of a running instance",
	.text = "Sets, clears and lists the matrices of coordinate transformation.",
	.example = "  biplane transform matrix list",
	.children = matrix_commands,
};
static const struct bp_cli_command *const transform_commands[] = {
	&group_matrix, &bp_cmd_transform_test, NULL};
static const struct bp_cli_command group_transform = {
	.name = "transform",
	.summary = "coordinate transformation",
	.text = "Manages matrices of a running instance, and transforms points offline.",
	.example = "  biplane transform matrix set 10.0.0.5 frame.yaml",
	.children = transform_commands,
};

static const struct bp_cli_command *const fleet_commands[] = {&bp_cmd_fleet_push,
	&bp_cmd_fleet_rollback, &bp_cmd_fleet_status, &bp_cmd_fleet_members, &bp_cmd_fleet_diff,
	&bp_cmd_fleet_ready, &bp_cmd_fleet_keygen, &bp_cmd_fleet_agent, NULL};
static const struct bp_cli_command group_fleet = {
	.name = "fleet",
	.summary = "settings for groups of gateways",
	.text = "Rolls out signed bundles of settings to the gateways of a fleet, with etcd.",
	.example = "  biplane fleet members -c /etc/biplane/plant.yaml",
	.children = fleet_commands,
};

static const struct bp_cli_command *const commands[] = {
	&bp_cmd_run,
	&bp_cmd_dataplane,
	&bp_cmd_controlplane,
	&bp_cmd_monitor,
	&group_config,
	&bp_cmd_status,
	&bp_cmd_show,
	&bp_cmd_tail,
	&bp_cmd_top,
	&bp_cmd_explain,
	&bp_cmd_reload,
	&bp_cmd_capture,
	&bp_cmd_trace,
	&bp_cmd_replay,
	&group_policy,
	&group_session,
	&group_transform,
	&group_fleet,
	&bp_cmd_doctor,
	&bp_cmd_capabilities,
	&bp_cmd_clean,
	&bp_cmd_help,
	&bp_cmd_version,
	&bp_cmd_completion,
	&bp_cmd_complete,
	NULL,
};
const struct bp_cli_command bp_cmd_root = {
	.name = "",
	.text = "A gateway between IoT devices and the rest of the network. It bridges and routes\n"
		"their traffic, publishes alarms from MQTT values, stores the measurements of\n"
		"health devices, aggregates UDP messages and transforms coordinates.",
	.example = "  biplane config check -c plant.yaml && biplane run -c plant.yaml",
	.children = commands,
};
