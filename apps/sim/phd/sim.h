/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_APPS_SIM_PHD_SIM_H
#define BP_APPS_SIM_PHD_SIM_H

#include <signal.h>
#include <stdio.h>

#include "apps/sim/phd/options.h"

#define SIM_NEVER UINT64_MAX
#define SIM_APDU_MAX 1024 /* the longest report is far below */
#define SIM_INPUT_MAX 4096

enum sim_state {
	SIM_IDLE,        /* until it is time to associate */
	SIM_CONNECTING,  /* TCP */
	SIM_ASSOCIATING, /* AARQ sent */
	SIM_CONFIGURING, /* configuration report sent */
	SIM_OPERATING,
	SIM_RELEASING, /* RLRQ sent */
	SIM_DONE,
};

struct sim_device {
	unsigned index;
	uint64_t system_id;
	enum sim_state state;
	int fd;
	uint64_t due_ns;    /* time of the next repetition, or end of the state */
	uint64_t report_ns; /* when the next report is due */
	uint64_t timer_ns;  /* the earlier of both; index in the heap */
	unsigned place;
	unsigned tries;               /* of the message that waits for its response */
	unsigned refusals;            /* transient rejections in a row */
	uint16_t invoke;              /* used last */
	uint64_t measured;            /* reports created */
	bool full_config;             /* the objects are wanted too */
	uint8_t signal[SIM_APDU_MAX]; /* sent last, to be repeated: association, configuration,
					 release */
	size_t signal_len;
	/* The last report; pending: it needs a response, and survives the association. */
	bool pending;
	enum sim_report report_type;
	uint16_t report_invoke;
	uint16_t report_no;
	uint64_t began_ns; /* first sent */
	uint8_t report[SIM_APDU_MAX];
	size_t report_len;
	/* TCP */
	uint8_t *input; /* SIM_INPUT_MAX */
	size_t input_len;
	uint8_t rest[SIM_APDU_MAX]; /* unsent bytes of the last message */
	size_t rest_len;
};

struct sim_counts {
	uint64_t associations, configurations, rejected, aborted, aborts_sent, released;
	uint64_t reports, observations, repeats, answered, refused, later, given_up, late_answers;
	uint64_t unreadable, lost_out, lost_in, duplicated, not_sent;
	uint64_t wait_min_ns, wait_max_ns, wait_sum_ns; /* from a report to its answer */
};

struct sim {
	struct sim_options o;
	struct sim_device *device;
	struct sim_device **heap; /* by timer_ns */
	unsigned done;
	bool stopping;
	uint64_t now_ns, started_ns; /* monotonic */
	uint64_t random;
	int epoll;
	sigset_t signals; /* blocked except in epoll: signals other than those that end the program
			   */
	FILE *log;        /* NULL: none */
	struct sim_counts counts;
};

/* ---- heap.c: order of wake-ups ---- */
void sim_heap_make(struct sim *s);
/* After due_ns or report_ns of the device changed. */
void sim_heap_moved(struct sim *s, struct sim_device *d);

/* ---- net.c: sockets ---- */
/* A socket of the device's own; with TCP it connects and sim_device_connected() follows. */
void sim_net_open(struct sim *s, struct sim_device *d);
void sim_net_close(struct sim *s, struct sim_device *d);
void sim_net_send(struct sim *s, struct sim_device *d, const uint8_t *p, size_t len);
/* TCP: its socket is writable or connected: sends the remaining bytes. */
void sim_net_flush(struct sim *s, struct sim_device *d);
double sim_random(struct sim *s); /* 0 <= . < 1 */

/* ---- device.c: the agent ---- */
void sim_device_begin(struct sim *s, struct sim_device *d, unsigned index);
void sim_device_on_timer(struct sim *s, struct sim_device *d);
void sim_device_connected(struct sim *s, struct sim_device *d);
void sim_device_disconnected(struct sim *s, struct sim_device *d); /* its connection */
/* No new action is started. */
void sim_device_stop(struct sim *s, struct sim_device *d);

/* Reports, or releases the association, if due. */
void sim_device_go_on(struct sim *s, struct sim_device *d);
void sim_send_reason(struct sim *s, struct sim_device *d, uint16_t apdu, uint16_t reason);
void sim_abort(struct sim *s, struct sim_device *d, uint16_t reason);
/* The association has ended; another is tried after `wait_ns`, unless the device has finished. */
void sim_unassociated(struct sim *s, struct sim_device *d, uint64_t wait_ns);
void sim_operate(struct sim *s, struct sim_device *d);
/* Sends the configuration. */
void sim_configure(struct sim *s, struct sim_device *d);
void sim_done(struct sim *s, struct sim_device *d);
bool sim_may_repeat(const struct sim *s, const struct sim_device *d);

/* The pending report is answered; continues with the next. */
void sim_settled(struct sim *s, struct sim_device *d);

/* ---- answers.c: messages of the manager ---- */
/* Handles an epoll event of a device's socket. */
void sim_net_event(struct sim *s, struct sim_device *d, uint32_t events);

/* ---- log.c ---- */
/* One JSON object per line: time, device, event, and further members, each with a leading comma. */
void sim_log(struct sim *s, const struct sim_device *d, const char *event, const char *more, ...)
	__attribute__((format(printf, 4, 5)));
/* The same without its end. */
void sim_log_begin(struct sim *s, const struct sim_device *d, const char *event);
void sim_summary(const struct sim *s, FILE *out);

#endif
