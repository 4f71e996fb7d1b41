/* SPDX-License-Identifier: BSD-3-Clause */
#include "apps/biplane/monitor/event_stream.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "apps/biplane/monitor/counters.h"

struct bp_event_stream {
	struct bp_event_reader *reader;
	char *text; /* what is being sent; NULL: nothing */
	size_t len, sent;
	uint64_t n; /* events */
	uint64_t lost;
	uint64_t last_ns; /* CLOCK_MONOTONIC of the last text */
};

struct bp_event_stream *bp_event_stream_new(struct bp_event_reader *r, uint64_t mono_ns)
{
	struct bp_event_stream *s = calloc(1, sizeof(*s));

	if (s == NULL) {
		bp_event_reader_free(r);
		return NULL;
	}
	s->reader = r;
	s->last_ns = mono_ns;
	/* headers reach the client with the first byte of the body */
	s->text = strdup(": events follow\n\n");
	s->len = s->text != NULL ? strlen(s->text) : 0;
	bp_monitor_counters.event_streams++;
	return s;
}

void bp_event_stream_free(struct bp_event_stream *s)
{
	if (s == NULL)
		return;
	bp_event_reader_free(s->reader);
	free(s->text);
	free(s);
	bp_monitor_counters.event_streams--;
}

/* NULL without memory: the event is lost. */
static char *text_of(uint64_t id, unsigned type, const json_t *event)
{
	const char *name = bp_event_type_name(type);
	char *line = bp_event_line(event), *text = NULL;

	if (line == NULL || asprintf(&text, "id: %" PRIu64 "\nevent: %s\ndata: %s\n\n", id,
				    name != NULL ? name : "unknown", line) < 0)
		text = NULL;
	free(line);
	return text;
}

static char *next(struct bp_event_stream *s, uint64_t unix_ns)
{
	unsigned type = 0;
	json_t *event = bp_event_reader_next(s->reader, unix_ns, &type);
	const uint64_t lost = bp_event_reader_lost(s->reader);
	char *text = NULL;

	if (event != NULL)
		text = text_of(++s->n, type, event);
	json_decref(event);
	bp_monitor_counters.events_lost += lost - s->lost;
	s->lost = lost;
	return text;
}

bool bp_event_stream_fill(struct bp_event_stream *s, uint64_t unix_ns, uint64_t mono_ns)
{
	if (s->text != NULL)
		return true;
	s->text = next(s, unix_ns);
	if (s->text == NULL && mono_ns >= s->last_ns + BP_EVENT_STREAM_KEEPALIVE_NS)
		s->text = strdup(":\n\n");
	if (s->text == NULL)
		return false;
	s->len = strlen(s->text);
	s->sent = 0;
	s->last_ns = mono_ns;
	return true;
}

size_t bp_event_stream_read(struct bp_event_stream *s, char *out, size_t max)
{
	const size_t left = s->text != NULL ? s->len - s->sent : 0;
	const size_t n = left < max ? left : max;

	if (n == 0)
		return 0;
	memcpy(out, s->text + s->sent, n);
	s->sent += n;
	if (s->sent == s->len) {
		free(s->text);
		s->text = NULL;
	}
	return n;
}
