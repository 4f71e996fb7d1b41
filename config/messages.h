/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_CONFIG_MESSAGES_H
#define BP_CONFIG_MESSAGES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/*
 * Errors and warnings about a file, collected while it is read and printed in the order of the
 * file: the settings are read in the order of the schema, so that references resolve.
 */

/* Maximum number of messages that are kept; further ones are only counted. */
#define BP_MESSAGES_MAX 10000

struct bp_message {
	uint32_t line, column; /* from 1 */
	uint32_t order;
	bool warning;
	char *text;
};

struct bp_messages {
	struct bp_message *list;
	uint32_t n, room;
	uint32_t errors;  /* all of them, kept or not */
	uint32_t dropped; /* over BP_MESSAGES_MAX, or no memory */
	/* A second text: its lines follow those of the first one, after line `first_lines`. */
	const char *second; /* its name; NULL: there is none */
	uint32_t first_lines;
	uint32_t base; /* added to the lines of new messages */
};

__attribute__((format(printf, 4, 5))) void bp_error(
	struct bp_messages *m, uint32_t line, uint32_t column, const char *format, ...);
__attribute__((format(printf, 4, 5))) void bp_warning(
	struct bp_messages *m, uint32_t line, uint32_t column, const char *format, ...);

/* Writes "name:LINE:COLUMN: text " for each message and frees all. */
void bp_messages_flush(struct bp_messages *m, const char *name, FILE *out);
/* The line in its own text, for the text of a message. */
uint32_t bp_messages_line(const struct bp_messages *m, uint32_t line);
void bp_messages_free(struct bp_messages *m);

/*
 * Formats `text` for a message: control characters as \xNN, truncated to a readable length. Returns
 * `out`.
 */
#define BP_SHOWN 96
const char *bp_shown(const char *text, size_t len, char out[BP_SHOWN]);

#endif
