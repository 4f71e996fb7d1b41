/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_APPS_BIPLANE_COMMANDS_H
#define BP_APPS_BIPLANE_COMMANDS_H

#include "apps/biplane/cli.h"

/* The tree of commands, commands.c. */
extern const struct bp_cli_command bp_cmd_root;

/* Its leaves, each in a file cmd_NAME.c. */
extern const struct bp_cli_command bp_cmd_run;
extern const struct bp_cli_command bp_cmd_dataplane;
extern const struct bp_cli_command bp_cmd_controlplane;
extern const struct bp_cli_command bp_cmd_monitor;
extern const struct bp_cli_command bp_cmd_config_check;
extern const struct bp_cli_command bp_cmd_config_show;
extern const struct bp_cli_command bp_cmd_config_diff;
extern const struct bp_cli_command bp_cmd_config_schema;
extern const struct bp_cli_command bp_cmd_status;
extern const struct bp_cli_command bp_cmd_show;
extern const struct bp_cli_command bp_cmd_tail;
extern const struct bp_cli_command bp_cmd_top;
extern const struct bp_cli_command bp_cmd_explain;
extern const struct bp_cli_command bp_cmd_reload;
extern const struct bp_cli_command bp_cmd_capture;
extern const struct bp_cli_command bp_cmd_trace;
extern const struct bp_cli_command bp_cmd_replay;
extern const struct bp_cli_command bp_cmd_policy_import;
extern const struct bp_cli_command bp_cmd_policy_report;
extern const struct bp_cli_command bp_cmd_session_disconnect;
extern const struct bp_cli_command bp_cmd_matrix_set;
extern const struct bp_cli_command bp_cmd_matrix_clear;
extern const struct bp_cli_command bp_cmd_matrix_list;
extern const struct bp_cli_command bp_cmd_transform_test;
extern const struct bp_cli_command bp_cmd_fleet_agent;
extern const struct bp_cli_command bp_cmd_fleet_push;
extern const struct bp_cli_command bp_cmd_fleet_rollback;
extern const struct bp_cli_command bp_cmd_fleet_status;
extern const struct bp_cli_command bp_cmd_fleet_members;
extern const struct bp_cli_command bp_cmd_fleet_diff;
extern const struct bp_cli_command bp_cmd_fleet_keygen;
extern const struct bp_cli_command bp_cmd_fleet_ready;
extern const struct bp_cli_command bp_cmd_doctor;
extern const struct bp_cli_command bp_cmd_capabilities;
extern const struct bp_cli_command bp_cmd_clean;
extern const struct bp_cli_command bp_cmd_help;
extern const struct bp_cli_command bp_cmd_version;
extern const struct bp_cli_command bp_cmd_completion;
extern const struct bp_cli_command bp_cmd_complete;

#endif
