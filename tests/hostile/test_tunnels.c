/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * No attacker: a network that carries MQTT under three VLAN tags, in LLC, PPPoE or MPLS, or behind
 * an authentication header. Alarms must not be missed without a word: it is read, or counted by
 * reason.
 */
#include "biplane/counters/mqtt.h"
#include "test.h"

#include <string.h>

#include "proto/net/frame.h"
#include "rig.h"

static struct rig rig;
static const uint8_t *around; /* bytes between the MAC addresses and the IP header */
static size_t around_len;
static bool with_ah;

static uint16_t ip4_sum(const uint8_t *ip)
{
	uint32_t sum = 0;

	for (unsigned i = 0; i < 20; i += 2)
		sum += (uint32_t)ip[i] << 8 | ip[i + 1];
	sum = (sum & 0xffff) + (sum >> 16);
	return (uint16_t) ~((sum & 0xffff) + (sum >> 16));
}

/* An untagged frame, and from its IP header on in `around`. */
static void send_around(struct peer *c, unsigned from, uint8_t flags, const void *payload, size_t n)
{
	static uint8_t plain[PEER_FRAME_MAX], out[PEER_FRAME_MAX];
	const size_t len =
		peer_frame(c, from, flags, c->seq[from], c->seq[!from], payload, n, plain);
	const size_t ip = c->ip6 ? 40 : 20;
	size_t at = 12 + around_len;

	c->seq[from] += (uint32_t)n + (flags & TH_SYN ? 1 : 0);
	memcpy(out, plain, 12);
	memcpy(out + 12, around, around_len);
	memcpy(out + at, plain + 14, ip);
	if (with_ah) { /* RFC 4302: next header, length in words less two, SPI, sequence, ICV */
		uint8_t *h = out + at, ah[24] = {6, 4, 0, 0, 0, 0, 1, 0, 0, 0, 0, 7};
		const uint16_t total = (uint16_t)(len - 14 + sizeof(ah) - (c->ip6 ? 40 : 0));

		h[c->ip6 ? 6 : 9] = 51;
		bp_put_be16(h + (c->ip6 ? 4 : 2), total);
		if (!c->ip6) {
			bp_put_be16(h + 10, 0);
			bp_put_be16(h + 10, ip4_sum(h));
		}
		memcpy(out + at + ip, ah, sizeof(ah));
		at += sizeof(ah);
	}
	memcpy(out + at + ip, plain + 14 + ip, len - 14 - ip);
	rig_frame(&rig, out, at + len - 14);
}

static void session(struct peer *c, const char *value)
{
	struct bytes b = {0};

	send_around(c, CLIENT, TH_SYN, NULL, 0);
	send_around(c, BROKER, TH_SYN | TH_ACK, NULL, 0);
	send_around(c, CLIENT, TH_ACK, NULL, 0);
	mq_connect(&b, 4, "c", 0);
	send_around(c, CLIENT, TH_ACK, b.p, b.n);
	bytes_free(&b);
	mq_connack(&b, 4, 0, 0, NULL);
	send_around(c, BROKER, TH_ACK, b.p, b.n);
	bytes_free(&b);
	mq_publish(&b, &(struct mq_publish){.version = 4, .topic = "t/x", .payload = value});
	send_around(c, CLIENT, TH_ACK, b.p, b.n);
	bytes_free(&b);
}

static void open_rig(void)
{
	rig_defaults(&rig);
	rig_open(&rig);
	rig_rules(&rig, (struct bp_rule_spec[]){rig_rule("r", "t/#", BP_COND_GT, 80)}, 1);
	with_ah = false;
}

struct around {
	const char *what;
	const char *bytes;
	size_t len;
	bool ip6, ah;
};
#define AROUND(what, ip6, ah, bytes)                                                               \
	{                                                                                          \
		what, bytes, sizeof(bytes) - 1, ip6, ah                                            \
	}
#define VLAN3 "\x88\xa8\x00\x01\x88\xa8\x00\x02\x81\x00\x00\x03"

static void is_read(void **state)
{
	static const struct around all[] = {
		AROUND("three tags", false, false, VLAN3 "\x08\x00"),
		AROUND("three tags, IPv6", true, false, VLAN3 "\x86\xdd"),
		AROUND("SNAP", false, false, "\x00\x40\xaa\xaa\x03\x00\x00\x00\x08\x00"),
		AROUND("SNAP, tagged", true, false,
			"\x81\x00\x00\x05\x00\x40\xaa\xaa\x03\x00\x00\x00\x86\xdd"),
		AROUND("PPPoE", false, false, "\x88\x64\x11\x00\x12\x34\x00\x40\x00\x21"),
		AROUND("PPPoE, IPv6", true, false, "\x88\x64\x11\x00\x12\x34\x00\x40\x00\x57"),
		AROUND("PPPoE, short protocol", false, false,
			"\x88\x64\x11\x00\x12\x34\x00\x40\x21"),
		AROUND("PPPoE, three tags", false, false,
			VLAN3 "\x88\x64\x11\x00\x12\x34\x00\x40\x00\x21"),
		AROUND("MPLS", false, false, "\x88\x47\x00\x01\x21\x40"),
		AROUND("MPLS, eight labels, IPv6", true, false,
			"\x88\x47\x00\x01\x20\x40\x00\x02\x20\x40\x00\x03\x20\x40\x00\x04\x20\x40"
			"\x00\x05\x20\x40\x00\x06\x20\x40\x00\x07\x20\x40\x00\x08\x21\x40"),
		AROUND("AH", false, true, "\x08\x00"),
		AROUND("AH, IPv6", true, true, "\x86\xdd"),
	};

	(void)state;
	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
		struct peer c;

		open_rig();
		around = (const uint8_t *)all[i].bytes;
		around_len = all[i].len;
		with_ah = all[i].ah;
		peer_init(&c, all[i].ip6, 1, 5, 6);
		session(&c, "81");
		if (strcmp(rig_told_values(&rig), "81") != 0)
			fail_msg("%s: no alarm", all[i].what);
		rig_close(&rig);
	}
}

static void is_counted(void **state)
{
	static const struct {
		struct around a;
		bp_counter_t counter;
	} all[] = {
		{AROUND("four tags", false, false, "\x88\xa8\x00\x09" VLAN3 "\x08\x00"),
			BP_C_NOT_INSPECTED_VLAN},
		{AROUND("LLC, IP's own point", false, false, "\x00\x40\x06\x06\x03"),
			BP_C_NOT_INSPECTED_LLC},
		{AROUND("SNAP, another OUI", false, false,
			 "\x00\x40\xaa\xaa\x03\x00\x00\xf8\x08\x00"),
			BP_C_NOT_INSPECTED_LLC},
		{AROUND("PPPoE, compressed", false, false,
			 "\x88\x64\x11\x00\x12\x34\x00\x40\x00\xfd"),
			BP_C_NOT_INSPECTED_PPPOE},
		{AROUND("MPLS, a pseudowire", false, false,
			 "\x88\x47\x00\x01\x21\x40\x00\x00\x00\x00"),
			BP_C_NOT_INSPECTED_MPLS},
		{AROUND("MPLS, nine labels", false, false,
			 "\x88\x47\x00\x01\x20\x40\x00\x02\x20\x40\x00\x03\x20\x40\x00\x04\x20\x40"
			 "\x00\x05\x20\x40\x00\x06\x20\x40\x00\x07\x20\x40\x00\x08\x20\x40"
			 "\x00\x09\x21\x40"),
			BP_C_NOT_INSPECTED_MPLS},
		{AROUND("IP in IP", false, false,
			 "\x08\x00\x45\x00\x01\x00\x00\x00\x00\x00\x40\x04\x00\x00\x01\x02\x03\x04"
			 "\x05\x06\x07\x08"),
			BP_C_NOT_INSPECTED_TUNNEL},
		{AROUND("ESP", false, false,
			 "\x86\xdd\x60\x00\x00\x00\x00\x40\x32\x40"
			 "0123456789abcdef0123456789abcdef"),
			BP_C_NOT_INSPECTED_TUNNEL},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
		struct peer c;

		open_rig();
		around = (const uint8_t *)all[i].a.bytes;
		around_len = all[i].a.len;
		peer_init(&c, all[i].a.ip6, 1, 5, 6);
		session(&c, "81");
		assert_int_equal(rig_told_count(&rig), 0);
		if (rig_count(&rig, all[i].counter) != 6)
			fail_msg("%s: %llu counted", all[i].a.what,
				(unsigned long long)rig_count(&rig, all[i].counter));
		rig_close(&rig);
	}
}

/* Two subscribers of a provider have the same private addresses and ports: two connections. */
static void sessions_are_independent(void **state)
{
	static const struct around pairs[][2] = {
		{AROUND("PPPoE", false, false, "\x88\x64\x11\x00\x12\x34\x00\x40\x00\x21"),
			AROUND("PPPoE", false, false, "\x88\x64\x11\x00\x12\x35\x00\x40\x00\x21")},
		{AROUND("tags", true, false, VLAN3 "\x86\xdd"),
			AROUND("tags", true, false,
				"\x88\xa8\x00\x01\x88\xa8\x00\x02\x81\x00\x00\x04\x86\xdd")},
	};

	(void)state;
	for (unsigned i = 0; i < 2; i++) {
		struct peer c[2];
		struct bytes b = {0};

		open_rig();
		for (unsigned k = 0; k < 2; k++) {
			around = (const uint8_t *)pairs[i][k].bytes;
			around_len = pairs[i][k].len;
			peer_init(&c[k], pairs[i][k].ip6, 1, 5 + 100000 * k, 6 + 100000 * k);
			session(&c[k], "81");
		}
		assert_string_equal(rig_told_values(&rig), "81 81");
		assert_int_equal(bp_mqtt_worker_flows(rig.in), 2);
		for (unsigned k = 0; k < 2; k++) {
			around = (const uint8_t *)pairs[i][k].bytes;
			mq_publish(&b,
				&(struct mq_publish){
					.version = 4, .topic = "t/x", .payload = k ? "83" : "82"});
			send_around(&c[k], CLIENT, TH_ACK, b.p, b.n);
			bytes_free(&b);
		}
		assert_string_equal(rig_told_values(&rig), "82 83");
		rig_close(&rig);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(is_read),
		cmocka_unit_test(is_counted),
		cmocka_unit_test(sessions_are_independent),
	};

	return cmocka_run_group_tests_name("tunnels", tests, NULL, NULL);
}
