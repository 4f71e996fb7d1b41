/* SPDX-License-Identifier: BSD-3-Clause */
/* Selection of offloads: capabilities of drivers, configuration, and the reported outcome. */
#include "tests/unit/dataplane/test.h"

#include <stdio.h>
#include <string.h>

#include <rte_ethdev.h>

#include "dataplane/ports/offloads.h"

#define RX_SUMS                                                                                    \
	(RTE_ETH_RX_OFFLOAD_IPV4_CKSUM | RTE_ETH_RX_OFFLOAD_TCP_CKSUM |                            \
		RTE_ETH_RX_OFFLOAD_UDP_CKSUM)
#define L4_SUMS (RTE_ETH_RX_OFFLOAD_TCP_CKSUM | RTE_ETH_RX_OFFLOAD_UDP_CKSUM)
#define SCATTER RTE_ETH_RX_OFFLOAD_SCATTER
#define PIECES RTE_ETH_TX_OFFLOAD_MULTI_SEGS
#define AUTO BP_OFFLOAD_AUTO
#define ON BP_OFFLOAD_ON
#define OFF BP_OFFLOAD_OFF
#define HARD BP_OFFLOAD_HARDWARE
#define SOFT BP_OFFLOAD_SOFTWARE
#define NONE BP_OFFLOAD_UNUSED
#define ERROR BP_OFFLOAD_OUTCOMES

struct row {
	enum bp_offload offload;
	struct bp_offload_facts f;
	enum bp_offload_word word;
	int outcome;     /* or ERROR */
	const char *why; /* a part of it, or of the error */
	uint64_t rx, tx; /* asked of the device */
};

static struct bp_offloads decide(const struct row *r, char *err, size_t err_size, int *rc)
{
	uint8_t word[BP_OFFLOADS] = {0};
	struct bp_offload_facts f = r->f;
	struct bp_offloads o;

	if (f.mtu == 0)
		f.mtu = 1500;
	f.room = f.mtu + 26;
	f.capacity_max = 65343;
	word[r->offload] = (uint8_t)r->word;
	*rc = bp_offloads_receive(&f, word, &o, err, err_size);
	if (*rc == 0)
		*rc = bp_offloads_send(&f, word, &o, err, err_size);
	return o;
}

static void expect(const struct row *rows, unsigned n)
{
	for (unsigned i = 0; i < n; i++) {
		const struct row *r = &rows[i];
		char err[256] = "", where[64];
		int rc;
		struct bp_offloads o = decide(r, err, sizeof(err), &rc);
		const char *why = rc == 0 ? o.of[r->offload].why : err;
		int outcome = rc == 0 ? o.of[r->offload].outcome : ERROR;

		snprintf(where, sizeof(where), "row %u, %s", i, bp_offload_name(r->offload));
		if (outcome != r->outcome || !strstr(why, r->why))
			fail_msg("%s: %s \"%s\", not %s \"%s\"", where,
				bp_offload_outcome_name((unsigned)outcome), why,
				bp_offload_outcome_name((unsigned)r->outcome), r->why);
		if (rc != 0)
			continue;
		assert_int_equal(o.of[r->offload].word, r->word);
		if (o.rx != r->rx || o.tx != r->tx)
			fail_msg("%s: asks for %lx and %lx", where, (unsigned long)o.rx,
				(unsigned long)o.tx);
	}
}
#define EXPECT(rows_) expect(rows_, sizeof(rows_) / sizeof((rows_)[0]))

static void rx_checksum(void **state)
{
#define ROW(word_, outcome_, why_, rx_, ...)                                                       \
	{                                                                                          \
		BP_OFFLOAD_RX_CHECKSUM, {__VA_ARGS__}, word_, outcome_, why_, rx_, 0               \
	}
	static const struct row rows[] = {
		ROW(AUTO, HARD, "IPv4 header, TCP, UDP", RX_SUMS, .rx_capa = RX_SUMS | SCATTER,
			.reads_checksums = true),
		ROW(AUTO, HARD, "TCP UDP; the rest in software", L4_SUMS, .rx_capa = L4_SUMS,
			.reads_checksums = true),
		ROW(AUTO, SOFT, "does not offer", 0, .reads_checksums = true),
		ROW(AUTO, NONE, "no service", 0, .rx_capa = RX_SUMS),
		ROW(AUTO, SOFT, "on the processor", 0, .rx_capa = RX_SUMS, .reads_checksums = true,
			.software_checksum = true),
		ROW(ON, HARD, "IPv4", RX_SUMS, .rx_capa = RX_SUMS, .reads_checksums = true,
			.software_checksum = true),
		ROW(ON, HARD, "IPv4", RX_SUMS, .rx_capa = RX_SUMS),
		ROW(ON, ERROR, "`offloads: {rx_checksum: on}`, but its driver does not offer it", 0,
			.reads_checksums = true, .rx_capa = SCATTER),
		ROW(OFF, SOFT, "does not count", 0, .rx_capa = RX_SUMS, .reads_checksums = true),
		ROW(OFF, NONE, "does not count", 0, .rx_capa = RX_SUMS),
	};
#undef ROW
	EXPECT(rows);
}

static void tx_checksum(void **state)
{
#define ROW(word_, outcome_, why_, tx_, ...)                                                       \
	{                                                                                          \
		BP_OFFLOAD_TX_CHECKSUM, {__VA_ARGS__}, word_, outcome_, why_, 0, tx_               \
	}
	static const struct row rows[] = {
		ROW(AUTO, HARD, "partial", BP_TX_CHECKSUMS, .tx_capa = BP_TX_CHECKSUMS,
			.partials = true),
		ROW(AUTO, SOFT, "costs less", 0, .tx_capa = BP_TX_CHECKSUMS),
		ROW(AUTO, SOFT, "does not offer", 0, .partials = true),
		/* one of both is not enough */
		ROW(AUTO, SOFT, "does not offer", 0, .partials = true,
			.tx_capa = RTE_ETH_TX_OFFLOAD_TCP_CKSUM),
		ROW(AUTO, SOFT, "on the processor", 0, .tx_capa = BP_TX_CHECKSUMS, .partials = true,
			.software_checksum = true),
		ROW(ON, HARD, "partial", BP_TX_CHECKSUMS, .tx_capa = BP_TX_CHECKSUMS | PIECES),
		ROW(ON, ERROR, "{tx_checksum: on}", 0, .tx_capa = RTE_ETH_TX_OFFLOAD_UDP_CKSUM),
		ROW(OFF, SOFT, "set off", 0, .tx_capa = BP_TX_CHECKSUMS, .partials = true),
	};
#undef ROW
	EXPECT(rows);
}

static void tx_multi_segs(void **state)
{
#define ROW(word_, outcome_, why_, tx_, ...)                                                       \
	{                                                                                          \
		BP_OFFLOAD_TX_MULTI_SEGS, {__VA_ARGS__}, word_, outcome_, why_, 0, tx_             \
	}
	static const struct row rows[] = {
		ROW(AUTO, HARD, "from the buffers", PIECES, .tx_capa = PIECES, .pieces = true),
		ROW(AUTO, NONE, "one buffer", 0, .tx_capa = PIECES),
		ROW(AUTO, SOFT, "does not offer it: frames in pieces are put", 0, .pieces = true),
		/* it can, and does not say so: it would refuse to be asked */
		ROW(AUTO, HARD, "from the buffers", 0, .sends_chains = true, .pieces = true),
		ROW(OFF, SOFT, "set off", 0, .sends_chains = true, .pieces = true),
		ROW(ON, HARD, "from the buffers", PIECES, .tx_capa = PIECES),
		ROW(ON, ERROR, "{tx_multi_segs: on}", 0, .pieces = true),
		ROW(OFF, SOFT, "set off: frames in pieces are put", 0, .tx_capa = PIECES,
			.pieces = true),
		ROW(OFF, NONE, "one buffer", 0, .tx_capa = PIECES),
	};
#undef ROW
	EXPECT(rows);
}

static void scatter_follows_mtu_and_capability(void **state)
{
#define ROW(word_, outcome_, why_, rx_, ...)                                                       \
	{                                                                                          \
		BP_OFFLOAD_RX_SCATTER, {__VA_ARGS__}, word_, outcome_, why_, rx_, 0                \
	}
	static const struct row rows[] = {
		ROW(AUTO, NONE, "MTU 1500 fits", 0, .rx_capa = SCATTER),
		ROW(AUTO, HARD, "several", SCATTER, .rx_capa = SCATTER, .mtu = 9000),
		ROW(AUTO, SOFT, "room for a frame of MTU 9000", 0, .mtu = 9000),
		ROW(OFF, SOFT, "set off: buffers", 0, .rx_capa = SCATTER, .mtu = 9000),
		ROW(OFF, NONE, "MTU 1500 fits", 0, .rx_capa = SCATTER),
		ROW(ON, HARD, "several", SCATTER, .rx_capa = SCATTER),
		ROW(ON, ERROR, "{rx_scatter: on}", 0, .mtu = 9000),
		ROW(AUTO, ERROR, "set mtu to 65317 or less", 0, .mtu = 65500, .mtu_given = true),
		ROW(OFF, ERROR, "65317 or less, or rx_scatter to auto", 0, .mtu = 65500,
			.mtu_given = true, .rx_capa = SCATTER),
		ROW(AUTO, HARD, "several", SCATTER, .rx_capa = SCATTER, .mtu = 65500,
			.mtu_given = true),
		ROW(AUTO, SOFT, "MTU 65317", 0, .mtu = 65500),
		ROW(AUTO, SOFT, "not all devices", 0, .rx_capa = SCATTER, .mtu = 9000,
			.one_buffer = true),
		ROW(ON, HARD, "several", SCATTER, .rx_capa = SCATTER, .mtu = 9000,
			.one_buffer = true),
		ROW(AUTO, ERROR, "or rx_scatter to on", 0, .rx_capa = SCATTER, .mtu = 65500,
			.mtu_given = true, .one_buffer = true),
	};
#undef ROW
	EXPECT(rows);
}

static void rss_follows_workers_and_capability(void **state)
{
#define IP (RTE_ETH_RSS_IPV4 | RTE_ETH_RSS_IPV6)
#define ROW(word_, outcome_, why_, ...)                                                            \
	{                                                                                          \
		BP_OFFLOAD_RSS, {__VA_ARGS__}, word_, outcome_, why_, 0, 0                         \
	}
	static const struct row rows[] = {
		ROW(AUTO, HARD, "symmetric", .rss_types = IP, .shares_out = true),
		ROW(AUTO, NONE, "one worker", .rss_types = IP),
		ROW(AUTO, NONE, "does not offer", .shares_out = true),
		/* over what is no use */
		ROW(AUTO, NONE, "does not offer", .rss_types = RTE_ETH_RSS_L2_PAYLOAD,
			.shares_out = true),
		ROW(AUTO, NONE, "key of its own", .rss_types = IP, .shares_out = true,
			.no_rss = true),
		ROW(AUTO, NONE, "PACKET_FANOUT_HASH", .shares_out = true, .fanout = true),
		ROW(ON, HARD, "symmetric", .rss_types = IP, .shares_out = true),
		ROW(ON, ERROR, "{rss: on}", .shares_out = true),
		ROW(ON, ERROR, "key of its own", .rss_types = IP, .no_rss = true),
		ROW(ON, ERROR, "PACKET_FANOUT_HASH", .fanout = true),
		ROW(OFF, NONE, "set off", .rss_types = IP, .shares_out = true),
	};
#undef ROW
	char err[256];
	int rc;
	struct bp_offloads o = decide(&rows[0], err, sizeof(err), &rc);

	EXPECT(rows);
	assert_int_equal(o.rss, IP);
	o = decide(&rows[10], err, sizeof(err), &rc);
	assert_int_equal(o.rss, 0);
	/* it turns out that the device does not do it */
	o = decide(&rows[0], err, sizeof(err), &rc);
	bp_offloads_no_rss(&o, "it lies");
	assert_int_equal(o.rss, 0);
	assert_int_equal(o.of[BP_OFFLOAD_RSS].outcome, NONE);
	assert_string_equal(o.of[BP_OFFLOAD_RSS].why, "it lies");
}

/* Whether VLAN tags are read, by setting, before and after the device reports that it strips them.
 */
static void vlan_strip(void **state)
{
	static const struct {
		enum bp_offload_word word;
		bool before, after;
		int outcome, outcome_after;
	} rows[] = {
		{AUTO, false, true, NONE, SOFT},
		{ON, true, true, SOFT, SOFT},
		{OFF, false, false, NONE, NONE},
	};

	for (unsigned i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const struct row r = {.offload = BP_OFFLOAD_VLAN_STRIP,
			.f = {.rx_capa = RTE_ETH_RX_OFFLOAD_VLAN_STRIP},
			.word = rows[i].word};
		char err[256];
		int rc;
		struct bp_offloads o = decide(&r, err, sizeof(err), &rc);

		assert_int_equal(rc, 0);
		assert_int_equal(o.rx, 0); /* never asked for */
		assert_int_equal(o.restore_tags, rows[i].before);
		assert_int_equal(o.of[BP_OFFLOAD_VLAN_STRIP].outcome, rows[i].outcome);
		bp_offloads_strips(&o);
		assert_int_equal(o.restore_tags, rows[i].after);
		assert_int_equal(o.of[BP_OFFLOAD_VLAN_STRIP].outcome, rows[i].outcome_after);
	}
}

/* Partial checksums come from drivers that report the offload, while it is enabled. */
static void partial_checksums(void **state)
{
	struct row r = {.offload = BP_OFFLOAD_RX_CHECKSUM,
		.f = {.rx_capa = L4_SUMS, .reads_checksums = true, .reports_partial = true}};
	char err[256];
	int rc;

	assert_true(decide(&r, err, sizeof(err), &rc).partials);
	assert_false(decide(&r, err, sizeof(err), &rc).distrust);
	r.word = OFF;
	assert_false(decide(&r, err, sizeof(err), &rc).partials);
	assert_true(decide(&r, err, sizeof(err), &rc).distrust);
	r.word = AUTO;
	r.f.reports_partial = false;
	assert_false(decide(&r, err, sizeof(err), &rc).partials);
	r.f.reports_partial = true;
	r.f.rx_capa = RTE_ETH_RX_OFFLOAD_IPV4_CKSUM;
	assert_false(decide(&r, err, sizeof(err), &rc).partials);
}

static void offloads_have_names(void **state)
{
	assert_string_equal(bp_offload_name(BP_OFFLOAD_RX_CHECKSUM), "rx_checksum");
	assert_string_equal(bp_offload_name(BP_OFFLOAD_VLAN_STRIP), "vlan_strip");
	assert_string_equal(bp_offload_name(BP_OFFLOADS), "?");
	assert_string_equal(bp_offload_word_name(BP_OFFLOAD_OFF), "off");
	assert_string_equal(bp_offload_word_name(3), "?");
	assert_string_equal(bp_offload_outcome_name(BP_OFFLOAD_SOFTWARE), "software");
	assert_string_equal(bp_offload_outcome_name(BP_OFFLOAD_OUTCOMES), "?");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(rx_checksum),
		cmocka_unit_test(tx_checksum),
		cmocka_unit_test(tx_multi_segs),
		cmocka_unit_test(scatter_follows_mtu_and_capability),
		cmocka_unit_test(rss_follows_workers_and_capability),
		cmocka_unit_test(vlan_strip),
		cmocka_unit_test(partial_checksums),
		cmocka_unit_test(offloads_have_names),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
