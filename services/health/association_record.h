/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_SERVICES_HEALTH_ASSOCIATION_RECORD_H
#define BP_SERVICES_HEALTH_ASSOCIATION_RECORD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "proto/health/phd_config.h"
#include "shm/health/phd_writer.h"

/*
 * The association of a device over UDP, as the gateways of a fleet share it: what another gateway
 * needs to accept the next report of the device, and to recognise the repetition of its last one. A
 * sequence of bytes of bounded length, independent of the machine:
 *
 *   "BPA1", fixed fields, the device's ConfigReport.
 *
 * Numbers are little-endian. Nothing in it depends on the secret keys of a gateway.
 */
#define BP_ASSOCIATION_FIXED 109u /* bytes without the ConfigReport */
#define BP_ASSOCIATION_RECORD_MAX 8192u

struct bp_association {
	/*
	 * The session that the other gateway had; members that are of one gateway alone are not in
	 * a record, and are 0 when it is read: own, state, flags, layout, mds_known, provision,
	 * deadline_s, the hashes, opened_ns.
	 *
	 * `carried` is the last report, with its origin: the names of its instances. The time in
	 * `sent` is that of a clock of one machine: see report_s. A (port, MID) in it is not in the
	 * record, as it is of the ports of one gateway.
	 */
	struct bp_phd_session_spec session;
	uint64_t owner;    /* a hash of the name of the gateway that wrote it, */
	uint64_t segment;  /* and of the segment in which the session was */
	uint64_t made;     /* bp_phd_store_created() of the device */
	uint64_t report_s; /* Unix time of the last report; 0: there is none */
	/* Of the configuration; len 0: it is a standard one that every gateway knows. */
	struct bp_phd_bytes config;
};

/* Writes a record to out[0..size). Returns its length; 0: it does not fit. */
size_t bp_association_write(const struct bp_association *a, uint8_t *out, size_t size);
/* Reads a record of any origin; a->config refers to its bytes. True: all fields are within their
 * bounds and consistent with each other, and no byte is left over. */
bool bp_association_read(const uint8_t *p, size_t n, struct bp_association *a);

/* The time in `report_s` of a session's word `sent` (services/health/last_report.h), at the same
 * moment in both clocks; 0: no report, or one that the device does not repeat any more. */
uint64_t bp_association_report_s(uint64_t sent, uint64_t mono_ns, uint64_t unix_ns);
/* The other direction: the word with the time of this machine's clock; 0 likewise. A time in the
 * future, of a gateway whose clock is ahead, counts as now. */
uint64_t bp_association_sent(const struct bp_association *a, uint64_t mono_ns, uint64_t unix_ns);

/* Whether both are of the same association of the same device. */
static inline bool bp_association_same(
	const struct bp_phd_session_spec *a, const struct bp_phd_session *b)
{
	return bp_load64(a->system_id) == bp_load64(b->system_id) &&
	       a->associated_s == b->associated_s && a->config_id == b->config_id &&
	       a->config_content == b->config_content;
}

#endif
