/* SPDX-License-Identifier: BSD-3-Clause */
#include "controlplane/health/store/store.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <sys/eventfd.h>

#include "controlplane/health/store/store_internal.h"
#include "controlplane/process/clock.h"
#include "daemon/log.h"

/* Maximum number of pairs evicted for the bytes of a new configuration. */
#define EVICT_FOR_BYTES 16u
/* Pairs checked for eviction. There are two per session, so half of them are evictable. */
#define EVICT_CHECKS 64u

/* ---- known configurations ---- */

/* Before all rows are loaded, the user of a configuration may still follow. */
static void drop_if_unused(struct bp_phd_store *s, uint32_t config)
{
	if (bp_phd_store_is_loaded(s) && config != BP_PHD_KNOWN_NONE &&
		bp_phd_known_config(s->known, config)->users == 0)
		bp_phd_store_drop_config(s, config);
}

/* Returns the pair that was unused for the longest time, except those of open sessions. */
static uint32_t find_oldest(struct bp_phd_store *s)
{
	for (unsigned looks = 0; looks < EVICT_CHECKS && s->ops->is_open != NULL; looks++) {
		const uint32_t i = bp_phd_known_oldest(s->known);
		const struct bp_phd_known_pair *p = bp_phd_known_pair(s->known, i);

		if (!s->ops->is_open(s->arg, p->system_id, p->config_id))
			return i;
		bp_phd_known_use(s->known, i);
	}
	return bp_phd_known_oldest(s->known);
}

static void evict_oldest(struct bp_phd_store *s)
{
	const uint32_t i = find_oldest(s);
	const struct bp_phd_known_pair *p = bp_phd_known_pair(s->known, i);
	const uint32_t config = p->config;
	struct bp_phd_store_row row = {.kind = BP_PHD_STORE_DROP_KNOWN, .config_id = p->config_id};

	memcpy(row.system_id, p->system_id, sizeof(row.system_id));
	bp_phd_known_remove(s->known, i);
	bp_phd_store_write(s, &row);
	drop_if_unused(s, config);
	s->counts.evicted++;
}

/* The position on the disk is only approximate: a use alone does not justify a row. */
static void use(struct bp_phd_store *s, uint32_t i)
{
	bp_phd_known_use(s->known, i);
	s->uses++;
	if (s->rewriting || s->uses - bp_phd_known_pair(s->known, i)->stamp > s->max_known / 8)
		bp_phd_store_write_pair(s, i);
}

/* Equal hashes are no proof: a device may have constructed them. */
static bool same_model(const struct bp_phd_known_config *c, struct bp_phd_bytes report,
	const struct bp_phd_model *model)
{
	struct bp_phd_model other;

	if (c->len == report.len && memcmp(c->report, report.p, c->len) == 0)
		return true;
	return bp_phd_config_read((struct bp_phd_bytes){c->report, (uint16_t)c->len}, &other) ==
		       BP_PHD_OK &&
	       other.config_id == model->config_id && other.n == model->n &&
	       memcmp(other.object, model->object, model->n * sizeof(other.object[0])) == 0;
}

static uint32_t new_config(
	struct bp_phd_store *s, struct bp_phd_bytes report, const struct bp_phd_model *model)
{
	uint8_t *copy;
	uint32_t i;

	for (unsigned n = 0; bp_phd_known_bytes(s->known) + report.len > s->max_bytes; n++) {
		/* before all rows are loaded, unused configurations are kept: eviction would free
		 * nothing */
		if (n == EVICT_FOR_BYTES || bp_phd_known_count(s->known) == 0 ||
			!bp_phd_store_is_loaded(s))
			return BP_PHD_KNOWN_NONE;
		evict_oldest(s);
	}
	copy = malloc(report.len);
	if (copy == NULL)
		return BP_PHD_KNOWN_NONE;
	memcpy(copy, report.p, report.len);
	i = bp_phd_known_config_add(s->known, model->content, model->config_id, copy, report.len);
	if (i == BP_PHD_KNOWN_NONE) {
		free(copy);
		return i;
	}
	bp_phd_store_write_config(s, i);
	return i;
}

/* Assigns the configuration to the pair; on the disk the pair leaves the old one before that is
 * deleted. */
static void assign(struct bp_phd_store *s, uint32_t pair, uint32_t config)
{
	struct bp_phd_known_pair *p = bp_phd_known_pair(s->known, pair);
	const uint32_t old = p->config;

	if (old != config)
		p->spec = 0;
	bp_phd_known_assign(s->known, pair, config);
	bp_phd_known_use(s->known, pair);
	s->uses++;
	bp_phd_store_write_pair(s, pair);
	drop_if_unused(s, old);
}

static uint32_t add_pair(
	struct bp_phd_store *s, const uint8_t system_id[8], uint16_t config_id, uint32_t config)
{
	uint32_t i;

	/* The configuration must not be deleted together with the evicted pair. */
	if (config != BP_PHD_KNOWN_NONE)
		bp_phd_known_config(s->known, config)->users++;
	if (s->max_known != 0 && bp_phd_known_count(s->known) == s->max_known)
		evict_oldest(s);
	if (config != BP_PHD_KNOWN_NONE)
		bp_phd_known_config(s->known, config)->users--;
	i = bp_phd_known_add(s->known, system_id, config_id, config, true);
	if (i == BP_PHD_KNOWN_NONE)
		drop_if_unused(s, config);
	return i;
}

static bool learn(struct bp_phd_store *s, const uint8_t system_id[8], struct bp_phd_bytes report)
{
	struct bp_phd_model model;
	uint32_t config, pair;

	if (bp_phd_config_read(report, &model) != BP_PHD_OK)
		return false;
	config = bp_phd_known_config_find(s->known, model.content);
	if (config == BP_PHD_KNOWN_NONE)
		config = new_config(s, report, &model);
	else if (!same_model(bp_phd_known_config(s->known, config), report, &model))
		return false;
	if (config == BP_PHD_KNOWN_NONE)
		return false;
	pair = bp_phd_known_find(s->known, system_id, model.config_id);
	if (pair == BP_PHD_KNOWN_NONE)
		pair = add_pair(s, system_id, model.config_id, config);
	if (pair == BP_PHD_KNOWN_NONE)
		return false;
	assign(s, pair, config);
	return true;
}

bool bp_phd_store_learn(
	struct bp_phd_store *s, const uint8_t system_id[8], struct bp_phd_bytes report)
{
	if (learn(s, system_id, report))
		return true;
	s->counts.refused++;
	return false;
}

bool bp_phd_store_known(struct bp_phd_store *s, const uint8_t system_id[8], uint16_t config_id,
	struct bp_phd_model *out, uint16_t *spec)
{
	const uint32_t i = bp_phd_known_find(s->known, system_id, config_id);
	const struct bp_phd_known_config *c;

	if (i == BP_PHD_KNOWN_NONE || bp_phd_known_pair(s->known, i)->config == BP_PHD_KNOWN_NONE)
		return false;
	use(s, i);
	*spec = bp_phd_known_pair(s->known, i)->spec;
	c = bp_phd_known_config(s->known, bp_phd_known_pair(s->known, i)->config);
	return bp_phd_config_read((struct bp_phd_bytes){c->report, (uint16_t)c->len}, out) ==
	       BP_PHD_OK;
}

struct bp_phd_store_device bp_phd_store_device(
	const struct bp_phd_store *s, const uint8_t system_id[8], uint16_t config_id)
{
	const uint32_t i = bp_phd_known_find(s->known, system_id, config_id);
	struct bp_phd_store_device d = {.created = 0};
	const struct bp_phd_known_config *c;

	if (i == BP_PHD_KNOWN_NONE)
		return d;
	d.created = bp_phd_known_pair(s->known, i)->made;
	c = bp_phd_known_config(s->known, bp_phd_known_pair(s->known, i)->config);
	if (c != NULL)
		d.report = (struct bp_phd_bytes){c->report, (uint16_t)c->len};
	return d;
}

bool bp_phd_store_spec(
	struct bp_phd_store *s, const uint8_t system_id[8], uint16_t config_id, uint16_t spec)
{
	const uint32_t i = bp_phd_known_find(s->known, system_id, config_id);

	if (i == BP_PHD_KNOWN_NONE || bp_phd_known_pair(s->known, i)->config == BP_PHD_KNOWN_NONE)
		return false;
	if (bp_phd_known_pair(s->known, i)->spec == spec)
		return true;
	bp_phd_known_use(s->known, i);
	s->uses++;
	bp_phd_known_pair(s->known, i)->spec = spec;
	bp_phd_store_write_pair(s, i);
	return true;
}

/* ---- devices with containers ---- */

uint64_t bp_phd_store_created(
	struct bp_phd_store *s, const uint8_t system_id[8], uint16_t config_id)
{
	const uint32_t i = bp_phd_known_find(s->known, system_id, config_id);

	if (i == BP_PHD_KNOWN_NONE)
		return 0;
	/* a pair with a configuration was already looked up, which counted as its use */
	if (bp_phd_known_pair(s->known, i)->config == BP_PHD_KNOWN_NONE)
		use(s, i);
	return bp_phd_known_pair(s->known, i)->made;
}

void bp_phd_store_set_created(
	struct bp_phd_store *s, const uint8_t system_id[8], uint16_t config_id, uint64_t made)
{
	uint32_t i = bp_phd_known_find(s->known, system_id, config_id);

	if (i == BP_PHD_KNOWN_NONE) {
		/* a new pair would hide a configuration that the file may contain for it */
		if (made == 0 || s->table <= BP_PHD_STORE_KNOWN)
			return;
		i = add_pair(s, system_id, config_id, BP_PHD_KNOWN_NONE);
		if (i == BP_PHD_KNOWN_NONE)
			return;
	}
	if (bp_phd_known_pair(s->known, i)->made == made)
		return;
	bp_phd_known_pair(s->known, i)->made = made;
	bp_phd_store_write_pair(s, i);
}

/* ---- sessions ---- */

/* The file's rows for this session are outdated from now on. */
static void touch(struct bp_phd_store *s, const struct bp_phd_store_session *x)
{
	if (bp_phd_store_is_loaded(s))
		return;
	if (!bp_phd_touched_add(&s->touched, x->transport, x->address, x->port)) {
		s->counts.lost++;
		bp_phd_store_lacks(s, true);
	}
}

bool bp_phd_store_put(struct bp_phd_store *s, const struct bp_phd_store_session *session)
{
	if (session->transport != 6 && session->transport != 17)
		return false;
	touch(s, session);
	return bp_phd_store_write(s,
		&(struct bp_phd_store_row){.kind = BP_PHD_STORE_PUT_SESSION, .session = *session});
}

bool bp_phd_store_close(
	struct bp_phd_store *s, uint8_t transport, const uint8_t address[16], uint16_t port)
{
	struct bp_phd_store_row row = {.kind = BP_PHD_STORE_DROP_SESSION,
		.session = {.transport = transport, .port = port}};

	if (transport != 6 && transport != 17)
		return false;
	memcpy(row.session.address, address, sizeof(row.session.address));
	touch(s, &row.session);
	return bp_phd_store_write(s, &row);
}

/* ---- loading the file: configurations, pairs, sessions, one page at a time ---- */

/* Skips a row; its report is freed. */
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
	if (bp_phd_known_bytes(s->known) + row->report_len > s->max_bytes ||
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
	/* without a content the pair declared none */
	if (row->content == 0 ? row->made == 0 : c == NULL || c->config_id != row->config_id) {
		s->counts.skipped += row->content != 0;
		bp_phd_store_write(s, &drop);
		return;
	}
	/* Rows are ordered: the first row is the most recently used. */
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

/* Drops configurations whose devices were removed. */
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
		bp_log_event(BP_LOG_WARNING, BP_LOG_FIELDS(BP_LOG_NUM("rows", s->counts.skipped)),
			"store of health devices: rows skipped: unreadable, or beyond the limits");
	s->loaded_called = true;
	if (s->lacks)
		bp_phd_store_lacks(s, s->wipe);
	s->ops->loaded(s->arg, true);
}

/* The requested page is available. */
static void loaded_page(struct bp_phd_store *s)
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
		bp_phd_store_writer_request(s->writer, s->table, p);
}

/* ---- start and end ---- */

static void on_results(int fd, short what, void *arg)
{
	struct bp_phd_store *s = arg;
	struct bp_phd_store_results n;
	uint64_t times;

	(void)what;
	if (read(fd, &times, sizeof(times)) != (ssize_t)sizeof(times))
		return;
	bp_phd_store_writer_results(s->writer, &n);
	if (n.failures != s->counts.failures) {
		s->counts.failures = n.failures;
		bp_phd_store_log(s, n.error);
	}
	if (s->said && !n.failed) {
		s->said = false;
		bp_log(BP_LOG_INFO, "store of health devices: writing resumed");
	}
	if (n.fresh)
		bp_phd_store_lacks(s, false);
	if (n.failed && !s->loaded_called) {
		s->loaded_called = true;
		s->ops->loaded(s->arg, false);
	}
	if (n.page)
		loaded_page(s);
}

static bool make(struct bp_phd_store *s, struct event_base *base, const char *path)
{
	s->known = bp_phd_known_new(s->max_known);
	s->fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
	if (s->known == NULL || s->fd < 0)
		return false;
	s->on_results = event_new(base, s->fd, EV_READ | EV_PERSIST, on_results, s);
	s->turn = evtimer_new(base, bp_phd_store_rewrite_step, s);
	if (s->on_results == NULL || s->turn == NULL || event_add(s->on_results, NULL) != 0)
		return false;
	s->writer = bp_phd_store_writer_new(path, s->fd);
	return s->writer != NULL;
}

struct bp_phd_store *bp_phd_store_new(struct event_base *base, const char *path, uint32_t max_known,
	uint64_t max_bytes, const struct bp_phd_store_ops *ops, void *arg)
{
	struct bp_phd_store *s = calloc(1, sizeof(*s));

	if (s == NULL)
		return NULL;
	s->ops = ops;
	s->arg = arg;
	s->fd = -1;
	s->max_known = max_known;
	s->max_bytes = max_bytes;
	if (!make(s, base, path)) {
		bp_phd_store_free(s);
		return NULL;
	}
	bp_phd_store_writer_request(s->writer, s->table, &s->page);
	return s;
}

void bp_phd_store_free(struct bp_phd_store *s)
{
	if (s == NULL)
		return;
	bp_phd_store_writer_free(s->writer);
	if (s->on_results != NULL)
		event_free(s->on_results);
	if (s->turn != NULL)
		event_free(s->turn);
	if (s->fd >= 0)
		close(s->fd);
	bp_phd_known_free(s->known);
	bp_phd_touched_clear(&s->touched);
	free(s);
}

uint32_t bp_phd_store_capacity(const struct bp_phd_store *s)
{
	return bp_phd_store_writer_capacity(s->writer);
}

bool bp_phd_store_flush(struct bp_phd_store *s)
{
	return bp_phd_store_writer_flush(s->writer);
}

void bp_phd_store_count(const struct bp_phd_store *s, struct bp_phd_store_counts *out)
{
	struct bp_phd_store_results n;

	bp_phd_store_writer_state(s->writer, &n);
	*out = s->counts;
	out->rows = n.rows;
	out->failures = n.failures;
	out->queued = n.queued;
	out->known = bp_phd_known_count(s->known);
}
