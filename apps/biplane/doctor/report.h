/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_APPS_BIPLANE_DOCTOR_REPORT_H
#define BP_APPS_BIPLANE_DOCTOR_REPORT_H

#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>

/*
 * What the doctor has to say: {items: [{item, verdict, found, reason, commands}], nics: [...]}. As
 * with `biplane show`, what people read is set from the same objects.
 */
enum bp_verdict {
	BP_CHECK_OK,
	BP_CHECK_WARN, /* works, but slower or less reliably */
	BP_CHECK_SKIP, /* could not be checked */
	BP_CHECK_FAIL, /* prevents biplane from running here */
};
const char *bp_verdict_name(enum bp_verdict v);

struct bp_report {
	json_t *items, *nics;
	enum bp_verdict worst;
};

/* False: no memory. */
bool bp_report_begin(struct bp_report *r);
void bp_report_end(struct bp_report *r);

/* Adds an item with what was seen. why: the reason why it matters, a sentence, or "". Returns the
 * item, for bp_report_do(); it is the report's. */
json_t *bp_report_item(struct bp_report *r, const char *item, enum bp_verdict verdict,
	const char *why, const char *seen, ...) __attribute__((format(printf, 5, 6)));
/* Adds a command line that mends it, or a comment ("# ...") about what no command does. */
void bp_report_do(json_t *item, const char *command, ...) __attribute__((format(printf, 2, 3)));

/* colours: for a terminal. */
void bp_report_print(const struct bp_report *r, FILE *out, bool colours);
/* {verdict, items, nics}; the caller's. NULL without memory. */
json_t *bp_report_json(const struct bp_report *r);

#endif
