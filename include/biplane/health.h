/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BIPLANE_HEALTH_H
#define BIPLANE_HEALTH_H

#include <stdbool.h>
#include <stdint.h>

#include "biplane/fib.h"

/* What the configuration says of personal health devices (ISO/IEEE 11073-20601) and of the CSE that
 * their measurements go to: section phd. */
enum bp_phd_confirm { BP_PHD_CONFIRM_STORED, BP_PHD_CONFIRM_FORWARDED };
enum bp_phd_instances { BP_PHD_INSTANCES_OBJECT, BP_PHD_INSTANCES_REPORT };
enum bp_phd_binding { BP_PHD_BINDING_AUTO, BP_PHD_BINDING_COAP, BP_PHD_BINDING_HTTP };
enum bp_phd_message { BP_PHD_MESSAGE_CON, BP_PHD_MESSAGE_NON };
/* How the words of phd.cse.release stand in the schema; proto/health/onem2m.h numbers them the
 * same. */
enum bp_phd_release {
	BP_PHD_RELEASE_1,
	BP_PHD_RELEASE_2,
	BP_PHD_RELEASE_2A,
	BP_PHD_RELEASE_3,
	BP_PHD_RELEASE_4,
	BP_PHD_RELEASE_5,
};

struct bp_config_phd_cse {
	struct bp_address address;
	uint16_t coap;       /* UDP port */
	uint16_t http;       /* TCP port; 0: none */
	uint8_t provision;   /* enum bp_phd_binding, never AUTO in a configuration that was read */
	uint8_t release;     /* enum bp_phd_release */
	uint8_t message;     /* enum bp_phd_message */
	bool name_instances; /* so that a second create is a conflict */
	char originator[65]; /* a template, as path */
	char path[201];      /* {system_id}, {type} and {object} stand for the session's */
	uint16_t source_ports[2]; /* the first and the last */
	uint32_t max_body;        /* bytes of one instance's payload */
	uint32_t keep;            /* instances that a container keeps; 0: as the CSE likes */
	uint32_t outstanding;     /* the control plane's requests at one time */
	uint64_t retry_max_ns;    /* longest pause between tries while the CSE is away */
};

struct bp_config_phd_ids {
	uint32_t n;
	uint8_t (*id)[8]; /* ascending; owned by the configuration */
};

struct bp_config_phd {
	bool enabled;                    /* the file has a phd section */
	uint16_t listen_udp, listen_tcp; /* ports; 0: off */
	uint32_t sessions, layouts;      /* capacities */
	bool has_system_id;              /* else of the first routed port's MAC */
	uint8_t system_id[8];            /* the manager's own EUI-64 */
	uint8_t confirm;                 /* enum bp_phd_confirm */
	uint8_t instances;               /* enum bp_phd_instances */
	bool has_allow; /* the file has a list `allow`; see bp_config_phd_restricted() */
	struct bp_config_phd_ids allow;
	char allow_file[512]; /* as bp_config_phd_ids_parse() reads it; "" : none */
	struct {
		uint32_t per_address;  /* sessions of one address */
		uint32_t associations; /* AARQs a second */
		uint32_t strays;  /* reports without a session a second that are answered with ABRT,
				     over all workers */
		uint32_t pending; /* slow reports that wait for the CSE */
	} limits;
	uint64_t idle_ns; /* a session that reported nothing for so long ends; 0: never */
	struct {
		uint64_t config_ns, service_ns, release_ns;
	} timeouts;
	char store_path[512];
	struct bp_config_phd_cse cse;
};

#endif
