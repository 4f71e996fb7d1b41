/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_TESTS_UNIT_DATAPLANE_CAPTURE_CAPTURE_RIG_H
#define BP_TESTS_UNIT_DATAPLANE_CAPTURE_CAPTURE_RIG_H

#include <string.h>

#include <pcap/pcap.h>

#include "dataplane/capture/capture.h"
#include "tests/unit/shm/test.h"
#include "tests/unit/dataplane/fixture.h"

/* Requests as the control plane writes them, and what a command would read. */

static struct bp_capture_request request;
static uint8_t record_bytes[BP_CAPTURE_RECORD_MAX + 8] __attribute__((aligned(8)));

/* Of all frames that are received and sent. */
static inline struct bp_capture_request *new_request(uint64_t id)
{
	memset(&request, 0, sizeof(request));
	request.id = id;
	request.kind = BP_CAPTURE_FRAMES;
	request.ports = BP_CAPTURE_ALL_PORTS;
	request.snap_length = BP_CAPTURE_SNAP_MAX;
	request.rx = request.tx = 1;
	return &request;
}

static inline void filter_request(const char *filter)
{
	pcap_t *dead = pcap_open_dead(DLT_EN10MB, BP_CAPTURE_SNAP_MAX);
	struct bpf_program p;

	assert_non_null(dead);
	assert_int_equal(pcap_compile(dead, &p, filter, 1, PCAP_NETMASK_UNKNOWN), 0);
	assert_in_range(p.bf_len, 1, BP_CAPTURE_INSNS_MAX);
	request.n_insns = p.bf_len;
	memcpy(request.insn, p.bf_insns, p.bf_len * sizeof(request.insn[0]));
	pcap_freecode(&p);
	pcap_close(dead);
}

static inline void write_request(struct rig *r, unsigned slot)
{
	bp_seqlock_write(&r->shm.capture.slot[slot].lock, &request, sizeof(request));
	atomic_fetch_add(&r->shm.control->captures_changed, 1);
}

/* The worker takes the set, as between two walks, and the main thread sees it. */
static inline void apply(struct rig *r)
{
	bp_capture_sets_poll(r->worker->capture->sets);
	bp_capture_check(r->worker);
	bp_capture_sets_poll(r->worker->capture->sets);
}

static inline void capture_start(struct rig *r, const char *yaml)
{
	struct bp_capture_sets *sets;

	rig_start(r, yaml, false, false);
	sets = bp_capture_sets_create(&r->shm, 1);
	assert_non_null(sets);
	bp_capture_sets_begin(sets, 0);
	r->worker->capture->sets = sets;
}

static inline void capture_stop(struct rig *r)
{
	struct bp_capture_sets *sets = r->worker->capture->sets;

	bp_capture_end(r->worker);
	r->worker->capture->sets = NULL;
	bp_capture_sets_free(sets);
	rig_stop(r);
}

static inline struct bp_capture_reader reader_of(const struct rig *r)
{
	struct bp_capture_reader reader;

	bp_capture_reader_init(
		&reader, bp_capture_ring_of(&r->shm.capture, 0), r->shm.capture.ring_capacity);
	return reader;
}

/* NULL: there is none. */
static inline const struct bp_capture_record *next_record(struct bp_capture_reader *reader)
{
	return bp_capture_reader_next(reader, bp_capture_reader_head(reader), record_bytes)
		       ? (const struct bp_capture_record *)(const void *)record_bytes
		       : NULL;
}

static inline const struct bp_capture_record *must(struct bp_capture_reader *reader)
{
	const struct bp_capture_record *r = next_record(reader);

	assert_non_null(r);
	return r;
}

static inline uint64_t matched(const struct rig *r, unsigned slot, unsigned port)
{
	return atomic_load(&r->shm.capture.counts[0].matched[slot][port]);
}

#endif
