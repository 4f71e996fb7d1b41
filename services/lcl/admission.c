/* SPDX-License-Identifier: BSD-3-Clause */
#include "services/lcl/admission.h"

#include <string.h>

#include "services/lcl/scheduler.h"
#include "proto/lcl/lcl.h"

/* Link bytes of the shortest frame: 64, preamble and gap. */
#define SHORTEST 84u
#define NEVER UINT64_MAX
/* Maximum busy period of the analysis, in slots. */
#define BUSY_TURNS 1024u

__extension__ typedef unsigned __int128 u128;

/* A hop: the parameters of all flows that reach it. */
struct hop {
	const struct bp_lcl_port *port;
	const struct bp_lcl_flow *flow;
	unsigned flows, number; /* number: 1.. */
	int64_t lo[BP_LCL_FLOWS_MAX], hi[BP_LCL_FLOWS_MAX];
	uint64_t spread[BP_LCL_FLOWS_MAX]; /* J */
	uint64_t wrong[BP_LCL_FLOWS_MAX]; /* ns that a frame may wait for the slot of an earlier one
					   */
	uint64_t blocked;                 /* ns that a best-effort frame occupies the link */
	uint64_t other_bytes; /* additional bytes in a slot beyond the frames planned for it */
	bool fits;
	uint64_t root;  /* ns, at least tau; if fits is false */
	uint64_t spilt; /* maximum bytes of earlier slots that are sent during a later one */
	uint64_t busy;  /* busy period of the slots, ns; NEVER: no bound is known */
};

static uint64_t bytes_in(uint64_t rate, uint64_t ns)
{
	return (uint64_t)(((u128)rate * ns + 7999999999u) / 8000000000u);
}

static uint64_t ns_of(uint64_t bytes, uint64_t rate)
{
	return (uint64_t)(((u128)bytes * 8000000000u + rate - 1) / rate);
}

static uint64_t longest(const struct bp_lcl_flow *f)
{
	return f->frame + BP_LCL_LABEL + BP_LCL_LINK_OVERHEAD;
}

/* A(t), in bytes. */
static uint64_t sent_in(const struct bp_lcl_flow *f, uint64_t ns)
{
	const uint64_t steady = f->burst + bytes_in(f->rate_bps, ns);
	const uint64_t fast = longest(f) + bytes_in(f->peak_bps, ns);

	return steady < fast ? steady : fast;
}

static bool has_next_hop(const struct hop *h, unsigned i)
{
	return h->flow[i].hops >= h->number;
}

/* Nodes ahead, including this one. */
static unsigned frames_ahead(const struct hop *h, unsigned i)
{
	return h->flow[i].hops - h->number + 1;
}

static uint64_t share(int64_t d, unsigned n)
{
	return d > 0 ? (uint64_t)d / n : 0;
}

static uint64_t share_up(int64_t d, unsigned n)
{
	return d > 0 ? ((uint64_t)d + n - 1) / n : 0;
}

/* S(y). */
static uint64_t meant(const struct hop *h, uint64_t y)
{
	uint64_t sum = 0;

	for (unsigned i = 0; i < h->flows; i++) {
		if (has_next_hop(h, i))
			sum += sent_in(&h->flow[i], y + h->spread[i]);
	}
	return sum;
}

/* Bytes planned for all slots in y that may have to be sent before the last of them begins, minus
 * the bytes that the link sends in y. */
static int64_t excess(const struct hop *h, uint64_t y)
{
	const uint64_t wire = (uint64_t)((u128)h->port->rate_bps * y / 8000000000u);

	return (int64_t)(meant(h, y) + h->other_bytes - SHORTEST - wire);
}

/* The minimum y in (from, to] above which the excess is at most `limit`, as it is at `to`: once
 * below the limit it decreases permanently, since S is concave and begins above 0. */
static uint64_t falls_to(const struct hop *h, int64_t limit, uint64_t from, uint64_t to)
{
	while (to - from > 1) {
		const uint64_t y = from + (to - from) / 2;

		if (excess(h, y) <= limit)
			to = y;
		else
			from = y;
	}
	return to;
}

/* The maximum in [from, to]; the function is unimodal. */
static uint64_t most(const struct hop *h, uint64_t from, uint64_t to)
{
	int64_t v;

	while (to - from > 2) {
		const uint64_t third = (to - from) / 3;

		if (excess(h, from + third) < excess(h, to - third))
			from += third;
		else
			to -= third;
	}
	v = excess(h, from + (to - from) / 2);
	/* each flow's bytes are rounded up */
	return (v > 0 ? (uint64_t)v : 0) + SHORTEST + h->flows;
}

/* For a frame that arrives for the current slot, the frame that occupies the link at that time
 * takes a part of the slot; a frame that waits longer than this before its slot begins is not
 * affected. */
static uint64_t other_bytes_used(const struct hop *h)
{
	uint64_t busy = h->blocked, lowest = NEVER, frame = 0;

	for (unsigned i = 0; i < h->flows; i++) {
		if (!has_next_hop(h, i))
			continue;
		if (share(h->lo[i], frames_ahead(h, i)) < lowest)
			lowest = share(h->lo[i], frames_ahead(h, i));
		if (longest(&h->flow[i]) > frame)
			frame = longest(&h->flow[i]);
	}
	if (h->number > 1)
		busy += ns_of(frame, h->port->rate_bps);
	return busy > lowest ? bytes_in(h->port->rate_bps, busy - lowest) : 0;
}

/* Maximum difference of the planned times of frames of a flow that left the source at the same time
 * (spread); and in the wrong order (wrong), where the later one waits for the slot of the other. */
static void check_order(struct hop *h, unsigned i)
{
	const unsigned n = frames_ahead(h, i);
	const uint64_t range = (uint64_t)(h->hi[i] - h->lo[i]);
	/* a longer frame has arrived later from each node before this one */
	const uint64_t lengths =
		(h->number - 1) * ns_of(longest(&h->flow[i]) - SHORTEST, h->port->rate_bps);

	h->wrong[i] = lengths < range / n + 1 ? lengths : range / n + 1;
	h->spread[i] = range * (n - 1) / n + (n > 1) + lengths + h->wrong[i];
}

static void check_slots(struct hop *h)
{
	const struct bp_lcl_port *p = h->port;
	const uint64_t reach = p->queues * p->tau_ns, far = BUSY_TURNS * p->tau_ns;
	const int64_t turn = (int64_t)bytes_in(p->rate_bps, p->tau_ns);

	for (unsigned i = 0; i < h->flows; i++) {
		if (has_next_hop(h, i))
			check_order(h, i);
	}
	h->other_bytes = other_bytes_used(h);
	h->fits = excess(h, p->tau_ns) <= 0;
	h->root = h->fits                ? p->tau_ns
		  : excess(h, reach) > 0 ? NEVER
					 : falls_to(h, 0, p->tau_ns, reach);
	h->spilt = h->fits || h->root == NEVER ? 0 : most(h, p->tau_ns, h->root);
	h->busy = excess(h, far) > -turn ? NEVER : falls_to(h, -turn, 0, far);
}

/* Maximum time for which frames of other flows in slots of y delay a frame of flow i; `more`:
 * additional bytes. NEVER: no bound. */
static uint64_t other_flows_in(const struct hop *h, unsigned i, uint64_t y, uint64_t more)
{
	uint64_t sum = more;
	bool any = false;

	for (unsigned k = 0; k < h->flows; k++) {
		if (k == i || !has_next_hop(h, k))
			continue;
		any = true;
		if (y == NEVER)
			return NEVER;
		sum += sent_in(&h->flow[k], y + h->spread[k]);
	}
	return any || more != 0 ? ns_of(sum, h->port->rate_bps) : 0;
}

/* The same, as the smaller of two bounds: all frames in a busy period, or the frames in its slot
 * and the slots to which it may be moved, plus the backlog of the earlier slots. */
static uint64_t other_flows(const struct hop *h, unsigned i)
{
	const uint64_t tau = h->port->tau_ns;
	const uint64_t slots = !h->fits                               ? h->root + tau
			       : h->number > 1 && h->other_bytes != 0 ? 2 * tau
								      : tau;
	const uint64_t by_pause = other_flows_in(h, i, h->busy, 0);
	const uint64_t by_slot = h->root == NEVER ? NEVER : other_flows_in(h, i, slots, h->spilt);

	return by_pause < by_slot ? by_pause : by_slot;
}

/* Maximum delay of a frame by earlier frames of its own flow, minus the time since their arrival;
 * `peak`: maximum arrival rate. */
static uint64_t own(const struct hop *h, const struct bp_lcl_flow *f, uint64_t peak)
{
	const uint64_t rate = h->port->rate_bps;
	uint64_t bytes = longest(f) - SHORTEST;

	if (peak > rate && f->burst > longest(f) && peak > f->rate_bps) {
		/* end of the burst */
		const uint64_t t = ns_of(f->burst - longest(f), peak - f->rate_bps);

		bytes += bytes_in(peak - rate, t);
	}
	return ns_of(bytes, rate);
}

/* Bounds of the delay of frames of flow i: `at_most`, and d/n + `beyond`. */
struct waits {
	uint64_t at_most, beyond;
};

static uint64_t plus(uint64_t a, uint64_t b)
{
	return a == NEVER || b == NEVER ? NEVER : a + b;
}

/* If slots fit: after the begin of its slot, a frame waits at most for the other frames planned
 * for this slot. */
static uint64_t in_its_slot(const struct hop *h)
{
	const uint64_t other_bytes = h->number > 1 ? 2 * h->other_bytes : h->other_bytes;
	const uint64_t ns =
		ns_of(meant(h, h->port->tau_ns) + other_bytes - SHORTEST, h->port->rate_bps);

	return ns < h->port->tau_ns ? ns : h->port->tau_ns;
}

static struct waits waits_of(const struct hop *h, unsigned i)
{
	const struct bp_lcl_flow *f = &h->flow[i];
	const uint64_t rate = h->port->rate_bps, tau = h->port->tau_ns;
	const unsigned n = frames_ahead(h, i);
	const uint64_t from_others = other_flows(h, i);
	const uint64_t arrival = h->number == 1 || f->peak_bps < rate ? f->peak_bps : rate;
	const uint64_t lowest = share(h->lo[i], n), most_ahead = share_up(h->hi[i], n);
	const uint64_t blocked = h->blocked > lowest ? h->blocked - lowest : 0;
	uint64_t by_slot, by_source;
	struct waits w;

	if (h->fits)
		by_slot = in_its_slot(h) + h->wrong[i];
	else
		by_slot = h->root == NEVER ? NEVER
					   : ns_of(meant(h, h->root + tau) + h->other_bytes, rate) +
						     h->wrong[i];
	w.at_most = plus(from_others,
		(most_ahead > h->blocked ? most_ahead : h->blocked) + own(h, f, arrival));
	by_source = plus(from_others, h->spread[i] + blocked + own(h, f, f->peak_bps));
	w.beyond = by_slot < by_source ? by_slot : by_source;
	return w;
}

static void refuse(struct bp_lcl_admitted *out, enum bp_lcl_why why, unsigned hop, uint64_t need,
	uint64_t have)
{
	out->why = why;
	out->hop = (uint8_t)hop;
	out->need = need;
	out->have = have;
}

static void reject_burst(const struct hop *h, struct bp_lcl_admitted *out)
{
	const uint64_t tau = h->port->tau_ns;

	refuse(out, BP_LCL_BURST, h->number, meant(h, tau) + h->other_bytes,
		bytes_in(h->port->rate_bps, tau));
}

/* Whether all frames planned for a slot fit in its queue. */
static bool check_queue_depth(const struct hop *h, struct bp_lcl_admitted *out)
{
	const uint64_t bytes = meant(h, h->port->tau_ns);
	const uint64_t sent = bytes_in(h->port->rate_bps, h->port->tau_ns) / SHORTEST + 1;
	const uint64_t frames = (bytes + SHORTEST - 1) / SHORTEST;
	const uint64_t need = frames < sent ? frames : sent;

	if (bytes > out->slot_bytes)
		out->slot_bytes = bytes;
	if (need <= h->port->queue_frames)
		return true;
	refuse(out, BP_LCL_QUEUE_DEPTH, h->number, need, h->port->queue_frames);
	return false;
}

/* Whether its slot, and those to which it may be moved, have a queue. */
static bool check_reach(
	const struct hop *h, unsigned i, const struct waits *w, struct bp_lcl_admitted *out)
{
	const uint64_t tau = h->port->tau_ns, first = share_up(h->hi[i], frames_ahead(h, i));
	const uint64_t lowest = share(h->lo[i], frames_ahead(h, i));
	uint64_t late = w->beyond, moved = 0, need;

	if (w->at_most != NEVER && w->at_most - lowest < late)
		late = w->at_most - lowest;
	if (!h->fits) {
		if (late == NEVER) {
			reject_burst(h, out);
			return false;
		}
		moved = (late + tau - 1) / tau;
		if (h->root != NEVER && h->root / tau + 1 < moved)
			moved = h->root / tau + 1;
	}
	need = (first + tau - 1) / tau + 1 + moved;
	if (need <= h->port->queues)
		return true;
	if (moved != 0 && need - moved <= h->port->queues)
		reject_burst(h, out);
	else
		refuse(out, BP_LCL_QUEUES, h->number, need, h->port->queues);
	return false;
}

/* Its last hop. */
static bool check_end(
	const struct hop *h, unsigned i, const struct waits *w, struct bp_lcl_admitted *out)
{
	const int64_t tau = (int64_t)h->port->tau_ns, lo = h->lo[i];
	uint64_t late = w->beyond;

	if (lo < 0) {
		refuse(out, BP_LCL_BUDGET, h->number, h->flow[i].budget_ns + (uint64_t)-lo,
			h->flow[i].budget_ns);
		return false;
	}
	if (w->at_most != NEVER && w->at_most - (uint64_t)lo < late)
		late = w->at_most - (uint64_t)lo;
	if (late > h->port->tau_ns) {
		reject_burst(h, out);
		return false;
	}
	out->early_ns = h->hi[i] < tau ? -h->hi[i] : -tau;
	out->late_ns = (int64_t)late;
	return true;
}

static bool check_flow(
	struct hop *h, unsigned i, struct bp_lcl_admitted *out, int64_t *next_lo, int64_t *next_hi)
{
	const struct waits w = waits_of(h, i);
	const unsigned n = frames_ahead(h, i);
	const int64_t tau = (int64_t)h->port->tau_ns, lo = h->lo[i], hi = h->hi[i];
	uint64_t longest_wait = plus(share_up(lo, n), w.beyond);
	int64_t lowest;

	if (!check_queue_depth(h, out) || !check_reach(h, i, &w, out))
		return false;
	if (n == 1)
		return check_end(h, i, &w, out);
	if (w.at_most < longest_wait)
		longest_wait = w.at_most;
	lowest = (int64_t)share(hi, n) - tau;
	*next_lo = lo - (int64_t)longest_wait;
	*next_hi = hi - (lowest > 0 ? lowest : 0);
	return true;
}

static bool check_rates(const struct bp_lcl_port *p, const struct bp_lcl_flow *flows, unsigned n,
	struct bp_lcl_admitted *out)
{
	uint64_t sum = 0;

	for (unsigned i = 0; i < n; i++)
		sum += flows[i].rate_bps;
	for (unsigned i = 0; i < n && sum > p->rate_bps; i++)
		refuse(&out[i], BP_LCL_RATE, 1, sum, p->rate_bps);
	return sum <= p->rate_bps;
}

/* Checks one hop for all flows that reach it; false: the bound of a flow does not hold. */
static bool check_hop(struct hop *h, struct bp_lcl_admitted *out)
{
	int64_t lo[BP_LCL_FLOWS_MAX] = {0}, hi[BP_LCL_FLOWS_MAX] = {0};
	const struct bp_lcl_admitted *refused = NULL;

	check_slots(h);
	for (unsigned i = 0; i < h->flows; i++) {
		if (has_next_hop(h, i) && !check_flow(h, i, &out[i], &lo[i], &hi[i]) &&
			refused == NULL)
			refused = &out[i];
	}
	for (unsigned i = 0; i < h->flows; i++) {
		if (!has_next_hop(h, i) || frames_ahead(h, i) == 1)
			continue;
		if (refused == NULL) {
			h->lo[i] = lo[i];
			h->hi[i] = hi[i];
		} else if (out[i].why == BP_LCL_KEPT) {
			refuse(&out[i], refused->why, h->number, refused->need, refused->have);
		}
	}
	return refused == NULL;
}

void bp_lcl_admit(const struct bp_lcl_port *p, uint32_t best_effort_max,
	const struct bp_lcl_flow *flows, unsigned n, struct bp_lcl_admitted *out)
{
	struct hop h = {.port = p, .flow = flows, .flows = n};
	unsigned hops = 0;

	memset(out, 0, n * sizeof(*out));
	if (!check_rates(p, flows, n, out))
		return;
	if (best_effort_max != 0)
		h.blocked = ns_of(best_effort_max + BP_LCL_LINK_OVERHEAD, p->rate_bps);
	for (unsigned i = 0; i < n; i++) {
		h.lo[i] = h.hi[i] = (int64_t)flows[i].budget_ns;
		if (flows[i].hops > hops)
			hops = flows[i].hops;
	}
	for (h.number = 1; h.number <= hops && check_hop(&h, out); h.number++)
		;
}
