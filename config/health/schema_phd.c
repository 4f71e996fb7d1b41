/* SPDX-License-Identifier: BSD-3-Clause */
#include "config/schema_rows.h"
#include "config/health/schema.h"

#define AT(member_) IN(bp_config_phd, member_)

/* The rows of section phd. */

static const char *const confirm_words[] = {"stored", "forwarded", NULL};
static const char *const instances_words[] = {"object", "report", NULL};
static const char *const binding_words[] = {"", "coap", "http", NULL};
static const char *const release_words[] = {"1", "2", "2a", "3", "4", "5", NULL};
static const char *const message_words[] = {"con", "non", NULL};

static bool has_http(const void *base)
{
	return ((const struct bp_config_phd *)base)->cse.http != 0;
}

/* clang-format off */
static const struct bp_setting rows[] = {
	{.path = "phd", .type = &bp_type_section, GIVEN(bp_config_phd, enabled), .check = bp_check_phd,
	 .help = "Personal health devices: biplane is their manager by ISO/IEEE 11073-20601, and what they measure becomes content instances of a oneM2M CSE. Without this section they are forwarded as everything else."},
	{.path = "phd.listen", .type = &bp_type_section,
	 .help = "Where devices reach it: these ports of every address of a port that routes or of a bridge's host."},
	{.path = "phd.listen.udp", .type = &bp_type_uint, AT(listen_udp), .flags = BP_OR_ZERO, .min = 1, .max = 65535, .preset = "6024",
	 .help = "The UDP port, one APDU a datagram; 0: none."},
	{.path = "phd.listen.tcp", .type = &bp_type_uint, AT(listen_tcp), .flags = BP_OR_ZERO, .min = 1, .max = 65535, .preset = "6024",
	 .help = "The TCP port; 0: none. Devices that come by TCP are served by the control plane."},
	{.path = "phd.sessions", .type = &bp_type_uint, AT(sessions), .min = 16, .max = 4194304, .preset = "65536",
	 .help = "Devices that may be associated at one time; more are rejected as transient and counted. Each takes 160 bytes of the segment."},
	{.path = "phd.layouts", .type = &bp_type_uint, AT(layouts), .min = 16, .max = 4096, .preset = "1024",
	 .help = "Different configurations that associated devices may have; those that have the same share one."},
	{.path = "phd.system_id", .type = &bp_type_system_id, AT(system_id), GIVEN(bp_config_phd, has_system_id), .preset_note = "made of the MAC address of the first port that routes",
	 .help = "biplane's own system-id (EUI-64), which it tells devices."},
	{.path = "phd.confirm", .type = &bp_type_enum, AT(confirm), .flags = BP_RELOAD, .words = confirm_words, .preset = "stored",
	 .help = "When the response to a confirmed report is sent: stored waits for the CSE's acknowledgement, so that nothing is lost that a device was told is taken; forwarded sends it at once."},
	{.path = "phd.instances", .type = &bp_type_enum, AT(instances), .words = instances_words, .preset = "object",
	 .help = "object makes a content instance of each measured object, report one of all objects of a report, for which {object} is report."},
	{.path = "phd.allow", .type = &bp_type_system_ids, AT(allow), .flags = BP_RELOAD, .max = BP_PHD_ALLOW_MAX, GIVEN(bp_config_phd, has_allow), .preset_note = "none: every device may associate",
	 .help = "The devices that may associate; others are rejected as unauthorized. The standard has no authentication: who can send with a device's address can send in its name."},
	{.path = "phd.allow_file", .type = &bp_type_string, AT(allow_file), .flags = BP_RELOAD, .min = 1, .preset_note = "none",
	 .help = "A file of such devices, beside those of allow, one a line; what follows a # is a comment. Also without allow all others are rejected. A reload reads it anew; one that can't be read, or has a line that is no system-id, is refused."},
	{.path = "phd.limits", .type = &bp_type_section,
	 .help = "What one sender, or all, may take. What is over a limit is counted by its reason."},
	{.path = "phd.limits.per_address", .type = &bp_type_uint, AT(limits.per_address), .flags = BP_RELOAD, .min = 1, .max = 4194304, .preset = "1024",
	 .help = "Devices that may be associated from one IP address, and TCP connections that may come from one."},
	{.path = "phd.limits.associations", .type = &bp_type_uint, AT(limits.associations), .flags = BP_RELOAD, .min = 1, .max = 1000000, .preset = "20000",
	 .help = "Associations accepted each second, a tenth of them at once."},
	{.path = "phd.limits.strays", .type = &bp_type_uint, AT(limits.strays), .flags = BP_RELOAD, .max = 1000000, .preset = "1000",
	 .help = "Reports a second, over all workers, that belong to no association and are answered, so that the device associates anew; more are dropped."},
	{.path = "phd.limits.pending", .type = &bp_type_uint, AT(limits.pending), .min = 16, .max = 65536, .preset = "4096",
	 .help = "Reports that may wait in the control plane for the CSE; more are answered so that the device repeats them."},
	{.path = "phd.idle", .type = &bp_type_duration, AT(idle_ns), .flags = BP_RELOAD | BP_OR_ZERO, .min = 60 * S, .max = 3650 * DAY, .preset = "0",
	 .help = "An association without a report for so long is aborted; 0: it never is, as the standard has it."},
	{.path = "phd.timeouts", .type = &bp_type_section,
	 .help = "How long a device may take before its association is aborted."},
	{.path = "phd.timeouts.config", .type = &bp_type_duration, AT(timeouts.config_ns), .flags = BP_RELOAD, .min = 100 * MS, .max = HOUR, .preset = "10s",
	 .help = "For its configuration, when that is not known."},
	{.path = "phd.timeouts.service", .type = &bp_type_duration, AT(timeouts.service_ns), .flags = BP_RELOAD, .min = 100 * MS, .max = HOUR, .preset = "3s",
	 .help = "For the answer to a question of biplane."},
	{.path = "phd.timeouts.release", .type = &bp_type_duration, AT(timeouts.release_ns), .flags = BP_RELOAD, .min = 100 * MS, .max = HOUR, .preset = "3s",
	 .help = "For the answer to biplane's wish to end the association."},
	{.path = "phd.store", .type = &bp_type_section,
	 .help = "The file that keeps associations and configurations, so that devices go on measuring after a restart."},
	{.path = "phd.store.path", .type = &bp_type_string, AT(store_path), .min = 1, .preset = "/var/lib/biplane/phd.db",
	 .help = "The file. Each instance needs its own."},
	{.path = "phd.cse", .type = &bp_type_section, .flags = BP_REQUIRED,
	 .help = "The oneM2M CSE that gets the measurements."},
	{.path = "phd.cse.address", .type = &bp_type_address, AT(cse.address), .flags = BP_REQUIRED,
	 .help = "Its address."},
	{.path = "phd.cse.coap", .type = &bp_type_uint, AT(cse.coap), .min = 1, .max = 65535, .preset = "5683",
	 .help = "Its UDP port for CoAP."},
	{.path = "phd.cse.http", .type = &bp_type_uint, AT(cse.http), .min = 1, .max = 65535, .present = has_http, .preset_note = "none",
	 .help = "Its TCP port for HTTP, without TLS. It serves for phd.cse.provision; measurements go by CoAP."},
	{.path = "phd.cse.provision", .type = &bp_type_enum, AT(cse.provision), .words = binding_words, .preset_note = "http where phd.cse.http is given, else coap",
	 .help = "By which of them AEs and containers are made, and found again."},
	{.path = "phd.cse.originator", .type = &bp_type_originator, AT(cse.originator), .min = 2, .max = 64, .preset = "Cbiplane",
	 .help = "In whose name requests are made. With {system_id} in it each device is an originator of its own and registers its own AE, so that the AE in phd.cse.path needs {system_id}, too; else biplane is one, and gives itself the right to write for the devices."},
	{.path = "phd.cse.path", .type = &bp_type_resource_path, AT(cse.path), .min = 3, .max = 200, .preset = "cse-in/{system_id}/{object}",
	 .help = "The container that gets an instance: the CSE's name, the device's AE and its containers. {system_id} stands for 16 hexadecimal digits, {type} for a word such as pulse_oximeter, {object} for one such as spo2. {system_id} must stand in it, or devices would share containers; where the AE is without it, devices share the AE."},
	{.path = "phd.cse.release", .type = &bp_type_enum, AT(cse.release), .words = release_words, .preset = "4",
	 .help = "The oneM2M release that requests name and whose CoAP options are used; those of 1 and 2 have other numbers, and name none."},
	{.path = "phd.cse.message", .type = &bp_type_enum, AT(cse.message), .words = message_words, .preset = "con",
	 .help = "Whether CoAP requests ask for an acknowledgement (con) or not (non)."},
	{.path = "phd.cse.source_ports", .type = &bp_type_port_range, AT(cse.source_ports), .min = 1024, .max = 65535, .preset = "20000-29999",
	 .help = "UDP ports that requests are sent from, shared among the workers. A message id is not used again within 247 s from one port, which allows 264 requests a second for each."},
	{.path = "phd.cse.max_body", .type = &bp_type_uint, AT(cse.max_body), .min = 64, .max = 4000, .preset = "1024",
	 .help = "Bytes of one instance's representation; what would be longer is made by the control plane, or answered as an error."},
	{.path = "phd.cse.name_instances", .type = &bp_type_bool, AT(cse.name_instances), .preset = "true",
	 .help = "Whether instances are given names, so that one that is sent again meets itself and is not stored twice."},
	{.path = "phd.cse.keep", .type = &bp_type_uint, AT(cse.keep), .max = 1000000, .preset = "0",
	 .help = "Instances that a container keeps at most; 0: as many as the CSE likes."},
	{.path = "phd.cse.outstanding", .type = &bp_type_uint, AT(cse.outstanding), .min = 1, .max = 256, .preset = "8",
	 .help = "Requests for the devices' resources that may wait for an answer at one time. Reports that the control plane sends itself have 256 besides."},
	{.path = "phd.cse.retry_max", .type = &bp_type_duration, AT(cse.retry_max_ns), .min = S, .max = HOUR, .preset = "60s",
	 .help = "Longest pause between tries while the CSE is away."},
};
/* clang-format on */

BP_SCHEMA_PART(bp_schema_phd, rows);
