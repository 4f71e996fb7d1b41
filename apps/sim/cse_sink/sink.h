/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_APPS_SIM_CSE_SINK_SINK_H
#define BP_APPS_SIM_CSE_SINK_SINK_H

#include <netinet/in.h>
#include <stdio.h>

#include "apps/sim/cse_sink/coap.h"
#include "apps/sim/cse_sink/exchanges.h"
#include "apps/sim/cse_sink/tree.h"

#define SINK_VIOLATIONS_KEPT 32
#define SINK_ANSWER_MAX 1400

struct sink_options {
	struct sockaddr_storage listen;
	char cse[64];            /* name of the CSE's base */
	char rvi[4];             /* release 3 or later: the required RVI; "" for 1 and 2 */
	const char *report_file; /* NULL: standard output */
	uint64_t keep;           /* instances with their contents */
	uint64_t seed;
	double drop; /* part of the requests that never came */
	double drop_answers;
	double separate; /* part answered by an empty ACK and a confirmable response */
	double error;    /* part answered by this: */
	uint8_t error_code;
	uint16_t error_rsc;
	uint64_t delay_ns;   /* of every answer */
	bool any;            /* parents of instances need not exist */
	bool unnamed;        /* instances may be unnamed */
	bool instances_only; /* drop, error and so on are for instances */
};

struct sink_counts {
	uint64_t requests, instances, containers, aes, acps, retrieves;
	uint64_t repeats, conflicts, refused, errors, dropped, answers_dropped, separate,
		separate_acked;
	uint64_t resets, violations, not_sent;
};

struct sink {
	struct sink_options o;
	const struct sink_numbers *numbers;
	struct sink_tree *tree;
	struct sink_exchanges exchanges;
	struct sink_counts counts;
	uint64_t random;
	uint64_t now_ns, first_ns, last_ns;    /* of instances */
	char *violation[SINK_VIOLATIONS_KEPT]; /* JSON objects */
};

/* Result of a request. */
struct sink_answer {
	uint8_t code; /* 0: none */
	uint16_t rsc;
	char body[1024]; /* "": none */
};

void sink_options_read(struct sink_options *o, int argc, char **argv);
double sink_random(struct sink *s); /* 0 <= . < 1 */
/* Records the error of a message. */
void sink_violation(struct sink *s, const char *what, const uint8_t *p, size_t len);
/* Executes a request. */
void sink_do(struct sink *s, const struct sink_message *m, const uint8_t *p, size_t len,
	struct sink_answer *a);
/* NULL, or the error in the content ("con") of an instance. */
const char *sink_check_content(const char *con);
void sink_report(const struct sink *s, FILE *out);

#endif
