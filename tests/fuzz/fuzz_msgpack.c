/* SPDX-License-Identifier: BSD-3-Clause */
/* MessagePack, compared with msgpack-c. */
#include "tests/fuzz/fuzz_items.h"

#include <msgpack.h>

/* msgpack-c reserves memory for the length that an array claims. */
const char *__asan_default_options(void);
const char *__asan_default_options(void)
{
	return "allocator_may_return_null=1:max_allocation_size_mb=64";
}

#define FOLLOWED 32 /* containers, by msgpack-c */

/* Whether so many may be open: at least as many bytes begin one. */
static bool may_be_deep(const uint8_t *data, size_t size)
{
	unsigned n = 0;

	for (size_t i = 0; i < size; i++)
		n += (data[i] >= 0x80 && data[i] <= 0x9f) || (data[i] >= 0xdc && data[i] <= 0xdf);
	return n >= FOLLOWED;
}

static void scalar(struct expected *e, const msgpack_object *o)
{
	switch (o->type) {
	case MSGPACK_OBJECT_POSITIVE_INTEGER:
		expect_number(e, (double)o->via.u64);
		break;
	case MSGPACK_OBJECT_NEGATIVE_INTEGER:
		expect_number(e, (double)o->via.i64);
		break;
	case MSGPACK_OBJECT_FLOAT32:
	case MSGPACK_OBJECT_FLOAT64:
		expect_number(e, o->via.f64);
		break;
	case MSGPACK_OBJECT_BOOLEAN:
		expect_boolean(e, o->via.boolean);
		break;
	case MSGPACK_OBJECT_STR:
		if (bp_utf8_valid((const uint8_t *)o->via.str.ptr, o->via.str.size))
			expect_string(e, o->via.str.ptr, o->via.str.size);
		break;
	default:
		break;
	}
}

static void follow(struct expected *e, const msgpack_object *o, unsigned step)
{
	const struct bp_json_path *path = &e->source->json;

	if (step == path->steps) {
		scalar(e, o);
	} else if (o->type == MSGPACK_OBJECT_ARRAY) {
		for (size_t i = 0; i < o->via.array.size; i++) {
			if (is_step_element(path, step, i))
				follow(e, &o->via.array.ptr[i], step + 1);
		}
	} else if (o->type == MSGPACK_OBJECT_MAP) {
		const msgpack_object *last = NULL;

		for (size_t i = 0; i < o->via.map.size; i++) {
			const msgpack_object *key = &o->via.map.ptr[i].key;

			if (key->type == MSGPACK_OBJECT_STR &&
				is_step_name(path, step, key->via.str.ptr, key->via.str.size))
				last = &o->via.map.ptr[i].val;
		}
		if (last != NULL)
			follow(e, last, step + 1);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct bp_value_source source;
	struct bp_value_result r;
	struct expected e = {.source = &source};
	msgpack_unpacked unpacked;
	size_t off = 0;
	uint8_t *copy;
	bool found, valid;

	if (size == 0)
		return 0;
	source = source_of(BP_VALUE_MSGPACK, data[0]);
	copy = exact_copy(data + 1, --size);
	found = read_value(copy, size, false, &source, &r);
	msgpack_unpacked_init(&unpacked);
	valid = msgpack_unpack_next(&unpacked, (const char *)copy, size, &off) ==
			MSGPACK_UNPACK_SUCCESS &&
		off == size;
	if (valid) { /* never nested deeper than the reader follows */
		follow(&e, &unpacked.data, 0);
		HOLDS(found == e.has && (!found || r.value == e.value));
	} else {
		HOLDS(!found || may_be_deep(copy, size));
	}
	read_beginnings(copy, size, &source, valid);
	msgpack_unpacked_destroy(&unpacked);
	free(copy);
	return 0;
}
