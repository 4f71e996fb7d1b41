/* SPDX-License-Identifier: BSD-3-Clause */
#include "controlplane/service.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "config/transform/settings.h"
#include "controlplane/process/publication.h"
#include "controlplane/transform/transform.h"
#include "controlplane/transform/transform_command.h"
#include "controlplane/transform/transform_loader.h"
#include "daemon/log.h"

/* A worker that still uses the bank after this time is stuck. */
#define CLEAR_WAIT_NS 10000000000ull

struct transform {
	struct bp_plane_context *x;
	struct bp_loader *loader; /* NULL: the matrix loader is disabled */
	struct bp_transform_counts counts;
	uint64_t clearing; /* client with a matrix-clear in progress */
	int cleared;       /* number of entries of that request */
};

static void *create(struct bp_plane_context *x, char *err, size_t err_size)
{
	struct transform *t = calloc(1, sizeof(*t));

	if (t != NULL)
		t->x = x;
	else
		snprintf(err, err_size, "no memory for transform");
	return t;
}

static const char *low_port(const void *state)
{
	const struct bp_config *c = ((const struct transform *)state)->x->config;

	return bp_config_transform(c)->matrix_loader_address.family != 0 &&
			       bp_config_transform(c)->matrix_loader_tcp_port != 0 &&
			       bp_config_transform(c)->matrix_loader_tcp_port < BP_LOW_PORTS
		       ? "transform.matrix_loader"
		       : NULL;
}

static int start(void *state, char *err, size_t err_size)
{
	struct transform *t = state;
	const struct bp_config *c = t->x->config;

	if (bp_config_transform(c)->matrix_loader_address.family == 0 ||
		t->x->shm->transform.head == NULL)
		return 0;
	t->loader =
		bp_loader_new(t->x->base, t->x->shm, &bp_config_transform(c)->matrix_loader_address,
			bp_config_transform(c)->matrix_loader_tcp_port,
			bp_config_transform(c)->matrix_loader_max_connections, err, err_size);
	return t->loader != NULL ? 0 : -1;
}

static void end(void *state)
{
	struct transform *t = state;

	bp_loader_free(t->loader);
	free(t);
}

/* ---- publication ---- */

static int prepare(void *state, const struct bp_config *c, bool same, char *err, size_t err_size)
{
	const struct transform *t = state;

	(void)c;
	(void)same;
	(void)err;
	(void)err_size;
	return t->x->shm->transform.head != NULL;
}

static int behind(const void *state)
{
	return bp_generation_pending(
		&((const struct transform *)state)->x->shm->transform.generation);
}

/* The bank is written directly and not staged, so that no matrix that is set during the publication
 * is lost. */
static int stage(void *state, const struct bp_config *c, char *err, size_t err_size)
{
	struct transform *t = state;

	return bp_transform_put(t->x->shm, c, &t->counts, err, err_size);
}

static void published(void *state, bool ok)
{
	const struct transform *t = state;

	if (ok && t->counts.lost != 0)
		bp_log_event(BP_LOG_WARNING, BP_LOG_FIELDS(BP_LOG_NUM("count", t->counts.lost)),
			"matrices set at run time were removed: the file no longer has their entry "
			"or receiver, or refuses them");
}

static void report(const void *state, json_t *answer)
{
	const struct transform *t = state;

	json_object_set_new(answer, "matrices_kept", json_integer(t->counts.kept));
	json_object_set_new(answer, "matrices_lost", json_integer(t->counts.lost));
}

/* ---- the control socket ---- */

static json_t *matrix_set(void *state, const json_t *request)
{
	return bp_transform_set_command(((struct transform *)state)->x->shm, request);
}

static void cleared(void *state, const char *error, bool retry)
{
	struct transform *t = state;

	(void)retry;
	bp_control_reply(t->x->control, t->clearing,
		error == NULL ? json_pack("{s:b, s:i}", "ok", 1, "entries", t->cleared)
			      : bp_control_refusal(error));
}

/* Builds the next bank without the loaded matrices, from the active configuration. */
static void matrix_clear(void *state, const json_t *request, uint64_t client)
{
	struct transform *t = state;
	json_t *refusal;
	char err[512] = "";
	int n = 0;

	/* before any mark is set */
	if (bp_publication_busy(t->x->publication))
		refusal = bp_control_refusal("rules are being activated; try again in a moment");
	else
		refusal = bp_transform_clear_command(t->x->shm, request, &n);
	if (refusal != NULL) {
		bp_control_reply(t->x->control, client, refusal);
		return;
	}
	t->clearing = client;
	t->cleared = n;
	if (bp_publication_start(t->x->publication, t->x->config, true, CLEAR_WAIT_NS, cleared, t,
		    err, sizeof(err)) != 0)
		bp_control_reply(t->x->control, client, bp_control_refusal(err));
}

static const struct bp_control_command commands[] = {
	{.name = "matrix-set", .members = ",...", .answer = matrix_set},
	{.name = "matrix-clear", .members = ",...", .begin = matrix_clear},
};

const struct bp_controlplane_service bp_controlplane_transform = {
	.name = "transform",
	.id = BP_SERVICE_TRANSFORM,
	.create = create,
	.low_port = low_port,
	.start = start,
	.free = end,
	.prepare = prepare,
	.behind = behind,
	.stage = stage,
	.published = published,
	.report = report,
	.commands = commands,
	.n_commands = sizeof(commands) / sizeof(commands[0]),
};
