/* SPDX-License-Identifier: BSD-3-Clause */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "apps/sim/cse_sink/sink.h"

double sink_random(struct sink *s)
{
	/* xorshift64*: the same seed loses the same messages. */
	s->random ^= s->random >> 12;
	s->random ^= s->random << 25;
	s->random ^= s->random >> 27;
	return (double)(s->random * UINT64_C(2685821657736338717) >> 11) / 9007199254740992.0;
}

void sink_violation(struct sink *s, const char *what, const uint8_t *p, size_t len)
{
	uint64_t n = s->counts.violations++;
	size_t size = strlen(what) + 2 * len + 64, at;
	char *text;

	if (n >= SINK_VIOLATIONS_KEPT)
		return;
	text = malloc(size);
	if (text == NULL)
		return;
	at = (size_t)snprintf(text, size, "{\"what\":\"%s\",\"hex\":\"", what);
	for (size_t i = 0; i < len; i++)
		at += (size_t)snprintf(text + at, size - at, "%02x", p[i]);
	snprintf(text + at, size - at, "\"}");
	s->violation[n] = text;
}

void sink_report(const struct sink *s, FILE *out)
{
	const struct sink_counts *c = &s->counts;

#define COUNT(name) fprintf(out, "\"" #name "\":%" PRIu64 ",", c->name)
	fputs("{", out);
	COUNT(requests);
	COUNT(instances);
	COUNT(containers);
	COUNT(aes);
	COUNT(acps);
	COUNT(retrieves);
	COUNT(repeats);
	COUNT(conflicts);
	COUNT(refused);
	COUNT(errors);
	COUNT(dropped);
	COUNT(answers_dropped);
	COUNT(separate);
	COUNT(separate_acked);
	COUNT(resets);
	COUNT(not_sent);
	COUNT(violations);
#undef COUNT
	fprintf(out, "\"ids_unchecked\":%" PRIu64 ",\"instance_seconds\":%.6f,\"what_was_wrong\":[",
		s->exchanges.unchecked, (double)(s->last_ns - s->first_ns) / 1e9);
	for (unsigned i = 0; i < SINK_VIOLATIONS_KEPT && s->violation[i] != NULL; i++)
		fprintf(out, "%s%s", i > 0 ? "," : "", s->violation[i]);
	fputs("],\"tree\":", out);
	sink_tree_print(s->tree, out);
	fputs("}\n", out);
	fflush(out);
}
