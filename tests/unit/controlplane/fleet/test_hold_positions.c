/* SPDX-License-Identifier: BSD-3-Clause */
/* A gateway dies between two writes to Redis, and its connection continues through another one: the
 * positions of connections and the states of alarms of both, in one process. */
#include "tests/unit/controlplane/fleet/shared_steps.h"

#include "controlplane/mqtt/connections.h"
#include "controlplane/process/ring_events.h"

/* The rest of the control planes. */
static struct part {
	struct gateway *g;
	struct bp_fleet_state *state;
	struct bp_ring_events *rings;
	struct bp_connections *connections;
} part[2];

static bool known(void *arg, uint64_t since_ns)
{
	struct part *p = arg;

	if (bp_alarm_store_polled_ns(p->g->store) < since_ns) {
		bp_alarm_store_poll_states(p->g->store);
		return false;
	}
	return bp_shared_holds_read(bp_shared_states_holds(p->g->states)) &&
	       bp_shared_states_known(p->g->states);
}

static bool is_stored(void *arg, const struct bp_connection_key *k)
{
	struct part *p = arg;

	(void)take_alarm(p->g);
	return bp_shared_states_stored(p->g->states, k);
}

/* The last report. */
static struct bp_hold_report last;
static uint64_t last_connection;

static void on_hold(void *arg, const void *bytes, uint32_t len, uint64_t connection)
{
	memcpy(&last, bytes, sizeof(last));
	last_connection = connection;
	bp_shared_holds_report(
		bp_shared_states_holds(((struct part *)arg)->g->states), bytes, len, connection);
}

static void on_lost(void *arg, const uint64_t *clients)
{
	bp_shared_holds_lost(bp_shared_states_holds(((struct part *)arg)->g->states), clients);
}

static bool changes(void *arg, uint64_t connection, struct bp_hold_changes *out)
{
	return bp_shared_holds_changes(
		bp_shared_states_holds(((struct part *)arg)->g->states), connection, out);
}

static void changes_written(void *arg, uint64_t connection, uint64_t write, bool done)
{
	bp_shared_holds_written(
		bp_shared_states_holds(((struct part *)arg)->g->states), connection, write, done);
}

static void repeat(void *arg)
{
	bp_shared_holds_repeat(bp_shared_states_holds(((struct part *)arg)->g->states));
}

static void holds_of(void *arg, uint64_t connection, bool exact, struct bp_hold_offers *out)
{
	bp_shared_holds_of(
		bp_shared_states_holds(((struct part *)arg)->g->states), connection, exact, out);
}

static bool recorded(void *arg, const struct bp_stream_place *p)
{
	return bp_connections_recorded(arg, p);
}

static void open_part(struct fixture *f, unsigned i)
{
	struct part *p = &part[i];
	char err[512];

	*p = (struct part){.g = &f->gateway[i]};
	p->state = bp_fleet_state_new(f->base, &f->config->fleet, err, sizeof(err));
	assert_non_null(p->state);
	p->rings = bp_ring_events_new(f->base, &p->g->rig->shm.control->cp_sleeps, NULL, NULL);
	assert_non_null(p->rings);
	p->connections = bp_connections_new(f->base, &p->g->rig->shm, p->rings, p->state,
		p->g->rig->mqtt.connection_timeout_ns, err, sizeof(err));
	assert_non_null(p->connections);
	bp_connections_share(p->connections, &(struct bp_connection_states){.known = known,
						     .stored = is_stored,
						     .hold = on_hold,
						     .holds_lost = on_lost,
						     .changes = changes,
						     .changes_written = changes_written,
						     .repeat = repeat,
						     .holds_of = holds_of,
						     .arg = p});
	bp_shared_holds_wait_for(bp_shared_states_holds(p->g->states), recorded, p->connections);
}

/* Its processes end; nothing of them is written any more. */
static void kill_gateway(struct fixture *f, unsigned i)
{
	struct part *p = &part[i];

	if (p->connections == NULL)
		return;
	bp_ring_events_free(p->rings);
	bp_fleet_state_free(p->state);
	bp_connections_free(p->connections);
	*p = (struct part){0};
	finish(&f->gateway[i]);
}

static void set_time(struct rig *r)
{
	const uint64_t now = bp_mono_ns();

	if (now > r->mono_ns)
		rig_advance(r, now - r->mono_ns);
}

static void step(struct fixture *f)
{
	for (unsigned i = 0; i < 2; i++)
		if (part[i].connections != NULL)
			set_time(part[i].g->rig);
	run_once(f);
}

#define UNTIL(f, condition)                                                                        \
	do {                                                                                       \
		const uint64_t end_ = test_now_ns() + TEST_DEADLINE_NS;                            \
		while (!(condition)) {                                                             \
			if (test_now_ns() > end_)                                                  \
				fail_msg("never came true: %s", #condition);                       \
			step(f);                                                                   \
		}                                                                                  \
	} while (0)

static uint64_t records(unsigned i)
{
	return bp_fleet_state_counters(part[i].state)->stored;
}

static void begin_part(struct fixture *f, unsigned i)
{
	struct bp_rule_spec r = rule("r", BP_REPEAT_ON_CHANGE);

	r.hold = BP_HOLD_COUNT;
	r.hold_count = 3;
	open_part(f, i);
	use_rule(part[i].g->rig, r);
	set_time(part[i].g->rig);
	part[i].g->rig->now_ns = bp_unix_ns();
	UNTIL(f, bp_fleet_state_ready(part[i].state));
}

static int setup_both(void **state)
{
	struct fixture *f;

	setup(state);
	f = *state;
	both_up(f);
	for (unsigned i = 0; i < 2; i++)
		begin_part(f, i);
	/* the rules are new: what is known is offered again after a second */
	return 0;
}

static int teardown_both(void **state)
{
	for (unsigned i = 0; i < 2; i++)
		kill_gateway(*state, i);
	return teardown(state);
}

/* The client has its alias at the first gateway, and its record. */
static struct peer connect_client(struct fixture *f)
{
	const uint64_t before = records(0);
	struct peer c;

	peer_init(&c, false, 7, 0xffffff00u, 7);
	rig_connect_alias(&one, &c, "sensor", 10, 10);
	publish_alias(&one, &c, "t/x", 3, "70");
	UNTIL(f, records(0) > before);
	return c;
}

static void send_value(unsigned i, struct peer *c, const char *value)
{
	set_time(part[i].g->rig);
	publish_alias(part[i].g->rig, c, "", 3, value);
	rig_flush(part[i].g->rig);
}

/* The value, until Redis has the position behind it, and not a moment longer. */
static void send_until_stored(struct fixture *f, struct peer *c, const char *value)
{
	const uint64_t before = records(0);

	send_value(0, c, value);
	UNTIL(f, records(0) > before);
}

static uint8_t state_after(struct fixture *f, struct peer *c, const char *value)
{
	const uint64_t answered = rig_count(&two, BP_C_FLEET_ADOPTED);

	send_value(1, c, value);
	if (answered == 0)
		UNTIL(f, rig_count(&two, BP_C_FLEET_ADOPTED) == 1);
	rig_flush(&two);
	return take_alarm(part[1].g).state;
}

/* Two values count there: the third one raises. */
static void values_before_the_position_count(void **state)
{
	struct fixture *f = *state;
	struct peer c = connect_client(f);

	send_until_stored(f, &c, "81");
	send_until_stored(f, &c, "82");
	kill_gateway(f, 0);
	assert_int_equal(state_after(f, &c, "83"), BP_ALARM_RAISED);
	assert_int_equal(rig_count(&two, BP_C_FLEET_HOLD_ENDED), 0);
}

/* A value ends the hold: it does not continue there. */
static void end_before_the_position_counts(void **state)
{
	struct fixture *f = *state;
	struct peer c = connect_client(f);

	send_until_stored(f, &c, "81");
	send_until_stored(f, &c, "82");
	send_until_stored(f, &c, "70");
	kill_gateway(f, 0);
	assert_int_equal(state_after(f, &c, "83"), 0);
	assert_int_equal(state_after(f, &c, "84"), 0);
	assert_int_equal(state_after(f, &c, "85"), BP_ALARM_RAISED);
}

/* The data plane has evaluated a value, whose position is not stored: its sender repeats it. */
static void value_behind_the_position_counts_once(void **state)
{
	struct fixture *f = *state;
	struct peer c = connect_client(f), before;

	send_until_stored(f, &c, "81");
	before = c;
	send_value(0, &c, "82");
	kill_gateway(f, 0);
	c = before;
	assert_int_equal(state_after(f, &c, "82"), 0);
	assert_int_equal(state_after(f, &c, "83"), BP_ALARM_RAISED);
}

/* The same of a value that the sender does not repeat, and that ended the hold: the other gateway
 * never reads it, so the values before it do not count. */
static void hold_ends_with_values_that_nobody_reads(void **state)
{
	struct fixture *f = *state;
	struct peer c = connect_client(f);

	send_until_stored(f, &c, "81");
	send_until_stored(f, &c, "82");
	send_value(0, &c, "70");
	kill_gateway(f, 0);
	send_value(1, &c, "83");
	UNTIL(f, rig_count(&two, BP_C_FLEET_STALE) == 1);
	assert_int_equal(rig_count(&two, BP_C_FLEET_HOLD_ENDED), 1);
	/* the search needs topics that were published before, more than once */
	for (unsigned i = 0; i < 2; i++) {
		send_value(1, &c, "84");
		step(f);
	}
	assert_int_equal(take_alarm(part[1].g).state, 0);
}

static uint32_t client_of(const uint8_t ip[16])
{
	return bp_hold_client(one.shm.global->hash_key[0], ip, false);
}

static void lose_report(const uint8_t ip[16])
{
	const uint32_t client = client_of(ip);

	atomic_fetch_or(&one.shm.shared->holds_lost[client / 64], (uint64_t)1 << client % 64);
	one.shm.counters[0].v[BP_C_FLEET_HOLD_NOT_REPORTED]++;
}

/* Reports of a worker are lost: what the control plane does not know is not shared. */
static void hold_ends_with_a_report_that_is_lost(void **state)
{
	struct fixture *f = *state;
	struct peer c = connect_client(f);

	send_until_stored(f, &c, "81");
	send_until_stored(f, &c, "82");
	lose_report(last.client_ip);
	publish_alias(&one, &c, "t/y", 4, "1");
	UNTIL(f, bp_alarm_store_holds_read(part[1].g->store) && number(part[0].g, "holds") >= 3);
	kill_gateway(f, 0);
	assert_int_equal(state_after(f, &c, "83"), 0);
}

/* The reports of another client do not concern it. */
static void hold_continues_with_a_lost_report_of_another_client(void **state)
{
	struct fixture *f = *state;
	struct peer c = connect_client(f);
	uint8_t other[16];
	const uint64_t end = test_now_ns() + TEST_DEADLINE_NS;

	send_until_stored(f, &c, "81");
	memcpy(other, last.client_ip, sizeof(other));
	do
		other[3]++;
	while (client_of(other) == client_of(last.client_ip) && test_now_ns() < end);
	lose_report(other);
	send_until_stored(f, &c, "82");
	assert_int_equal(atomic_load(&one.shm.shared->holds_lost[client_of(other) / 64]), 0);
	step(f);
	kill_gateway(f, 0);
	assert_int_equal(state_after(f, &c, "83"), BP_ALARM_RAISED);
}

static uint64_t positions(unsigned i)
{
	json_t *answer = json_object();
	uint64_t n;

	bp_connections_status(part[i].connections, answer);
	n = (uint64_t)json_integer_value(
		json_object_get(json_object_get(answer, "fleet_connections"), "stored"));
	json_decref(answer);
	return n;
}

/* More holds than one write has: they get to Redis in parts, and then the position. */
static void many_holds_are_stored_in_parts(void **state)
{
	struct fixture *f = *state;
	struct peer c = connect_client(f);
	struct {
		struct bp_hold_report r;
		char topic[200];
	} x;
	uint64_t before;

	send_until_stored(f, &c, "81");
	x.r = last;
	x.r.topic_len = sizeof(x.topic);
	memset(x.topic, 'x', sizeof(x.topic));
	for (unsigned i = 0; i < 600; i++) {
		x.topic[0] = (char)('a' + i % 26);
		x.topic[1] = (char)('a' + i / 26);
		bp_shared_holds_report(bp_shared_states_holds(part[0].g->states), &x,
			(uint32_t)(sizeof(x.r) + sizeof(x.topic)), last_connection);
	}
	before = positions(0);
	send_value(0, &c, "82");
	UNTIL(f, positions(0) > before);
	assert_int_equal(number(part[0].g, "hold_pairs"), 601);
	assert_true(number(part[0].g, "too_large") >= 1);
	UNTIL(f, number(part[0].g, "holds") >= 602);
	kill_gateway(f, 0);
	/* offers that are not read leave no place for the answer */
	UNTIL(f, number(part[1].g, "holds_adopted") >= 601 &&
			 bp_ring_used(&two.shm.adopt_offers[0]) == 0);
	(void)state_after(f, &c, "83");
	assert_int_equal(rig_count(&two, BP_C_FLEET_ADOPTED), 1);
}

/* The connection for alarms is lost, and that for records is not. */
static void close_store(void)
{
	bp_alarm_store_free(part[0].g->store);
	part[0].g->store = NULL;
	bp_shared_states_down(part[0].g->states);
}

/* Redis never acknowledges the state: the client gets a record, without its holds, and that of
 * another topic does not continue either. */
static void record_does_not_wait_forever(void **state)
{
	struct fixture *f = *state;
	struct peer c = connect_client(f);
	uint64_t before = records(0);

	publish_alias(&one, &c, "t/y", 4, "81");
	publish_alias(&one, &c, "", 4, "82");
	UNTIL(f, records(0) > before);
	send_until_stored(f, &c, "81");
	send_until_stored(f, &c, "82");
	close_store();
	send_value(0, &c, "83");
	send_value(0, &c, "84");
	before = records(0);
	UNTIL(f, records(0) > before);
	assert_true(number(part[0].g, "unstored") >= 1);
	start_store(f, 0);
	kill_gateway(f, 0);
	set_time(&two);
	publish_alias(&two, &c, "", 4, "83");
	UNTIL(f, rig_count(&two, BP_C_FLEET_ADOPTED) == 1);
	rig_flush(&two);
	assert_int_equal(take_alarm(part[1].g).state, 0);
}

/* The state of an alarm is in Redis before the position behind its value: until then, there is no
 * new record. */
static void raise_comes_before_the_position(void **state)
{
	struct fixture *f = *state;
	struct peer c = connect_client(f);
	uint64_t before;

	send_until_stored(f, &c, "81");
	send_until_stored(f, &c, "82");
	before = records(0);
	close_store();
	send_value(0, &c, "83");
	for (unsigned i = 0; i < 100; i++)
		step(f);
	assert_int_equal(records(0), before);
	send_value(0, &c, "84");
	for (unsigned i = 0; i < 100; i++)
		step(f);
	assert_int_equal(records(0), before);
	start_store(f, 0);
	UNTIL(f, records(0) > before);
	kill_gateway(f, 0);
	/* raised there, too: no second raise, and it is cleared */
	assert_int_equal(state_after(f, &c, "85"), 0);
	assert_int_equal(state_after(f, &c, "70"), BP_ALARM_CLEARED);
}

/* As Redis numbers the connections: those for alarms of both gateways are older than this one. */
static unsigned records_connection(struct fixture *f)
{
	unsigned id;

	assert_int_equal(sscanf(test_redis_cli(&f->redis, "client list type normal"),
				 "%*[^\n]\n%*[^\n]\nid=%u", &id),
		1);
	return id;
}

static void reconnect(struct fixture *f, unsigned id)
{
	const struct bp_fleet_counters *n = bp_fleet_state_counters(part[0].state);
	const uint64_t before = n->connects;
	char words[64];

	snprintf(words, sizeof(words), "client kill id %u", id);
	assert_string_equal(test_redis_cli(&f->redis, words), "1");
	UNTIL(f, n->connects > before);
}

/* Redis has lost all, and only the connection for records shows it: the record of a client that is
 * silent since has its holds again. */
static void record_is_repeated_with_its_holds(void **state)
{
	struct fixture *f = *state;
	struct peer c = connect_client(f);
	const unsigned id = records_connection(f);
	uint64_t before;

	send_until_stored(f, &c, "81");
	send_until_stored(f, &c, "82");
	kill_gateway(f, 1);
	assert_string_equal(test_redis_cli(&f->redis, "flushall"), "OK");
	before = records(0);
	reconnect(f, id);
	assert_true(part[0].g->up);
	UNTIL(f, records(0) > before);
	kill_gateway(f, 0);
	start(f, 1);
	UNTIL(f, f->gateway[1].up);
	begin_part(f, 1);
	assert_int_equal(state_after(f, &c, "83"), BP_ALARM_RAISED);
	assert_int_equal(rig_count(&two, BP_C_FLEET_HOLD_ENDED), 0);
}

#define BOTH(name) cmocka_unit_test_setup_teardown(name, setup_both, teardown_both)

int main(void)
{
	const struct CMUnitTest tests[] = {
		BOTH(values_before_the_position_count),
		BOTH(end_before_the_position_counts),
		BOTH(value_behind_the_position_counts_once),
		BOTH(hold_ends_with_values_that_nobody_reads),
		BOTH(hold_ends_with_a_report_that_is_lost),
		BOTH(hold_continues_with_a_lost_report_of_another_client),
		BOTH(record_is_repeated_with_its_holds),
		BOTH(many_holds_are_stored_in_parts),
		BOTH(record_does_not_wait_forever),
		BOTH(raise_comes_before_the_position),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
