/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_TESTS_UNIT_DATAPLANE_HEALTH_HEALTH_RIG_H
#define BP_TESTS_UNIT_DATAPLANE_HEALTH_HEALTH_RIG_H

#include "tests/unit/dataplane/test.h"
#include "tests/unit/dataplane/fixture.h"
#include "tests/unit/dataplane/health/health_wire.h"

#include "services/health/layout.h"
#include "shm/health/phd_writer.h"

/*
 * A gateway between health devices and a CSE: two workers on the same three ports in memory, of
 * which one walks at a time; tables with sessions; the ends of the datagrams. Devices are behind
 * port A, the CSE behind B; C has a small MTU.
 */
enum { A, B, C, HOST = BP_MAX_PORTS };
#define C_MTU 200

struct health_options {
	bool dev6, cse6;           /* families */
	bool forwarded;            /* confirm: forwarded */
	bool per_report;           /* an instance a report */
	bool unnamed, non;         /* instances without names; messages that are not confirmable */
	unsigned ports;            /* source ports of each worker; 0: 50 */
	unsigned unknown_sessions; /* a second; 0: 1000, NO_STRAYS: 0 */
	unsigned max;              /* bytes of a message; 0: 1424 */
	bool bridged;              /* devices are behind a bridge with a host interface */
};
#define NO_STRAYS UINT32_MAX

struct health {
	struct rig r;
	struct health_options o;
	struct bp_worker *worker[2];
	struct bp_phd_writer *phd;
	struct bp_phd_settings plan;
	struct end device, gateway; /* of sessions, port 6024 */
	struct end source, cse;     /* source: its port is 0 */
	uint64_t seen[BP_C_COUNT];
	uint64_t bytes[3];        /* of the frames that health_take() took */
	struct request early[32]; /* taken out before one that was asked for */
	unsigned n_early;
};

#define HEALTH_PORTS_FIRST 20000u
#define HEALTH_NOW_NS 1000000000000ull /* when it starts */

void health_start(struct health *h, const struct health_options *o);
void health_stop(struct health *h);
/* Which of the workers walks. */
void health_worker(struct health *h, unsigned index);
void health_time(struct health *h, uint64_t ns);

void health_route(struct health *h, const char *prefix, unsigned length, enum bp_route_type type,
	int interface, const char *gateway);
/* NULL: the kernel does not know its MAC. */
void health_neighbor(
	struct health *h, unsigned interface, bool ip6, const uint8_t ip[16], const uint8_t mac[6]);
void health_interface(struct health *h, unsigned i, bool up, uint32_t mtu);

/* Device i: an address and port of its own. */
struct end health_device(const struct health *h, unsigned i);
#define HEALTH_SYSTEM_ID "1122334455667788"
#define HEALTH_ASSOCIATED 0x6955b9f0u
/*
 * A session of device i with objects of handles 1..n (spo2-1 ...), or with n 2 those of standard
 * configuration 400: spo2 of handle 1, pulse_rate of 10. Its slot.
 */
uint32_t health_session(struct health *h, unsigned i, unsigned objects);
struct bp_phd_session *health_slot(const struct health *h, uint32_t slot);
unsigned health_life(const struct health *h, uint32_t slot);

/* From device h->device, or from the CSE, and the graph walks. */
void health_report(struct health *h, const struct bytes *apdu);
void health_reply(struct health *h, unsigned to_port, const struct bytes *message);
void health_frame(struct health *h, unsigned port, const struct bytes *frame);

/* The next frame that left by a port. False: there is none. */
bool health_take(struct health *h, unsigned port, struct bytes *frame);
/* The next request that left for the CSE. */
struct request health_request(struct health *h);
/* The one of that part: the order in which parts leave is no one's business. */
struct request health_part(struct health *h, unsigned part);
/* Its name must be that of this report and part. */
void health_named(const struct health *h, const struct request *q, uint32_t slot, unsigned report);
/* The next frame to the device must be this. */
void health_answer(struct health *h, const struct bytes *apdu);
/* The next frame to the kernel, which came in on that interface, in class phd. */
void health_kernel(struct health *h, unsigned interface, const struct bytes *frame);
/* No other frame was sent on any port. */
void health_nothing(struct health *h);

/*
 * Checks the counters since the last call, of both workers: pairs of a counter and a number, up to
 * BP_C_COUNT. All other counters of frames and reports must be unchanged, no frame be left at a
 * port, and the frame balance be exact.
 */
void health_counted(struct health *h, ...);
/* The event that the CP would read next. False: there is none. */
bool health_event(struct health *h, unsigned worker, struct bp_phd_event_record *out);

#endif
