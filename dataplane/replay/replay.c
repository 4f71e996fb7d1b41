/* SPDX-License-Identifier: BSD-3-Clause */
#include "config/health/settings.h"
#include "biplane/counters/mqtt.h"
#include "dataplane/replay/replay_internal.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sysexits.h>

#include <rte_mbuf.h>

#include "dataplane/exception/exception.h"
#include "dataplane/service.h"
#include "dataplane/workers/walk.h"
#include "proto/net/frame.h"
#include "dataplane/workers/workers.h"

#define SNAP_LEN 262144

/* Returns the index of the port, or -1 with a message that lists the ports. */
static int find_port(struct bp_replay *r, const char *name)
{
	const struct bp_config *c = r->config;
	size_t at;

	for (unsigned p = 0; p < c->n_ports; p++)
		if (strcmp(c->port[p].name, name) == 0)
			return (int)p;
	at = (size_t)snprintf(r->err, sizeof(r->err),
		"the configuration %s has no port \"%.64s\"; it has:", r->o->config_path, name);
	for (unsigned p = 0; p < c->n_ports && at < sizeof(r->err); p++)
		at += (size_t)snprintf(r->err + at, sizeof(r->err) - at, " %s", c->port[p].name);
	return -1;
}

static int open_inputs(struct bp_replay *r)
{
	const struct bp_replay_options *o = r->o;

	r->captures = bp_captures_create();
	r->inputs = calloc(o->n_in, sizeof(*r->inputs));
	r->in_port = calloc(o->n_in, sizeof(*r->in_port));
	if (!r->captures || !r->inputs || !r->in_port) {
		snprintf(r->err, sizeof(r->err), "no memory");
		return EX_UNAVAILABLE;
	}
	for (unsigned i = 0; i < o->n_in; i++) {
		int port = find_port(r, o->in[i].port);

		if (port < 0)
			return EX_USAGE;
		r->in_port[i] = (unsigned)port;
		if (bp_captures_add(r->captures, o->in[i].path, r->err, sizeof(r->err)) != 0)
			return EX_NOINPUT;
	}
	return EX_OK;
}

static int open_outputs(struct bp_replay *r)
{
	const struct bp_replay_options *o = r->o;

	r->format = pcap_open_dead_with_tstamp_precision(
		DLT_EN10MB, SNAP_LEN, PCAP_TSTAMP_PRECISION_NANO);
	r->scratch = malloc(SNAP_LEN);
	if (!r->format || !r->scratch) {
		snprintf(r->err, sizeof(r->err), "no memory");
		return EX_UNAVAILABLE;
	}
	for (unsigned i = 0; i < o->n_out; i++) {
		int port = find_port(r, o->out[i].port);

		if (port < 0)
			return EX_USAGE;
		if (r->dumper[port]) {
			snprintf(r->err, sizeof(r->err), "port %s is given two output files",
				o->out[i].port);
			return EX_USAGE;
		}
		r->dumper[port] = pcap_dump_open(r->format, o->out[i].path);
		if (!r->dumper[port]) {
			snprintf(r->err, sizeof(r->err), "cannot write the capture: %s",
				pcap_geterr(r->format));
			return EX_CANTCREAT;
		}
	}
	return EX_OK;
}

static void set_time(struct bp_replay *r, uint64_t time_ns)
{
	r->worker->now_ns = time_ns;
	if (time_ns > r->worker->mono_ns) /* captures may go back in time; aging clocks do not */
		r->worker->mono_ns = time_ns;
}

static void walk(struct bp_replay *r)
{
	struct bp_worker *w = r->worker;
	uint64_t before;

	bp_worker_before_walk(w);
	do {
		before = w->rx_frames;
		bp_graph_walk(w, 0);
	} while (w->rx_frames != before);
}

static void write_frame(struct bp_replay *r, unsigned port, const struct rte_mbuf *m)
{
	uint32_t len = RTE_MIN(m->pkt_len, (uint32_t)SNAP_LEN);
	struct pcap_pkthdr head = {.caplen = len, .len = m->pkt_len};
	const uint8_t *data = rte_pktmbuf_read(m, 0, len, r->scratch);

	head.ts.tv_sec = (time_t)(r->worker->now_ns / 1000000000u);
	head.ts.tv_usec = (suseconds_t)(r->worker->now_ns % 1000000000u); /* nanoseconds */
	if (data)
		pcap_dump((u_char *)r->dumper[port], &head, data);
}

/*
 * Injects the response of the CSE to a request at the port where the request left. False: the ring
 * is full.
 */
static bool acknowledge(struct bp_replay *r, unsigned port, const struct rte_mbuf *m, bool *more)
{
	uint32_t len = RTE_MIN(m->pkt_len, (uint32_t)SNAP_LEN), n;
	const uint8_t *data = rte_pktmbuf_read(m, 0, len, r->scratch);
	uint8_t ack[BP_REPLAY_ACK_MAX];

	n = data ? bp_replay_phd_acknowledge(r->phd, data, len, ack) : 0;
	if (n == 0)
		return true;
	*more = true;
	return bp_ring_ports_put(&r->ports, port, r->pool, ack, n);
}

/*
 * Dequeues the output frames. *more: a response was injected. A CSE is at one port: if a bridge
 * floods a request, the first copy is answered.
 */
static bool take_out(struct bp_replay *r, bool *more)
{
	bool ok = true;

	for (unsigned p = 0; p < r->ports.n; p++) {
		bool assume = r->o->assume_stored && !*more;
		struct rte_mbuf *m;

		while ((m = bp_ring_ports_take(&r->ports, p)) != NULL) {
			if (r->dumper[p])
				write_frame(r, p, m);
			if (assume)
				ok &= acknowledge(r, p, m, more);
			rte_pktmbuf_free(m);
		}
	}
	return ok;
}

static void take_alarms(struct bp_replay *r)
{
	struct bp_ring *ring = bp_shm_ring(&r->shm, 0);
	const struct bp_alarm *a;
	uint32_t size;

	while ((a = bp_ring_peek(ring, &r->alarm_cursor, &size)) != NULL)
		if (bp_alarm_valid(a, size))
			json_array_append_new(r->alarms, bp_replay_alarm(a));
	bp_ring_release(ring, r->alarm_cursor);
}

/* Of the policy. What does not fit into the ring is missing in the report, which has its number. */
static void take_events(struct bp_replay *r)
{
	const struct bp_replay_policy *p = r->o->policy;
	enum bp_event_got got;
	struct bp_event e;
	uint64_t lost;

	while (p != NULL &&
		(got = bp_event_cursor_read(&r->events, &e, &lost)) != BP_EVENT_GOT_NONE)
		if (got == BP_EVENT_GOT_RECORD && e.type == BP_EVENT_POLICY)
			p->event(p->arg, &r->shm, &e);
}

/* Processes all frames and events that result from the input or the time. */
static bool settle(struct bp_replay *r)
{
	bool ok = true, more;

	do {
		bool acknowledged = false;

		walk(r);
		more = r->phd && bp_replay_phd_serve(r->phd);
		more |= r->draining && bp_services_hold(r->worker);
		ok &= take_out(r, &acknowledged);
		more |= acknowledged;
	} while (more && ok);
	take_alarms(r);
	take_events(r);
	return ok && !(r->phd && bp_replay_phd_failed(r->phd));
}

/*
 * Advances the time to `until_ns` and processes timeouts of devices, aggregates that reach their
 * maximum delay, frames of schedulers, and before the last frame alarms of silence, each at its own
 * time.
 */
static bool pass_time(struct bp_replay *r, uint64_t until_ns)
{
	for (;;) {
		uint64_t next = r->phd ? bp_replay_phd_tick(r->phd) : UINT64_MAX;
		const uint64_t timer = r->ending ? UINT64_MAX : bp_services_timer(r->worker);
		const uint64_t due = RTE_MIN(bp_services_due(r->worker), timer);

		if (r->phd && bp_replay_phd_waiting(r->phd) && !settle(r))
			return false;
		next = RTE_MIN(next, due);
		if (next >= until_ns)
			break;
		if (next > r->worker->mono_ns)
			set_time(r, next);
		if (due <= r->worker->mono_ns && !settle(r))
			return false;
	}
	return true;
}

/* Sends all held frames at their own time, and finally those without one. */
static bool end_time(struct bp_replay *r)
{
	uint64_t next;

	r->ending = true;
	while ((next = bp_services_due(r->worker)) != UINT64_MAX)
		if (!pass_time(r, next + 1))
			return false;
	r->draining = true;
	bp_services_drain(r->worker);
	if (!settle(r))
		return false;
	/* and the frames that this enqueued in the schedulers */
	while ((next = bp_services_due(r->worker)) != UINT64_MAX)
		if (!pass_time(r, next + 1))
			return false;
	return true;
}

/*
 * A capture on the sending host contains incomplete checksums, with the sum of the pseudo-header,
 * which the network card completes later. Called when inspection rejected a segment.
 */
static void check_checksum(
	struct bp_replay_input *in, const struct bp_capture_frame *frame, uint64_t refused)
{
	struct bp_frame f;
	uint16_t sum;

	in->bad_checksums += refused;
	if (bp_frame_parse(frame->data, frame->len, frame->len, &f) != BP_FRAME_TCP)
		return;
	memcpy(&sum, frame->data + f.l4 + 16, sizeof(sum));
	in->offloaded += sum == bp_sum_fold(bp_tcp_pseudo_sum(&f));
}

static void warn_of_checksums(const struct bp_replay *r, unsigned i)
{
	const struct bp_replay_input *in = &r->inputs[i];

	if (in->offloaded != 0)
		fprintf(stderr,
			"biplane replay: warning: %s: %ju of %ju TCP segments that were not read "
			"for a "
			"wrong checksum hold the sum of their pseudo-header only, as on a host "
			"whose "
			"network card completes checksums; mqtt.verify_checksums: false reads "
			"them\n",
			r->o->in[i].path, (uintmax_t)in->offloaded, (uintmax_t)in->bad_checksums);
}

static uint64_t refused_checksums(const struct bp_replay *r)
{
	return r->worker->counters->v[BP_C_SEG_BAD_CHECKSUM];
}

static int play(struct bp_replay *r)
{
	struct bp_capture_frame f;
	uint64_t refused;
	bool ok;

	while (bp_captures_next(r->captures, &f)) {
		struct bp_replay_input *in = &r->inputs[f.file];

		in->frames++;
		refused = refused_checksums(r);
		in->cut += f.len < f.wire_len;
		ok = pass_time(r, f.time_ns);
		set_time(r, f.time_ns);
		ok = ok && bp_ring_ports_put(&r->ports, r->in_port[f.file], r->pool, f.data, f.len);
		if (!ok || !settle(r)) {
			snprintf(r->err, sizeof(r->err), "no packet buffer for frame %ju of %s",
				(uintmax_t)in->frames, r->o->in[f.file].path);
			return EX_SOFTWARE;
		}
		if (refused_checksums(r) != refused)
			check_checksum(in, &f, refused_checksums(r) - refused);
	}
	if (!end_time(r)) {
		snprintf(r->err, sizeof(r->err), "no packet buffer after the last frame");
		return EX_SOFTWARE;
	}
	for (unsigned i = 0; i < r->o->n_in; i++) {
		r->inputs[i].error = bp_captures_error(r->captures, i);
		r->inputs[i].skipped = bp_captures_skipped(r->captures, i);
		warn_of_checksums(r, i);
		if (r->inputs[i].error)
			fprintf(stderr, "biplane replay: warning: %s ends early: %s\n",
				r->o->in[i].path, r->inputs[i].error);
	}
	return EX_OK;
}

/* All buffered data must be written to the files before success is reported. */
static int close_outputs(struct bp_replay *r)
{
	int status = EX_OK;

	for (unsigned p = 0; p < BP_MAX_PORTS; p++) {
		if (!r->dumper[p])
			continue;
		if (pcap_dump_flush(r->dumper[p]) != 0 || ferror(pcap_dump_file(r->dumper[p]))) {
			snprintf(r->err, sizeof(r->err), "cannot write the capture of port %s: %s",
				r->config->port[p].name, strerror(errno));
			status = EX_IOERR;
		}
		pcap_dump_close(r->dumper[p]);
		r->dumper[p] = NULL;
	}
	return status;
}

static int report_all(struct bp_replay *r, FILE *out)
{
	json_t *alarms = r->alarms;

	r->alarms = NULL;
	return r->o->json ? bp_replay_report_json(
				    r->config, &r->shm, r->o, r->inputs, r->phd, alarms, out)
			  : bp_replay_report_text(
				    r->config, &r->shm, r->o, r->inputs, r->phd, alarms, out);
}

static int report(struct bp_replay *r)
{
	FILE *out = r->o->report ? r->o->report : stdout;
	const bool alone = r->o->policy != NULL && r->o->policy->alone;

	if ((alone ? bp_replay_report_policy(&r->shm, r->o, out) : report_all(r, out)) == 0)
		return EX_OK;
	snprintf(r->err, sizeof(r->err), "cannot write the report: %s", strerror(errno));
	return EX_IOERR;
}

static void close_all(struct bp_replay *r)
{
	close_outputs(r);
	json_decref(r->alarms);
	bp_replay_phd_free(r->phd);
	bp_worker_free(r->worker);
	bp_exception_free(r->exception);
	bp_fib_writer_free(r->writer);
	bp_ring_ports_free(&r->ports);
	bp_fdb_free(&r->fdb);
	rte_mempool_free(r->pool);
	if (r->shm.segment)
		bp_segment_close(r->shm.segment);
	if (r->format)
		pcap_close(r->format);
	bp_captures_free(r->captures);
	free(r->scratch);
	free(r->in_port);
	free(r->inputs);
	bp_config_free(r->config);
}

/* Sets the destination MAC of frames without one to that of the router, if the port is routed. */
static void deliver_to_routers(struct bp_replay *r)
{
	for (unsigned i = 0; r->writer && i < r->o->n_in; i++) {
		struct bp_interface_info info;

		if (bp_fib_interface(&r->shm.fib, r->in_port[i], &info))
			bp_captures_deliver_to(r->captures, i, info.mac);
	}
}

static int run(struct bp_replay *r)
{
	int status = EX_OK;

	if (r->o->assume_stored && !bp_config_phd(r->config)->enabled) {
		snprintf(r->err, sizeof(r->err),
			"--assume-stored is for health devices, and the configuration %s has no "
			"section health_devices",
			r->o->config_path);
		status = EX_USAGE;
	}
	if (status == EX_OK)
		status = open_inputs(r);
	if (status == EX_OK)
		status = open_outputs(r);
	if (status == EX_OK && bp_replay_start(r) != 0)
		status = EX_UNAVAILABLE;
	if (status == EX_OK)
		deliver_to_routers(r);
	if (status == EX_OK)
		status = play(r);
	if (status == EX_OK)
		status = close_outputs(r);
	if (status == EX_OK)
		status = report(r);
	return status;
}

int bp_replay_run(const struct bp_replay_options *o)
{
	struct bp_replay *r = calloc(1, sizeof(*r));
	int status;

	if (!r) {
		fprintf(stderr, "biplane replay: no memory\n");
		return EX_UNAVAILABLE;
	}
	r->o = o;
	r->config = bp_config_load(o->config_path, stderr);
	if (!r->config) {
		free(r);
		return EX_CONFIG;
	}
	status = run(r);
	if (status != EX_OK)
		fprintf(stderr, "biplane replay: %s\n", r->err);
	close_all(r);
	free(r);
	return status;
}
