/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Reads payloads of Sparkplug B from stdin, each with its length (4 bytes, little endian) before
 * it, and prints what bp_sparkplug_head() and bp_sparkplug_next() read, one line for each payload.
 * It ends where the index of the payload has something else.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "same_metric.h"

static void print_bytes(const uint8_t *p, uint32_t n)
{
	if (p == NULL)
		printf(" -");
	else
		printf(" x");
	for (uint32_t i = 0; p != NULL && i < n; i++)
		printf("%02x", p[i]);
}

static void print_metric(const struct bp_sparkplug_metric *m)
{
	const struct bp_sparkplug_member member = {
		.name = (const uint8_t *)"v", .name_len = 1, .row = 1};
	struct bp_sparkplug_metric element;
	double v;

	print_bytes(m->name, m->name_len);
	if (m->has_alias)
		printf(" %" PRIu64, m->alias);
	else
		printf(" -");
	printf(" %" PRIu32 " %d %d %d", m->datatype, m->is_historical, m->is_null, m->field);
	if (m->field >= BP_SPARKPLUG_VALUE_STRING)
		print_bytes(m->bytes, m->bytes_len);
	else
		printf(" %" PRIx64, m->field == 0 ? 0 : m->bits);
	if (bp_sparkplug_number(m, 0, &v))
		printf(" %.17g", v);
	else
		printf(" -");
	if (bp_sparkplug_member_find(m, 0, &member, &element) &&
		bp_sparkplug_number(&element, 0, &v))
		printf(" %.17g", v);
	else
		printf(" -");
}

static void print_payload(const uint8_t *p, uint32_t n)
{
	struct bp_sparkplug_metric m;
	struct bp_sparkplug_head head;
	const uint8_t *at = p, *end = p + n;
	int more;

	if (!is_indexed(p, n))
		exit(2);
	while ((more = bp_sparkplug_next(&at, end, &m)) > 0)
		;
	if (more < 0 || !bp_sparkplug_head(p, n, &head)) {
		printf("malformed\n");
		return;
	}
	if (head.has_seq)
		printf("%" PRIu64, head.seq);
	else
		printf("-");
	for (at = p; bp_sparkplug_next(&at, end, &m) > 0;)
		print_metric(&m);
	printf("\n");
}

int main(void)
{
	uint8_t length[4];

	while (fread(length, 1, 4, stdin) == 4) {
		const uint32_t n = length[0] | (uint32_t)length[1] << 8 |
				   (uint32_t)length[2] << 16 | (uint32_t)length[3] << 24;
		uint8_t *p = malloc(n + 1);

		if (p == NULL || fread(p, 1, n, stdin) != n)
			return 1;
		print_payload(p, n);
		free(p);
	}
	return 0;
}
