/* SPDX-License-Identifier: BSD-3-Clause */
/* For whom containers were made, as the file has it. */
#include "tests/unit/controlplane/health/phd_store_rig.h"

#include <sqlite3.h>
#include <stdlib.h>

#define OWN 0x4000u
#define STANDARD 400u

static uint64_t made(struct rig *r, unsigned device, uint16_t config_id)
{
	uint8_t system_id[8];

	rig_system_id(device, system_id);
	return bp_phd_store_created(r->store, system_id, config_id);
}

static void set_created(struct rig *r, unsigned device, uint16_t config_id, uint64_t value)
{
	uint8_t system_id[8];

	rig_system_id(device, system_id);
	bp_phd_store_set_created(r->store, system_id, config_id, value);
}

/* Asks the closed file: an integer. */
static long asked(const struct rig *r, const char *sql)
{
	sqlite3 *db;
	sqlite3_stmt *st;
	long value;

	assert_int_equal(sqlite3_open(r->path, &db), SQLITE_OK);
	assert_int_equal(sqlite3_prepare_v2(db, sql, -1, &st, NULL), SQLITE_OK);
	assert_int_equal(sqlite3_step(st), SQLITE_ROW);
	value = (long)sqlite3_column_int64(st, 0);
	sqlite3_finalize(st);
	sqlite3_close(db);
	return value;
}

/* Of devices that declared their configuration, and of those with a standard one; each of the two
 * configurations of a device by itself. */
static void over_a_restart(void **state)
{
	struct rig *r = *state;

	rig_open(r);
	rig_load(r);
	assert_true(rig_learn(r, 1, OWN, 7));
	assert_true(rig_learn(r, 2, OWN, 7));
	assert_int_equal(made(r, 1, OWN), 0);
	set_created(r, 1, OWN, UINT64_MAX);
	set_created(r, 1, STANDARD, 5);
	set_created(r, 3, STANDARD, 1ull << 63);
	for (unsigned i = 0; i < 2; i++) {
		assert_true(made(r, 1, OWN) == UINT64_MAX);
		assert_true(made(r, 1, STANDARD) == 5);
		assert_true(made(r, 3, STANDARD) == 1ull << 63);
		assert_true(made(r, 2, OWN) == 0);
		assert_true(made(r, 4, STANDARD) == 0);
		assert_int_equal(rig_known(r, 1, OWN, NULL), 7);
		assert_int_equal(rig_known(r, 1, STANDARD, NULL), -1); /* it declared none */
		assert_int_equal(rig_known(r, 3, STANDARD, NULL), -1);
		assert_int_equal(rig_counts(r).known, 4);
		rig_reopen(r);
	}
	assert_int_equal(rig_counts(r).skipped, 0);
	set_created(r, 1, OWN, 0);
	set_created(r, 3, STANDARD, 0);
	rig_reopen(r);
	assert_true(made(r, 1, OWN) == 0);
	assert_true(made(r, 3, STANDARD) == 0);
	assert_int_equal(rig_known(r, 1, OWN, NULL), 7);
	rig_close(r);
}

/* It stays with what the device declares later, in the same pair. */
static void declared_later(void **state)
{
	struct rig *r = *state;
	uint16_t spec;

	rig_open(r);
	rig_load(r);
	set_created(r, 1, OWN, 9);
	assert_int_equal(rig_known(r, 1, OWN, NULL), -1);
	assert_true(rig_learn(r, 1, OWN, 7));
	assert_true(rig_learn(r, 1, OWN, 8)); /* the configuration of before has no user then */
	rig_reopen(r);
	assert_int_equal(rig_known(r, 1, OWN, &spec), 8);
	assert_int_equal(spec, 0);
	assert_true(made(r, 1, OWN) == 9);
	assert_int_equal(rig_counts(r).known, 1);
	rig_close(r);
	assert_int_equal(asked(r, "SELECT count(*) FROM configs"), 1);
}

/* One row for each, however often it is said. */
static void said_again(void **state)
{
	struct rig *r = *state;
	uint64_t rows;

	rig_open(r);
	rig_load(r);
	set_created(r, 1, STANDARD, 9);
	assert_true(bp_phd_store_flush(r->store));
	rows = rig_counts(r).rows;
	for (unsigned i = 0; i < 100; i++)
		set_created(r, 1, STANDARD, 9);
	set_created(r, 2, STANDARD, 0); /* it is unknown, and reported as unknown */
	assert_true(bp_phd_store_flush(r->store));
	assert_int_equal(rig_counts(r).rows, rows);
	assert_int_equal(rig_counts(r).known, 1);
}

/* Before all is read back a pair of its own would hide what the file has for the device. */
static void said_while_reading(void **state)
{
	struct rig *r = *state;

	rig_open(r);
	rig_load(r);
	assert_true(rig_learn(r, 1, OWN, 7));
	set_created(r, 1, OWN, 3);
	rig_close(r);
	rig_open(r);
	assert_true(made(r, 1, OWN) == 0);
	set_created(r, 1, OWN, 4);
	rig_load(r);
	assert_int_equal(rig_known(r, 1, OWN, NULL), 7);
	assert_true(made(r, 1, OWN) == 3);
	rig_reopen(r);
	assert_int_equal(rig_known(r, 1, OWN, NULL), 7);
}

/* Limited together with the known configurations; the least recently used is evicted first. */
static void created_containers_are_bounded_lru(void **state)
{
	struct rig *r = *state;

	r->max_known = 50;
	rig_open(r);
	rig_load(r);
	assert_true(rig_learn(r, 0, OWN, 7));
	for (unsigned d = 1; d <= 120; d++) {
		set_created(r, d, STANDARD, d);
		assert_true(made(r, 1, STANDARD) == 1); /* and that is a use */
	}
	for (unsigned i = 0; i < 2; i++) {
		assert_int_equal(rig_counts(r).known, 50);
		assert_int_equal(rig_known(r, 0, OWN, NULL), -1);
		for (unsigned d = 2; d <= 120; d++)
			assert_true(made(r, d, STANDARD) == (d > 71 ? d : 0));
		assert_true(made(r, 1, STANDARD) == 1);
		rig_reopen(r);
	}
	rig_close(r);
	assert_int_equal(asked(r, "SELECT count(*) FROM known"), 50);
	assert_int_equal(asked(r, "SELECT count(*) FROM configs"), 0);
}

/* ---- files of programs that do not know of it ---- */

static const char before[] = /* the tables as they were first */
	"CREATE TABLE kept AS SELECT seq, system_id, config_id, content, spec FROM known;"
	"DROP TABLE known;"
	"CREATE TABLE known(seq INTEGER PRIMARY KEY, system_id BLOB NOT NULL,"
	" config_id INTEGER NOT NULL, content INTEGER NOT NULL, spec INTEGER NOT NULL,"
	" UNIQUE(system_id, config_id));"
	"INSERT INTO known SELECT * FROM kept; DROP TABLE kept";

/* It is adopted without loss, and no containers are known. */
static void a_file_of_before(void **state)
{
	struct rig *r = *state;

	rig_open(r);
	rig_load(r);
	assert_true(rig_learn(r, 1, OWN, 7));
	set_created(r, 1, OWN, 3);
	rig_put(r, 1, 100);
	rig_close(r);
	rig_sql(r, before);
	rig_open(r);
	rig_load(r);
	assert_int_equal(rig_files(r, "damaged"), 0);
	assert_int_equal(r->retry, 0);
	assert_int_equal(r->n, 1);
	assert_int_equal(rig_known(r, 1, OWN, NULL), 7);
	assert_true(made(r, 1, OWN) == 0);
	set_created(r, 1, OWN, 4);
	rig_reopen(r);
	assert_true(made(r, 1, OWN) == 4);
	rig_close(r);
	assert_int_equal(asked(r, "PRAGMA user_version"), 1);
}

/* Such a program finds what it reads and writes, as it reads and writes it; and what it wrote says
 * that no containers are known of. */
static void a_program_of_before(void **state)
{
	struct rig *r = *state;

	rig_open(r);
	rig_load(r);
	assert_true(rig_learn(r, 1, OWN, 7));
	assert_true(rig_learn(r, 2, OWN, 7));
	set_created(r, 1, OWN, 3);
	set_created(r, 2, OWN, 3);
	rig_close(r);
	assert_int_equal(asked(r, "PRAGMA user_version"), 1);
	rig_sql(r, "INSERT OR REPLACE INTO known(system_id, config_id, content, spec)"
		   " SELECT system_id, config_id, content, 4100 FROM known"
		   " WHERE system_id = X'ABABABAB01000000'");
	rig_open(r);
	rig_load(r);
	assert_true(made(r, 1, OWN) == 0);
	assert_true(made(r, 2, OWN) == 3);
	assert_int_equal(rig_known(r, 1, OWN, NULL), 7);
	rig_close(r);
}

/* A row of no configuration and no containers says nothing. */
static void a_row_that_says_nothing(void **state)
{
	struct rig *r = *state;

	rig_open(r);
	rig_load(r);
	set_created(r, 1, STANDARD, 3);
	rig_close(r);
	rig_sql(r, "UPDATE known SET made = 0");
	rig_open(r);
	rig_load(r);
	assert_int_equal(rig_counts(r).known, 0);
	assert_int_equal(rig_counts(r).skipped, 0);
	rig_close(r);
	assert_int_equal(asked(r, "SELECT count(*) FROM known"), 0);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, rig_setup, rig_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(over_a_restart),
		TEST(declared_later),
		TEST(said_again),
		TEST(said_while_reading),
		TEST(created_containers_are_bounded_lru),
		TEST(a_file_of_before),
		TEST(a_program_of_before),
		TEST(a_row_that_says_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
