/* SPDX-License-Identifier: BSD-3-Clause */
#include "config/messages.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

static bool make_room(struct bp_messages *m)
{
	uint32_t room = m->room == 0 ? 16 : m->room * 2;
	struct bp_message *list;

	if (m->n < m->room)
		return true;
	list = realloc(m->list, room * sizeof(*list));
	if (list == NULL)
		return false;
	m->list = list;
	m->room = room;
	return true;
}

__attribute__((format(printf, 5, 0))) static void add(struct bp_messages *m, bool warning,
	uint32_t line, uint32_t column, const char *format, va_list ap)
{
	struct bp_message *e;
	char *text;

	if (!warning)
		m->errors++;
	if (m->n == BP_MESSAGES_MAX || !make_room(m) || vasprintf(&text, format, ap) < 0) {
		m->dropped++;
		return;
	}
	e = &m->list[m->n];
	*e = (struct bp_message){line + m->base, column, m->n, warning, text};
	m->n++;
}

void bp_error(struct bp_messages *m, uint32_t line, uint32_t column, const char *format, ...)
{
	va_list ap;

	va_start(ap, format);
	add(m, false, line, column, format, ap);
	va_end(ap);
}

void bp_warning(struct bp_messages *m, uint32_t line, uint32_t column, const char *format, ...)
{
	va_list ap;

	va_start(ap, format);
	add(m, true, line, column, format, ap);
	va_end(ap);
}

static int by_position(const void *a, const void *b)
{
	const struct bp_message *x = a, *y = b;

	if (x->line != y->line)
		return x->line < y->line ? -1 : 1;
	if (x->column != y->column)
		return x->column < y->column ? -1 : 1;
	return x->order < y->order ? -1 : 1;
}

uint32_t bp_messages_line(const struct bp_messages *m, uint32_t line)
{
	return m->second != NULL && line > m->first_lines ? line - m->first_lines : line;
}

void bp_messages_flush(struct bp_messages *m, const char *name, FILE *out)
{
	if (m->n > 0)
		qsort(m->list, m->n, sizeof(*m->list), by_position);
	for (uint32_t i = 0; i < m->n; i++) {
		const struct bp_message *e = &m->list[i];

		const bool second = m->second != NULL && e->line > m->first_lines;

		fprintf(out, "%s:%u:%u: %s%s\n", second ? m->second : name,
			bp_messages_line(m, e->line), e->column, e->warning ? "warning: " : "",
			e->text);
	}
	if (m->dropped > 0)
		fprintf(out, "%s:1:1: %u more messages; correct these first\n", name, m->dropped);
	bp_messages_free(m);
}

void bp_messages_free(struct bp_messages *m)
{
	for (uint32_t i = 0; i < m->n; i++)
		free(m->list[i].text);
	free(m->list);
	memset(m, 0, sizeof(*m));
}

const char *bp_shown(const char *text, size_t len, char out[BP_SHOWN])
{
	size_t n = 0;

	for (size_t i = 0; i < len; i++) {
		unsigned char c = (unsigned char)text[i];

		/* A whole UTF-8 sequence or an escape, and the dots, must still fit. */
		if (n + 12 > BP_SHOWN && ((c & 0xc0) != 0x80 || n + 4 >= BP_SHOWN)) {
			n += (size_t)snprintf(out + n, BP_SHOWN - n, "...");
			break;
		}
		if (c < 0x20 || c == 0x7f)
			n += (size_t)snprintf(out + n, BP_SHOWN - n, "\\x%02x", c);
		else
			out[n++] = (char)c;
	}
	out[n] = '\0';
	return out;
}
