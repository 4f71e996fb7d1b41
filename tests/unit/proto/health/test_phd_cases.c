/* SPDX-License-Identifier: BSD-3-Clause */
#include "tests/unit/proto/health/phd_vectors.h"
#include "tests/unit/proto/health/phd_walk.h"

/*
 * Each valid vector, decoded and described in the terms of the fixture, must equal the fixture's
 * description; each invalid one must fail as described, or be syntactically valid and have the
 * field that a later check refuses.
 */

/* ---- what was read, in the fixture's words ---- */

static json_t *hex_number(uint32_t v, int digits)
{
	return json_sprintf("%0*x", digits, v);
}

static json_t *hex_bytes(struct bp_phd_bytes b)
{
	char hex[2 * 64 + 1] = "";

	assert_true(b.len <= 64);
	for (uint16_t i = 0; i < b.len; i++)
		snprintf(hex + 2 * i, 3, "%02x", b.p[i]);
	return json_string(hex);
}

static const char *choice_word(uint16_t choice)
{
	switch (choice) {
	case BP_PHD_EVENT:
		return "roiv-cmip-event-report";
	case BP_PHD_EVENT_CONFIRMED:
		return "roiv-cmip-confirmed-event-report";
	case BP_PHD_GET:
		return "roiv-cmip-get";
	case BP_PHD_RORS_EVENT:
		return "rors-cmip-confirmed-event-report";
	case BP_PHD_ROER:
		return "roer";
	case BP_PHD_RORJ:
		return "rorj";
	default:
		fail_msg("no vector has choice %04x", choice);
		return NULL;
	}
}

static const char *const event_words[] = {"MDC_NOTI_CONFIG", "MDC_NOTI_SCAN_REPORT_FIXED",
	"MDC_NOTI_SCAN_REPORT_VAR", "MDC_NOTI_SCAN_REPORT_MP_FIXED", "MDC_NOTI_SCAN_REPORT_MP_VAR"};
static const char *const result_words[] = {"accepted", "rejected-permanent", "rejected-transient",
	"accepted-unknown-config", "rejected-no-common-protocol", "rejected-no-common-parameter",
	"rejected-unknown", "rejected-unauthorized", "rejected-unsupported-assoc-version"};
static const char *const config_words[] = {
	"accepted-config", "unsupported-config", "standard-config-unknown"};
static const char *const abort_words[] = {
	"undefined", "buffer-overflow", "response-timeout", "configuration-timeout"};

static json_t *tell_attributes(struct bp_phd_bytes list, uint16_t n)
{
	json_t *array = json_array();
	struct bp_phd_bytes v;
	uint16_t id;

	while (bp_phd_attribute_next(&list, &id, &v))
		json_array_append_new(
			array, json_pack("{s:i, s:o}", "id", id, "hex", hex_bytes(v)));
	assert_int_equal(json_array_size(array), n);
	return array;
}

static json_t *tell_association(const struct bp_phd_association *a)
{
	return json_pack("{s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:i, s:i, s:o}",
		"protocol-version", hex_number(a->protocol_version, 8), "encoding-rules",
		hex_number(a->encoding_rules, 4), "nomenclature-version",
		hex_number(a->nomenclature_version, 8), "functional-units",
		hex_number(a->functional_units, 8), "system-type", hex_number(a->system_type, 8),
		"system-id", hex_bytes(a->system_id), "dev-config-id", hex_number(a->config_id, 4),
		"data-req-mode-flags", hex_number(a->data_req_flags, 4),
		"data-req-init-agent-count", a->init_agent, "data-req-init-manager-count",
		a->init_manager, "option-list", tell_attributes(a->options, 0));
}

static json_t *attribute(uint16_t id, json_t *hex)
{
	return json_pack("{s:i, s:o}", "id", id, "hex", hex);
}

static json_t *tell_map(const struct bp_phd_object_model *o)
{
	char hex[9 + 8 * BP_PHD_MAP_MAX];

	snprintf(hex, sizeof(hex), "%04x%04x", o->n_map, 4 * o->n_map);
	for (uint16_t i = 0; i < o->n_map; i++)
		snprintf(hex + 8 + (size_t)8 * i, 9, "%04x%04x", o->map[i].attr, o->map[i].len);
	return json_string(hex);
}

/* The vectors have an object's attributes in this order. */
static json_t *tell_object(const struct bp_phd_object_model *o)
{
	json_t *a = json_array();

	json_array_append_new(
		a, attribute(2351, hex_number((uint32_t)o->partition << 16 | o->code, 8)));
	if (o->n_supplemental != 0)
		json_array_append_new(
			a, attribute(2657, json_sprintf("000100040082%04x", o->supplemental[0])));
	json_array_append_new(a, attribute(2630, hex_number(o->metric_spec, 4)));
	if (o->unit != 0)
		json_array_append_new(a, attribute(2454, hex_number(o->unit, 4)));
	json_array_append_new(a, attribute(2645, tell_map(o)));
	return json_pack(
		"{s:i, s:i, s:o}", "class", o->class, "handle", o->handle, "attributes", a);
}

static json_t *tell_config(const struct bp_phd_model *m)
{
	json_t *objects = json_array();

	for (uint16_t i = 0; i < m->n; i++)
		json_array_append_new(objects, tell_object(&m->object[i]));
	return json_pack("{s:o, s:o}", "config-report-id", hex_number(m->config_id, 4),
		"config-obj-list", objects);
}

static json_t *tell_report(const struct bp_phd_scan_head *head)
{
	bool fixed = head->scan == BP_PHD_FIXED;
	const char *list_word = fixed ? "obs-scan-fixed" : "obs-scan-var";
	json_t *list = json_array(), *persons = json_array(), *into = list, *told;
	struct bp_phd_scan_walk w;
	struct bp_phd_observation o;
	uint16_t person = 0;

	bp_phd_scan_begin(&w, head);
	while (bp_phd_scan_next(&w, &o) == BP_PHD_OK) {
		if (o.person != person) {
			person = o.person;
			into = json_array();
			json_array_append_new(persons,
				json_pack("{s:i, s:o}", "person-id", person, list_word, into));
		}
		json_array_append_new(
			into, fixed ? json_pack("{s:i, s:o}", "handle", o.handle, "obs-val-data",
					      hex_bytes(o.data))
				    : json_pack("{s:i, s:o}", "handle", o.handle, "attributes",
					      tell_attributes(o.data, o.n_attributes)));
	}
	assert_int_equal(json_array_size(head->mp ? persons : list), head->n);
	told = json_pack("{s:o, s:i, s:O}", "data-req-id", hex_number(head->data_req_id, 4),
		"scan-report-no", head->report_no,
		head->mp ? (fixed ? "scan-per-fixed" : "scan-per-var") : list_word,
		head->mp ? persons : list);
	json_decref(list);
	json_decref(persons);
	return told;
}

static json_t *tell_reply_info(struct bp_phd_bytes info)
{
	unsigned result;

	if (info.len != 4)
		return hex_bytes(info);
	result = (unsigned)(info.p[2] << 8 | info.p[3]);
	assert_true(result < 3);
	return json_pack("{s:o, s:s}", "config-report-id",
		hex_number((uint32_t)info.p[0] << 8 | info.p[1], 4), "config-result",
		config_words[result]);
}

static json_t *tell_event(const struct phd_walk *w)
{
	bool reply = w->apdu.prst.choice == BP_PHD_RORS_EVENT;

	assert_in_range(w->event.type, BP_PHD_CONFIG, BP_PHD_SCAN_MP_VAR);
	return json_pack("{s:i, s:I, s:s, s:o}", "obj-handle", w->event.handle,
		reply ? "current-time" : "event-time", (json_int_t)w->event.time, "event-type",
		event_words[w->event.type - BP_PHD_CONFIG],
		reply ? "event-reply-info" : "event-info",
		reply                            ? tell_reply_info(w->event.info)
		: w->event.type == BP_PHD_CONFIG ? tell_config(&w->model)
						 : tell_report(&w->scan));
}

static json_t *tell_data(const struct phd_walk *w)
{
	json_t *data;

	switch (w->apdu.prst.choice) {
	case BP_PHD_GET: /* which no manager reads */
		assert_int_equal(w->apdu.prst.body.len, 6);
		assert_memory_equal(w->apdu.prst.body.p, "\0\0\0\0\0", 6);
		data = json_pack("{s:i, s:[]}", "obj-handle", 0, "attribute-id-list");
		break;
	case BP_PHD_ROER:
		data = json_pack("{s:i, s:s}", "error-value", w->refusal, "parameter", "");
		break;
	case BP_PHD_RORJ:
		data = json_pack("{s:i}", "problem", w->refusal);
		break;
	default:
		data = tell_event(w);
	}
	json_object_set_new(data, "invoke-id", json_integer(w->apdu.prst.invoke_id));
	json_object_set_new(data, "choice", json_string(choice_word(w->apdu.prst.choice)));
	return json_pack("{s:s, s:o}", "choice", "prst", "data", data);
}

static json_t *tell(const struct phd_walk *w)
{
	const struct bp_phd_apdu *a = &w->apdu;

	switch (a->choice) {
	case BP_PHD_AARQ:
		assert_true(a->aarq.has_20601);
		return json_pack("{s:s, s:o, s:i, s:o}", "choice", "aarq", "assoc-version",
			hex_number(a->aarq.version, 8), "protocols", a->aarq.n_protocols, "info",
			tell_association(&a->aarq.info));
	case BP_PHD_AARE:
		assert_true(a->aare.result < 9);
		return json_pack("{s:s, s:s, s:i, s:o}", "choice", "aare", "result",
			result_words[a->aare.result], "data-proto-id", a->aare.protocol, "info",
			a->aare.has_info ? tell_association(&a->aare.info) : json_string(""));
	case BP_PHD_PRST:
		return tell_data(w);
	case BP_PHD_ABRT:
		assert_true(a->reason < 4);
		return json_pack("{s:s, s:s}", "choice", "abrt", "reason", abort_words[a->reason]);
	default:
		assert_int_equal(a->reason, 0);
		return json_pack("{s:s, s:s}", "choice", a->choice == BP_PHD_RLRQ ? "rlrq" : "rlre",
			"reason", "normal");
	}
}

/* ---- what the fixture says, without what the codec does not say ---- */

/* A number or a time that the fixture gives next to the bytes is what their text says. */
static void check_value(const json_t *attribute, const json_t *value)
{
	json_int_t id = json_integer_value(json_object_get(attribute, "id"));
	uint32_t v = (uint32_t)strtoul(text(attribute, "hex"), NULL, 16);
	enum bp_phd_special special;
	char out[BP_PHD_TIME_MAX + 1];
	unsigned n;
	size_t len;

	if (id == BP_PHD_ATTR_BASIC || id == BP_PHD_ATTR_SIMPLE) {
		n = id == BP_PHD_ATTR_BASIC ? bp_phd_sfloat_text((uint16_t)v, out, &special)
					    : bp_phd_float_text(v, out, &special);
		out[n] = '\0';
		assert_true(n > 0 && strtod(out, NULL) - json_number_value(value) == 0);
	} else if (id == BP_PHD_ATTR_TIME_ABS) {
		uint8_t *p = unhex(text(attribute, "hex"), &len);

		assert_int_equal(len, 8);
		n = bp_phd_abs_time_text(p, out);
		out[n] = '\0';
		assert_string_equal(out, json_string_value(value));
		free(p);
	}
}

static void simplify(json_t *v)
{
	const char *key;
	json_t *item;
	size_t i;

	if (json_is_object(v) && json_object_get(v, "hex") != NULL) {
		check_value(v, json_object_get(v, "value"));
		json_object_del(v, "name");
		json_object_del(v, "value");
	}
	json_object_foreach(v, key, item) simplify(item);
	json_array_foreach(v, i, item) simplify(item);
}

/* Of an AARQ's protocols the codec gives the number and the one with 20601. */
static void pick_protocol(json_t *meaning)
{
	json_t *list = json_object_get(meaning, "data-proto-list"), *entry;
	size_t i;

	if (list == NULL)
		return;
	json_array_foreach(list, i, entry)
	{
		if (json_integer_value(json_object_get(entry, "data-proto-id")) == 20601)
			json_object_set(meaning, "info", json_object_get(entry, "info"));
	}
	json_object_set_new(meaning, "protocols", json_integer((json_int_t)json_array_size(list)));
	json_object_del(meaning, "data-proto-list");
}

static void valid_vectors_decode_as_described(void **state)
{
	static struct phd_walk w;
	json_t *item;
	size_t i, n = 0;

	json_array_foreach(*state, i, item)
	{
		json_t *expected, *told;
		enum bp_phd_error e;
		uint8_t *p;
		size_t len;

		if (!json_is_true(json_object_get(item, "valid")))
			continue;
		p = vector_bytes(item, &len);
		e = phd_walk(&w, p, len);
		if (e != BP_PHD_OK)
			fail_msg("%s: %s", text(item, "id"), bp_phd_error_text(e));
		assert_false(w.outside);
		assert_int_equal(bp_phd_apdu_size(p, len), len);
		assert_int_equal(w.apdu.invoke_id_known, w.apdu.choice == BP_PHD_PRST);
		told = tell(&w);
		expected = json_deep_copy(json_object_get(item, "meaning"));
		simplify(expected);
		pick_protocol(expected);
		if (!json_equal(told, expected))
			fail_msg("%s: %s, expected %s", text(item, "id"),
				json_dumps(told, JSON_SORT_KEYS),
				json_dumps(expected, JSON_SORT_KEYS));
		json_decref(told);
		json_decref(expected);
		free(p);
		n++;
	}
	assert_int_equal(n, 44);
}

/* ---- what is wrong with the others ---- */

struct fault {
	const char *id;
	enum bp_phd_error error;
	int invoke_id; /* -1: not known */
};

static const struct fault faults[] = {
	{"M01", BP_PHD_E_SHORT, -1},
	{"M02", BP_PHD_E_CHOICE, -1},
	{"M03", BP_PHD_E_LENGTH, -1},
	{"M04", BP_PHD_E_LENGTH, -1},
	{"M05", BP_PHD_E_COUNT, -1},
	{"M06", BP_PHD_E_LENGTH, -1},
	{"M07", BP_PHD_E_LENGTH, -1},
	{"M08", BP_PHD_E_LENGTH, -1},
	{"M10", BP_PHD_E_LENGTH, 0x11},
	{"M11", BP_PHD_E_DATA_CHOICE, 0x40},
	{"M12", BP_PHD_E_LENGTH, 0x11},
	{"M13", BP_PHD_E_COUNT, 0x11},
	{"M14", BP_PHD_E_LENGTH, 0x11},
	{"M15", BP_PHD_E_LENGTH, 0x11},
	{"M16", BP_PHD_E_LENGTH, 6},
	{"M18", BP_PHD_E_LENGTH, -1},
};

/* The rest is well-formed: the field that its title names has the value that it complains of. */
static bool complaint_is_readable(const char *id, const struct phd_walk *w)
{
	const struct bp_phd_association *a = &w->apdu.aarq.info;

	switch (atoi(id + 1)) {
	case 9:
		return a->system_id.len == 7;
	case 17:
		return w->bad_times == 1 && w->observations == 1;
	case 19:
		return w->apdu.aarq.version == 0x40000000;
	case 20:
		return !w->apdu.aarq.has_20601 && w->apdu.aarq.n_protocols == 1;
	case 21:
		return a->protocol_version == 0x20000000;
	case 22:
		return a->encoding_rules == 0x4000;
	case 23:
		return a->system_type == 0x80000000;
	case 24:
		return a->config_id == 0x8000;
	case 25:
		return w->model.config_id == 0x4003 && w->model.n == 2;
	case 26:
		return w->first.handle == 1 && w->first.data.len == 3;
	case 27:
		return w->first.handle == 99;
	case 28:
		return w->event.handle == 77;
	case 29:
		return w->observations == 2;
	case 30:
		return w->apdu.choice == BP_PHD_AARE;
	default:
		return false;
	}
}

static const struct fault *fault_of(const char *id)
{
	for (size_t i = 0; i < sizeof(faults) / sizeof(faults[0]); i++) {
		if (strcmp(faults[i].id, id) == 0)
			return &faults[i];
	}
	return NULL;
}

static void invalid_vectors_fail_as_described(void **state)
{
	static struct phd_walk w;
	json_t *item;
	size_t i, n = 0, found = 0;

	json_array_foreach(*state, i, item)
	{
		const char *id = text(item, "id");
		const struct fault *f = fault_of(id);
		enum bp_phd_error e;
		uint8_t *p;
		size_t len;

		if (json_is_true(json_object_get(item, "valid")))
			continue;
		p = vector_bytes(item, &len);
		e = phd_walk(&w, p, len);
		assert_false(w.outside);
		if (f != NULL) {
			if (e != f->error)
				fail_msg("%s: %s", id, bp_phd_error_text(e));
			assert_int_equal(w.apdu.invoke_id_known, f->invoke_id >= 0);
			if (f->invoke_id >= 0)
				assert_int_equal(w.apdu.prst.invoke_id, f->invoke_id);
			found++;
		} else if (e != BP_PHD_OK || !complaint_is_readable(id, &w)) {
			fail_msg("%s: %s", id, bp_phd_error_text(e));
		}
		free(p);
		n++;
	}
	assert_int_equal(n, 30);
	assert_int_equal(found, sizeof(faults) / sizeof(faults[0]));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(valid_vectors_decode_as_described),
		cmocka_unit_test(invalid_vectors_fail_as_described),
	};

	return cmocka_run_group_tests(tests, vectors_setup, vectors_teardown);
}
