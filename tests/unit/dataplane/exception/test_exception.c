/* SPDX-License-Identifier: BSD-3-Clause */
#include "biplane/counters/general.h"
#include "tests/unit/dataplane/test.h"

#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#include "dataplane/exception/exception.h"
#include "dataplane/exception/serve.h"
#include "dataplane/exception/thread.h"
#include "dataplane/ports/ring_ports.h"
#include "dataplane/workers/worker.h"

#define MBUFS 5000
#define SECOND 1000000000ull
#define HOST BP_MAX_PORTS

/* A kernel that remembers what it got: the tag of each frame, in order. */
struct fake {
	struct bp_kernel_if k;
	uint32_t got[MBUFS];
	_Atomic unsigned n;
	unsigned refuse_after; /* accepts this many, then no more */
	uint32_t give[MBUFS];  /* tags of what it sends */
	_Atomic unsigned to_give;
	unsigned given;
	unsigned lose; /* of each reading */
};

static struct rte_mempool *pool;
static struct bp_config config;
static struct bp_counters counters;
static struct fake fakes[3];
static struct bp_kernel_if *interface[BP_MAX_INTERFACES];

static struct rte_mbuf *frame(uint32_t tag, unsigned to)
{
	struct rte_mbuf *m = rte_pktmbuf_alloc(pool);

	assert_non_null(m);
	memcpy(rte_pktmbuf_append(m, sizeof(tag)), &tag, sizeof(tag));
	bp_exception_interface_set(m, to);
	return m;
}

static uint32_t tag_of(const struct rte_mbuf *m)
{
	uint32_t tag;

	memcpy(&tag, rte_pktmbuf_mtod(m, void *), sizeof(tag));
	return tag;
}

static unsigned fake_write(struct bp_kernel_if *k, struct rte_mbuf **m, unsigned n)
{
	struct fake *f = (struct fake *)k;
	unsigned taken = 0, at = atomic_load(&f->n);

	for (unsigned i = 0; i < n && at < f->refuse_after; i++, taken++)
		f->got[at++] = tag_of(m[i]);
	rte_pktmbuf_free_bulk(m, n);
	atomic_store(&f->n, at);
	return taken;
}

static unsigned fake_read(struct bp_kernel_if *k, struct rte_mbuf **m, unsigned n, uint64_t *lost)
{
	struct fake *f = (struct fake *)k;
	unsigned i = 0, until = atomic_load(&f->to_give);
	uint64_t value;

	for (; i < n && f->given < until; i++)
		m[i] = frame(f->give[f->given++], 0);
	if (k->fd >= 0 && f->given == until && read(k->fd, &value, sizeof(value)) < 0)
		assert_int_equal(errno, EAGAIN);
	*lost += f->lose;
	return i;
}

static void fake_close(struct bp_kernel_if *k)
{
}

static const struct bp_kernel_if_ops fake_ops = {
	.name = "fake", .read = fake_read, .write = fake_write, .close = fake_close};

static void put(struct bp_exception *x, enum bp_exception_class c, uint32_t tag, unsigned to)
{
	struct rte_mbuf *m = frame(tag, to);

	assert_int_equal(bp_exception_put(x, c, to, &m, 1), 1);
	bp_exception_ring(x);
}

static int set_up(void **state)
{
	memset(&config, 0, sizeof(config));
	config.n_workers = 1;
	config.n_ports = 2;
	config.n_bridges = 1;
	config.bridge[0].has_host_interface = true;
	for (unsigned i = 0; i < BP_EX_CLASSES; i++) {
		config.punt.policer[i].rate_pps = 1000;
		config.punt.policer[i].burst = 1000;
		config.punt.policer[i].queue_len = 500 + i;
	}
	memset(&counters, 0, sizeof(counters));
	memset(fakes, 0, sizeof(fakes));
	memset(interface, 0, sizeof(interface));
	for (unsigned i = 0; i < RTE_DIM(fakes); i++) {
		fakes[i].k = (struct bp_kernel_if){.ops = &fake_ops, .fd = -1};
		fakes[i].refuse_after = MBUFS;
	}
	interface[0] = &fakes[0].k;
	interface[1] = &fakes[1].k;
	interface[HOST] = &fakes[2].k;
	return 0;
}

static struct bp_exception *create(const struct bp_queue_plan *plan)
{
	char err[256] = "";
	struct bp_exception *x = bp_exception_create(&config, plan, err, sizeof(err));

	if (!x)
		fail_msg("%s", err);
	return x;
}

static void destroy(struct bp_exception *x)
{
	bp_exception_free(x);
	assert_int_equal(rte_mempool_avail_count(pool), MBUFS);
}

/* Exactly the configured number of frames per interface is queued, from any producer; rejected
 * frames stay with the caller, and remaining ones are freed at the end. */
static void queues_are_bounded(void **state)
{
	struct bp_queue_plan plan = {.n_workers = 3};
	struct rte_mbuf *m[600];

	for (unsigned several = 0; several < 2; several++) {
		struct bp_exception *x = create(several ? &plan : NULL);

		for (unsigned c = 0; c < BP_EX_CLASSES; c++) {
			for (unsigned to = 0; to < 2; to++) {
				unsigned n;

				for (unsigned i = 0; i < RTE_DIM(m); i++)
					m[i] = frame(i, to);
				n = bp_exception_put(x, c, to, m, RTE_DIM(m));
				assert_int_equal(n, 500 + c);
				assert_int_equal(bp_exception_put(x, c, to, &m[n], 1), 0);
				rte_pktmbuf_free_bulk(&m[n], RTE_DIM(m) - n);
			}
		}
		for (unsigned i = 0; i < BP_MAX_INTERFACES; i++) {
			assert_false(bp_exception_has(x, i));
			assert_int_equal(x->to_kernel[0][i] != NULL, i < 2 || i == HOST);
		}
		destroy(x);
	}
}

static void workers_are_chosen(void **state)
{
	struct bp_queue_plan plan = {.n_workers = 4};
	struct bp_exception *x;

	config.n_workers = 4;
	config.n_ports = 4;
	config.n_bridges = 2;
	for (unsigned p = 0; p < 4; p++)
		for (unsigned w = 0; w < BP_MAX_WORKERS; w++)
			plan.port[p].tx_queue[w] = UINT16_MAX;
	/* worker 1 sends on port 0 but polls nothing, 2 and 3 do */
	plan.port[0].tx_queue[1] = plan.port[0].tx_queue[2] = plan.port[0].tx_queue[3] = 0;
	plan.port[1].tx_queue[1] = 0;
	plan.port[2].tx_queue[3] = 0;
	plan.port[2].n_rx = 2;
	plan.port[2].rx_worker[0] = 3;
	plan.port[2].rx_worker[1] = 2;
	plan.bridge[0].worker = 3;
	plan.bridge[1].spread = true;
	plan.bridge[1].worker = 2;
	x = create(&plan);
	assert_int_equal(x->worker_of[0], 2);
	assert_int_equal(x->worker_of[1], 1);
	assert_int_equal(x->worker_of[2], 3);
	assert_int_equal(x->worker_of[3], 0);
	assert_int_equal(x->worker_of[HOST], 3);
	assert_int_equal(x->worker_of[HOST + 1], 0);
	for (unsigned w = 0; w < 4; w++)
		assert_non_null(x->from_kernel[w]);
	destroy(x);
}

static void serve(struct bp_serve *s, struct bp_exception *x, uint64_t now)
{
	bp_serve_init(s, x, interface, &counters, &config.punt, now);
}

/* In the order of the classes, a batch of each, in the order in which they came. */
static void classes_in_order(void **state)
{
	struct bp_exception *x = create(NULL);
	struct bp_serve s;
	unsigned n;

	serve(&s, x, SECOND);
	for (unsigned i = 0; i < BP_SERVE_BATCH + 5; i++)
		for (unsigned c = BP_EX_CLASSES; c-- > 0;)
			put(x, c, c * 1000 + i, 0);
	assert_int_equal(bp_serve_to_kernel(&s, SECOND), BP_EX_CLASSES * BP_SERVE_BATCH);
	assert_int_equal(bp_serve_to_kernel(&s, SECOND), BP_EX_CLASSES * 5);
	assert_int_equal(bp_serve_to_kernel(&s, SECOND), 0);
	n = 0;
	for (unsigned c = 0; c < BP_EX_CLASSES; c++)
		for (unsigned i = 0; i < BP_SERVE_BATCH; i++)
			assert_int_equal(fakes[0].got[n++], c * 1000 + i);
	for (unsigned c = 0; c < BP_EX_CLASSES; c++)
		for (unsigned i = 0; i < 5; i++)
			assert_int_equal(fakes[0].got[n++], c * 1000 + BP_SERVE_BATCH + i);
	assert_int_equal(counters.v[BP_C_PUNTED_ROUTING], BP_SERVE_BATCH + 5);
	assert_int_equal(counters.v[BP_C_PUNTED_PHD], BP_SERVE_BATCH + 5);
	assert_int_equal(counters.v[BP_C_PUNTED_LOCAL], BP_SERVE_BATCH + 5);
	assert_int_equal(counters.v[BP_C_PUNTED_OTHER], BP_SERVE_BATCH + 5);
	destroy(x);
}

/* A flood of one class passes at its rate, and takes nothing from the others. */
static void flood_is_bounded(void **state)
{
	struct bp_exception *x = create(NULL);
	uint64_t now = SECOND, flooded = 0, routing = 0, dropped = 0;
	struct bp_serve s;

	config.punt.policer[BP_EX_LOCAL].rate_pps = 10000;
	config.punt.policer[BP_EX_LOCAL].burst = 100;
	config.punt.policer[BP_EX_ROUTING].rate_pps = 2000;
	config.punt.policer[BP_EX_ROUTING].burst = 10;
	serve(&s, x, now);
	for (unsigned step = 0; step < 10000; step++, now += 100000) { /* 1 s of 0.1 ms */
		for (unsigned i = 0; i < 20; i++) {                    /* 200,000 a second */
			struct rte_mbuf *m = frame(0, 0);

			if (bp_exception_put(x, BP_EX_LOCAL, 0, &m, 1) == 1)
				continue;
			rte_pktmbuf_free(m);
			dropped++;
		}
		if (step % 10 == 0) { /* 1,000 a second */
			put(x, BP_EX_ROUTING, 1, 1);
			routing++;
		}
		(void)bp_serve_to_kernel(&s, now);
		/* none of them waits for even one step */
		assert_int_equal(counters.v[BP_C_PUNTED_ROUTING], routing);
		atomic_store(&fakes[0].n, 0);
		atomic_store(&fakes[1].n, 0);
	}
	flooded = counters.v[BP_C_PUNTED_LOCAL];
	assert_in_range(flooded, 10000 + 100 - 1, 10000 + 100);
	assert_int_equal(flooded + dropped + rte_ring_count(x->to_kernel[BP_EX_LOCAL][0]), 200000);
	destroy(x);
}

/* A flood on one interface takes of its own class only what the other interfaces leave. */
static void flood_leaves_other_ports(void **state)
{
	struct bp_exception *x = create(NULL);
	uint64_t now = SECOND;
	unsigned sent = 0;
	struct bp_serve s;

	config.punt.policer[BP_EX_ROUTING].rate_pps = 2000;
	config.punt.policer[BP_EX_ROUTING].burst = 10;
	serve(&s, x, now);
	for (unsigned step = 0; step < 10000; step++, now += 100000) { /* 1 s of 0.1 ms */
		for (unsigned i = 0; i < 20; i++) {                    /* 200,000 a second */
			struct rte_mbuf *m = frame(0, 0);

			if (bp_exception_put(x, BP_EX_ROUTING, 0, &m, 1) == 0)
				rte_pktmbuf_free(m);
		}
		if (step % 20 == 0) { /* 500 a second each: less than a third of 2,000 */
			put(x, BP_EX_ROUTING, 1, 1);
			put(x, BP_EX_ROUTING, 1, HOST);
			sent++;
		}
		(void)bp_serve_to_kernel(&s, now);
		atomic_store(&fakes[0].n, 0);
		/* each waits for two tokens at most: one of the flood's and one of the other's */
		assert_in_range(atomic_load(&fakes[1].n), sent - 1, sent);
		assert_in_range(atomic_load(&fakes[2].n), sent - 1, sent);
	}
	assert_in_range(counters.v[BP_C_PUNTED_ROUTING], 2000, 2010);
	destroy(x);
}

/* A batch is divided: each queue gets its share, and the rest goes to the longer queues in turn. */
static void batch_is_shared_out(void **state)
{
	struct bp_exception *x = create(NULL);
	struct bp_serve s;

	serve(&s, x, SECOND);
	for (unsigned i = 0; i < 100; i++) {
		put(x, BP_EX_OTHER, i, 0);
		put(x, BP_EX_OTHER, i, 1);
	}
	for (unsigned i = 0; i < 3; i++)
		put(x, BP_EX_OTHER, i, HOST);
	assert_int_equal(bp_serve_to_kernel(&s, SECOND), BP_SERVE_BATCH);
	assert_int_equal(fakes[2].n, 3);
	assert_in_range(fakes[0].n, BP_SERVE_BATCH / 3, BP_SERVE_BATCH);
	assert_in_range(fakes[1].n, BP_SERVE_BATCH / 3, BP_SERVE_BATCH);
	while (bp_serve_to_kernel(&s, SECOND) != 0)
		;
	assert_int_equal(fakes[0].n + fakes[1].n, 200);
	for (unsigned i = 0; i < 100; i++) { /* each in its order */
		assert_int_equal(fakes[0].got[i], i);
		assert_int_equal(fakes[1].got[i], i);
	}
	destroy(x);
}

static void interfaces_are_distinguished(void **state)
{
	struct bp_exception *x = create(NULL);
	struct bp_serve s;

	serve(&s, x, SECOND);
	put(x, BP_EX_OTHER, 1, 0);
	put(x, BP_EX_OTHER, 2, HOST);
	put(x, BP_EX_OTHER, 3, HOST);
	put(x, BP_EX_OTHER, 5, 0);
	put(x, BP_EX_OTHER, 7, 1); /* which went away */
	put(x, BP_EX_OTHER, 8, 1);
	interface[1] = NULL;
	fakes[2].refuse_after = 1;
	assert_int_equal(bp_serve_to_kernel(&s, SECOND), 6);
	assert_int_equal(fakes[0].n, 2);
	assert_int_equal(fakes[0].got[0], 1);
	assert_int_equal(fakes[0].got[1], 5);
	assert_int_equal(fakes[1].n, 0);
	assert_int_equal(fakes[2].n, 1);
	assert_int_equal(fakes[2].got[0], 2);
	assert_int_equal(counters.v[BP_C_PUNTED_OTHER], 3);
	assert_int_equal(counters.v[BP_C_DROP_HOST_TX_FULL], 1);
	assert_int_equal(counters.v[BP_C_DROP_NO_HOST_INTERFACE], 2);
	destroy(x);
}

static void from_kernel(void **state)
{
	struct bp_queue_plan plan = {.n_workers = 2};
	struct rte_mbuf *m[BP_EXCEPTION_FROM_QUEUE];
	struct bp_exception *x;
	struct bp_serve s;

	plan.bridge[0].worker = 1;
	x = create(&plan);
	serve(&s, x, SECOND);
	for (unsigned i = 0; i < 40; i++)
		fakes[1].give[i] = fakes[2].give[i] = i;
	fakes[1].to_give = 40;
	fakes[2].to_give = 2;
	assert_int_equal(bp_serve_from_kernel(&s, 1), BP_SERVE_BATCH);
	assert_int_equal(bp_serve_from_kernel(&s, 1), 40 - BP_SERVE_BATCH);
	assert_int_equal(bp_serve_from_kernel(&s, 1), 0);
	assert_int_equal(bp_serve_from_kernel(&s, HOST), 2);
	assert_int_equal(bp_exception_take(x, 0, m, 100), 40);
	for (unsigned i = 0; i < 40; i++) {
		assert_int_equal(tag_of(m[i]), i);
		assert_int_equal(m[i]->port, 1);
		assert_int_equal(bp_exception_interface(m[i]), 1);
		rte_pktmbuf_free(m[i]);
	}
	assert_int_equal(bp_exception_take(x, 1, m, 100), 2);
	assert_int_equal(m[1]->port, BP_NO_PORT);
	assert_int_equal(bp_exception_interface(m[1]), HOST);
	rte_pktmbuf_free_bulk(m, 2);
	/* the worker counts what it takes */
	assert_int_equal(counters.v[BP_C_FROM_KERNEL], 0);
	destroy(x);
}

/* Frames that cannot reach the worker are counted as originated and as dropped; so are queued ones
 * at the end. */
static void from_kernel_lost(void **state)
{
	struct bp_exception *x = create(NULL);
	struct rte_mbuf *m;
	struct bp_serve s;

	serve(&s, x, SECOND);
	fakes[0].to_give = BP_EXCEPTION_FROM_QUEUE + 10;
	while (bp_serve_from_kernel(&s, 0) != 0)
		;
	assert_int_equal(counters.v[BP_C_FROM_KERNEL], 10);
	assert_int_equal(counters.v[BP_C_DROP_HOST_RX_FULL], 10);
	fakes[0].lose = 3;
	assert_int_equal(bp_serve_from_kernel(&s, 0), 3);
	assert_int_equal(counters.v[BP_C_FROM_KERNEL], 13);
	assert_int_equal(counters.v[BP_C_DROP_HOST_RX_FULL], 13);
	assert_int_equal(bp_exception_take(x, 0, &m, 1), 1);
	rte_pktmbuf_free(m);
	bp_serve_finish(&s);
	assert_int_equal(counters.v[BP_C_DROP_DRAINED_AT_SHUTDOWN], BP_EXCEPTION_FROM_QUEUE - 1);
	assert_int_equal(counters.v[BP_C_FROM_KERNEL], 13 + BP_EXCEPTION_FROM_QUEUE - 1);
	assert_int_equal(rte_mempool_avail_count(pool), MBUFS);
	destroy(x);
}

static void finish_ignores_buckets(void **state)
{
	struct bp_exception *x = create(NULL);
	struct bp_serve s;

	config.punt.policer[BP_EX_OTHER].rate_pps = 0;
	config.punt.policer[BP_EX_OTHER].burst = 1;
	serve(&s, x, SECOND);
	for (unsigned i = 0; i < 300; i++)
		put(x, BP_EX_OTHER, i, i % 2);
	assert_int_equal(bp_serve_to_kernel(&s, SECOND), 1);
	assert_int_equal(bp_serve_to_kernel(&s, 1000 * SECOND), 0);
	bp_serve_finish(&s);
	assert_int_equal(counters.v[BP_C_PUNTED_OTHER], 300);
	destroy(x);
}

static void mbufs_are_estimated(void **state)
{
	const uint32_t queues = 500 + 501 + 502 + 503;

	config.n_workers = 3;
	assert_int_equal(
		bp_exception_mbufs(&config), 3 * queues + (3 + 3) * BP_EXCEPTION_FROM_QUEUE);
	config.port[0].interface.backend = BP_BACKEND_OFF;
	assert_int_equal(
		bp_exception_mbufs(&config), 2 * queues + (2 + 3) * BP_EXCEPTION_FROM_QUEUE);
	config.port[1].interface.backend = BP_BACKEND_OFF;
	config.bridge[0].has_host_interface = false;
	assert_int_equal(bp_exception_mbufs(&config), 0);
}

/* Gives up the CPU until `what` holds: no one else decides when it does, and the test's own time
 * limit ends one that never does. */
#define UNTIL(what)                                                                                \
	while (!(what))                                                                            \
	sched_yield()

/* The thread itself: both ways while it runs, one interface that is waited for and one that is
 * polled, and at the end nothing is left. */
static void thread_serves(void **state)
{
	struct bp_exception *x = create(NULL);
	struct bp_exception_thread *t;
	struct rte_mbuf *m;
	uint64_t one = 1;
	char err[256] = "";

	fakes[0].k.fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
	assert_true(fakes[0].k.fd >= 0);
	t = bp_exception_thread_start(x, interface, &config.punt, &counters, err, sizeof(err));
	assert_non_null(t);
	put(x, BP_EX_LOCAL, 77, 1);
	UNTIL(atomic_load(&fakes[1].n) == 1);
	for (unsigned i = 0; i < 2; i++) { /* 0 is waited for, 1 is polled */
		fakes[i].give[0] = 88 + i;
		atomic_store(&fakes[i].to_give, 1);
		if (i == 0)
			assert_int_equal(write(fakes[0].k.fd, &one, sizeof(one)), sizeof(one));
		UNTIL(bp_exception_take(x, 0, &m, 1) == 1);
		assert_int_equal(tag_of(m), 88 + i);
		assert_int_equal(m->port, i);
		rte_pktmbuf_free(m);
	}
	for (unsigned i = 0; i < 200; i++)
		put(x, BP_EX_OTHER, i, 0);
	bp_exception_thread_stop(t);
	assert_int_equal(fakes[0].n, 200);
	assert_int_equal(fakes[1].got[0], 77);
	assert_int_equal(counters.v[BP_C_PUNTED_OTHER], 200);
	assert_int_equal(counters.v[BP_C_PUNTED_LOCAL], 1);
	assert_int_equal(rte_mempool_avail_count(pool), MBUFS);
	close(fakes[0].k.fd);
	bp_exception_thread_stop(NULL);
	destroy(x);
}

static int begin(void **state)
{
	char err[512] = "";

	if (bp_ring_eal(err, sizeof(err)) != 0) {
		printf("%s\n", err);
		return -1;
	}
	pool = rte_pktmbuf_pool_create("exc", MBUFS, 0, 0, 256, SOCKET_ID_ANY);
	return pool ? 0 : -1;
}

static int end(void **state)
{
	rte_mempool_free(pool);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(queues_are_bounded, set_up),
		cmocka_unit_test_setup(workers_are_chosen, set_up),
		cmocka_unit_test_setup(classes_in_order, set_up),
		cmocka_unit_test_setup(flood_is_bounded, set_up),
		cmocka_unit_test_setup(flood_leaves_other_ports, set_up),
		cmocka_unit_test_setup(batch_is_shared_out, set_up),
		cmocka_unit_test_setup(interfaces_are_distinguished, set_up),
		cmocka_unit_test_setup(from_kernel, set_up),
		cmocka_unit_test_setup(from_kernel_lost, set_up),
		cmocka_unit_test_setup(finish_ignores_buckets, set_up),
		cmocka_unit_test_setup(mbufs_are_estimated, set_up),
		cmocka_unit_test_setup(thread_serves, set_up),
	};

	return cmocka_run_group_tests(tests, begin, end);
}
