/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_APPS_SIM_PHD_MDER_H
#define BP_APPS_SIM_PHD_MDER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Octets as the medical device encoding rules have them (ISO/IEEE 11073-20601, annex F):
 * big-endian, without padding, most lengths in 16 bits before what they count. The simulator's own:
 * the gateway's codec must not judge itself.
 */
struct sim_out {
	uint8_t *p;
	size_t size;
	size_t len;
	bool full; /* something did not fit: the octets are worth nothing */
};

void sim_put_u8(struct sim_out *o, uint8_t v);
void sim_put_u16(struct sim_out *o, uint16_t v);
void sim_put_u32(struct sim_out *o, uint32_t v);
void sim_put(struct sim_out *o, const void *p, size_t len);
/* A length of 16 bits that is not known yet; sim_close() makes it count what was put since. */
size_t sim_open(struct sim_out *o);
void sim_close(struct sim_out *o, size_t opened);

/* A list counts its entries, and then its octets. */
size_t sim_open_list(struct sim_out *o, size_t entries);

/* What is left to read. Reading past the end gives zeros and says so in `bad`. */
struct sim_in {
	const uint8_t *p;
	size_t len;
	bool bad;
};

uint16_t sim_take_u16(struct sim_in *i);
uint32_t sim_take_u32(struct sim_in *i);
/* The next `len` octets as an input of their own. */
struct sim_in sim_take(struct sim_in *i, size_t len);

#endif
