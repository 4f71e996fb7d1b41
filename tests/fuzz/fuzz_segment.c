/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A worker with every service (tests/hostile/segment/gateway.h) while the parts that the control
 * plane writes are overwritten. The input selects what, between which bursts of traffic; then
 * everything is restored, so that each input begins with the same tables.
 *
 * An input is a list of steps. The lowest two bits of a step's first byte say which:
 *
 *   0, 1  overwrite: bits 2 and 3 the number of bytes (1, 2, 4, 8), bit 4 at a word that says
 *         something, else anywhere; a byte for the table, four for the place, then the bytes
 *   2     a burst: bits 2 to 4 of which traffic
 *   3     another generation: bits 2 to 4 of which plan
 */
#include "tests/hostile/segment/gateway.h"

#include "tests/fuzz/fuzz.h"

#define BURSTS_MAX 48u

static struct gateway gateway;

struct input {
	const uint8_t *p, *end;
};

static uint8_t take(struct input *in)
{
	return in->p < in->end ? *in->p++ : 0;
}

static uint32_t take32(struct input *in)
{
	uint32_t v = 0;

	for (unsigned i = 0; i < 4; i++)
		v = v << 8 | take(in);
	return v;
}

static void overwrite(struct input *in, uint8_t how)
{
	const unsigned n = 1u << (how >> 2 & 3), table = take(in) % gateway.n_tables;
	const struct gateway_table *t = &gateway.table[table];
	const uint32_t place = take32(in);
	uint64_t at = place % t->size;
	uint8_t bytes[8];

	if ((how & 0x10) && t->n_hot != 0)
		at = t->hot[(place >> 3) % t->n_hot] + (place & 7);
	for (unsigned i = 0; i < n; i++)
		bytes[i] = take(in);
	gateway_write(&gateway, table, at, bytes, n);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct input in = {data, data + size};
	unsigned bursts = 0;

	if (gateway.n_tables == 0)
		gateway_start(&gateway);
	while (in.p < in.end && bursts < BURSTS_MAX) {
		const uint8_t step = take(&in);

		switch (step & 3) {
		case 2:
			gateway_burst(&gateway, (step >> 2 & 7) % GW_TRAFFIC);
			bursts++;
			break;
		case 3:
			gateway_publish(&gateway, (step >> 2 & 7) % GW_PLANS);
			break;
		default:
			overwrite(&in, step);
			break;
		}
	}
	gateway_mend(&gateway);
	/* no buffer was lost, whatever became of the frames */
	HOLDS(gateway_drain(&gateway));
	return 0;
}
