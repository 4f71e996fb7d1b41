/* SPDX-License-Identifier: BSD-3-Clause */
#include <stdlib.h>
#include <string.h>

#include "controlplane/process/log.h"
#include "controlplane/health/store/store_internal.h"

/* Reading the file back: configurations, who declared them, sessions, a page in a turn. */

/* One that is not taken; the row's report is freed. */
static void skip_config(struct bp_phd_store *s, struct bp_phd_store_row *row)
{
	free(row->report);
	row->report = NULL;
	s->counts.skipped++;
	if (bp_phd_known_config_find(s->known, row->content) == BP_PHD_KNOWN_NONE)
		bp_phd_store_write(s, &(struct bp_phd_store_row){.kind = BP_PHD_STORE_DROP_CONFIG,
					      .content = row->content});
}

static void load_config(struct bp_phd_store *s, struct bp_phd_store_row *row)
{
	struct bp_phd_model model;

	if (row->kind == BP_PHD_STORE_BAD ||
		bp_phd_config_read((struct bp_phd_bytes){row->report, row->report_len}, &model) !=
			BP_PHD_OK ||
		model.content != row->content) {
		skip_config(s, row);
		return;
	}
	if (bp_phd_known_config_find(s->known, row->content) != BP_PHD_KNOWN_NONE) {
		free(row->report); /* learned meanwhile */
		return;
	}
	if (bp_phd_known_octets(s->known) + row->report_len > s->max_octets ||
		bp_phd_known_config_add(s->known, row->content, model.config_id, row->report,
			row->report_len) == BP_PHD_KNOWN_NONE)
		skip_config(s, row);
}

static void load_known(struct bp_phd_store *s, const struct bp_phd_store_row *row)
{
	struct bp_phd_store_row drop = *row;
	const struct bp_phd_known_config *c;
	uint32_t config, i;

	if (row->kind == BP_PHD_STORE_BAD) {
		s->counts.skipped++;
		return;
	}
	if (bp_phd_known_find(s->known, row->system_id, row->config_id) != BP_PHD_KNOWN_NONE)
		return; /* learned meanwhile */
	drop.kind = BP_PHD_STORE_DROP_KNOWN;
	config = row->content != 0 ? bp_phd_known_config_find(s->known, row->content)
				   : BP_PHD_KNOWN_NONE;
	c = bp_phd_known_config(s->known, config);
	/* without a content it declared none */
	if (row->content == 0 ? row->made == 0 : c == NULL || c->config_id != row->config_id) {
		s->counts.skipped += row->content != 0;
		bp_phd_store_write(s, &drop);
		return;
	}
	/* What comes first was used last. */
	i = bp_phd_known_add(s->known, row->system_id, row->config_id, config, false);
	if (i == BP_PHD_KNOWN_NONE) {
		s->counts.evicted++;
		bp_phd_store_write(s, &drop);
		return;
	}
	bp_phd_known_pair(s->known, i)->spec = row->spec;
	bp_phd_known_pair(s->known, i)->made = row->made;
	/* Its first use is written. */
	bp_phd_known_pair(s->known, i)->stamp = s->uses - s->max_known;
	s->counts.known_read++;
}

static void load_session(struct bp_phd_store *s, const struct bp_phd_store_row *row)
{
	const struct bp_phd_store_session *x = &row->session;

	if (row->kind == BP_PHD_STORE_BAD) {
		s->counts.skipped++;
		return;
	}
	if (bp_phd_touched_has(&s->touched, x->transport, x->address, x->port))
		return;
	s->counts.sessions_read++;
	if (!s->ops->session(s->arg, x))
		bp_phd_store_close(s, x->transport, x->address, x->port);
}

/* Configurations whose devices are gone. */
static void drop_unused(struct bp_phd_store *s)
{
	const struct bp_phd_known_config *c;

	for (uint32_t i = 0; (c = bp_phd_known_config(s->known, i)) != NULL; i++)
		if (c->report != NULL && c->users == 0)
			bp_phd_store_drop_config(s, i);
}

static void finish(struct bp_phd_store *s)
{
	drop_unused(s);
	bp_phd_touched_clear(&s->touched);
	if (s->counts.skipped != 0)
		bp_log(BP_LOG_WARNING,
			"store of health devices: %llu rows were skipped: unreadable, or beyond "
			"the bounds",
			(unsigned long long)s->counts.skipped);
	s->told = true;
	if (s->lacks)
		bp_phd_store_lacks(s, s->wipe);
	s->ops->loaded(s->arg, true);
}

void bp_phd_store_loaded_page(struct bp_phd_store *s)
{
	struct bp_phd_store_page *p = &s->page;

	for (unsigned i = 0; i < p->n; i++) {
		if (p->table == BP_PHD_STORE_CONFIGS)
			load_config(s, &p->row[i]);
		else if (p->table == BP_PHD_STORE_KNOWN)
			load_known(s, &p->row[i]);
		else
			load_session(s, &p->row[i]);
	}
	if (p->end)
		s->table++;
	if (bp_phd_store_is_loaded(s))
		finish(s);
	else
		bp_phd_store_writer_ask(s->writer, s->table, p);
}
