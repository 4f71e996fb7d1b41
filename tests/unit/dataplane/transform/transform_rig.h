/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_TESTS_UNIT_DATAPLANE_TRANSFORM_TRANSFORM_RIG_H
#define BP_TESTS_UNIT_DATAPLANE_TRANSFORM_TRANSFORM_RIG_H

#include "dataplane/transform/worker.h"
#include "shm/transform/transform_writer.h"
#include "tests/unit/dataplane/aggregation/agg_rig.h"

/*
 * A rig with entries of `transform`, which are said in C: tests make many. Banks are built by the
 * control plane's own function.
 */
#define X_MATRICES 256u
#define X_READING 40u /* bytes of the paper's packet */

#define X_PORTS(role_of_c_)                                                                        \
	"ports:\n"                                                                                 \
	"  - {name: a, device: net_null0}\n"                                                       \
	"  - {name: b, device: net_null1}\n"                                                       \
	"  - {name: c, device: net_null2" role_of_c_ "}\n"
#define X_WIRE X_PORTS(", routed: {}") "bridges: [{name: bridge0, ports: [a, b]}]\n"

struct xrig {
	struct rig r;
	struct bp_transform_config file; /* of the next bank */
	struct bp_transform_view view;   /* of the bank active */
	uint64_t generation;
};

/* An entry of port `port` for readings to UDP port `udp`, any address: layout paper, method vector;
 * receivers that say nothing get what comes, changed in nothing but its outputs. */
struct bp_transform_rule x_rule(unsigned port, uint16_t udp);
/* A receiver at `address` (NULL: the reading's own) and UDP port `udp` (0: the reading's own), with
 * a matrix that mirrors x and y and moves by (step, 2 step, 3 step); step 0: none. */
struct bp_transform_receiver x_receiver(const char *address, uint16_t udp, double step);

/* Appends an entry; returns its number. */
unsigned x_add_rule(struct bp_transform_config *c, const struct bp_transform_rule *r);
/* Appends a source, such as "10.0.0.5/32", of the entry that was added last. */
void x_add_source(struct bp_transform_config *c, const char *prefix,
	const struct bp_transform_receiver *receivers, unsigned n);

/* The file of the rig is x->file as it is now, and its bank is active unless `bare`. */
void x_start(struct xrig *x, const char *yaml, bool bare);
/* A bank of x->file comes into force, or, ports: of a file with other ports. */
void x_reload(struct xrig *x, bool other_ports);
/* Sets a receiver's matrix in the bank active. */
void x_set(
	struct xrig *x, unsigned rule, const char *prefix, unsigned receiver, const double m[12]);
/* Forgets x->file. */
void x_clear(struct xrig *x);
void x_stop(struct xrig *x);

/* Reading i of tracker 10.0.0.5, to 10.1.0.1:10000, with radius i + 1 in the x axis: its payload is
 * its own. */
struct udp x_reading(unsigned i);
/* The payload of a reading of layout paper. */
void x_payload(uint8_t p[X_READING], double radius, double phi, double theta);
/* The paper's outputs of a payload. */
void x_outputs(const uint8_t *payload, double xyz[3]);
/* The result of reading x_reading(i) for a receiver: u is changed, and has a payload of its own. */
struct udp x_result(unsigned i, const struct bp_transform_receiver *to);

#endif
