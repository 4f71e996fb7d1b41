/* SPDX-License-Identifier: BSD-3-Clause */
#include "config/schema_rows.h"
#include "config/health/schema.h"

#define AT(member_) IN(bp_config_phd, member_)

/* The rows of section health_devices. */

static const char *const ack_names[] = {"stored", "forwarded", NULL};
static const char *const instances_names[] = {"object", "report", NULL};
static const char *const binding_names[] = {"", "coap", "http", NULL};
static const char *const release_names[] = {"1", "2", "2a", "3", "4", "5", NULL};

static bool has_http(const void *base)
{
	return ((const struct bp_config_phd *)base)->cse.http_port != 0;
}

/* clang-format off */
static const struct bp_setting rows[] = {
	{.path = "health_devices", .type = &bp_type_section, GIVEN(bp_config_phd, enabled), .check = bp_check_phd,
	 .help = "Personal health devices: biplane is their manager (ISO/IEEE 11073-20601), and their measurements become content instances of a oneM2M CSE. Without this section their packets are forwarded normally."},
	{.path = "health_devices.listen", .type = &bp_type_section,
	 .help = "Ports where devices connect, on every address of routed ports and of bridges' host interfaces."},
	{.path = "health_devices.listen.udp_port", .type = &bp_type_uint, AT(listen_udp_port), .min = 1, .max = 65535, .zero = "off", .preset = "6024",
	 .help = "UDP port, one APDU in a datagram."},
	{.path = "health_devices.listen.tcp_port", .type = &bp_type_uint, AT(listen_tcp_port), .min = 1, .max = 65535, .zero = "off", .preset = "6024",
	 .help = "TCP port. The control plane serves devices that connect by TCP."},
	{.path = "health_devices.max_sessions", .type = &bp_type_uint, .flags = BP_MAIN, AT(max_sessions), .min = 16, .max = 4194304, .preset = "65536",
	 .help = "Maximum number of associated devices; further ones are rejected as transient and counted. Each takes 160 bytes of shared memory."},
	{.path = "health_devices.max_configurations", .type = &bp_type_uint, AT(max_configurations), .min = 16, .max = 4096, .preset = "1024",
	 .help = "Maximum number of different configurations of associated devices. Devices with the same configuration share one."},
	{.path = "health_devices.system_id", .type = &bp_type_system_id, AT(system_id), GIVEN(bp_config_phd, has_system_id), .preset_text = "derived from the MAC address of the first routed port",
	 .help = "System-id (EUI-64) of the manager."},
	{.path = "health_devices.ack", .type = &bp_type_enum, AT(ack), .flags = BP_MAIN | BP_RELOAD, .enum_names = ack_names, .preset = "stored",
	 .help = "When a confirmed report is acknowledged: stored, after the CSE acknowledged it, so that no acknowledged measurement is lost; forwarded, immediately."},
	{.path = "health_devices.content_instance_per", .type = &bp_type_enum, AT(content_instance_per), .enum_names = instances_names, .preset = "object",
	 .help = "object: one content instance for each measured object. report: one for all objects of a report, with {object} replaced by report."},
	{.path = "health_devices.allow", .type = &bp_type_system_ids, AT(allow), .flags = BP_MAIN | BP_RELOAD, .max = BP_PHD_ALLOW_MAX, GIVEN(bp_config_phd, has_allow), .preset_text = "none: every device may associate",
	 .help = "System-ids that may associate; others are rejected as unauthorized. The protocol has no authentication: a host that spoofs a device's address can send in its name."},
	{.path = "health_devices.allow_file", .type = &bp_type_string, AT(allow_file), .flags = BP_RELOAD, .min = 1, .preset_text = "none",
	 .help = "File with further system-ids that may associate, one in a line; # begins a comment. With a file and without allow, only devices in the file may associate. A reload reads the file again and is refused if the file cannot be read or has an invalid line."},
	{.path = "health_devices.limits", .type = &bp_type_section,
	 .help = "Limits of one sender and of all senders. Excess is counted by reason."},
	{.path = "health_devices.limits.sessions_per_address", .type = &bp_type_uint, AT(limits.sessions_per_address), .flags = BP_RELOAD, .min = 1, .max = 4194304, .preset = "1024",
	 .help = "Maximum number of associated devices with one IP address, and of TCP connections from one."},
	{.path = "health_devices.limits.association_rate", .type = &bp_type_uint, AT(limits.association_rate), .flags = BP_RELOAD, .min = 1, .max = 1000000, .preset = "20000",
	 .help = "Maximum rate of accepted associations, 1/s; the burst is a tenth of it."},
	{.path = "health_devices.limits.unknown_report_rate", .type = &bp_type_uint, AT(limits.unknown_report_rate), .flags = BP_RELOAD, .max = 1000000, .preset = "1000",
	 .help = "Maximum rate of answers to reports without an association, 1/s, over all workers. The answer makes the device associate again; reports above the rate are dropped."},
	{.path = "health_devices.limits.max_pending_reports", .type = &bp_type_uint, AT(limits.max_pending_reports), .min = 16, .max = 65536, .preset = "4096",
	 .help = "Maximum number of reports that wait for the CSE in the control plane; further ones are answered so that the device repeats them."},
	{.path = "health_devices.idle_timeout", .type = &bp_type_duration, AT(idle_timeout_ns), .flags = BP_MAIN | BP_RELOAD, .min = 60 * S, .max = 3650 * DAY, .zero = "off", .preset = "off",
	 .help = "Time without a report after which an association is aborted. off: never, as in the standard."},
	{.path = "health_devices.timeouts", .type = &bp_type_section,
	 .help = "Response times of a device, after which its association is aborted."},
	{.path = "health_devices.timeouts.config", .type = &bp_type_duration, AT(timeouts.config_ns), .flags = BP_RELOAD, .min = 100 * MS, .max = HOUR, .preset = "10s",
	 .help = "Timeout for the device's configuration, if it is not known."},
	{.path = "health_devices.timeouts.service", .type = &bp_type_duration, AT(timeouts.service_ns), .flags = BP_RELOAD, .min = 100 * MS, .max = HOUR, .preset = "3s",
	 .help = "Timeout for the response to a request of the manager."},
	{.path = "health_devices.timeouts.release", .type = &bp_type_duration, AT(timeouts.release_ns), .flags = BP_RELOAD, .min = 100 * MS, .max = HOUR, .preset = "3s",
	 .help = "Timeout for the response to the manager's release request."},
	{.path = "health_devices.store", .type = &bp_type_section,
	 .help = "Database of associations and configurations, which survive a restart."},
	{.path = "health_devices.store.path", .type = &bp_type_string, AT(store_path), .min = 1, .preset_text = "/var/lib/biplane/NAME.health.db, where NAME is the name of the instance",
	 .help = "Path of the database file."},
	{.path = "health_devices.cse", .type = &bp_type_section, .flags = BP_REQUIRED,
	 .help = "oneM2M CSE that receives the measurements."},
	{.path = "health_devices.cse.coap", .type = &bp_type_coap_url, AT(cse), .flags = BP_REQUIRED,
	 .help = "CoAP endpoint of the CSE; the default port is 5683."},
	{.path = "health_devices.cse.http", .type = &bp_type_http_url, AT(cse), .present = has_http, .preset_text = "none",
	 .help = "HTTP endpoint of the CSE, without TLS; the default port is 80. It is used for provision only; measurements are sent by CoAP."},
	{.path = "health_devices.cse.provision", .type = &bp_type_enum, AT(cse.provision), .enum_names = binding_names, .preset_text = "http if cse.http is given, else coap",
	 .help = "Protocol that creates and retrieves AEs and containers."},
	{.path = "health_devices.cse.originator", .type = &bp_type_originator, AT(cse.originator), .min = 2, .max = 64, .preset = "Cbiplane",
	 .help = "Originator of requests. With {system_id} each device is an originator and registers its own AE, so that the AE in cse.path needs {system_id} as well; otherwise biplane is the only originator and grants itself write access for the devices."},
	{.path = "health_devices.cse.path", .type = &bp_type_resource_path, AT(cse.path), .min = 3, .max = 200, .preset = "cse-in/{system_id}/{object}",
	 .help = "Container of the content instances: the CSE's name, the device's AE and its containers. Placeholders: {system_id}, 16 hexadecimal digits; {type}, such as pulse_oximeter; {object}, such as spo2. {system_id} is required, so that devices do not share containers; without it in the AE, devices share the AE."},
	{.path = "health_devices.cse.release", .type = &bp_type_enum, AT(cse.release), .enum_names = release_names, .preset = "4",
	 .help = "oneM2M release of requests and CoAP options. Releases 1 and 2 have other option numbers and do not announce the release."},
	{.path = "health_devices.cse.confirmable", .type = &bp_type_bool, .flags = BP_MAIN, AT(cse.confirmable), .preset = "true",
	 .help = "Whether CoAP requests are confirmable (CON) or not (NON)."},
	{.path = "health_devices.cse.source_ports", .type = &bp_type_port_range, AT(cse.source_ports), .min = 1024, .max = 65535, .preset = "20000-29999",
	 .help = "Source UDP ports of requests, divided among the workers. A port does not repeat a message ID within 247 s, which allows 264 requests/s for each port."},
	{.path = "health_devices.cse.max_body_size", .type = &bp_type_uint, AT(cse.max_body_size), .min = 64, .max = 4000, .preset = "1024",
	 .help = "Maximum size of a content instance's representation, bytes. Larger ones are sent by the control plane, or the report is answered with an error."},
	{.path = "health_devices.cse.name_instances", .type = &bp_type_bool, AT(cse.name_instances), .preset = "true",
	 .help = "Whether content instances are named, so that a repeated one is a conflict and is not stored twice."},
	{.path = "health_devices.cse.max_instances", .type = &bp_type_uint, .flags = BP_MAIN, AT(cse.max_instances), .min = 1, .max = 1000000, .zero = "unlimited", .preset = "unlimited",
	 .help = "Maximum number of content instances in a container. unlimited: the CSE's own limit."},
	{.path = "health_devices.cse.max_inflight", .type = &bp_type_uint, AT(cse.max_inflight), .min = 1, .max = 256, .preset = "8",
	 .help = "Maximum number of unanswered requests for resources of devices. Reports that the control plane sends have 256 of their own."},
	{.path = "health_devices.cse.max_retry_interval", .type = &bp_type_duration, AT(cse.max_retry_interval_ns), .min = S, .max = HOUR, .preset = "60s",
	 .help = "Maximum interval between attempts while the CSE is unreachable."},
};
/* clang-format on */

BP_SCHEMA_PART(bp_schema_phd, rows);
