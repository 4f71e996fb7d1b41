/* SPDX-License-Identifier: BSD-3-Clause */
#include "biplane/counters/health.h"
#include "biplane/health.h"
#include "dataplane/health/phd_node.h"

#include "dataplane/nodes/rewrite.h"
#include "services/health/template.h"
#include "services/health/last_report.h"

_Static_assert(BP_PHD_TEMPLATE_APDU_MIN >= BP_PHD_HASH_SHORT_MIN &&
		       BP_PHD_TEMPLATE_APDU <= BP_PHD_HASH_SHORT,
	"one hash is for all of them");

/*
 * Reports on the general path before another shape becomes the template, so that two alternating
 * shapes do not replace each other with every report.
 */
#define LEARN_EVERY 64u

/* A report that matched, and the data for its request. */
struct request {
	struct rte_mbuf *m;
	const struct bp_phd_template *q;
	const struct bp_phd_session *s;
	const struct bp_phd_sfloat *value[BP_PHD_TEMPLATE_VALUES];
	uint64_t token;
	uint32_t pair, number;
	uint16_t life;
};

void bp_phd_same_template_begin(struct bp_phd_burst *t)
{
	t->sums = (struct bp_phd_template_sums){0};
	t->stored = t->h->plan.confirm == BP_PHD_CONFIRM_STORED;
	t->sent_time = bp_phd_sent_time(t->w->mono_ns);
	if (t->cse_known) {
		const uint64_t mac = t->w->router.tx_mac[t->cse.interface];

		t->ether_first = bp_ethernet_first(t->cse.link, mac);
		t->ether_rest = bp_ethernet_rest(mac);
	}
}

void bp_phd_same_template_end(struct bp_phd_burst *t)
{
	bp_count(t->w, BP_C_PHD_REPORTS, t->sums.reports);
	bp_count(t->w, BP_C_PHD_REPORTS_CONFIRMED, t->sums.confirmed);
	bp_count(t->w, BP_C_CSE_REQUESTS, t->sums.reports);
	bp_count(t->w, BP_C_PHD_OBSERVATIONS, t->sums.observations);
	bp_count(t->w, BP_C_CSE_UNACKNOWLEDGED, t->sums.unacknowledged);
}

/* Returns the template that matches the shape of a report, if any. */
static inline const struct bp_phd_template *find_shape(const struct bp_phd_burst *t, uint64_t word,
	const struct bp_datagram *d, const struct rte_mbuf *m)
{
	const struct bp_phd_worker *h = t->h;
	const uint64_t deciding = 0xff | BP_PHD_READY << 8;
	const struct bp_phd_layout *l = bp_phd_layout_of(h->t, word);
	const struct bp_phd_template *q;

	if (unlikely((word & deciding) != (BP_PHD_OPERATING | BP_PHD_READY << 8) || l == NULL))
		return NULL;
	q = &h->template[bp_phd_word_layout(word)];
	if (unlikely(q->bound > t->room || q->bound > bp_frame_tailroom(m) ||
		     !bp_phd_template_is(q, l, d->payload, d->len)))
		return NULL;
	return q;
}

/*
 * Registers a new report. False: it may be another one, or cannot be sent now; no state is changed.
 */
static inline bool begin_report(struct bp_phd_burst *t, struct bp_phd_session *s,
	const struct rte_mbuf *m, const struct bp_datagram *d, const struct bp_phd_template *q,
	struct request *r)
{
	const uint8_t *apdu = d->payload;
	const uint16_t invoke_id = bp_be16(apdu + BP_PHD_AT_INVOKE);
	const uint64_t last = bp_phd_last_pack(invoke_id, bp_be16(apdu + BP_PHD_AT_REPORT_NO), 1);
	const bool confirmed = bp_phd_template_confirmed(apdu);
	const struct bp_phd_report_words words = bp_phd_report_words_read(s);
	const struct bp_phd_token token = {.slot = (uint32_t)(s - t->h->t->sessions),
		.invoke_id = invoke_id,
		.only = true,
		.confirmed = confirmed};
	uint64_t sum;

	if (unlikely((last ^ words.last) >> 32 == 0 ||
		     bp_phd_sent_number(words.sent) == BP_PHD_SENT_MANY ||
		     (confirmed && !t->stored) || !bp_phd_template_read(q, apdu, r->value, &sum) ||
		     !bp_datagram_is_complete_to(m, d, sum) ||
		     !bp_phd_worker_ids_take(t->h, 1, t->w->router.now_s, &r->pair)))
		return false;
	r->number = bp_phd_report_words_begin(s);
	bp_phd_report_words_end(s, last,
		bp_phd_sent_at(r->pair, bp_phd_report_hash_short(&t->h->hash_keys, apdu, d->len),
			t->sent_time));
	r->token = bp_phd_token_pack(&token, r->life, t->h->t->hash_key);
	t->sums.reports++;
	t->sums.confirmed += confirmed;
	t->sums.observations += q->values;
	t->sums.unacknowledged += (uint64_t)__builtin_popcount(bp_phd_last_open(words.last));
	return true;
}

static inline bool match_report(struct bp_phd_burst *t, const struct bp_phd_heads *heads,
	uint32_t i, struct rte_mbuf *m, struct request *r)
{
	const struct bp_datagram *d = &heads->d[i];
	struct bp_phd_session *s = &t->h->t->sessions[heads->candidate[i]];
	const uint64_t word = atomic_load_explicit(&s->word, memory_order_acquire);

	if (unlikely(!bp_phd_is_of(s, heads->from[i][0], heads->from[i][1], bp_datagram_sport(d),
		    BP_PHD_TRANSPORT_UDP)))
		return false;
	r->q = find_shape(t, word, d, m);
	if (unlikely(r->q == NULL))
		return false;
	r->m = m;
	r->s = s;
	r->life = bp_phd_word_life(word);
	return begin_report(t, s, m, d, r->q, r);
}

/* Converts the mbuf of the report into its request. */
static inline void write_request(const struct bp_phd_burst *t, const struct request *r)
{
	const struct bp_phd_worker *h = t->h;
	const uint32_t head = h->head_len;
	const uint16_t sport = __builtin_bswap16((uint16_t)(r->pair >> 16));
	const struct bp_phd_identity id = {.system_id = r->s->system_id,
		.associated_s = r->s->associated_s,
		.report = r->number,
		.life = r->life,
		.mid = (uint16_t)r->pair,
		.token = r->token};
	uint8_t *frame = rte_pktmbuf_mtod(r->m, uint8_t *);
	uint64_t sum;
	const uint32_t len = bp_phd_template_write(r->q, &id, r->value, frame, &sum);

	bp_ethernet_write(frame, t->ether_first, t->ether_rest);
	memcpy(frame + head - BP_UDP_HDR, &sport, sizeof(sport));
	bp_datagram_seal(frame, head, h->cse_is_ip6, len - head, len - head, h->ip_sum,
		bp_sum_add(sum, h->udp_sum + sport));
	r->m->data_len = (uint16_t)len;
	r->m->pkt_len = len;
	r->m->ol_flags = 0;
	bp_egress_mark(r->m, t->cse.interface);
}

/* A separate function, so that the loop has all registers. */
static __rte_noinline void write_requests(
	struct bp_phd_burst *t, const struct request *run, uint32_t n)
{
	void **to = t->out.frames + t->out.n;
	uint32_t bytes = 0;

	for (uint32_t i = 0; i < n; i++) {
		write_request(t, &run[i]);
		to[i] = run[i].m;
		bytes += run[i].m->pkt_len;
	}
	t->out.n += n;
	t->out.bytes += bytes;
}

uint32_t bp_phd_same_template_take(struct bp_phd_burst *t, const struct bp_phd_heads *heads,
	struct rte_mbuf **m, uint32_t i, uint32_t n)
{
	struct request run[BP_PHD_STEP];
	uint32_t taken = 0;

	if (unlikely(!t->cse_known))
		return 0;
	/* all are matched before the first is written: an atomic operation waits for all stores */
	while (i + taken < n &&
		likely(match_report(t, heads, i + taken, m[i + taken], &run[taken])))
		taken++;
	if (likely(taken != 0))
		write_requests(t, run, taken);
	return taken;
}

void bp_phd_same_template_learn(struct bp_phd_worker *h, uint16_t n, const struct bp_phd_layout *l,
	const uint8_t *apdu, uint32_t len)
{
	struct bp_phd_template *q = &h->template[n];

	if (q->wait != 0 && bp_phd_template_is_of(q, l)) {
		q->wait--;
		return;
	}
	bp_phd_template_init(q, l, &h->plan, &h->conversion, apdu, len, h->head, h->head_len);
	q->wait = LEARN_EVERY;
}
