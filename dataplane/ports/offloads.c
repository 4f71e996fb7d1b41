/* SPDX-License-Identifier: BSD-3-Clause */
#include "dataplane/ports/offloads.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <rte_ethdev.h>

#define RX_IP4 RTE_ETH_RX_OFFLOAD_IPV4_CKSUM
#define RX_L4 (RTE_ETH_RX_OFFLOAD_TCP_CKSUM | RTE_ETH_RX_OFFLOAD_UDP_CKSUM)

__attribute__((format(printf, 4, 5))) static void set(struct bp_offloads *o,
	enum bp_offload offload, enum bp_offload_outcome outcome, const char *why, ...)
{
	struct bp_port_offload *p = &o->of[offload];
	va_list ap;

	p->outcome = (uint8_t)outcome;
	va_start(ap, why);
	vsnprintf(p->why, sizeof(p->why), why, ap);
	va_end(ap);
}

static int refuse(enum bp_offload offload, const char *why, char *err, size_t err_size)
{
	snprintf(err, err_size,
		"has `offloads: {%s: on}`, but %s; set auto to use it where possible, or off",
		bp_offload_name(offload), why);
	return -1;
}

static const char not_offered[] = "its driver does not offer it";

static int decide_rx_checksum(const struct bp_offload_facts *f, enum bp_offload_word word,
	struct bp_offloads *o, char *err, size_t err_size)
{
	const enum bp_offload n = BP_OFFLOAD_RX_CHECKSUM;
	const enum bp_offload_outcome without =
		f->reads_checksums ? BP_OFFLOAD_SOFTWARE : BP_OFFLOAD_UNUSED;
	const uint64_t offered = f->rx_capa & (RX_IP4 | RX_L4);

	if (word == BP_OFFLOAD_ON && offered == 0)
		return refuse(n, not_offered, err, err_size);
	o->distrust = word == BP_OFFLOAD_OFF;
	if (word == BP_OFFLOAD_OFF) {
		set(o, n, without, "set off: what the device says of checksums does not count");
	} else if (word == BP_OFFLOAD_AUTO && !f->reads_checksums) {
		set(o, n, without, "no service on this gateway asks for it");
	} else if (offered == 0) {
		set(o, n, without, not_offered);
	} else if (word == BP_OFFLOAD_AUTO && f->software_checksum) {
		set(o, n, without,
			"the driver would compute them on the processor, of every frame");
	} else {
		o->rx |= offered;
		if ((offered & (RX_IP4 | RX_L4)) == (RX_IP4 | RX_L4))
			set(o, n, BP_OFFLOAD_HARDWARE, "IPv4 header, TCP, UDP");
		else
			set(o, n, BP_OFFLOAD_HARDWARE, "%s%s%s; the rest in software",
				offered & RX_IP4 ? "IPv4 header " : "",
				offered & RTE_ETH_RX_OFFLOAD_TCP_CKSUM ? "TCP " : "",
				offered & RTE_ETH_RX_OFFLOAD_UDP_CKSUM ? "UDP" : "");
	}
	/*
	 * a driver may report partial checksums without this offload; then the sender of the frame
	 * completes them
	 */
	o->partials = f->reports_partial && o->rx & RTE_ETH_RX_OFFLOAD_TCP_CKSUM;
	return 0;
}

static int decide_scatter(const struct bp_offload_facts *f, enum bp_offload_word word,
	struct bp_offloads *o, char *err, size_t err_size)
{
	const enum bp_offload n = BP_OFFLOAD_RX_SCATTER;
	const bool offered = f->rx_capa & RTE_ETH_RX_OFFLOAD_SCATTER;
	const bool jumbo = f->mtu > RTE_ETHER_MTU;
	const char *why = word == BP_OFFLOAD_OFF ? "set off"
			  : !offered             ? not_offered
				     : "not all devices of its driver scatter as it says";

	o->mtu = f->mtu;
	if (word == BP_OFFLOAD_ON && !offered)
		return refuse(n, not_offered, err, err_size);
	if (word == BP_OFFLOAD_ON ||
		(word == BP_OFFLOAD_AUTO && offered && jumbo && !f->one_buffer)) {
		o->rx |= RTE_ETH_RX_OFFLOAD_SCATTER;
		set(o, n, BP_OFFLOAD_HARDWARE, "frames longer than a buffer lie in several");
		return 0;
	}
	if (!jumbo) {
		set(o, n, BP_OFFLOAD_UNUSED, "a frame of MTU %" PRIu32 " fits a buffer", f->mtu);
		return 0;
	}
	if (f->room > f->capacity_max) {
		const uint32_t most = f->mtu - (f->room - f->capacity_max);

		if (f->mtu_given) {
			snprintf(err, err_size,
				"has MTU %" PRIu32
				" and receives without rx_scatter (%s), so that a "
				"frame must fit one buffer: set mtu to %" PRIu32 " or less%s",
				f->mtu, why, most,
				!offered        ? ""
				: f->one_buffer ? ", or rx_scatter to on"
						: ", or rx_scatter to auto");
			return -1;
		}
		o->mtu = most;
	}
	set(o, n, BP_OFFLOAD_SOFTWARE, "%s: buffers have room for a frame of MTU %" PRIu32, why,
		o->mtu);
	return 0;
}

static int decide_rss(const struct bp_offload_facts *f, enum bp_offload_word word,
	struct bp_offloads *o, char *err, size_t err_size)
{
	const enum bp_offload n = BP_OFFLOAD_RSS;
	const uint64_t types = f->rss_types & BP_RSS_TYPES;
	const char *why = NULL;

	if (f->fanout)
		why = "the kernel distributes the frames (PACKET_FANOUT_HASH)";
	else if (f->no_rss && types != 0)
		why = "its driver hashes by a key of its own, not by a symmetric one";
	else if (types == 0)
		why = "its driver does not offer it for IP addresses, TCP or UDP";
	if (word == BP_OFFLOAD_ON && why)
		return refuse(n, why, err, err_size);
	o->rss = 0;
	if (word == BP_OFFLOAD_OFF)
		set(o, n, BP_OFFLOAD_UNUSED, "set off");
	else if (why)
		set(o, n, BP_OFFLOAD_UNUSED, "%s", why);
	else if (!f->shares_out)
		set(o, n, BP_OFFLOAD_UNUSED, "there is one worker");
	if (word == BP_OFFLOAD_OFF || why || !f->shares_out)
		return 0;
	o->rss = types;
	set(o, n, BP_OFFLOAD_HARDWARE, "symmetric Toeplitz key");
	return 0;
}

static void decide_vlan_strip(enum bp_offload_word word, struct bp_offloads *o)
{
	const enum bp_offload n = BP_OFFLOAD_VLAN_STRIP;

	o->restore_tags = word == BP_OFFLOAD_ON;
	if (word == BP_OFFLOAD_ON)
		set(o, n, BP_OFFLOAD_SOFTWARE,
			"set on: tags that the device stripped are restored");
	else
		set(o, n, BP_OFFLOAD_UNUSED, "the device is configured to leave tags in frames");
}

int bp_offloads_receive(const struct bp_offload_facts *f, const uint8_t *word,
	struct bp_offloads *o, char *err, size_t err_size)
{
	memset(o, 0, sizeof(*o));
	for (unsigned i = 0; i < BP_OFFLOADS; i++)
		o->of[i].word = word[i];
	decide_vlan_strip(word[BP_OFFLOAD_VLAN_STRIP], o);
	if (decide_rx_checksum(f, word[BP_OFFLOAD_RX_CHECKSUM], o, err, err_size) != 0 ||
		decide_scatter(f, word[BP_OFFLOAD_RX_SCATTER], o, err, err_size) != 0)
		return -1;
	return decide_rss(f, word[BP_OFFLOAD_RSS], o, err, err_size);
}

static bool offers_tx_checksum(const struct bp_offload_facts *f)
{
	return (f->tx_capa & BP_TX_CHECKSUMS) == BP_TX_CHECKSUMS;
}

bool bp_offloads_may_send_checksums(const struct bp_offload_facts *f, const uint8_t *word)
{
	const uint8_t w = word[BP_OFFLOAD_TX_CHECKSUM];

	return offers_tx_checksum(f) &&
	       (w == BP_OFFLOAD_ON || (w == BP_OFFLOAD_AUTO && !f->software_checksum));
}

static int decide_tx_checksum(const struct bp_offload_facts *f, const uint8_t *word,
	struct bp_offloads *o, char *err, size_t err_size)
{
	const enum bp_offload n = BP_OFFLOAD_TX_CHECKSUM;
	const uint8_t w = word[n];

	if (w == BP_OFFLOAD_ON && !offers_tx_checksum(f))
		return refuse(n, "its driver does not offer it for TCP and UDP", err, err_size);
	o->send_checksums =
		bp_offloads_may_send_checksums(f, word) && (f->partials || w == BP_OFFLOAD_ON);
	if (o->send_checksums) {
		o->tx |= BP_TX_CHECKSUMS;
		set(o, n, BP_OFFLOAD_HARDWARE, "partial checksums of TCP and UDP");
	} else if (w == BP_OFFLOAD_OFF) {
		set(o, n, BP_OFFLOAD_SOFTWARE, "set off");
	} else if (!offers_tx_checksum(f)) {
		set(o, n, BP_OFFLOAD_SOFTWARE, not_offered);
	} else if (f->software_checksum) {
		set(o, n, BP_OFFLOAD_SOFTWARE,
			"the driver, too, would compute them on the processor");
	} else {
		set(o, n, BP_OFFLOAD_SOFTWARE, "kept right as frames change, which costs less");
	}
	return 0;
}

static int decide_tx_multi_segs(const struct bp_offload_facts *f, enum bp_offload_word word,
	struct bp_offloads *o, char *err, size_t err_size)
{
	const enum bp_offload n = BP_OFFLOAD_TX_MULTI_SEGS;
	const uint64_t bit = f->tx_capa & RTE_ETH_TX_OFFLOAD_MULTI_SEGS;
	const bool offered = bit != 0 || f->sends_chains;

	if (word == BP_OFFLOAD_ON && !offered)
		return refuse(n, not_offered, err, err_size);
	if (word == BP_OFFLOAD_ON || (word == BP_OFFLOAD_AUTO && offered && f->pieces)) {
		o->tx |= bit;
		set(o, n, BP_OFFLOAD_HARDWARE, "frames leave from the buffers that they lie in");
	} else if (f->pieces) {
		o->one_segment = true;
		set(o, n, BP_OFFLOAD_SOFTWARE, "%s: frames in pieces are put together",
			word == BP_OFFLOAD_OFF ? "set off" : not_offered);
	} else {
		set(o, n, BP_OFFLOAD_UNUSED, "every frame lies in one buffer");
	}
	return 0;
}

int bp_offloads_send(const struct bp_offload_facts *f, const uint8_t *word, struct bp_offloads *o,
	char *err, size_t err_size)
{
	o->tx = 0;
	if (decide_tx_checksum(f, word, o, err, err_size) != 0)
		return -1;
	return decide_tx_multi_segs(f, word[BP_OFFLOAD_TX_MULTI_SEGS], o, err, err_size);
}

void bp_offloads_no_rss(struct bp_offloads *o, const char *why)
{
	o->rss = 0;
	set(o, BP_OFFLOAD_RSS, BP_OFFLOAD_UNUSED, "%s", why);
}

void bp_offloads_insist_rss(struct bp_offloads *o, const char *why)
{
	set(o, BP_OFFLOAD_RSS, BP_OFFLOAD_HARDWARE, "set on, though %s", why);
}

void bp_offloads_strips(struct bp_offloads *o)
{
	if (o->of[BP_OFFLOAD_VLAN_STRIP].word == BP_OFFLOAD_OFF || o->restore_tags)
		return;
	o->restore_tags = true;
	set(o, BP_OFFLOAD_VLAN_STRIP, BP_OFFLOAD_SOFTWARE,
		"the device strips tags in any configuration; they are restored");
}
