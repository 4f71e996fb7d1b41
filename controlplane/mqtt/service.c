/* SPDX-License-Identifier: BSD-3-Clause */
#include "controlplane/service.h"

#include "config/mqtt/settings.h"
#include <inttypes.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

#include "controlplane/alarms/publisher.h"
#include "controlplane/mqtt/alarm_copies.h"
#include "controlplane/mqtt/connections.h"
#include "controlplane/mqtt/rules.h"
#include "controlplane/mqtt/shared_holds.h"
#include "daemon/log.h"
#include "services/mqtt/connection_record.h"

struct mqtt {
	struct bp_plane_context *x;
	struct bp_rules rules;
	struct bp_publisher *publisher;     /* NULL until start() */
	struct bp_alarm_copies *copies;     /* NULL: not shared with a fleet */
	struct bp_connections *connections; /* likewise */
	bool rules_logged;                  /* the first rules are logged */
	uint64_t drain_ns;
	void (*drained)(void *arg); /* after the publisher and the copies */
	void *drained_arg;
};

/* A restarted control plane continues while the data plane forwards, even when another process has
 * the spool; a fault then reports this. */
static int check(
	const struct bp_plane_context *x, const struct bp_config *c, char *err, size_t err_size)
{
	if (c != x->config)
		return bp_publisher_check(bp_config_mqtt(c), err, err_size);
	return x->first_start && bp_publisher_spool_in_use(bp_config_mqtt(c), err, err_size) ? -1
											     : 0;
}

static void *create(struct bp_plane_context *x, char *err, size_t err_size)
{
	struct mqtt *m = calloc(1, sizeof(*m));

	if (m == NULL) {
		snprintf(err, err_size, "no memory for mqtt");
		return NULL;
	}
	m->x = x;
	m->rules.shm = x->shm;
	return m;
}

static bool states_known(void *copies, uint64_t since_ns)
{
	return bp_alarm_copies_states_known(copies, since_ns);
}

static bool states_stored(void *copies, const struct bp_connection_key *k)
{
	return bp_alarm_copies_states_stored(copies, k);
}

static void hold_changed(void *copies, const void *bytes, uint32_t len, uint64_t connection)
{
	bp_shared_holds_report(bp_alarm_copies_holds(copies), bytes, len, connection);
}

static void holds_lost(void *copies, const uint64_t *clients)
{
	bp_shared_holds_lost(bp_alarm_copies_holds(copies), clients);
}

static bool changes_of(void *copies, uint64_t connection, struct bp_hold_changes *out)
{
	return bp_shared_holds_changes(bp_alarm_copies_holds(copies), connection, out);
}

static void changes_written(void *copies, uint64_t connection, uint64_t write, bool stored)
{
	bp_shared_holds_written(bp_alarm_copies_holds(copies), connection, write, stored);
}

static void repeat_holds(void *copies)
{
	bp_shared_holds_repeat(bp_alarm_copies_holds(copies));
}

static void holds_of(void *copies, uint64_t connection, bool exact, struct bp_hold_offers *out)
{
	bp_shared_holds_of(bp_alarm_copies_holds(copies), connection, exact, out);
}

static bool has_record(void *connections, const struct bp_stream_place *p)
{
	return bp_connections_recorded(connections, p);
}

static void share_states(struct bp_connections *connections, struct bp_alarm_copies *copies)
{
	bp_connections_share(connections, &(struct bp_connection_states){.known = states_known,
						  .stored = states_stored,
						  .hold = hold_changed,
						  .holds_lost = holds_lost,
						  .changes = changes_of,
						  .changes_written = changes_written,
						  .repeat = repeat_holds,
						  .holds_of = holds_of,
						  .arg = copies});
	bp_shared_holds_wait_for(bp_alarm_copies_holds(copies), has_record, connections);
}

static int start(void *state, char *err, size_t err_size)
{
	struct mqtt *m = state;
	const bool shared = m->x->fleet != NULL && bp_config_mqtt(m->x->config)->enabled;

	/* reads the rings first */
	if (shared) {
		m->copies = bp_alarm_copies_new(m->x->base, m->x->shm, m->x->rings, m->x->fleet,
			m->x->config, err, err_size);
		if (m->copies == NULL)
			return -1;
	}
	m->publisher = bp_publisher_new(
		m->x->base, m->x->shm, m->x->rings, bp_config_mqtt(m->x->config), err, err_size);
	if (m->publisher == NULL)
		return -1;
	if (!shared)
		return 0;
	bp_alarm_copies_start(m->copies, m->publisher);
	m->connections = bp_connections_new(m->x->base, m->x->shm, m->x->rings, m->x->fleet,
		bp_config_mqtt(m->x->config)->connection_timeout_ns, err, err_size);
	if (m->connections == NULL)
		return -1;
	share_states(m->connections, m->copies);
	return 0;
}

/* The settings were checked before the rules were published; this can fail only when a file has
 * changed since. The link then keeps its settings. */
static void configure(void *state)
{
	struct mqtt *m = state;
	char err[512];

	if (bp_publisher_configure(m->publisher, bp_config_mqtt(m->x->config), err, sizeof(err)) !=
		0)
		bp_log(BP_LOG_ERROR, "%s; the publisher keeps its previous settings", err);
	if (m->connections != NULL)
		bp_connections_configure(
			m->connections, bp_config_mqtt(m->x->config)->connection_timeout_ns);
}

static int tick(void *state, char *err, size_t err_size)
{
	struct mqtt *m = state;

	(void)err;
	(void)err_size;
	if (m->connections != NULL)
		bp_connections_show(m->connections);
	return 0;
}

/* Redis has the states of the last alarms: records that waited for them can be written. */
static void copies_drained(void *state)
{
	struct mqtt *m = state;

	if (m->connections != NULL)
		bp_connections_finish(m->connections);
	m->drained(m->drained_arg);
}

/* The publisher has read the last alarms. */
static void publisher_drained(void *state)
{
	struct mqtt *m = state;

	if (m->copies != NULL)
		bp_alarm_copies_drain(m->copies, m->drain_ns, copies_drained, m);
	else
		m->drained(m->drained_arg);
}

static void drain(void *state, uint64_t wait_ns, void (*done)(void *arg), void *arg)
{
	struct mqtt *m = state;

	m->drain_ns = wait_ns;
	m->drained = done;
	m->drained_arg = arg;

	if (m->connections != NULL)
		bp_connections_finish(m->connections);
	bp_publisher_drain(m->publisher, wait_ns, publisher_drained, m);
}

static void end(void *state)
{
	struct mqtt *m = state;

	bp_alarm_copies_free(m->copies);
	bp_connections_free(m->connections);
	bp_publisher_free(m->publisher);
	bp_rules_discard(&m->rules);
	free(m);
}

static int prepare(void *state, const struct bp_config *c, bool same, char *err, size_t err_size)
{
	struct mqtt *m = state;

	if (bp_rules_prepare(&m->rules, bp_config_mqtt(c), same, err, err_size) != 0)
		return -1;
	return m->rules.image != NULL;
}

static int behind(const void *state)
{
	const struct mqtt *m = state;

	return bp_generation_pending(&m->rules.shm->rules);
}

static void publish(void *state, const struct bp_config *c)
{
	struct mqtt *m = state;

	(void)c;
	bp_rules_publish(&m->rules);
}

static void published(void *state, bool ok)
{
	struct mqtt *m = state;

	bp_rules_discard(&m->rules);
	if (ok && !m->rules_logged)
		bp_log_event(BP_LOG_INFO,
			BP_LOG_FIELDS(BP_LOG_NUM("rules", m->rules.rules),
				BP_LOG_NUM("generation", m->rules.generation)),
			"rules active");
	m->rules_logged = true;
}

static void report(const void *state, json_t *answer)
{
	const struct bp_rules *r = &((const struct mqtt *)state)->rules;

	json_object_set_new(answer, "generation", json_integer((json_int_t)r->generation));
	json_object_set_new(answer, "rules", json_integer(r->rules));
	json_object_set_new(answer, "unchanged", json_integer(r->unchanged));
}

static void status(const void *state, json_t *answer)
{
	const struct mqtt *m = state;
	const struct bp_shm *shm = m->x->shm;
	const struct bp_shm_control *g = shm->control;
	const struct bp_ruleset *rs =
		bp_shm_rules(shm, atomic_load_explicit(&g->rules_active, memory_order_relaxed));
	const struct {
		const char *key;
		const _Atomic uint64_t *value;
	} counter[] = {
		{"alarms_read", &g->cp_alarms_read},
		{"alarms_acked", &g->publisher[BP_TO_MQTT].acked},
		{"inflight", &g->publisher[BP_TO_MQTT].inflight},
		{"spool_rows", &g->publisher[BP_TO_MQTT].spool_rows},
		{"spool_bytes", &g->publisher[BP_TO_MQTT].spool_bytes},
		{"spool_errors", &g->publisher[BP_TO_MQTT].spool_errors},
	};

	if (m->copies != NULL)
		bp_alarm_copies_status(m->copies, answer);
	if (m->connections != NULL)
		bp_connections_status(m->connections, answer);
	json_object_set_new(answer, "generation", json_integer((json_int_t)rs->generation));
	json_object_set_new(answer, "rules", json_integer(rs->n_rules));
	json_object_set_new(answer, "edge_connected",
		json_boolean(atomic_load_explicit(
			&g->publisher[BP_TO_MQTT].connected, memory_order_relaxed)));
	for (size_t i = 0; i < sizeof(counter) / sizeof(counter[0]); i++)
		json_object_set_new(answer, counter[i].key,
			json_integer((json_int_t)atomic_load_explicit(
				counter[i].value, memory_order_relaxed)));
}

const struct bp_controlplane_service bp_controlplane_mqtt = {
	.name = "mqtt",
	.id = BP_SERVICE_MQTT,
	.check = check,
	.create = create,
	.start = start,
	.tick = tick,
	.configure = configure,
	.drain = drain,
	.free = end,
	.prepare = prepare,
	.behind = behind,
	.publish = publish,
	.published = published,
	.report = report,
	.status = status,
};
