/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BIPLANE_TRANSFORM_H
#define BIPLANE_TRANSFORM_H

#include <stdbool.h>
#include <stdint.h>

#include "biplane/fib.h"

/*
 * The configuration of coordinate transformation, in the form in which the control plane hands it
 * to the workers (shm/transform/transform.h).
 *
 * A sample is a UDP datagram that holds a point: spherical (radius, phi the azimuth, theta the
 * angle from +z; radians, or degrees if the layout says so) or already Cartesian. It becomes
 *
 *     x = r sin(theta) cos(phi),  y = r sin(theta) sin(phi),  z = r cos(theta)
 *
 * and then M (x, y, z) + t with the receiver's matrix (Kunze et al. 2021, III-B).
 */

#define BP_TRANSFORM_RULES_MAX 32        /* entries of `transform` */
#define BP_TRANSFORM_RECEIVERS_MAX 64    /* of one source */
#define BP_TRANSFORM_MATRICES_MAX 65536  /* of all: rows, one a receiver of a source */
#define BP_TRANSFORM_LENGTHS_MAX 16      /* different prefix lengths among a rule's sources */
#define BP_TRANSFORM_OFFSET_MAX 1400     /* bytes of payload before a field */
#define BP_TRANSFORM_ANGLE_MAX 1048576.0 /* radians; no tracker turns so far */

/* How a point is computed. */
enum bp_transform_method {
	BP_TRANSFORM_VECTOR, /* double, several samples at a time; the default */
	BP_TRANSFORM_EXACT,  /* double, the C library's sin() and cos() */
	BP_TRANSFORM_METHODS,
};

enum bp_transform_type {
	BP_TRANSFORM_FIXED32,  /* two's complement, `fraction` bits behind the point */
	BP_TRANSFORM_UFIXED32, /* unsigned */
	BP_TRANSFORM_FLOAT32,  /* IEEE 754 */
	BP_TRANSFORM_FLOAT64,
	BP_TRANSFORM_TYPES,
};

struct bp_transform_field {
	uint16_t offset;  /* in the UDP payload */
	uint8_t type;     /* enum bp_transform_type */
	uint8_t fraction; /* of fixed point: 0..31 */
};

/* Where a payload has what. */
struct bp_transform_layout {
	struct bp_transform_field in[3];  /* radius, phi, theta; or x, y, z where `cartesian` */
	struct bp_transform_field out[3]; /* x, y, z */
	uint16_t length;                  /* bytes that a payload must have; more are kept */
	bool cartesian, little_endian, degrees;
	bool kunze2021; /* fields as in the paper's packet, from in[0].offset on: read at one go */
};

/* How the frame of a sample is sent to one receiver. */
#define BP_TRANSFORM_ADDRESS 0x01u /* its destination address becomes `address` */
#define BP_TRANSFORM_UDP 0x02u     /* its destination port becomes `udp` */
#define BP_TRANSFORM_MAC 0x04u     /* its destination MAC address becomes `mac` */
#define BP_TRANSFORM_REFLECT                                                                       \
	0x08u                     /* back to who sent it: addresses swapped, from the reading's    \
				   * port; to port `udp`, else to the one that it came to */
#define BP_TRANSFORM_MATRIX 0x10u /* has a matrix; else the bare point is sent */
#define BP_TRANSFORM_SET 0x20u    /* the matrix was set by a command or the loader, not the file */
#define BP_TRANSFORM_ADDED 0x40u  /* the whole source was */

struct bp_transform_receiver {
	/* column by column: m[3 * column + row] for columns 0..2, then the translation m[9..11] */
	double m[12];
	uint8_t address[16]; /* of the reading's IP version */
	uint16_t udp;        /* host byte order */
	uint8_t flags;       /* BP_TRANSFORM_* */
	uint8_t family;      /* of `address`; 0: none */
	uint8_t mac[6];
};

struct bp_transform_source {
	struct bp_prefix address; /* of readings' senders; of all bits: one */
	uint32_t rule;
	uint32_t first, n; /* receivers, in the list of all */
};

struct bp_transform_rule {
	struct bp_prefix to; /* destinations of readings; family 0: any, of both IP versions */
	struct bp_transform_layout layout;
	struct bp_transform_receiver otherwise; /* default of the receivers, and used for samples of
						   unknown sources; without a matrix */
	uint16_t udp;                           /* destination port of readings, host byte order */
	uint8_t port;                           /* index of the port that they come in on */
	uint8_t method;                         /* enum bp_transform_method */
	bool drop_unknown;   /* readings of a source that has no entry; else the bare point */
	bool drop_overflow;  /* drops results that the output cannot represent; else they are
				saturated */
	bool allow_singular; /* matrices that flatten space */
	bool loader;         /* the loader may set matrices */
};

/* The whole configuration of the service. */
struct bp_transform_config {
	uint32_t n_rules;
	struct bp_transform_rule rule[BP_TRANSFORM_RULES_MAX];
	uint32_t n_sources, n_receivers;
	struct bp_transform_source *source;     /* owned by the configuration */
	struct bp_transform_receiver *receiver; /* of all sources, each one's side by side */
};

#endif
