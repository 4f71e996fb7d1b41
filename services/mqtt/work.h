/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_SERVICES_MQTT_WORK_H
#define BP_SERVICES_MQTT_WORK_H

#include <stdbool.h>
#include <stdint.h>

/*
 * The accounting of inspection work per connection. A unit is about a nanosecond of one core, from
 * the table below and not from a clock: the cost of a segment is therefore the same in a test, in a
 * replay and on a worker that was descheduled meanwhile.
 *
 * Work in proportion to the bytes is free: BP_WORK_PER_BYTE for each byte of the frame, and of the
 * packets that it completes. The additional cost of a segment (many rules on a topic, large
 * documents read for many rules, topics of 64 KiB behind an alias of two bytes, alarms) is taken
 * from two accounts, the connection's and the worker's. Both drain with time, at
 * mqtt.connection_cpu_percent and mqtt.worker_cpu_percent of a core. While one of them is over its
 * limit, publications of the connection that are not free are forwarded and counted, but not
 * evaluated. The stream is still tracked, so that its position and its aliases stay valid.
 *
 * Accounts are cells of a small table, two for each connection, and the lower one is used: there is
 * no state in the flow, none that an attacker can fill, and two connections are confused only where
 * they share both cells.
 */
enum {
	BP_WORK_PER_BYTE = 8,
	BP_WORK_FRAMING = 24,          /* bytes of each frame on a link that are in no buffer */
	BP_WORK_COMPLETED_MAX = 32768, /* bytes of a completed packet that count */
	BP_WORK_ACCOUNTS = 1024,
	BP_WORK_AHEAD = 1000, /* taken in one step, so that a small amount of work does not read the
				 accounts */
	/* cost of each operation */
	BP_WORK_PACKET = 12,
	BP_WORK_GUESS = 40, /* a packet under two versions */
	BP_WORK_TRIE_STEP = 40,
	BP_WORK_POLICY_CACHED = 20,
	BP_WORK_RULE = 30,
	BP_WORK_STATE = 100,  /* a state of (rule, topic) is seldom in a cache */
	BP_WORK_WINDOW = 100, /* likewise a window; and for each value of it: */
	BP_WORK_WINDOW_VALUE = 2,
	BP_WORK_WINDOW_RANK = 10,
	BP_WORK_WINDOW_RANKED = 1000, /* a percentile, for any number of values */
	BP_WORK_VALUE = 20,
	BP_WORK_METRIC = 3, /* of Sparkplug B, compared with the one of a rule */
	BP_WORK_ELEMENT =
		50, /* of [*], and its value: a long number, or a string and a list of 16 */
	BP_WORK_ALARM = 250,
};

struct bp_work_account {
	uint32_t used; /* units, as of `at` */
	uint32_t at;   /* time, 2^10 ns */
};

struct bp_work {
	uint64_t done;    /* of the current segment */
	uint64_t allowed; /* for the current segment, without reading the accounts */
	uint64_t hash;    /* of the connection under the table's key */
	bool over;        /* evaluation has stopped for this segment */
	bool worker_over; /* it stopped because of the worker's account */
	/* colder */
	uint32_t now;                       /* 2^10 ns */
	uint32_t rate, limit;               /* units a 2^10 ns, and units: of a connection */
	uint32_t worker_rate, worker_limit; /* of the worker */
	uint64_t total;                     /* since it was made: for tests and fuzzers */
	struct bp_work_account worker;
	struct bp_work_account account[2][BP_WORK_ACCOUNTS];
};

/* Shares in percent of a core. */
void bp_work_init(struct bp_work *w, uint32_t connection_percent, uint32_t worker_percent);
/* Charges the accounts with the work beyond the allowance, and with `ahead` for the next work; true
 * when both are within their limits. */
bool bp_work_settle(struct bp_work *w, uint32_t ahead);

/* For what follows, until it is called again. */
static inline void bp_work_time(struct bp_work *w, uint64_t mono_ns)
{
	w->now = (uint32_t)(mono_ns >> 10);
}

static inline void bp_work_begin(struct bp_work *w, uint64_t hash, uint32_t frame_bytes)
{
	w->done = 0;
	w->allowed = (uint64_t)BP_WORK_PER_BYTE * (frame_bytes + BP_WORK_FRAMING);
	w->hash = hash;
	w->over = false;
}

static inline void bp_work_end(struct bp_work *w)
{
	w->total += w->done;
	if (__builtin_expect(w->done > w->allowed, 0))
		(void)bp_work_settle(w, 0);
}

/* The current segment, while other work is done in between. */
struct bp_work_paused {
	uint64_t done, allowed, hash;
	bool over, worker_over;
};

static inline struct bp_work_paused bp_work_pause(const struct bp_work *w)
{
	return (struct bp_work_paused){w->done, w->allowed, w->hash, w->over, w->worker_over};
}

static inline void bp_work_resume(struct bp_work *w, const struct bp_work_paused *p)
{
	w->done = p->done;
	w->allowed = p->allowed;
	w->hash = p->hash;
	w->over = p->over;
	w->worker_over = p->worker_over;
}

/* Bytes of earlier segments that are read now. */
static inline void bp_work_allow(struct bp_work *w, uint32_t bytes)
{
	w->allowed += (uint64_t)BP_WORK_PER_BYTE * bytes;
}

static inline void bp_work_add(struct bp_work *w, uint64_t units)
{
	w->done += units;
}

/* Whether more may be done that is not in proportion to the bytes. */
static inline bool bp_work_may(struct bp_work *w)
{
	return __builtin_expect(w->done <= w->allowed, 1) ||
	       (!w->over && bp_work_settle(w, BP_WORK_AHEAD));
}

/* The same before work that may be many times what is free: the accounts are read in any case. */
static inline bool bp_work_may_exceed(struct bp_work *w)
{
	const uint64_t left = w->done < w->allowed ? w->allowed - w->done : BP_WORK_AHEAD;

	return !w->over && bp_work_settle(w, left < UINT32_MAX ? (uint32_t)left : UINT32_MAX);
}

#endif
