/* SPDX-License-Identifier: BSD-3-Clause */
#include "config/yaml.h"

#include <libfyaml.h>
#include <stdlib.h>
#include <string.h>

struct bp_yaml_chunk {
	struct bp_yaml_chunk *next;
	size_t used, size;
	max_align_t data[];
};

#define CHUNK ((size_t)256 << 10)

struct builder {
	struct bp_yaml_tree *tree;
	struct bp_messages *messages;
	const char *source;
	const char *original; /* source before comparisons were quoted */
	size_t source_len;
	struct bp_yaml *stack[BP_YAML_DEPTH_MAX];
	struct bp_yaml *key[BP_YAML_DEPTH_MAX]; /* key that waits for its value */
	uint32_t depth;
	uint32_t documents;
	uint32_t line, column; /* of the last event with a position */
};

static void *take(struct bp_yaml_tree *t, size_t size)
{
	struct bp_yaml_chunk *c = t->chunks;
	size_t room = (size + sizeof(max_align_t) - 1) / sizeof(max_align_t) * sizeof(max_align_t);
	void *p;

	if (c == NULL || c->size - c->used < room) {
		size_t want = room > CHUNK ? room : CHUNK;

		c = malloc(sizeof(*c) + want);
		if (c == NULL)
			return NULL;
		*c = (struct bp_yaml_chunk){t->chunks, 0, want};
		t->chunks = c;
	}
	p = (char *)c->data + c->used;
	c->used += room;
	return p;
}

void bp_yaml_free(struct bp_yaml_tree *t)
{
	while (t->chunks != NULL) {
		struct bp_yaml_chunk *c = t->chunks;

		t->chunks = c->next;
		free(c);
	}
	t->root = NULL;
}

static bool out_of_memory(struct builder *b)
{
	bp_error(b->messages, b->line, b->column,
		"out of memory while reading; expected a smaller file or more free memory");
	return false;
}

static struct bp_yaml *new_node(struct builder *b, enum bp_yaml_kind kind)
{
	struct bp_yaml *n;

	if (b->tree->nodes == BP_YAML_NODES_MAX) {
		bp_error(b->messages, b->line, b->column,
			"too many values; expected at most %u in a file", BP_YAML_NODES_MAX);
		return NULL;
	}
	n = take(b->tree, sizeof(*n));
	if (n == NULL) {
		out_of_memory(b);
		return NULL;
	}
	b->tree->nodes++;
	*n = (struct bp_yaml){
		.kind = (uint8_t)kind, .line = b->line, .column = b->column, .text = ""};
	return n;
}

/* Anchors and tags would change the meaning of a value. */
static void reject_tags(struct builder *b, struct fy_event *e, struct bp_yaml *n)
{
	struct fy_token *anchor = fy_event_get_anchor_token(e), *tag = fy_event_get_tag_token(e);
	const struct fy_mark *m;

	if (tag != NULL && (m = fy_token_start_mark(tag)) != NULL &&
		m->input_pos + 1 < b->source_len && b->source[m->input_pos + 1] == '=') {
		bp_error(b->messages, (uint32_t)m->line + 1, (uint32_t)m->column + 1,
			"!= begins a YAML tag here; conditions must be quoted; expected \"!= "
			"NUMBER\", "
			"or {not_equals: NUMBER}");
		n->bad = true;
	} else if (tag != NULL && (m = fy_token_start_mark(tag)) != NULL) {
		bp_error(b->messages, (uint32_t)m->line + 1, (uint32_t)m->column + 1,
			"a YAML tag is not supported; expected a plain value, or quotes around one "
			"that "
			"begins with !");
		n->bad = true;
	} else if (anchor != NULL && (m = fy_token_start_mark(anchor)) != NULL) {
		/* The token is the name; the ampersand precedes it. */
		bp_error(b->messages, (uint32_t)m->line + 1, (uint32_t)m->column,
			"a YAML anchor is not supported; expected the value alone, written out in "
			"each "
			"place");
		n->bad = true;
	}
}

static void append(struct bp_yaml *parent, struct bp_yaml *n)
{
	if (parent->last != NULL)
		parent->last->next = n;
	else
		parent->first = n;
	parent->last = n;
	parent->n++;
}

/* Adds a node at the position of the stack: the root, a list item, a key or its value. */
static bool place(struct builder *b, struct bp_yaml *n)
{
	struct bp_yaml *parent;
	struct bp_yaml **key;

	if (b->depth == 0) {
		b->tree->root = n;
		return true;
	}
	parent = b->stack[b->depth - 1];
	key = &b->key[b->depth - 1];
	if (parent->kind == BP_YAML_LIST) {
		append(parent, n);
		return true;
	}
	if (*key == NULL) {
		if (n->kind != BP_YAML_SCALAR && !n->bad) {
			bp_error(b->messages, n->line, n->column,
				"the name of a setting is a list or mapping; expected a name and "
				"a colon");
			n->bad = true;
		}
		*key = n;
		return true;
	}
	n->key = *key;
	*key = NULL;
	if (n->key->kind == BP_YAML_SCALAR)
		append(parent, n);
	return true;
}

static bool open_collection(struct builder *b, struct fy_event *e, enum bp_yaml_kind kind)
{
	struct bp_yaml *n = new_node(b, kind);

	if (n == NULL)
		return false;
	reject_tags(b, e, n);
	if (b->depth == BP_YAML_DEPTH_MAX) {
		bp_error(b->messages, b->line, b->column,
			"nested too deep; expected at most %u levels", BP_YAML_DEPTH_MAX);
		return false;
	}
	if (!place(b, n))
		return false;
	b->stack[b->depth] = n;
	b->key[b->depth] = NULL;
	b->depth++;
	return true;
}

/* Returns whether libfyaml can return the text; otherwise reports why not. */
static bool check_text(struct builder *b, struct fy_token *token, struct bp_yaml *n)
{
	const struct fy_mark *start = fy_token_start_mark(token), *end = fy_token_end_mark(token);
	uint32_t lines = start != NULL && end != NULL ? (uint32_t)(end->line - start->line) : 0;

	if (lines > BP_YAML_LINES_MAX) {
		bp_error(b->messages, n->line, n->column, "a text of %u lines; expected at most %u",
			lines, BP_YAML_LINES_MAX);
		return false;
	}
	/* libfyaml 0.7.12 leaks memory on doubled apostrophes, so these texts are read here. */
	if (lines > 0 && fy_token_scalar_style(token) == FYSS_SINGLE_QUOTED) {
		bp_error(b->messages, n->line, n->column,
			"a text in single quotes continues on the next line; expected it on one "
			"line, or in "
			"double quotes");
		return false;
	}
	return true;
}

/*
 * Reads the text from `at`, after the opening quote, to the closing one; a doubled quote means one
 * quote. Returns the length; with out == NULL it writes nothing.
 */
static size_t unquote_single(const struct builder *b, size_t at, char *out)
{
	size_t n = 0;

	for (; at < b->source_len; at++) {
		if (b->source[at] == '\'' && (at + 1 == b->source_len || b->source[++at] != '\''))
			break;
		if (out != NULL)
			out[n] = b->source[at];
		n++;
	}
	return n;
}

/* Copies a scalar's text into the tree. */
static bool take_text(struct builder *b, struct fy_token *token, size_t at, struct bp_yaml *n)
{
	bool single = fy_token_scalar_style(token) == FYSS_SINGLE_QUOTED;
	size_t len = single ? unquote_single(b, at, NULL) : 0;
	const char *text = single ? "" : fy_token_get_text(token, &len);
	char *copy = text != NULL ? take(b->tree, len + 1) : NULL;

	if (copy == NULL)
		return out_of_memory(b);
	if (single)
		unquote_single(b, at, copy);
	else
		memcpy(copy, text, len);
	copy[len] = '\0';
	n->text = copy;
	n->n = (uint32_t)len;
	n->verbatim = len <= b->source_len - at && memcmp(b->source + at, copy, len) == 0 &&
		      memchr(copy, '\n', len) == NULL;
	return true;
}

static bool add_scalar(struct builder *b, struct fy_event *e)
{
	struct fy_token *token = fy_event_get_token(e);
	const struct fy_mark *mark = token != NULL ? fy_token_start_mark(token) : NULL;
	struct bp_yaml *n = new_node(b, BP_YAML_SCALAR);
	enum fy_scalar_style style;

	if (n == NULL)
		return false;
	reject_tags(b, e, n);
	if (mark == NULL || mark->input_pos > b->source_len)
		return place(b, n);
	style = fy_token_scalar_style(token);
	n->quoted = style != FYSS_PLAIN;
	n->block = style == FYSS_LITERAL || style == FYSS_FOLDED;
	/* an empty scalar may be at the end, where the original has no byte */
	if (mark->input_pos < b->source_len &&
		b->source[mark->input_pos] != b->original[mark->input_pos])
		n->bad = true; /* bp_yaml_report_comparison() */
	/* libfyaml reports the position of a quoted scalar after the quote. */
	if ((style == FYSS_SINGLE_QUOTED || style == FYSS_DOUBLE_QUOTED) && n->column > 1)
		n->column--;
	if (!check_text(b, token, n)) {
		n->bad = true;
		return place(b, n);
	}
	if (!take_text(b, token, mark->input_pos, n))
		return false;
	if (!n->bad && memchr(n->text, '\0', n->n) != NULL) {
		bp_error(b->messages, n->line, n->column,
			"a NUL character; expected text without any");
		n->bad = true;
	}
	return place(b, n);
}

static bool reject_alias(struct builder *b)
{
	struct bp_yaml *n = new_node(b, BP_YAML_SCALAR);

	if (n == NULL)
		return false;
	/* The token is the name; the asterisk precedes it. */
	bp_error(b->messages, b->line, b->column - (b->column > 1),
		"a YAML alias is not supported; expected the value itself, written out (or in "
		"quotes, if "
		"it begins with *)");
	n->bad = true;
	return place(b, n);
}

static bool one_document(struct builder *b)
{
	if (++b->documents == 1)
		return true;
	bp_error(b->messages, b->line, b->column,
		"a second YAML document begins; expected one document in the file");
	return false;
}

static bool is_empty(struct fy_token *token)
{
	return fy_token_get_text_length(token) == 0 && fy_token_scalar_style(token) == FYSS_PLAIN;
}

static bool take_event(struct builder *b, struct fy_event *e)
{
	const struct fy_mark *mark = fy_event_start_mark(e);
	struct fy_token *token;

	/* An empty value has no token, and libfyaml then gives no position; that of 0.8 has a token
	 * behind the key. The position of the key is used. */
	token = e->type == FYET_SCALAR ? fy_event_get_token(e) : NULL;
	if (e->type == FYET_SCALAR)
		mark = token != NULL && !is_empty(token) ? fy_token_start_mark(token) : NULL;
	if (mark != NULL) {
		b->line = (uint32_t)mark->line + 1;
		b->column = (uint32_t)mark->column + 1;
	}
	switch (e->type) {
	case FYET_DOCUMENT_START:
		return one_document(b);
	case FYET_MAPPING_START:
		return open_collection(b, e, BP_YAML_MAP);
	case FYET_SEQUENCE_START:
		return open_collection(b, e, BP_YAML_LIST);
	case FYET_MAPPING_END:
	case FYET_SEQUENCE_END:
		b->depth--;
		return true;
	case FYET_SCALAR:
		return add_scalar(b, e);
	case FYET_ALIAS:
		return reject_alias(b);
	default:
		return true;
	}
}

static bool take_events(struct builder *b, struct fy_parser *parser)
{
	struct fy_event *e;
	bool going = true;

	while (going && (e = fy_parser_parse(parser)) != NULL) {
		bool end = e->type == FYET_STREAM_END;

		going = take_event(b, e);
		fy_parser_event_free(parser, e);
		if (end)
			return going;
	}
	return false;
}

static void report_syntax(struct builder *b, struct fy_diag *diag)
{
	static const char hint[] =
		"expected YAML 1.2 (text with { } [ ] , # & * ! | > or ': ' in it "
		"belongs in quotes)";
	struct fy_diag_error *e;
	void *at = NULL;
	uint32_t before = b->messages->errors;

	while ((e = fy_diag_errors_iterate(diag, &at)) != NULL) {
		if (e->type >= FYET_ERROR && e->line > 0 && e->column > 0)
			bp_error(b->messages, (uint32_t)e->line, (uint32_t)e->column,
				"not valid YAML: %s; %s", e->msg, hint);
	}
	if (b->messages->errors == before)
		bp_error(b->messages, b->line, b->column, "not valid YAML after this; %s", hint);
}

static int build(struct builder *b, struct fy_diag *diag)
{
	struct fy_parse_cfg cfg = {
		.flags = FYPCF_QUIET | FYPCF_COLLECT_DIAG | FYPCF_DEFAULT_VERSION_1_2,
		.search_path = "",
		.diag = diag,
	};
	struct fy_parser *parser = fy_parser_create(&cfg);
	uint32_t before = b->messages->errors;
	int ret = -1;

	if (parser == NULL || fy_parser_set_string(parser, b->source, b->source_len) != 0)
		out_of_memory(b);
	else if (take_events(b, parser))
		ret = 0;
	else if (b->messages->errors == before || fy_parser_get_stream_error(parser))
		report_syntax(b, diag);
	if (parser != NULL)
		fy_parser_destroy(parser);
	return ret;
}

/* Returns whether libfyaml reads the text to its end. */
static bool is_readable(struct fy_diag *diag, const char *text, size_t len)
{
	const struct fy_parse_cfg cfg = {
		.flags = FYPCF_QUIET | FYPCF_DEFAULT_VERSION_1_2, .search_path = "", .diag = diag};
	struct fy_parser *parser = fy_parser_create(&cfg);
	struct fy_event *e;
	bool end = false;

	if (parser != NULL && fy_parser_set_string(parser, text, len) == 0) {
		while (!end && (e = fy_parser_parse(parser)) != NULL) {
			end = e->type == FYET_STREAM_END;
			fy_parser_event_free(parser, e);
		}
	}
	if (parser != NULL)
		fy_parser_destroy(parser);
	return end;
}

/*
 * An unquoted condition stops libfyaml, and no further errors would be found. So unquoted
 * conditions are reported here, and parsing continues on a copy (the caller frees it) in which they
 * are plain text. NULL: there is none.
 */
static char *report_comparisons(struct builder *b, struct fy_diag *diag)
{
	size_t at = bp_yaml_find_comparison(b->source, b->source_len, 0);
	char *copy;

	if (at == b->source_len || is_readable(diag, b->source, b->source_len) ||
		(copy = malloc(b->source_len)) == NULL)
		return NULL;
	memcpy(copy, b->source, b->source_len);
	for (unsigned n = 0; n < BP_MESSAGES_MAX && at < b->source_len; n++) {
		bp_yaml_report_comparison(b->source, b->source_len, at, b->messages);
		copy[at] = '=';
		at = bp_yaml_find_comparison(b->source, b->source_len, at + 1);
	}
	b->source = copy;
	return copy;
}

static struct fy_diag *new_diag(void)
{
	struct fy_diag_cfg cfg;
	struct fy_diag *diag;

	fy_diag_cfg_default(&cfg);
	cfg.fp = NULL;
	cfg.colorize = false;
	diag = fy_diag_create(&cfg);
	if (diag != NULL)
		fy_diag_set_collect_errors(diag, true);
	return diag;
}

int bp_yaml_parse(
	struct bp_yaml_tree *t, const char *text, size_t len, struct bp_messages *messages)
{
	struct builder b = {.tree = t,
		.messages = messages,
		.source = text,
		.source_len = len,
		.line = 1,
		.column = 1};
	struct fy_diag *first = NULL, *diag = NULL;
	char *copy = NULL;
	int ret = -1;

	memset(t, 0, sizeof(*t));
	if (len >= 3 && memcmp(text, "\xef\xbb\xbf", 3) == 0) { /* a byte order mark */
		text += 3;
		len -= 3;
		b.source = text;
		b.source_len = len;
	}
	b.original = text;
	if (!bp_yaml_check_source(text, len, messages))
		return -1;
	first = new_diag();
	diag = new_diag();
	if (first != NULL && diag != NULL) {
		copy = report_comparisons(&b, first);
		ret = build(&b, diag);
	} else {
		out_of_memory(&b);
	}
	if (first != NULL)
		fy_diag_destroy(first);
	if (diag != NULL)
		fy_diag_destroy(diag);
	free(copy);
	return ret;
}

bool bp_yaml_is_null(const struct bp_yaml *n)
{
	return n->kind == BP_YAML_SCALAR && !n->quoted &&
	       (n->n == 0 || strcmp(n->text, "~") == 0 || strcmp(n->text, "null") == 0);
}

uint32_t bp_yaml_column(const struct bp_yaml *n, size_t at)
{
	uint32_t column = n->column + n->quoted;

	if (!n->verbatim || at == 0 || at > n->n)
		return n->column;
	for (size_t i = 0; i < at; i++)
		column += ((unsigned char)n->text[i] & 0xc0) != 0x80;
	return column;
}

struct bp_yaml *bp_yaml_find(const struct bp_yaml *map, const char *path)
{
	size_t len = strcspn(path, ".");

	if (map == NULL || map->kind != BP_YAML_MAP)
		return NULL;
	for (struct bp_yaml *n = map->first; n != NULL; n = n->next) {
		if (n->key->n != len || memcmp(n->key->text, path, len) != 0)
			continue;
		return path[len] == '\0' ? n : bp_yaml_find(n, path + len + 1);
	}
	return NULL;
}
