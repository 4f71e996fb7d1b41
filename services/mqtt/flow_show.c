/* SPDX-License-Identifier: BSD-3-Clause */
#include "services/mqtt/flow_show.h"

#include <string.h>

#include "biplane/counters/mqtt.h"
#include "services/mqtt/mqtt_worker.h"
#include "services/mqtt/peek.h"
#include "shm/layout.h"

#define NOT_INSPECTED_LAST (BP_C_NOT_INSPECTED_LAST - BP_C_NOT_INSPECTED_NOT_MQTT)
_Static_assert(
	BP_UNREAD_COUNTERS + NOT_INSPECTED_LAST + 1 == BP_FLOW_UNREAD_REASONS, "all reasons");

static const char *stream_name(uint8_t stream)
{
	static const char *const name[] = {
		[BP_STREAM_UNSEEN] = "no_data",
		[BP_STREAM_BOUNDARY] = "inspecting",
		[BP_STREAM_SKIP] = "partial_packet",
		[BP_STREAM_REASSEMBLE] = "partial_packet",
		[BP_STREAM_ENDED] = "ended",
		[BP_STREAM_RESYNC] = "resync",
		[BP_STREAM_NOT_INSPECTED] = "not_inspected",
	};

	return stream < sizeof(name) / sizeof(name[0]) ? name[stream] : "no_data";
}

static const char *connection_name(const struct bp_flow *f)
{
	if (f->flags & BP_FLOW_CLOSED)
		return "closed";
	if (f->flags & (BP_FLOW_FIN(0) | BP_FLOW_FIN(1)))
		return "closing";
	if (f->flags & (BP_FLOW_CONNECT | BP_FLOW_MIDWAY) ||
		f->stream[0] == BP_STREAM_NOT_INSPECTED)
		return "open";
	return "opening";
}

static const char *transport_name(const struct bp_flow *f)
{
	if (bp_flow_is_tls(f))
		return "tls";
	return (f->proof & BP_FLOW_WEBSOCKET) && f->websocket.upgraded[BP_FROM_BROKER] ? "websocket"
										       : "tcp";
}

static uint64_t ms_since(uint32_t ticks, uint64_t mono_ns)
{
	return (uint64_t)(uint32_t)(bp_ticks(mono_ns) - ticks) * (1u << 20) / 1000000;
}

static void view_suspicious(const struct bp_flow *f, struct bp_flow_view *v)
{
	unsigned n = 0;

	for (uint32_t left = f->suspicious; left != 0; left &= left - 1) {
		uint16_t counter = bp_mqtt_suspicious_counter[__builtin_ctz(left)];

		if (counter != 0)
			v->suspicious[n++] = bp_counter_info[counter].name;
	}
	v->suspicious[n] = NULL;
}

/* Of a connection that is not inspected. Another process may be changing it. */
static unsigned unread_reason(const struct bp_flow *f)
{
	const unsigned counter = __atomic_load_n(&f->not_inspected[0], __ATOMIC_RELAXED);

	if (__atomic_load_n(&f->stream[0], __ATOMIC_RELAXED) == BP_STREAM_NOT_INSPECTED &&
		counter <= NOT_INSPECTED_LAST)
		return BP_UNREAD_COUNTERS + counter;
	if (__atomic_load_n(&f->marks, __ATOMIC_RELAXED) & BP_MARK_INVALID)
		return BP_UNREAD_OUT_OF_WINDOW;
	return __atomic_load_n(&f->proof, __ATOMIC_RELAXED) & BP_FLOW_PROVEN ? BP_UNREAD_RESYNC
									     : BP_UNREAD_MIDSTREAM;
}

static void view_unread(const struct bp_flow *f, uint64_t mono_ns, struct bp_flow_view *v)
{
	v->unread_reason = "";
	v->unread = f->proof & BP_FLOW_UNREAD;
	if (!v->unread)
		return;
	v->unread_ms = ms_since(f->unread_since, mono_ns);
	v->unread_reason = bp_flow_unread_reason(unread_reason(f));
}

static void view(const struct bp_flow_header *h, const struct bp_flow *f, unsigned worker,
	uint64_t mono_ns, struct bp_flow_view *v)
{
	memset(v, 0, sizeof(*v));
	(void)bp_flow_network_name(h, f, v->network);
	v->network_number = bp_flow_network(f);
	v->worker = worker;
	v->ip6 = f->flags & BP_FLOW_IP6;
	memcpy(v->client_ip, f->client_ip, 16);
	memcpy(v->broker_ip, f->broker_ip, 16);
	v->client_port = (uint16_t)(f->k1 >> 16);
	v->broker_port = (uint16_t)f->k1;
	v->vlan_outer = f->k1 >> 32 & 0xfff;
	v->vlan_inner = f->k1 >> 44 & 0xfff;
	v->version = f->version;
	v->transport = transport_name(f);
	v->connection = connection_name(f);
	v->to_broker = stream_name(f->stream[BP_TO_BROKER]);
	v->from_broker = stream_name(f->stream[BP_FROM_BROKER]);
	v->not_inspected_reason = "";
	if (f->stream[0] == BP_STREAM_NOT_INSPECTED && f->not_inspected[0] <= NOT_INSPECTED_LAST)
		v->not_inspected_reason =
			bp_counter_info[BP_C_NOT_INSPECTED_NOT_MQTT + f->not_inspected[0]].name;
	v->adopted = f->session & BP_SESSION_ADOPTED;
	v->awaits_ack = f->marks & BP_MARK_REJECTED;
	v->publishes = f->publishes;
	v->carried_bytes = f->carried;
	v->idle_ms = ms_since(f->seen, mono_ns);
	v->established = f->proof & BP_FLOW_PROVEN;
	v->input_port = f->client_port;
	v->topic_hash = f->memo_hash;
	v->topic_generation = f->memo_gen;
	v->topic_rule = f->memo_rule == BP_MEMO_MULTIPLE ? BP_FLOW_RULES : f->memo_rule;
	v->tls_ref = bp_flow_is_tls(f) ? f->tls.info : 0;
	v->client_id_ref = f->client_id;
	v->client_id_len = f->client_id_len;
	v->identified = (f->flags & BP_FLOW_CONNECT) && !(f->session & BP_SESSION_NO_ID);
	v->has_user = f->session & BP_SESSION_USER;
	view_unread(f, mono_ns, v);
	view_suspicious(f, v);
}

/* The flows of a worker's table, and their number. NULL: the data plane has not initialised it yet,
 * or, with *damaged, it is damaged. */
static const struct bp_flow *flows_in(const void *table, uint64_t len, uint64_t *n, bool *damaged)
{
	const struct bp_flow_header *h = table;

	*n = 0;
	*damaged = false;
	if (len < sizeof(*h) || __atomic_load_n(&h->magic, __ATOMIC_ACQUIRE) != BP_FLOW_MAGIC)
		return NULL;
	const uint32_t groups = __atomic_load_n(&h->groups, __ATOMIC_RELAXED);
	const uint64_t offset = __atomic_load_n(&h->flows_offset, __ATOMIC_RELAXED);

	*n = (uint64_t)groups * BP_FLOW_WAYS;
	*damaged = offset > len || offset % _Alignof(struct bp_flow) != 0 ||
		   offset < sizeof(*h) + groups * sizeof(struct bp_flow_group) ||
		   *n > (len - offset) / sizeof(struct bp_flow);
	return *damaged ? NULL : (const void *)((const uint8_t *)table + offset);
}

bool bp_flow_copy(const struct bp_flow *f, struct bp_flow *copy)
{
	const uint16_t life = __atomic_load_n(&f->life, __ATOMIC_ACQUIRE);

	if (f->proof == 0)
		return false;
	memcpy(copy, f, sizeof(*copy));
	__atomic_thread_fence(__ATOMIC_ACQUIRE);
	return copy->proof != 0 && __atomic_load_n(&f->life, __ATOMIC_RELAXED) == life;
}

static int visit_table(const uint8_t *table, uint64_t len, unsigned worker, uint64_t mono_ns,
	int (*visit)(const struct bp_flow_view *v, void *arg), void *arg)
{
	uint64_t n;
	bool damaged;
	const struct bp_flow *flows = flows_in(table, len, &n, &damaged);

	for (uint64_t i = 0; flows != NULL && i < n; i++) {
		struct bp_flow copy;
		struct bp_flow_view v;
		int stop;

		if (!bp_flow_copy(&flows[i], &copy))
			continue;
		view((const void *)table, &copy, worker, mono_ns, &v);
		stop = visit(&v, arg);
		if (stop != 0)
			return stop;
	}
	return damaged ? -1 : 0;
}

int bp_flow_visit(const void *flows, uint64_t len, unsigned workers, uint64_t mono_ns,
	int (*visit)(const struct bp_flow_view *v, void *arg), void *arg)
{
	for (unsigned w = 0; w < workers; w++) {
		int stop = visit_table((const uint8_t *)flows + len / workers * w, len / workers, w,
			mono_ns, visit, arg);

		if (stop != 0)
			return stop;
	}
	return 0;
}

size_t bp_flow_client_id(const struct bp_flow_view *v, const void *reassembly, uint64_t len,
	unsigned workers, char *out, size_t size)
{
	const uint64_t part = len / workers;
	uint64_t n = 0;

	if (v->worker < workers && v->client_id_len > 0 && v->client_id_len < size)
		size = v->client_id_len + 1u;
	if (v->worker < workers && v->client_id_len > 0 && part > BP_JOURNAL_BYTES)
		n = bp_reassembly_peek(
			(const uint8_t *)reassembly + part * v->worker + BP_JOURNAL_BYTES,
			part - BP_JOURNAL_BYTES, v->client_id_ref, out, size - 1);
	out[n] = '\0';
	return (size_t)n;
}

void bp_flow_identity(const struct bp_flow_view *v, const void *reassembly, uint64_t len,
	unsigned workers, struct bp_flow_identity *out)
{
	const uint64_t part = len / workers;
	uint32_t at = v->client_id_len;
	uint64_t n = 0;

	if (v->worker < workers && part > BP_JOURNAL_BYTES)
		n = bp_reassembly_peek(
			(const uint8_t *)reassembly + part * v->worker + BP_JOURNAL_BYTES,
			part - BP_JOURNAL_BYTES, v->client_id_ref, out->text, sizeof(out->text));
	out->client = at != 0 && at <= n ? out->text : NULL;
	out->client_len = out->client != NULL ? v->client_id_len : 0;
	/* two bytes of length and the user name follow: identity.c */
	out->user = NULL;
	out->user_len = 0;
	if (v->has_user && at + 2 <= n && bp_be16(out->text + at) != BP_USER_UNKNOWN &&
		bp_be16(out->text + at) <= n - at - 2) {
		out->user_len = bp_be16(out->text + at);
		out->user = out->text + at + 2;
	}
	out->known = v->identified && (at == 0 || out->client != NULL) &&
		     (!v->has_user || out->user != NULL);
}

bool bp_flow_tls(const struct bp_flow_view *v, const void *reassembly, uint64_t len,
	unsigned workers, struct bp_tls_info *info)
{
	const uint64_t part = len / workers;
	struct bp_arena arena;

	memset(info, 0, sizeof(*info));
	if (v->worker >= workers || part <= BP_JOURNAL_BYTES)
		return false;
	arena = (struct bp_arena){(const uint8_t *)reassembly + part * v->worker + BP_JOURNAL_BYTES,
		part - BP_JOURNAL_BYTES};
	return bp_tls_peek(&arena, v->tls_ref, info);
}

const struct bp_flow *bp_flows_of(
	const void *flows, uint64_t len, unsigned workers, unsigned worker, uint64_t *n)
{
	bool damaged;

	return flows_in(
		(const uint8_t *)flows + len / workers * worker, len / workers, n, &damaged);
}

uint64_t bp_flow_slots(const void *flows, uint64_t len, unsigned workers, unsigned worker)
{
	uint64_t n;

	return bp_flows_of(flows, len, workers, worker, &n) != NULL ? n : 0;
}

bool bp_flow_brief_at(const void *flows, uint64_t len, unsigned workers, unsigned worker,
	uint64_t slot, struct bp_flow_brief *b)
{
	uint64_t n;
	const struct bp_flow *f = bp_flows_of(flows, len, workers, worker, &n);

	const struct bp_flow_header *h = bp_flow_header_of(flows, len, workers, worker);
	const struct bp_flow_group *g = (const void *)(h + 1);

	/* the tags of free slots are in fewer cache lines than the flows */
	if (f == NULL || slot >= n ||
		__atomic_load_n(
			&g[slot / BP_FLOW_WAYS].tag[slot % BP_FLOW_WAYS], __ATOMIC_RELAXED) == 0)
		return false;
	f += slot;
	if (__atomic_load_n(&f->proof, __ATOMIC_RELAXED) == 0)
		return false;
	b->life = __atomic_load_n(&f->life, __ATOMIC_RELAXED);
	b->publishes = __atomic_load_n(&f->publishes, __ATOMIC_RELAXED);
	b->seen = __atomic_load_n(&f->seen, __ATOMIC_RELAXED);
	return true;
}

bool bp_flow_view_at(const void *flows, uint64_t len, unsigned workers, unsigned worker,
	uint64_t slot, uint64_t mono_ns, struct bp_flow_view *v)
{
	uint64_t n;
	const struct bp_flow *f = bp_flows_of(flows, len, workers, worker, &n);
	struct bp_flow copy;

	if (f == NULL || slot >= n || !bp_flow_copy(&f[slot], &copy))
		return false;
	view(bp_flow_header_of(flows, len, workers, worker), &copy, worker, mono_ns, v);
	return true;
}

uint64_t bp_flow_idle_ms(uint32_t seen, uint64_t mono_ns)
{
	const int32_t ago = (int32_t)(bp_ticks(mono_ns) - seen);

	return ago <= 0 ? 0 : (uint64_t)ago * (1u << 20) / 1000000;
}

/* ---- connections that pass unread ---- */

#define TICK_NS (1u << 20)

/* 0 if the worker is ahead of `now`. */
static uint64_t ns_since(const uint32_t *ticks, uint32_t now)
{
	const int32_t ago = (int32_t)(now - __atomic_load_n(ticks, __ATOMIC_RELAXED));

	return ago <= 0 ? 0 : (uint64_t)ago * TICK_NS;
}

static void count_one(struct bp_inspected *turn, const struct bp_flow *f)
{
	const uint8_t proof = __atomic_load_n(&f->proof, __ATOMIC_RELAXED);

	if (proof & BP_FLOW_UNREAD)
		turn->reason[unread_reason(f)]++;
	else if (proof != 0)
		turn->inspected++;
}

static void count_unread(
	struct bp_unread *turn, const struct bp_flow *f, uint32_t now, uint64_t limit_ns)
{
	uint64_t unread_ns;

	if (!(__atomic_load_n(&f->proof, __ATOMIC_RELAXED) & BP_FLOW_UNREAD))
		return;
	unread_ns = ns_since(&f->unread_since, now);
	if (unread_ns < limit_ns)
		return;
	/* an unused connection is no fault; segments that do not fit are not stamped */
	if (ns_since(&f->seen, now) >= limit_ns &&
		!(__atomic_load_n(&f->marks, __ATOMIC_RELAXED) & BP_MARK_INVALID))
		return;
	turn->connections++;
	if (unread_ns > turn->longest_ns)
		turn->longest_ns = unread_ns;
}

void bp_unread_scan(struct bp_unread_scan *s, const void *table, uint64_t len, uint64_t mono_ns,
	uint64_t limit_ns, uint32_t budget)
{
	const struct bp_flow_header *h = table;
	const struct bp_flow *flows;
	uint64_t n;

	if (len < sizeof(*h) || __atomic_load_n(&h->magic, __ATOMIC_ACQUIRE) != BP_FLOW_MAGIC)
		return;
	n = (uint64_t)h->groups * BP_FLOW_WAYS;
	if (h->flows_offset > len || n > (len - h->flows_offset) / sizeof(*flows))
		return;
	flows = (const void *)((const uint8_t *)table + h->flows_offset);
	for (; budget != 0 && s->at < n; budget--, s->at++) {
		count_one(&s->turn_of_all, &flows[s->at]);
		if (limit_ns != 0)
			count_unread(&s->turn, &flows[s->at], bp_ticks(mono_ns), limit_ns);
	}
	if (s->at < n)
		return;
	s->last = s->turn;
	s->last_of_all = s->turn_of_all;
	s->at = 0;
	memset(&s->turn, 0, sizeof(s->turn));
	memset(&s->turn_of_all, 0, sizeof(s->turn_of_all));
}
