/* SPDX-License-Identifier: BSD-3-Clause */
/* The lines of `biplane top`: header, headings and rows. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <wchar.h>

#include "apps/biplane/text.h"
#include "apps/biplane/top/table.h"

#define TEXT_COLUMNS_MAX 40u /* of a terminal, for one text */
#define GAP 2u

/* The length of the character at `text`, and the columns of a terminal that it takes. */
static size_t character(const char *text, unsigned *columns)
{
	mbstate_t state = {0};
	wchar_t c;
	const size_t n = mbrtowc(&c, text, 8, &state);
	int width;

	*columns = 1;
	if (n == 0 || n > 8) /* not of this locale */
		return 1;
	width = wcwidth(c);
	*columns = width >= 0 ? (unsigned)width : 1;
	return n;
}

size_t bp_top_text_cut(const char *text, unsigned columns)
{
	size_t n = 0;
	unsigned width;

	while (text[n] != '\0') {
		const size_t len = character(text + n, &width);

		if (width > columns)
			break;
		columns -= width;
		n += len;
	}
	return n;
}

unsigned bp_top_text_width(const char *text)
{
	unsigned sum = 0, width;

	while (*text != '\0') {
		text += character(text, &width);
		sum += width;
	}
	return sum;
}

static void number_text(enum bp_top_format format, double v, char out[BP_TEXT_SCALED])
{
	if (!isfinite(v))
		snprintf(out, BP_TEXT_SCALED, "-");
	else if (format == BP_TOP_AS_SCALED)
		bp_text_scaled(v, out);
	else
		snprintf(out, BP_TEXT_SCALED, "%.*f", format == BP_TOP_AS_PERCENT ? 1 : 0, v);
}

static const char *cell(
	const struct bp_top_row *row, const struct bp_top_column *c, char buffer[BP_TEXT_SCALED])
{
	if (c->format == BP_TOP_AS_TEXT)
		return row->text[c->at][0] != '\0' ? row->text[c->at] : "-";
	number_text(c->format, row->number[c->at], buffer);
	return buffer;
}

void bp_top_widths(unsigned section, const struct bp_top_table *table, uint32_t first,
	uint32_t rows, unsigned width[BP_TOP_COLUMNS])
{
	const struct bp_top_column *columns = bp_top_section[section].columns;
	char buffer[BP_TEXT_SCALED];

	for (unsigned c = 0; columns[c].heading != NULL; c++) {
		width[c] = (unsigned)strlen(columns[c].heading) + 1; /* and the mark */
		for (uint32_t r = first; r < table->n && r - first < rows; r++) {
			const unsigned w =
				bp_top_text_width(cell(&table->row[r], &columns[c], buffer));

			width[c] = w > width[c] ? w : width[c];
		}
		if (width[c] > TEXT_COLUMNS_MAX)
			width[c] = TEXT_COLUMNS_MAX;
	}
}

static size_t put(char out[BP_TOP_LINE], size_t at, const char *text, unsigned width, bool right)
{
	const size_t len = bp_top_text_cut(text, width);
	const unsigned taken = bp_top_text_width(text);
	const unsigned fill = taken < width ? width - taken : 0;

	if (at + len + fill + GAP + 1 > BP_TOP_LINE)
		return at;
	if (right) {
		memset(out + at, ' ', fill);
		at += fill;
	}
	memcpy(out + at, text, len);
	at += len;
	if (!right) {
		memset(out + at, ' ', fill);
		at += fill;
	}
	memset(out + at, ' ', GAP);
	return at + GAP;
}

void bp_top_line(unsigned section, const struct bp_top_row *row,
	const unsigned width[BP_TOP_COLUMNS], const struct bp_top_order *marked,
	char out[BP_TOP_LINE])
{
	const struct bp_top_column *columns = bp_top_section[section].columns;
	char buffer[BP_TEXT_SCALED];
	size_t at = 0;

	for (unsigned c = 0; columns[c].heading != NULL; c++) {
		const bool right = columns[c].format != BP_TOP_AS_TEXT;

		if (row != NULL) {
			at = put(out, at, cell(row, &columns[c], buffer), width[c], right);
			continue;
		}
		snprintf(buffer, sizeof(buffer), "%s%s", columns[c].heading,
			marked == NULL || marked->column != c ? ""
			: marked->reverse                     ? "^"
							      : "v");
		at = put(out, at, buffer, width[c], right);
	}
	while (at > 0 && out[at - 1] == ' ')
		at--;
	out[at] = '\0';
}

static double rate(const struct bp_top *t, uint64_t a, uint64_t b, bool of_data_plane)
{
	const struct bp_top_sample *x = &t->sample[1 - t->now], *y = &t->sample[t->now];

	if (t->samples < 2 || y->mono_ns <= x->mono_ns || b < a ||
		(of_data_plane && x->data.started_ns != y->data.started_ns))
		return NAN;
	return (double)(b - a) / ((double)(y->mono_ns - x->mono_ns) / 1e9);
}

static void plane_text(const struct bp_top_plane *a, const struct bp_top_plane *b, double seconds,
	const char *name, char *out, size_t size)
{
	const double cpu = a->pid == b->pid ? (b->cpu_s - a->cpu_s) / seconds * 100 : NAN;

	if (!b->running)
		snprintf(out, size, "%s NOT RUNNING", name);
	else if (isfinite(cpu))
		snprintf(out, size, "%s %.0f%% CPU", name, cpu);
	else
		snprintf(out, size, "%s running", name);
}

static void traffic_line(const struct bp_top *t, char out[BP_TOP_LINE])
{
	const struct bp_top_sample *a = &t->sample[1 - t->now], *b = &t->sample[t->now];
	uint64_t x[4] = {0}, y[4] = {0};
	char text[5][BP_TEXT_SCALED];

	for (unsigned p = 0; p < b->n_ports; p++) {
		const struct bp_show_port_sum *s = &a->port[p].sum, *u = &b->port[p].sum;

		x[0] += s->rx_packets;
		x[1] += s->rx_bytes;
		x[2] += s->tx_packets;
		x[3] += s->tx_bytes;
		y[0] += u->rx_packets;
		y[1] += u->rx_bytes;
		y[2] += u->tx_packets;
		y[3] += u->tx_bytes;
	}
	for (unsigned i = 0; i < 4; i++)
		bp_text_scaled(rate(t, x[i], y[i], true) * (i % 2 ? 8 : 1), text[i]);
	bp_text_scaled(rate(t, a->drops, b->drops, true), text[4]);
	snprintf(out, BP_TOP_LINE, "rx %s pkt/s %s bit/s  tx %s pkt/s %s bit/s  drops %s/s",
		text[0], text[1], text[2], text[3], text[4]);
}

static void alarm_line(const struct bp_top *t, char out[BP_TOP_LINE])
{
	const struct bp_top_sample *a = &t->sample[1 - t->now], *b = &t->sample[t->now];
	char text[4][BP_TEXT_SCALED];

	bp_text_scaled(rate(t, a->publishes, b->publishes, true), text[0]);
	bp_text_scaled(rate(t, a->raised, b->raised, true), text[1]);
	bp_text_scaled(rate(t, a->acknowledged, b->acknowledged, false), text[2]);
	bp_text_scaled(rate(t, a->lost, b->lost, true), text[3]);
	snprintf(out, BP_TOP_LINE,
		"publishes %s/s  alarms %s/s acked %s/s lost %s/s  in flight %" PRIu64
		"  spool %" PRIu64 "  connections %" PRIu64 "  publisher %s",
		text[0], text[1], text[2], text[3], b->in_flight, b->spool_rows, b->connections,
		b->publisher_connected ? "connected" : "not connected");
}

unsigned bp_top_header(const struct bp_top *t, char line[BP_TOP_HEADER][BP_TOP_LINE])
{
	const struct bp_top_sample *a = &t->sample[1 - t->now], *b = &t->sample[t->now];
	const double seconds = (double)(b->mono_ns - a->mono_ns) / 1e9;
	char data[64], control[64], up[BP_TEXT_DURATION] = "-";

	if (t->samples == 0 || t->err[0] != '\0') {
		snprintf(line[0], BP_TOP_LINE, "biplane %s: %.400s", t->id->name,
			t->err[0] != '\0' ? t->err : "starting");
		if (t->samples == 0)
			return 1;
	} else {
		plane_text(&a->data, &b->data, t->samples >= 2 ? seconds : NAN, "data plane", data,
			sizeof(data));
		plane_text(&a->control, &b->control, t->samples >= 2 ? seconds : NAN,
			"control plane", control, sizeof(control));
		if (b->data.started_ns != 0 && b->unix_ns > b->data.started_ns)
			bp_text_duration((b->unix_ns - b->data.started_ns) / 1000000000u, up);
		snprintf(line[0], BP_TOP_LINE, "biplane %s  up %s  %s  %s", t->id->name, up, data,
			control);
	}
	if (b->faults != 0)
		snprintf(line[1], BP_TOP_LINE, "%u fault%s: %s%s", b->faults,
			b->faults == 1 ? "" : "s", b->fault, b->faults == 1 ? "" : ", ...");
	else
		snprintf(line[1], BP_TOP_LINE, "no open faults");
	traffic_line(t, line[2]);
	alarm_line(t, line[3]);
	return BP_TOP_HEADER;
}
