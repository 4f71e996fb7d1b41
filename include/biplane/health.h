/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BIPLANE_HEALTH_H
#define BIPLANE_HEALTH_H

#include <stdbool.h>
#include <stdint.h>

#include "biplane/fib.h"

/* The configuration of personal health devices (ISO/IEEE 11073-20601) and of the CSE that receives
 * their measurements: section health_devices. */
enum bp_phd_confirm { BP_PHD_CONFIRM_STORED, BP_PHD_CONFIRM_FORWARDED };
enum bp_phd_instances { BP_PHD_INSTANCES_OBJECT, BP_PHD_INSTANCES_REPORT };
enum bp_phd_binding { BP_PHD_BINDING_AUTO, BP_PHD_BINDING_COAP, BP_PHD_BINDING_HTTP };
/*
 * Values of health_devices.cse.release, in the order of the words in the schema;
 * proto/health/onem2m.h has the same numbers.
 */
enum bp_phd_release {
	BP_PHD_RELEASE_1,
	BP_PHD_RELEASE_2,
	BP_PHD_RELEASE_2A,
	BP_PHD_RELEASE_3,
	BP_PHD_RELEASE_4,
	BP_PHD_RELEASE_5,
};

struct bp_config_phd_cse {
	struct bp_address coap_address, http_address;
	uint16_t coap_port;  /* UDP */
	uint16_t http_port;  /* TCP; 0: no HTTP */
	uint8_t provision;   /* enum bp_phd_binding, never AUTO in a configuration that was read */
	uint8_t release;     /* enum bp_phd_release */
	bool confirmable;    /* CoAP requests are of type CON, not NON */
	bool name_instances; /* so that a second create is a conflict */
	char originator[65]; /* a template, as path */
	/* {system_id}, {type} and {object} are replaced by those of the session */
	char path[201];
	uint16_t source_ports[2];       /* the first and the last */
	uint32_t max_body_size;         /* bytes of one instance's payload */
	uint32_t max_instances;         /* in a container; 0: the CSE's own limit */
	uint32_t max_inflight;          /* requests of the control plane */
	uint64_t max_retry_interval_ns; /* between attempts while the CSE is unreachable */
};

struct bp_config_phd_ids {
	uint32_t n;
	uint8_t (*id)[8]; /* ascending; owned by the configuration */
};

struct bp_config_phd {
	bool enabled;                              /* the file has the section */
	uint16_t listen_udp_port, listen_tcp_port; /* 0: off */
	uint32_t max_sessions, max_configurations;
	bool has_system_id;           /* else of the first routed port's MAC */
	uint8_t system_id[8];         /* the manager's own EUI-64 */
	uint8_t ack;                  /* enum bp_phd_confirm */
	uint8_t content_instance_per; /* enum bp_phd_instances */
	bool has_allow; /* the file has a list `allow`; see bp_config_phd_restricted() */
	struct bp_config_phd_ids allow;
	char allow_file[512]; /* as bp_config_phd_ids_parse() reads it; "" : none */
	struct {
		uint32_t sessions_per_address;
		uint32_t association_rate;    /* AARQs a second */
		uint32_t unknown_report_rate; /* reports without a session a second that are
						 answered with ABRT, over all workers */
		uint32_t max_pending_reports; /* slow ones that wait for the CSE */
	} limits;
	uint64_t idle_timeout_ns; /* of a session without reports; 0: none */
	struct {
		uint64_t config_ns, service_ns, release_ns;
	} timeouts;
	char store_path[512];
	struct bp_config_phd_cse cse;
};

#endif
