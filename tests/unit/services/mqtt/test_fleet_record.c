/* SPDX-License-Identifier: BSD-3-Clause */
/* Records of connections: their bytes, and when the control plane makes them. */
#include "biplane/counters/mqtt.h"
#include "test.h"

#include <stdio.h>
#include <stdlib.h>

#include "fleet_steps.h"
#include "services/mqtt/flow.h"
#include "services/mqtt/mqtt_worker.h"

static const uint16_t qos2_to[] = {1, 7, 65535}, qos2_from[] = {300};
static const struct bp_record_alias aliases_to[] = {
	{.alias = 1, .topic_len = 3, .topic = (const uint8_t *)"t/x"},
	{.alias = 9, .topic_len = 1, .topic = (const uint8_t *)"y"}};
static const uint16_t *const qos2[] = {qos2_to, qos2_from};
static const struct bp_record_alias *const aliases[] = {aliases_to, aliases_to};

static struct bp_connection_record example(void)
{
	return (struct bp_connection_record){.key = {.client_ip = {10, 0, 0, 5},
						     .broker_ip = {192, 0, 2, 1},
						     .client_port = 40000,
						     .broker_port = 1883,
						     .vlan_outer = 5,
						     .vlan_inner = 6,
						     .tunnel = 0xdeadbeef},
		.next = {0xfffffff0, 17},
		.window = {65536, 1u << 30},
		.syn_seq = 1,
		.broker_isn = 2,
		.publishes = 3,
		.known = 0x8000000000000001,
		.alias_max = {9, 10},
		.mss = 1460,
		.suspicious = 0x8001,
		.scale = {14, BP_SCALE_UNSEEN},
		.version = 5,
		.flags = BP_FLOW_CONNECT | BP_FLOW_CONNACK,
		.proof = BP_FLOW_SYN_ACKED | BP_FLOW_HANDSHAKE,
		.session = BP_SESSION_CLEAN,
		.has_alias_max = 3,
		.marks = BP_MARK_REJECTED,
		.pending = BP_FLOW_PUSHED(1),
		.client_id = (const uint8_t *)"sensor",
		.client_id_len = 6,
		.user_len = 4,
		.user = (const uint8_t *)"anna",
		.user_state = BP_RECORD_USER_GIVEN,
		.will = {.topic = (const uint8_t *)"w/t",
			.topic_len = 3,
			.payload = (const uint8_t *)"gone",
			.payload_len = 4,
			.delay = 5,
			.session_expiry = 0xffffffff,
			.keep_alive = 60,
			.qos = 2,
			.retain = 1},
		.n_qos2 = {3, 1},
		.n_aliases = {2, 1}};
}

static void all_fields(void **state)
{
	struct bp_connection_record r = example(), out;
	uint8_t p[BP_CONNECTION_RECORD_MAX];
	const size_t n = bp_connection_record_write(&r, qos2, aliases, p, sizeof(p));
	const uint8_t *at;
	struct bp_record_alias a;

	(void)state;
	assert_true(n != 0);
	assert_true(bp_connection_record_read(p, n, &out));
	assert_true(bp_connection_key_equal(&r.key, &out.key));
	assert_memory_equal(r.next, out.next, sizeof(r.next));
	assert_memory_equal(r.window, out.window, sizeof(r.window));
	assert_memory_equal(r.alias_max, out.alias_max, sizeof(r.alias_max));
	assert_memory_equal(r.scale, out.scale, sizeof(r.scale));
	assert_int_equal(r.syn_seq, out.syn_seq);
	assert_int_equal(r.broker_isn, out.broker_isn);
	assert_int_equal(r.publishes, out.publishes);
	assert_int_equal(r.known, out.known);
	assert_int_equal(r.mss, out.mss);
	assert_int_equal(r.suspicious, out.suspicious);
	assert_int_equal(r.version, out.version);
	assert_int_equal(r.flags, out.flags);
	assert_int_equal(r.proof, out.proof);
	assert_int_equal(r.session, out.session);
	assert_int_equal(r.has_alias_max, out.has_alias_max);
	assert_int_equal(r.marks, out.marks);
	assert_int_equal(r.pending, out.pending);
	assert_int_equal(out.client_id_len, 6);
	assert_memory_equal(out.client_id, "sensor", 6);
	assert_int_equal(out.user_state, BP_RECORD_USER_GIVEN);
	assert_int_equal(out.user_len, 4);
	assert_memory_equal(out.user, "anna", 4);
	assert_int_equal(out.will.topic_len, 3);
	assert_memory_equal(out.will.topic, "w/t", 3);
	assert_int_equal(out.will.payload_len, 4);
	assert_memory_equal(out.will.payload, "gone", 4);
	assert_int_equal(out.will.delay, 5);
	assert_int_equal(out.will.session_expiry, 0xffffffff);
	assert_int_equal(out.will.keep_alive, 60);
	assert_int_equal(out.will.qos, 2);
	assert_int_equal(out.will.retain, 1);
	assert_int_equal(out.n_qos2[0], 3);
	for (uint16_t i = 0; i < 3; i++)
		assert_int_equal(bp_record_qos2(&out, 0, i), qos2_to[i]);
	assert_int_equal(bp_record_qos2(&out, 1, 0), 300);
	assert_int_equal(out.n_aliases[0], 2);
	assert_int_equal(out.n_aliases[1], 1);
	at = out.aliases[0];
	a = bp_record_next_alias(&at);
	assert_int_equal(a.alias, 1);
	assert_memory_equal(a.topic, "t/x", 3);
	a = bp_record_next_alias(&at);
	assert_int_equal(a.alias, 9);
	assert_int_equal(a.topic_len, 1);
}

/* One that is too long, or of which this gateway has nothing, is there, but unknown. */
static void unknown_wills(void **state)
{
	static const uint8_t longest[BP_RECORD_WILL_MAX];

	(void)state;
	for (unsigned i = 0; i < 3; i++) {
		struct bp_connection_record r = example(), out;
		uint8_t p[BP_CONNECTION_RECORD_MAX];
		size_t n;

		r.will.payload = longest;
		r.will.payload_len = sizeof(longest);
		if (i != 0)
			r.will = (struct bp_record_will){.unknown = i == 2};
		n = bp_connection_record_write(&r, qos2, aliases, p, sizeof(p));
		assert_true(bp_connection_record_read(p, n, &out));
		assert_null(out.will.topic);
		assert_int_equal(out.will.unknown, i != 1);
	}
}

static void user_names(void **state)
{
	static const uint8_t longest[BP_RECORD_USER_MAX + 1];
	struct bp_connection_record r = example(), out;
	uint8_t p[BP_CONNECTION_RECORD_MAX];
	size_t n;

	(void)state;
	for (unsigned i = BP_RECORD_USER_UNKNOWN; i <= BP_RECORD_USER_GIVEN; i++) {
		r.user_state = (uint8_t)i;
		n = bp_connection_record_write(&r, qos2, aliases, p, sizeof(p));
		assert_true(bp_connection_record_read(p, n, &out));
		assert_int_equal(out.user_state, i);
		assert_int_equal(out.user_len, i == BP_RECORD_USER_GIVEN ? 4 : 0);
		assert_int_equal(out.will.topic_len, 3);
	}
	/* one that is too long is unknown, also to the reader */
	r.user = longest;
	r.user_len = BP_RECORD_USER_MAX;
	n = bp_connection_record_write(&r, qos2, aliases, p, sizeof(p));
	assert_true(bp_connection_record_read(p, n, &out));
	assert_int_equal(out.user_len, BP_RECORD_USER_MAX);
	r.user_len++;
	n = bp_connection_record_write(&r, qos2, aliases, p, sizeof(p));
	assert_true(bp_connection_record_read(p, n, &out));
	assert_int_equal(out.user_state, BP_RECORD_USER_UNKNOWN);
}

/* A record of another network than the main one: the name is in its key, and all else as before. */
static void records_of_a_network(void **state)
{
	struct bp_connection_record r = example(), out;
	uint8_t p[BP_CONNECTION_RECORD_MAX], of[BP_CONNECTION_RECORD_MAX];
	const size_t main_n = bp_connection_record_write(&r, qos2, aliases, p, sizeof(p));
	size_t n;

	(void)state;
	assert_memory_equal(p, "BPC4", 4);
	for (unsigned len = 1; len <= BP_NAME_MAX; len++) {
		memset(r.key.network, 'x', len);
		n = bp_connection_record_write(&r, qos2, aliases, of, sizeof(of));
		assert_int_equal(n, main_n + 1 + len);
		assert_memory_equal(of, "BPC5", 4);
		assert_true(bp_connection_record_read(of, n, &out));
		assert_true(bp_connection_key_equal(&r.key, &out.key));
		memcpy(out.key.network, "y", 1);
		assert_false(bp_connection_key_equal(&r.key, &out.key));
		/* of no length, of another one, and with characters that no name has */
		for (unsigned byte = 0; byte < 256; byte++) {
			of[49] = (uint8_t)byte;
			if (byte != len)
				assert_false(bp_connection_record_read(of, n, &out));
			of[49] = (uint8_t)len;
			of[49 + len] = (uint8_t)byte;
			assert_int_equal(bp_connection_record_read(of, n, &out),
				byte > ' ' && byte <= '~' && byte != '/');
			of[49 + len] = 'x';
		}
	}
	/* aliases that do not fit are marked at the right place */
	n = bp_connection_record_write(&r, qos2, aliases, of, n - 1);
	assert_true(n != 0 && bp_connection_record_read(of, n, &out));
	assert_true(out.session & BP_SESSION_ALIASES_LOST);
}

/* The former version has no user name; a damaged one is refused. */
static void records_of_the_former_version(void **state)
{
	struct bp_connection_record r = example(), out;
	uint8_t p[BP_CONNECTION_RECORD_MAX], former[BP_CONNECTION_RECORD_MAX];
	const size_t n = bp_connection_record_write(&r, qos2, aliases, p, sizeof(p));
	const uint8_t *at = memmem(p, n, "sensor", 6);
	size_t before;

	(void)state;
	assert_non_null(at);
	before = (size_t)(at + 6 - p);
	assert_memory_equal(at + 6, "\2\4\0anna", 7);
	memcpy(former, p, before);
	memcpy(former + before, p + before + 7, n - before - 7);
	assert_false(bp_connection_record_read(former, n - 7, &out));
	former[3] = '3';
	assert_true(bp_connection_record_read(former, n - 7, &out));
	assert_int_equal(out.user_state, BP_RECORD_USER_UNKNOWN);
	assert_int_equal(out.client_id_len, 6);
	assert_int_equal(out.will.topic_len, 3);
	former[3] = '2';
	assert_false(bp_connection_record_read(former, n - 7, &out));
	p[before] = BP_RECORD_USER_GIVEN + 1;
	assert_false(bp_connection_record_read(p, n, &out));
}

/* Every one of these makes a record that is refused. */
static void inconsistent(void **state)
{
	static const struct bp_record_alias twice[] = {
		{.alias = 2, .topic_len = 1, .topic = (const uint8_t *)"y"},
		{.alias = 2, .topic_len = 1, .topic = (const uint8_t *)"z"}};
	static const struct bp_record_alias wildcard[] = {
		{.alias = 2, .topic_len = 1, .topic = (const uint8_t *)"#"}};
	static const struct bp_record_alias high[] = {
		{.alias = 11, .topic_len = 1, .topic = (const uint8_t *)"y"}};
	static const uint16_t zero[] = {0};

	(void)state;
	for (unsigned i = 0;; i++) {
		struct bp_connection_record r = example(), out;
		const struct bp_record_alias *a[] = {aliases_to, aliases_to};
		const uint16_t *q[] = {qos2_to, qos2_from};
		uint8_t p[BP_CONNECTION_RECORD_MAX];
		size_t n;

		switch (i) {
		case 0:
			r.version = 2;
			break;
		case 1:
			r.version = 6;
			break;
		case 2:
			r.version = 4;
			break; /* has no aliases */
		case 3:
			r.flags = BP_FLOW_CONNECT;
			break;
		case 4:
			r.mss = 0;
			break;
		case 5:
			r.scale[0] = 15;
			break;
		case 6:
			r.key.client_port = 0;
			/* a segment may have it, and the question of a worker is answered */
			assert_true(bp_connection_key_sound(&r.key));
			break;
		case 7:
			r.key.broker_port = 0;
			break;
		case 8:
			r.key.ip6 = 2;
			break;
		case 9:
			r.key.client_ip[4] = 1;
			break;
		case 10:
			r.key.vlan_outer = 4096;
			break;
		case 11:
			r.will.qos = 3;
			break;
		case 12:
			r.will.topic = (const uint8_t *)"a/#";
			break;
		case 13:
			a[1] = wildcard;
			break;
		case 14:
			a[0] = twice;
			break;
		case 15:
			a[1] = high;
			break;
		case 16:
			q[1] = zero;
			break;
		case 17:
			r.will.retain = 2;
			break;
		default:
			return;
		}
		n = bp_connection_record_write(&r, q, a, p, sizeof(p));
		assert_true(n != 0);
		if (bp_connection_record_read(p, n, &out))
			fail_msg("case %u", i);
	}
}

static void every_length(void **state)
{
	struct bp_connection_record r = example(), out;
	uint8_t p[BP_CONNECTION_RECORD_MAX + 1] = {0};
	const size_t n = bp_connection_record_write(&r, qos2, aliases, p, BP_CONNECTION_RECORD_MAX);

	(void)state;
	for (size_t i = 0; i < sizeof(p); i++) {
		/* in memory of its very size: a read behind it is seen */
		uint8_t *exact = malloc(i != 0 ? i : 1);

		assert_non_null(exact);
		memcpy(exact, p, i);
		assert_int_equal(bp_connection_record_read(exact, i, &out), i == n);
		free(exact);
	}
	for (size_t i = 0; i < n; i++) {
		uint8_t *exact = malloc(i != 0 ? i : 1);
		size_t written;

		assert_non_null(exact);
		written = bp_connection_record_write(&r, qos2, aliases, exact, i);
		assert_true(written <= i);
		/* the aliases are left out first, and the record says so */
		if (written != 0) {
			assert_true(bp_connection_record_read(exact, written, &out));
			assert_true(out.session & BP_SESSION_ALIASES_LOST);
		}
		free(exact);
	}
}

static struct peer connected(const char *client_id)
{
	struct peer c;

	peer_init(&c, false, 1, 100, 200);
	rig_connect_alias(&one, &c, client_id, 300, 300);
	return c;
}

static void only_at_rest(void **state)
{
	struct peer c;

	(void)state;
	open_fleet();
	c = connected("a");
	scan();
	assert_int_equal(stored.puts, 0); /* not yet */
	rest_and_scan();
	assert_int_equal(stored.puts, 1);
	scan();
	rest_and_scan();
	assert_int_equal(stored.puts, 1); /* unchanged */
	/* inside a packet */
	rig_send(&one, &c, CLIENT, "\x30\x07\0\3", 4);
	rest_and_scan();
	assert_int_equal(stored.puts, 1);
	rig_send(&one, &c, CLIENT, "t/x\0", 4);
	rig_ack(&one, &c, BROKER);
	rest_and_scan();
	assert_int_equal(stored.puts, 1); /* payload is missing */
	rig_send(&one, &c, CLIENT, "1", 1);
	scan();
	assert_int_equal(stored.puts, 1);
	rest_and_scan();
	assert_int_equal(stored.puts, 2);
	close_fleet();
}

static void refreshed_and_ended(void **state)
{
	struct peer c;

	(void)state;
	open_fleet();
	c = connected("a");
	rest_and_scan();
	assert_int_equal(stored.puts, 1);
	/* only TCP keeps it alive: its record must not expire before it */
	rig_advance(&one, one.mqtt.connection_timeout_ns / 2 + 1000000000);
	scan();
	assert_int_equal(stored.puts, 1);
	rig_ack(&one, &c, CLIENT);
	rest_and_scan();
	assert_int_equal(stored.puts, 2);
	bp_exporter_forget(exporter);
	rest_and_scan();
	assert_int_equal(stored.puts, 3);
	assert_int_equal(stored.ends, 0);
	rig_fin_both(&one, &c);
	scan();
	assert_int_equal(stored.ends, 1);
	assert_int_equal(stored.epoch, own_epoch);
	scan();
	assert_int_equal(stored.ends, 1);
	/* one that expires */
	peer_init(&c, false, 2, 100, 200);
	rig_connect(&one, &c, 4, "b");
	rest_and_scan();
	assert_int_equal(stored.puts, 4);
	rig_expire_all(&one);
	scan();
	assert_int_equal(stored.ends, 2);
	close_fleet();
}

/* What is too large is left out, and the record says so; nothing else is missing. */
static void bounded(void **state)
{
	char id[BP_RECORD_CLIENT_ID_MAX + 2], topic[600];
	struct bp_connection_record r;
	struct peer c;

	(void)state;
	open_fleet();
	memset(id, 'i', sizeof(id) - 1);
	id[sizeof(id) - 1] = 0;
	c = connected(id);
	memset(topic, 'x', sizeof(topic) - 1);
	topic[sizeof(topic) - 1] = 0;
	for (uint16_t alias = 1; alias <= 30; alias++)
		publish_alias(&one, &c, topic, alias, "1");
	rest_and_scan();
	assert_int_equal(stored.puts, 1);
	assert_true(bp_connection_record_read(stored.p, stored.n, &r));
	assert_int_equal(r.client_id_len, 0);
	assert_true(r.session & BP_SESSION_NO_ID);
	assert_true(r.session & BP_SESSION_ALIASES_LOST);
	assert_in_range(r.n_aliases[0], 5, 29);
	/* an alias that is missing is no violation of the client */
	publish_alias(&two, &c, "", 30, "90");
	offer();
	assert_int_equal(rig_count(&two, BP_C_FLEET_ADOPTED), 1);
	assert_int_equal(rig_count(&two, BP_C_ALIAS_UNMAPPED), 1);
	publish_alias(&two, &c, "t/x", 30, "91");
	assert_string_equal(rig_told_values(&two), "91");
	close_fleet();
}

/* Ten messages a second: a record for each of them. More: one in half a second. */
static void busy_connections(void **state)
{
	struct peer c;

	(void)state;
	open_fleet();
	c = connected("a");
	rest_and_scan();
	for (unsigned i = 0; i < 20; i++) {
		publish_alias(&one, &c, "t/x", 1, "1");
		rig_advance(&one, 10000000);
		scan();
		rig_advance(&one, 90000000);
	}
	assert_int_equal(stored.puts, 1 + 20);
	for (unsigned i = 0; i < 2000; i++) {
		publish_alias(&one, &c, "t/x", 1, "1");
		rig_advance(&one, 1000000);
		scan();
	}
	assert_in_range(stored.puts, 1 + 20 + 3, 1 + 20 + 4);
	close_fleet();
}

/* A new topic does not wait for the interval. */
static void new_topics_are_stored_soon(void **state)
{
	struct peer c;

	(void)state;
	open_fleet();
	c = connected("a");
	rest_and_scan();
	for (unsigned i = 0; i < 3; i++) {
		publish_alias(&one, &c, (const char *[]){"t/a", "t/b", "t/c"}[i], 0, "1");
		rig_advance(&one, 4000000);
		scan();
		assert_int_equal(stored.puts, 2 + i);
	}
	publish_alias(&one, &c, "t/a", 0, "1");
	rig_advance(&one, 4000000);
	scan();
	assert_int_equal(stored.puts, 4);
	close_fleet();
}

static struct bp_journal *journal(void)
{
	return (void *)one.shm.reassembly; /* of the only worker */
}

/* The data plane ends while it changes the connection: its state may be inside a segment whose
 * alarms were not published. */
static void interrupted_by_the_end_of_the_data_plane(void **state)
{
	const uint32_t lines = sizeof(struct bp_flow) / 64;
	struct bp_journal *j;
	struct peer c;

	(void)state;
	open_fleet();
	c = connected("a");
	rest_and_scan();
	assert_int_equal(stored.puts, 1);
	j = journal();
	publish_alias(&one, &c, "t/x", 1, "1");
	j->slot = stored.ref.slot + 1; /* the general path */
	rest_and_scan();
	assert_int_equal(stored.puts, 1);
	j->slot = 0;
	j->note[BP_JOURNAL_NOTES - 1] = (uint64_t)1 << 32 | (stored.ref.slot * lines + 1);
	rest_and_scan(); /* a burst */
	assert_int_equal(stored.puts, 1);
	j->note[BP_JOURNAL_NOTES - 1] = (uint64_t)1 << 32 | ((stored.ref.slot + 1) * lines + 1);
	rest_and_scan(); /* of another connection */
	assert_int_equal(stored.puts, 2);
	j->note[BP_JOURNAL_NOTES - 1] = 0;
	close_fleet();
}

/* One lost write: one record. */
static void a_lost_record_is_made_again(void **state)
{
	struct peer c;

	(void)state;
	open_fleet();
	for (uint32_t i = 1; i <= 10; i++) {
		peer_init(&c, false, i, 100, 200);
		rig_connect(&one, &c, 4, "b");
	}
	rest_and_scan();
	assert_int_equal(stored.puts, 10);
	bp_exporter_again(exporter, &stored.ref);
	rest_and_scan();
	assert_int_equal(stored.puts, 11);
	/* it has ended meanwhile, and its slot has another connection */
	stored.ref.life++;
	bp_exporter_again(exporter, &stored.ref);
	bp_exporter_refused(exporter, &stored.ref);
	stored.ref = (struct bp_export_ref){.slot = UINT32_MAX};
	bp_exporter_again(exporter, &stored.ref);
	stored.ref = (struct bp_export_ref){.worker = UINT16_MAX};
	bp_exporter_again(exporter, &stored.ref);
	rest_and_scan();
	assert_int_equal(stored.puts, 11);
	close_fleet();
}

/* The connection of a packet; the place is of a damaged data plane, too. */
static void places_have_connections(void **state)
{
	struct bp_connection_key k;
	struct bp_stream_place p;

	(void)state;
	open_fleet();
	(void)connected("a");
	rest_and_scan();
	p = (struct bp_stream_place){.slot = stored.ref.slot, .life = stored.ref.life};
	assert_true(bp_exporter_has_record(exporter, &p));
	assert_true(bp_exporter_key(&one.shm, &p, &k));
	assert_true(bp_connection_key_equal(&k, &stored.key));
	p.life++; /* it has ended */
	assert_false(bp_exporter_has_record(exporter, &p));
	assert_false(bp_exporter_key(&one.shm, &p, &k));
	p = (struct bp_stream_place){.slot = UINT32_MAX, .worker = UINT16_MAX, .dir = UINT32_MAX};
	assert_false(bp_exporter_has_record(exporter, &p));
	assert_false(bp_exporter_key(&one.shm, &p, &k));
	p = (struct bp_stream_place){.slot = UINT32_MAX, .life = stored.ref.life};
	assert_false(bp_exporter_key(&one.shm, &p, &k));
	p = (struct bp_stream_place){.slot = stored.ref.slot, .life = stored.ref.life, .dir = 2};
	assert_false(bp_exporter_key(&one.shm, &p, &k));
	close_fleet();
}

static bool is_complete(void *arg, const struct bp_connection_key *k)
{
	(void)k;
	return *(bool *)arg;
}

/* No position is shared before the fleet has what the packets before it have changed. */
static void records_wait_until_they_are_complete(void **state)
{
	struct bp_export_sink sink;
	bool complete = false;

	(void)state;
	open_fleet();
	(void)connected("a");
	sink = sink_of_one();
	sink.is_complete = is_complete;
	sink.arg = &complete;
	for (unsigned i = 0; i < 3; i++) {
		rig_advance(&one, 2 * BP_EXPORT_INTERVAL_NS);
		complete = i != 0;
		assert_true(bp_exporter_scan(
			exporter, &one.shm, one.mono_ns, one.mqtt.connection_timeout_ns, &sink));
		assert_int_equal(stored.puts, i != 0);
	}
	close_fleet();
}

/*
 * The connection moves to another gateway. Later this process gets a higher epoch, because it
 * adopts another connection: what it writes about the first one keeps the epoch of the time when
 * it was used here.
 */
static void a_moved_connection_keeps_its_epoch(void **state)
{
	struct peer c;

	(void)state;
	open_fleet();
	c = connected("a");
	rest_and_scan();
	assert_int_equal(stored.epoch, 1);
	own_epoch = 9;
	bp_exporter_forget(exporter);
	rest_and_scan();
	assert_int_equal(stored.puts, 2);
	assert_int_equal(stored.epoch, 1);
	publish_alias(&one, &c, "t/x", 1, "1"); /* it is here */
	rest_and_scan();
	assert_int_equal(stored.puts, 3);
	assert_int_equal(stored.epoch, 9);
	own_epoch = 10;
	rig_expire_all(&one);
	scan();
	assert_int_equal(stored.ends, 1);
	assert_int_equal(stored.epoch, 9);
	close_fleet();
}

/* The record was refused: it is not written again until the connection is used here. */
static void a_refused_record_is_claimed_once_it_is_used(void **state)
{
	struct peer c;

	(void)state;
	open_fleet();
	c = connected("a");
	rest_and_scan();
	bp_exporter_refused(exporter, &stored.ref);
	bp_exporter_forget(exporter);
	rest_and_scan();
	assert_int_equal(stored.puts, 1);
	assert_int_equal(stored.claims, 0);
	publish_alias(&one, &c, "t/x", 1, "1");
	rest_and_scan();
	assert_int_equal(stored.puts, 1);
	assert_int_equal(stored.claims, 1);
	rest_and_scan(); /* no answer yet */
	assert_int_equal(stored.puts, 1);
	assert_int_equal(stored.claims, 1);
	own_epoch = 5;
	bp_exporter_again(exporter, &stored.ref);
	rest_and_scan();
	assert_int_equal(stored.puts, 2);
	assert_int_equal(stored.epoch, 5);
	close_fleet();
}

/* A control plane that starts again does not know which connections have moved away. */
static void unused_since_the_start(void **state)
{
	struct peer c;

	(void)state;
	open_fleet();
	c = connected("a");
	rig_advance(&one, 1000000000);
	bp_exporter_free(exporter);
	exporter = bp_exporter_create(1, one.mono_ns);
	rest_and_scan();
	assert_int_equal(stored.puts, 0);
	publish_alias(&one, &c, "t/x", 1, "1");
	rest_and_scan();
	assert_int_equal(stored.puts, 1);
	close_fleet();
}

/* A call makes a bounded number of records; the next ones make the others. */
static void a_call_is_bounded(void **state)
{
	const unsigned n = BP_EXPORT_RECORDS + 100;
	const struct bp_export_sink sink = sink_of_one();
	struct peer c;

	(void)state;
	open_fleet();
	for (uint32_t i = 1; i <= n; i++) {
		peer_init(&c, false, i, 100, 200);
		rig_connect(&one, &c, 4, "b");
	}
	rest_and_scan();
	assert_in_range(stored.puts, BP_EXPORT_RECORDS, BP_EXPORT_RECORDS + BP_FLOW_WAYS);
	while (stored.puts < n)
		scan();
	scan();
	assert_int_equal(stored.puts, n);
	/* the end of the process waits for no rest */
	rig_publish_text(&one, &c, "t/x", "1");
	scan();
	assert_int_equal(stored.puts, n);
	rig_ack(&one, &c, BROKER);
	assert_true(bp_exporter_finish(
		exporter, &one.shm, one.mono_ns, one.mqtt.connection_timeout_ns, &sink));
	assert_int_equal(stored.puts, n + 1);
	close_fleet();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(all_fields),
		cmocka_unit_test(unknown_wills),
		cmocka_unit_test(user_names),
		cmocka_unit_test(records_of_a_network),
		cmocka_unit_test(records_of_the_former_version),
		cmocka_unit_test(inconsistent),
		cmocka_unit_test(every_length),
		cmocka_unit_test(only_at_rest),
		cmocka_unit_test(refreshed_and_ended),
		cmocka_unit_test(bounded),
		cmocka_unit_test(busy_connections),
		cmocka_unit_test(new_topics_are_stored_soon),
		cmocka_unit_test(interrupted_by_the_end_of_the_data_plane),
		cmocka_unit_test(a_lost_record_is_made_again),
		cmocka_unit_test(places_have_connections),
		cmocka_unit_test(records_wait_until_they_are_complete),
		cmocka_unit_test(a_moved_connection_keeps_its_epoch),
		cmocka_unit_test(a_refused_record_is_claimed_once_it_is_used),
		cmocka_unit_test(unused_since_the_start),
		cmocka_unit_test(a_call_is_bounded),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
