/* SPDX-License-Identifier: BSD-3-Clause */
#include "controlplane/health/status.h"

#define NS_PER_S 1000000000ull

/* The words that a part fills: v[] starts as 0, and values of two parts are added. */
#define SET(word, value) (v[BP_PHD_S_##word] = (value))
#define ADD(word, value) (v[BP_PHD_S_##word] += (value))

static uint64_t load(const _Atomic uint64_t *n)
{
	return atomic_load_explicit(n, memory_order_relaxed);
}

static uint32_t load32(const _Atomic uint32_t *n)
{
	return atomic_load_explicit(n, memory_order_relaxed);
}

static void of_tables(uint64_t *v, const struct bp_phd_tables *t)
{
	const struct bp_phd_control *c = t->control;

	SET(OPEN, load32(&c->sessions));
	SET(OPERATING, load32(&c->operating));
	SET(UNREADY, load32(&c->unready));
	SET(LAYOUTS, load32(&c->layouts));
	SET(REPAIRS, load(&c->repairs));
}

static void of_associations(uint64_t *v, const struct bp_phd_manager_counts *n)
{
	SET(AARQ, load(&n->aarq));
	SET(AARE_REPEATED, load(&n->repeats));
	SET(AARQ_LATE, load(&n->late));
	SET(ACCEPTED, load(&n->aare[BP_PHD_ACCEPTED]));
	SET(ACCEPTED_UNKNOWN, load(&n->aare[BP_PHD_ACCEPTED_UNKNOWN_CONFIG]));
	SET(REJECTED_PERMANENT, load(&n->aare[BP_PHD_REJECTED_PERMANENT]));
	SET(REJECTED_TRANSIENT, load(&n->aare[BP_PHD_REJECTED_TRANSIENT]));
	SET(REJECTED_ADDRESS, load(&n->rejected_address));
	SET(REJECTED_RATE, load(&n->rejected_rate));
	SET(REJECTED_FULL, load(&n->rejected_full));
	SET(REJECTED_LAYOUTS, load(&n->rejected_layouts));
	SET(REJECTED_PROTOCOL, load(&n->aare[BP_PHD_NO_COMMON_PROTOCOL]));
	SET(REJECTED_PARAMETER, load(&n->aare[BP_PHD_NO_COMMON_PARAMETER]));
	SET(REJECTED_UNKNOWN, load(&n->aare[BP_PHD_REJECTED_UNKNOWN]));
	SET(REJECTED_UNAUTHORIZED, load(&n->aare[BP_PHD_UNAUTHORIZED]));
	SET(REJECTED_VERSION, load(&n->aare[BP_PHD_UNSUPPORTED_VERSION]));
}

static void of_manager(uint64_t *v, const struct bp_phd_manager_counts *n)
{
	of_associations(v, n);
	SET(ADOPTED, load(&n->adopted));
	SET(TAKEN_OVER, load(&n->superseded));
	SET(CONFIGS_ACCEPTED, load(&n->configs_accepted));
	SET(CONFIGS_REFUSED, load(&n->configs_refused));
	SET(ABORTS_SENT, load(&n->aborts_sent));
	SET(ABORTS_RECEIVED, load(&n->aborts_received));
	SET(RELEASES_SENT, load(&n->releases_sent));
	SET(RELEASES_RECEIVED, load(&n->releases_received));
	SET(TIMEOUT_CONFIG, load(&n->timeout_config));
	SET(TIMEOUT_SERVICE, load(&n->timeout_service));
	SET(TIMEOUT_RELEASE, load(&n->timeout_release));
	SET(TIMEOUT_IDLE, load(&n->timeout_idle));
	SET(STRAYS, load(&n->unknown_sessions));
	SET(UNDECODABLE, load(&n->undecodable));
	SET(ERRORS_ANSWERED, load(&n->errors_answered));
	SET(REPORTS_TAKEN, load(&n->slow_taken));
	SET(REPORTS_REFUSED, load(&n->slow_refused));
	ADD(REPORTS_LOST, load(&n->slow_lost));
}

static void of_slow(uint64_t *v, const struct bp_slow *s)
{
	struct bp_slow_counts n;

	bp_slow_count(s, &n);
	SET(REPORTS_SENT, n.reports);
	SET(REPORTS_REPEATED, n.repeated);
	SET(REPORTS_RESUMED, n.resumed);
	SET(REPORTS_EMPTY, n.empty);
	SET(REPORTS_UNUSABLE, n.unusable);
	SET(REPORTS_TRAILING, n.trailing);
	SET(REPORTS_UNFIT, n.too_large);
	SET(REPORTS_FULL, n.full);
	ADD(REPORTS_LOST, n.lost);
	SET(REPORTS_PENDING, n.pending);
	SET(INSTANCES, n.instances);
	SET(INSTANCES_STORED, n.stored);
	SET(INSTANCES_DENIED, n.denied);
	SET(INSTANCES_NO_TARGET, n.no_target);
	SET(INSTANCES_BUSY, n.busy);
	SET(INSTANCES_REFUSED, n.refused);
	SET(INSTANCES_UNANSWERED, n.no_reply);
}

static void of_events(uint64_t *v, const struct bp_worker_events_counts *n)
{
	SET(EVENTS_ANSWERS, n->answers);
	SET(EVENTS_STALE, n->stale);
	SET(EVENTS_SWEPT, n->swept);
	SET(EVENTS_KNOWN, n->known);
	SET(EVENTS_UNTRUE, n->untrue);
}

static void of_client(uint64_t *v, const struct bp_cse_client *c)
{
	const struct bp_cse_counts *n = bp_cse_counts(c);

	ADD(CSE_REQUESTS, n->requests);
	ADD(CSE_ANSWERED, n->answered);
	ADD(CSE_REPEATS, n->repeats);
	ADD(CSE_TIMED_OUT, n->timed_out);
	ADD(CSE_RESETS, n->resets);
	ADD(CSE_REFUSED, n->refused);
	ADD(CSE_NOT_SENT, n->not_sent);
	ADD(CSE_SEPARATE, n->separate);
	ADD(CSE_STRAYS, n->unmatched);
	ADD(CSE_UNREADABLE, n->unreadable);
	ADD(CSE_RECONNECTS, n->reconnects);
	ADD(CSE_OUTSTANDING, bp_cse_outstanding(c));
}

static void of_http(uint64_t *v, const struct bp_cse_http_counts *n)
{
	ADD(CSE_REQUESTS, n->requests);
	ADD(CSE_ANSWERED, n->answered);
	ADD(CSE_TIMED_OUT, n->timed_out);
	ADD(CSE_REFUSED, n->refused);
	ADD(CSE_UNREADABLE, n->not_cse);
	ADD(CSE_RECONNECTS, n->connections);
}

static void of_ready(uint64_t *v, const struct bp_ready *r, uint64_t mono_ns)
{
	const struct bp_provision_counts *n = bp_ready_counts(r);
	const uint64_t no_reply = n->unreachable_since_ns;

	SET(PROVISIONED, n->provisioned);
	SET(PROVISION_REFUSED, n->refused);
	SET(PROVISION_SPARED, bp_ready_spared(r));
	SET(PROVISION_TO_DO, bp_ready_waiting(r));
	/* at least 1 while unreachable: 0 means that the CSE answers */
	if (no_reply != 0)
		SET(CSE_AWAY_S, mono_ns > no_reply ? 1 + (mono_ns - no_reply) / NS_PER_S : 1);
}

static void of_store(uint64_t *v, const struct bp_phd_store *s)
{
	struct bp_phd_store_counts n;

	bp_phd_store_count(s, &n);
	SET(STORE_ROWS, n.rows);
	SET(STORE_FAILURES, n.failures);
	SET(STORE_LOST, n.lost);
	SET(STORE_SKIPPED, n.skipped);
	SET(STORE_EVICTED, n.evicted);
	SET(STORE_REFUSED, n.refused);
	SET(STORE_SESSIONS_READ, n.sessions_read);
	SET(STORE_KNOWN_READ, n.known_read);
	SET(STORE_KNOWN, n.known);
	SET(STORE_QUEUED, n.queued);
}

/* Returns the drops of the socket since the last call, of any process. */
static uint64_t drops(struct bp_phd_status_writer *w, unsigned which, struct bp_socket_drops now)
{
	struct bp_phd_status *s = w->status;
	uint32_t known = 0;

	if (load(&s->socket[which]) == now.cookie)
		known = (uint32_t)load(&s->socket_drops[which]);
	w->drops[which] += (uint32_t)(now.drops - known);
	atomic_store_explicit(&s->socket[which], now.cookie, memory_order_relaxed);
	atomic_store_explicit(&s->socket_drops[which], now.drops, memory_order_relaxed);
	return w->drops[which];
}

static void of_keep(uint64_t *v, const struct bp_phd_persist_counts *n)
{
	SET(STORE_RESTORED, n->rows[BP_PHD_RESTORED]);
	SET(STORE_NOT_RESTORED, n->rows[BP_PHD_RESTORE_UNKNOWN] +
					n->rows[BP_PHD_RESTORE_NOT_ALLOWED] +
					n->rows[BP_PHD_RESTORE_FULL]);
}

static void of_server(
	uint64_t *v, struct bp_phd_status_writer *w, const struct bp_phd_server *server)
{
	struct bp_phd_server_counts n;

	bp_phd_server_count(server, &n);
	SET(UDP_RECEIVED, n.received);
	SET(UDP_SENT, n.sent);
	SET(UDP_UNSENT, n.unsent);
	SET(UDP_OVERSIZED, n.oversized);
	SET(UDP_FOREIGN, n.not_cse);
	SET(UDP_UNANSWERABLE, n.unanswerable);
	SET(UDP_DROPPED, drops(w, BP_PHD_SOCKET_UDP, n.socket));
}

static void of_tcp(uint64_t *v, struct bp_phd_status_writer *w, const struct bp_phd_tcp *tcp)
{
	struct bp_phd_tcp_counts n;

	bp_phd_tcp_count(tcp, &n);
	SET(TCP_OPEN, n.open);
	SET(TCP_ACCEPTED, n.accepted);
	SET(TCP_REFUSED, n.refused);
	SET(TCP_STRANGERS, n.unassociated_closed);
	SET(TCP_POSTPONED, n.postponed);
	SET(TCP_DROPPED, drops(w, BP_PHD_SOCKET_TCP, n.socket));
	SET(TCP_RECEIVED, n.received);
	SET(TCP_SENT, n.sent);
	SET(TCP_UNSENT, n.unsent);
	SET(TCP_MALFORMED, n.malformed);
	SET(TCP_UNREAD, n.unread);
	SET(TCP_IDLE, n.idle);
}

void bp_phd_status_begin(struct bp_phd_status_writer *w, struct bp_phd_status *status)
{
	*w = (struct bp_phd_status_writer){.status = status};
	for (unsigned i = 0; i < BP_PHD_S_COUNT; i++) {
		if (bp_phd_status_info[i].kind == BP_PHD_SK_TOTAL)
			w->before[i] = load(&status->v[i]);
	}
}

void bp_phd_status_write(
	struct bp_phd_status_writer *w, const struct bp_phd_status_from *from, uint64_t mono_ns)
{
	uint64_t v[BP_PHD_S_COUNT] = {0};

	of_tables(v, from->tables);
	if (from->manager)
		of_manager(v, from->manager);
	if (from->slow)
		of_slow(v, from->slow);
	if (from->events)
		of_events(v, bp_worker_events_counts(from->events));
	for (unsigned i = 0; i < sizeof(from->cse) / sizeof(from->cse[0]); i++) {
		if (from->cse[i])
			of_client(v, from->cse[i]);
	}
	if (from->http)
		of_http(v, bp_cse_http_counts(from->http));
	if (from->ready)
		of_ready(v, from->ready, mono_ns);
	if (from->store)
		of_store(v, from->store);
	if (from->keep)
		of_keep(v, bp_phd_persist_counts(from->keep));
	if (from->server)
		of_server(v, w, from->server);
	if (from->tcp)
		of_tcp(v, w, from->tcp);
	for (unsigned i = 0; i < BP_PHD_S_COUNT; i++)
		atomic_store_explicit(&w->status->v[i], w->before[i] + v[i], memory_order_relaxed);
}
