/* SPDX-License-Identifier: BSD-3-Clause */
#include "tests/fuzz/fuzz.h"

#include <stdlib.h>
#include <string.h>

#include "controlplane/transform/transform_messages.h"
#include "shm/transform/transform_writer.h"
#include "proto/transform/transform_matrix.h"
#include "config/segment.h"

/*
 * Input of a client of the matrix loader, in any segmentation: the whole input and the same input
 * byte by byte give the same messages, and the bank remains readable after each change. The bank
 * has two rules and few entries.
 */
#define MATRICES 4u

static uint8_t bank_memory[1 << 20] __attribute__((aligned(128)));

static struct bp_transform_view bank(_Atomic uint32_t *next_uid)
{
	static struct bp_config *c;
	static struct bp_transform_config file = {
		.n_rules = 2, .rule[1] = {.udp = 1, .allow_singular = true}};
	struct bp_transform_bank *b = (struct bp_transform_bank *)(void *)bank_memory;
	char err[256];

	if (c == NULL) {
		c = calloc(1, sizeof(*c));
		c->n_ports = 1;
		for (unsigned i = 0; i < 2; i++)
			file.rule[i].layout.length = 64;
	}
	HOLDS(bp_transform_bank_size(MATRICES) <= sizeof(bank_memory));
	HOLDS(bp_transform_build(b, MATRICES, &file, bp_config_ports_key(c), NULL, 1, 2, next_uid,
		      3, err, sizeof(err)) == 0);
	return bp_transform_view_at(b, MATRICES);
}

/* Takes what there is; how many bytes that was. */
static size_t take(const uint8_t *data, size_t n, const struct bp_transform_view *v,
	_Atomic uint32_t *next_uid, unsigned *messages, bool *ended)
{
	size_t taken = 0;

	while (!*ended) {
		struct bp_prefix source;
		double m[12], in_force[12];
		const enum bp_loader_next next =
			bp_loader_next(data + taken, n - taken, &source, m);

		*ended = next == BP_LOADER_EXIT;
		if (next == BP_LOADER_EXIT || next == BP_LOADER_MORE)
			break;
		HOLDS(n - taken >= BP_TRANSFORM_LOADER_MESSAGE);
		HOLDS(source.family == 4 && source.length == 32);
		for (unsigned rule = 0; next == BP_LOADER_MATRIX && rule < 2; rule++) {
			const enum bp_transform_set rc =
				bp_transform_set(v, rule, &source, 0, m, true, next_uid);
			const uint32_t s = bp_transform_lookup(v, rule, 4, source.bytes);

			if (rc != BP_TRANSFORM_SET_DONE)
				continue;
			HOLDS(s != UINT32_MAX);
			bp_transform_row_read(&v->row[v->source[s].first], in_force);
			HOLDS(same_bytes(in_force, m, sizeof(m)));
		}
		taken += BP_TRANSFORM_LOADER_MESSAGE;
		++*messages;
	}
	return taken;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	_Atomic uint32_t next_uid = 0;
	const struct bp_transform_view v = bank(&next_uid);
	unsigned at_once = 0, in_pieces = 0;
	bool ended = false;
	size_t begin = 0;

	take(data, len, &v, &next_uid, &at_once, &ended);
	HOLDS(bp_transform_valid(v.bank, MATRICES));
	ended = false;
	for (size_t end = 0; end <= len && !ended; end++)
		begin += take(data + begin, end - begin, &v, &next_uid, &in_pieces, &ended);
	/* "exit" is recognised only if a read has nothing else, which happens with pieces only */
	HOLDS(ended || at_once == in_pieces);
	HOLDS(in_pieces <= at_once + ended);
	return 0;
}
