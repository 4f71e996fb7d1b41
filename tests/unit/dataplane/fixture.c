/* SPDX-License-Identifier: BSD-3-Clause */
#include "biplane/counters/general.h"
#include "tests/unit/dataplane/test.h"
#include "config/segment.h"
#include "tests/unit/dataplane/fixture.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "dataplane/aggregation/worker.h"
#include "dataplane/capture/capture.h"
#include "dataplane/lcl/lcl.h"
#include "dataplane/nodes/nodes.h"
#include "dataplane/ports/link.h"
#include "dataplane/workers/walk.h"

static void need(int rc, const char *err)
{
	if (rc != 0)
		fail_msg("%s", err);
}

static struct bp_capture_sets *traces; /* of the rig's worker */

/* Each frame is traced and captured: the tests expect the same as without. */
static void trace_all(struct rig *r)
{
	static struct bp_capture_request request;
	struct bp_capture_sets *sets = bp_capture_sets_create(&r->shm, 1);

	assert_non_null(sets);
	bp_capture_sets_begin(sets, 0);
	request = (struct bp_capture_request){.id = 1,
		.kind = BP_CAPTURE_TRACE,
		.ports = BP_CAPTURE_ALL_PORTS,
		.snap_length = BP_CAPTURE_SNAP_MAX,
		.frames = UINT32_MAX,
		.rx = 1};
	bp_seqlock_write(&r->shm.capture.slot[0].lock, &request, sizeof(request));
	request.kind = BP_CAPTURE_FRAMES;
	request.tx = request.drops = 1;
	bp_seqlock_write(&r->shm.capture.slot[1].lock, &request, sizeof(request));
	atomic_fetch_add(&r->shm.control->captures_changed, 1);
	bp_capture_sets_poll(sets);
	r->worker->capture->sets = traces = sets;
	bp_capture_check(r->worker);
	assert_true(r->worker->capture->wraps);
}

static void end_traces(struct rig *r)
{
	if (traces == NULL)
		return;
	/* a test may have freed this worker, and put another in its place */
	if (r->worker->capture->sets == traces) {
		bp_capture_end(r->worker);
		r->worker->capture->sets = NULL;
	}
	bp_capture_sets_free(traces);
	traces = NULL;
}

static void start(struct rig *r, bool partial, bool qinq)
{
	struct bp_rx_queue queues[BP_MAX_PORTS] = {0};
	struct bp_seg_spec specs[BP_SHM_SPECS_MAX];
	struct bp_segment *s;
	char err[1024] = "";
	unsigned n;

	if (getenv("BP_RIG_SPLIT") != NULL) {
		r->first_bytes = 1;
		r->more_bytes = 20;
	}
	/* small: a segment is made for every test */
	r->config->routing = (struct bp_config_routing){1024, 1024, 256, 256, 32};
	for (unsigned i = 0; i < BP_EX_CLASSES; i++)
		r->config->punt.policer[i].queue_len = 64;
	r->config->punt.n_health_device_ports = 1;
	r->config->punt.health_device_ports[0] = 6024;
	need(bp_ring_eal(err, sizeof(err)), err);
	bp_link_reset();
	n = bp_shm_specs(r->config, specs);
	s = bp_segment_anonymous(specs, n, err, sizeof(err));
	need(s == NULL, err);
	need(bp_shm_map(&r->shm, s, err, sizeof(err)), err);
	r->pool = rte_pktmbuf_pool_create("rig", RIG_MBUFS, 0, 0, RIG_ROOM, SOCKET_ID_ANY);
	assert_non_null(r->pool);
	need(bp_ring_ports_create(&r->ports, r->config, RIG_DEPTH, r->pool, err, sizeof(err)), err);
	need(bp_fdb_create(&r->fdb, r->config, err, sizeof(err)), err);
	r->worker = bp_worker_create(r->config, &r->shm, 0, &r->fdb, true, err, sizeof(err));
	need(r->worker == NULL, err);
	r->worker->pool = r->pool;
	if (bp_config_routes(r->config)) {
		r->writer = bp_fib_writer_new(&r->shm.fib, NULL, NULL, err, sizeof(err));
		need(r->writer == NULL, err);
		r->exception = bp_exception_create(r->config, NULL, err, sizeof(err));
		need(r->exception == NULL, err);
		r->worker->exception = r->exception;
	}
	r->worker->mono_ns = r->worker->now_ns = 1000000000;
	for (unsigned p = 0; p < r->config->n_ports; p++)
		queues[p] = (struct bp_rx_queue){.port = (uint16_t)p,
			.partial_checksums = partial,
			.qinq_fix = qinq,
			.set_port = true,
			.chains = r->more_bytes != 0};
	need(bp_graph_build(r->worker, "rig", r->config->n_ports, queues, r->config->n_ports, err,
		     sizeof(err)),
		err);
	r->in_pool = rte_mempool_avail_count(r->pool);
	if (getenv("BP_RIG_TRACE") != NULL)
		trace_all(r);
}

static void read_configuration(struct rig *r, const char *yaml)
{
	memset(r, 0, sizeof(*r));
	r->config = bp_config_parse("test", yaml, strlen(yaml), stderr);
	assert_non_null(r->config);
}

void rig_start(struct rig *r, const char *yaml, bool partial, bool qinq)
{
	read_configuration(r, yaml);
	start(r, partial, qinq);
}

void rig_start_changed(
	struct rig *r, const char *yaml, void (*change)(struct bp_config *c, void *arg), void *arg)
{
	read_configuration(r, yaml);
	change(r->config, arg);
	start(r, false, false);
}

void rig_stop(struct rig *r)
{
	struct bp_totals t;
	struct rte_mbuf *m;

	if (bp_agg_worker_of(r->worker)) { /* a worker that stops holds nothing */
		bp_agg_worker_of(r->worker)->draining = true;
		do
			rig_walk(r);
		while (bp_agg_worker_holds(bp_agg_worker_of(r->worker)));
	}
	if (bp_lcl_of(r->worker))
		bp_lcl_drain(bp_lcl_of(r->worker));
	for (unsigned p = 0; p < r->ports.n; p++)
		while ((m = bp_ring_ports_take(&r->ports, p)) != NULL)
			rte_pktmbuf_free(m);
	bp_totals_read(&r->shm, r->config->n_ports, &t);
	assert_int_equal(
		t.rx + t.originated, t.tx + t.drops + t.punted + t.terminated + r->to_kernel);
	assert_int_equal(rte_mempool_avail_count(r->pool), r->in_pool);
	for (unsigned w = 0; w < r->shm.workers; w++)
		assert_int_equal(r->shm.counters[w].v[BP_C_DROP_NO_NEXT_NODE], r->unconnected);
	end_traces(r);
	bp_worker_free(r->worker);
	bp_fib_writer_free(r->writer);
	bp_exception_free(r->exception);
	bp_fdb_free(&r->fdb);
	bp_ring_ports_free(&r->ports);
	rte_mempool_free(r->pool);
	bp_segment_close(r->shm.segment);
	bp_config_free(r->config);
}

/* A frame in buffers of r->first_bytes and r->more_bytes. */
static struct rte_mbuf *split(struct rig *r, unsigned port, const uint8_t *data, uint32_t len)
{
	struct rte_mbuf *first = NULL;

	for (uint32_t at = 0, n = r->first_bytes; at < len || first == NULL; n = r->more_bytes) {
		struct rte_mbuf *m = rte_pktmbuf_alloc(r->pool);

		assert_non_null(m);
		n = RTE_MIN(n, (uint32_t)rte_pktmbuf_tailroom(m));
		n = RTE_MIN(n, len - at);
		memcpy(rte_pktmbuf_append(m, (uint16_t)n), data + at, n);
		at += n;
		if (first == NULL)
			first = m;
		else
			assert_int_equal(rte_pktmbuf_chain(first, m), 0);
	}
	first->port = (uint16_t)port;
	return first;
}

void rig_put(struct rig *r, unsigned port, const void *data, uint32_t len)
{
	if (r->more_bytes == 0)
		assert_true(bp_ring_ports_put(&r->ports, port, r->pool, data, len));
	else
		assert_int_equal(rte_ring_enqueue(r->ports.in[port], split(r, port, data, len)), 0);
}

void rig_rx_flags(struct rig *r, uint16_t flags)
{
	struct rte_node *node;
	rte_graph_off_t off;
	rte_node_t count;

	rte_graph_foreach_node(count, off, r->worker->graph, node)
	{
		if (bp_node_process(r->worker, node) == bp_node_port_rx.process)
			bp_node_ctx(node)->flags |= flags;
	}
}

void rig_put_flags(struct rig *r, unsigned port, const void *data, uint32_t len, uint64_t ol_flags)
{
	void *m = NULL;

	rig_put(r, port, data, len);
	assert_int_equal(rte_ring_count(r->ports.in[port]), 1);
	assert_int_equal(rte_ring_dequeue(r->ports.in[port], &m), 0);
	((struct rte_mbuf *)m)->ol_flags |= ol_flags;
	assert_int_equal(rte_ring_enqueue(r->ports.in[port], m), 0);
}

void rig_walk(struct rig *r)
{
	uint64_t before;

	bp_worker_before_walk(r->worker);
	do {
		before = r->worker->rx_frames;
		bp_graph_walk(r->worker, BP_WALKS_TIMED);
	} while (r->worker->rx_frames != before);
}

static void expect_bytes(struct rte_mbuf *m, const void *data, uint32_t len)
{
	uint8_t *copy = malloc(len + 1);
	const void *got;

	assert_non_null(m);
	assert_non_null(copy);
	assert_int_equal(m->pkt_len, len);
	got = rte_pktmbuf_read(m, 0, len, copy);
	assert_memory_equal(got, data, len);
	rte_pktmbuf_free(m);
	free(copy);
}

void rig_expect_kernel(struct rig *r, enum bp_exception_class class, unsigned interface,
	const void *data, uint32_t len)
{
	void *m = NULL;

	assert_int_equal(rte_ring_dequeue(r->exception->to_kernel[class][interface], &m), 0);
	assert_int_equal(bp_exception_interface(m), interface);
	r->to_kernel++;
	expect_bytes(m, data, len);
}

void rig_expect(struct rig *r, unsigned port, const void *data, uint32_t len)
{
	expect_bytes(bp_ring_ports_take(&r->ports, port), data, len);
}

void rig_expect_none(struct rig *r, unsigned port)
{
	assert_null(bp_ring_ports_take(&r->ports, port));
}

uint64_t rig_counter(const struct rig *r, bp_counter_t c)
{
	return r->shm.counters[0].v[c];
}

void frame_make(uint8_t *f, uint32_t len, uint8_t src, uint8_t dst, uint16_t type)
{
	for (uint32_t i = 0; i < len; i++)
		f[i] = (uint8_t)i;
	memset(f, 0, 12);
	f[0] = f[6] = 0x02;
	f[5] = dst;
	f[11] = src;
	f[12] = (uint8_t)(type >> 8);
	f[13] = (uint8_t)type;
}
