/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_CONFIG_SCHEMA_H
#define BP_CONFIG_SCHEMA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "config/config.h"
#include "config/messages.h"
#include "config/yaml.h"

/*
 * The table of settings; its rows are in schema_*.c. Reading, checking, dumping, comparing and
 * documentation use it; no other code contains a setting's name, bounds or default.
 */

struct bp_setting;

/* State of the reader. */
struct bp_reader {
	struct bp_config *config;
	struct bp_messages *messages;
	const struct bp_yaml *root; /* mapping of the file */
	char path[160]; /* path of the current setting in messages: mqtt.rules[3].raise */
	size_t path_len;
};

/* Reason why a text is not a valid value of its setting. */
struct bp_fault {
	char what[224];
	size_t at; /* offset of the first invalid byte */
};

/*
 * A type of value. `field` is the setting's value: the setting's offset into the settings of the
 * gateway or of a service, or into the list element.
 */
struct bp_type {
	/* Parses a text. False: *fault has the reason. */
	bool (*parse)(const struct bp_setting *s, const struct bp_config *c, const char *text,
		void *field, struct bp_fault *fault);
	/* Reads a node, for values that are not always scalars. Reports its errors itself. */
	void (*read)(
		struct bp_reader *r, const struct bp_setting *s, struct bp_yaml *n, void *field);
	/* Writes the value as YAML text. */
	void (*format)(const struct bp_setting *s, const struct bp_config *c, const void *field,
		FILE *out);
	/* Writes the expected values, such as "a duration from 1s to 30d". */
	void (*expect)(const struct bp_setting *s, FILE *out);
};

extern const struct bp_type bp_type_section, bp_type_list, bp_type_variant;
extern const struct bp_type bp_type_uint, bp_type_size, bp_type_duration, bp_type_bool,
	bp_type_enum, bp_type_hold;
extern const struct bp_type bp_type_version;
extern const struct bp_type bp_type_name, bp_type_string, bp_type_filter, bp_type_template;
extern const struct bp_type bp_type_mac, bp_type_ip4, bp_type_ip6;
extern const struct bp_type bp_type_address, bp_type_prefix, bp_type_addresses;
extern const struct bp_type bp_type_port, bp_type_interface, bp_type_tcp_ports, bp_type_workers;
extern const struct bp_type bp_type_bridges, bp_type_bridge_ports, bp_type_table;
extern const struct bp_type bp_type_port_range;
extern const struct bp_type bp_type_hosts, bp_type_host_list, bp_type_udp_ports;
extern const struct bp_type bp_type_loopback, bp_type_listen;
extern const struct bp_type bp_type_rate;
extern const struct bp_type bp_type_event_log;
extern const struct bp_type bp_type_redis;
extern const struct bp_type bp_type_labels, bp_type_files, bp_type_etcd;
extern const struct bp_type bp_type_ethertype, bp_type_any_or, bp_type_vlan, bp_type_any_hosts,
	bp_type_tcp_range;

/* Location of the elements of a list of mappings. */
struct bp_list_layout {
	size_t element; /* bytes */
	size_t items;   /* offset of the array, or of the pointer to it, in the settings */
	size_t count;   /* offset of the uint32_t count in the settings */
	bool allocated; /* items is a pointer, and the reader allocates the array */
	/* For a list within an element of another list, `base`: returns the elements and their
	 * number. A type of its own reads such lists. */
	const void *(*of)(const struct bp_config *c, const void *base, uint32_t *n);
};

enum bp_setting_flags {
	BP_REQUIRED = 1, /* required if its section is given */
	BP_RELOAD = 2,   /* takes effect on reload */
	BP_OR_ZERO = 4,  /* 0 is allowed in addition to min..max */
	BP_MAIN = 8,     /* its default decides what the gateway does: config check prints it */
};

struct bp_setting {
	const char *path; /* dotted; [] after the name of a list of mappings */
	const struct bp_type *type;
	uint32_t flags;
	uint32_t offset, size; /* size of the field, bytes */
	uint64_t min, max; /* in the unit of the file: bytes, nanoseconds, plain, bytes of text */
	uint64_t scale;    /* the field counts units of this size; 0 means 1 */
	/* The word for the value 0, such as "auto" or "off": 0 itself is then invalid in the
	 * file. */
	const char *zero;
	/* Words of an enum, in the order of its numbers; NULL ends the list, "" is a number without
	 * a word. */
	const char *const *enum_names;
	const char *preset;      /* the default as YAML text; NULL: none */
	const char *preset_text; /* description of a default that is not a constant */
	const char *help;
	const struct bp_list_layout *list;
	uint32_t given; /* 1 + offset of the bool that is true if the file has the setting; 0: none
			 */
	/* Returns whether the setting is present, if no bool says so (dump and compare). */
	bool (*present)(const void *base);
	/* For a setting that is a word or a mapping: fills `base` (BP_UNFOLDED bytes), which holds
	 * the settings below it, from its field. False: it is a word. */
	bool (*unfold)(const void *field, void *base);
	/* The path of another setting, whose rows are also those below this one. */
	const char *like;
	/* Checks several settings of a section together; `n` is the mapping of the section. */
	void (*check)(struct bp_reader *r, const struct bp_yaml *n, void *base);
	/* Checks the setting and earlier settings of the mapping together: called after they are
	 * read and before later settings are, whether the setting is given or not. */
	void (*done)(struct bp_reader *r);
};

/* Rows of related sections: one file schema_*.c each. Rows of a service are offsets into its
 * settings, all others into struct bp_config. */
struct bp_schema_part {
	const struct bp_setting *row;
	uint32_t n;
};

/* Returns the row after `after` (NULL: the first), or NULL at the end: all rows, parents before
 * their children, in reading order. */
const struct bp_setting *bp_schema_next(const struct bp_setting *after);

/*
 * Returns whether the documentation has a heading for the row: a section down to the second level,
 * and each top-level row after the first section. A section in a list element has none, because
 * settings of the element follow.
 */
bool bp_setting_has_heading(const struct bp_setting *s, bool after_section);

#define BP_UNFOLDED 128
#define BP_CHILDREN_MAX 48 /* maximum number of settings in one section */

/* Returns the row of a path, or NULL. */
const struct bp_setting *bp_schema_at(const char *path);
/* Returns the row after `after` (NULL: the first) directly below `parent` (NULL: the file), or
 * NULL. */
const struct bp_setting *bp_schema_child(
	const struct bp_setting *parent, const struct bp_setting *after);
/* Returns the last name of a row's path. */
const char *bp_setting_key(const struct bp_setting *s);
/* Formats the expected values of a setting, such as "a duration from 1s to 30d". Returns `out`. */
#define BP_EXPECTED_TEXT 512
const char *bp_setting_expected(const struct bp_setting *s, char out[BP_EXPECTED_TEXT]);
/* Returns whether the configuration has the setting: always, except optional sections and
 * addresses. */
bool bp_setting_present(const struct bp_setting *s, const void *base);
/* Returns whether the setting has a value: it is present, and not an empty text. */
bool bp_setting_has_value(const struct bp_setting *s, const void *base);
/* Returns the settings that contain a row outside lists: the configuration, or those of a
 * service. */
void *bp_setting_base(const struct bp_setting *s, struct bp_config *c);
const void *bp_setting_base_const(const struct bp_setting *s, const struct bp_config *c);
/* Returns the elements of a list of mappings, and their number. */
const void *bp_list_items(
	const struct bp_setting *s, const struct bp_config *c, const void *base, uint32_t *n);

/* Formats the path of an element of list `s`, whose own path is `path`: by its name, or by its
 * index if it has none. Returns `out`. A longer path is truncated; no path of the schema is that
 * long. */
#define BP_PATH_TEXT 256
const char *bp_element_path(const struct bp_setting *s, const char *path, const void *element,
	uint32_t index, char out[BP_PATH_TEXT]);
/* Returns the setting `name` of an element of a list, or NULL. */
const struct bp_setting *bp_element_name(const struct bp_setting *list);

static inline bool bp_setting_is_section(const struct bp_setting *s)
{
	return s->type == &bp_type_section || s->type == &bp_type_variant;
}
static inline void *bp_setting_field(const struct bp_setting *s, void *base)
{
	return (char *)base + s->offset;
}
static inline const void *bp_setting_field_const(const struct bp_setting *s, const void *base)
{
	return (const char *)base + s->offset;
}

/* Access to integers of any width. */
void bp_field_store(const struct bp_setting *s, void *field, uint64_t v);
uint64_t bp_field_load(const struct bp_setting *s, const void *field);

/* config.c: returns the bytes of a file, at most one more than the maximum size; the caller frees
 * them. NULL with the error written. */
char *bp_config_read_file(const char *path, size_t *len, FILE *errors);

/* reader.c: reads the settings of a mapping into `base`; a NULL `n` sets only the defaults. A NULL
 * `section` is the file, with settings at bp_setting_base(). */
void bp_read_section(
	struct bp_reader *r, const struct bp_setting *section, struct bp_yaml *n, void *base);
/* The read function of bp_type_list, for types that differ only in the expected value. */
void bp_read_list(struct bp_reader *r, const struct bp_setting *s, struct bp_yaml *n, void *field);
/* The two parts of bp_read_list(), for lists stored elsewhere. The first returns whether the node
 * has elements, within the allowed number; the second reads them into an array. */
bool bp_list_given(struct bp_reader *r, const struct bp_setting *s, struct bp_yaml *n);
void bp_read_elements(
	struct bp_reader *r, const struct bp_setting *s, struct bp_yaml *n, void *items);
/* Reads a value that is not a list, for types that also accept a list. Returns true, with errors
 * reported, if the node is not a list. */
bool bp_read_as_scalar(
	struct bp_reader *r, const struct bp_setting *s, struct bp_yaml *n, void *field);
/* Reports that a mapping has not the setting with this path. */
void bp_reader_missing(struct bp_reader *r, const char *path, const struct bp_yaml *section);
/* Appends a name, or [index] unless it is negative, to the path of messages. Returns the previous
 * length, which bp_reader_leave() restores. */
size_t bp_reader_enter(struct bp_reader *r, const char *name, int64_t index);
void bp_reader_leave(struct bp_reader *r, size_t before);
/* Reports an error about the current setting at byte `at` of `n`, with the expected value. */
void bp_reader_fault(struct bp_reader *r, const struct bp_setting *s, struct bp_yaml *n,
	const struct bp_fault *fault);
/* Like bp_reader_fault(), at the node, in printf form. */
__attribute__((format(printf, 4, 5))) void bp_reader_error(struct bp_reader *r,
	const struct bp_setting *s, struct bp_yaml *n, const char *format, ...);
/* For a setting that is text or a section: returns whether it is a section. parse() reads text; any
 * other node is an error. */
bool bp_reader_section_or_text(struct bp_reader *r, const struct bp_setting *s, struct bp_yaml *n,
	bool (*parse)(const struct bp_setting *s, const struct bp_config *c, const char *text,
		void *field, struct bp_fault *fault),
	void *field);

/* Sets *fault and returns false. */
__attribute__((format(printf, 3, 4))) bool bp_fault_set(
	struct bp_fault *fault, size_t at, const char *format, ...);

/* check.c: checks across several settings. */
void bp_check_port(struct bp_reader *r, const struct bp_yaml *n, void *base);
void bp_check_punt(struct bp_reader *r);
/* Warns about a file with a secret that every user can read. `at`: the setting with its path, or
 * NULL: none is given; `key`: its name. */
void bp_check_secret_file(
	struct bp_reader *r, const struct bp_yaml *at, const char *key, const char *path);
/* check_monitoring.c */
void bp_check_monitoring(struct bp_reader *r, const struct bp_yaml *n, void *base);
/* fleet/check_fleet.c */
/* Members of a fleet have different names: all with the default name would be one. */
void bp_check_fleet_name(struct bp_reader *r, const struct bp_yaml *n);
void bp_check_fleet_state(struct bp_reader *r, const struct bp_yaml *n, void *base);
/* fleet/type_fleet.c */
void bp_check_fleet_config(struct bp_reader *r, const struct bp_yaml *n, void *base);
/* check_interfaces.c: called after ports and bridges are read. */
void bp_check_interfaces(struct bp_reader *r);
/* check_static.c */
void bp_check_static(struct bp_reader *r, const struct bp_yaml *n, void *base);

/* Returns the address of biplane itself that the prefix contains, or NULL. In
 * check_aggregation.c. */
const struct bp_address *bp_config_own_address(
	const struct bp_config *c, const struct bp_prefix *prefix);

/* A setting of a file without a version: its path in such a file, and in version 1. `is` may have a
 * remark after a blank. */
struct bp_renamed {
	const char *was, *is;
};
extern const struct bp_renamed bp_renamed[]; /* the last element has a NULL `was` */
/* Returns the name of setting `key` of `section` since version 1, or NULL. */
const char *bp_renamed_to(const struct bp_setting *section, const char *key);

/* Returns the known name in `section` that is most similar to `key`, or NULL. */
const char *bp_suggest(const struct bp_setting *section, const char *key);

/* Returns the value of a setting, except sections and lists, as YAML text; the caller frees it.
 * NULL: no memory. */
char *bp_setting_text(const struct bp_setting *s, const struct bp_config *c, const void *base);

/* Writes the settings of a section as a flow mapping: {above: 80}. */
void bp_write_flow(
	const struct bp_setting *section, const struct bp_config *c, const void *base, FILE *out);

/* Writes a text as double-quoted YAML. */
void bp_write_quoted(const char *text, FILE *out);

/* Returns the index of the port with that name, or -1. */
int bp_config_port_index(const struct bp_config *c, const char *name);

/* Formats an address, or a prefix with its length: at most BP_ADDRESS_TEXT bytes. Returns `out`. */
#define BP_ADDRESS_TEXT 64
const char *bp_address_text(const struct bp_address *a, char out[BP_ADDRESS_TEXT]);
const char *bp_prefix_text(const struct bp_prefix *p, char out[BP_ADDRESS_TEXT]);
/* Reads "ADDRESS/LENGTH", or an address as a prefix of full length. False: *fault has the
 * reason. */
bool bp_prefix_read(const char *text, struct bp_prefix *out, struct bp_fault *fault);
/* Reads an address of either family. Returns whether it is one. */
bool bp_address_read(const char *text, struct bp_address *out);

#endif
