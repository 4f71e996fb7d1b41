/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_SHM_CAPTURE_TRACE_H
#define BP_SHM_CAPTURE_TRACE_H

#include <stdint.h>

#include "biplane/rule.h"

/*
 * A step of a traced frame: the data of a record BP_CAPTURE_RECORD_TRACE (struct bp_capture_record,
 * whose `node` is the node of the step, `length` the frame's). The parts follow in the order of
 * their numbers; each has a multiple of 8 bytes.
 */
enum bp_trace_event {
	BP_TRACE_RECEIVED, /* matched the filter at its port */
	BP_TRACE_NODE,     /* a node has processed it */
	BP_TRACE_SENT,     /* the driver of the port has accepted it */
	BP_TRACE_LOST,     /* it was dropped for the reason of the record, not by node drop */
	BP_TRACE_EVENTS,
};

#define BP_TRACE_NEXT_MAX 16u
#define BP_TRACE_COUNTS_MAX 32u
#define BP_TRACE_RULES_MAX 16u
#define BP_TRACE_ALARMS_MAX 16u
#define BP_TRACE_BYTES_MAX 256u /* of the frame */

struct bp_trace_step {
	uint32_t frame; /* number of the traced frame, in its worker */
	uint16_t event; /* enum bp_trace_event */
	uint16_t n_bytes;
	uint8_t n_next, n_counts, n_rules, n_alarms;
	uint8_t network;      /* of the frame, for MQTT inspection; as in struct bp_frame */
	uint8_t subinterface; /* its VLAN is that of a subinterface: no part of the connection */
	uint8_t pad[2];
};

/* Frames that the node enqueued to another. */
struct bp_trace_next {
	uint16_t node; /* index as that of the record */
	uint16_t frames;
	uint32_t pad;
};

/* A counter that the node changed. */
struct bp_trace_count {
	uint32_t counter, n;
};

/* The evaluation of a rule. */
struct bp_trace_rule {
	double value;
	double a, b;        /* of the condition, as in struct bp_condition */
	uint8_t op;         /* enum bp_cond_op */
	uint8_t has_value;  /* 0: the payload has no such value */
	uint8_t verdict;    /* enum bp_verdict */
	uint8_t value_type; /* enum bp_value_type */
	uint8_t pad[4];
	char name[BP_RULE_NAME_MAX + 1];
};

/* An alarm that was handed to the control plane. */
struct bp_trace_alarm {
	uint64_t id;
};

#define BP_TRACE_STEP_MAX                                                                          \
	(sizeof(struct bp_trace_step) + BP_TRACE_NEXT_MAX * sizeof(struct bp_trace_next) +         \
		BP_TRACE_COUNTS_MAX * sizeof(struct bp_trace_count) +                              \
		BP_TRACE_RULES_MAX * sizeof(struct bp_trace_rule) +                                \
		BP_TRACE_ALARMS_MAX * sizeof(struct bp_trace_alarm) + BP_TRACE_BYTES_MAX)

#endif
