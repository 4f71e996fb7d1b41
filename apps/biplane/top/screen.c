/* SPDX-License-Identifier: BSD-3-Clause */
#include "apps/biplane/top/screen.h"

#include <inttypes.h>
#include <ncurses.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "apps/biplane/exit_status.h"

#define ESCAPE_MS 25 /* after which an escape character is a key of its own */
#define MS_PER_S 1000
#define NS_PER_MS 1000000

struct screen {
	struct bp_top *t;
	struct bp_top_options o;
	unsigned section;
	uint32_t scroll[BP_TOP_SECTIONS];
	bool paused, help;
	struct bp_top_table table;
	uint32_t rows; /* that the terminal has for the table */
};

static volatile sig_atomic_t stopped;

static void stop(int signal)
{
	(void)signal;
	stopped = 1;
}

static int64_t now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (int64_t)t.tv_sec * MS_PER_S + t.tv_nsec / NS_PER_MS;
}

/* A line, cut to the width of the terminal. Nothing below its last line. */
static void put(int y, const char *text, attr_t attributes)
{
	if (y < 0 || y >= LINES)
		return;
	attron(attributes);
	mvaddnstr(y, 0, text, (int)bp_top_text_cut(text, (unsigned)COLS));
	attroff(attributes);
}

static const char *const help_lines[] = {
	"1 to 5      ports, workers, rules, connections, nodes",
	"Tab         next section (Shift-Tab: previous)",
	"< >         sort by the column to the left or right (arrow keys, too)",
	"r           reverse the order",
	"Up Down     scroll (also PgUp, PgDn, Home)",
	"Space, p    pause and continue",
	"h, ?        this help; any key leaves it",
	"q           quit",
};

static void draw_help(void)
{
	erase();
	put(0, "biplane top: keys", A_BOLD);
	for (int i = 0; i < (int)(sizeof(help_lines) / sizeof(help_lines[0])); i++)
		put(i + 1, help_lines[i], A_NORMAL);
	refresh();
}

/* The names of the sections, or that of the current one where they do not fit. */
static void tab_line(const struct screen *s, char out[BP_TOP_LINE])
{
	const struct bp_top_table *t = &s->table;
	const uint32_t first = s->scroll[s->section];
	size_t n = 0;

	if (COLS < 70)
		n = (size_t)snprintf(
			out, BP_TOP_LINE, "%u %s", s->section + 1, bp_top_section[s->section].name);
	for (unsigned i = 0; COLS >= 70 && i < BP_TOP_SECTIONS; i++)
		n += (size_t)snprintf(out + n, BP_TOP_LINE - n, "%s%s%u %s%s", i != 0 ? " " : "",
			i == s->section ? "[" : " ", i + 1, bp_top_section[i].name,
			i == s->section ? "]" : " ");
	if (s->paused)
		n += (size_t)snprintf(out + n, BP_TOP_LINE - n, "  PAUSED");
	if (t->n != 0)
		snprintf(out + n, BP_TOP_LINE - n, "  %u-%u of %" PRIu64, first + 1,
			first + s->rows < t->n ? first + s->rows : t->n, t->total);
}

/* Lines of the header, by the height of the terminal: a table has at least two rows. */
static int header_lines(void)
{
	return LINES >= 12 ? (int)BP_TOP_HEADER : LINES >= 8 ? 2 : LINES >= 4 ? 1 : 0;
}

static void draw_table(struct screen *s, int y)
{
	const uint32_t first = s->scroll[s->section];
	unsigned width[BP_TOP_COLUMNS];
	char line[BP_TOP_LINE];

	tab_line(s, line);
	put(y++, line, A_BOLD);
	bp_top_widths(s->section, &s->table, first, s->rows, width);
	bp_top_line(s->section, NULL, width, &s->o.order[s->section], line);
	/* to the end of the line */
	for (size_t n = strlen(line); (int)n < COLS && n + 1 < sizeof(line); n++) {
		line[n] = ' ';
		line[n + 1] = '\0';
	}
	put(y++, line, A_REVERSE);
	for (uint32_t r = 0; r < s->rows && first + r < s->table.n; r++) {
		bp_top_line(s->section, &s->table.row[first + r], width, NULL, line);
		put(y + (int)r, line, A_NORMAL);
	}
	if (s->table.n == 0)
		put(y, s->t->samples < 2 ? "reading" : "none", A_NORMAL);
	if (s->table.note[0] != '\0' && LINES >= 12)
		put(LINES - 1, s->table.note, A_DIM);
}

/* The table of the section; the scroll position stays within it. */
static void fill(struct screen *s)
{
	const int above = header_lines() + 2;
	uint32_t *scroll = &s->scroll[s->section];

	s->rows = LINES > above ? (uint32_t)(LINES - above) : 0;
	bp_top_table_fill(s->t, s->section, &s->o.order[s->section], *scroll + s->rows, &s->table);
	if (s->table.note[0] != '\0' && LINES >= 12)
		s->rows--;
	if (*scroll >= s->table.n)
		*scroll = s->table.n > s->rows ? s->table.n - s->rows : 0;
}

static void draw(struct screen *s)
{
	char header[BP_TOP_HEADER][BP_TOP_LINE];
	const int lines = header_lines();
	int n;

	if (s->help) {
		draw_help();
		return;
	}
	fill(s);
	erase();
	n = (int)bp_top_header(s->t, header);
	for (int i = 0; i < n && i < lines; i++)
		put(i, header[i], A_NORMAL);
	draw_table(s, lines);
	refresh();
}

static void move_section(struct screen *s, int by)
{
	s->section = (s->section + BP_TOP_SECTIONS + (unsigned)by) % BP_TOP_SECTIONS;
}

static void move_column(struct screen *s, int by)
{
	const unsigned n = bp_top_columns(s->section);

	s->o.order[s->section].column = (s->o.order[s->section].column + n + (unsigned)by) % n;
	s->scroll[s->section] = 0;
}

static void move_rows(struct screen *s, int64_t by)
{
	const int64_t at = (int64_t)s->scroll[s->section] + by;
	const int64_t last = s->table.total > s->rows
				     ? (int64_t)(s->table.total < BP_TOP_ROWS_MAX ||
								 s->section != BP_TOP_CONNECTIONS
							 ? s->table.total
							 : BP_TOP_ROWS_MAX) -
					       s->rows
				     : 0;

	s->scroll[s->section] = (uint32_t)(at < 0 ? 0 : at < last ? at : last);
}

/* Returns whether the user quits. */
static bool take_key(struct screen *s, int key)
{
	if (s->help && key != KEY_RESIZE) {
		s->help = false;
		return key == 'q';
	}
	switch (key) {
	case 'q':
		return true;
	case '\t':
		move_section(s, 1);
		break;
	case KEY_BTAB:
		move_section(s, -1);
		break;
	case '<':
	case KEY_LEFT:
		move_column(s, -1);
		break;
	case '>':
	case KEY_RIGHT:
		move_column(s, 1);
		break;
	case 'r':
		s->o.order[s->section].reverse = !s->o.order[s->section].reverse;
		break;
	case ' ':
	case 'p':
		s->paused = !s->paused;
		break;
	case 'h':
	case '?':
		s->help = true;
		break;
	case 'k':
	case KEY_UP:
		move_rows(s, -1);
		break;
	case 'j':
	case KEY_DOWN:
		move_rows(s, 1);
		break;
	case KEY_PPAGE:
		move_rows(s, -(int64_t)s->rows);
		break;
	case KEY_NPAGE:
		move_rows(s, s->rows);
		break;
	case KEY_HOME:
		s->scroll[s->section] = 0;
		break;
	default:
		if (key >= '1' && key < '1' + BP_TOP_SECTIONS)
			s->section = (unsigned)(key - '1');
	}
	return false;
}

static void run(struct screen *s)
{
	int64_t due = now_ms() + (int64_t)s->o.delay_s * MS_PER_S;
	uint64_t refreshes = 0;

	draw(s);
	while (!stopped) {
		const int64_t left = due - now_ms();
		int key;

		timeout(left > 0 ? (int)left : 0);
		key = getch();
		if (key != ERR && take_key(s, key))
			return;
		if (now_ms() >= due) {
			due = now_ms() + (int64_t)s->o.delay_s * MS_PER_S;
			if (!s->paused)
				bp_top_refresh(s->t);
			if (++refreshes == s->o.n)
				return;
		}
		draw(s);
	}
}

int bp_top_screen(struct bp_top *t, const struct bp_top_options *o)
{
	const struct sigaction on_stop = {.sa_handler = stop};
	struct screen s = {
		.t = t, .o = *o, .section = o->section >= 0 ? (unsigned)o->section : BP_TOP_PORTS};
	SCREEN *terminal = newterm(NULL, stdout, stdin);

	if (terminal == NULL) {
		fputs("biplane top: unknown type of terminal (TERM); use --batch\n", stderr);
		return BP_EX_UNAVAILABLE;
	}
	sigaction(SIGINT, &on_stop, NULL);
	sigaction(SIGTERM, &on_stop, NULL);
	sigaction(SIGHUP, &on_stop, NULL);
	set_escdelay(ESCAPE_MS);
	cbreak();
	noecho();
	keypad(stdscr, TRUE);
	curs_set(0);
	run(&s);
	endwin();
	delscreen(terminal);
	bp_top_table_free(&s.table);
	return BP_EX_OK;
}
