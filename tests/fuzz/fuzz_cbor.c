/* SPDX-License-Identifier: BSD-3-Clause */
/* CBOR, compared with libcbor. */
#include "tests/fuzz/fuzz_items.h"

#include <cbor.h>

/* libcbor reserves memory for the length that an array claims. */
const char *__asan_default_options(void);
const char *__asan_default_options(void)
{
	return "allocator_may_return_null=1:max_allocation_size_mb=64";
}

/* libcbor refuses simple values and tags without a meaning, which are well-formed (RFC 8949, 3.3
 * and 3.4). */
static bool has_unassigned(const uint8_t *data, size_t size)
{
	for (size_t i = 0; i < size; i++) {
		if ((data[i] >= 0xe0 && data[i] <= 0xf3) || data[i] == 0xf8 ||
			(data[i] >= 0xc6 && data[i] <= 0xd4))
			return true;
	}
	return false;
}

/* libcbor refuses the whole payload for a string that is not UTF-8: whether one ends there. */
static bool is_bad_string(const uint8_t *data, size_t end)
{
	for (size_t i = 0; i < end; i++) {
		const unsigned info = data[i] & 31, width = info < 24 ? 0 : 1u << (info & 3);
		uint64_t len = info;

		if (data[i] >> 5 != 3 || info > 27 || i + 1 + width > end)
			continue;
		for (unsigned b = 0; b < width; b++)
			len = (b == 0 ? 0 : len << 8) | data[i + 1 + b];
		if (len == end - i - 1 - width && !bp_utf8_valid(data + i + 1 + width, len))
			return true;
	}
	return false;
}

/* Why libcbor may refuse a well-formed payload. */
static bool is_refused(const struct cbor_load_result *loaded, const uint8_t *data, size_t size)
{
	return loaded->error.code == CBOR_ERR_SYNTAXERROR
		       ? is_bad_string(data, loaded->error.position)
		       : has_unassigned(data, size);
}

/* The text of a string: of its chunks, each of valid UTF-8. */
static bool text_of(const cbor_item_t *item, uint8_t **text, size_t *len)
{
	cbor_item_t **chunk =
		cbor_string_is_indefinite(item) ? cbor_string_chunks_handle(item) : NULL;
	const size_t n = chunk != NULL                     ? cbor_string_chunk_count(item)
			 : cbor_string_is_indefinite(item) ? 0
							   : 1;
	bool valid = true;

	*len = 0;
	*text = malloc(1 << 16);
	for (size_t i = 0; i < n; i++) {
		const cbor_item_t *c = chunk != NULL ? chunk[i] : item;
		const size_t size = cbor_string_length(c);

		HOLDS(*len + size < 1 << 16);
		if (size == 0)
			continue;
		memcpy(*text + *len, cbor_string_handle(c), size);
		valid = valid && bp_utf8_valid(*text + *len, size);
		*len += size;
	}
	return valid;
}

static unsigned depth_of(const cbor_item_t *item)
{
	unsigned most = 0, d;

	if (cbor_isa_tag(item)) {
		cbor_item_t *content = cbor_tag_item(item);

		d = depth_of(content);
		cbor_decref(&content);
		return d;
	}
	if (cbor_isa_array(item)) {
		for (size_t i = 0; i < cbor_array_size(item); i++) {
			d = depth_of(cbor_array_handle(item)[i]);
			most = d > most ? d : most;
		}
		return most + 1;
	}
	if (cbor_isa_map(item)) {
		for (size_t i = 0; i < cbor_map_size(item); i++) {
			d = depth_of(cbor_map_handle(item)[i].key);
			most = d > most ? d : most;
			d = depth_of(cbor_map_handle(item)[i].value);
			most = d > most ? d : most;
		}
		return most + 1;
	}
	return 0;
}

static void scalar(struct expected *e, const cbor_item_t *item)
{
	uint8_t *text;
	size_t len;

	if (cbor_isa_uint(item)) {
		expect_number(e, (double)cbor_get_int(item));
	} else if (cbor_isa_negint(item)) {
		const uint64_t n = cbor_get_int(item);

		expect_number(e, n == UINT64_MAX ? -0x1p64 : -(double)(n + 1));
	} else if (cbor_isa_string(item)) {
		if (text_of(item, &text, &len))
			expect_string(e, text, len);
		free(text);
	} else if (cbor_isa_float_ctrl(item) && !cbor_float_ctrl_is_ctrl(item)) {
		expect_number(e, cbor_float_get_float(item));
	} else if (cbor_isa_float_ctrl(item) && cbor_is_bool(item)) {
		expect_boolean(e, cbor_get_bool(item));
	}
}

static void follow(struct expected *e, const cbor_item_t *item, unsigned step)
{
	const struct bp_json_path *path = &e->source->json;

	if (cbor_isa_tag(item)) {
		cbor_item_t *content = cbor_tag_item(item);

		follow(e, content, step);
		cbor_decref(&content);
	} else if (step == path->steps) {
		scalar(e, item);
	} else if (cbor_isa_array(item)) {
		for (size_t i = 0; i < cbor_array_size(item); i++) {
			if (is_step_element(path, step, i))
				follow(e, cbor_array_handle(item)[i], step + 1);
		}
	} else if (cbor_isa_map(item)) {
		const cbor_item_t *last = NULL;

		for (size_t i = 0; i < cbor_map_size(item); i++) {
			cbor_item_t *key = cbor_incref(cbor_map_handle(item)[i].key);
			uint8_t *text;
			size_t len;

			while (cbor_isa_tag(key)) {
				cbor_item_t *content = cbor_tag_item(key);

				cbor_decref(&key);
				key = content;
			}
			if (cbor_isa_string(key)) {
				(void)text_of(key, &text, &len);
				if (is_step_name(path, step, text, len))
					last = cbor_map_handle(item)[i].value;
				free(text);
			}
			cbor_decref(&key);
		}
		if (last != NULL)
			follow(e, last, step + 1);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct cbor_load_result loaded;
	struct bp_value_source source;
	struct bp_value_result r;
	struct expected e = {.source = &source};
	cbor_item_t *root;
	uint8_t *copy;
	bool found, valid;

	if (size == 0 || size > 1 << 16)
		return 0;
	source = source_of(BP_VALUE_CBOR, data[0]);
	copy = exact_copy(data + 1, --size);
	found = read_value(copy, size, false, &source, &r);
	root = cbor_load(copy, size, &loaded);
	valid = root != NULL && loaded.read == size;
	if (valid && depth_of(root) <= BP_JSON_DEPTH_MAX) {
		follow(&e, root, 0);
		HOLDS(found == e.has && (!found || r.value == e.value));
	} else {
		HOLDS(!found || (root == NULL && is_refused(&loaded, copy, size)));
	}
	read_beginnings(copy, size, &source, valid);
	if (root != NULL)
		cbor_decref(&root);
	free(copy);
	return 0;
}
