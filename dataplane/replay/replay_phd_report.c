/* SPDX-License-Identifier: BSD-3-Clause */
#include <arpa/inet.h>
#include <inttypes.h>

#include "config/health/settings.h"
#include "biplane/counters/health.h"
#include "dataplane/replay/replay_phd_internal.h"

/* The part of the replay report about health devices. */

/* Reasons for which reports, or parts of them, were discarded. */
static const bp_counter_t reasons[] = {BP_C_PHD_DISCARDED_UNKNOWN_SESSION, BP_C_PHD_DISCARDED_STATE,
	BP_C_PHD_DISCARDED_APDU, BP_C_PHD_DISCARDED_LENGTH, BP_C_PHD_DISCARDED_HANDLE,
	BP_C_PHD_UNKNOWN_HANDLE, BP_C_PHD_DISCARDED_MAP};
#define REASONS (sizeof(reasons) / sizeof(reasons[0]))

static uint64_t get(const _Atomic uint64_t *n)
{
	return atomic_load_explicit(n, memory_order_relaxed);
}

static uint64_t accepted(const struct bp_phd_manager_counts *m)
{
	return get(&m->aare[BP_PHD_ACCEPTED]) + get(&m->aare[BP_PHD_ACCEPTED_UNKNOWN_CONFIG]);
}

static uint64_t rejected(const struct bp_phd_manager_counts *m)
{
	uint64_t all = 0;

	for (unsigned i = 0; i < sizeof(m->aare) / sizeof(m->aare[0]); i++)
		all += get(&m->aare[i]);
	return all - accepted(m);
}

static uint64_t timeouts(const struct bp_phd_manager_counts *m)
{
	return get(&m->timeout_config) + get(&m->timeout_service) + get(&m->timeout_release) +
	       get(&m->timeout_idle);
}

/* Includes the responses that the manager sends instead of a worker. */
static uint64_t responses(const struct bp_totals *t)
{
	return t->counter[BP_C_PHD_RESPONSES] + t->counter[BP_C_PHD_RESPONSE_HANDED_OVER];
}

static void put(json_t *o, const char *key, uint64_t n)
{
	json_object_set_new(o, key, json_integer((json_int_t)n));
}

static json_t *associations(const struct bp_replay_phd *p)
{
	const struct bp_phd_manager_counts *m = &p->manager;
	json_t *o = json_object();

	put(o, "requests", get(&m->aarq));
	put(o, "accepted", accepted(m));
	put(o, "rejected", rejected(m));
	put(o, "retransmissions_answered", get(&m->repeats));
	put(o, "released", get(&m->releases_received));
	put(o, "aborted_by_devices", get(&m->aborts_received));
	put(o, "aborted_by_gateway", get(&m->aborts_sent));
	put(o, "timeouts", timeouts(m));
	put(o, "open", p->t->control->sessions);
	return o;
}

static json_t *not_replayed(const struct bp_replay_phd *p, const struct bp_totals *t)
{
	json_t *o = json_object();

	put(o, "tcp_connections", p->counts.tcp_connections);
	put(o, "tcp_segments", p->counts.tcp_segments);
	put(o, "unsupported_datagrams", p->counts.unreadable);
	put(o, "slow_path_reports", t->counter[BP_C_PUNT_PHD_SLOW_PATH]);
	return o;
}

json_t *bp_replay_phd_json(const struct bp_replay_phd *p, const struct bp_totals *t)
{
	json_t *o = json_object(), *discarded = json_object();

	json_object_set_new(o, "associations", associations(p));
	put(o, "configurations_accepted", get(&p->manager.configs_accepted));
	put(o, "configurations_refused", get(&p->manager.configs_refused));
	put(o, "reports", t->counter[BP_C_PHD_REPORTS]);
	put(o, "reports_confirmed", t->counter[BP_C_PHD_REPORTS_CONFIRMED]);
	put(o, "duplicates", t->counter[BP_C_PHD_DUPLICATES]);
	put(o, "cse_requests", t->counter[BP_C_CSE_REQUESTS]);
	put(o, "stored", t->counter[BP_C_CSE_STORED]);
	put(o, "responses", responses(t));
	for (unsigned i = 0; i < REASONS; i++)
		put(discarded, bp_counter_info[reasons[i]].name, t->counter[reasons[i]]);
	json_object_set_new(o, "discarded", discarded);
	json_object_set_new(o, "not_replayed", not_replayed(p, t));
	put(o, "acknowledgments_assumed", p->counts.acknowledged);
	put(o, "unknown_tokens", t->counter[BP_C_DROP_CSE_UNKNOWN_TOKEN]);
	return o;
}

/* Prints the data that was not sent, and the reasons. */
static void print_missing(const struct bp_replay_phd *p, const struct bp_totals *t, FILE *out)
{
	const struct bp_address *address = &bp_config_phd(p->c)->cse.coap_address;
	const struct bp_replay_phd_counts *c = &p->counts;
	char cse[INET6_ADDRSTRLEN] = "";
	const uint64_t slow = t->counter[BP_C_PUNT_PHD_SLOW_PATH];
	const uint64_t other = t->counter[BP_C_DROP_CSE_UNKNOWN_TOKEN];

	inet_ntop(address->family == 4 ? AF_INET : AF_INET6, address->bytes, cse, sizeof(cse));
	for (unsigned i = 0; i < REASONS; i++)
		if (t->counter[reasons[i]] != 0)
			fprintf(out, "  %-24s %12" PRIu64 "  %s\n",
				bp_counter_info[reasons[i]].name, t->counter[reasons[i]],
				bp_counter_info[reasons[i]].help);
	if (c->tcp_segments != 0)
		fprintf(out,
			"  not replayed: %" PRIu64 " TCP segments of devices in %" PRIu64
			" connections; replay supports UDP only\n",
			c->tcp_segments, c->tcp_connections);
	if (c->unreadable != 0)
		fprintf(out,
			"  not replayed: %" PRIu64
			" datagrams of devices: IP fragments, IP options, or multicast\n",
			c->unreadable);
	if (slow != 0)
		fprintf(out,
			"  not replayed: %" PRIu64
			" reports of the slow path: the CSE %s is not reachable (it, or its "
			"gateway, must be in routing.static_neighbors), or a report needs more "
			"than 32 requests or too long ones\n",
			slow, cse);
	if (other != 0)
		fprintf(out,
			"  %" PRIu64
			" acknowledgments in the capture have unknown tokens, because the gateway "
			"of the capture used another key; see --assume-stored\n",
			other);
}

void bp_replay_phd_print(const struct bp_replay_phd *p, const struct bp_totals *t, FILE *out)
{
	const struct bp_phd_manager_counts *m = &p->manager;

	fprintf(out,
		"health devices\n"
		"  associations: %" PRIu64 " requested, %" PRIu64 " accepted, %" PRIu64
		" rejected, %" PRIu64 " released, %" PRIu64 " aborted by devices, %" PRIu64
		" by biplane, %" PRIu64 " timeouts, %" PRIu32 " open at the end\n"
		"  configurations: %" PRIu64 " accepted, %" PRIu64 " refused\n"
		"  reports: %" PRIu64 ", %" PRIu64 " of them confirmed, %" PRIu64 " duplicates\n"
		"  requests to the CSE: %" PRIu64 ", %" PRIu64 " of them stored (%" PRIu64
		" acknowledgments assumed)\n"
		"  responses to reports: %" PRIu64 "\n",
		get(&m->aarq), accepted(m), rejected(m), get(&m->releases_received),
		get(&m->aborts_received), get(&m->aborts_sent), timeouts(m),
		(uint32_t)p->t->control->sessions, get(&m->configs_accepted),
		get(&m->configs_refused), t->counter[BP_C_PHD_REPORTS],
		t->counter[BP_C_PHD_REPORTS_CONFIRMED], t->counter[BP_C_PHD_DUPLICATES],
		t->counter[BP_C_CSE_REQUESTS], t->counter[BP_C_CSE_STORED], p->counts.acknowledged,
		responses(t));
	print_missing(p, t, out);
}
