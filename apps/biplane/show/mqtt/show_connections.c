/* SPDX-License-Identifier: BSD-3-Clause */
#include <string.h>

#include "apps/biplane/show/show.h"
#include "apps/biplane/table.h"
#include "apps/biplane/text.h"
#include "proto/tls/tls.h"
#include "services/mqtt/flow_show.h"

struct walk {
	const struct bp_shm *shm;
	json_t *list;
	uint64_t limit, total;
};

/* "100" or "100.20" for QinQ; null without a tag. */
static json_t *vlan(const struct bp_flow_view *v)
{
	char text[16];

	if (!v->vlan_outer && !v->vlan_inner)
		return json_null();
	if (v->vlan_inner)
		snprintf(text, sizeof(text), "%u.%u", v->vlan_outer, v->vlan_inner);
	else
		snprintf(text, sizeof(text), "%u", v->vlan_outer);
	return json_string(text);
}

/* MQTT's names for its protocol levels. */
static json_t *version(uint8_t level)
{
	switch (level) {
	case 3:
		return json_string("3.1");
	case 4:
		return json_string("3.1.1");
	case 5:
		return json_string("5.0");
	default:
		return json_null();
	}
}

static json_t *names(const char *const *name)
{
	json_t *list = json_array();

	for (; *name != NULL; name++)
		json_array_append_new(list, json_string(*name));
	return list;
}

static json_t *text(const struct bp_tls_info *names, enum bp_tls_name which)
{
	const struct bp_tls_text *t = &names->text[which];

	return t->len == 0 ? json_null() : bp_text_json((const char *)t->bytes, t->len);
}

static json_t *tls(const struct walk *w, const struct bp_flow_view *v)
{
	struct bp_tls_info names;

	if (!bp_flow_tls(v, w->shm->reassembly, w->shm->reassembly_len, w->shm->workers, &names))
		return json_null();
	return json_pack("{so so so so}", "server_name", text(&names, BP_TLS_SERVER_NAME), "alpn",
		text(&names, BP_TLS_ALPN), "certificate", text(&names, BP_TLS_SUBJECT),
		"certificate_names", text(&names, BP_TLS_NAMES));
}

static int visit(const struct bp_flow_view *v, void *arg)
{
	struct walk *w = arg;
	char client[BP_TEXT_ADDRESS], broker[BP_TEXT_ADDRESS], id[65];

	w->total++;
	if (w->limit && w->total > w->limit)
		return 0; /* still counted */
	bp_flow_client_id(
		v, w->shm->reassembly, w->shm->reassembly_len, w->shm->workers, id, sizeof(id));
	bp_text_address(v->client_ip, v->ip6, v->client_port, client);
	bp_text_address(v->broker_ip, v->ip6, v->broker_port, broker);

	json_t *row = json_pack("{ss ss so ss so so so ss ss ss ss so sb sb sI sI sI si}", "client",
		client, "broker", broker, "vlan", vlan(v), "transport", v->transport, "tls",
		tls(w, v), "version", version(v->version), "client_id",
		bp_text_json(id, sizeof(id)), "state", v->connection, "to_broker", v->to_broker,
		"from_broker", v->from_broker, "not_inspected_reason", v->not_inspected_reason,
		"suspicious", names(v->suspicious), "awaits_ack", v->awaits_ack, "adopted",
		v->adopted, "publishes", (json_int_t)v->publishes, "reassembly_bytes",
		(json_int_t)v->carried_bytes, "idle_ms", (json_int_t)v->idle_ms, "worker",
		(int)v->worker);

	if (v->network[0] != '\0')
		json_object_set_new(row, "network", bp_text_json(v->network, sizeof(v->network)));
	return json_array_append_new(w->list, row) ? 1 : 0;
}

static json_t *collect(const struct bp_show_source *s, char *err, size_t err_size)
{
	struct walk w = {.shm = s->shm, .list = json_array(), .limit = s->limit};
	int rc = 0;

	/* a configuration without an mqtt section has no such table */
	if (s->shm->flows_len)
		rc = bp_flow_visit(
			s->shm->flows, s->shm->flows_len, s->shm->workers, s->mono_ns, visit, &w);
	if (rc) {
		snprintf(err, err_size, "%s",
			rc < 0 ? "the flow table in the segment is damaged or not set up yet"
			       : "not enough memory; ask for fewer connections with -n");
		json_decref(w.list);
		return NULL;
	}
	return json_pack("{sI so}", "total", (json_int_t)w.total, "connections", w.list);
}

/* Whether a connection is not of the main network: most gateways have no other. */
static bool has_networks(const json_t *flows)
{
	for (size_t i = 0; i < json_array_size(flows); i++)
		if (json_object_get(json_array_get(flows, i), "network") != NULL)
			return true;
	return false;
}

static void print(const json_t *view, bool all, FILE *out)
{
	static const struct bp_column columns[] = {
		{"network", "NETWORK", 0},
		{"client", "CLIENT", 0},
		{"broker", "BROKER", 0},
		{"vlan", "VLAN", 0},
		{"transport", "TRANSPORT", 0},
		{"version", "MQTT", 0},
		{"client_id", "CLIENT-ID", 0},
		{"state", "STATE", 0},
		{"to_broker", "TO-BROKER", 0},
		{"from_broker", "FROM-BROKER", 0},
		{"not_inspected_reason", "REASON", 0},
		{"publishes", "PUBLISHES", 1},
		{"reassembly_bytes", "REASSEMBLY-BYTES", 1},
		{"idle_ms", "IDLE-MS", 1},
		{NULL, NULL, 0},
	};
	const json_t *flows = json_object_get(view, "connections");
	json_int_t shown = (json_int_t)json_array_size(flows), total = bp_show_int(view, "total");

	(void)all;
	bp_table_print(
		out, has_networks(flows) ? columns : columns + 1, flows, "no MQTT connections");
	if (shown < total)
		fprintf(out,
			"\n%" JSON_INTEGER_FORMAT " of %" JSON_INTEGER_FORMAT
			" connections; -n 0 shows all\n",
			shown, total);
}

const struct bp_show_view bp_show_connections = {
	.name = "connections",
	.summary = "the tracked MQTT connections",
	.default_limit = 100,
	.collect = collect,
	.print = print,
};
