/* SPDX-License-Identifier: BSD-3-Clause */
#include "apps/sim/phd/measure.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

/* 20601, annex F.7: values that are no numbers, with the exponent 0. */
static const struct {
	const char *name;
	uint16_t sfloat;
	uint32_t float_;
} specials[] = {
	{"NaN", 0x07ff, 0x007fffff},
	{"NRes", 0x0800, 0x00800000},
	{"+INF", 0x07fe, 0x007ffffe},
	{"-INF", 0x0802, 0x00800002},
	{"reserved", 0x0801, 0x00800001},
};

const struct sim_config *sim_config_of(const struct sim_options *o)
{
	return o->standard ? &o->kind->standard : &o->kind->extended;
}

static uint32_t float_raw(enum sim_value value, int32_t mantissa, int8_t exponent)
{
	if (value == SIM_SFLOAT)
		return ((uint32_t)exponent & 0xf) << 12 | ((uint32_t)mantissa & 0xfff);
	return ((uint32_t)exponent & 0xff) << 24 | ((uint32_t)mantissa & 0xffffff);
}

/* As on a display: the digits of the mantissa, with a point by the exponent. */
static void decimal(char out[16], int32_t mantissa, int8_t exponent)
{
	int point = -exponent;
	char *p = out + 15;

	*p = '\0';
	/* From the last digit on, and at least one before the point. */
	for (int n = 0; n <= point || mantissa > 0; n++, mantissa /= 10) {
		if (n == point && point > 0)
			*--p = '.';
		*--p = (char)('0' + mantissa % 10);
	}
	memmove(out, p, (size_t)(out + 16 - p));
}

static void observe(struct sim_observation *v, const struct sim_options *o,
	const struct sim_object *object, uint64_t k, uint64_t number)
{
	int32_t mantissa =
		object->first + (int32_t)(k * (uint64_t)object->step % (uint64_t)object->span);

	v->object = object;
	v->person = 0;
	v->special = NULL;
	v->active_s = (uint32_t)(k % 86400);
	v->raw = float_raw(object->value, mantissa, object->exponent);
	decimal(v->text, mantissa, object->exponent);
	if (o->specials != 0 && number % o->specials == o->specials - 1) {
		unsigned which = (unsigned)(number / o->specials + object->handle) %
				 (sizeof(specials) / sizeof(specials[0]));

		v->special = specials[which].name;
		v->raw = object->value == SIM_SFLOAT ? specials[which].sfloat
						     : specials[which].float_;
	}
}

static uint8_t bcd(int v)
{
	return (uint8_t)(v / 10 << 4 | v % 10);
}

static void stamp(struct sim_measurement *m, uint64_t now_ns)
{
	time_t seconds = (time_t)(now_ns / 1000000000);
	int hundredths = (int)(now_ns / 10000000 % 100);
	struct tm t;
	int year;

	gmtime_r(&seconds, &t);
	year = t.tm_year + 1900;
	m->stamp[0] = bcd(year / 100);
	m->stamp[1] = bcd(year % 100);
	m->stamp[2] = bcd(t.tm_mon + 1);
	m->stamp[3] = bcd(t.tm_mday);
	m->stamp[4] = bcd(t.tm_hour);
	m->stamp[5] = bcd(t.tm_min);
	m->stamp[6] = bcd(t.tm_sec);
	m->stamp[7] = bcd(hundredths);
	snprintf(m->stamp_text, sizeof(m->stamp_text), "%02x%02x-%02x-%02xT%02x:%02x:%02x.%02x",
		m->stamp[0], m->stamp[1], m->stamp[2], m->stamp[3], m->stamp[4], m->stamp[5],
		m->stamp[6], m->stamp[7]);
}

void sim_measure(struct sim_measurement *m, const struct sim_options *o, unsigned device,
	uint64_t number, uint64_t now_ns)
{
	const struct sim_config *c = sim_config_of(o);
	/* Neighbors must not measure the same: their values are apart in the sequence. */
	uint64_t k = o->first + number + (uint64_t)device * 17;
	unsigned persons, first = c->one ? (unsigned)(number % c->n) : 0;

	m->number = number;
	m->report = o->report == SIM_MIXED ? (enum sim_report)(number % SIM_MIXED) : o->report;
	m->doubtful = o->doubtful != 0 && number % o->doubtful == o->doubtful - 1 &&
		      (m->report == SIM_VAR || m->report == SIM_MP_VAR);
	stamp(m, now_ns);
	m->n = 0;
	persons = m->report == SIM_MP_FIXED || m->report == SIM_MP_VAR ? 2 : 0;
	for (unsigned p = 0; p <= persons; p++) {
		if (persons != 0 && p == 0)
			continue;
		for (unsigned i = first; i < (c->one ? first + 1 : c->n); i++) {
			struct sim_observation *v = &m->of[m->n++];

			observe(v, o, &c->object[i], k + (uint64_t)p * 5, number);
			v->person = (uint16_t)p;
		}
	}
}
