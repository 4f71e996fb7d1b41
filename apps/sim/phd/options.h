/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_APPS_SIM_PHD_OPTIONS_H
#define BP_APPS_SIM_PHD_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>

#include "apps/sim/phd/kinds.h"

enum sim_report { SIM_FIXED, SIM_VAR, SIM_MP_FIXED, SIM_MP_VAR, SIM_MIXED };

struct sim_options {
	const struct sim_kind *kind;
	unsigned count;
	bool standard; /* the standard's configuration, else the device's own */
	bool brief;    /* a standard configuration is first reported without its objects */
	bool tcp;
	bool confirmed;
	bool stay_associated; /* stay associated when all is reported, until a signal comes */
	bool version_a;       /* offer 20601a too */
	bool no_release;      /* go without a release */
	enum sim_report report;
	double rate; /* reports a second, all devices together; 0: as fast as answers come */
	double associations; /* a second, all devices together */
	uint64_t reports;    /* a device; 0: until a signal comes */
	unsigned retries;    /* of what wants an answer; 0: without end */
	uint64_t timeout_ns;
	uint64_t association_timeout_ns;
	uint64_t reconnect_ns; /* after an association ended, until the next is tried */
	double loss;           /* part of the datagrams, either way */
	double duplicate;      /* part of the datagrams sent, twice */
	unsigned specials;     /* each so many measurements one has no number; 0: never */
	unsigned doubtful;     /* each so many variable reports one says questionable; 0: never */
	uint64_t seed;
	uint64_t system_id;
	uint64_t first; /* number of the first measurement */
	struct sockaddr_storage to;
	struct sockaddr_storage source; /* first address; family 0: the kernel chooses */
	uint64_t sources;               /* how many addresses there are from it */
	uint16_t source_port;           /* 0: the kernel chooses */
	const char *report_file;        /* NULL: none; "-": standard output */
};

/* Exits with a sentence when they are wrong, and after --help. */
void sim_options_read(struct sim_options *o, int argc, char **argv);

/* Where device `number` speaks from; family 0: anywhere. */
void sim_source(const struct sim_options *o, unsigned number, struct sockaddr_storage *out);

#endif
