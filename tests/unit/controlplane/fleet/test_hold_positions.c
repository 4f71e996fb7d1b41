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
	return bp_shared_states_known(p->g->states);
}

static bool is_stored(void *arg, const struct bp_connection_key *k)
{
	struct part *p = arg;

	(void)take_alarm(p->g);
	return bp_shared_states_stored(p->g->states, k->client_ip, k->ip6, k->client_port);
}

static void on_hold(void *arg, const void *bytes, uint32_t len, uint64_t connection)
{
	bp_shared_holds_report(
		bp_shared_states_holds(((struct part *)arg)->g->states), bytes, len, connection);
}

static void on_lost(void *arg)
{
	bp_shared_holds_lost(bp_shared_states_holds(((struct part *)arg)->g->states));
}

static bool changes(void *arg, uint64_t connection, struct bp_hold_changes *out)
{
	return bp_shared_holds_changes(
		bp_shared_states_holds(((struct part *)arg)->g->states), connection, out);
}

static void changes_stored(void *arg, uint64_t connection, uint64_t upto)
{
	bp_shared_holds_stored(
		bp_shared_states_holds(((struct part *)arg)->g->states), connection, upto);
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
						     .changes_stored = changes_stored,
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

static int setup_both(void **state)
{
	struct bp_rule_spec r = rule("r", BP_REPEAT_ON_CHANGE);
	struct fixture *f;

	setup(state);
	f = *state;
	r.hold = BP_HOLD_COUNT;
	r.hold_count = 3;
	both_up(f);
	for (unsigned i = 0; i < 2; i++) {
		open_part(f, i);
		use_rule(part[i].g->rig, r);
		set_time(part[i].g->rig);
		part[i].g->rig->now_ns = bp_unix_ns();
	}
	UNTIL(f, bp_fleet_state_ready(part[0].state) && bp_fleet_state_ready(part[1].state));
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

/* Reports of a worker are lost: what the control plane does not know is not shared. */
static void hold_ends_with_a_report_that_is_lost(void **state)
{
	struct fixture *f = *state;
	struct peer c = connect_client(f);

	send_until_stored(f, &c, "81");
	send_until_stored(f, &c, "82");
	one.shm.counters[0].v[BP_C_FLEET_HOLD_NOT_REPORTED]++;
	publish_alias(&one, &c, "t/y", 4, "1");
	UNTIL(f, bp_alarm_store_holds_read(part[1].g->store) && number(part[0].g, "holds") >= 3);
	kill_gateway(f, 0);
	assert_int_equal(state_after(f, &c, "83"), 0);
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
	/* the connection for alarms is lost, and that for records is not */
	bp_alarm_store_free(part[0].g->store);
	part[0].g->store = NULL;
	bp_shared_states_down(part[0].g->states);
	send_value(0, &c, "83");
	for (unsigned i = 0; i < 100; i++)
		step(f);
	assert_int_equal(records(0), before);
	send_value(0, &c, "84");
	for (unsigned i = 0; i < 100; i++)
		step(f);
	assert_int_equal(records(0), before);
	{
		const struct bp_alarm_store_owner owner = {.up = on_up,
			.down = on_down,
			.failed = on_failed,
			.state = on_state,
			.state_put = on_put,
			.arg = part[0].g};
		char err[512];

		part[0].g->store = bp_alarm_store_new(
			f->base, &f->config->fleet, "gw0", &owner, err, sizeof(err));
		assert_non_null(part[0].g->store);
	}
	UNTIL(f, records(0) > before);
	kill_gateway(f, 0);
	/* raised there, too: no second raise, and it is cleared */
	assert_int_equal(state_after(f, &c, "85"), 0);
	assert_int_equal(state_after(f, &c, "70"), BP_ALARM_CLEARED);
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
		BOTH(raise_comes_before_the_position),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
