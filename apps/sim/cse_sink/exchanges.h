/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_APPS_SIM_CSE_SINK_EXCHANGES_H
#define BP_APPS_SIM_CSE_SINK_EXCHANGES_H

#include <stdbool.h>
#include <stdint.h>

#define SINK_EXCHANGE_LIFETIME_S 247u /* RFC 7252, 4.8.2 */

/* Responses by (source address, source port, message id) of the last 247 s. */
struct sink_exchange {
	uint64_t peer;    /* hash of address and port, and the message id; 0: free */
	uint64_t content; /* hash of the request's bytes */
	uint32_t time_s;
	uint16_t rsc;
	uint8_t code;
};

struct sink_exchanges {
	struct sink_exchange *slot;
	uint32_t size, used; /* size is a power of two */
	uint64_t unchecked;  /* requests that did not fit */
};

bool sink_exchanges_make(struct sink_exchanges *e);
/* The exchange of this pair; a new one has code 0. NULL: the table is full, which is counted. */
struct sink_exchange *sink_exchange(
	struct sink_exchanges *e, uint64_t address_and_port, uint16_t mid, uint32_t now_s);
uint64_t sink_hash(const void *p, uint64_t len);

#endif
