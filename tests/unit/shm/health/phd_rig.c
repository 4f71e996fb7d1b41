/* SPDX-License-Identifier: BSD-3-Clause */
#include "tests/unit/shm/health/phd_rig.h"
#include "config/service.h"
#include "config/health/settings.h"
#include "shm/fib/fib_tables.h"

#include <stdlib.h>
#include <string.h>

static void *zeroed(size_t bytes)
{
	void *p = NULL;

	if (posix_memalign(&p, 64, bytes) != 0)
		fail_msg("no memory");
	memset(p, 0, bytes);
	return p;
}

void phd_open(struct phd_rig *x, uint32_t sessions, uint32_t layouts, uint32_t workers)
{
	struct bp_config_phd phd = {
		.enabled = true, .max_sessions = sessions, .max_configurations = layouts};
	struct bp_config *c = calloc(1, sizeof(*c));
	uint64_t capacity[BP_PHD_TABLES];

	assert_non_null(c);
	c->n_workers = workers;
	c->service[BP_SERVICE_HEALTH] = &phd;
	bp_config_services[BP_SERVICE_HEALTH]->capacities(c, capacity);
	free(c);
	assert_true(bp_service_tables[BP_SERVICE_HEALTH]->sizes_agree(capacity, workers));
	memset(x, 0, sizeof(*x));
	for (unsigned t = 0; t < BP_PHD_TABLES; t++) {
		x->bytes[t] =
			capacity[t] * bp_service_tables[BP_SERVICE_HEALTH]->shape[t].element_size;
		x->memory[t] = zeroed(x->bytes[t]);
	}
	x->epochs.control = zeroed(sizeof(*x->epochs.control));
	x->epochs.readers = zeroed(sizeof(*x->epochs.readers));
	bp_fib_init_control(&x->epochs);
	bp_fib_init_readers(&x->epochs);
	x->t = &x->tables;
	bp_phd_map(x->t, x->memory, capacity, x->events, workers);
	x->t->hash_key[0] = 0x9e3779b97f4a7c15ull;
	x->t->hash_key[1] = 0xd1b54a32d192ed03ull;
	assert_int_equal(phd_take_over(x), 0);
}

uint64_t phd_take_over(struct phd_rig *x)
{
	const uint64_t before = x->t->control->repairs;
	char err[256];

	bp_phd_writer_free(x->w);
	x->w = bp_phd_writer_new(x->t, &x->epochs, NULL, NULL, err, sizeof(err));
	if (!x->w)
		fail_msg("%s", err);
	return x->t->control->repairs - before;
}

void phd_close(struct phd_rig *x)
{
	bp_phd_writer_free(x->w);
	for (unsigned t = 0; t < BP_PHD_TABLES; t++)
		free(x->memory[t]);
	free(x->epochs.control);
	free(x->epochs.readers);
}

struct bp_phd_session_spec phd_device(uint32_t i)
{
	struct bp_phd_session_spec s;
	const uint32_t host = i / 4;

	memset(&s, 0, sizeof(s));
	if (i % 7 == 0) {
		s.address[0] = 0x20;
		s.address[1] = 0x01;
	} else {
		s.address[10] = s.address[11] = 0xff;
	}
	for (unsigned b = 0; b < 4; b++)
		s.address[12 + b] = (uint8_t)(host >> (24 - 8 * b));
	s.own[15] = (uint8_t)(i % 3);
	for (unsigned b = 0; b < 4; b++)
		s.system_id[4 + b] = s.system_id[b] = (uint8_t)(i >> (24 - 8 * b));
	s.port = (uint16_t)(i % 2 != 0 ? 6024 : 40000);
	s.transport = i % 4 < 2 ? BP_PHD_TRANSPORT_UDP : BP_PHD_TRANSPORT_TCP;
	s.protocol = 1;
	s.config_id = (uint16_t)(0x4000 + i % 100);
	s.state = BP_PHD_OPERATING;
	s.layout = 0;
	s.associated_s = ~i;
	s.reports = i + 1;
	s.config_content = i + 2;
	s.aarq_hash = i + 3;
	s.config_hash = i + 4;
	s.opened_ns = i + 5;
	return s;
}

uint32_t phd_slot(const struct phd_rig *x, uint32_t i)
{
	const struct bp_phd_session_spec s = phd_device(i);
	uint32_t slot;

	if (bp_phd_find(x->t, bp_phd_hash(x->t->hash_key, s.address, s.port, s.transport),
		    s.address, s.port, s.transport, &slot) != 0)
		return UINT32_MAX;
	assert_true(slot < x->t->n_slots);
	return slot;
}

void phd_layout_fill(struct bp_phd_layout *l, uint64_t content, uint32_t text)
{
	memset(l, 0, BP_PHD_LAYOUT_SIZE);
	l->content = content;
	l->plan = ~content;
	l->n = BP_PHD_OBJECTS_MAX;
	l->size = (uint16_t)(sizeof(*l) + text);
	for (unsigned i = 0; i < BP_PHD_OBJECTS_MAX; i++)
		l->handle[i] = l->object[i].handle = (uint16_t)(content + i);
	memset(l->text, (int)(content & 0xff), text);
}

bool phd_layout_is(const struct bp_phd_layout *l, uint64_t content)
{
	if (l->content != content || l->plan != ~content || l->n != BP_PHD_OBJECTS_MAX ||
		l->size < sizeof(*l) || l->size > BP_PHD_LAYOUT_SIZE)
		return false;
	for (unsigned i = 0; i < BP_PHD_OBJECTS_MAX; i++) {
		if (l->handle[i] != (uint16_t)(content + i) || l->object[i].handle != l->handle[i])
			return false;
	}
	for (size_t i = 0; i < l->size - sizeof(*l); i++) {
		if (l->text[i] != (uint8_t)content)
			return false;
	}
	return true;
}
