/* SPDX-License-Identifier: BSD-3-Clause */
#include "tests/fuzz/fuzz.h"

#include <math.h>

#include "tests/unit/proto/sparkplug/same_metric.h"

/*
 * The first byte chooses between a topic and a payload. A payload is read metric by metric, and
 * what bp_sparkplug_find() finds is compared with a search over these. tests/unit/proto/sparkplug
 * has the comparison with the reference implementation of protobuf.
 */

static void topic(const uint8_t *data, size_t size)
{
	struct bp_sparkplug_topic t, again;
	char *out = malloc(size + 1); /* a data topic is no longer than that of a birth */
	uint32_t n;

	if (bp_sparkplug_topic(data, (uint32_t)size, &t)) {
		HOLDS(t.type != BP_SPARKPLUG_NONE && t.group_len != 0 && t.node_len != 0);
		HOLDS((t.device != NULL) == (t.type >= BP_SPARKPLUG_DBIRTH));
		n = bp_sparkplug_data_topic(&t, out);
		HOLDS(n <= size + 1); /* of a command */
		HOLDS(bp_sparkplug_topic((const uint8_t *)out, n, &again));
		HOLDS(bp_sparkplug_is_data(again.type) && again.node_len == t.node_len);
	}
	free(out);
}

static int matches(const struct bp_sparkplug_metric *m, const struct bp_sparkplug_wanted *w)
{
	if (m->name != NULL)
		return m->name_len == w->name_len && memcmp(m->name, w->name, m->name_len) == 0;
	return m->has_alias && w->has_alias && m->alias == w->alias;
}

static void members(const struct bp_sparkplug_metric *m)
{
	static const char *const text[] = {"[0]", "[11]", "t", "v[1]", "a/b", "pump/speed"};
	struct bp_sparkplug_metric out;
	struct bp_sparkplug_member member;
	double v;

	for (size_t i = 0; i < sizeof(text) / sizeof(text[0]); i++) {
		HOLDS(bp_sparkplug_member_parse(text[i], &member));
		if (bp_sparkplug_member_find(m, 22 + (uint32_t)i, &member, &out) &&
			bp_sparkplug_number(&out, 0, &v))
			HOLDS(isfinite(v));
	}
}

static void payload(const uint8_t *data, size_t size, const struct bp_sparkplug_wanted *w)
{
	const uint8_t *at = data;
	struct bp_sparkplug_metric m, last = {.name = NULL}, found;
	struct bp_sparkplug_head head;
	struct bp_sparkplug_index index;
	enum bp_sparkplug_found result;
	int more, any = 0;
	double v;

	HOLDS(is_indexed(data, size));
	while ((more = bp_sparkplug_next(&at, data + size, &m)) > 0) {
		HOLDS(at <= data + size);
		members(&m);
		if (bp_sparkplug_number(&m, 3, &v))
			HOLDS(isfinite(v));
		if (matches(&m, w) && !m.is_historical) {
			last = m;
			any = 1;
		}
	}
	HOLDS(more < 0 || bp_sparkplug_head(data, size, &head));
	result = bp_sparkplug_find(data, size, w, &found);
	HOLDS((more < 0) == (result == BP_SPARKPLUG_MALFORMED));
	HOLDS(more < 0 || any == (result == BP_SPARKPLUG_FOUND));
	if (result != BP_SPARKPLUG_MALFORMED && bp_sparkplug_index_read(data, size, &index) &&
		index.whole) {
		HOLDS(bp_sparkplug_index_find(data, size, &index, w, &m) == result);
		HOLDS(result != BP_SPARKPLUG_FOUND || is_same_metric(&m, &found));
	}
	if (result == BP_SPARKPLUG_FOUND)
		HOLDS(found.field == last.field && found.bits == last.bits &&
			found.bytes == last.bytes && found.is_null == last.is_null);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const struct bp_sparkplug_wanted w = {
		.name = "SpO2", .name_len = 4, .has_alias = size != 0 && (data[0] & 2), .alias = 1};

	if (size == 0)
		return 0;
	if (data[0] & 1)
		topic(data + 1, size - 1);
	else
		payload(data + 1, size - 1, &w);
	return 0;
}
