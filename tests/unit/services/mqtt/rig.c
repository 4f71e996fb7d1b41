/* SPDX-License-Identifier: BSD-3-Clause */
#include "biplane/counters/mqtt.h"
#include "rig.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>

#include "services/mqtt/single_publish.h" /* for its checksum alone */
#include "config/segment.h"
#include "proto/net/frame.h"

#define SECOND 1000000000ull

static void must(bool ok, const char *what)
{
	if (!ok) {
		fprintf(stderr, "rig: %s\n", what);
		abort();
	}
}

void rig_defaults(struct rig *r)
{
	struct bp_config_mqtt *m = &r->mqtt;

	memset(r, 0, sizeof(*r));
	r->config.n_workers = 1;
	r->config.service[BP_SERVICE_MQTT] = m;
	m->enabled = true;
	m->n_tcp_ports = 1;
	m->tcp_ports[0] = 1883;
	m->directions = BP_DIRECTIONS_TO_BROKER;
	m->max_connections = 1024;
	m->connection_timeout_ns = 60 * SECOND;
	m->handshake_timeout_ns = 10 * SECOND;
	m->reassembly_per_connection = 64 * 1024;
	m->reassembly_total = 4 * 1024 * 1024;
	m->reorder_buffer = 64 * 1024;
	m->max_topic_aliases = 256;
	m->connection_cpu_percent = m->worker_cpu_percent = 100000; /* most tests stop the clock */
	m->resync_packets = 4;
	m->max_alarm_states = 1024;
	m->max_sparkplug_metrics = 1024;
	m->max_watched_topics = 1024;
	m->max_combination_values = 1024;
	m->max_windows = 64;
	m->max_window_values = 64;
	m->max_rules = 64;
	m->max_policy_rules = 64;
	m->max_policy_rates = 64;
	m->alarm_queue_size = 1024 * 1024;
	r->now_ns = 1700000000ull * SECOND + 123456789;
	r->mono_ns = 1000 * SECOND;
}

static struct bp_mqtt_worker *create(struct rig *r)
{
	struct bp_mqtt_options options;
	struct bp_mqtt_worker *in;
	char err[256] = "";

	bp_config_mqtt_options(&r->config, &options);
	in = bp_mqtt_worker_create(&options, &r->shm, 0, !r->live, err, sizeof(err));
	must(in != NULL, err);
	return in;
}

void rig_open(struct rig *r)
{
	struct bp_seg_spec specs[BP_SHM_SPECS_MAX];
	char err[256] = "";
	unsigned n = bp_shm_specs(&r->config, specs);

	/* A test uses little of a segment: to clear huge pages would take most of its time. */
	(void)prctl(PR_SET_THP_DISABLE, 1, 0, 0, 0);
	r->segment = bp_segment_anonymous(specs, n, err, sizeof(err));
	must(r->segment != NULL, err);
	must(bp_shm_map(&r->shm, r->segment, err, sizeof(err)) == 0, err);
	/* not the random key of a real segment: failures must be reproducible */
	r->shm.global->hash_key[0] = 0x243f6a8885a308d3ull;
	r->shm.global->hash_key[1] = 0x13198a2e03707344ull ^ r->gateway * 0x9e3779b97f4a7c15ull;
	r->in = create(r);
	r->frame = malloc(PEER_FRAME_MAX);
	must(r->frame != NULL, "no memory");
	r->rules = bp_shm_rules(&r->shm, 0);
	bp_mqtt_worker_begin(r->in, r->rules, r->now_ns, r->mono_ns);
}

void rig_restart(struct rig *r)
{
	bp_mqtt_worker_free(r->in);
	r->in = create(r);
	bp_mqtt_worker_begin(r->in, r->rules, r->now_ns, r->mono_ns);
}

void rig_advance(struct rig *r, uint64_t ns)
{
	r->now_ns += ns;
	r->mono_ns += ns;
	bp_mqtt_worker_begin(r->in, r->rules, r->now_ns, r->mono_ns);
}

void rig_expire_all(struct rig *r)
{
	uint64_t most = r->mqtt.connection_timeout_ns;

	if (most < r->mqtt.handshake_timeout_ns)
		most = r->mqtt.handshake_timeout_ns;
	rig_advance(r, most + 60 * SECOND);
	for (uint32_t i = 0; bp_mqtt_worker_flows(r->in) != 0; i++) {
		bp_mqtt_worker_tick(r->in, r->mono_ns);
		must(i <= r->mqtt.max_connections + 4096, "flows that do not expire");
	}
	bp_mqtt_worker_end_delays(r->in);
}

void rig_close(struct rig *r)
{
	rig_expire_all(r);
	must(bp_mqtt_worker_carried(r->in) == 0, "bytes are carried that belong to no flow");
	bp_mqtt_worker_free(r->in);
	bp_segment_close(r->segment);
	free(r->frame);
}

void rig_reload(struct rig *r, const struct bp_rule_spec *rules, uint32_t n)
{
	const struct bp_mirror_target clone = r->mqtt.mirror;
	struct bp_ruleset_input input = {.specs = rules,
		.n = n,
		.max_rules = r->shm.max_rules,
		.clone = &clone,
		.policy = &r->mqtt.policy,
		.max_policy_rules = r->shm.max_policy_rules,
		.old = r->rules,
		.now_ns = r->now_ns};
	char err[256] = "";

	r->generation++;
	input.generation = r->generation;
	must(bp_ruleset_compile((void *)bp_shm_rules(&r->shm, r->generation),
		     r->shm.rules.bank_size, &input, err, sizeof(err)) == 0,
		err);
	r->rules = bp_shm_rules(&r->shm, r->generation);
}

void rig_rules(struct rig *r, const struct bp_rule_spec *rules, uint32_t n)
{
	rig_reload(r, rules, n);
	bp_mqtt_worker_begin(r->in, r->rules, r->now_ns, r->mono_ns);
}

struct bp_rule_spec rig_rule(const char *name, const char *filter, uint8_t op, double a)
{
	struct bp_rule_spec s;

	memset(&s, 0, sizeof(s));
	snprintf(s.name, sizeof(s.name), "%s", name);
	snprintf(s.filter, sizeof(s.filter), "%s", filter);
	snprintf(s.to, sizeof(s.to), "alarm/{topic}");
	s.value.kind = BP_VALUE_TEXT;
	s.raise.op = op;
	s.raise.a = a;
	return s;
}

bool rig_plain_checksum_ok(const uint8_t *frame, uint32_t total)
{
	return bp_single_checksum_ok(frame, total);
}

uint64_t rig_count(const struct rig *r, bp_counter_t c)
{
	return r->shm.counters[0].v[c];
}

static void tally(struct rig *r, bp_counter_t c)
{
	r->shm.counters[0].v[c]++;
}

/* After the headers each piece is in memory of its own, as in a chain of mbufs. */
static void frame_in_pieces(struct rig *r, struct bp_frame *f, const uint8_t *frame)
{
	struct bp_piece piece[64];
	uint32_t first = f->payload_len < r->pieces ? f->payload_len : r->pieces;
	uint32_t at = f->payload + first, left = f->payload_len - first;
	uint8_t *head = malloc(f->payload + first);

	must(head != NULL, "no memory");
	memcpy(head, frame, f->payload + first);
	f->data = head;
	f->contiguous = f->payload + first;
	f->more = piece;
	for (f->n_more = 0; left != 0; f->n_more++) {
		uint32_t n = left < r->pieces || f->n_more == 63 ? left : r->pieces;
		uint8_t *p = malloc(n);

		must(p != NULL, "no memory");
		memcpy(p, frame + at, n);
		piece[f->n_more].data = p;
		piece[f->n_more].len = n;
		at += n;
		left -= n;
	}
	if (!r->trust_checksums && !bp_frame_checksum_ok(f))
		tally(r, BP_C_SEG_BAD_CHECKSUM);
	else
		bp_inspect_one(r->in, f);
	for (unsigned i = 0; i < f->n_more; i++)
		free((void *)piece[i].data);
	f->n_more = 0;
	f->more = NULL;
	free(head);
}

/* Frames that node `ethernet` classifies as plain. */
static bool is_plain(struct rig *r, const uint8_t *p, size_t len)
{
	uint32_t total, header;
	bool to_broker;

	if (len < 54 || bp_be16(p + 12) != BP_ETHER_IP4 || p[14] != 0x45 || p[23] != 6 ||
		(bp_be16(p + 20) & 0x3fff) != 0)
		return false;
	total = bp_be16(p + 16);
	header = (uint32_t)(p[46] >> 4) * 4;
	return bp_mqtt_worker_inspects(r->in, bp_be16(p + 34), bp_be16(p + 36), &to_broker) &&
	       to_broker && 14 + total <= len && header >= 20 && 20 + header <= total;
}

static void answer(struct rig *r, const struct bp_frame *f, const struct bp_answer *a)
{
	const uint32_t size = bp_answer_frame_size(f, a);
	uint8_t *out = malloc(size);

	must(size != 0 && out != NULL, "no answer");
	bp_answer_frame_build(f, a, out);
	if (r->forwarded != NULL)
		r->forwarded(r->forwarded_arg, out, size, a->to_client);
	free(out);
}

/* As node `mqtt` does it: dataplane/mqtt/enforced.c. */
static void enforce_with(
	struct rig *r, uint8_t *exact, uint32_t len, struct bp_frame *f, struct bp_lookup *l)
{
	struct bp_enforced e;

	bp_inspect_enforce(r->in, f, l, r->no_payload ? NULL : exact + f->payload, &e);
	for (unsigned i = 0; i < e.n_answers; i++)
		answer(r, f, &e.answer[i]);
	if (e.verdict == BP_FRAME_DROP) {
		must(e.reason != 0, "a drop without a reason");
		tally(r, e.reason);
		return;
	}
	if (e.verdict == BP_FRAME_CUT)
		len = bp_frame_cut(exact, f, e.keep);
	else if (e.changed)
		len = bp_frame_changed(exact, f);
	if (r->forwarded != NULL)
		r->forwarded(r->forwarded_arg, exact, len, !f->to_broker);
}

static void enforce(struct rig *r, uint8_t *exact, uint32_t len, struct bp_frame *f)
{
	struct bp_lookup l;

	bp_inspect_hash(r->in, f, &l);
	bp_inspect_probe(r->in, f, &l);
	enforce_with(r, exact, len, f, &l);
}

/* A frame of a burst whose topic was overwritten. */
static void correct_checksum(struct rig *r, uint32_t i)
{
	struct bp_frame *f = &r->burst.parsed[i];

	must(bp_frame_parse(r->exact[i], r->len[i], r->len[i], f) == BP_FRAME_TCP,
		"a changed frame is none");
	r->len[i] = bp_frame_changed(r->exact[i], f);
}

/* Frames of a burst up to `end` that the burst path has read. */
static void forward_allowed(struct rig *r, uint32_t end)
{
	struct bp_mqtt_burst *b = &r->burst;
	uint64_t without_room = 0;

	if (bp_mqtt_worker_enforces(r->in))
		without_room = bp_enforce_allowed(r->in, b, r->done, end);
	for (; b->changed != 0; b->changed &= b->changed - 1) {
		correct_checksum(r, (uint32_t)__builtin_ctzll(b->changed));
		r->n_blanked++;
	}
	for (; r->done < end; r->done++) {
		if (without_room >> r->done & 1)
			tally(r, BP_C_DROP_POLICY_MEMORY);
		else if (bp_mqtt_worker_enforces(r->in) && r->forwarded != NULL)
			r->forwarded(r->forwarded_arg, b->frame[r->done], r->len[r->done], false);
	}
}

static void general(void *arg, uint32_t i)
{
	struct rig *r = arg;
	struct bp_mqtt_burst *b = &r->burst;
	struct bp_frame *f = &b->parsed[i];

	r->n_general++;
	if (b->kind[i] != BP_BURST_PARSED) {
		must(bp_frame_parse(b->frame[i], r->len[i], r->len[i], f) == BP_FRAME_TCP,
			"a plain frame is none");
		f->to_broker = true;
		f->network = b->network[i];
	}
	forward_allowed(r, i);
	r->done = i + 1;
	if (!r->trust_checksums && !bp_frame_checksum_ok(f))
		tally(r, BP_C_SEG_BAD_CHECKSUM);
	else if (bp_mqtt_worker_enforces(r->in))
		enforce_with(r, r->exact[i], r->len[i], f, &b->l[i]);
	else
		bp_inspect_segment(r->in, f, &b->l[i]);
}

void rig_flush(struct rig *r)
{
	struct bp_mqtt_burst *b = &r->burst;

	if (b->n == 0)
		return;
	r->n_in_bursts += b->n;
	r->done = 0;
	b->writable = bp_mqtt_worker_enforces(r->in) && !r->no_payload ? UINT64_MAX : 0;
	bp_mqtt_burst_read(r->in, b, general, r);
	forward_allowed(r, b->n);
	r->n_numbers += (uint64_t)__builtin_popcountll(b->numbers);
	r->n_template += (uint64_t)__builtin_popcountll(b->same_template);
	for (uint32_t i = 0; i < b->n; i++)
		free(r->exact[i]);
	b->n = 0;
}

/* As nodes `ethernet` and `mqtt` do it. Takes `exact` over. */
static void burst_frame(struct rig *r, uint8_t *exact, uint32_t len, const struct bp_frame *f)
{
	struct bp_mqtt_burst *b = &r->burst;
	uint32_t i = b->n++;

	r->exact[i] = exact;
	r->len[i] = len;
	b->frame[i] = exact;
	b->parsed[i] = *f;
	b->network[i] = f->network;
	b->networks_differ = i != 0 && (b->networks_differ || f->network != b->network[0]);
	b->kind[i] = BP_BURST_PARSED;
	if (is_plain(r, exact, len))
		b->kind[i] = r->trust_checksums ? BP_BURST_VERIFIED : BP_BURST_UNVERIFIED;
	if (b->n >= (r->burst_size == 0 ? 1 : r->burst_size))
		rig_flush(r);
}

/* True when it keeps the frame. */
static bool segment_frame(struct rig *r, uint8_t *exact, uint32_t len, struct bp_frame *f)
{
	if (!bp_mqtt_worker_inspects(r->in, f->sport, f->dport, &f->to_broker))
		return false;
	f->network = r->network;
	if (r->pieces != 0) {
		frame_in_pieces(r, f, exact);
		return false;
	}
	f->port = f->to_broker || r->broker_port == 0 ? r->port : r->broker_port;
	f->routed = r->routed;
	if (bp_mqtt_worker_enforces(r->in) && !r->bursts) {
		if (r->trust_checksums || bp_frame_checksum_ok(f))
			enforce(r, exact, len, f);
		return false;
	}
	if (r->bursts) {
		burst_frame(r, exact, len, f);
		return true;
	}
	if (!r->trust_checksums && !bp_frame_checksum_ok(f))
		tally(r, BP_C_SEG_BAD_CHECKSUM);
	else
		bp_inspect_one(r->in, f);
	return false;
}

static void record_frame(struct rig_frames *f, const uint8_t *frame, size_t len)
{
	f->frame = realloc(f->frame, (f->n + 1) * sizeof(*f->frame));
	must(f->frame != NULL, "no memory");
	memset(&f->frame[f->n], 0, sizeof(*f->frame));
	bytes_add(&f->frame[f->n++], frame, len);
}

void rig_frames_free(struct rig_frames *f)
{
	while (f->n != 0)
		bytes_free(&f->frame[--f->n]);
	free(f->frame);
	f->frame = NULL;
}

void rig_frame(struct rig *r, const uint8_t *frame, size_t len)
{
	uint8_t *exact;
	struct bp_frame f;

	if (r->record != NULL) {
		record_frame(r->record, frame, len);
		return;
	}
	exact = malloc(len);
	must(exact != NULL, "no memory");
	memcpy(exact, frame, len);
	switch (bp_frame_parse(exact, (uint32_t)len, (uint32_t)len, &f)) {
	case BP_FRAME_TCP:
		if (segment_frame(r, exact, (uint32_t)len, &f))
			return;
		break;
	case BP_FRAME_FRAGMENT:
		tally(r, BP_C_SEG_FRAGMENT);
		break;
	case BP_FRAME_BAD:
		tally(r, BP_C_SEG_BAD_HEADER);
		break;
	case BP_FRAME_UNREAD:
		tally(r, BP_C_NOT_INSPECTED_VLAN + f.unread);
		break;
	case BP_FRAME_OTHER:
		break;
	}
	free(exact);
}

void rig_segment(struct rig *r, const struct peer *c, unsigned from, uint8_t flags, uint32_t seq,
	uint32_t ack, const void *payload, size_t n)
{
	rig_frame(r, r->frame, peer_frame(c, from, flags, seq, ack, payload, n, r->frame));
}

void rig_send(struct rig *r, struct peer *c, unsigned from, const void *payload, size_t n)
{
	rig_segment(r, c, from, TH_ACK | TH_PSH, c->seq[from], c->seq[!from], payload, n);
	c->seq[from] += (uint32_t)n;
}

void rig_send_bytes(struct rig *r, struct peer *c, unsigned from, struct bytes *b)
{
	rig_send(r, c, from, b->p, b->n);
	bytes_free(b);
}

void rig_ack(struct rig *r, const struct peer *c, unsigned from)
{
	rig_segment(r, c, from, TH_ACK, c->seq[from], c->seq[!from], NULL, 0);
}

void rig_ack_all(struct rig *r, const struct peer *c, unsigned from)
{
	rig_ack(r, c, !from);
	rig_ack(r, c, from);
}

void rig_accept(struct rig *r, struct peer *c, uint8_t version)
{
	struct bytes b = {0};

	mq_connack(&b, version, 0, 0, NULL);
	rig_send_bytes(r, c, BROKER, &b);
}

void rig_handshake(struct rig *r, struct peer *c)
{
	rig_segment(r, c, CLIENT, TH_SYN, c->seq[CLIENT]++, 0, NULL, 0);
	rig_segment(r, c, BROKER, TH_SYN | TH_ACK, c->seq[BROKER]++, c->seq[CLIENT], NULL, 0);
	rig_ack(r, c, CLIENT);
}

static void connect_with(struct rig *r, struct peer *c, uint8_t version, const char *client_id,
	uint16_t broker_allows, uint16_t client_allows)
{
	struct bytes b = {0};

	rig_handshake(r, c);
	mq_connect(&b, version, client_id, client_allows);
	rig_send_bytes(r, c, CLIENT, &b);
	mq_connack(&b, version, 0, broker_allows, NULL);
	rig_send_bytes(r, c, BROKER, &b);
	rig_ack(r, c, CLIENT);
}

void rig_connect(struct rig *r, struct peer *c, uint8_t version, const char *client_id)
{
	connect_with(r, c, version, client_id, 0, 0);
}

void rig_connect_alias(struct rig *r, struct peer *c, const char *client_id, uint16_t broker_allows,
	uint16_t client_allows)
{
	connect_with(r, c, 5, client_id, broker_allows, client_allows);
}

void rig_publish(struct rig *r, struct peer *c, unsigned from, const struct mq_publish *p)
{
	struct bytes b = {0};

	mq_publish(&b, p);
	rig_send_bytes(r, c, from, &b);
}

void rig_publish_text(struct rig *r, struct peer *c, const char *topic, const char *payload)
{
	rig_publish(r, c, CLIENT,
		&(struct mq_publish){.version = 4, .topic = topic, .payload = payload});
}

void rig_fin_both(struct rig *r, struct peer *c)
{
	rig_segment(r, c, CLIENT, TH_FIN | TH_ACK, c->seq[CLIENT]++, c->seq[BROKER], NULL, 0);
	rig_segment(r, c, BROKER, TH_FIN | TH_ACK, c->seq[BROKER]++, c->seq[CLIENT], NULL, 0);
	rig_ack(r, c, CLIENT);
}

static void text_of(char *out, size_t room, const char *p, size_t n)
{
	must(n < room, "an alarm's text is longer than tests expect");
	memcpy(out, p, n);
	out[n] = 0;
}

struct told_list rig_told(struct rig *r)
{
	struct bp_ring *ring = bp_shm_ring(&r->shm, 0);
	uint64_t cursor = bp_ring_tail(ring);
	struct told_list l = {NULL, 0};
	const struct bp_alarm *a;
	uint32_t size;

	while ((a = bp_ring_peek(ring, &cursor, &size)) != NULL) {
		struct told *t;

		must(bp_alarm_valid(a, size), "an alarm that is not valid");
		if ((l.n & (l.n - 1)) == 0) /* doubling */
			l.a = realloc(l.a, (l.n != 0 ? 2 * l.n : 1) * sizeof(*l.a));
		must(l.a != NULL, "no memory");
		t = &l.a[l.n++];
		memset(t, 0, sizeof(*t));
		t->id = a->id;
		t->time_ns = a->time_ns;
		must(bp_alarm_times(a, size, &t->times), "an alarm without times");
		t->value = a->value;
		t->state = a->state;
		t->flags = a->flags;
		t->qos = a->qos;
		t->severity = a->severity;
		t->transition = bp_alarm_transition(a);
		t->client_port = a->client_port;
		memcpy(t->client_ip, a->client_ip, 16);
		text_of(t->rule, sizeof(t->rule), bp_alarm_rule(a), a->rule_len);
		text_of(t->client, sizeof(t->client), bp_alarm_client_id(a), a->client_id_len);
		text_of(t->topic, sizeof(t->topic), bp_alarm_topic(a), a->topic_len);
		text_of(t->to, sizeof(t->to), bp_alarm_to(a), a->to_len);
		t->value_text = a->value_text;
		text_of(t->value_string, sizeof(t->value_string), bp_alarm_value_string(a),
			bp_alarm_value_len(a->value_text));
		t->payload_len = a->payload_len;
		t->payload = malloc((size_t)a->payload_len + 1);
		must(t->payload != NULL, "no memory");
		memcpy(t->payload, bp_alarm_payload(a), a->payload_len);
		t->payload[a->payload_len] = 0;
	}
	bp_ring_release(ring, cursor);
	return l;
}

void told_free(struct told_list *l)
{
	for (size_t i = 0; i < l->n; i++)
		free(l->a[i].payload);
	free(l->a);
	l->a = NULL;
	l->n = 0;
}

const char *rig_told_values(struct rig *r)
{
	static char text[4096];
	struct told_list l = rig_told(r);
	size_t n = 0;

	text[0] = 0;
	for (size_t i = 0; i < l.n; i++)
		n += (size_t)snprintf(
			text + n, sizeof(text) - n, "%s%g", i ? " " : "", l.a[i].value);
	told_free(&l);
	return text;
}

size_t rig_told_count(struct rig *r)
{
	struct bp_ring *ring = bp_shm_ring(&r->shm, 0);
	uint64_t cursor = bp_ring_tail(ring);
	const struct bp_alarm *a;
	uint32_t size;
	size_t n = 0;

	while ((a = bp_ring_peek(ring, &cursor, &size)) != NULL) {
		must(bp_alarm_valid(a, size), "an alarm that is not valid");
		n++;
	}
	bp_ring_release(ring, cursor);
	return n;
}
