/* SPDX-License-Identifier: BSD-3-Clause */
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "shm/ring.h"
#include "test.h"

/* A ring with its memory behind it. */
struct whole_ring {
	struct bp_ring ring;
	struct bp_ring_tail tail;
	struct bp_ring_data data;
};

static void ring_empty(struct bp_ring *r)
{
	r->shared->head = r->reader->tail = 0;
	bp_ring_attach(r, r->shared, r->reader, r->capacity);
}

static struct bp_ring *ring_new(uint64_t capacity)
{
	const size_t size = (sizeof(struct whole_ring) + capacity + 63) / 64 * 64;
	struct whole_ring *w = aligned_alloc(64, size);

	assert_non_null(w);
	memset(w, 0xa5, size);
	w->data.head = w->tail.tail = 0;
	bp_ring_attach(&w->ring, &w->data, &w->tail, capacity);
	return &w->ring;
}

/* Every byte of a record follows from its number, so that a torn one shows. */
static void fill(uint8_t *p, uint32_t size, uint64_t number)
{
	for (uint32_t i = 0; i < size; i++)
		p[i] = (uint8_t)(number * 31 + i * 7 + (number >> 8));
}

static bool filled(const uint8_t *p, uint32_t size, uint64_t number)
{
	for (uint32_t i = 0; i < size; i++) {
		if (p[i] != (uint8_t)(number * 31 + i * 7 + (number >> 8)))
			return false;
	}
	return true;
}

static void capacity_is_the_next_power_of_two(void **state)
{
	assert_int_equal(bp_ring_capacity(0), 64);
	assert_int_equal(bp_ring_capacity(64), 64);
	assert_int_equal(bp_ring_capacity(65), 128);
	assert_int_equal(bp_ring_capacity(1 << 20), 1 << 20);
	assert_int_equal(bp_ring_capacity((1 << 20) + 1), 1 << 21);
	assert_true(bp_ring_capacity(UINT64_MAX) == 1ull << 62);
}

static void a_record_over_a_quarter_is_refused(void **state)
{
	struct bp_ring *r = ring_new(256);
	uint64_t mark;

	assert_int_equal(bp_ring_record_max(r), 64);
	assert_non_null(bp_ring_reserve(r, 64, &mark));
	assert_null(bp_ring_reserve(r, 65, &mark));
	assert_null(bp_ring_reserve(r, UINT32_MAX, &mark));
	free(r);
}

static void uncommitted_records_are_invisible(void **state)
{
	struct bp_ring *r = ring_new(256);
	uint64_t mark, cursor = bp_ring_tail(r);
	uint32_t size;
	uint8_t *p = bp_ring_reserve(r, 10, &mark);

	fill(p, 10, 1);
	assert_null(bp_ring_peek(r, &cursor, &size));
	assert_int_equal(bp_ring_used(r), 0);
	bp_ring_attach(r, r->shared, r->reader, r->capacity); /* the writer was restarted */
	p = bp_ring_reserve(r, 3, &mark);
	fill(p, 3, 2);
	bp_ring_commit(r, mark);
	p = (uint8_t *)(uintptr_t)bp_ring_peek(r, &cursor, &size);
	assert_non_null(p);
	assert_int_equal(size, 3);
	assert_true(filled(p, 3, 2));
	assert_null(bp_ring_peek(r, &cursor, &size));
	free(r);
}

static void unreleased_records_are_read_again(void **state)
{
	struct bp_ring *r = ring_new(256);
	uint64_t mark, cursor;
	uint32_t size;

	for (unsigned i = 1; i <= 3; i++) {
		fill(bp_ring_reserve(r, i, &mark), i, i);
		bp_ring_commit(r, mark);
	}
	for (unsigned round = 0; round < 2; round++) {
		cursor = bp_ring_tail(r);
		for (unsigned i = 1; i <= 3; i++) {
			assert_non_null(bp_ring_peek(r, &cursor, &size));
			assert_int_equal(size, i);
		}
	}
	bp_ring_release(r, cursor);
	assert_int_equal(bp_ring_used(r), 0);
	free(r);
}

/* Brings the head to `offset` with nothing in the ring. */
static void advance(struct bp_ring *r, uint64_t offset)
{
	uint64_t mark;

	ring_empty(r);
	for (uint64_t at = 0; at < offset; at += 8) {
		assert_non_null(bp_ring_reserve(r, 0, &mark));
		bp_ring_commit(r, mark);
		bp_ring_release(r, mark);
	}
}

static void every_size_wraps_at_every_offset(void **state)
{
	struct bp_ring *r = ring_new(512);
	uint64_t mark, cursor;
	uint32_t got;

	for (uint64_t offset = 0; offset < 512; offset += 8) {
		for (uint32_t size = 0; size <= bp_ring_record_max(r); size++) {
			const uint8_t *p;

			advance(r, offset);
			for (unsigned k = 0; k < 3; k++) {
				uint8_t *w = bp_ring_reserve(r, size, &mark);

				if (!w) {
					assert_true(k > 0); /* an empty ring takes it anywhere */
					continue;
				}
				assert_int_equal((uintptr_t)w & 7, 0);
				assert_true(w >= r->data && w + size <= r->data + 512);
				fill(w, size, k);
				bp_ring_commit(r, mark);
			}
			cursor = bp_ring_tail(r);
			p = bp_ring_peek(r, &cursor, &got);
			assert_non_null(p);
			assert_int_equal(got, size);
			assert_true(filled(p, size, 0));
		}
	}
	free(r);
}

/* --- against a model: a list of what was committed and not released ---------------------- */

#define MODEL_MAX 256

struct model {
	uint32_t size[MODEL_MAX];
	uint64_t number[MODEL_MAX];
	unsigned n, read; /* there; of these, already peeked at */
	uint64_t cursor, behind[MODEL_MAX];
	uint64_t next;
};

static void model_write(struct bp_ring *r, struct model *m, uint32_t size, bool commit)
{
	const uint64_t before = bp_ring_used(r);
	uint64_t mark;
	uint8_t *p = bp_ring_reserve(r, size, &mark);

	if (!p) {
		/* refused only if it is too large, or if it and the rest of the lap do not fit */
		assert_true(size > bp_ring_record_max(r) ||
			    before + 2 * (8 + ((uint64_t)size + 7) / 8 * 8) > r->capacity);
		return;
	}
	assert_true(size <= bp_ring_record_max(r));
	fill(p, size, m->next);
	if (!commit)
		return;
	bp_ring_commit(r, mark);
	assert_true(m->n < MODEL_MAX);
	m->size[m->n] = size;
	m->number[m->n++] = m->next++;
}

static void model_peek(struct bp_ring *r, struct model *m)
{
	uint32_t size;
	const uint8_t *p = bp_ring_peek(r, &m->cursor, &size);

	if (m->read == m->n) {
		assert_null(p);
		return;
	}
	assert_non_null(p);
	assert_int_equal(size, m->size[m->read]);
	assert_true(filled(p, size, m->number[m->read]));
	m->behind[m->read++] = m->cursor;
}

static void model_release(struct bp_ring *r, struct model *m, unsigned n)
{
	if (n == 0)
		return;
	bp_ring_release(r, m->behind[n - 1]);
	m->n -= n;
	m->read -= n;
	memmove(m->size, m->size + n, m->n * sizeof(m->size[0]));
	memmove(m->number, m->number + n, m->n * sizeof(m->number[0]));
	memmove(m->behind, m->behind + n, m->read * sizeof(m->behind[0]));
}

static void model_behaves_as_a_queue(void **state)
{
	uint64_t seed = 1;

	for (uint64_t capacity = 64; capacity <= 2048; capacity *= 2) {
		struct bp_ring *r = ring_new(capacity);
		struct model m = {.n = 0};

		for (unsigned i = 0; i < 60000; i++) {
			const uint32_t what = test_below(&seed, 8);

			if (what < 3)
				model_write(r, &m, test_below(&seed, bp_ring_record_max(r) + 3),
					test_below(&seed, 8) != 0);
			else if (what < 6)
				model_peek(r, &m);
			else if (what == 6)
				model_release(r, &m, test_below(&seed, m.read + 1));
			else { /* a new reader */
				m.cursor = bp_ring_tail(r);
				m.read = 0;
			}
		}
		assert_true(m.next > 1000);
		free(r);
	}
}

/* --- damage ------------------------------------------------------------------------------ */

static void damaged_references_stay_inside(void **state)
{
	uint64_t seed = 2;

	for (unsigned i = 0; i < 20000; i++) {
		const uint64_t capacity = 64u << test_below(&seed, 4);
		struct bp_ring *r = ring_new(capacity);
		uint64_t cursor, mark, sum = 0;
		uint32_t size;
		const uint8_t *p;

		for (unsigned k = test_below(&seed, 20); k > 0; k--) {
			if (bp_ring_reserve(r, test_below(&seed, 17), &mark))
				bp_ring_commit(r, mark);
		}
		if (test_below(&seed, 2))
			r->data[test_below(&seed, (uint32_t)capacity)] =
				(uint8_t)test_random(&seed);
		if (test_below(&seed, 2))
			r->shared->head += test_random(&seed) >> test_below(&seed, 64);
		if (test_below(&seed, 4) == 0)
			r->reader->tail += test_random(&seed) >> test_below(&seed, 64);
		cursor = bp_ring_tail(r);
		for (unsigned k = 0; (p = bp_ring_peek(r, &cursor, &size)); k++) {
			assert_true(
				p >= r->data && size <= capacity && p + size <= r->data + capacity);
			for (uint32_t b = 0; b < size; b++)
				sum += p[b];
			assert_true(k <= capacity / 8);
		}
		assert_true(sum < UINT64_MAX);
		assert_true(cursor == ((r->shared->head + 7) & ~7ull));
		/* and the reader's next release makes the ring whole again */
		bp_ring_release(r, cursor);
		assert_int_equal(bp_ring_used(r), 0);
		bp_ring_attach(r, r->shared, r->reader, capacity); /* nor is the writer stuck */
		p = bp_ring_reserve(r, 9, &mark);
		assert_non_null(p);
		fill((uint8_t *)(uintptr_t)p, 9, 77);
		bp_ring_commit(r, mark);
		cursor = bp_ring_tail(r);
		if (cursor & 7) /* a head that was no multiple of 8 costs one record */
			assert_null(bp_ring_peek(r, &cursor, &size));
		else
			assert_true(bp_ring_peek(r, &cursor, &size) == p && filled(p, 9, 77));
		free(r);
	}
}

/* Of what the control plane writes nothing makes the data plane write elsewhere, or over a record
 * that was not read: the writer goes by its own position. */
static void invalid_tail_stops_the_ring_and_is_counted(void **state)
{
	const uint64_t lies[] = {1, 8, UINT64_MAX, 1ull << 63, 4096, 264};
	struct bp_ring *r = ring_new(256);
	uint64_t mark, cursor;
	uint32_t size;
	const uint8_t *p;

	for (unsigned i = 0; i < 12; i++) {
		p = bp_ring_reserve(r, 8, &mark);
		assert_non_null(p);
		fill((uint8_t *)(uintptr_t)p, 8, i);
		bp_ring_commit(r, mark);
	}
	assert_int_equal(bp_ring_corrupt_tails(r), 0);
	for (unsigned i = 0; i < sizeof(lies) / sizeof(lies[0]); i++) {
		r->reader->tail = lies[i] < 200 ? lies[i] + mark : mark - lies[i];
		assert_null(bp_ring_reserve(r, 60, &mark));
		assert_int_equal(bp_ring_corrupt_tails(r), 1);
	}
	cursor = 0;
	for (unsigned i = 0; i < 12; i++) {
		p = bp_ring_peek(r, &cursor, &size);
		assert_true(p != NULL && size == 8 && filled(p, 8, i));
	}
	bp_ring_release(r, cursor);
	assert_non_null(bp_ring_reserve(r, 60, &mark));
	assert_int_equal(bp_ring_corrupt_tails(r), 0);
	free(r);
}

/* Nor does what it writes over the head that it can see, if it could. */
static void the_writer_does_not_read_its_head_back(void **state)
{
	struct bp_ring *r = ring_new(256);
	uint64_t mark;
	uint8_t *first = bp_ring_reserve(r, 8, &mark);

	bp_ring_commit(r, mark);
	r->shared->head = 0x123456789abcdefull;
	assert_ptr_equal(bp_ring_reserve(r, 8, &mark), first + 16);
	bp_ring_commit(r, mark);
	assert_int_equal(r->shared->head, 32);
	free(r);
}

/* A head that no writer stores: it costs what was in the ring, but no record that comes then. */
static void a_damaged_head_costs_no_later_record(void **state)
{
	const uint64_t capacity = 4096;
	struct bp_ring_data *data = aligned_alloc(64, sizeof(*data) + capacity);
	struct bp_ring_tail tail = {0};
	struct bp_ring reader, writer;
	uint64_t cursor = 0, mark;
	uint32_t size;
	void *p;

	assert_non_null(data);
	memset(data, 0, sizeof(*data) + capacity);
	atomic_store(&data->head, 0x123456789abcdull);
	bp_ring_attach(&reader, data, &tail, capacity);
	assert_null(bp_ring_peek(&reader, &cursor, &size));
	bp_ring_release(&reader, cursor);
	bp_ring_attach(&writer, data, &tail, capacity);
	p = bp_ring_reserve(&writer, 5, &mark);
	assert_non_null(p);
	memcpy(p, "alarm", 5);
	bp_ring_commit(&writer, mark);
	p = (void *)bp_ring_peek(&reader, &cursor, &size);
	assert_non_null(p);
	assert_int_equal(size, 5);
	assert_memory_equal(p, "alarm", 5);
	free(data);
}

static void a_second_skip_is_damage(void **state)
{
	struct bp_ring *r = ring_new(64);
	uint64_t cursor = 8;
	uint32_t size;

	memset(r->data, 0xff, 64);
	r->shared->head = 64 + 8;
	assert_null(bp_ring_peek(r, &cursor, &size));
	assert_int_equal(cursor, 72);
	free(r);
}

/* --- two threads ------------------------------------------------------------------------- */

#define THREAD_RECORDS 200000u

static void *write_all(void *arg)
{
	struct bp_ring *r = arg;
	uint64_t seed = 3;

	for (uint64_t n = 0; n < THREAD_RECORDS; n++) {
		const uint32_t size = test_below(&seed, bp_ring_record_max(r) + 1);
		uint64_t mark;
		uint8_t *p;

		while (!(p = bp_ring_reserve(r, size, &mark)))
			sched_yield();
		fill(p, size, n);
		bp_ring_commit(r, mark);
	}
	return NULL;
}

static void two_threads(void **state)
{
	struct bp_ring *r = ring_new(1024);
	uint64_t seed = 3, cursor = 0;
	pthread_t writer;

	assert_int_equal(pthread_create(&writer, NULL, write_all, r), 0);
	for (uint64_t n = 0; n < THREAD_RECORDS; n++) {
		const uint32_t want = test_below(&seed, bp_ring_record_max(r) + 1);
		const uint8_t *p;
		uint32_t size;

		while (!(p = bp_ring_peek(r, &cursor, &size)))
			sched_yield();
		assert_int_equal(size, want);
		assert_true(filled(p, size, n));
		/* half a ring always takes the largest record and what it skips */
		if (n % 3 == 0 || bp_ring_used(r) > 256)
			bp_ring_release(r, cursor);
	}
	assert_int_equal(pthread_join(writer, NULL), 0);
	free(r);
}

/* --- two processes, either of which is killed at any moment ------------------------------- */

#define KILLS 150u

struct shared {
	/* State for the next writer to find the position of the last one: a record's number + 1 and
	 * its mark, alternately in two slots, so that one of them is always consistent. */
	struct {
		_Atomic uint64_t number1, mark;
	} intent[2];
	_Atomic uint64_t done; /* reader: number of the last record + 1 that it was through with */
	_Atomic uint32_t stop;
	struct bp_ring_tail tail;
	_Alignas(64) uint8_t room[BP_RING_OVERHEAD + 4096];
};

/* The view of this process. */
static struct bp_ring *ring_of(struct shared *s)
{
	static struct bp_ring ring;

	if (ring.shared == NULL)
		bp_ring_attach(&ring, (struct bp_ring_data *)(void *)s->room, &s->tail, 4096);
	return &ring;
}

static uint32_t size_of(uint64_t number)
{
	uint64_t seed = number + 1;

	return 8 + (uint32_t)(test_random(&seed) >> 40) % 1000;
}

/* The number of the record to write next, after a writer that died before or after its commit. */
static uint64_t last_intent(struct shared *s)
{
	const unsigned i = s->intent[1].number1 > s->intent[0].number1;
	const uint64_t number1 = s->intent[i].number1;

	if (number1 == 0)
		return 0;
	return ring_of(s)->shared->head == s->intent[i].mark ? number1 : number1 - 1;
}

static void writer_process(struct shared *s)
{
	uint64_t n = last_intent(s);

	while (!s->stop) {
		const uint32_t size = size_of(n);
		uint64_t mark;
		uint8_t *p = bp_ring_reserve(ring_of(s), size, &mark);

		if (!p) {
			sched_yield();
			continue;
		}
		memcpy(p, &n, sizeof(n));
		fill(p + 8, size - 8, n);
		s->intent[n & 1].mark = mark;
		s->intent[n & 1].number1 = n + 1;
		bp_ring_commit(ring_of(s), mark);
		n++;
	}
	_exit(0);
}

static void reader_process(struct shared *s)
{
	uint64_t cursor = bp_ring_tail(ring_of(s));
	const uint64_t first = s->done;
	bool started = false;

	for (;;) {
		const uint32_t stop = s->stop;
		uint64_t at = cursor, n;
		uint32_t size;
		const uint8_t *p = bp_ring_peek(ring_of(s), &cursor, &size);

		if (!p) {
			if (cursor != at)
				_exit(2); /* damaged */
			if (stop == 2 && ring_of(s)->shared->head == cursor)
				_exit(0);
			sched_yield();
			continue;
		}
		memcpy(&n, p, sizeof(n));
		if (size != size_of(n) || !filled(p + 8, size - 8, n))
			_exit(3); /* torn */
		/* at a start, the last record may come once more */
		if (n != s->done && (started || first == 0 || n != first - 1))
			_exit(4); /* lost, or out of order */
		started = true;
		s->done = n + 1;
		bp_ring_release(ring_of(s), cursor);
	}
}

static pid_t start(void (*what)(struct shared *), struct shared *s)
{
	pid_t pid = fork();

	assert_true(pid >= 0);
	if (pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL); /* a test that fails leaves no one behind */
		what(s);
	}
	return pid;
}

/* Waits for the process; 0 when it was killed or went well. */
static int end_of(pid_t pid)
{
	int status;

	assert_int_equal(waitpid(pid, &status, 0), pid);
	return WIFEXITED(status) ? WEXITSTATUS(status) : WTERMSIG(status) == SIGKILL ? 0 : 1;
}

static void killed_at_any_moment(void **state)
{
	struct shared *s =
		mmap(NULL, sizeof(*s), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	uint64_t seed = 4;
	pid_t writer, reader;

	assert_true(s != MAP_FAILED);
	writer = start(writer_process, s);
	reader = start(reader_process, s);
	for (unsigned i = 0; i < KILLS; i++) {
		const uint64_t until = s->done + 1 + test_below(&seed, 300);

		while (s->done < until) {
			/* a child that found a fault ends by itself */
			assert_int_equal(waitpid(reader, NULL, WNOHANG), 0);
			sched_yield();
		}
		for (uint32_t k = test_below(&seed, 2000); k > 0; k--)
			__asm__ __volatile__("");
		if (test_below(&seed, 2)) {
			kill(writer, SIGKILL);
			assert_int_equal(end_of(writer), 0);
			writer = start(writer_process, s);
		} else {
			kill(reader, SIGKILL);
			assert_int_equal(end_of(reader), 0);
			reader = start(reader_process, s);
		}
	}
	s->stop = 1;
	assert_int_equal(end_of(writer), 0);
	s->stop = 2;
	assert_int_equal(end_of(reader), 0);
	assert_true(s->done == last_intent(s));
	assert_int_equal(bp_ring_used(ring_of(s)), 0);
	munmap(s, sizeof(*s));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(capacity_is_the_next_power_of_two),
		cmocka_unit_test(a_record_over_a_quarter_is_refused),
		cmocka_unit_test(uncommitted_records_are_invisible),
		cmocka_unit_test(unreleased_records_are_read_again),
		cmocka_unit_test(every_size_wraps_at_every_offset),
		cmocka_unit_test(model_behaves_as_a_queue),
		cmocka_unit_test(damaged_references_stay_inside),
		cmocka_unit_test(invalid_tail_stops_the_ring_and_is_counted),
		cmocka_unit_test(the_writer_does_not_read_its_head_back),
		cmocka_unit_test(a_damaged_head_costs_no_later_record),
		cmocka_unit_test(a_second_skip_is_damage),
		cmocka_unit_test(two_threads),
		cmocka_unit_test(killed_at_any_moment),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
