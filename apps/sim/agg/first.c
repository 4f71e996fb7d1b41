/* SPDX-License-Identifier: BSD-3-Clause */
#include "apps/sim/agg/first.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "services/aggregation/aggregator.h"
#include "apps/sim/agg/arrivals.h"
#include "apps/sim/agg/message.h"
#include "apps/sim/sim_random.h"
#include "apps/sim/agg/server.h"
#include "proto/net/frame.h"

#define STREAMS 4
#define ROOM 20480      /* bytes of a buffer: 255 messages of 16 bytes in either format, and more */
#define WAITING_MAX 256 /* messages in an aggregate: at most 255 */

struct sim_first {
	struct sim_first_options o;
	struct sim_arrivals arrivals;
	struct sim_random random; /* for service times */
	struct sim_server server;
	struct bp_aggregator *aggregator;
	struct bp_agg_stats stats[BP_AGG_RULES_MAX];
	struct bp_agg_stream_row rows[STREAMS];
	struct sim_message message[1 + SIM_SENDERS_MAX];
	uint8_t buffer[STREAMS][ROOM];
	bool used[STREAMS];
	/* Messages in the switch: numbers `due` to `number` - 1, with their arrival times. */
	uint32_t number, due;
	uint64_t arrived_ns[WAITING_MAX];
	uint64_t now_ns;
	uint64_t *left; /* of sim_first_run() */
	size_t n_left, n_required;
	struct sim_first_counts counts;
};

static uint8_t *get(void *arg, void **buffer)
{
	struct sim_first *f = arg;

	for (unsigned i = 0; i < STREAMS; i++) {
		if (!f->used[i]) {
			f->used[i] = true;
			*buffer = f->buffer[i];
			return f->buffer[i];
		}
	}
	return NULL;
}

static double served(struct sim_first *f, double now)
{
	double work = 1e9 / f->o.rate / f->o.mu;

	if (f->o.service == SIM_EXPONENTIAL)
		work *= sim_exponential(&f->random);
	(void)sim_server_arrive(&f->server, now, work);
	return f->server.free;
}

static void add_wait(struct sim_first *f, uint64_t ns)
{
	f->counts.wait_ns += ns;
	if (ns > f->counts.longest_ns)
		f->counts.longest_ns = ns;
}

/* More packets than requested may leave at one instant: those are counted, but not reported. */
static void send_packet(void *arg, const struct bp_agg_output *out)
{
	struct sim_first *f = arg;
	const unsigned n = sim_packet_read((const uint8_t *)out->buffer + out->offset, out->len,
		f->o.format == BP_AGG_FORMAT_LIN2018, f->due);
	uint64_t left_ns = f->now_ns;

	f->used[((uint8_t *)out->buffer - f->buffer[0]) / ROOM] = false;
	f->counts.packets++;
	f->counts.bytes += out->len;
	if (n == 0 || n > f->number - f->due)
		f->counts.wrong++;
	else
		f->counts.messages += n;
	for (unsigned i = 0; i < n && f->due != f->number; i++)
		add_wait(f, f->now_ns - f->arrived_ns[f->due++ % WAITING_MAX]);
	f->counts.payload_bytes += (uint64_t)n * SIM_PAYLOAD;
	f->counts.message_bytes += (uint64_t)n * f->message[0].len;
	if (f->o.place == SIM_AFTER)
		left_ns = (uint64_t)served(f, (double)f->now_ns);
	if (f->left != NULL && f->n_left < f->n_required)
		f->left[f->n_left] = left_ns;
	f->n_left++;
}

static void set_rules(struct sim_first *f)
{
	struct bp_agg_rules rules;
	struct bp_agg_rule *r = &rules.aggregate[0];

	memset(&rules, 0, sizeof(rules));
	rules.n_aggregate = 1;
	r->max_delay_ns = f->o.max_delay_ns;
	r->to.address.family = 4;
	r->to.address.length = 32;
	bp_put_be32(r->to.address.bytes, SIM_DESTINATION);
	r->to.udp_first = r->to.udp_last = SIM_UDP;
	r->max_message = 1024;
	r->mtu = 9000;
	r->messages = f->o.messages;
	r->format = (uint8_t)f->o.format;
	bp_aggregator_set_rules(f->aggregator, &rules, 9000, 0);
}

struct sim_first *sim_first_new(const struct sim_first_options *o)
{
	struct sim_first *f = calloc(1, sizeof(*f));
	struct sim_random seeds = {o->seed};

	if (f == NULL)
		return NULL;
	f->o = *o;
	f->random.state = sim_random_next(&seeds);
	for (unsigned i = 0; i <= SIM_SENDERS_MAX; i++)
		sim_message_init(&f->message[i], o->format == BP_AGG_FORMAT_LIN2018, (uint8_t)i);
	f->aggregator = bp_aggregator_new(&(struct bp_aggregator_options){
		.streams = STREAMS,
		.room = ROOM,
		.stats = f->stats,
		.rows = f->rows,
		.seed = sim_random_next(&seeds),
		.hooks = {.get = get, .send = send_packet, .arg = f},
	});
	if (f->aggregator == NULL ||
		sim_arrivals_init(
			&f->arrivals, 1e9 / o->rate, o->devices, sim_random_next(&seeds)) != 0 ||
		sim_server_init(&f->server, SIM_ENDLESS) != 0) {
		sim_first_free(f);
		return NULL;
	}
	set_rules(f);
	return f;
}

void sim_first_free(struct sim_first *f)
{
	if (f == NULL)
		return;
	if (f->aggregator != NULL)
		bp_aggregator_free(f->aggregator);
	sim_arrivals_free(&f->arrivals);
	sim_server_free(&f->server);
	free(f);
}

static void take(struct sim_first *f, uint64_t now_ns)
{
	struct sim_message *m = &f->message[1 + f->number % f->o.senders];
	struct bp_agg_input in = {.frame = m->frame, .len = m->len, .frame_len = m->len};

	f->now_ns = now_ns;
	sim_message_number(m, f->number);
	f->arrived_ns[f->number++ % WAITING_MAX] = now_ns;
	bp_aggregator_take(f->aggregator, &in, 1, now_ns, now_ns);
	if (in.verdict != BP_AGG_TAKEN)
		f->counts.wrong++;
}

/* Deadlines have their own instants, as in replay. */
static void poll_until(struct sim_first *f, uint64_t now_ns)
{
	uint64_t next;

	while ((next = bp_aggregator_next(f->aggregator)) <= now_ns) {
		f->now_ns = next;
		bp_aggregator_poll(f->aggregator, next, next);
	}
}

void sim_first_run(struct sim_first *f, uint64_t *left, size_t count)
{
	f->left = left;
	f->n_left = 0;
	f->n_required = count;
	while (f->n_left < count) {
		double now = sim_arrivals_next(&f->arrivals);

		if (f->o.place == SIM_BEFORE)
			now = served(f, now);
		poll_until(f, (uint64_t)now);
		take(f, (uint64_t)now);
	}
}

void sim_first_restart_counts(struct sim_first *f)
{
	memset(&f->counts, 0, sizeof(f->counts));
}

const struct sim_first_counts *sim_first_counts(const struct sim_first *f)
{
	return &f->counts;
}

const struct bp_agg_stats *sim_first_stats(const struct sim_first *f)
{
	return &f->stats[0];
}
