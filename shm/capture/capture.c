/* SPDX-License-Identifier: BSD-3-Clause */
#include "shm/capture/capture.h"

#include <stddef.h>

_Static_assert(sizeof(struct bp_capture_request) % 8 == 0, "a seqlock copies words");
_Static_assert(offsetof(struct bp_capture_slot, request) == sizeof(struct bp_seqlock),
	"the value follows its lock");

const char *const bp_capture_engine_names[BP_CAPTURE_ENGINES] = {
	[BP_CAPTURE_NO_FILTER] = "none",
	[BP_CAPTURE_NATIVE] = "native code",
	[BP_CAPTURE_INTERPRETER] = "interpreter",
};

const char *bp_capture_request_invalid(const struct bp_capture_request *r)
{
	if (r->kind >= BP_CAPTURE_KINDS)
		return "its kind is unknown";
	if (r->snap_length == 0 || r->snap_length > BP_CAPTURE_SNAP_MAX)
		return "the snap length is not 1 to 65535 bytes";
	if (r->rx > 1 || r->tx > 1 || r->drops > 1)
		return "a direction is unknown";
	if (r->kind == BP_CAPTURE_TRACE && r->frames > BP_CAPTURE_TRACED_MAX)
		return "a trace follows at most 1000 frames";
	if (r->n_insns == 0)
		return NULL;
	return bp_capture_filter_invalid(r->insn, r->n_insns);
}

uint32_t bp_capture_request_cost(const struct bp_capture_request *r)
{
	return bp_capture_filter_cost(r->insn, r->n_insns);
}

/* Rings begin at cache lines. */
static uint64_t stride(uint64_t capacity)
{
	return BP_CAPTURE_RING_OVERHEAD + capacity;
}

uint64_t bp_capture_rings_size(uint64_t workers, uint64_t capacity)
{
	return workers * stride(capacity);
}

bool bp_capture_rings_agree(uint64_t size, uint64_t workers, uint64_t *capacity)
{
	uint64_t each;

	if (workers == 0 || size % workers != 0 || size / workers < stride(0))
		return false;
	each = size / workers - stride(0);
	*capacity = each;
	return each == 0 || ((each & (each - 1)) == 0 && each >= BP_CAPTURE_RING_MIN &&
				    each <= BP_CAPTURE_RING_MAX);
}
