/* SPDX-License-Identifier: BSD-3-Clause */
#include "biplane/counters/mqtt.h"
#include "services/mqtt/evaluate.h"
#include "services/mqtt/flow_memory.h"
#include "services/mqtt/judged.h"
#include "services/mqtt/mqtt_worker.h"
#include "services/mqtt/packets.h"
#include "services/mqtt/policy.h"
#include "services/mqtt/publications.h"
#include "services/mqtt/stream.h"

#include <fcntl.h>
#include <unistd.h>

#include "shm/hash.h"

/*
 * After a restart of the data plane, inspection of the existing connections continues at their
 * positions. State of another process is used only after checks: a flow must be in the bucket of
 * its key, its fields must be consistent, and a block of the arena belongs to the first flow that
 * claims it. An invalid flow is dropped and picked up mid-stream with its next segment; a flow with
 * a damaged cut packet is resynchronised. The lists and the allocator are rebuilt from the adopted
 * flows.
 */

/* Increment it if a field of a flow, or the data in the arena, changes its position or meaning. */
#define LAYOUT 15u
/* The longest packet: five bytes of fixed header (MQTT 5.0, 2.1.4). */
#define PACKET_MAX (268435455u + 5)

/* The parameters that must be unchanged to adopt flows. */
static uint64_t shape_of(
	const struct bp_mqtt_worker *in, const struct bp_mqtt_options *o, unsigned worker)
{
	static const uint64_t key[2] = {LAYOUT, sizeof(struct bp_flow)};
	uint64_t h[] = {in->table.groups, in->table.capacity, in->table.max_unproven,
		in->table.key[0], in->table.key[1], bp_reassembly_capacity(in->reassembly),
		in->reassembly_per_flow, worker, o->workers, o->placement};
	uint64_t shape = bp_hash_bytes(key, h, sizeof(h));

	/* flows proven by a former broker must not be adopted */
	for (uint32_t i = 0; i < in->n_brokers; i++) {
		const uint64_t of_broker[2] = {shape, i};

		shape = bp_hash_bytes(of_broker, &in->brokers[i], sizeof(in->brokers[i]));
	}
	return shape;
}

/* Changes when the machine boots; 0: unknown. */
static uint64_t boot(void)
{
	static const uint64_t key[2] = {1, 2};
	char id[64];
	int fd = open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC);
	ssize_t n;

	if (fd < 0)
		return 0;
	n = read(fd, id, sizeof(id));
	close(fd);
	return n <= 0 ? 0 : bp_hash_bytes(key, id, (size_t)n);
}

bool bp_adopt_block(
	struct bp_mqtt_worker *in, struct bp_flow *f, bp_reassembly_ref ref, uint64_t bytes)
{
	if (!bp_reassembly_claim(in->reassembly, ref))
		return false;
	if (bp_reassembly_size(in->reassembly, ref) < bytes) {
		bp_reassembly_unclaim(in->reassembly, ref);
		return false;
	}
	bp_flow_carries(&in->table, f, (int64_t)bp_reassembly_size(in->reassembly, ref));
	return true;
}

void bp_adopt_undo(struct bp_mqtt_worker *in, struct bp_flow *f, bp_reassembly_ref ref)
{
	bp_flow_carries(&in->table, f, -(int64_t)bp_reassembly_size(in->reassembly, ref));
	bp_reassembly_unclaim(in->reassembly, ref);
}

/* The key must match the addresses, and the flow must be in the bucket of its key. */
static bool key_sound(
	const struct bp_mqtt_worker *in, const struct bp_flow *f, uint32_t g, uint16_t tag)
{
	const struct bp_flow_table *t = &in->table;
	const uint64_t hash = bp_flow_hash(t, f->k0, f->k1);
	const uint64_t ip6 = (f->flags & BP_FLOW_IP6) != 0;
	const uint64_t tunnel = f->tunnel != 0 ? bp_flow_k0_tunnel(t, f->tunnel) : 0;
	const uint16_t port = (uint16_t)f->k1;
	char network[BP_NAME_MAX + 1];
	bool inspected = false;

	for (uint32_t i = 0; i < in->n_ports; i++)
		inspected |= in->port[i] == port;
	return inspected && (f->k1 >> BP_FLOW_K1_IP6 & 1) == ip6 &&
	       bp_flow_network_name(t->header, f, network) != NULL &&
	       bp_flow_network(f) != BP_NETWORK_OTHER && tag == bp_flow_tag(hash) &&
	       (g == bp_flow_group1(t, hash) || g == bp_flow_group2(t, hash)) &&
	       (f->k0 ^ tunnel) == (ip6 ? bp_flow_k0_ip6(t, f->client_ip, f->broker_ip)
					: bp_flow_k0_ip4(f->client_ip, f->broker_ip));
}

static bool is_read(uint8_t stream)
{
	return stream >= BP_STREAM_BOUNDARY && stream <= BP_STREAM_REASSEMBLE;
}

static bool version_sound(const struct bp_flow *f)
{
	if (f->version != 0)
		return f->version >= BP_MQTT_V31 && f->version <= BP_MQTT_V5;
	/* without a version only a CONNECT can be read */
	return !(f->flags & (BP_FLOW_CONNECT | BP_FLOW_CONNACK)) &&
	       f->stream[BP_FROM_BROKER] != BP_STREAM_SKIP &&
	       f->stream[BP_FROM_BROKER] != BP_STREAM_REASSEMBLE &&
	       !((f->flags & BP_FLOW_MIDWAY) && (is_read(f->stream[0]) || is_read(f->stream[1])));
}

/* Flows whose state is in the place of that of a search have none. */
static bool search_sound(const struct bp_flow *f)
{
	const bool websocket = f->proof & BP_FLOW_WEBSOCKET;

	if (!websocket && !bp_flow_is_tls(f))
		return true;
	return !(f->pending & (BP_FLOW_PUSHES(0) | BP_FLOW_PUSHES(1) | BP_FLOW_PUSHED_EITHER)) &&
	       f->stream[0] != BP_STREAM_RESYNC && f->stream[1] != BP_STREAM_RESYNC &&
	       (websocket ? bp_websocket_is_sound(f) : bp_tls_is_sound(f));
}

static bool state_sound(const struct bp_flow *f)
{
	if (!(f->proof & BP_FLOW_IN_TABLE) || !version_sound(f))
		return false;
	for (unsigned dir = 0; dir < 2; dir++) {
		if (f->stream[dir] > BP_STREAM_NOT_INSPECTED ||
			f->not_inspected[dir] >
				BP_C_NOT_INSPECTED_LAST - BP_C_NOT_INSPECTED_NOT_MQTT)
			return false;
		if (f->stream[dir] == BP_STREAM_SKIP &&
			(f->skip[dir] == 0 || f->skip[dir] > PACKET_MAX))
			return false;
		if (!(f->proof & BP_FLOW_WEBSOCKET) && !bp_flow_is_tls(f) &&
			(f->resync[dir].skip > PACKET_MAX || f->resync[dir].versions > 3))
			return false;
	}
	return search_sound(f);
}

/* Two entries of one connection: a process was killed while it moved the flow. */
static bool is_double(const struct bp_mqtt_worker *in, const struct bp_flow *f)
{
	const struct bp_flow_table *t = &in->table;
	const uint64_t hash = bp_flow_hash(t, f->k0, f->k1);
	const uint32_t group[2] = {bp_flow_group1(t, hash), bp_flow_group2(t, hash)};

	for (unsigned i = 0; i < 2; i++) {
		uint32_t hits = bp_flow_tags_equal(&t->group[group[i]], bp_flow_tag(hash));

		for (; hits != 0; hits &= hits - 1) {
			const struct bp_flow *o = &t->flow[(uint64_t)group[i] * BP_FLOW_WAYS +
							   (unsigned)__builtin_ctz(hits)];

			if (o < f && o->k0 == f->k0 && o->k1 == f->k1 &&
				memcmp(o->client_ip, f->client_ip, 16) == 0 &&
				memcmp(o->broker_ip, f->broker_ip, 16) == 0)
				return true;
		}
	}
	return false;
}

/* Data of the flow in the arena. Returns false if the position in `dir` is lost with it. */
static bool adopt_reassembly(struct bp_mqtt_worker *in, struct bp_flow *f, unsigned dir)
{
	const bp_reassembly_ref ref = f->reassembly[dir];

	const bool in_upgrade = (f->proof & BP_FLOW_WEBSOCKET) && !f->websocket.upgraded[dir];
	const bool in_head = f->stream[dir] == BP_STREAM_BOUNDARY && f->reassembly_len[dir] != 0 &&
			     (in_upgrade || bp_flow_is_tls(f));

	if (in_head ? (in_upgrade ? bp_websocket_adopt : bp_tls_adopt_hello)(in, f, dir)
		    : f->stream[dir] == BP_STREAM_REASSEMBLE && bp_cut_adopt(in, f, dir))
		return true;
	if (f->stream[dir] != BP_STREAM_REASSEMBLE && ref == 0 && f->reassembly_len[dir] == 0 &&
		f->reassembly_need[dir] == 0)
		return true;
	f->reassembly[dir] = 0;
	f->reassembly_len[dir] = f->reassembly_need[dir] = 0;
	f->reassembly_decided[dir] = 0;
	return f->stream[dir] != BP_STREAM_REASSEMBLE && !in_head;
}

static void adopt_client_id(struct bp_mqtt_worker *in, struct bp_flow *f)
{
	const bool user = f->session & BP_SESSION_USER;

	if (f->client_id != 0 && (f->client_id_len != 0 || user) &&
		bp_adopt_block(in, f, f->client_id, f->client_id_len))
		return;
	if (f->client_id != 0 || user)
		f->session |= BP_SESSION_NO_ID;
	f->session &= (uint8_t)~BP_SESSION_USER;
	f->client_id = 0;
	f->client_id_len = 0;
}

/* Until the arena is open, when the search may release blocks, a lost position is represented by a
 * packet without carried data. */
static void lose_position(struct bp_flow *f, unsigned dir)
{
	f->stream[dir] = BP_STREAM_REASSEMBLE;
	f->reassembly[dir] = 0;
	f->reassembly_len[dir] = f->reassembly_need[dir] = 0;
}

static bool is_lost(const struct bp_flow *f, unsigned dir)
{
	return f->stream[dir] == BP_STREAM_REASSEMBLE && f->reassembly_len[dir] == 0;
}

static void search_lost(struct bp_mqtt_worker *in)
{
	const struct bp_flow_table *t = &in->table;

	for (uint64_t i = 0; i < (uint64_t)t->groups * BP_FLOW_WAYS; i++) {
		struct bp_flow *f = &t->flow[i];
		const bool lost[2] = {is_lost(f, 0), is_lost(f, 1)};

		for (unsigned dir = 0; dir < 2; dir++)
			if (lost[dir])
				f->stream[dir] = BP_STREAM_BOUNDARY;
		for (unsigned dir = 0; dir < 2; dir++)
			if (lost[dir] && f->stream[dir] == BP_STREAM_BOUNDARY)
				bp_resync_enter(in, f, dir, f->next[dir]);
	}
}

/* Numbers that are used without a check must be valid; nothing else depends on them. */
static void sanitize(struct bp_flow *f)
{
	for (unsigned dir = 0; dir < 2; dir++)
		if (f->scale[dir] > BP_SCALE_MAX && f->scale[dir] != BP_SCALE_UNSEEN)
			f->scale[dir] = BP_SCALE_MAX;
	f->marks &= BP_MARKS;
	f->proof &= (uint8_t)~BP_FLOW_MARKED;
	if (f->marks != 0)
		f->proof |= BP_FLOW_MARKED;
}

static void adopt_memory(struct bp_mqtt_worker *in, struct bp_flow *f)
{
	bool lost = false;

	f->carried = 0;
	sanitize(f);
	adopt_client_id(in, f);
	bp_will_adopt(in, f);
	if (bp_flow_is_tls(f))
		bp_tls_adopt(in, f);
	bp_judged_adopt(in, f);
	/* links between blocks may be half changed */
	if (f->unacked != 0)
		bp_tally(in, BP_C_ACK_NOT_ADOPTED);
	f->unacked = 0;
	for (unsigned dir = 0; dir < 2; dir++) {
		/* the data that waited for a proof is lost, and the read position with it */
		const bool known = f->waiting[dir] == 0 && adopt_reassembly(in, f, dir);

		/* segments ahead of the stream are sent again, or their loss shows as a gap */
		f->out_of_order[dir] = 0;
		f->out_of_order_bytes[dir] = 0;
		f->waiting[dir] = 0;
		/* a recorded one may not have been evaluated: a duplicate is preferred to a loss */
		f->qos2[dir] = 0;
		f->pending &= (uint8_t)~BP_FLOW_HELD(dir);
		if (!known || !bp_alias_adopt(in, f, dir)) {
			f->aliases[dir] = 0;
			f->n_aliases[dir] = 0;
		}
		if (!known)
			lose_position(f, dir);
		lost |= !known;
	}
	bp_tally(in, lost ? BP_C_CONN_ADOPTED_RESYNC : BP_C_CONN_ADOPTED);
}

static unsigned list_of(const struct bp_flow *f)
{
	if (f->flags & BP_FLOW_CLOSED)
		return BP_LIST_CLOSED;
	return f->proof & BP_FLOW_PROVEN ? BP_LIST_PROVEN : BP_LIST_UNPROVEN;
}

static bool within_bounds(const struct bp_flow_table *t, const struct bp_flow *f)
{
	const unsigned list = list_of(f);

	return t->count < t->capacity + t->max_unproven &&
	       (list != BP_LIST_PROVEN || t->proven < t->capacity) &&
	       (list != BP_LIST_UNPROVEN || t->unproven < t->max_unproven);
}

static void adopt_flow(struct bp_mqtt_worker *in, struct bp_flow *f, uint32_t g)
{
	struct bp_flow_table *t = &in->table;
	const uint32_t first = bp_flow_group1(t, bp_flow_hash(t, f->k0, f->k1));

	if (g != first)
		t->group[first].elsewhere++;
	t->count++;
	t->in_network[bp_flow_network(f)]++;
	f->memo_gen = 0;
	if ((int32_t)(t->now - f->seen) < 0)
		f->seen = t->now;
	f->list = BP_FILE_NONE;
	adopt_memory(in, f);
	if (f->has_alias_max & BP_FLOW_COUNTED)
		bp_policy_recount(in, f);
	bp_flow_file(t, f, list_of(f));
}

static void clear(struct bp_flow *f)
{
	const uint16_t life = (uint16_t)(f->life + 1);

	memset(f, 0, sizeof(*f));
	__atomic_store_n(&f->life, life, __ATOMIC_RELEASE);
}

/* Restores the windows and positions before the burst if none of its alarms was published; the
 * first position of each flow is restored last. */
static void restore_burst(struct bp_mqtt_worker *in)
{
	const uint64_t lines =
		(uint64_t)in->table.groups * BP_FLOW_WAYS * sizeof(struct bp_flow) / 64;
	struct bp_journal *j = in->journal;

	if (j->burst_ring_head == bp_ring_head(in->ring))
		bp_window_restore_burst(in);
	for (unsigned i = BP_JOURNAL_NOTES;
		i-- != 0 && j->burst_ring_head == bp_ring_head(in->ring);) {
		const uint64_t line = (uint32_t)j->note[i] - 1;

		if (j->note[i] != 0 && line < lines && line % (sizeof(struct bp_flow) / 64) == 0)
			in->table.flow[line / (sizeof(struct bp_flow) / 64)].next[BP_TO_BROKER] =
				(uint32_t)(j->note[i] >> 32);
	}
	bp_journal_burst(j, in->ring, 0, BP_JOURNAL_NOTES);
}

/* Restores the flow in progress to its state before the segment, which is processed again. */
static void restore(struct bp_mqtt_worker *in)
{
	struct bp_journal *j = in->journal;
	const uint32_t slot = j->slot - 1;
	struct bp_flow *f;

	if (j->slot == 0 || j->ring_head != bp_ring_head(in->ring)) {
		bp_journal_end(j);
		return;
	}
	for (uint32_t i = j->undos < BP_JOURNAL_UNDO ? j->undos : BP_JOURNAL_UNDO; i-- != 0;)
		bp_rule_undo(in->rule_state, in->rule_state_len, &j->undo[i]);
	j->undos = 0;
	bp_window_restore(in);
	if (slot < (uint64_t)in->table.groups * BP_FLOW_WAYS && j->lines <= sizeof(*f) / 64) {
		f = &in->table.flow[slot];
		if (j->lines == 0)
			in->table.group[slot / BP_FLOW_WAYS].tag[slot % BP_FLOW_WAYS] = 0;
		/* it may have been closed, and the slot reused */
		else if (f->k0 == j->before.k0 && f->k1 == j->before.k1 &&
			 f->life == j->before.life)
			memcpy(f, &j->before, (size_t)j->lines * 64);
	}
	bp_journal_end(j);
}

static void adopt_all(struct bp_mqtt_worker *in)
{
	struct bp_flow_table *t = &in->table;

	for (uint32_t g = 0; g < t->groups; g++)
		t->group[g].elsewhere = 0;
	for (uint32_t g = 0; g < t->groups; g++) {
		for (unsigned way = 0; way < BP_FLOW_WAYS; way++) {
			struct bp_flow *f = &t->flow[(uint64_t)g * BP_FLOW_WAYS + way];
			const uint16_t tag = t->group[g].tag[way];

			if (tag == 0) {
				if (f->proof != 0)
					clear(f);
				continue;
			}
			if (within_bounds(t, f) && key_sound(in, f, g, tag) && state_sound(f) &&
				!is_double(in, f)) {
				adopt_flow(in, f, g);
				continue;
			}
			bp_tally(in, BP_C_CONN_NOT_ADOPTED);
			t->group[g].tag[way] = 0;
			clear(f);
		}
	}
}

const char *bp_adopt(struct bp_mqtt_worker *in, const struct bp_mqtt_options *o, unsigned worker)
{
	struct bp_flow_header *h = in->table.header;
	const uint64_t shape = shape_of(in, o, worker), booted = boot();
	const bool any = h->magic == BP_FLOW_MAGIC;
	const char *why = NULL;

	if (any && h->delayed_wills <= in->table.capacity)
		in->counters->v[BP_C_WILL_DELAYED_RESTART] += h->delayed_wills;
	h->delayed_wills = 0;

	if (any && (h->shape != shape || h->groups != in->table.groups))
		why = "the ports, the networks, the workers or the bounds of mqtt have changed";
	else if (any && h->boot != booted)
		why = "the machine was booted";
	if (any && why == NULL) {
		in->table.now = h->now;
		in->table.wheel_at = (in->table.now >> in->table.wheel_shift) - (BP_WHEEL - 1);
		in->table.wheel_at &= UINT32_MAX >> in->table.wheel_shift;
		bp_networks_adopt(in);
		restore_burst(in);
		restore(in);
		adopt_all(in);
	} else {
		h->shape = 0; /* names and shape belong together, also if this process is killed */
		bp_flow_table_clear(&in->table);
		/* not before: readers would see connections of an earlier process under them */
		memset(h->network, 0, sizeof(h->network));
		memcpy(h->network, o->networks, sizeof(o->networks));
		bp_networks_adopt(in);
		bp_journal_burst(in->journal, in->ring, 0, BP_JOURNAL_NOTES);
		bp_journal_end(in->journal);
		h->shape = shape;
		h->boot = booted;
	}
	in->counters->v[BP_C_WINDOW_EMPTIED] +=
		bp_window_recover(&in->windows, (uint16_t)worker, (uint16_t)in->workers);
	bp_reassembly_open(in->reassembly);
	if (any && why == NULL)
		search_lost(in);
	return why;
}
