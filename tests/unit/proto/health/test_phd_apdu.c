/* SPDX-License-Identifier: BSD-3-Clause */
#include "tests/unit/proto/health/phd_build.h"
#include "tests/unit/proto/health/phd_vectors.h"
#include "tests/unit/proto/health/phd_compare.h"
#include "tests/unit/times.h"

/*
 * The output of the test's encoder is decoded again; for any other input, including truncated
 * vectors and those with a changed byte, the codec agrees with the grammar and stays within its
 * input.
 */

/* ---- the vectors, damaged ---- */

static void vectors_are_classified_identically(void **state)
{
	json_t *item;
	size_t i;

	json_array_foreach(*state, i, item)
	{
		bool valid = json_is_true(json_object_get(item, "valid"));
		size_t len;
		uint8_t *p = vector_bytes(item, &len);
		bool right = compare(p, len);

		/* others are wrong in what they say, not in how */
		if (valid)
			assert_true(right);
		free(p);
	}
}

static void vectors_are_wrong_when_cut_or_longer(void **state)
{
	json_t *item;
	size_t i;

	json_array_foreach(*state, i, item)
	{
		size_t len;
		uint8_t *p = vector_bytes(item, &len), *longer = malloc(len + 1);

		for (size_t n = 0; n < len; n++) {
			uint8_t *cut = exact_copy(p, n);

			/* M04 has bytes too many: cut, it is right */
			if (compare(cut, n))
				assert_string_equal(text(item, "id"), "M04");
			assert_int_equal(bp_phd_apdu_size(cut, n), n < 4 ? 0 : 4 + g_u16(p, 2));
			free(cut);
		}
		assert_non_null(longer);
		memcpy(longer, p, len);
		longer[len] = 0;
		assert_false(compare(longer, len + 1));
		free(longer);
		free(p);
	}
}

static void every_byte_of_every_vector_is_fuzzed(void **state)
{
	json_t *item;
	size_t i;

	json_array_foreach(*state, i, item)
	{
		size_t len;
		uint8_t *p = vector_bytes(item, &len);

		for (size_t at = 0; at < len; at++) {
			uint8_t was = p[at];

			for (unsigned v = 0; v < 256; v++) {
				p[at] = (uint8_t)v;
				compare(p, len);
			}
			p[at] = was;
		}
		free(p);
	}
}

/* Lengths and counts that differ by little, several at once, reach further in than any byte. */
static void several_bytes_changed_by_one(void **state)
{
	uint64_t random = 20601;
	json_t *item;
	size_t i;

	json_array_foreach(*state, i, item)
	{
		size_t len;
		uint8_t *p = vector_bytes(item, &len);

		for (unsigned round = 0; round < 2000; round++) {
			uint8_t *q = exact_copy(p, len);

			for (unsigned k = 0; k < 4; k++) {
				uint64_t r = next_random(&random);

				q[r % len] = (uint8_t)(q[r % len] + (int)(r >> 32 & 2) - 1);
			}
			compare(q, len);
			free(q);
		}
		free(p);
	}
}

static void garbage_is_classified_identically(void **state)
{
	static const uint16_t choices[] = {0xe200, 0xe300, 0xe400, 0xe500, 0xe600, 0xe700, 0xe800};
	uint64_t random = 0xe700;

	(void)state;
	for (unsigned round = 0; round < TEST_TIMES(400000); round++) {
		uint64_t r = next_random(&random);
		size_t len = r % 64;
		uint8_t *p = malloc(len); /* NOLINT(*UnixAPI): no byte of 0 may be read either */

		for (size_t k = 0; k < len; k++) /* small numbers: lengths that fit now and then */
			p[k] = next_random(&random) % 3 != 0 ? 0 : (uint8_t)(random >> 20 & 31);
		if (len >= 4) {
			uint16_t choice = choices[(r >> 32) % 7];

			p[0] = (uint8_t)(choice >> 8);
			p[1] = (uint8_t)choice;
			p[2] = 0;
			p[3] = (uint8_t)(len - 4);
		}
		compare(p, len);
		free(p);
	}
}

/* ---- what the encoder wrote is read ---- */

static struct build o;
static uint64_t seed = 11073;

static unsigned below(unsigned n)
{
	return (unsigned)(next_random(&seed) >> 20) % n;
}

static const uint8_t *noise(size_t n)
{
	static uint8_t bytes[256];

	for (size_t i = 0; i < n; i++)
		bytes[i] = (uint8_t)next_random(&seed);
	return bytes;
}

static void put_attributes(unsigned n)
{
	open_list(&o, n);
	for (; n > 0; n--) {
		unsigned len = below(20);

		put16(&o, below(65536));
		put_string(&o, noise(len), len);
	}
	close_length(&o);
}

/* Reads what was written, from a block of exactly that size; kept until the next. */
static uint8_t *written;

static void read_written(struct phd_walk *w)
{
	close_all(&o);
	free(written);
	written = exact_copy(o.b, o.n);
	assert_true(compare(written, o.n));
	assert_int_equal(phd_walk(w, written, o.n), BP_PHD_OK);
}

static void put_association(struct bp_phd_association *a, uint8_t id[16])
{
	a->system_id.len = (uint16_t)below(16);
	memcpy(id, noise(16), 16);
	put32(&o, a->protocol_version = (uint32_t)next_random(&seed));
	put16(&o, a->encoding_rules = (uint16_t)below(65536));
	put32(&o, a->nomenclature_version = (uint32_t)next_random(&seed));
	put32(&o, a->functional_units = (uint32_t)next_random(&seed));
	put32(&o, a->system_type = (uint32_t)next_random(&seed));
	put_string(&o, id, a->system_id.len);
	put16(&o, a->config_id = (uint16_t)below(65536));
	put16(&o, a->data_req_flags = (uint16_t)below(65536));
	a->init_agent = (uint8_t)below(256);
	a->init_manager = (uint8_t)below(256);
	put16(&o, (unsigned)(a->init_agent << 8 | a->init_manager));
	put_attributes(below(4));
}

static void assert_same_association(const struct bp_phd_association *a,
	const struct bp_phd_association *b, const uint8_t id[16])
{
	assert_int_equal(a->protocol_version, b->protocol_version);
	assert_int_equal(a->nomenclature_version, b->nomenclature_version);
	assert_int_equal(a->functional_units, b->functional_units);
	assert_int_equal(a->system_type, b->system_type);
	assert_int_equal(a->encoding_rules, b->encoding_rules);
	assert_int_equal(a->config_id, b->config_id);
	assert_int_equal(a->data_req_flags, b->data_req_flags);
	assert_int_equal(a->init_agent, b->init_agent);
	assert_int_equal(a->init_manager, b->init_manager);
	assert_int_equal(a->system_id.len, b->system_id.len);
	assert_memory_equal(a->system_id.p, id, b->system_id.len);
}

static void associations_are_read_back(void **state)
{
	static struct phd_walk w;

	(void)state;
	for (unsigned round = 0; round < 3000; round++) {
		struct bp_phd_association first = {0}, again;
		unsigned n = below(5), found = 0;
		uint8_t id[16] = {0}, other[16];
		uint32_t version = (uint32_t)next_random(&seed);

		o.n = o.depth = 0;
		put16(&o, 0xe200);
		open_length(&o);
		put32(&o, version);
		open_list(&o, n);
		for (unsigned i = 0; i < n; i++) {
			bool ours = below(2) == 0;

			put16(&o, ours ? 0x5079 : below(0x5000));
			open_length(&o);
			if (ours && found++ == 0)
				put_association(&first, id);
			else if (ours)
				put_association(&again, other);
			else
				put_bytes(&o, noise(7), below(8));
			close_length(&o);
		}
		read_written(&w);
		assert_int_equal(w.apdu.choice, BP_PHD_AARQ);
		assert_int_equal(w.apdu.aarq.version, version);
		assert_int_equal(w.apdu.aarq.n_protocols, n);
		assert_int_equal(w.apdu.aarq.has_20601, found != 0);
		if (found != 0)
			assert_same_association(&w.apdu.aarq.info, &first, id);
	}
}

static void responses_are_read_back(void **state)
{
	static struct phd_walk w;

	(void)state;
	for (unsigned round = 0; round < 3000; round++) {
		struct bp_phd_association a;
		bool ours = below(3) != 0, empty = below(3) == 0;
		unsigned result = below(12), protocol = ours ? 0x5079 : below(0x5000);
		uint8_t id[16] = {0};

		o.n = o.depth = 0;
		put16(&o, 0xe300);
		open_length(&o);
		put16(&o, result);
		put16(&o, protocol);
		open_length(&o);
		if (ours && !empty)
			put_association(&a, id);
		else if (!empty)
			put_bytes(&o, noise(9), below(10));
		read_written(&w);
		assert_int_equal(w.apdu.aare.result, result);
		assert_int_equal(w.apdu.aare.protocol, protocol);
		assert_int_equal(w.apdu.aare.has_info, ours && !empty);
		if (ours && !empty)
			assert_same_association(&w.apdu.aare.info, &a, id);
	}
}

static void get_replies_are_read_back(void **state)
{
	static struct phd_walk w;

	(void)state;
	for (unsigned round = 0; round < 1000; round++) {
		unsigned n = below(12), invoke = below(65536), handle = below(65536);

		begin_prst(&o, invoke, 0x0203);
		put16(&o, handle);
		put_attributes(n);
		read_written(&w);
		assert_int_equal(w.apdu.prst.invoke_id, invoke);
		assert_int_equal(w.get.handle, handle);
		assert_int_equal(w.get.n, n);
		assert_int_equal(w.attributes, n);
		assert_int_equal(w.get.attributes.len, o.n - 18);
	}
}

/* ---- reports ---- */

#define OBSERVATIONS 64

/* The written observations; the bytes of each are at `at` of the encoder's output. */
struct expected {
	uint16_t person, handle, n_attributes;
	size_t at, len;
};

static unsigned put_observations(struct expected *e, unsigned n, unsigned person, bool fixed)
{
	open_list(&o, n);
	for (unsigned i = 0; i < n; i++) {
		e[i].person = (uint16_t)person;
		e[i].handle = (uint16_t)below(65536);
		e[i].n_attributes = (uint16_t)(fixed ? 0 : below(4));
		put16(&o, e[i].handle);
		if (fixed) {
			e[i].len = below(20);
			e[i].at = o.n + 2;
			put_string(&o, noise(e[i].len), e[i].len);
		} else {
			e[i].at = o.n + 4;
			put_attributes(e[i].n_attributes);
			e[i].len = o.n - e[i].at;
		}
	}
	close_length(&o);
	return n;
}

static unsigned put_persons(struct expected *e, unsigned persons, bool fixed)
{
	unsigned n = 0;

	open_list(&o, persons);
	for (unsigned i = 0; i < persons; i++) {
		unsigned person = 1 + below(65535);

		put16(&o, person);
		n += put_observations(e + n, below(4), person, fixed);
	}
	close_length(&o);
	return n;
}

static void assert_observations(
	const struct bp_phd_scan_head *head, const struct expected *e, unsigned n)
{
	struct bp_phd_scan_walk w;
	struct bp_phd_observation got;

	bp_phd_scan_begin(&w, head);
	for (unsigned i = 0; i < n; i++) {
		assert_int_equal(bp_phd_scan_next(&w, &got), BP_PHD_OK);
		assert_int_equal(got.person, e[i].person);
		assert_int_equal(got.handle, e[i].handle);
		assert_int_equal(got.n_attributes, e[i].n_attributes);
		assert_int_equal(got.data.len, e[i].len);
		assert_ptr_equal(got.data.p, written + e[i].at);
	}
	assert_int_equal(bp_phd_scan_next(&w, &got), BP_PHD_SCAN_END);
	assert_int_equal(bp_phd_scan_next(&w, &got), BP_PHD_SCAN_END);
}

static void reports_are_read_back(void **state)
{
	static struct phd_walk w;

	(void)state;
	for (unsigned round = 0; round < 6000; round++) {
		struct expected e[OBSERVATIONS];
		unsigned type = 3357 + below(4), number = below(65536), request = below(65536);
		unsigned invoke = below(65536), handle = below(3), n, top = below(12);
		bool fixed = (type & 1) != 0, mp = type >= 3359, confirmed = below(2) == 0;

		begin_event(&o, invoke, confirmed ? 0x0101 : 0x0100, handle, type);
		put16(&o, request);
		put16(&o, number);
		n = mp ? put_persons(e, top, fixed) : put_observations(e, top, 0, fixed);
		read_written(&w);
		assert_int_equal(w.apdu.prst.invoke_id, invoke);
		assert_int_equal(
			w.apdu.prst.choice, confirmed ? BP_PHD_EVENT_CONFIRMED : BP_PHD_EVENT);
		assert_int_equal(w.event.handle, handle);
		assert_int_equal(w.event.type, type);
		assert_int_equal(w.event.time, 0xffffffff);
		assert_int_equal(w.scan.data_req_id, request);
		assert_int_equal(w.scan.report_no, number);
		assert_int_equal(w.scan.n, top);
		assert_int_equal(w.scan.mp, mp);
		assert_int_equal(w.scan.scan, fixed ? BP_PHD_FIXED : BP_PHD_VAR);
		assert_int_equal(w.observations, n);
		assert_observations(&w.scan, e, n);
		/* and a wrong count is distinguished from a wrong length */
		written[27]++;
		assert_false(compare(written, o.n));
		assert_int_equal(phd_walk(&w, written, o.n), BP_PHD_E_COUNT);
		if (top > 0) {
			written[27] = (uint8_t)(top - 1);
			assert_false(compare(written, o.n));
			assert_int_equal(phd_walk(&w, written, o.n), BP_PHD_E_COUNT);
		}
	}
}

/* 65,535 bytes after the header: the largest that there can be. */
static void the_largest_apdu_is_read(void **state)
{
	static struct phd_walk w;
	static const uint8_t zeros[65535];

	(void)state;
	begin_event(&o, 1, 0x0101, 0, 3357);
	put32(&o, 0xf0000000);
	open_list(&o, 1);
	put16(&o, 1);
	put_string(&o, zeros, 65539 - 34);
	read_written(&w);
	assert_int_equal(o.n, 65539);
	assert_int_equal(w.first.data.len, 65539 - 34);
	assert_int_equal(bp_phd_apdu_size(written, o.n), o.n);
}

static int teardown(void **state)
{
	free(written);
	return vectors_teardown(state);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(vectors_are_classified_identically),
		cmocka_unit_test(vectors_are_wrong_when_cut_or_longer),
		cmocka_unit_test(every_byte_of_every_vector_is_fuzzed),
		cmocka_unit_test(several_bytes_changed_by_one),
		cmocka_unit_test(garbage_is_classified_identically),
		cmocka_unit_test(associations_are_read_back),
		cmocka_unit_test(responses_are_read_back),
		cmocka_unit_test(get_replies_are_read_back),
		cmocka_unit_test(reports_are_read_back),
		cmocka_unit_test(the_largest_apdu_is_read),
	};

	return cmocka_run_group_tests(tests, vectors_setup, teardown);
}
