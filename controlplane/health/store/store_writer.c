/* SPDX-License-Identifier: BSD-3-Clause */
#include "controlplane/health/store/store_writer.h"

#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "controlplane/process/clock.h"

#define COLLECT_NS 50000000ull /* from the first row of a transaction to its commit */
#define RETRY_NS 1000000000ull
#define LOOK_NS 1000000000ull /* interval of checks of the file while idle */
#define KEEP_ROWS 16384u      /* a queue that was longer frees its memory */

struct rows {
	struct bp_phd_store_row *row;
	uint32_t n, cap;
};

struct bp_phd_store_writer {
	pthread_t thread;
	int fd;
	/* used only by the thread */
	struct bp_phd_store_file *file;
	/* protected by the lock */
	pthread_mutex_t lock;
	pthread_cond_t wake;  /* for the thread: there is work */
	pthread_cond_t moved; /* flush: an attempt was made */
	struct rows queue;    /* rows queued since the thread's last round */
	struct rows taken;    /* rows that the thread writes; only the thread changes it */
	uint32_t done;        /* committed rows of `taken` */
	uint64_t bytes;       /* bytes of the reports that are not committed */
	uint64_t due_ns;      /* time at which the queue is due */
	bool stop, hurry;
	bool asked;
	enum bp_phd_store_table table;
	struct bp_phd_store_page *page;
	struct bp_phd_store_results results;
};

static uint32_t waiting(const struct bp_phd_store_writer *w)
{
	return w->queue.n + w->taken.n - w->done;
}

static void signal_owner(const struct bp_phd_store_writer *w)
{
	const uint64_t one = 1;

	/* A full counter has already signalled the event loop. */
	if (write(w->fd, &one, sizeof(one)) != (ssize_t)sizeof(one))
		return;
}

static void drop_rows(struct rows *r)
{
	for (uint32_t i = 0; i < r->n; i++)
		free(r->row[i].report);
	r->n = 0;
	if (r->cap > KEEP_ROWS) {
		free(r->row);
		r->row = NULL;
		r->cap = 0;
	}
}

/* ---- thread ---- */

static void wait_until(struct bp_phd_store_writer *w, uint64_t ns)
{
	const struct timespec at = {
		.tv_sec = (time_t)(ns / 1000000000u), .tv_nsec = (long)(ns % 1000000000u)};

	pthread_cond_timedwait(&w->wake, &w->lock, &at);
}

/* Waits for urgent work, or until the file must be checked. */
static void wait_for_work(struct bp_phd_store_writer *w)
{
	const uint64_t look_ns = bp_mono_ns() + LOOK_NS;

	while (!w->stop && !w->hurry && !w->asked && w->taken.n == 0 &&
		w->queue.n < BP_PHD_STORE_BATCH) {
		const uint64_t until = w->queue.n != 0 ? w->due_ns : look_ns;

		if (bp_mono_ns() >= until)
			return;
		wait_until(w, until);
	}
}

/* Called under the lock; waits for the retry interval, unless a flush waits for an attempt. */
static void failed(struct bp_phd_store_writer *w)
{
	const uint64_t until = bp_mono_ns() + RETRY_NS;

	w->results.failures++;
	w->results.failed = true;
	snprintf(
		w->results.error, sizeof(w->results.error), "%s", bp_phd_store_file_error(w->file));
	signal_owner(w);
	w->hurry = false;
	pthread_cond_broadcast(&w->moved);
	while (!w->stop && !w->hurry && bp_mono_ns() < until)
		wait_until(w, until);
}

/* Called under the lock: the disk works. */
static void succeeded(struct bp_phd_store_writer *w)
{
	if (!w->results.failed)
		return;
	w->results.failed = false;
	signal_owner(w);
}

/* The taken rows are committed. The memory is freed without the lock, because it may be large. */
static void drop_taken(struct bp_phd_store_writer *w)
{
	struct rows old = w->taken;

	w->taken = (struct rows){0};
	w->done = 0;
	pthread_mutex_unlock(&w->lock);
	drop_rows(&old);
	pthread_mutex_lock(&w->lock);
	w->taken = old;
}

/* Called under the lock, which is released meanwhile. False: an attempt failed. */
static bool write_taken(struct bp_phd_store_writer *w)
{
	while (w->done < w->taken.n) {
		const uint32_t left = w->taken.n - w->done;
		const uint32_t n = left < BP_PHD_STORE_BATCH ? left : BP_PHD_STORE_BATCH;
		bool good;

		pthread_mutex_unlock(&w->lock);
		good = bp_phd_store_file_write(w->file, &w->taken.row[w->done], n);
		pthread_mutex_lock(&w->lock);
		if (!good)
			return false;
		for (uint32_t i = w->done; i < w->done + n; i++)
			w->bytes -= w->taken.row[i].report_len;
		w->done += n;
		w->results.rows += n;
		succeeded(w);
	}
	drop_taken(w);
	return true;
}

static bool read_page(struct bp_phd_store_writer *w)
{
	bool good;

	pthread_mutex_unlock(&w->lock);
	good = bp_phd_store_file_read(w->file, w->table, w->page);
	pthread_mutex_lock(&w->lock);
	if (!good)
		return false;
	w->asked = false;
	w->results.page = true;
	succeeded(w);
	signal_owner(w);
	return true;
}

/* Idle: only checks that the file still exists. */
static bool look(struct bp_phd_store_writer *w)
{
	bool good;

	pthread_mutex_unlock(&w->lock);
	good = bp_phd_store_file_ready(w->file);
	pthread_mutex_lock(&w->lock);
	if (good)
		succeeded(w);
	return good;
}

/* Runs one round, under the lock. False: an attempt failed. */
static bool attempt(struct bp_phd_store_writer *w)
{
	/* A page that was requested before the queue is taken is read after the queue is
	 * written. */
	const bool asked = w->asked;

	if (!asked && waiting(w) == 0)
		return look(w);
	if (w->taken.n == 0) {
		const struct rows empty = w->taken;

		w->taken = w->queue;
		w->queue = empty;
	} else if (asked && w->queue.n != 0) {
		return write_taken(w); /* earlier rows first; the queue in the next round */
	}
	return write_taken(w) && (!asked || read_page(w));
}

static void *work(void *arg)
{
	struct bp_phd_store_writer *w = arg;
	bool good = true, stop = false;

	pthread_mutex_lock(&w->lock);
	while (good || !stop) {
		wait_for_work(w);
		stop = w->stop;
		if (stop && waiting(w) == 0)
			break;
		good = attempt(w);
		if (bp_phd_store_file_fresh(w->file)) {
			w->results.fresh = true;
			signal_owner(w);
		}
		if (!good) {
			failed(w);
		} else if (waiting(w) == 0) {
			w->hurry = false;
			pthread_cond_broadcast(&w->moved);
		}
	}
	pthread_mutex_unlock(&w->lock);
	return NULL;
}

/* ---- event loop ---- */

static bool make_locks(struct bp_phd_store_writer *w)
{
	pthread_condattr_t clock;

	if (pthread_condattr_init(&clock) != 0)
		return false;
	pthread_condattr_setclock(&clock, CLOCK_MONOTONIC);
	pthread_mutex_init(&w->lock, NULL);
	pthread_cond_init(&w->wake, &clock);
	pthread_cond_init(&w->moved, &clock);
	pthread_condattr_destroy(&clock);
	return true;
}

/* The event loop's thread handles signals. */
static bool start(struct bp_phd_store_writer *w)
{
	sigset_t all, before;
	bool good;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	good = pthread_create(&w->thread, NULL, work, w) == 0;
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return good;
}

struct bp_phd_store_writer *bp_phd_store_writer_new(const char *path, int fd)
{
	struct bp_phd_store_writer *w = calloc(1, sizeof(*w));

	if (w == NULL)
		return NULL;
	w->fd = fd;
	w->file = bp_phd_store_file_new(path);
	if (w->file == NULL || !make_locks(w) || !start(w)) {
		bp_phd_store_file_free(w->file);
		free(w);
		return NULL;
	}
	pthread_setname_np(w->thread, "phd-store");
	return w;
}

void bp_phd_store_writer_free(struct bp_phd_store_writer *w)
{
	if (w == NULL)
		return;
	pthread_mutex_lock(&w->lock);
	w->stop = true;
	pthread_cond_signal(&w->wake);
	pthread_mutex_unlock(&w->lock);
	pthread_join(w->thread, NULL);
	bp_phd_store_file_free(w->file);
	if (w->results.page) /* a page that was not used */
		for (unsigned i = 0; i < w->page->n; i++)
			free(w->page->row[i].report);
	drop_rows(&w->queue);
	drop_rows(&w->taken);
	free(w->queue.row);
	free(w->taken.row);
	pthread_cond_destroy(&w->wake);
	pthread_cond_destroy(&w->moved);
	pthread_mutex_destroy(&w->lock);
	free(w);
}

static bool append(struct rows *r, const struct bp_phd_store_row *row)
{
	if (r->n == r->cap) {
		const uint32_t cap = r->cap == 0 ? 1024 : r->cap * 2;
		struct bp_phd_store_row *bigger = realloc(r->row, cap * sizeof(*bigger));

		if (bigger == NULL)
			return false;
		r->row = bigger;
		r->cap = cap;
	}
	r->row[r->n++] = *row;
	return true;
}

bool bp_phd_store_writer_put(struct bp_phd_store_writer *w, const struct bp_phd_store_row *row)
{
	bool good;

	pthread_mutex_lock(&w->lock);
	good = waiting(w) < BP_PHD_STORE_QUEUE &&
	       w->bytes + row->report_len <= BP_PHD_STORE_QUEUE_BYTES && append(&w->queue, row);
	if (good)
		w->bytes += row->report_len;
	if (good && w->queue.n == 1)
		w->due_ns = bp_mono_ns() + COLLECT_NS;
	if (good && (w->queue.n == 1 || w->queue.n == BP_PHD_STORE_BATCH))
		pthread_cond_signal(&w->wake);
	pthread_mutex_unlock(&w->lock);
	if (!good)
		free(row->report);
	return good;
}

uint32_t bp_phd_store_writer_capacity(struct bp_phd_store_writer *w)
{
	uint32_t room;

	pthread_mutex_lock(&w->lock);
	room = BP_PHD_STORE_QUEUE - waiting(w);
	pthread_mutex_unlock(&w->lock);
	return room;
}

void bp_phd_store_writer_request(struct bp_phd_store_writer *w, enum bp_phd_store_table table,
	struct bp_phd_store_page *page)
{
	pthread_mutex_lock(&w->lock);
	w->asked = true;
	w->table = table;
	w->page = page;
	pthread_cond_signal(&w->wake);
	pthread_mutex_unlock(&w->lock);
}

static void copy_results(const struct bp_phd_store_writer *w, struct bp_phd_store_results *out)
{
	*out = w->results;
	out->queued = waiting(w);
	out->bytes = w->bytes;
}

void bp_phd_store_writer_state(struct bp_phd_store_writer *w, struct bp_phd_store_results *out)
{
	pthread_mutex_lock(&w->lock);
	copy_results(w, out);
	pthread_mutex_unlock(&w->lock);
}

void bp_phd_store_writer_results(struct bp_phd_store_writer *w, struct bp_phd_store_results *out)
{
	pthread_mutex_lock(&w->lock);
	copy_results(w, out);
	w->results.fresh = false;
	w->results.page = false;
	pthread_mutex_unlock(&w->lock);
}

bool bp_phd_store_writer_flush(struct bp_phd_store_writer *w)
{
	uint64_t failures;
	bool good;

	pthread_mutex_lock(&w->lock);
	failures = w->results.failures;
	w->hurry = true;
	pthread_cond_signal(&w->wake);
	while (waiting(w) != 0 && w->results.failures == failures)
		pthread_cond_wait(&w->moved, &w->lock);
	good = waiting(w) == 0;
	pthread_mutex_unlock(&w->lock);
	return good;
}
