/* SPDX-License-Identifier: BSD-3-Clause */
#include "apps/biplane/capture/trace_explain.h"

#include <string.h>
#include <time.h>

#include "apps/biplane/show/show.h"
#include "apps/biplane/text.h"
#include "proto/net/frame.h"
#include "proto/net/ip.h"
#include "services/mqtt/flow_show.h"

/* The destination address; false: no whole IP header. */
static bool destination(const uint8_t *data, uint32_t n, struct bp_address *to)
{
	struct bp_frame f;

	memset(to, 0, sizeof(*to));
	if (bp_frame_link(data, n, &f) != BP_FRAME_TCP || n < f.l3 + BP_IP4_HDR)
		return false;
	if (data[f.l3] >> 4 == 4) {
		to->family = 4;
		memcpy(to->bytes, data + f.l3 + BP_IP4_DST, 4);
		return true;
	}
	if (data[f.l3] >> 4 != 6 || n < f.l3 + BP_IP6_HDR)
		return false;
	to->family = 6;
	memcpy(to->bytes, data + f.l3 + BP_IP6_DST, 16);
	return true;
}

json_t *bp_trace_route(const struct bp_shm *shm, const uint8_t *data, uint32_t n)
{
	struct bp_show_source s = {.shm = shm};
	char err[256];

	return destination(data, n, &s.address) ? bp_show_lookup(&s, err, sizeof(err)) : NULL;
}

static const char *text_of(const json_t *object, const char *name)
{
	return json_string_value(json_object_get(object, name));
}

void bp_trace_route_print(const json_t *route, FILE *out)
{
	const char *text = text_of(route, "route_text");
	const json_t *hop;
	size_t i;

	if (route == NULL)
		return;
	fprintf(out, "      route of %s: %s\n", text_of(route, "address"),
		text != NULL ? text : "none");
	json_array_foreach(json_object_get(route, "nexthops"), i, hop)
	{
		const char *action = text_of(hop, "action"), *reason = text_of(hop, "reason"),
			   *via = text_of(hop, "via"), *dev = text_of(hop, "dev"),
			   *mac = text_of(hop, "lladdr");

		fprintf(out, "      next hop: %s%s%s%s%s%s%s%s%s\n",
			action != NULL ? action : "unknown", reason != NULL ? ", " : "",
			reason != NULL ? reason : "", via != NULL ? " via " : "",
			via != NULL ? via : "", dev != NULL ? " dev " : "", dev != NULL ? dev : "",
			mac != NULL ? " lladdr " : "", mac != NULL ? mac : "");
	}
}

/* ---- connections ---- */

struct search {
	struct bp_frame f;
	const uint8_t *src, *dst;
	unsigned address_len;
	const struct bp_shm *shm;
	unsigned worker;
	json_t *found;
};

/* Whether the view has these ends. */
static bool has_ends(const struct search *s, const struct bp_flow_view *v, bool from_client)
{
	const uint8_t *client = from_client ? s->src : s->dst,
		      *broker = from_client ? s->dst : s->src;

	return v->client_port == (from_client ? s->f.sport : s->f.dport) &&
	       v->broker_port == (from_client ? s->f.dport : s->f.sport) &&
	       memcmp(v->client_ip, client, s->address_len) == 0 &&
	       memcmp(v->broker_ip, broker, s->address_len) == 0;
}

static int visit(const struct bp_flow_view *v, void *arg)
{
	struct search *s = arg;
	char client[BP_TEXT_ADDRESS], broker[BP_TEXT_ADDRESS], id[65];

	if (v->ip6 != s->f.ip6 || v->worker != s->worker || v->network_number != s->f.network ||
		v->vlan_outer != s->f.vlan_outer || v->vlan_inner != s->f.vlan_inner ||
		(!has_ends(s, v, true) && !has_ends(s, v, false)))
		return 0;
	bp_text_address(v->client_ip, v->ip6, v->client_port, client);
	bp_text_address(v->broker_ip, v->ip6, v->broker_port, broker);
	bp_flow_client_id(
		v, s->shm->reassembly, s->shm->reassembly_len, s->shm->workers, id, sizeof(id));
	s->found = json_pack("{ss ss so ss ss ss so}", "client", client, "broker", broker,
		"client_id", id[0] != '\0' ? bp_text_json(id, sizeof(id)) : json_null(),
		"connection", v->connection, "to_broker", v->to_broker, "from_broker",
		v->from_broker, "not_inspected_reason",
		v->unread_reason[0] != '\0'          ? json_string(v->unread_reason)
		: v->not_inspected_reason[0] != '\0' ? json_string(v->not_inspected_reason)
						     : json_null());
	return 1;
}

json_t *bp_trace_connection(const struct bp_shm *shm, unsigned worker,
	const struct bp_trace_step *step, const uint8_t *data)
{
	struct search s = {.shm = shm, .worker = worker};
	struct timespec now;

	/* the rest of the frame may be missing: its length is by the IP header */
	if (bp_frame_parse(data, step->n_bytes, UINT16_MAX, &s.f) != BP_FRAME_TCP ||
		shm->flows == NULL)
		return NULL;
	s.f.network = step->network;
	if (step->subinterface)
		s.f.vlan_outer = 0;
	s.src = data + s.f.l3 + (s.f.ip6 ? BP_IP6_SRC : BP_IP4_SRC);
	s.dst = data + s.f.l3 + (s.f.ip6 ? BP_IP6_DST : BP_IP4_DST);
	s.address_len = s.f.ip6 ? 16 : 4;
	clock_gettime(CLOCK_MONOTONIC, &now);
	bp_flow_visit(shm->flows, shm->flows_len, shm->workers,
		(uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec, visit, &s);
	return s.found;
}

void bp_trace_connection_print(const json_t *connection, FILE *out)
{
	const char *reason = text_of(connection, "not_inspected_reason");
	const char *id = text_of(connection, "client_id");

	if (connection == NULL)
		return;
	fprintf(out, "      connection %s", text_of(connection, "client"));
	if (id != NULL) {
		fputs(" of client ", out);
		bp_text_print_safe(id, out);
	}
	fprintf(out, " to %s: %s; to broker %s, from broker %s%s%s\n",
		text_of(connection, "broker"), text_of(connection, "connection"),
		text_of(connection, "to_broker"), text_of(connection, "from_broker"),
		reason != NULL ? "; not inspected: " : "", reason != NULL ? reason : "");
}
