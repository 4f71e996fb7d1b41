/* SPDX-License-Identifier: BSD-3-Clause */
#include "shm/history.h"

_Static_assert(BP_HISTOGRAM_BUCKETS % 2 == 0, "two buckets a word");

#define READ_ATTEMPTS 100

static uint64_t sample_words(uint64_t ports, uint64_t workers)
{
	return BP_HISTORY_VALUES + ports * BP_HISTORY_PORT_VALUES +
	       workers * BP_HISTORY_WORKER_VALUES + BP_HISTORY_DELAYS;
}

/* A row is a seqlock and a sample. */
static uint64_t row_words(uint64_t ports, uint64_t workers)
{
	return 1 + sample_words(ports, workers);
}

uint64_t bp_history_capacity(uint64_t rows, uint64_t ports, uint64_t workers)
{
	const uint64_t bounded = rows < BP_HISTORY_ROWS_MAX ? rows : BP_HISTORY_ROWS_MAX;

	return BP_HISTORY_HEADER + bounded * row_words(ports, workers);
}

bool bp_history_size_agrees(uint64_t capacity, uint64_t ports, uint64_t workers)
{
	return ports <= BP_MAX_PORTS && workers <= BP_MAX_WORKERS &&
	       capacity >= BP_HISTORY_HEADER &&
	       capacity <= bp_history_capacity(BP_HISTORY_ROWS_MAX, ports, workers) &&
	       (capacity - BP_HISTORY_HEADER) % row_words(ports, workers) == 0;
}

void bp_history_map(
	struct bp_history *h, void *table, uint64_t capacity, uint32_t ports, uint32_t workers)
{
	*h = (struct bp_history){
		.header = table,
		.rows = (uint64_t *)table + BP_HISTORY_HEADER,
		.n_rows = (uint32_t)((capacity - BP_HISTORY_HEADER) / row_words(ports, workers)),
		.ports = ports,
		.workers = workers,
		.words = (uint32_t)sample_words(ports, workers),
	};
}

/* The row of a sample; number is not 0 and there are rows. */
static struct bp_seqlock *row_of(const struct bp_history *h, uint64_t number)
{
	return (struct bp_seqlock *)(void *)(h->rows +
					     (number - 1) % h->n_rows * (1ull + h->words));
}

void bp_history_append(const struct bp_history *h, struct bp_history_sample *s)
{
	uint64_t number;

	if (h->n_rows == 0)
		return;
	number = bp_history_newest(h) + 1;
	if (number == 0) /* the word was overwritten */
		number = 1;
	s->word[BP_HISTORY_NUMBER] = number;
	bp_seqlock_write(row_of(h, number), s->word, h->words * sizeof(s->word[0]));
	atomic_store_explicit(&h->header[0], number, memory_order_release);
}

uint64_t bp_history_newest(const struct bp_history *h)
{
	return h->n_rows == 0 ? 0 : atomic_load_explicit(&h->header[0], memory_order_acquire);
}

uint64_t bp_history_oldest(const struct bp_history *h)
{
	const uint64_t newest = bp_history_newest(h);

	if (newest == 0)
		return 0;
	return newest > h->n_rows ? newest - h->n_rows + 1 : 1;
}

bool bp_history_read(
	const struct bp_history *h, uint64_t number, struct bp_history_sample *s, uint32_t n)
{
	if (h->n_rows == 0 || number == 0)
		return false;
	if (n > h->words)
		n = h->words;
	for (int i = 0; i < READ_ATTEMPTS; i++) {
		uint64_t seen = 0;

		if (bp_seqlock_read(row_of(h, number), &seen, s->word, n * sizeof(s->word[0])))
			return n > BP_HISTORY_NUMBER && s->word[BP_HISTORY_NUMBER] == number;
	}
	return false;
}
