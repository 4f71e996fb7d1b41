/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_APPS_SIM_PHD_MDER_H
#define BP_APPS_SIM_PHD_MDER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Medical device encoding rules (ISO/IEEE 11073-20601, annex F): big-endian, without padding, most
 * lengths in 16 bits before their data. Independent of the gateway, whose codec must not verify
 * itself.
 */
struct sim_out {
	uint8_t *p;
	size_t size;
	size_t len;
	bool full; /* a field did not fit: the bytes are invalid */
};

void sim_put_u8(struct sim_out *o, uint8_t v);
void sim_put_u16(struct sim_out *o, uint16_t v);
void sim_put_u32(struct sim_out *o, uint32_t v);
void sim_put(struct sim_out *o, const void *p, size_t len);
/* A length of 16 bits that is not known yet; sim_close() sets it to the number of bytes put
 * since. */
size_t sim_open(struct sim_out *o);
void sim_close(struct sim_out *o, size_t opened);

/* A list with the number of its entries, and then its length in bytes. */
size_t sim_open_list(struct sim_out *o, size_t entries);

/* The remaining input. Reading past the end returns zeros and sets `bad`. */
struct sim_in {
	const uint8_t *p;
	size_t len;
	bool bad;
};

uint16_t sim_take_u16(struct sim_in *i);
uint32_t sim_take_u32(struct sim_in *i);
/* The next `len` bytes as an input of their own. */
struct sim_in sim_take(struct sim_in *i, size_t len);

#endif
