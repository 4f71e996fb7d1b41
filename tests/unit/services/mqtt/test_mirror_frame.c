/* SPDX-License-Identifier: BSD-3-Clause */
/* Frames of action mirror, read by tshark: a dissector that shares no code with what built them. */
#include "test.h"

#include <pcap/pcap.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "services/mqtt/mirror_frame.h"
#include "rig.h"

static struct rig rig;
static pcap_t *dead;
static pcap_dumper_t *dump;
static uint32_t mtu;
static unsigned n_mirrored;
static enum bp_mirror_result last_result;
static uint8_t last_original[PEER_FRAME_MAX];

static bool build(void *arg, const struct bp_mirror_request *r)
{
	const struct bp_mirror_target *to = &rig.rules->clone;
	struct pcap_pkthdr h = {0};
	uint8_t *out;
	uint32_t size;

	(void)arg;
	size = bp_mirror_frame_size(r, to, mtu, &last_result);
	if (size == 0)
		return false;
	out = malloc(size); /* of its very size: a byte too many is seen */
	memcpy(last_original, r->frame->data, r->frame->contiguous);
	bp_mirror_frame_build(r, to, out, size);
	assert_memory_equal(last_original, r->frame->data, r->frame->contiguous); /* untouched */
	h.caplen = h.len = size;
	h.ts.tv_sec = (time_t)++n_mirrored;
	pcap_dump((u_char *)dump, &h, out);
	free(out);
	return true;
}

static char path[32];

static void begin(void)
{
	struct bp_rule_spec rule = rig_rule("hot", "plant/#", BP_COND_GT, 80);
	struct bp_mirror_target *to = &rig.mqtt.mirror;
	static const uint8_t mac[] = {2, 0xed, 0x9e, 0, 0, 9}, ip4[] = {198, 51, 100, 7};
	int fd;

	rule.action = BP_ACTION_MIRROR;
	rig_defaults(&rig);
	rig.mqtt.directions = BP_DIRECTIONS_BOTH;
	to->enabled = to->has_ip4 = to->has_ip6 = true;
	memcpy(to->mac, mac, 6);
	memcpy(to->ip4, ip4, 4);
	to->ip6[0] = 0x20;
	to->ip6[1] = 0x01;
	to->ip6[2] = 0x0d;
	to->ip6[3] = 0xb8;
	to->ip6[15] = 9;
	to->tcp_port = 11883;
	rig_open(&rig);
	rig_rules(&rig, &rule, 1);
	bp_mqtt_worker_set_mirror(rig.in, build, NULL);
	mtu = 1500;
	n_mirrored = 0;
	snprintf(path, sizeof(path), "/tmp/biplane-clone-XXXXXX");
	fd = mkstemp(path);
	assert_true(fd >= 0);
	close(fd);
	dead = pcap_open_dead(DLT_EN10MB, 65535);
	dump = pcap_dump_open(dead, path);
	assert_non_null(dump);
}

/* One line a frame: the fields, separated by '|'. */
static char *dissect(unsigned version)
{
	static char out[65536];
	char command[1024];
	size_t n;
	FILE *p;

	pcap_dump_close(dump);
	pcap_close(dead);
	snprintf(command, sizeof(command),
		"tshark -r %s -d tcp.port==11883,mqtt -o ip.check_checksum:TRUE "
		"-o tcp.check_checksum:TRUE -o tcp.desegment_tcp_streams:FALSE -o "
		"tcp.analyze_sequence_numbers:FALSE "
		"-o 'mqtt.default_version:%s' -T fields -E "
		"separator='|' -E occurrence=a -e eth.src -e eth.dst -e ieee8021ad.id -e vlan.id "
		"-e ip.src -e ip.dst -e "
		"ipv6.src -e ipv6.dst -e ip.checksum.status -e tcp.srcport -e tcp.dstport -e "
		"tcp.seq_raw -e tcp.checksum.status -e mqtt.topic -e mqtt.qos -e mqtt.msgid -e "
		"mqtt.retain -e mqtt.property_id -e mqtt.msg -e tcp.len -e _ws.malformed "
		"2>/dev/null | sed 's/|False|/|0|/; s/|True|/|1|/'", /* as of tshark 4.4 */
		path, version == 5 ? "MQTT v5.0" : "MQTT v3.1.1");
	p = popen(command, "r");
	assert_non_null(p);
	n = fread(out, 1, sizeof(out) - 1, p);
	out[n] = 0;
	if (pclose(p) != 0 || n == 0)
		fail_msg("tshark did not read %s; is it installed?", path);
	unlink(path);
	rig_close(&rig);
	return out;
}

static void publish(struct peer *c, unsigned from, struct mq_publish p)
{
	p.topic = p.topic != NULL ? p.topic : "plant/oven/temperature";
	p.payload = p.payload != NULL ? p.payload : "81.5";
	rig_publish(&rig, c, from, &p);
}

static const char want_v4[] =
	"02:00:00:00:00:01|02:ed:9e:00:00:09|||10.0.0.1|198.51.100.7|||1|40001|11883|%u|1|"
	"alarm/plant/oven/temperature|0||0||38312e35|36|\n"
	"02:00:00:00:00:01|02:ed:9e:00:00:09||100|||fd00::2|2001:db8::9||40002|11883|%u|1|"
	"alarm/plant/oven/temperature|1|7|0||38312e35|38|\n"
	"02:00:00:00:00:01|02:ed:9e:00:00:09|100|200|10.0.0.3|198.51.100.7|||1|40003|11883|%u|1|"
	"alarm/plant/oven/temperature|2|7|1||38312e35|38|\n";
/* Properties but for the alias */
static const char want_v5[] =
	"02:00:00:00:00:01|02:ed:9e:00:00:09|||||fd00::2|2001:db8::9||40002|11883|%u|1|"
	"alarm/plant/oven/temperature|0||0|0x01,0x26|38312e35|46|\n"
	"02:00:00:00:00:01|02:ed:9e:00:00:09||100|10.0.0.3|198.51.100.7|||1|40003|11883|%u|1|"
	"alarm/plant/oven/temperature|1|7|0|0x01,0x26|38312e35|48|\n"
	"02:00:00:00:00:01|02:ed:9e:00:00:09|100|200|||fd00::4|2001:db8::9||40004|11883|%u|1|"
	"alarm/plant/oven/temperature|2|7|1|0x01,0x26|38312e35|48|\n";

static void read_by_tshark(void **state)
{
	static const uint8_t properties[] = {0x01, 1, 0x26, 0, 1, 'k', 0, 1, 'v'};

	(void)state;
	for (uint8_t version = 4; version <= 5; version++) {
		char want[4096];
		uint32_t seq[3];

		begin();
		for (unsigned i = 0; i < 3; i++) {
			struct peer c;

			peer_init(&c, (i + version) % 2, i + version - 3, 0xfffffff0u + i, 5);
			c.n_vlan = i;
			c.vlan[0] = 100;
			c.vlan[1] = 200;
			if (version == 5)
				rig_connect_alias(&rig, &c, "dev", 9, 9);
			else
				rig_connect(&rig, &c, version, "dev");
			seq[i] = c.seq[CLIENT];
			publish(&c, CLIENT,
				(struct mq_publish){.version = version,
					.qos = (uint8_t)i,
					.id = 7,
					.retain = i == 2,
					.alias = version == 5 ? 3 : 0,
					.properties = properties,
					.properties_len = version == 5 ? sizeof(properties) : 0});
		}
		assert_int_equal(n_mirrored, 3);
		snprintf(want, sizeof(want), version == 5 ? want_v5 : want_v4, seq[0], seq[1],
			seq[2]);
		assert_string_equal(dissect(version), want);
	}
}

/* A publication that is known by its alias only gets its whole topic; one in pieces is whole. */
static void by_alias_and_cut(void **state)
{
	struct bytes b = {0};
	struct peer c;
	char want[2048];
	uint32_t seq;

	(void)state;
	begin();
	peer_init(&c, false, 1, 100, 5);
	rig_connect_alias(&rig, &c, "dev", 9, 0);
	publish(&c, CLIENT, (struct mq_publish){.version = 5, .alias = 2, .payload = "1"});
	publish(&c, CLIENT, (struct mq_publish){.version = 5, .alias = 2, .topic = ""});
	mq_publish(
		&b, &(struct mq_publish){.version = 5, .alias = 2, .topic = "", .payload = "92"});
	mq_publish(&b, &(struct mq_publish){.version = 5, .topic = "plant/x", .payload = "93"});
	seq = c.seq[CLIENT];
	for (size_t i = 0; i < b.n; i++)
		rig_send(&rig, &c, CLIENT, b.p + i, 1);
	assert_int_equal(n_mirrored, 3);
	snprintf(want, sizeof(want),
		"02:00:00:00:00:01|02:ed:9e:00:00:09|||10.0.0.1|198.51.100.7|||1|40001|11883|%u|1|"
		"alarm/plant/oven/temperature|0||0||38312e35|37|\n"
		"02:00:00:00:00:01|02:ed:9e:00:00:09|||10.0.0.1|198.51.100.7|||1|40001|11883|%u|1|"
		"alarm/plant/oven/temperature|0||0||3932|35|\n"
		"02:00:00:00:00:01|02:ed:9e:00:00:09|||10.0.0.1|198.51.100.7|||1|40001|11883|%u|1|"
		"alarm/plant/x|0||0||3933|20|\n",
		seq - 12, seq, seq + 10);
	bytes_free(&b);
	assert_string_equal(dissect(5), want);
}

/*
 * Set off by a frame of the broker: a publication from there, and one of the client's that waited
 * behind lost bytes. Both come from the client, as all clones do.
 */
static void from_the_broker(void **state)
{
	static char payload[2000];
	struct bytes b = {0};
	struct peer c;
	char want[2048];
	uint32_t seq;

	(void)state;
	begin();
	peer_init(&c, false, 1, 100, 5);
	rig_connect(&rig, &c, 4, "dev");
	seq = c.seq[BROKER];
	publish(&c, BROKER, (struct mq_publish){.version = 4, .payload = "90"});
	memset(payload, ' ', sizeof(payload));
	mq_publish(&b, &(struct mq_publish){.version = 4,
			       .topic = "no",
			       .payload = payload,
			       .payload_len = sizeof(payload)});
	rig_send(&rig, &c, CLIENT, b.p, 500);
	c.seq[CLIENT] += (uint32_t)b.n - 500;
	bytes_free(&b);
	mq_publish(&b, &(struct mq_publish){.version = 4, .topic = "plant/y", .payload = "91"});
	rig_send(&rig, &c, CLIENT, b.p, b.n);
	assert_int_equal(n_mirrored, 1);
	rig_ack(&rig, &c, BROKER);
	assert_int_equal(n_mirrored, 2);
	snprintf(want, sizeof(want),
		"02:00:00:00:00:01|02:ed:9e:00:00:09|||10.0.0.1|198.51.100.7|||1|40001|11883|%u|1|"
		"alarm/plant/oven/temperature|0||0||3930|34|\n"
		"02:00:00:00:00:01|02:ed:9e:00:00:09|||10.0.0.1|198.51.100.7|||1|40001|11883|%u|1|"
		"alarm/plant/y|0||0||3931|19|\n",
		seq, c.seq[CLIENT] - (uint32_t)b.n);
	bytes_free(&b);
	assert_string_equal(dissect(4), want);
}

static void family_and_size(void **state)
{
	static char payload[3000];
	struct peer c4, c6;

	(void)state;
	begin();
	memset(payload, ' ', sizeof(payload));
	memcpy(payload, "99", 2);
	peer_init(&c4, false, 1, 100, 5);
	rig_connect(&rig, &c4, 4, "dev");
	peer_init(&c6, true, 2, 100, 5);
	rig_connect(&rig, &c6, 4, "dev");
	/* exactly the MTU, and one byte more: 20 + 20 + 3 + 2 + 28 + payload */
	for (unsigned over = 0; over < 2; over++) {
		publish(&c4, CLIENT,
			(struct mq_publish){.version = 4,
				.payload = payload,
				.payload_len = 1500 - 40 - 3 - 2 - 28 + over});
		assert_int_equal(n_mirrored, 1);
		assert_int_equal(last_result, over ? BP_MIRROR_E_SIZE : BP_MIRROR_OK);
		publish(&c6, CLIENT,
			(struct mq_publish){.version = 4,
				.payload = payload,
				.payload_len = 1500 - 60 - 3 - 2 - 28 + 1 + over});
		assert_int_equal(n_mirrored, 1);
		assert_int_equal(last_result, BP_MIRROR_E_SIZE);
	}
	/* an edge with one family only */
	rig.mqtt.mirror.has_ip6 = false;
	{
		struct bp_rule_spec rule = rig_rule("hot", "plant/#", BP_COND_GT, 80);

		rule.action = BP_ACTION_MIRROR;
		rig_rules(&rig, &rule, 1);
		publish(&c6, CLIENT, (struct mq_publish){.version = 4});
		assert_int_equal(last_result, BP_MIRROR_E_FAMILY);
		publish(&c4, CLIENT, (struct mq_publish){.version = 4});
		assert_int_equal(last_result, BP_MIRROR_OK);
		rig.mqtt.mirror.has_ip6 = true;
		rig.mqtt.mirror.has_ip4 = false;
		rig_rules(&rig, &rule, 1);
		publish(&c4, CLIENT, (struct mq_publish){.version = 4});
		assert_int_equal(last_result, BP_MIRROR_E_FAMILY);
		publish(&c6, CLIENT, (struct mq_publish){.version = 4});
		assert_int_equal(last_result, BP_MIRROR_OK);
	}
	/* a topic longer than the frame may be */
	{
		struct bp_rule_spec rule = rig_rule("hot", "#", BP_COND_GT, 80);
		static char topic[2200];

		rule.action = BP_ACTION_MIRROR;
		rig_rules(&rig, &rule, 1);
		memset(topic, 'a', sizeof(topic) - 1);
		mtu = 1500;
		publish(&c6, CLIENT, (struct mq_publish){.version = 4, .topic = topic});
		assert_int_equal(last_result, BP_MIRROR_E_SIZE);
	}
	assert_int_equal(n_mirrored, 3);
	dissect(4);
}

/* With an MTU of 65,535 of the output port: with the Ethernet header this exceeds the length field
 * of an mbuf. */
static void as_long_as_an_mbuf(void **state)
{
	static char payload[65536];
	struct peer c;

	(void)state;
	begin();
	mtu = 65535;
	peer_init(&c, false, 1, 1, 2);
	rig_connect(&rig, &c, 4, "c");
	memset(payload, ' ', sizeof(payload));
	memcpy(payload, "81.5", 4);
	for (size_t n = 65440; n < 65465; n++) {
		publish(&c, CLIENT,
			(struct mq_publish){.version = 4, .payload = payload, .payload_len = n});
		/* 14 + 20 + 20 of headers, 34 of MQTT */
		assert_int_equal(last_result, n + 88 <= 65535 ? BP_MIRROR_OK : BP_MIRROR_E_SIZE);
	}
	assert_int_equal(n_mirrored, 65535 - 88 - 65440 + 1);
	pcap_dump_close(dump);
	pcap_close(dead);
	unlink(path);
	rig_close(&rig);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(read_by_tshark),
		cmocka_unit_test(by_alias_and_cut),
		cmocka_unit_test(from_the_broker),
		cmocka_unit_test(family_and_size),
		cmocka_unit_test(as_long_as_an_mbuf),
	};

	return cmocka_run_group_tests_name("mirror_frame", tests, NULL, NULL);
}
