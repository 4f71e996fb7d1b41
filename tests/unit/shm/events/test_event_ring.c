/* SPDX-License-Identifier: BSD-3-Clause */
/* The broadcast rings of events: order, exact losses, a writer that dies, damage, and readers that
 * run beside the writer. */
#include "test.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "shm/events/event_ring.h"
#include "shm/events/plane_events.h"
#include "shm/fault.h"

#define N 8u

static struct bp_event_slot *slots;
static struct bp_event_ring ring;

static int set_up(void **state)
{
	slots = calloc(N, sizeof(*slots));
	ring = (struct bp_event_ring){.slot = slots, .size = N};
	bp_event_ring_open(&ring);
	return slots == NULL;
}

static int tear_down(void **state)
{
	free(slots);
	return 0;
}

/* An event whose every part shows its number. */
static void write_number(uint64_t n)
{
	struct bp_event e = {.time_ns = n, .type = BP_EVENT_CONFIG, .number = {n, ~n}};
	char text[BP_EVENT_TEXT];

	memset(text, (int)('a' + n % 26), sizeof(text));
	bp_event_text(&e, 0, text, n % BP_EVENT_TEXT);
	bp_event_write(&ring, &e);
}

static void write_numbers(uint64_t from, uint64_t to)
{
	for (uint64_t n = from; n < to; n++)
		write_number(n);
}

static bool is_whole(const struct bp_event *e)
{
	const uint64_t n = e->time_ns;

	if (e->number[0] != n || e->number[1] != ~n || e->text_len[0] != n % BP_EVENT_TEXT)
		return false;
	for (unsigned i = 0; i < e->text_len[0]; i++)
		if (e->text[i] != (char)('a' + n % 26))
			return false;
	return true;
}

static struct bp_event_cursor cursor(uint64_t backlog)
{
	struct bp_event_cursor c;

	bp_event_cursor_open(&c, slots, sizeof(*slots), N, backlog);
	return c;
}

static void expect_number(struct bp_event_cursor *c, uint64_t n)
{
	struct bp_event e;
	uint64_t lost;

	assert_int_equal(bp_event_cursor_read(c, &e, &lost), BP_EVENT_GOT_RECORD);
	assert_int_equal(e.time_ns, n);
	assert_true(is_whole(&e));
}

static void expect_none(struct bp_event_cursor *c)
{
	struct bp_event e;
	uint64_t lost;

	assert_int_equal(bp_event_cursor_read(c, &e, &lost), BP_EVENT_GOT_NONE);
}

static void expect_lost(struct bp_event_cursor *c, uint64_t n)
{
	struct bp_event e;

	for (uint64_t sum = 0, lost = 0; sum < n; sum += lost) {
		assert_int_equal(bp_event_cursor_read(c, &e, &lost), BP_EVENT_GOT_LOST);
		assert_in_range(lost, 1, n - sum);
	}
}

/* The rest of an event on a stack is not initialized; other processes can read the ring. */
static void bytes_after_the_text_are_zero(void **state)
{
	struct bp_event e;

	for (unsigned n = 0; n <= BP_EVENT_TEXT; n++) {
		memset(&e, 0x5a, sizeof(e));
		memset(&e, 0, offsetof(struct bp_event, text));
		e.text_len[0] = (uint16_t)n;
		memset(slots, 0, N * sizeof(*slots));
		ring.at = 0;
		bp_event_write(&ring, &e);
		for (unsigned i = 0; i < BP_EVENT_TEXT; i++)
			assert_int_equal(slots[0].is.text[i], i < n ? 0x5a : 0);
	}
}

static void events_are_read_in_order(void **state)
{
	struct bp_event_cursor c = cursor(0);

	expect_none(&c);
	for (uint64_t n = 0; n < 3 * N; n += 3) {
		write_numbers(n, n + 3);
		for (uint64_t i = n; i < n + 3; i++)
			expect_number(&c, i);
		expect_none(&c);
	}
}

static void each_reader_has_its_position(void **state)
{
	struct bp_event_cursor all, last, news;

	write_numbers(0, 5);
	all = cursor(UINT64_MAX);
	last = cursor(2);
	news = cursor(0);
	expect_none(&news);
	expect_number(&last, 3);
	expect_number(&all, 0);
	expect_number(&all, 1);
	write_number(5);
	expect_number(&news, 5);
	expect_number(&last, 4);
	expect_number(&all, 2);
}

static void overwritten_events_are_counted_exactly(void **state)
{
	for (uint64_t behind = N + 1; behind < 4 * N; behind++) {
		struct bp_event_cursor c;
		const uint64_t at = ring.next;
		struct bp_event e;
		uint64_t lost = 0, read = 0, now;
		enum bp_event_got got;

		c = cursor(0);
		write_numbers(at, at + behind);
		while ((got = bp_event_cursor_read(&c, &e, &now)) != BP_EVENT_GOT_NONE) {
			assert_int_not_equal(got, BP_EVENT_GOT_RESET);
			if (got == BP_EVENT_GOT_LOST) {
				lost += now;
				continue;
			}
			/* every event is either read or counted */
			assert_int_equal(e.time_ns, at + lost + read);
			read++;
		}
		assert_int_equal(read, N);
		assert_int_equal(lost, behind - N);
	}
}

static void a_restarted_writer_continues(void **state)
{
	struct bp_event_cursor c = cursor(0);

	write_numbers(0, N + 3);
	ring = (struct bp_event_ring){.slot = slots, .size = N};
	bp_event_ring_open(&ring);
	assert_int_equal(ring.next, N + 3);
	write_number(N + 3);
	expect_lost(&c, 4);
	for (uint64_t n = 4; n < N + 4; n++)
		expect_number(&c, n);
	expect_none(&c);
}

/* Killed between the odd and the even number: the event is lost, and nothing else. */
static void a_killed_writer_loses_its_event(void **state)
{
	struct bp_event_cursor c = cursor(0);

	write_numbers(0, 2);
	atomic_store(&slots[2].seq, 2 * 2 + 1);
	expect_number(&c, 0);
	expect_number(&c, 1);
	expect_none(&c);
	ring = (struct bp_event_ring){.slot = slots, .size = N};
	bp_event_ring_open(&ring);
	write_number(3);
	expect_lost(&c, 1);
	expect_number(&c, 3);
	expect_none(&c);
}

static void a_recreated_ring_is_read_from_its_begin(void **state)
{
	struct bp_event_cursor c = cursor(0);
	struct bp_event e;
	uint64_t lost;

	write_numbers(0, 5);
	for (uint64_t n = 0; n < 5; n++)
		expect_number(&c, n);
	memset(slots, 0, N * sizeof(*slots));
	bp_event_ring_open(&ring);
	write_number(0);
	assert_int_equal(bp_event_cursor_read(&c, &e, &lost), BP_EVENT_GOT_RESET);
	expect_number(&c, 0);
	expect_none(&c);
}

/* Whatever the words are, a reader ends, and reads nothing outside. */
static void damaged_words_do_no_harm(void **state)
{
	static const uint64_t values[] = {
		0, 1, 2, UINT64_MAX, UINT64_MAX - 1, 1ull << 63, 1ull << 42, 3 * N, 2 * N + 2};
	uint64_t random = 1;

	for (unsigned i = 0; i < 20000; i++) {
		struct bp_event_cursor c;
		struct bp_event e;
		uint64_t lost;

		for (unsigned s = 0; s < N; s++)
			atomic_store(&slots[s].seq, test_random(&random) % 4
							    ? 2 * (test_random(&random) % 40)
							    : values[test_random(&random) % 9]);
		c = cursor(test_random(&random) % (2 * N));
		for (unsigned k = 0; k < 100; k++)
			if (bp_event_cursor_read(&c, &e, &lost) == BP_EVENT_GOT_NONE)
				break;
		bp_event_ring_open(&ring);
		assert_true(ring.next < UINT64_MAX / 3);
		assert_true(ring.at == ring.next % N);
		write_number(ring.next);
	}
}

static void a_ring_without_slots_takes_no_event(void **state)
{
	ring = (struct bp_event_ring){0};
	bp_event_ring_open(&ring);
	write_number(1);
	assert_int_equal(ring.next, 0);
}

static void texts_are_cut_between_characters(void **state)
{
	struct bp_event e = {0};
	char text[BP_EVENT_TEXT + 40];

	for (size_t i = 0; i + 1 < sizeof(text); i += 2)
		memcpy(text + i, "\xc3\xa9", 2);
	bp_event_text(&e, 0, text + 1, 1); /* one byte */
	bp_event_text(&e, 1, text, sizeof(text));
	assert_int_equal(e.text_len[0], 1);
	assert_int_equal(e.text_len[1], (BP_EVENT_TEXT - 1) / 2 * 2);
	assert_memory_equal(e.text + 1, text, e.text_len[1]);
}

/* ---- readers beside a writer ---- */

#define WRITTEN 200000ull

struct reader {
	pthread_t thread;
	struct bp_event_cursor cursor;
	uint64_t read, lost, torn, disorder;
};

static _Atomic bool written;

static void *read_all(void *arg)
{
	struct reader *r = arg;

	for (;;) {
		const bool last = atomic_load(&written);
		struct bp_event e;
		uint64_t lost;
		enum bp_event_got got;

		while ((got = bp_event_cursor_read(&r->cursor, &e, &lost)) != BP_EVENT_GOT_NONE) {
			if (got == BP_EVENT_GOT_LOST)
				r->lost += lost;
			else if (!is_whole(&e))
				r->torn++;
			else if (e.time_ns != r->read + r->lost)
				r->disorder++;
			r->read += got == BP_EVENT_GOT_RECORD;
		}
		if (last)
			return NULL;
	}
}

static void readers_beside_a_writer_get_whole_events(void **state)
{
	static struct reader reader[3];

	memset(reader, 0, sizeof(reader));
	atomic_store(&written, false);
	for (unsigned i = 0; i < 3; i++)
		reader[i].cursor = cursor(0);
	for (unsigned i = 0; i < 3; i++)
		assert_int_equal(pthread_create(&reader[i].thread, NULL, read_all, &reader[i]), 0);
	write_numbers(0, WRITTEN);
	atomic_store(&written, true);
	for (unsigned i = 0; i < 3; i++) {
		pthread_join(reader[i].thread, NULL);
		assert_int_equal(reader[i].torn, 0);
		assert_int_equal(reader[i].disorder, 0);
		assert_int_equal(reader[i].read + reader[i].lost, WRITTEN);
	}
}

/* ---- events of planes and faults ---- */

static void faults_and_planes_have_their_fields(void **state)
{
	struct bp_event_cursor c = cursor(0);
	struct bp_fault_record fault = {
		.subject = "cloud", .kind = BP_FAULT_LINK_DOWN, .active = 1, .began_ns = 70};
	struct bp_event e;
	uint64_t lost;

	bp_fault_event(NULL, &fault, 77);
	bp_fault_event(&ring, &fault, 77);
	bp_plane_event_started(&ring, BP_EVENT_CONTROLPLANE, 1234, true, 78);
	bp_config_event(&ring, BP_EVENT_CONFIG_REFUSED, 5, "f.yaml:3:1: no", 79);
	assert_int_equal(bp_event_cursor_read(&c, &e, &lost), BP_EVENT_GOT_RECORD);
	assert_int_equal(e.type, BP_EVENT_FAULT);
	assert_int_equal(e.action, BP_EVENT_FAULT_RAISED);
	assert_int_equal(e.time_ns, 77);
	assert_int_equal(e.number[0], 70);
	assert_int_equal(e.number[1], BP_FAULT_LINK_DOWN);
	assert_int_equal(e.text_len[0], 5);
	assert_memory_equal(e.text, "cloud", 5);
	assert_int_equal(bp_event_cursor_read(&c, &e, &lost), BP_EVENT_GOT_RECORD);
	assert_int_equal(e.type, BP_EVENT_PLANE);
	assert_int_equal(e.flags, BP_EVENT_F_CRASHED);
	assert_int_equal(e.number[0], BP_EVENT_CONTROLPLANE);
	assert_int_equal(e.number[1], 1234);
	assert_int_equal(bp_event_cursor_read(&c, &e, &lost), BP_EVENT_GOT_RECORD);
	assert_int_equal(e.action, BP_EVENT_CONFIG_REFUSED);
	assert_int_equal(e.number[0], 5);
	assert_int_equal(e.text_len[0], 14);
	expect_none(&c);
}

#define TEST(name_) cmocka_unit_test_setup_teardown(name_, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(bytes_after_the_text_are_zero),
		TEST(events_are_read_in_order),
		TEST(each_reader_has_its_position),
		TEST(overwritten_events_are_counted_exactly),
		TEST(a_restarted_writer_continues),
		TEST(a_killed_writer_loses_its_event),
		TEST(a_recreated_ring_is_read_from_its_begin),
		TEST(damaged_words_do_no_harm),
		TEST(a_ring_without_slots_takes_no_event),
		TEST(texts_are_cut_between_characters),
		TEST(readers_beside_a_writer_get_whole_events),
		TEST(faults_and_planes_have_their_fields),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
