/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Devices with random actions at random times, and a manager that is sometimes replaced by another:
 * the states are those of a simple table, each reported session has a reported end, and bytes that
 * are no APDU have no effect.
 */
#include "manager_rig.h"

#define DEVICES 12

static struct rig rig, *const r = &rig;
static uint64_t seed;

static uint32_t below(uint32_t n)
{
	return (uint32_t)(next_random(&seed) >> 32) % n;
}

/* Actions of a device, and the next state: rows of the standard's table. */
static const struct step {
	const char *bytes; /* NULL: an AARQ, of a configuration that is known, or not */
	unsigned config_id;
	uint8_t then[4]; /* by enum bp_phd_state */
} steps[] = {
	{NULL, 400, {BP_PHD_OPERATING, BP_PHD_FREE, BP_PHD_FREE, BP_PHD_FREE}},
	{NULL, 400, {BP_PHD_OPERATING, BP_PHD_FREE, BP_PHD_FREE, BP_PHD_FREE}},
	{NULL, 0x4000, {BP_PHD_WAITING, BP_PHD_FREE, BP_PHD_FREE, BP_PHD_FREE}},
	{NULL, 0x8000, {BP_PHD_FREE, BP_PHD_FREE, BP_PHD_FREE, BP_PHD_FREE}},
	{"R01", 0, {BP_PHD_FREE, BP_PHD_FREE, BP_PHD_FREE, BP_PHD_RELEASING}},
	{"R02", 0, {BP_PHD_FREE, BP_PHD_FREE, BP_PHD_FREE, BP_PHD_FREE}},
	{"R03", 0, {BP_PHD_FREE, BP_PHD_FREE, BP_PHD_FREE, BP_PHD_FREE}},
	{"M30", 0, {BP_PHD_FREE, BP_PHD_FREE, BP_PHD_FREE, BP_PHD_FREE}},
	{"M02", 0, {BP_PHD_FREE, BP_PHD_FREE, BP_PHD_FREE, BP_PHD_RELEASING}},
	{"C03", 0, {BP_PHD_FREE, BP_PHD_OPERATING, BP_PHD_OPERATING, BP_PHD_RELEASING}},
	{"M25", 0, {BP_PHD_FREE, BP_PHD_WAITING, BP_PHD_OPERATING, BP_PHD_RELEASING}},
	{"M16", 0, {BP_PHD_FREE, BP_PHD_WAITING, BP_PHD_OPERATING, BP_PHD_RELEASING}},
	{"S02", 0, {BP_PHD_FREE, BP_PHD_WAITING, BP_PHD_OPERATING, BP_PHD_RELEASING}},
	{"S07", 0, {BP_PHD_FREE, BP_PHD_WAITING, BP_PHD_OPERATING, BP_PHD_RELEASING}},
	{"M10", 0, {BP_PHD_FREE, BP_PHD_WAITING, BP_PHD_OPERATING, BP_PHD_RELEASING}},
	{"E01", 0, {BP_PHD_FREE, BP_PHD_WAITING, BP_PHD_OPERATING, BP_PHD_RELEASING}},
};

static const char *id_of(unsigned device)
{
	static char id[17];

	snprintf(id, sizeof(id), "%016x", device);
	return id;
}

/* Each opened session is closed, once, and no one else. */
static void books_of(bool open[DEVICES + 1])
{
	for (const char *line = r->log; *line != '\0'; line = strchr(line, '\n') + 1) {
		const bool opens = strncmp(line, "opened ", 7) == 0;
		unsigned device;

		if (!opens && strncmp(line, "closed ", 7) != 0)
			continue;
		device = (unsigned)strtoul(line + 7, NULL, 16);
		assert_in_range(device, 1, DEVICES);
		assert_int_equal(open[device], !opens);
		open[device] = opens;
	}
	r->n = 0;
	r->log[0] = '\0';
}

static void one_step(uint8_t is[DEVICES + 1])
{
	const unsigned d = 1 + below(DEVICES);
	const struct step *s = &steps[below(sizeof(steps) / sizeof(steps[0]))];
	uint8_t id[8];

	if (below(12) == 0 && is[d] != BP_PHD_FREE && is[d] != BP_PHD_RELEASING) {
		rig_id(id_of(d), id);
		assert_int_equal(bp_phd_manager_release(r->m, id, r->now_ms * 1000000), 0);
		is[d] = BP_PHD_RELEASING;
		return;
	}
	r->now_ms += 31000; /* so that nothing is a repeat; no one calls for what is due */
	rig_send(r, d, s->bytes != NULL ? s->bytes : rig_aarq(id_of(d), s->config_id));
	is[d] = s->then[is[d]];
}

static void states_equal_a_simple_table(void **state)
{
	uint8_t is[DEVICES + 1] = {0};
	bool open[DEVICES + 1] = {false};

	seed = 11073;
	rig_open(r, *state, 16, 16);
	r->c.timeouts.config_ns = r->c.timeouts.release_ns = 3600ull * 1000000000;
	for (unsigned i = 0; i < 40000; i++) {
		unsigned sessions = 0;

		r->n_known = 0; /* each configuration is a new one */
		one_step(is);
		books_of(open);
		for (unsigned d = 1; d <= DEVICES; d++) {
			if (rig_state(r, d) != is[d])
				fail_msg("step %u: device %u is in state %u, not %u", i, d,
					rig_state(r, d), is[d]);
			sessions += is[d] != BP_PHD_FREE;
			if (is[d] == BP_PHD_OPERATING || is[d] == BP_PHD_FREE)
				assert_int_equal(open[d], is[d] == BP_PHD_OPERATING);
		}
		assert_int_equal(r->x.t->control->sessions, sessions);
		if (below(50) == 0)
			rig_restart(r);
	}
	rig_close(r);
}

/* Vectors with some bytes changed, and cut. */
static void reserved_bytes_are_ignored(void **state)
{
	bool any = false;

	seed = 20601;
	rig_open(r, *state, 64, 16);
	for (unsigned i = 0; i < 60000; i++) {
		const json_t *v = json_array_get(r->vectors, below(VECTORS));
		size_t len;
		uint8_t *p = vector_bytes(v, &len);

		for (unsigned n = below(4); n > 0; n--)
			p[below((uint32_t)len)] = (uint8_t)next_random(&seed);
		if (below(4) == 0)
			len = below((uint32_t)len + 1);
		rig_send_bytes(r, 1 + below(40), p, len);
		free(p);
		r->now_ms += below(100);
		if (below(20) == 0)
			bp_phd_manager_tick(r->m, r->now_ms * 1000000);
		any |= r->x.t->control->operating > 0;
		r->n = 0;
		r->log[0] = '\0';
		r->n_known = 0;
		r->taken = (enum bp_phd_taken)below(5);
	}
	assert_true(any);
	for (unsigned d = 1; d <= 40; d++)
		rig_send(r, d, "R03");
	assert_int_equal(r->x.t->control->sessions, 0);
	assert_int_equal(r->x.t->control->layouts, 0);
	rig_close(r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(states_equal_a_simple_table),
		cmocka_unit_test(reserved_bytes_are_ignored),
	};

	return cmocka_run_group_tests(tests, vectors_setup, vectors_teardown);
}
