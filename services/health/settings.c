/* SPDX-License-Identifier: BSD-3-Clause */
#include "services/health/settings.h"

#include <string.h>

#include "services/health/layout.h"
#include "proto/health/onem2m.h"

_Static_assert((int)BP_PHD_RELEASE_1 == (int)BP_M2M_R1 && (int)BP_PHD_RELEASE_2 == (int)BP_M2M_R2 &&
		       (int)BP_PHD_RELEASE_2A == (int)BP_M2M_R2A &&
		       (int)BP_PHD_RELEASE_3 == (int)BP_M2M_R3 &&
		       (int)BP_PHD_RELEASE_4 == (int)BP_M2M_R4 &&
		       (int)BP_PHD_RELEASE_5 == (int)BP_M2M_R5,
	"the file's releases are oneM2M's");

/* IPv4 as ::ffff:a.b.c.d */
static void mapped(uint8_t out[16], const struct bp_address *a)
{
	static const uint8_t prefix[12] = {[10] = 0xff, 0xff};

	if (a->family == 4) {
		memcpy(out, prefix, sizeof(prefix));
		memcpy(out + sizeof(prefix), a->bytes, 4);
	} else {
		memcpy(out, a->bytes, 16);
	}
}

void bp_phd_settings_init(
	struct bp_phd_settings *out, const struct bp_config_phd *c, const struct bp_address *source)
{
	const struct bp_config_phd_cse *cse = &c->cse;
	const struct bp_phd_target target = {cse->path, cse->originator};

	memset(out, 0, sizeof(*out));
	mapped(out->cse, &cse->coap_address);
	mapped(out->source, source);
	out->cse_port = cse->coap_port;
	out->listen_udp = c->listen_udp_port;
	out->ports_first = cse->source_ports[0];
	out->ports_last = cse->source_ports[1];
	out->max_message = cse->max_body_size + BP_PHD_REQUEST_HEAD;
	out->unknown_sessions = c->limits.unknown_report_rate;
	out->family = cse->coap_address.family;
	out->release = cse->release;
	out->confirm = c->ack;
	out->per_report = c->content_instance_per == BP_PHD_INSTANCES_REPORT;
	out->named = cse->name_instances;
	out->con = cse->confirmable;
	out->hash = bp_phd_target_hash(out, &target);
}

void bp_phd_own_system_id(uint8_t out[8], const struct bp_config_phd *c, const uint8_t mac[6])
{
	if (c->has_system_id) {
		memcpy(out, c->system_id, 8);
		return;
	}
	memcpy(out, mac, 3);
	out[3] = 0xff;
	out[4] = 0xfe;
	memcpy(out + 5, mac + 3, 3);
}
