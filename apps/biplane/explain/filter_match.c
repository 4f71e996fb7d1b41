/* SPDX-License-Identifier: BSD-3-Clause */
#include "apps/biplane/explain/filter_match.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "proto/payload/utf8.h"

#define TEXT_MAX 64u      /* of a text whose distance is computed */
#define LEVEL_DISTANCE 5u /* of two levels, at most; and of a level that is missing */
#define TYPING_ERRORS 2u  /* a larger distance is another word */
#define TOPIC_MAX 65535u  /* MQTT 5.0, 1.5.4 */

unsigned bp_edit_distance(const char *a, size_t a_len, const char *b, size_t b_len, unsigned max)
{
	unsigned row[TEXT_MAX + 1];

	if (a_len > TEXT_MAX || b_len > TEXT_MAX)
		return a_len == b_len && memcmp(a, b, a_len) == 0 ? 0 : max;
	for (unsigned j = 0; j <= b_len; j++)
		row[j] = j;
	for (size_t i = 1; i <= a_len; i++) {
		unsigned diagonal = row[0];

		row[0] = (unsigned)i;
		for (size_t j = 1; j <= b_len; j++) {
			const unsigned replaced = diagonal + (a[i - 1] != b[j - 1]);
			const unsigned other = (row[j] < row[j - 1] ? row[j] : row[j - 1]) + 1;

			diagonal = row[j];
			row[j] = replaced < other ? replaced : other;
		}
	}
	return row[b_len] < max ? row[b_len] : max;
}

struct level {
	const char *text;
	size_t len;
};

/* The next level of [*at, end), which it moves behind it; false after the last one. */
static bool next_level(const char **at, const char *end, struct level *l)
{
	const char *slash;

	if (*at == NULL)
		return false;
	slash = memchr(*at, '/', (size_t)(end - *at));
	l->text = *at;
	l->len = (size_t)((slash != NULL ? slash : end) - *at);
	*at = slash != NULL ? slash + 1 : NULL;
	return true;
}

static bool is(const struct level *l, char c)
{
	return l->len == 1 && l->text[0] == c;
}

static unsigned count_levels(const char *text, size_t len)
{
	unsigned n = 1;

	for (size_t i = 0; i < len; i++)
		n += text[i] == '/';
	return n;
}

/* State of a comparison. */
struct walk {
	struct bp_filter_match *m;
	unsigned level;         /* from 1 */
	unsigned errors, large; /* levels that differ; by more than a typing error */
	size_t suggested;       /* bytes of the suggestion */
};

static void suggest(struct walk *w, const struct level *l)
{
	const size_t n = w->suggested + (w->level > 1);

	if (n + l->len + 1 > BP_FILTER_SUGGESTION) {
		w->large++;
		return;
	}
	if (w->level > 1)
		w->m->suggestion[w->suggested] = '/';
	memcpy(w->m->suggestion + n, l->text, l->len);
	w->suggested = n + l->len;
	w->m->suggestion[w->suggested] = '\0';
}

static void say(struct bp_filter_match *m, const char *reason)
{
	if (m->reason[0] == '\0')
		snprintf(m->reason, sizeof(m->reason), "%s", reason);
}

/* A level of the topic against one of the filter that is no wildcard. */
static void compare_level(struct walk *w, const struct level *f, const struct level *t)
{
	unsigned d = bp_edit_distance(f->text, f->len, t->text, t->len, LEVEL_DISTANCE);
	const bool same_letters = f->len == t->len && strncasecmp(f->text, t->text, f->len) == 0;
	char reason[BP_FILTER_REASON];

	suggest(w, f);
	if (d == 0)
		return;
	w->errors++;
	w->large += !same_letters && (d > TYPING_ERRORS || 3 * d > f->len + 1);
	w->m->distance += same_letters ? 1 : d;
	snprintf(reason, sizeof(reason), "level %u is '%.*s', the filter has '%.*s'%s", w->level,
		(int)(t->len < 100 ? t->len : 100), t->text, (int)(f->len < 100 ? f->len : 100),
		f->text, same_letters ? ": upper and lower case differ" : "");
	say(w->m, reason);
}

/* The filter and the topic have other numbers of levels. */
static void differ_in_levels(
	struct walk *w, const char *filter, size_t filter_len, const char *topic, size_t topic_len)
{
	const unsigned f = count_levels(filter, filter_len), t = count_levels(topic, topic_len);
	char reason[BP_FILTER_REASON];

	snprintf(reason, sizeof(reason), "the topic has %u level%s, the filter has %u%s", t,
		t == 1 ? "" : "s", f,
		topic[0] == '/' && filter[0] != '/' ? "; a slash at the beginning is a level" : "");
	/* more important than a level that differs */
	snprintf(w->m->reason, sizeof(w->m->reason), "%s", reason);
	w->errors++;
	w->m->distance += LEVEL_DISTANCE * (f > t ? f - t : t - f);
	w->large++;
}

static void compare(
	struct walk *w, const char *filter, size_t filter_len, const char *topic, size_t topic_len)
{
	const char *f_at = filter, *f_end = filter + filter_len;
	const char *t_at = topic, *t_end = topic + topic_len;
	struct level f, t;

	if (topic_len != 0 && topic[0] == '$' && (filter[0] == '+' || filter[0] == '#')) {
		say(w->m, "a wildcard at the beginning does not match topics that begin with $");
		w->m->distance = LEVEL_DISTANCE;
		w->errors = w->large = 1;
		return;
	}
	for (w->level = 1; next_level(&f_at, f_end, &f); w->level++) {
		if (is(&f, '#')) { /* the parent, too */
			while (next_level(&t_at, t_end, &t)) {
				suggest(w, &t);
				w->level++;
			}
			return;
		}
		if (!next_level(&t_at, t_end, &t)) {
			differ_in_levels(w, filter, filter_len, topic, topic_len);
			return;
		}
		if (is(&f, '+'))
			suggest(w, &t);
		else
			compare_level(w, &f, &t);
	}
	if (t_at != NULL)
		differ_in_levels(w, filter, filter_len, topic, topic_len);
}

/* Whether the topic without a slash at its beginning matches. */
static bool matches_without_slash(
	const char *filter, size_t filter_len, const char *topic, size_t topic_len)
{
	struct bp_filter_match m = {0};
	struct walk w = {.m = &m};

	if (topic_len < 2 || topic_len > sizeof(m.suggestion) || topic[0] != '/' ||
		filter[0] == '/')
		return false;
	compare(&w, filter, filter_len, topic + 1, topic_len - 1);
	return w.errors == 0;
}

void bp_filter_match(const char *filter, size_t filter_len, const char *topic, size_t topic_len,
	struct bp_filter_match *m)
{
	struct walk w = {.m = m};

	memset(m, 0, sizeof(*m));
	if (filter_len == 0) {
		say(m, "the filter is empty");
		m->distance = LEVEL_DISTANCE;
		return;
	}
	compare(&w, filter, filter_len, topic, topic_len);
	m->matches = w.errors == 0;
	if (m->matches) {
		snprintf(m->reason, sizeof(m->reason), "each level matches");
	} else if (matches_without_slash(filter, filter_len, topic, topic_len)) {
		m->distance = w.errors = 1;
		w.large = 0;
		snprintf(m->suggestion, sizeof(m->suggestion), "%.*s", (int)topic_len - 1,
			topic + 1);
	}
	/* one typing error, not another topic */
	if (w.errors != 1 || w.large != 0)
		m->suggestion[0] = '\0';
}

const char *bp_topic_error(const char *topic)
{
	const size_t len = strlen(topic);

	if (len == 0)
		return "it is empty";
	if (len > TOPIC_MAX)
		return "it is longer than 65,535 bytes";
	if (strpbrk(topic, "+#") != NULL)
		return "a topic name has no wildcards + and #";
	if (!bp_utf8_valid_mqtt((const uint8_t *)topic, len))
		return "it is not valid UTF-8";
	return NULL;
}
