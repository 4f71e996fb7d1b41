/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_APPS_BIPLANE_COMMANDS_H
#define BP_APPS_BIPLANE_COMMANDS_H

#include "apps/biplane/cli.h"

/* One a file, cmd_NAME.c. */
extern const struct bp_cli_command bp_cmd_run;
extern const struct bp_cli_command bp_cmd_dataplane;
extern const struct bp_cli_command bp_cmd_controlplane;
extern const struct bp_cli_command bp_cmd_check;
extern const struct bp_cli_command bp_cmd_doctor;
extern const struct bp_cli_command bp_cmd_replay;
extern const struct bp_cli_command bp_cmd_show;
extern const struct bp_cli_command bp_cmd_status;
extern const struct bp_cli_command bp_cmd_reload;
extern const struct bp_cli_command bp_cmd_sessions;
extern const struct bp_cli_command bp_cmd_transform;
extern const struct bp_cli_command bp_cmd_matrix;
extern const struct bp_cli_command bp_cmd_privileges;
extern const struct bp_cli_command bp_cmd_clean;

#endif
