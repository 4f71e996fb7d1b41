/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_SHM_RULES_POLICY_RATE_H
#define BP_SHM_RULES_POLICY_RATE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/*
 * The rates of clients, addresses and topics for rules of the policy: token buckets in a table of
 * the segment, which all workers share and which a restart keeps. A bucket is a time: when it will
 * be full again (the generic cell rate algorithm, ITU-T I.371). A packet moves it by the time of
 * one packet, unless it is then further ahead than the time of the whole burst: then the packet
 * exceeds the rate, and the bucket stays as it is.
 *
 * At the bound the bucket that is full the soonest is taken over. One of a sender above its rate is
 * the last to be full, so that new senders do not restore it before those that they add. A client
 * may have any number of identifiers and topics, but not of addresses: half of a set is taken over
 * for addresses only. The other half is not: so no number of addresses, with rates that take long,
 * keeps clients from having one.
 */
struct bp_policy_bucket {
	_Atomic uint64_t key;     /* 0: free */
	_Atomic uint64_t full_ns; /* monotonic */
};

#define BP_POLICY_BUCKET_WAYS 4u
#define BP_POLICY_KEY_LASTING 2ull /* bit of a key: of an address */

struct bp_policy_rates {
	struct bp_policy_bucket *bucket;
	uint64_t len; /* a power of two, from BP_POLICY_BUCKET_WAYS */
};

/* The length of a table for `n` buckets. */
uint64_t bp_policy_rates_len(uint64_t n);

/*
 * Whether a packet exceeds the rate of `key`, which is not 0: one packet in `period_ns`, and
 * depth_ns / period_ns, which is 1 or more, at once. *evicted: one that was not full was taken
 * over, or there is none.
 */
bool bp_policy_rate_exceeded(const struct bp_policy_rates *t, uint64_t key, uint64_t period_ns,
	uint64_t depth_ns, uint64_t now_ns, bool *evicted);

struct bp_policy_rule;
struct bp_policy_packet_view;
/*
 * The key of a packet that a rule with a rate counts: of the rule and a client, an address or a
 * topic. A client is its identifier at its address: with the identifier of another client a sender
 * does not use that one's rate.
 */
uint64_t bp_policy_rate_key(const struct bp_policy_rule *r, const struct bp_policy_packet_view *p);

#endif
