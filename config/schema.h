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
 * The one table of settings, whose rows are in schema_*.c. Reading, checking, dumping, comparing
 * and documenting walk it; nothing else knows a setting's name, bounds or default.
 */

struct bp_setting;

/* What the reader is doing. */
struct bp_reader {
	struct bp_config *config;
	struct bp_messages *messages;
	const struct bp_yaml *root; /* the file's mapping */
	char path[160]; /* of the setting in hand, as messages name it: mqtt.rules[3].raise */
	size_t path_len;
};

/* Why a text is no value of its setting. */
struct bp_fault {
	char what[224];
	size_t at; /* byte of the text at which it shows */
};

/*
 * A kind of value. `field` is where the setting's value lives: the setting's offset into the
 * settings of the gateway or of a service, or into the list's element.
 */
struct bp_type {
	/* From text. False: *fault says why. */
	bool (*parse)(const struct bp_setting *s, const struct bp_config *c, const char *text,
		void *field, struct bp_fault *fault);
	/* From a node, for what is not, or not always, a scalar. Reports its errors itself. */
	void (*read)(
		struct bp_reader *r, const struct bp_setting *s, struct bp_yaml *n, void *field);
	/* As the file would have it. */
	void (*format)(const struct bp_setting *s, const struct bp_config *c, const void *field,
		FILE *out);
	/* "a duration from 1s to 30d" */
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
extern const struct bp_type bp_type_loopback;
extern const struct bp_type bp_type_rate;
extern const struct bp_type bp_type_ethertype, bp_type_any_or, bp_type_vlan, bp_type_any_hosts,
	bp_type_tcp_range;

/* Where the elements of a list of mappings live. */
struct bp_list_layout {
	size_t element; /* bytes */
	size_t items;   /* offset of the array, or of the pointer to it, into the settings */
	size_t count;   /* offset of the uint32_t that counts them, likewise */
	bool allocated; /* items is a pointer, and the reader allocates */
	/* Of a list in an element of another, `base`: where its elements are, and how many. Such
	 * lists are read by a type of their own. */
	const void *(*of)(const struct bp_config *c, const void *base, uint32_t *n);
};

enum bp_setting_flags {
	BP_REQUIRED = 1, /* must be given where its section is */
	BP_RELOAD = 2,   /* takes effect on reload */
	BP_OR_ZERO = 4,  /* 0 is allowed besides min..max */
};

struct bp_setting {
	const char *path; /* dotted; [] after the name of a list of mappings */
	const struct bp_type *type;
	uint32_t flags;
	uint32_t offset, size; /* of the field, in bytes */
	uint64_t min, max;     /* in the file's unit: bytes, nanoseconds, plain, bytes of text */
	uint64_t scale;        /* the field counts this many of them; 0 is 1 */
	/* The word for the value 0, such as "auto" or "off": 0 itself is then no value of the file.
	 */
	const char *zero;
	/* Of an enum, in the order of its numbers; NULL ends them, "" is a number without a word.
	 */
	const char *const *enum_names;
	const char *preset;      /* the default as the file would have it; NULL: none */
	const char *preset_text; /* a default that is no constant, in words */
	const char *help;
	const struct bp_list_layout *list;
	uint32_t given; /* 1 + offset of the bool that says the file has it; 0: none */
	/* Whether it is there, where no bool says so (dump and compare). */
	bool (*present)(const void *base);
	/* Of a setting that is a word or a mapping: fills `base`, BP_UNFOLDED octets, in which the
	 * settings below it are, from its field. False: it is a word. */
	bool (*unfold)(const void *field, void *base);
	/* What concerns several settings of a section; `n` is the section's mapping. */
	void (*check)(struct bp_reader *r, const struct bp_yaml *n, void *base);
	/* What concerns it and settings before it in the file's mapping: called, given or not, once
	 * it and they are read and before those that follow. */
	void (*done)(struct bp_reader *r);
};

/* Rows of some sections that belong together: a file schema_*.c each. Those of a service are
 * offsets into its settings, all others into struct bp_config. */
struct bp_schema_part {
	const struct bp_setting *row;
	uint32_t n;
};

/* The row after `after` (NULL: the first), or NULL: all rows, parents before their children, in the
 * order in which they are read. */
const struct bp_setting *bp_schema_next(const struct bp_setting *after);

/* Whether the documentation gives the row a heading: a section down to the second level, and each
 * row at the top after the first section. A section in a list's element has none, as settings of
 * the element follow. */
bool bp_setting_has_heading(const struct bp_setting *s, bool after_section);

#define BP_UNFOLDED 128
#define BP_CHILDREN_MAX 32 /* settings in one section */

/* The row after `after` (NULL: the first) directly below `parent` (NULL: the file), or NULL. */
const struct bp_setting *bp_schema_child(
	const struct bp_setting *parent, const struct bp_setting *after);
/* The last name in a row's path. */
const char *bp_setting_key(const struct bp_setting *s);
/* Whether the configuration has it: always, but for optional sections and addresses. */
bool bp_setting_present(const struct bp_setting *s, const void *base);
/* Where the settings of a row that is in no list are: the configuration, or a service's. */
void *bp_setting_base(const struct bp_setting *s, struct bp_config *c);
const void *bp_setting_base_const(const struct bp_setting *s, const struct bp_config *c);
/* The elements of a list of mappings, and how many. */
const void *bp_list_items(
	const struct bp_setting *s, const struct bp_config *c, const void *base, uint32_t *n);

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

/* Integers of any width. */
void bp_field_store(const struct bp_setting *s, void *field, uint64_t v);
uint64_t bp_field_load(const struct bp_setting *s, const void *field);

/* config.c: a file's bytes (free()), at most one more than it may have; NULL with the error
 * written.
 */
char *bp_config_read_file(const char *path, size_t *len, FILE *errors);

/* reader.c: reads a mapping's settings into `base`; NULL `n` sets the defaults only. NULL `section`
 * is the file, whose settings are where bp_setting_base() says. */
void bp_read_section(
	struct bp_reader *r, const struct bp_setting *section, struct bp_yaml *n, void *base);
/* The read of bp_type_list, for types that only expect something else. */
void bp_read_list(struct bp_reader *r, const struct bp_setting *s, struct bp_yaml *n, void *field);
/* The two halves of that, for lists that lie elsewhere. Whether the node has elements to be read,
 * of which there are as many as there may be; and their reading, one behind the other. */
bool bp_list_given(struct bp_reader *r, const struct bp_setting *s, struct bp_yaml *n);
void bp_read_elements(
	struct bp_reader *r, const struct bp_setting *s, struct bp_yaml *n, void *items);
/* The read of a type that also takes a list, where it is none: true, and its errors reported. */
bool bp_read_as_scalar(
	struct bp_reader *r, const struct bp_setting *s, struct bp_yaml *n, void *field);
/* An error about the setting in hand at byte `at` of `n`, with what was expected. */
void bp_reader_fault(struct bp_reader *r, const struct bp_setting *s, struct bp_yaml *n,
	const struct bp_fault *fault);
/* The same at the node, in printf form. */
__attribute__((format(printf, 4, 5))) void bp_reader_error(struct bp_reader *r,
	const struct bp_setting *s, struct bp_yaml *n, const char *format, ...);
/* Of a setting that is text or a section: whether it is a section. Text is read by parse(), and
 * anything else is an error. */
bool bp_reader_section_or_text(struct bp_reader *r, const struct bp_setting *s, struct bp_yaml *n,
	bool (*parse)(const struct bp_setting *s, const struct bp_config *c, const char *text,
		void *field, struct bp_fault *fault),
	void *field);

/* Sets *fault and returns false. */
__attribute__((format(printf, 3, 4))) bool bp_fault_set(
	struct bp_fault *fault, size_t at, const char *format, ...);

/* check.c: what concerns several settings. */
void bp_check_port(struct bp_reader *r, const struct bp_yaml *n, void *base);
void bp_check_punt(struct bp_reader *r);
/* check_interfaces.c: once ports and bridges are known. */
void bp_check_interfaces(struct bp_reader *r);
/* check_static.c */
void bp_check_static(struct bp_reader *r, const struct bp_yaml *n, void *base);

/* The address of biplane's own that is in the prefix, or NULL. In check_aggregation.c. */
const struct bp_address *bp_config_own_address(
	const struct bp_config *c, const struct bp_prefix *prefix);

/* A setting of a file without a version, by its path in such a file and in one of version 1. `is`
 * may add a remark after a blank. */
struct bp_renamed {
	const char *was, *is;
};
extern const struct bp_renamed bp_renamed[]; /* ends with was NULL */
/* What setting `key` of `section` is called since version 1, or NULL. */
const char *bp_renamed_to(const struct bp_setting *section, const char *key);

/* The known name in `section` that `key` was meant to be, or NULL. */
const char *bp_suggest(const struct bp_setting *section, const char *key);

/* The value of a setting that is no section and no list, as the file would have it. NULL: no
 * memory. free(). */
char *bp_setting_text(const struct bp_setting *s, const struct bp_config *c, const void *base);

/* The double-quoted YAML form of a text. */
void bp_write_quoted(const char *text, FILE *out);

/* Index of the port of that name, or -1. */
int bp_config_port_index(const struct bp_config *c, const char *name);

/* An address, or a prefix with its length, as text: at most BP_ADDRESS_TEXT bytes. Returns `out`.
 */
#define BP_ADDRESS_TEXT 64
const char *bp_address_text(const struct bp_address *a, char out[BP_ADDRESS_TEXT]);
const char *bp_prefix_text(const struct bp_prefix *p, char out[BP_ADDRESS_TEXT]);
/* From "ADDRESS/LENGTH", or an address, which is the prefix of all its bits. False: *fault says why
 * it is neither. */
bool bp_prefix_read(const char *text, struct bp_prefix *out, struct bp_fault *fault);

#endif
