/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_DATAPLANE_REPLAY_REPLAY_INTERNAL_H
#define BP_DATAPLANE_REPLAY_REPLAY_INTERNAL_H

#include <stdint.h>

#include <jansson.h>
#include <pcap/pcap.h>

#include "dataplane/replay/capture.h"
#include "dataplane/replay/replay.h"
#include "dataplane/replay/replay_phd.h"
#include "dataplane/replay/replay_report.h"
#include "dataplane/ports/ring_ports.h"
#include "dataplane/workers/worker.h"

/* State that the files of replay share; internal. */

struct bp_replay {
	const struct bp_replay_options *o;
	struct bp_config *config;
	struct bp_shm shm;
	struct rte_mempool *pool;
	struct bp_ring_ports ports;
	struct bp_fdb fdb;
	struct bp_worker *worker;
	bool ending;   /* the last frame was processed */
	bool draining; /* no more input */
	/* of the forwarding tables, filled from the configuration file */
	struct bp_fib_writer *writer;
	struct bp_exception *exception; /* without a kernel interface */
	struct bp_replay_phd *phd;      /* NULL: no section health_devices */
	struct bp_captures *captures;
	struct bp_replay_input *inputs;
	unsigned *in_port; /* by input file: index of its port */
	pcap_t *format;
	pcap_dumper_t *dumper[BP_MAX_PORTS];
	uint8_t *scratch; /* SNAP_LEN bytes */
	json_t *alarms;
	uint64_t alarm_cursor;
	struct bp_event_cursor events; /* of the worker */
	char err[1024];
};

/*
 * Creates EAL, a segment filled as by both planes, the ports in memory, and the worker. 0, or -1
 * and r->err. The caller frees the partial state.
 */
int bp_replay_start(struct bp_replay *r);

#endif
