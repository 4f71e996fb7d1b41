/* SPDX-License-Identifier: BSD-3-Clause */
#include "controlplane/alarms/alarm_log.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

void bp_alarm_log_open(struct bp_alarm_log_writer *w, struct bp_alarm_log *log)
{
	uint64_t newest = 0;

	for (unsigned i = 0; i < BP_ALARM_LOG_LEN; i++) {
		uint64_t seq = atomic_load_explicit(&log[i].seq, memory_order_relaxed);
		/* An odd number means that the writer died during the write: its position is
		 * used. */
		uint64_t end = (seq + 1) / 2;

		/* A number that cannot belong to this slot is damage, and must not set the
		 * count. */
		if (seq != 0 && (end - 1) % BP_ALARM_LOG_LEN == i && end > newest)
			newest = end;
	}
	w->log = log;
	w->next = newest;
}

/* Truncates at a character boundary, so that the text stays valid UTF-8. */
static void copy_cut(char *to, size_t size, const char *from, size_t len)
{
	if (len > size - 1) {
		len = size - 1;
		while (len > 0 && ((unsigned char)from[len] & 0xc0) == 0x80)
			len--;
	}
	memcpy(to, from, len);
	memset(to + len, 0, size - len);
}

void bp_alarm_log_add(
	struct bp_alarm_log_writer *w, const struct bp_alarm *a, const struct bp_alarm_flow *flow)
{
	static const struct bp_alarm_flow unknown;
	uint64_t position = w->next++;
	struct bp_alarm_log *e = &w->log[position % BP_ALARM_LOG_LEN];

	atomic_store_explicit(&e->seq, 2 * position + 1, memory_order_relaxed);
	/* The odd number must be visible before any byte of the new entry. */
	atomic_thread_fence(memory_order_release);
	e->id = a->id;
	e->time_ns = a->time_ns;
	e->value = a->value;
	e->value_text = a->value_text;
	memcpy(e->value_string, bp_alarm_value_string(a), bp_alarm_value_len(a->value_text));
	e->state = a->state;
	e->flags = a->flags;
	e->severity = a->severity;
	e->client_port = a->client_port;
	memcpy(e->client_ip, a->client_ip, sizeof(e->client_ip));
	e->flow = flow != NULL ? *flow : unknown;
	copy_cut(e->rule, sizeof(e->rule), bp_alarm_rule(a), a->rule_len);
	copy_cut(e->client_id, sizeof(e->client_id), bp_alarm_client_id(a), a->client_id_len);
	copy_cut(e->topic, sizeof(e->topic), bp_alarm_topic(a), a->topic_len);
	copy_cut(e->to, sizeof(e->to), bp_alarm_to(a), a->to_len);
	atomic_store_explicit(&e->seq, 2 * (position + 1), memory_order_release);
}

/* Copies the entry in slot i if it is complete. */
static bool read_one(const struct bp_alarm_log *log, unsigned i, struct bp_alarm_log *out)
{
	const struct bp_alarm_log *e = &log[i];
	uint64_t seq = atomic_load_explicit(&e->seq, memory_order_acquire);

	if (seq == 0 || (seq & 1) != 0 || (seq / 2 - 1) % BP_ALARM_LOG_LEN != i)
		return false;
	memcpy((char *)out + sizeof(out->seq), (const char *)e + sizeof(e->seq),
		sizeof(*out) - sizeof(out->seq));
	atomic_thread_fence(memory_order_acquire);
	if (atomic_load_explicit(&e->seq, memory_order_relaxed) != seq)
		return false;
	atomic_store_explicit(&out->seq, seq, memory_order_relaxed);
	out->rule[sizeof(out->rule) - 1] = '\0';
	out->client_id[sizeof(out->client_id) - 1] = '\0';
	out->topic[sizeof(out->topic) - 1] = '\0';
	out->to[sizeof(out->to) - 1] = '\0';
	return true;
}

static int by_position(const void *a, const void *b)
{
	const struct bp_alarm_log *x = a, *y = b;
	uint64_t p = atomic_load_explicit(&x->seq, memory_order_relaxed);
	uint64_t q = atomic_load_explicit(&y->seq, memory_order_relaxed);

	return p < q ? -1 : p > q;
}

unsigned bp_alarm_log_read(const struct bp_alarm_log *log, struct bp_alarm_log *out, unsigned max)
{
	struct bp_alarm_log *all = calloc(BP_ALARM_LOG_LEN, sizeof(*all));
	unsigned n = 0;

	if (all == NULL)
		return 0;
	for (unsigned i = 0; i < BP_ALARM_LOG_LEN; i++)
		if (read_one(log, i, &all[n]))
			n++;
	qsort(all, n, sizeof(*all), by_position);
	unsigned first = n > max ? n - max : 0;

	memcpy(out, all + first, (n - first) * sizeof(*all));
	free(all);
	return n - first;
}
