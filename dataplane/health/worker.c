/* SPDX-License-Identifier: BSD-3-Clause */
#include "dataplane/health/worker.h"

#include "config/health/settings.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "dataplane/health/datagram.h"
#include "services/health/decode.h"
#include "proto/net/ip.h"
#include "proto/health/onem2m.h"
#include "shm/fib/reuse.h"
#include "shm/words.h"

#define NS_PER_SECOND 1000000000ull
#define IDS_AT_ONCE 64u

int bp_phd_worker_setup(const struct bp_config *c, struct bp_phd_tables *t, unsigned workers,
	uint64_t mono_ns, char *err, size_t err_size)
{
	const uint16_t *ports = bp_config_phd(c)->cse.source_ports;

	if (!bp_config_phd(c)->enabled || t->n_slots == 0)
		return 0;
	/*
	 * after new tables, the CSE may remember ids of an earlier segment: the start is derived
	 * from the clock, which has advanced
	 */
	if (bp_phd_ids_setup(t->ids, workers, ports[0], ports[1],
		    (uint16_t)(mono_ns / NS_PER_SECOND * 257), (uint32_t)(mono_ns / NS_PER_SECOND)))
		return 0;
	snprintf(err, err_size,
		"health_devices.cse.source_ports: %u-%u are fewer ports than there are workers "
		"(%u), or there "
		"is no memory",
		ports[0], ports[1], workers);
	return -1;
}

struct bp_phd_worker *bp_phd_worker_create(
	const struct bp_phd_tables *t, unsigned workers, unsigned index)
{
	struct bp_phd_worker *h = calloc(1, sizeof(*h));

	if (!h)
		return NULL;
	h->template = aligned_alloc(
		_Alignof(struct bp_phd_template), t->max_layouts * sizeof(*h->template));
	h->layout = calloc(t->max_layouts, sizeof(*h->layout));
	h->copies = aligned_alloc(
		_Alignof(struct bp_phd_layout), (size_t)t->max_layouts * BP_PHD_LAYOUT_SIZE);
	if (!h->template || !h->layout || !h->copies) {
		bp_phd_worker_free(h);
		return NULL;
	}
	memset(h->template, 0, t->max_layouts * sizeof(*h->template));
	bp_phd_sfloat_prepare();
	h->t = t;
	h->ids = &t->ids[index];
	h->events = bp_phd_events(t, index);
	h->workers = workers;
	return h;
}

void bp_phd_worker_free(struct bp_phd_worker *h)
{
	if (!h)
		return;
	free(h->template);
	free(h->layout);
	free(h->copies);
	free(h);
}

/* Prepares the constant part of the headers of a request. */
static void make_head(struct bp_phd_worker *h)
{
	const struct bp_phd_settings *p = &h->plan;
	uint8_t *ip = h->head + BP_ETHER_HDR, *udp;

	memset(h->head, 0, sizeof(h->head));
	h->head_len = (uint16_t)bp_datagram_head(
		h->head, h->cse_is_ip6, p->source, p->cse, 0, p->cse_port);
	udp = h->head + h->head_len - BP_UDP_HDR;
	h->ip_sum = bp_sum_fold(bp_sum(ip, BP_IP4_HDR, 0));
	h->udp_sum = bp_sum_fold(bp_sum(udp, BP_UDP_HDR, bp_datagram_peers_sum(ip, h->cse_is_ip6)));
}

static void apply_settings(struct bp_phd_worker *h, uint64_t mono_ns)
{
	const struct bp_phd_settings *p = &h->plan;
	const uint32_t unknown_sessions = (p->unknown_sessions + h->workers - 1) / h->workers;

	h->takes = true;
	h->cse_is_ip6 = p->family == 6;
	h->listen = __builtin_bswap16(p->listen_udp);
	h->cse_port = __builtin_bswap16(p->cse_port);
	memcpy(h->cse, p->cse, sizeof(h->cse));
	h->ports_first = p->ports_first;
	h->ports_last = p->ports_last;
	bp_bucket_init(&h->unknown_sessions, unknown_sessions, unknown_sessions / 10 + 1, mono_ns);
	make_head(h);
	bp_phd_hash_keys_init(&h->hash_keys, bp_phd_report_key);
	for (uint32_t n = 0; n < h->t->max_layouts; n++)
		h->template[n].life = h->template[n].values = 0;
}

/* Shared memory may be damaged: an index from a plan must not exceed an array. */
static bool settings_valid(const struct bp_phd_settings *p)
{
	return (p->family == 4 || p->family == 6) && p->release < BP_M2M_RELEASES &&
	       p->ports_first <= p->ports_last;
}

void bp_phd_worker_apply_pending(struct bp_phd_worker *h, uint64_t mono_ns)
{
	const uint64_t there =
		atomic_load_explicit(&h->t->control->settings_generation, memory_order_acquire);
	struct bp_phd_settings plan;
	uint64_t generation;

	if (there == h->generation)
		return;
	generation = bp_phd_settings_read(h->t, &plan);
	if (generation == 0) /* it is being written: retry at the next call */
		return;
	h->generation = generation;
	if (!settings_valid(&plan)) {
		h->refused++;
		return;
	}
	h->plan = plan;
	apply_settings(h, mono_ns);
}

bool bp_phd_worker_layout_copy(struct bp_phd_worker *h, uint32_t n)
{
	const struct bp_phd_layout *from =
		(const struct bp_phd_layout *)(h->t->layouts + (size_t)n * BP_PHD_LAYOUT_SIZE);
	struct bp_phd_layout *to =
		(struct bp_phd_layout *)(void *)(h->copies + (size_t)n * BP_PHD_LAYOUT_SIZE);
	const uint32_t life = atomic_load_explicit(&from->life, memory_order_acquire);
	bool whole =
		bp_slot(atomic_load_explicit(&from->state, memory_order_acquire)) == BP_SLOT_LIVE;
	size_t size;

	h->layout[n].taken = h->layout[n].valid = false;
	bp_words_load(to, from, sizeof(*to));
	size = to->size;
	h->layout[n].valid = size >= sizeof(*to) && size <= sizeof(*to) + BP_PHD_TEXT_MAX;
	if (h->layout[n].valid) {
		/* bytes after the text are read in whole vectors, too, and are not used */
		size = (size + BP_PHD_TEXT_SLACK) / 4 * 4;
		bp_words_load(to + 1, from + 1, size - sizeof(*to));
		h->layout[n].valid = bp_phd_layout_valid(to);
	}
	atomic_thread_fence(memory_order_acquire);
	whole = whole && life == atomic_load_explicit(&from->life, memory_order_relaxed) &&
		bp_slot(atomic_load_explicit(&from->state, memory_order_relaxed)) == BP_SLOT_LIVE;
	if (!whole) { /* its session ended, or it was being written: retry at the next call */
		h->layout[n].valid = false;
		return false;
	}
	h->layout[n].life = life;
	h->layout[n].taken = true;
	to->life = life; /* recorded in templates (services/health/template.h) */
	h->refused += !h->layout[n].valid;
	return h->layout[n].valid;
}

/* Takes a new run of pairs. */
static bool take_run(struct bp_phd_worker *h, uint32_t n, uint32_t now_s)
{
	struct bp_phd_worker_ids *r = &h->run;
	uint32_t number;
	uint16_t port, mid;

	if (!bp_phd_ids_take(h->ids, n, now_s, &number))
		return false;
	port = bp_phd_id_at(h->ids, number, 0, &mid);
	r->pair = bp_phd_pair(port, mid);
	r->left = n;
	r->taken_s = now_s;
	return true;
}

bool bp_phd_worker_ids_refill(struct bp_phd_worker *h, uint32_t n, uint32_t now_s)
{
	if (take_run(h, IDS_AT_ONCE, now_s) || take_run(h, n, now_s))
		return true;
	h->run.left = 0;
	return false;
}
