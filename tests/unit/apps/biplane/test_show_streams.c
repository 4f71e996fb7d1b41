/* SPDX-License-Identifier: BSD-3-Clause */
/* `show aggregates`: its streams, with concurrent writers and any number of streams. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "tests/unit/apps/biplane/agg_tables.h"
#include "tests/unit/apps/biplane/view_out.h"

/* The destinations that are shown, by their last digit. */
static void shown(const char *digits)
{
	json_t *v = parsed(false), *list = json_object_get(v, "streams"), *row;
	size_t i;

	assert_int_equal(json_integer_value(json_object_get(v, "total")), strlen(digits));
	assert_int_equal(json_array_size(list), strlen(digits));
	json_array_foreach(list, i, row)
	{
		const char *to = json_string_value(json_object_get(row, "to"));

		assert_int_equal(strrchr(to, ':')[to[0] == '[' ? -2 : -1], digits[i]);
	}
	json_decref(v);
	source.streams = (struct bp_stream_filter){0};
}

static void ask_rule(uint32_t rule)
{
	source.streams.has_rule = true;
	source.streams.rule = rule;
}

static void six_streams(void)
{
	tell_rules();
	write_row(0, 0, 1, "10.1.0.1", 0);
	write_row(0, 1, 2, "10.1.0.2", 1);
	write_row(0, STREAMS - 1, 3, "10.2.0.3", 0);
	write_row(1, 0, 1, "fd01::4", 1);
	write_row(1, 9, 1, "fd02::5", 0);
	write_row(1, STREAMS - 1, 1, "10.1.0.6", 31);
}

static void filters_choose(void **state)
{
	(void)state;
	six_streams();
	shown("123456");
	ask_rule(0);
	shown("135");
	ask_rule(31);
	shown("6");
	source.streams.within = destination("10.1.0.0/16", 0, 0).address;
	shown("126");
	source.streams.within = destination("fd00::/8", 0, 0).address;
	shown("45");
	source.streams.within = destination("10.1.0.2", 0, 0).address;
	shown("2");
	source.streams.within = destination("0.0.0.0/0", 0, 0).address;
	ask_rule(1);
	shown("2");
	/* rows that are free, or being rewritten */
	atomic_store(&shm.agg.rows[0].life, 0);
	atomic_store(&shm.agg.rows[STREAMS].life, 0);
	shown("2356");
	ask_rule(7);
	says("\nno stream matches the filter\n");
}

static void a_row_says_all(void **state)
{
	json_t *v, *want;

	(void)state;
	tell_rules();
	says("\nno streams\n");
	write_row(1, 9, 1, "fd02::5", 1);
	atomic_store(&shm.agg.rows[STREAMS + 9].last_ns, 0);
	want = json_pack("{ss si si sb si si ss si si sf si sn}", "to", "[fd02::5]:5555", "dscp",
		46, "ecn", 1, "dont_fragment", 1, "entry", 1, "worker", 1, "stream", "5eed",
		"messages", 25, "aggregates", 4, "avg_messages", 6.25, "saved_bytes", 676,
		"idle_ms");
	v = parsed(true);
	assert_true(json_equal(entry(v, "streams", 0), want));
	json_decref(v);
	/* a clock that was set back since */
	atomic_store(&shm.agg.rows[STREAMS + 9].last_ns, source.unix_ns + 1);
	json_object_set_new(want, "idle_ms", json_integer(0));
	v = parsed(false);
	assert_true(json_equal(entry(v, "streams", 0), want));
	json_decref(v);
	json_decref(want);
}

static void the_limit_is_said(void **state)
{
	json_t *v;

	(void)state;
	six_streams();
	source.limit = 4;
	says("\n\n4 of 6 streams; -n 0 shows all\n");
	v = parsed(true);
	has(v, json_pack("{si}", "total", 6));
	assert_int_equal(json_array_size(json_object_get(v, "streams")), 4);
	json_decref(v);
}

/* Without encapsulate entries there are no streams to list. */
static void who_takes_apart_has_no_streams(void **state)
{
	(void)state;
	tell_rules();
	rules.n_aggregate = 0;
	bp_seqlock_write(&shm.agg.plan->lock, &rules, sizeof(rules));
	says("decapsulate\nENTRY");
	says_not("streams\n");
	says_not("why they left");
}

/* A row whose second half is in an unreadable page: the reader that copies it is interrupted
 * between the halves, and finds the row with a concurrent change. */
static struct bp_agg_stream_row *halved;
static size_t page;
static void (*meanwhile)(void);

static void interrupted(int signal)
{
	(void)signal;
	mprotect((char *)halved + sizeof(*halved) / 2, page, PROT_READ | PROT_WRITE);
	meanwhile();
}

static bool read_interrupted(void (*what)(void), struct bp_agg_stream_row *copy)
{
	struct sigaction action = {.sa_handler = interrupted}, before;
	char *pages;
	bool whole;

	page = (size_t)sysconf(_SC_PAGESIZE);
	pages = mmap(NULL, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	assert_ptr_not_equal(pages, MAP_FAILED);
	halved = (struct bp_agg_stream_row *)(void *)(pages + page - sizeof(*halved) / 2);
	memset(halved, 0, sizeof(*halved));
	atomic_store(&halved->life, 7);
	atomic_store(&halved->messages, 70);
	halved->udp = 7;
	assert_true(offsetof(struct bp_agg_stream_row, udp) >= sizeof(*halved) / 2);
	meanwhile = what;
	assert_int_equal(sigaction(SIGSEGV, &action, &before), 0);
	assert_int_equal(mprotect(pages + page, page, PROT_NONE), 0);
	whole = bp_agg_stream_read(halved, copy);
	assert_int_equal(sigaction(SIGSEGV, &before, NULL), 0);
	assert_int_equal(munmap(pages, 2 * page), 0);
	return whole;
}

static void another_stream(void)
{
	atomic_store(&halved->messages, 80);
	halved->udp = 8;
	atomic_store(&halved->life, 8);
}

static void half_another_stream(void)
{
	atomic_store(&halved->life, 0);
	halved->udp = 8;
}

static void one_more_aggregate(void)
{
	atomic_store(&halved->messages, 78);
}

static void no_row_is_torn(void **state)
{
	struct bp_agg_stream_row copy;

	(void)state;
	assert_false(read_interrupted(another_stream, &copy));
	assert_false(read_interrupted(half_another_stream, &copy));
	assert_true(read_interrupted(one_more_aggregate, &copy));
	assert_int_equal(copy.life, 7);
	assert_int_equal(copy.messages, 70);
	assert_int_equal(copy.udp, 7);
}

static void streams_are_not_held(void **state)
{
	struct view_size size;

	(void)state;
	for (unsigned w = 0; w < WORKERS; w++)
		for (unsigned i = 0; i < STREAMS; i++)
			write_row(w, i, 1, "10.1.0.9", 0);
	size = view_size(&bp_show_aggregates, &source, true);
	/* next to the rows, the whole and an object a worker */
	assert_int_equal(size.objects, WORKERS * STREAMS + 1 + WORKERS);
	/* a row as an object takes over 1 KiB: all of them were 40 MiB */
	assert_true(size.heap < 128u << 10);
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, agg_tables_begin, agg_tables_end)

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(filters_choose),
		CASE(a_row_says_all),
		CASE(the_limit_is_said),
		CASE(who_takes_apart_has_no_streams),
		cmocka_unit_test(no_row_is_torn),
		CASE(streams_are_not_held),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
