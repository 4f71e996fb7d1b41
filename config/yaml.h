/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_CONFIG_YAML_H
#define BP_CONFIG_YAML_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "config/messages.h"

/*
 * A YAML 1.2 text as a tree in which every node knows its line and column. Built from libfyaml's
 * events and not from its documents: those search a mapping's keys one after another, which makes a
 * large mapping quadratic, and they expand what biplane refuses (aliases, tags, further documents).
 */

#define BP_YAML_BYTES_MAX (32u << 20)
#define BP_YAML_NODES_MAX (3u << 20)
#define BP_YAML_DEPTH_MAX 32u
#define BP_YAML_LINES_MAX 16u       /* lines of one text: libfyaml's time grows with their square */
#define BP_YAML_FLOW_MAX (1u << 20) /* bytes of a [...] or {...}, brackets included */

enum bp_yaml_kind { BP_YAML_SCALAR, BP_YAML_LIST, BP_YAML_MAP };

struct bp_yaml {
	uint8_t kind;          /* enum bp_yaml_kind */
	bool quoted;           /* scalar in quotes: an empty one is a text, not nothing */
	bool block;            /* scalar that | or > begins */
	bool verbatim;         /* scalar that stands in the file byte for byte, on one line */
	bool bad;              /* an error about it is reported already */
	bool faulty;           /* a setting or an element: so is one about something in it */
	uint32_t line, column; /* from 1; columns count characters */
	uint32_t n;            /* items, pairs, or bytes of text */
	const char *text;      /* scalar: NUL terminated */
	struct bp_yaml *first, *last; /* items, or the pairs' values */
	struct bp_yaml *next;         /* in the list or map that holds this node */
	const struct bp_yaml *key;    /* of a pair's value; always a scalar */
};

struct bp_yaml_tree {
	struct bp_yaml *root; /* NULL: an empty file */
	struct bp_yaml_chunk *chunks;
	uint32_t nodes;
};

/*
 * Returns 0, or -1 when the text can't be read as one tree; a tree that came out may still have
 * errors in it (nodes marked bad). Either way bp_yaml_free() is due.
 */
int bp_yaml_parse(
	struct bp_yaml_tree *t, const char *text, size_t len, struct bp_messages *messages);
void bp_yaml_free(struct bp_yaml_tree *t);

/* Whether libfyaml can be trusted with the text; else an error is reported. */
bool bp_yaml_check_source(const char *text, size_t len, struct bp_messages *messages);

/*
 * A comparison as a value without quotes (raise: > 80), which YAML takes for the header of a folded
 * text and refuses: its first byte at or behind `from`, or `len`. In doubt (comments, quoted texts)
 * there is one.
 */
size_t bp_yaml_find_comparison(const char *text, size_t len, size_t from);
/* Its error at byte `at`. */
void bp_yaml_report_comparison(
	const char *text, size_t len, size_t at, struct bp_messages *messages);

/* An empty value: nothing after the colon, ~ or null. */
bool bp_yaml_is_null(const struct bp_yaml *n);

/* The column of byte `at` of a scalar, or where the scalar begins when that can't be told. */
uint32_t bp_yaml_column(const struct bp_yaml *n, size_t at);

/* The value at a dotted path ("mqtt.publisher.broker"), or NULL where the file has none. */
struct bp_yaml *bp_yaml_find(const struct bp_yaml *map, const char *path);

#endif
