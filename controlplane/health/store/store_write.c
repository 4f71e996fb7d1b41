/* SPDX-License-Identifier: BSD-3-Clause */
/* Rows on their way to the file. */
#include <stdlib.h>
#include <string.h>

#include "controlplane/health/store/store_internal.h"
#include "controlplane/process/clock.h"
#include "daemon/log.h"

#define SAY_NS 60000000000ull

void bp_phd_store_log(struct bp_phd_store *s, const char *what)
{
	const uint64_t now = bp_mono_ns();

	if (s->logged_ns != 0 && now - s->logged_ns < SAY_NS)
		return;
	s->logged_ns = now;
	s->said = true;
	bp_log_event(BP_LOG_WARNING,
		BP_LOG_FIELDS(BP_LOG_NUM("failed_attempts", s->counts.failures),
			BP_LOG_NUM("rows_lost", s->counts.lost)),
		"%s; sessions continue", what);
}

/* ---- rows to the file ---- */

bool bp_phd_store_write(struct bp_phd_store *s, const struct bp_phd_store_row *row)
{
	if (bp_phd_store_writer_put(s->writer, row))
		return true;
	s->counts.lost++;
	bp_phd_store_lacks(s, true);
	bp_phd_store_log(s, "store of health devices: rows are lost: too many wait for the disk");
	return false;
}

bool bp_phd_store_write_pair(struct bp_phd_store *s, uint32_t pair)
{
	const struct bp_phd_known_pair *p = bp_phd_known_pair(s->known, pair);
	struct bp_phd_store_row row = {.kind = BP_PHD_STORE_PUT_KNOWN,
		.config_id = p->config_id,
		.spec = p->spec,
		.made = p->made};

	if (p->config != BP_PHD_KNOWN_NONE)
		row.content = bp_phd_known_config(s->known, p->config)->content;

	memcpy(row.system_id, p->system_id, sizeof(row.system_id));
	bp_phd_known_pair(s->known, pair)->stamp = s->uses;
	return bp_phd_store_write(s, &row);
}

bool bp_phd_store_write_config(struct bp_phd_store *s, uint32_t config)
{
	const struct bp_phd_known_config *c = bp_phd_known_config(s->known, config);
	struct bp_phd_store_row row = {.kind = BP_PHD_STORE_PUT_CONFIG,
		.content = c->content,
		.report = malloc(c->len),
		.report_len = (uint16_t)c->len};

	if (row.report == NULL) {
		s->counts.lost++;
		bp_phd_store_lacks(s, true);
		return false;
	}
	memcpy(row.report, c->report, c->len);
	return bp_phd_store_write(s, &row);
}

void bp_phd_store_drop_config(struct bp_phd_store *s, uint32_t config)
{
	const struct bp_phd_store_row row = {.kind = BP_PHD_STORE_DROP_CONFIG,
		.content = bp_phd_known_config(s->known, config)->content};

	bp_phd_known_config_remove(s->known, config);
	bp_phd_store_write(s, &row);
}

/* ---- rewriting all rows: after rows were lost, or into a new file ---- */

#define TIMER_MS 20
#define TIMER_CONFIGS 32u
#define TIMER_PAIRS 512u

static void retry_later(struct bp_phd_store *s)
{
	const struct timeval in = {.tv_usec = TIMER_MS * 1000};

	evtimer_add(s->turn, &in);
}

void bp_phd_store_lacks(struct bp_phd_store *s, bool wipe)
{
	s->lacks = true;
	s->wipe = s->wipe || wipe;
	if (bp_phd_store_is_loaded(s))
		retry_later(s);
}

/* Reserves queue space, so that rewriting lost rows does not lose them again. */
static bool has_capacity(const struct bp_phd_store *s)
{
	struct bp_phd_store_results n;

	bp_phd_store_writer_state(s->writer, &n);
	return !n.failed && n.queued < BP_PHD_STORE_QUEUE / 2 &&
	       n.bytes < BP_PHD_STORE_QUEUE_BYTES / 2;
}

static bool begin(struct bp_phd_store *s)
{
	if (s->wipe &&
		!bp_phd_store_write(s, &(struct bp_phd_store_row){.kind = BP_PHD_STORE_WIPE}))
		return false;
	s->lacks = false; /* until a row is lost again */
	s->wipe = false;
	s->rewriting = true;
	s->next_config = 0;
	s->left = bp_phd_known_count(s->known);
	bp_phd_known_walk(s->known);
	return true;
}

/* True: all of them are queued. */
static bool write_configs(struct bp_phd_store *s)
{
	const struct bp_phd_known_config *c;

	for (unsigned n = 0; n < TIMER_CONFIGS; n++, s->next_config++) {
		c = bp_phd_known_config(s->known, s->next_config);
		if (c == NULL)
			return true;
		if (c->report != NULL)
			bp_phd_store_write_config(s, s->next_config);
	}
	return false;
}

/* From the oldest to the newest. A use meanwhile writes the pair by itself. */
static bool write_pairs(struct bp_phd_store *s)
{
	uint32_t i;

	for (unsigned n = 0; n < TIMER_PAIRS; n++) {
		if (s->left == 0)
			return true;
		s->left--;
		i = bp_phd_known_step(s->known);
		if (i == BP_PHD_KNOWN_NONE)
			return true;
		bp_phd_store_write_pair(s, i);
	}
	return false;
}

void bp_phd_store_rewrite_step(int fd, short what, void *arg)
{
	struct bp_phd_store *s = arg;

	(void)fd;
	(void)what;
	if (!has_capacity(s) || (!s->rewriting && !begin(s)) || !write_configs(s) ||
		!write_pairs(s)) {
		retry_later(s);
		return;
	}
	s->rewriting = false;
	if (s->lacks)
		retry_later(s);
	else
		s->ops->retry(s->arg);
}
