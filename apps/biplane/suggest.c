/* SPDX-License-Identifier: BSD-3-Clause */
#include "apps/biplane/cli.h"

#include <string.h>

#define WORD_MAX 32

static unsigned min3(unsigned a, unsigned b, unsigned c)
{
	unsigned m = a < b ? a : b;

	return m < c ? m : c;
}

/* Levenshtein's distance, one row at a time. */
static unsigned distance(const char *a, const char *b)
{
	size_t a_len = strlen(a), b_len = strlen(b);
	unsigned row[WORD_MAX + 1];

	if (a_len > WORD_MAX || b_len > WORD_MAX)
		return WORD_MAX;
	for (unsigned j = 0; j <= b_len; j++)
		row[j] = j;
	for (unsigned i = 1; i <= a_len; i++) {
		unsigned diagonal = row[0];

		row[0] = i;
		for (unsigned j = 1; j <= b_len; j++) {
			unsigned cost = a[i - 1] != b[j - 1];
			unsigned next = min3(row[j] + 1, row[j - 1] + 1, diagonal + cost);

			diagonal = row[j];
			row[j] = next;
		}
	}
	return row[b_len];
}

const char *bp_cli_suggest(const char *word, const char *const *candidates, unsigned n)
{
	const char *best = NULL;
	unsigned best_distance = WORD_MAX;

	for (unsigned i = 0; i < n; i++) {
		unsigned d = distance(word, candidates[i]);

		if (d < best_distance) {
			best_distance = d;
			best = candidates[i];
		}
	}
	/* more errors, or more than a third of the letters wrong, make another word */
	return best && best_distance <= 2 && best_distance * 3 <= strlen(best) + 1 ? best : NULL;
}
