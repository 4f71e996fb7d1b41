/* SPDX-License-Identifier: BSD-3-Clause */
/* The log lines of each fault of the control plane: what happened, the remedy, and the broker,
 * counts and times as fields. */
#include "tests/unit/controlplane/test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "controlplane/alarms/faults.h"

#define S 1000000000ull
#define UNIX (1700000000 * S)

static struct bp_fault_row rows[BP_FAULT_OF_CONTROLPLANE];
static struct bp_faults faults;
static uint64_t now;
static char written[8192];

static int setup(void **state)
{
	(void)state;
	memset(rows, 0, sizeof(rows));
	now = 1000 * S;
	bp_faults_init(&faults, rows, "publisher", 10 * S, now);
	bp_faults_at(&faults, now, UNIX + now);
	return 0;
}

static void pass(uint64_t ns)
{
	now += ns;
	bp_faults_at(&faults, now, UNIX + now);
}

static void lasts(enum bp_fault_kind kind, bool bad, uint64_t ago_ns)
{
	bp_fault_lasts(&faults, kind, bad, ago_ns, 200,
		bad ? BP_LOG_FIELDS(
			      BP_LOG_STR("broker", "192.0.2.1"), BP_LOG_STR("reason", "no route"))
		    : BP_LOG_FIELDS(BP_LOG_STR("broker", "192.0.2.1")));
}

/* Compares the lines that log() writes with `expected`, without the time of each line. */
static void assert_lines(
	void (*log)(enum bp_fault_kind), enum bp_fault_kind kind, const char *expected)
{
	const int before = dup(STDERR_FILENO);
	FILE *file = tmpfile();
	char line[1024];

	dup2(fileno(file), STDERR_FILENO);
	log(kind);
	dup2(before, STDERR_FILENO);
	close(before);
	rewind(file);
	written[0] = '\0';
	while (fgets(line, sizeof(line), file) != NULL)
		strncat(written, strchr(line, ' ') + 1, sizeof(written) - strlen(written) - 1);
	fclose(file);
	assert_string_equal(written, expected);
}

static void raise_and_clear(enum bp_fault_kind kind)
{
	lasts(kind, true, 2 * S);
	pass(500000000);
	lasts(kind, false, 0);
}

static void lasting_faults(void **state)
{
	(void)state;
	assert_lines(raise_and_clear, BP_FAULT_EDGE_UNREACHABLE,
		"error biplane: no connection to the edge broker; alarms wait in the spool "
		"broker=192.0.2.1 reason=\"no route\" duration_ms=2000 fault=edge_unreachable\n"
		"info biplane: connected to the edge broker broker=192.0.2.1 duration_ms=2500 "
		"fault=edge_unreachable\n");
	assert_lines(raise_and_clear, BP_FAULT_EDGE_SETTINGS,
		"error biplane: the password or TLS files of mqtt.publisher cannot be used; alarms "
		"wait in the spool until they can broker=192.0.2.1 reason=\"no route\" "
		"duration_ms=2000 fault=edge_settings\n"
		"info biplane: the password and TLS files of mqtt.publisher can be used "
		"broker=192.0.2.1 duration_ms=2500 fault=edge_settings\n");
	assert_lines(raise_and_clear, BP_FAULT_SPOOL_BACKLOG,
		"error biplane: alarms in the spool reached mqtt.spool.backlog_warning; check the "
		"connection to the edge broker and its load broker=192.0.2.1 reason=\"no route\" "
		"duration_ms=2000 fault=spool_backlog\n"
		"info biplane: alarms in the spool are below mqtt.spool.backlog_warning again "
		"broker=192.0.2.1 duration_ms=2500 fault=spool_backlog\n");
	assert_lines(raise_and_clear, BP_FAULT_SPOOL_ERROR,
		"error biplane: the spool cannot be read or written; the directory of "
		"mqtt.spool.path must be writable and have free space: alarms stay in memory until "
		"then broker=192.0.2.1 reason=\"no route\" duration_ms=2000 fault=spool_error\n"
		"info biplane: the spool can be read and written again broker=192.0.2.1 "
		"duration_ms=2500 fault=spool_error\n");
}

static void remind(enum bp_fault_kind kind)
{
	lasts(kind, true, 0);
	pass(60 * S);
	lasts(kind, true, 0);
}

static void a_lasting_fault_is_repeated_with_its_duration(void **state)
{
	(void)state;
	assert_lines(remind, BP_FAULT_EDGE_UNREACHABLE,
		"error biplane: no connection to the edge broker; alarms wait in the spool "
		"broker=192.0.2.1 reason=\"no route\" duration_ms=0 fault=edge_unreachable\n"
		"error biplane: no connection to the edge broker; alarms wait in the spool "
		"broker=192.0.2.1 reason=\"no route\" duration_ms=60000 fault=edge_unreachable\n");
}

/* Raised, ongoing in the next line after log_interval, and cleared after log_interval. */
static void count(enum bp_fault_kind kind)
{
	bp_fault_happens(&faults, kind, 3);
	pass(10 * S);
	bp_fault_happens(&faults, kind, 4);
	pass(10 * S);
	bp_fault_happens(&faults, kind, 0);
}

#define COUNTED(kind_, raised_, cleared_, name_)                                                   \
	assert_lines(count, kind_,                                                                 \
		"error biplane: " raised_ " count=3 total=3 fault=" name_ "\n"                     \
		"error biplane: " raised_ " count=4 interval_ms=10000 total=7 fault=" name_ "\n"   \
		"info biplane: " cleared_ " total=7 fault=" name_ "\n")

static void counted_faults(void **state)
{
	(void)state;
	COUNTED(BP_FAULT_ALARMS_DROPPED,
		"alarms dropped: the spool is over mqtt.spool.max_size or max_age, or its disk "
		"fails; they are not delivered",
		"no more alarms dropped", "alarms_dropped");
	COUNTED(BP_FAULT_ALARMS_LOST,
		"alarms lost because they did not fit in the alarm queue; raise "
		"mqtt.alarm_queue_size, and check the edge broker and the disk",
		"no more alarms lost", "alarms_lost");
	COUNTED(BP_FAULT_NOT_EVALUATED,
		"publications too long to evaluate; raise mqtt.reassembly_per_connection or "
		"reassembly_total",
		"all publications are evaluated", "not_evaluated");
	COUNTED(BP_FAULT_REFUSED,
		"publications refused by a broker (PUBACK or PUBREC); check the rights of the "
		"clients with awaits_ack in `biplane show connections --json`",
		"no more publications refused", "publications_refused");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(lasting_faults, setup),
		cmocka_unit_test_setup(a_lasting_fault_is_repeated_with_its_duration, setup),
		cmocka_unit_test_setup(counted_faults, setup),
	};

	unsetenv("JOURNAL_STREAM");
	return cmocka_run_group_tests(tests, NULL, NULL);
}
