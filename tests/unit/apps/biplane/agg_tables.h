/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_TESTS_UNIT_APPS_BIPLANE_AGG_TABLES_H
#define BP_TESTS_UNIT_APPS_BIPLANE_AGG_TABLES_H

#include "apps/biplane/show/show.h"

/*
 * The tables of aggregation in a segment, to be filled as the workers and the control plane do, and
 * what `show aggregates` says of them. One test at a time.
 */
#define STREAMS 20000u
#define WORKERS 2u

extern struct bp_shm shm;
extern struct bp_show_source source;
extern struct bp_agg_rules rules;

/* Of cmocka. The second one's file has no entry in section aggregation. */
int agg_tables_begin(void **state);
int agg_tables_begin_without(void **state);
int agg_tables_end(void **state);

/* `text`: an address or a prefix. */
struct bp_agg_to destination(const char *text, uint16_t first, uint16_t last);
/* One encapsulate entry and two decapsulate entries. */
void tell_rules(void);
/* A stream's row, as the aggregator writes it. */
void write_row(unsigned worker, unsigned i, uint64_t life, const char *address, uint8_t rule);

/* The view's JSON: a new reference. */
json_t *parsed(bool compact);
/* That its text has, or has not, these words. */
void says(const char *line);
void says_not(const char *line);
/* Element i of one of its arrays. */
json_t *entry(const json_t *v, const char *list, size_t i);
/* That the object has these members with these values, and perhaps others. Takes the reference. */
void has(const json_t *object, json_t *members);

#endif
