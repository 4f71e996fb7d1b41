/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_CONFIG_YAML_H
#define BP_CONFIG_YAML_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "config/messages.h"

/*
 * A YAML 1.2 text as a tree in which every node has its line and column. Built from libfyaml's
 * events and not from its documents: documents search the keys of a mapping linearly, which makes a
 * large mapping quadratic, and they expand constructs that biplane rejects (aliases, tags, further
 * documents).
 */

#define BP_YAML_BYTES_MAX (32u << 20)
#define BP_YAML_NODES_MAX (3u << 20)
#define BP_YAML_DEPTH_MAX 32u
#define BP_YAML_LINES_MAX 16u       /* lines of one text: libfyaml's time grows with their square */
#define BP_YAML_FLOW_MAX (1u << 20) /* bytes of a [...] or {...}, brackets included */

enum bp_yaml_kind { BP_YAML_SCALAR, BP_YAML_LIST, BP_YAML_MAP };

struct bp_yaml {
	uint8_t kind;          /* enum bp_yaml_kind */
	bool quoted;           /* scalar in quotes: an empty one is an empty text, not null */
	bool block;            /* scalar that begins with | or > */
	bool verbatim;         /* scalar that is in the file byte for byte, on one line */
	bool bad;              /* an error about it was already reported */
	bool faulty;           /* a setting or an element with an error in itself or below */
	uint32_t line, column; /* from 1; columns count characters */
	uint32_t n;            /* items, pairs, or bytes of text */
	const char *text;      /* scalar: NUL terminated */
	struct bp_yaml *first, *last; /* items, or the values of pairs */
	struct bp_yaml *next;         /* next sibling in the list or map */
	const struct bp_yaml *key;    /* key of a pair's value; always a scalar */
};

struct bp_yaml_tree {
	struct bp_yaml *root; /* NULL: an empty file */
	struct bp_yaml_chunk *chunks;
	uint32_t nodes;
};

/*
 * Returns 0, or -1 when the text is not one YAML tree; the resulting tree may contain errors (nodes
 * marked bad). The caller calls bp_yaml_free() in both cases.
 */
int bp_yaml_parse(
	struct bp_yaml_tree *t, const char *text, size_t len, struct bp_messages *messages);
void bp_yaml_free(struct bp_yaml_tree *t);

/* Returns whether the text is safe for libfyaml; otherwise reports an error. */
bool bp_yaml_check_source(const char *text, size_t len, struct bp_messages *messages);

/*
 * Finds an unquoted comparison as a value (raise: > 80), which YAML parses as the header of a
 * folded text and rejects: returns its first byte at or after `from`, or `len`. Ambiguous text
 * (comments, quoted texts) counts as a comparison.
 */
size_t bp_yaml_find_comparison(const char *text, size_t len, size_t from);
/* Reports the error about the comparison at byte `at`. */
void bp_yaml_report_comparison(
	const char *text, size_t len, size_t at, struct bp_messages *messages);

/* Returns whether the value is empty: nothing after the colon, ~ or null. */
bool bp_yaml_is_null(const struct bp_yaml *n);

/* Returns the column of byte `at` of a scalar, or the begin of the scalar when it is unknown. */
uint32_t bp_yaml_column(const struct bp_yaml *n, size_t at);

/* Returns the value at a dotted path ("mqtt.publisher.broker"), or NULL if the file has none. */
struct bp_yaml *bp_yaml_find(const struct bp_yaml *map, const char *path);

#endif
