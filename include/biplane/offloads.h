/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BIPLANE_OFFLOADS_H
#define BIPLANE_OFFLOADS_H

#include <stdint.h>

/*
 * Offloads of network cards that biplane can use: the setting of each in the configuration, port by
 * port, and the decision made at start.
 */
enum bp_offload {
	BP_OFFLOAD_RX_CHECKSUM,
	BP_OFFLOAD_TX_CHECKSUM,
	BP_OFFLOAD_TX_MULTI_SEGS,
	BP_OFFLOAD_RX_SCATTER,
	BP_OFFLOAD_RSS,
	BP_OFFLOAD_VLAN_STRIP,
	BP_OFFLOADS,
};

/* ports[].offloads; in the order of the schema's words. */
enum bp_offload_word {
	BP_OFFLOAD_AUTO, /* used where the device has it and there is a use for it */
	BP_OFFLOAD_ON,
	BP_OFFLOAD_OFF, /* not used, even if the device advertises it */
};

enum bp_offload_outcome {
	BP_OFFLOAD_UNUSED,   /* not used: not needed, or not supported */
	BP_OFFLOAD_HARDWARE, /* the device does it */
	BP_OFFLOAD_SOFTWARE, /* biplane does it */
	BP_OFFLOAD_OUTCOMES,
};

#define BP_OFFLOAD_WHY 126

/* One offload of one port. */
struct bp_port_offload {
	uint8_t word, outcome;
	char why[BP_OFFLOAD_WHY]; /* no sentence: "the device does not offer it" */
};

/* Names as in the configuration, and text for the other two; "?" for an invalid value. */
static inline const char *bp_offload_name(unsigned offload)
{
	static const char *const names[BP_OFFLOADS] = {
		[BP_OFFLOAD_RX_CHECKSUM] = "rx_checksum",
		[BP_OFFLOAD_TX_CHECKSUM] = "tx_checksum",
		[BP_OFFLOAD_TX_MULTI_SEGS] = "tx_multi_segs",
		[BP_OFFLOAD_RX_SCATTER] = "rx_scatter",
		[BP_OFFLOAD_RSS] = "rss",
		[BP_OFFLOAD_VLAN_STRIP] = "vlan_strip",
	};

	return offload < BP_OFFLOADS ? names[offload] : "?";
}

static inline const char *bp_offload_word_name(unsigned word)
{
	static const char *const names[] = {
		[BP_OFFLOAD_AUTO] = "auto", [BP_OFFLOAD_ON] = "on", [BP_OFFLOAD_OFF] = "off"};

	return word <= BP_OFFLOAD_OFF ? names[word] : "?";
}

static inline const char *bp_offload_outcome_name(unsigned outcome)
{
	static const char *const names[BP_OFFLOAD_OUTCOMES] = {
		[BP_OFFLOAD_UNUSED] = "unused",
		[BP_OFFLOAD_HARDWARE] = "hardware",
		[BP_OFFLOAD_SOFTWARE] = "software",
	};

	return outcome < BP_OFFLOAD_OUTCOMES ? names[outcome] : "?";
}

#endif
