/* SPDX-License-Identifier: BSD-3-Clause */
#include "config/schema_rows.h"

#define AT(member_) IN(bp_config, member_)

/* The rows of section fleet after those of schema_gateway.c: labels and fleet.config. */

static bool has_labels(const void *c)
{
	return ((const struct bp_config *)c)->fleet.labels.n != 0;
}

/* clang-format off */
static const struct bp_setting rows[] = {
	{.path = "fleet.labels", .type = &bp_type_labels, AT(fleet.labels), .flags = BP_RELOAD, .present = has_labels, .preset_text = "none",
	 .help = "Labels of this gateway. A bundle applies to the members whose labels match its selector."},
	{.path = "fleet.config", .type = &bp_type_section, GIVEN(bp_config, fleet.config.given), .check = bp_check_fleet_config,
	 .help = "Settings for groups of gateways from etcd: the agent, biplane fleet agent, checks a signed bundle, replaces the settings of this file by those of the bundle, and reloads the gateway."},
	{.path = "fleet.config.server", .type = &bp_type_etcd, AT(fleet.config.server), .flags = BP_REQUIRED | BP_RELOAD, .min = 1,
	 .help = "Client URLs of the etcd cluster, version 3.4 or later: etcd://HOST:PORT, or etcds://HOST:PORT with TLS; further HOST:PORT of the same cluster follow after commas."},
	{.path = "fleet.config.keys", .type = &bp_type_files, AT(fleet.config.keys), .flags = BP_REQUIRED | BP_RELOAD,
	 .help = "Files with the public Ed25519 keys of the operators, PEM. A bundle that none of them has signed is refused."},
	{.path = "fleet.config.ca_file", .type = &bp_type_string, AT(fleet.config.ca_file), .flags = BP_RELOAD, .min = 1, .preset_text = "the certificates of the system",
	 .help = "Certificates by which the certificate of an etcds:// server is checked, PEM."},
	{.path = "fleet.config.cert_file", .type = &bp_type_string, AT(fleet.config.cert_file), .flags = BP_RELOAD, .min = 1, .preset_text = "none",
	 .help = "Certificate with which this gateway authenticates itself to etcd, PEM."},
	{.path = "fleet.config.key_file", .type = &bp_type_string, AT(fleet.config.key_file), .flags = BP_RELOAD, .min = 1, .preset_text = "none",
	 .help = "Private key of cert_file, PEM. Other users should have no access to it (mode 0640)."},
	{.path = "fleet.config.username", .type = &bp_type_string, AT(fleet.config.username), .flags = BP_RELOAD, .min = 1, .preset_text = "none",
	 .help = "User of etcd."},
	{.path = "fleet.config.password_file", .type = &bp_type_string, AT(fleet.config.password_file), .flags = BP_RELOAD, .min = 1, .preset_text = "none",
	 .help = "File whose first line is the password of username. Other users should have no access to it (mode 0640)."},
	{.path = "fleet.config.trial_time", .type = &bp_type_duration, AT(fleet.config.trial_time_ns), .flags = BP_RELOAD, .min = S, .max = DAY, .preset = "60s",
	 .help = "Time after the reload in which the health of the gateway must not become worse; otherwise the agent restores the previous bundle. The rollout can set another time."},
	{.path = "fleet.config.directory", .type = &bp_type_string, AT(fleet.config.directory), .min = 1, .preset = "/var/lib/biplane-fleet",
	 .help = "Directory in which the agent stores the bundle of this gateway, NAME.yaml, and its own state. The planes read the bundle at their start and at each reload, without etcd."},
};
/* clang-format on */

BP_SCHEMA_PART(bp_schema_fleet, rows);
