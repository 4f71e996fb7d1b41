/* SPDX-License-Identifier: BSD-3-Clause */
/* Offloads, buffers and queues of devices that a driver really makes, from attaching to starting.
 */
#include "config/config.h"
#include "tests/unit/dataplane/test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "dataplane/dpdk_compat.h"
#include "dataplane/ports/ports.h"
#include "dataplane/ports/ring_ports.h"

#define NULLS(a_, b_)                                                                              \
	"ports:\n"                                                                                 \
	"  - {name: a, device: net_null0" a_ "}\n"                                                 \
	"  - {name: b, device: net_null1" b_ "}\n"                                                 \
	"bridges: [{name: bridge0, ports: [a, b]}]\n"
#define OFFLOADS(text_) ", offloads: {" text_ "}"

/* The ports of a data plane; those of the previous test are closed. */
struct devices {
	struct bp_config *config;
	struct bp_port ports[BP_MAX_PORTS];
	struct bp_queue_plan plan;
	struct bp_pools pools;
	char err[512];
};

static int begin(struct devices *d, const char *yaml)
{
	memset(d, 0, sizeof(*d));
	d->config = bp_config_parse("test", yaml, strlen(yaml), stderr);
	assert_non_null(d->config);
	assert_int_equal(bp_ring_eal(d->err, sizeof(d->err)), 0);
	return bp_ports_attach(d->config, d->ports, d->err, sizeof(d->err));
}

static void plan(struct devices *d)
{
	struct bp_port_caps caps[BP_MAX_PORTS];

	for (unsigned p = 0; p < d->config->n_ports; p++)
		caps[p] = d->ports[p].caps;
	bp_queue_plan_make(d->config, caps, &d->plan);
	bp_ports_planned(d->config, d->ports, &d->plan);
}

static int choose(struct devices *d)
{
	if (bp_ports_choose(d->config, d->ports, d->err, sizeof(d->err)) != 0)
		return -1;
	plan(d);
	if (bp_pools_create(d->config, d->ports, &d->plan, &d->pools, d->err, sizeof(d->err)) != 0)
		return -1;
	bp_ports_limit(d->config, d->ports, &d->pools);
	return 0;
}

static int start(struct devices *d)
{
	return bp_ports_start(d->config, d->ports, &d->plan, &d->pools, d->err, sizeof(d->err));
}

static void end(struct devices *d)
{
	char name[RTE_ETH_NAME_MAX_LEN];

	for (unsigned p = 0; p < d->config->n_ports; p++) {
		assert_int_equal(bp_port_device_name((uint16_t)p, name), 0);
		rte_eth_dev_stop((uint16_t)p);
		assert_int_equal(rte_eal_hotplug_remove("vdev", name), 0);
	}
	bp_pools_free(&d->pools);
	bp_config_free(d->config);
}

static const struct bp_port_offload *of(
	const struct devices *d, unsigned port, enum bp_offload offload)
{
	return &d->ports[port].offloads.of[offload];
}

/* One worker, no jumbo frames: there is a use for nothing. */
static void no_action_is_needed(void **state)
{
	struct devices d;

	assert_int_equal(begin(&d, NULLS("", "")), 0);
	assert_int_equal(choose(&d), 0);
	assert_int_equal(start(&d), 0);
	for (unsigned p = 0; p < 2; p++) {
		assert_int_equal(d.ports[p].rx_offloads, 0);
		assert_int_equal(d.ports[p].tx_offloads & RTE_ETH_TX_OFFLOAD_MULTI_SEGS, 0);
		assert_int_equal(d.ports[p].tx_segments, 0);
		assert_false(d.ports[p].pieces);
		assert_int_equal(of(&d, p, BP_OFFLOAD_RSS)->outcome, BP_OFFLOAD_UNUSED);
		assert_int_equal(of(&d, p, BP_OFFLOAD_RX_SCATTER)->outcome, BP_OFFLOAD_UNUSED);
		assert_int_equal(of(&d, p, BP_OFFLOAD_TX_CHECKSUM)->outcome, BP_OFFLOAD_SOFTWARE);
	}
	assert_int_equal(d.pools.data_room, 2048 + RTE_PKTMBUF_HEADROOM);
	end(&d);
}

/* The port's name, its driver, what was said, and what is so. */
static void refusals_say_why(void **state)
{
	struct devices d;

	assert_int_equal(begin(&d, NULLS("", OFFLOADS("rx_scatter: on"))), 0);
	assert_int_equal(choose(&d), -1);
	assert_non_null(strstr(d.err, "port b (net_null1, driver net_null) has `offloads: "
				      "{rx_scatter: on}`, but its driver does not offer it"));
	end(&d);
	assert_int_equal(begin(&d, NULLS(OFFLOADS("tx_checksum: on"), "")), 0);
	assert_int_equal(choose(&d), -1);
	assert_non_null(strstr(d.err, "port a (net_null0, driver net_null) has `offloads: "
				      "{tx_checksum: on}`"));
	end(&d);
}

/* Without scatter a jumbo frame must fit one buffer, and does. */
static void jumbo_without_scatter(void **state)
{
	struct devices d;

	assert_int_equal(begin(&d, NULLS(", mtu: 9000", "")), 0);
	assert_int_equal(choose(&d), 0);
	assert_int_equal(of(&d, 0, BP_OFFLOAD_RX_SCATTER)->outcome, BP_OFFLOAD_SOFTWARE);
	assert_true(d.pools.data_room >= 9000 + 14 + 8 + RTE_PKTMBUF_HEADROOM);
	assert_true(bp_pools_fit(&d.pools, "net_null0", 9000));
	assert_false(d.ports[0].pieces);
	end(&d);
}

/* The driver of capture files makes mbuf chains: each output port must support them. */
static void pieces_of_another_port(void **state)
{
	static const uint8_t header[24] = {
		0xd4, 0xc3, 0xb2, 0xa1, 2, 0, 4, 0, [16] = 0xff, [17] = 0xff, [20] = 1};
	static const struct {
		const char *driver, *word; /* as what driver, "": any */
		enum bp_offload_outcome outcome;
	} rows[] = {
		{"net_null", "auto",
			BP_OFFLOAD_HARDWARE}, /* can, also where it does not offer it */
		{"net_null", "off", BP_OFFLOAD_SOFTWARE},
		{"", "auto", BP_OFFLOAD_SOFTWARE},
	};
	char path[] = "/tmp/biplane-ports-XXXXXX", yaml[512];
	int fd = mkstemp(path);
	struct devices d;

	assert_true(fd >= 0);
	assert_int_equal(write(fd, header, sizeof(header)), sizeof(header));
	close(fd);
	for (unsigned i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		snprintf(yaml, sizeof(yaml),
			"ports:\n"
			"  - {name: a, device: \"net_pcap0,rx_pcap=%s\"}\n"
			"  - {name: b, device: net_null0, mtu: 4000, offloads: {tx_multi_segs: "
			"%s}}\n"
			"bridges: [{name: bridge0, ports: [a, b]}]\n",
			path, rows[i].word);
		assert_int_equal(begin(&d, yaml), 0);
		d.ports[1].driver = bp_driver_find(rows[i].driver);
		/* from 25.11 on, this driver offers it */
		d.ports[1].info.tx_offload_capa &= ~RTE_ETH_TX_OFFLOAD_MULTI_SEGS;
		assert_int_equal(choose(&d), 0);
		if (start(&d) != 0)
			fail_msg("%s", d.err);
		assert_true(d.ports[1].pieces);
		assert_int_equal(of(&d, 1, BP_OFFLOAD_TX_MULTI_SEGS)->outcome, rows[i].outcome);
		assert_int_equal(d.ports[1].tx_offloads & RTE_ETH_TX_OFFLOAD_MBUF_FAST_FREE, 0);
		assert_int_equal(d.ports[1].tx_segments, rows[i].outcome == BP_OFFLOAD_SOFTWARE);
		/* linearized frames must fit */
		assert_true(bp_pools_fit(&d.pools, "b", 4000));
		end(&d);
	}
	unlink(path);
}

/* A device with a limit of segments per frame, and frames that may have more. */
static void limited_pieces(void **state)
{
	struct devices d;

	assert_int_equal(begin(&d, NULLS(", mtu: 9000", "")), 0);
	d.ports[0].info.rx_offload_capa |= RTE_ETH_RX_OFFLOAD_SCATTER;
	d.ports[0].info.max_mtu = 9000;
	d.ports[1].info.tx_desc_lim.nb_mtu_seg_max = 4;
	assert_int_equal(choose(&d), 0);
	assert_int_equal(d.ports[0].tx_segments, 0);
	assert_int_equal(d.ports[1].tx_segments, 4); /* 9000 bytes need 5 buffers of 2048 */
	d.ports[1].info.tx_desc_lim.nb_mtu_seg_max = 5;
	bp_ports_limit(d.config, d.ports, &d.pools);
	assert_int_equal(d.ports[1].tx_segments, 0);
	/* it may be given a larger MTU while it runs */
	d.ports[0].info.max_mtu = 12000;
	bp_ports_limit(d.config, d.ports, &d.pools);
	assert_int_equal(d.ports[1].tx_segments, 5);
	end(&d);
}

/* A driver that strips VLAN tags: 0 never, 1 until it is disabled, 2 always. The linker replaces
 * the calls by these (--wrap). */
static int stripping;
int __wrap_rte_eth_dev_get_vlan_offload(uint16_t port);
int __wrap_rte_eth_dev_set_vlan_offload(uint16_t port, int mask);

int __wrap_rte_eth_dev_get_vlan_offload(uint16_t port)
{
	return port == 1 && stripping != 0 ? RTE_ETH_VLAN_STRIP_OFFLOAD : 0;
}

int __wrap_rte_eth_dev_set_vlan_offload(uint16_t port, int mask)
{
	assert_int_equal(port, 1);
	assert_int_equal(mask, 0);
	if (stripping == 1)
		stripping = 0;
	return 0;
}

static void device_that_strips(void **state)
{
	static const struct {
		const char *word;
		int stripping;
		bool restored;
	} rows[] = {
		{"auto", 0, false},
		{"auto", 1, false},
		{"auto", 2, true},
		{"off", 2, false},
		{"on", 0, true},
		{"on", 2, true},
	};
	char yaml[512];
	struct devices d;

	for (unsigned i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		snprintf(yaml, sizeof(yaml), NULLS("", OFFLOADS("vlan_strip: %s")), rows[i].word);
		stripping = rows[i].stripping;
		assert_int_equal(begin(&d, yaml), 0);
		assert_int_equal(choose(&d), 0);
		assert_int_equal(start(&d), 0);
		assert_int_equal(d.ports[1].offloads.restore_tags, rows[i].restored);
		assert_int_equal(of(&d, 1, BP_OFFLOAD_VLAN_STRIP)->outcome,
			rows[i].restored ? BP_OFFLOAD_SOFTWARE : BP_OFFLOAD_UNUSED);
		assert_false(d.ports[0].offloads.restore_tags);
		end(&d);
	}
	stripping = 0;
}

#define SHARED "workers: 2\n"

/* As a driver that says that it takes any key, and takes none: net_null is one. */
static void pretend(struct devices *d)
{
	for (unsigned p = 0; p < 2; p++)
		d->ports[p].driver = bp_driver_find("");
}

static void device_that_ignores_the_key(void **state)
{
	struct devices d;

	assert_int_equal(begin(&d, SHARED NULLS("", "")), 0);
	pretend(&d);
	assert_int_equal(choose(&d), 0);
	assert_int_equal(d.plan.port[0].n_rx, 2);
	assert_int_equal(of(&d, 0, BP_OFFLOAD_RSS)->outcome, BP_OFFLOAD_HARDWARE);
	assert_int_equal(start(&d), 1);
	assert_string_equal(of(&d, 0, BP_OFFLOAD_RSS)->why, "it did not take the symmetric key");
	assert_true(d.ports[0].rss_refused);
	assert_false(d.ports[1].rss_refused);
	/* an offload that one port of a bridge lacks is used by none */
	plan(&d);
	assert_int_equal(start(&d), 0);
	for (unsigned p = 0; p < 2; p++) {
		assert_int_equal(d.plan.port[p].n_rx, 1);
		assert_int_equal(d.plan.port[p].rss, 0);
		assert_int_equal(of(&d, p, BP_OFFLOAD_RSS)->outcome, BP_OFFLOAD_UNUSED);
	}
	assert_non_null(strstr(of(&d, 1, BP_OFFLOAD_RSS)->why, "the driver of port a"));
	end(&d);
}

/* The second port of a bridge is the one, when the first runs already; a third, in no way
 * concerned, continues. */
static void second_device_that_ignores_the_key(void **state)
{
	struct bp_queue_plan before;
	struct devices d;

	assert_int_equal(
		begin(&d, SHARED
			"ports:\n  - {name: a, device: net_null0, "
			"offloads: {rss: on}}\n  - {name: c, device: net_null1, routed: {}}\n"
			"  - {name: b, device: net_null2}\n"
			"bridges: [{name: bridge0, ports: [a, b]}]\n"),
		0);
	d.ports[0].driver = d.ports[2].driver = bp_driver_find("");
	assert_int_equal(choose(&d), 0);
	assert_int_equal(d.plan.port[0].n_rx, 2);
	assert_int_equal(start(&d), 1);
	assert_true(d.ports[0].started && d.ports[1].started && !d.ports[2].started);
	before = d.plan;
	plan(&d);
	bp_ports_replanned(d.config, d.ports, &before, &d.plan);
	assert_true(!d.ports[0].started && d.ports[1].started && !d.ports[2].started);
	assert_int_equal(start(&d), 0);
	assert_int_equal(d.plan.port[0].n_rx, 1);
	assert_int_equal(d.plan.port[2].n_rx, 1);
	end(&d);
}

/* An explicit setting overrides the detection. */
static void device_that_is_trusted(void **state)
{
	struct devices d;

	assert_int_equal(begin(&d, SHARED NULLS(OFFLOADS("rss: on"), OFFLOADS("rss: on"))), 0);
	pretend(&d);
	assert_int_equal(choose(&d), 0);
	assert_int_equal(start(&d), 0);
	assert_int_equal(d.plan.port[0].n_rx, 2);
	assert_int_equal(of(&d, 0, BP_OFFLOAD_RSS)->outcome, BP_OFFLOAD_HARDWARE);
	assert_string_equal(
		of(&d, 0, BP_OFFLOAD_RSS)->why, "set on, though it did not take the symmetric key");
	end(&d);
}

static void device_without_offload_permission(void **state)
{
	struct devices d;

	assert_int_equal(begin(&d, SHARED NULLS("", OFFLOADS("rss: off"))), 0);
	pretend(&d);
	assert_int_equal(choose(&d), 0);
	assert_int_equal(d.plan.port[0].n_rx, 1);
	assert_string_equal(of(&d, 1, BP_OFFLOAD_RSS)->why, "set off");
	assert_non_null(strstr(of(&d, 0, BP_OFFLOAD_RSS)->why, "the driver of port b"));
	assert_int_equal(of(&d, 0, BP_OFFLOAD_RSS)->outcome, BP_OFFLOAD_UNUSED);
	assert_int_equal(start(&d), 0);
	end(&d);
}

/* RSS key and redirection table reported by a device. */
static void rss_is_checked(void **state)
{
	struct rte_eth_rss_reta_entry64 table[2] = {{0}};
	uint8_t key[BP_RSS_KEY_MAX];
	struct rte_eth_rss_conf conf;
	struct bp_port_queues q;
	struct devices d;

	assert_int_equal(begin(&d, SHARED NULLS("", "")), 0);
	pretend(&d);
	assert_int_equal(choose(&d), 0);
	assert_int_equal(start(&d), 1);
	assert_int_equal(rte_eth_dev_start(0), 0);
	q = d.plan.port[0];
	bp_ports_rss_conf(&d.ports[0], q.rss, key, &conf);
	assert_memory_equal(conf.rss_key, "\x6d\x5a\x6d\x5a", 4);
	assert_int_equal(rte_eth_dev_rss_hash_update(0, &conf), 0);
	assert_null(bp_ports_rss_check(&d.ports[0], 0, &q));
	table[0].mask = table[1].mask = UINT64_MAX;
	assert_int_equal(rte_eth_dev_rss_reta_query(0, table, d.ports[0].info.reta_size), 0);
	for (unsigned i = 0; i < 64; i++)
		assert_int_equal(table[0].reta[i], i % 2);
	key[5] ^= 1;
	assert_int_equal(rte_eth_dev_rss_hash_update(0, &conf), 0);
	assert_string_equal(
		bp_ports_rss_check(&d.ports[0], 0, &q), "it did not take the symmetric key");
	q.rss = 0;
	assert_null(bp_ports_rss_check(&d.ports[0], 0, &q));
	end(&d);
}

/* Partial checksums are left to a device only where nothing else can get the frame. */
static void checksums_are_not_touched(void **state)
{
#define MQTT "mqtt:\n  publisher: {broker: \"mqtt://127.0.0.1\"}\n"
	static const struct {
		const char *yaml;
		bool left;
	} rows[] = {
		{NULLS("", "") MQTT, true},
		/* no service asks for checksums, so partial ones do not come */
		{NULLS("", ""), false},
		{NULLS("", OFFLOADS("tx_checksum: off")) MQTT, false},
		{NULLS(OFFLOADS("rx_checksum: off"), "") MQTT, false},
		{"ports:\n  - {name: a, device: net_null0}\n  - {name: b, device: net_null1}\n"
		 "bridges:\n  - name: h\n    ports: [a, b]\n    host_interface: {}\n" MQTT,
			false},
		{NULLS("", "") MQTT "aggregation:\n  encapsulate:\n  - {port: a, to: {address: "
				    "10.0.0.1, udp_port: 5555}}\n",
			false},
		{NULLS("", "") MQTT
			"lcl:\n  ports:\n    - {port: b, slot: 10us, link_rate: 10Gbps}\n",
			false},
	};
	struct devices d;

	for (unsigned i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		assert_int_equal(begin(&d, rows[i].yaml), 0);
		d.ports[0].driver = bp_driver_find("net_virtio");
		d.ports[0].info.rx_offload_capa |=
			RTE_ETH_RX_OFFLOAD_TCP_CKSUM | RTE_ETH_RX_OFFLOAD_UDP_CKSUM;
		d.ports[1].info.tx_offload_capa |= BP_TX_CHECKSUMS;
		assert_int_equal(bp_ports_choose(d.config, d.ports, d.err, sizeof(d.err)), 0);
		if (d.ports[0].leaves_checksums != rows[i].left)
			fail_msg("row %u", i);
		assert_int_equal(d.ports[1].offloads.send_checksums, rows[i].left);
		assert_int_equal((d.ports[1].tx_offloads & BP_TX_CHECKSUMS) != 0, rows[i].left);
		assert_false(d.ports[1].leaves_checksums);
		assert_false(d.ports[0].offloads.send_checksums);
		end(&d);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(no_action_is_needed),
		cmocka_unit_test(refusals_say_why),
		cmocka_unit_test(jumbo_without_scatter),
		cmocka_unit_test(pieces_of_another_port),
		cmocka_unit_test(limited_pieces),
		cmocka_unit_test(device_that_strips),
		cmocka_unit_test(device_that_ignores_the_key),
		cmocka_unit_test(second_device_that_ignores_the_key),
		cmocka_unit_test(device_that_is_trusted),
		cmocka_unit_test(device_without_offload_permission),
		cmocka_unit_test(rss_is_checked),
		cmocka_unit_test(checksums_are_not_touched),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
