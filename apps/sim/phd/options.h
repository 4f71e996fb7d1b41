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
	bool stay_associated; /* stay associated after all reports, until a signal */
	bool version_a;       /* offer 20601a too */
	bool no_release;      /* go without a release */
	enum sim_report report;
	double rate; /* reports per second, of all devices; 0: as fast as responses arrive */
	double associations; /* a second, all devices together */
	uint64_t reports;    /* per device; 0: until a signal */
	unsigned retries;    /* of messages that need a response; 0: unlimited */
	uint64_t timeout_ns;
	uint64_t association_timeout_ns;
	uint64_t reconnect_ns; /* after an association ended, until the next is tried */
	double loss;           /* fraction of the datagrams, in either direction */
	double duplicate;      /* part of the datagrams sent, twice */
	unsigned specials;     /* one in this number of measurements is a special value; 0: never */
	unsigned doubtful; /* one in this number of variable reports is questionable; 0: never */
	uint64_t seed;
	uint64_t system_id;
	uint64_t first; /* number of the first measurement */
	struct sockaddr_storage to;
	struct sockaddr_storage source; /* first address; family 0: the kernel chooses */
	uint64_t sources;               /* number of addresses from it */
	uint16_t source_port;           /* 0: the kernel chooses */
	const char *report_file;        /* NULL: none; "-": standard output */
};

/* Exits with a message on invalid arguments, and after --help. */
void sim_options_read(struct sim_options *o, int argc, char **argv);

/* Source address of device `number`; family 0: any. */
void sim_source(const struct sim_options *o, unsigned number, struct sockaddr_storage *out);

#endif
