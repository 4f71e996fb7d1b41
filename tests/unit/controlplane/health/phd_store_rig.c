/* SPDX-License-Identifier: BSD-3-Clause */
#include "tests/unit/controlplane/health/phd_store_rig.h"

#include <dirent.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/unit/proto/health/phd_build.h"

static bool on_session(void *arg, const struct bp_phd_store_session *s)
{
	struct rig *r = arg;

	if (r->n < RIG_SESSIONS)
		r->session[r->n] = *s;
	r->n++;
	return !r->forget;
}

static void on_loaded(void *arg, bool whole)
{
	struct rig *r = arg;

	r->whole += whole;
	r->not_whole += !whole;
}

static void on_again(void *arg)
{
	struct rig *r = arg;

	assert_int_equal(r->whole, 1);
	r->retry++;
}

static const struct bp_phd_store_ops ops = {
	.session = on_session, .loaded = on_loaded, .retry = on_again};

int rig_setup(void **state)
{
	struct rig *r = calloc(1, sizeof(*r));

	test_dir_make(r->dir, sizeof(r->dir));
	snprintf(r->path, sizeof(r->path), "%s/a/phd.db", r->dir);
	r->base = event_base_new();
	r->max_known = 1000;
	r->max_bytes = 1 << 20;
	*state = r;
	return 0;
}

int rig_teardown(void **state)
{
	struct rig *r = *state;

	rig_close(r);
	if (r->caught != NULL)
		rig_said(r, "");
	event_base_free(r->base);
	test_dir_remove(r->dir);
	free(r);
	return 0;
}

void rig_open(struct rig *r)
{
	r->n = r->retry = r->whole = r->not_whole = 0;
	r->store = bp_phd_store_new(r->base, r->path, r->max_known, r->max_bytes, &ops, r);
	assert_non_null(r->store);
}

void rig_close(struct rig *r)
{
	bp_phd_store_free(r->store);
	r->store = NULL;
}

void rig_load(struct rig *r)
{
	RUN_UNTIL(r, r->whole == 1);
}

void rig_reopen(struct rig *r)
{
	rig_close(r);
	rig_open(r);
	rig_load(r);
}

struct bp_phd_store_counts rig_counts(const struct rig *r)
{
	struct bp_phd_store_counts c;

	bp_phd_store_count(r->store, &c);
	return c;
}

struct bp_phd_store_session rig_session(unsigned n, uint32_t reports)
{
	struct bp_phd_store_session s = {.reports = reports,
		.associated_s = 0xfffffff0u + reports % 16,
		.port = (uint16_t)(n * 40503u),
		.config_id = (uint16_t)(0xfff0 + n % 16),
		.content = 0xfedcba9876543210ull + reports,
		.transport = n % 2 ? 6 : 17,
		.protocol = 1 + n % 2};

	memset(s.address + 10, 0xff, 2);
	for (unsigned i = 0; i < 4; i++)
		s.address[12 + i] = (uint8_t)(n >> 8 * i);
	memset(s.own, 0x80 + (int)(reports % 100), sizeof(s.own));
	rig_system_id(n, s.system_id);
	return s;
}

bool rig_equal(const struct bp_phd_store_session *a, const struct bp_phd_store_session *b)
{
	return memcmp(a->address, b->address, 16) == 0 && memcmp(a->own, b->own, 16) == 0 &&
	       memcmp(a->system_id, b->system_id, 8) == 0 && a->content == b->content &&
	       a->associated_s == b->associated_s && a->reports == b->reports &&
	       a->port == b->port && a->config_id == b->config_id && a->transport == b->transport &&
	       a->protocol == b->protocol;
}

const struct bp_phd_store_session *rig_find(const struct rig *r, unsigned n)
{
	const struct bp_phd_store_session key = rig_session(n, 0);
	const struct bp_phd_store_session *found = NULL;

	assert_true(r->n <= RIG_SESSIONS);
	for (unsigned i = 0; i < r->n; i++) {
		const struct bp_phd_store_session *s = &r->session[i];

		if (memcmp(s->address, key.address, 16) != 0 || s->port != key.port ||
			s->transport != key.transport)
			continue;
		assert_null(found); /* once */
		found = s;
	}
	return found;
}

void rig_put(struct rig *r, unsigned n, uint32_t reports)
{
	const struct bp_phd_store_session s = rig_session(n, reports);

	assert_true(bp_phd_store_put(r->store, &s));
}

void rig_drop(struct rig *r, unsigned n)
{
	const struct bp_phd_store_session s = rig_session(n, 0);

	assert_true(bp_phd_store_close(r->store, s.transport, s.address, s.port));
}

struct bp_phd_bytes rig_report(uint16_t id, uint16_t code, unsigned bytes)
{
	static struct build b;
	static const uint8_t filler[60000];

	b.n = 0;
	b.depth = 0;
	put16(&b, id);
	open_list(&b, 1);
	put16(&b, 6);
	put16(&b, 1);
	open_list(&b, bytes == 0 ? 2 : 3);
	put_attribute(&b, 2351, 2, (const uint16_t[]){2, code});
	put_attribute(&b, 2454, 1, (const uint16_t[]){544});
	if (bytes != 0) { /* a label */
		put16(&b, 2343);
		open_length(&b);
		put_bytes(&b, filler, bytes);
	}
	close_all(&b);
	return (struct bp_phd_bytes){b.b, (uint16_t)b.n};
}

void rig_system_id(unsigned device, uint8_t out[8])
{
	memset(out, 0xab, 8);
	for (unsigned i = 0; i < 4; i++)
		out[4 + i] = (uint8_t)(device >> 8 * i);
}

bool rig_learn(struct rig *r, unsigned device, uint16_t id, uint16_t code)
{
	uint8_t system_id[8];

	rig_system_id(device, system_id);
	return bp_phd_store_learn(r->store, system_id, rig_report(id, code, 0));
}

int rig_known(struct rig *r, unsigned device, uint16_t id, uint16_t *spec)
{
	struct bp_phd_model m;
	uint8_t system_id[8];
	uint16_t told;

	rig_system_id(device, system_id);
	if (!bp_phd_store_known(r->store, system_id, id, &m, &told))
		return -1;
	assert_int_equal(m.config_id, id);
	assert_int_equal(m.n, 1);
	assert_int_equal(m.object[0].unit, 544);
	if (spec != NULL)
		*spec = told;
	return m.object[0].code;
}

unsigned rig_files(const struct rig *r, const char *part)
{
	char dir[128];
	unsigned n = 0;
	DIR *d;

	snprintf(dir, sizeof(dir), "%s/a", r->dir);
	d = opendir(dir);
	assert_non_null(d);
	for (struct dirent *e; (e = readdir(d)) != NULL;)
		n += strstr(e->d_name, part) != NULL;
	closedir(d);
	return n;
}

void rig_sql(const struct rig *r, const char *sql)
{
	sqlite3 *db;

	assert_int_equal(sqlite3_open(r->path, &db), SQLITE_OK);
	assert_int_equal(sqlite3_exec(db, sql, NULL, NULL, NULL), SQLITE_OK);
	sqlite3_close(db);
}

void rig_catch_stderr(struct rig *r)
{
	fflush(stderr);
	r->caught = tmpfile();
	assert_non_null(r->caught);
	r->stderr_was = dup(STDERR_FILENO);
	assert_true(dup2(fileno(r->caught), STDERR_FILENO) >= 0);
}

unsigned rig_said(struct rig *r, const char *text)
{
	char line[2048];
	unsigned n = 0;

	fflush(stderr);
	dup2(r->stderr_was, STDERR_FILENO);
	close(r->stderr_was);
	rewind(r->caught);
	while (fgets(line, sizeof(line), r->caught) != NULL) {
		n += strstr(line, text) != NULL;
		fputs(line, stderr);
	}
	fclose(r->caught);
	r->caught = NULL;
	return n;
}
