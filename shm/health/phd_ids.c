/* SPDX-License-Identifier: BSD-3-Clause */
#include "shm/health/phd_ids.h"

#include <stdlib.h>
#include <string.h>

/*
 * All pairs of a row are used before the next row begins. So a row may begin again when the next
 * row began long enough ago, independent of the rate of the worker.
 */
static bool row_free(const struct bp_phd_ids *i, uint64_t row, uint32_t now_s)
{
	const uint32_t begun = i->time_s[(row + 1) % BP_PHD_MIDS];

	return begun == 0 || now_s - (begun - 1) > BP_PHD_ID_LIFETIME_S;
}

bool bp_phd_ids_take(struct bp_phd_ids *i, uint32_t n, uint32_t now_s, uint32_t *number)
{
	const uint64_t next = atomic_load_explicit(&i->next, memory_order_relaxed);
	const uint64_t all = (uint64_t)i->ports * BP_PHD_MIDS;
	uint64_t row, last;

	if (n == 0 || n > BP_PHD_MIDS || next >= all)
		return false;
	/* the first row begins with its first pair; an earlier begin remains valid */
	row = (next + i->ports - 1) / i->ports;
	last = (next + n - 1) / i->ports;
	for (uint64_t r = row; r <= last; r++) {
		if (!row_free(i, r % BP_PHD_MIDS, now_s))
			return false;
	}
	for (; row <= last; row++)
		i->time_s[row % BP_PHD_MIDS] = now_s + 1;
	*number = (uint32_t)next;
	atomic_store_explicit(
		&i->next, next + n < all ? next + n : next + n - all, memory_order_release);
	return true;
}

/* The last begin of each row over all workers, from the worker's own table: a row in progress
 * counts as used now. */
static void merge(uint32_t *time_s, const struct bp_phd_ids *i, uint32_t now_s)
{
	const uint64_t all = (uint64_t)i->ports * BP_PHD_MIDS, next = i->next;
	bool used = false;

	for (uint32_t row = 0; row < BP_PHD_MIDS; row++) {
		const uint32_t t = i->time_s[row] <= now_s + 1 ? i->time_s[row] : now_s + 1;

		used |= t != 0;
		if (t > time_s[row])
			time_s[row] = t;
	}
	if (used && i->ports != 0 && next < all) {
		const uint64_t row = (next + all - 1) % all / i->ports;

		time_s[(row + 1) % BP_PHD_MIDS] = now_s + 1;
	}
}

static uint32_t share(unsigned w, unsigned workers, uint32_t ports)
{
	return (uint32_t)((uint64_t)ports * w / workers);
}

static bool same_shares(
	const struct bp_phd_ids *ids, unsigned workers, uint16_t first, uint32_t ports)
{
	for (unsigned w = 0; w < workers; w++) {
		const uint32_t at = share(w, workers, ports);

		if (ids[w].first != first + at ||
			ids[w].ports != share(w + 1, workers, ports) - at ||
			ids[w].next >= (uint64_t)ids[w].ports * BP_PHD_MIDS)
			return false;
	}
	return true;
}

bool bp_phd_ids_setup(struct bp_phd_ids *ids, unsigned workers, uint16_t first, uint16_t last,
	uint16_t start, uint32_t now_s)
{
	const uint32_t ports = (uint32_t)last - first + 1;
	uint32_t *time_s;
	uint64_t begin = start;

	if (workers == 0 || last < first || ports < workers)
		return false;
	if (same_shares(ids, workers, first, ports))
		return true;
	time_s = calloc(BP_PHD_MIDS, sizeof(*time_s));
	if (!time_s)
		return false;
	for (unsigned w = 0; w < workers; w++)
		merge(time_s, &ids[w], now_s);
	/* the row that began first, so that all rows after it are older than those before it */
	for (uint32_t row = 0; row < BP_PHD_MIDS; row++) {
		if (time_s[(row + 1) % BP_PHD_MIDS] < time_s[(begin + 1) % BP_PHD_MIDS])
			begin = row;
	}
	for (unsigned w = 0; w < workers; w++) {
		const uint32_t at = share(w, workers, ports);

		/* with no ports it is to be set up again, should we die here */
		ids[w].ports = 0;
		memcpy(ids[w].time_s, time_s, sizeof(ids[w].time_s));
		ids[w].first = first + at;
		atomic_store(&ids[w].next, begin * (share(w + 1, workers, ports) - at));
		ids[w].ports = share(w + 1, workers, ports) - at;
	}
	free(time_s);
	return true;
}
