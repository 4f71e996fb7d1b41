/* SPDX-License-Identifier: BSD-3-Clause */
#include "fake_link.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "controlplane/alarms/mosquitto_link.h"

#define SENT_MAX 4096u

struct sent {
	uint16_t mid;
	char topic[64], payload[64];
};

struct bp_edge_link {
	struct bp_edge_link_events events;
	void *arg;
	bool up;
	uint16_t mid;
	struct sent sent[SENT_MAX]; /* not acknowledged, oldest first */
	unsigned n, taken;          /* the first `taken` of them were taken */
};

/* The publisher has one at a time. */
static struct bp_edge_link *the_link;
void (*fake_link_taken)(const char *topic, const char *payload);

void fake_link_up(void)
{
	if (the_link->up)
		return;
	the_link->up = true;
	the_link->events.up(the_link->arg);
}

void fake_link_down(void)
{
	if (!the_link->up)
		return;
	the_link->up = false;
	the_link->n = the_link->taken = 0;
	the_link->events.down(the_link->arg);
}

bool fake_link_is_up(void)
{
	return the_link->up;
}

void fake_link_take(unsigned n)
{
	for (; n != 0 && the_link->taken < the_link->n; n--) {
		const struct sent *s = &the_link->sent[the_link->taken++];

		fake_link_taken(s->topic, s->payload);
	}
}

void fake_link_acknowledge(unsigned n)
{
	if (n > the_link->taken)
		n = the_link->taken;
	for (unsigned i = 0; i < n; i++)
		the_link->events.acked(the_link->arg, the_link->sent[i].mid);
	the_link->n -= n;
	the_link->taken -= n;
	memmove(the_link->sent, &the_link->sent[n], the_link->n * sizeof(the_link->sent[0]));
	if (n != 0)
		the_link->events.ready(the_link->arg);
}

void fake_link_acknowledge_newest(unsigned n)
{
	for (unsigned i = the_link->taken - n; i < the_link->taken; i++)
		the_link->events.acked(the_link->arg, the_link->sent[i].mid);
	the_link->n -= n;
	the_link->taken -= n;
	the_link->events.ready(the_link->arg);
}

struct bp_edge_link *bp_edge_link_new(
	struct event_base *base, const struct bp_edge_link_events *events, void *arg)
{
	(void)base;
	the_link = calloc(1, sizeof(*the_link));
	if (the_link != NULL) {
		the_link->events = *events;
		the_link->arg = arg;
	}
	return the_link;
}

void bp_edge_link_free(struct bp_edge_link *l)
{
	free(l);
	the_link = NULL;
}

void bp_edge_link_configure(struct bp_edge_link *l, const struct bp_edge_link_settings *settings)
{
	(void)l;
	(void)settings;
}

bool bp_edge_link_up(const struct bp_edge_link *l)
{
	return l->up;
}

int bp_edge_link_publish(
	struct bp_edge_link *l, const char *topic, const void *payload, uint32_t len, uint16_t *mid)
{
	struct sent *s = &l->sent[l->n];

	if (!l->up || l->n == SENT_MAX)
		return -1;
	if (++l->mid == 0)
		l->mid = 1;
	s->mid = *mid = l->mid;
	snprintf(s->topic, sizeof(s->topic), "%s", topic);
	snprintf(s->payload, sizeof(s->payload), "%.*s", (int)len, (const char *)payload);
	l->n++;
	return 0;
}

void bp_edge_link_flush(struct bp_edge_link *l)
{
	(void)l;
}

void bp_edge_link_reset(struct bp_edge_link *l, const char *why)
{
	(void)l;
	(void)why;
	fake_link_down();
}
