/* SPDX-License-Identifier: BSD-3-Clause */
#include "controlplane/process/reload.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "config/config.h"
#include "controlplane/process/publication.h"

/* A worker that still uses the bank after this time is stuck. */
#define WAIT_NS 10000000000ull

/* A message may quote bytes that are not UTF-8. */
static json_t *line_to_json(const char *text, size_t n)
{
	json_t *line = json_stringn(text, n);

	return line != NULL ? line : json_string("(a message that is not valid UTF-8)");
}

json_t *bp_lines_to_json(const char *text)
{
	json_t *lines = json_array();
	size_t n, more = 0;

	for (; *text != '\0'; text += n + (text[n] == '\n')) {
		n = strcspn(text, "\n");
		if (n == 0)
			continue;
		if (json_array_size(lines) < BP_RELOAD_ERRORS_MAX)
			json_array_append_new(lines, line_to_json(text, n));
		else
			more++;
	}
	if (more != 0)
		json_array_append_new(lines, json_sprintf("and %zu more", more));
	return lines;
}

static void count(_Atomic uint64_t *counter)
{
	atomic_fetch_add_explicit(counter, 1, memory_order_relaxed);
}

/* `retry`: the configuration is not the reason, and the same one may be taken over later. */
static void refuse(struct bp_reload *r, const char *lines, bool retry, bp_reload_done done,
	void *arg, uint64_t tag)
{
	count(&r->x->shm->control->cp_reloads_refused);
	done(arg, tag,
		json_pack("{s:b, s:b, s:o}", "ok", 0, "retry", (int)retry, "errors",
			bp_lines_to_json(lines)));
}

static void published(void *arg, const char *error, bool retry)
{
	struct bp_reload *r = arg;
	struct bp_config *next = r->next, *before = r->running;
	json_t *answer;

	r->next = NULL;
	if (error != NULL) {
		bp_config_free(next);
		refuse(r, error, retry, r->done, r->arg, r->tag);
		return;
	}
	r->running = next;
	r->x->config = next;
	bp_cp_services_configure(r->x);
	bp_config_free(before);
	count(&r->x->shm->control->cp_reloads);
	answer = json_pack("{s:b}", "ok", 1);
	bp_cp_services_report(r->x, answer);
	r->done(r->arg, r->tag, answer);
}

/* Returns the next configuration if it can be applied, else NULL with the errors written. */
static struct bp_config *load(struct bp_reload *r, FILE *errors)
{
	struct bp_config *next = bp_config_load(r->path, errors);
	char err[1024];

	if (next == NULL)
		return NULL;
	if (bp_config_restart_needed(r->running, next, errors) == 0) {
		if (bp_cp_services_check(r->x, next, err, sizeof(err)) == 0)
			return next;
		fprintf(errors, "%s\n", err);
	}
	bp_config_free(next);
	return NULL;
}

void bp_reload_start(struct bp_reload *r, bp_reload_done done, void *arg, uint64_t tag)
{
	char *text = NULL, err[512];
	const bool busy = bp_publication_busy(r->x->publication);
	size_t size = 0;
	FILE *errors;

	if (r->next != NULL) {
		refuse(r, "another reload is in progress; try again in a moment", true, done, arg,
			tag);
		return;
	}
	errors = open_memstream(&text, &size);
	if (errors == NULL) {
		refuse(r, "no memory to reload", true, done, arg, tag);
		return;
	}
	r->next = load(r, errors);
	fclose(errors);
	r->done = done;
	r->arg = arg;
	r->tag = tag;
	if (r->next == NULL) {
		refuse(r, text, false, done, arg, tag);
	} else if (bp_publication_start(r->x->publication, r->next, false, WAIT_NS, published, r,
			   err, sizeof(err)) != 0) {
		bp_config_free(r->next);
		r->next = NULL;
		refuse(r, err, busy, done, arg, tag);
	}
	free(text);
}
