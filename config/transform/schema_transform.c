/* SPDX-License-Identifier: BSD-3-Clause */
#include "config/schema_rows.h"
#include "config/transform/schema.h"

#define AT(member_) IN(bp_config_transform, member_)
#include "config/transform/type_transform.h"

/* The rows of section transform. */

static const char *const endian_names[] = {"big", "little", NULL};
static const char *const angle_names[] = {"radians", "degrees", NULL};
static const char *const number_names[] = {"fixed32", "ufixed32", "float32", "float64", NULL};
static const char *const method_names[] = {"vector", "exact", NULL};
static const char *const unknown_words[] = {"forward", "drop", NULL};
static const char *const overflow_names[] = {"saturate", "drop", NULL};

static const struct bp_list_layout transform_list = {
	.element = sizeof(struct bp_transform_rule),
	.items = offsetof(struct bp_config_transform, entries.rule),
	.count = offsetof(struct bp_config_transform, entries.n_rules),
};
static const struct bp_list_layout source_list = {
	.element = sizeof(struct bp_transform_source),
	.of = bp_transform_sources_of,
};
static const struct bp_list_layout receiver_list = {
	.element = sizeof(struct bp_transform_receiver),
	.of = bp_transform_receivers_of,
};

static bool has_to(const void *base)
{
	return ((const struct bp_transform_rule *)base)->to.family != 0;
}

static bool has_loader(const void *base)
{
	return ((const struct bp_config_transform *)base)->matrix_loader_address.family != 0;
}

/* Whether a receiver sets the value, or inherits it from the entry. */
#define SAYS(what_, flag_)                                                                         \
	static bool receiver_has_##what_(const void *base)                                         \
	{                                                                                          \
		return (((const struct bp_transform_receiver *)base)->flags & (flag_)) != 0;       \
	}
#define ENTRY_NAME(what_)                                                                          \
	static bool entry_has_##what_(const void *base)                                            \
	{                                                                                          \
		return receiver_has_##what_(&((const struct bp_transform_rule *)base)->otherwise); \
	}
SAYS(address, BP_TRANSFORM_ADDRESS)
SAYS(udp, BP_TRANSFORM_UDP)
SAYS(mac, BP_TRANSFORM_MAC)
SAYS(matrix, BP_TRANSFORM_MATRIX)
ENTRY_NAME(address)
ENTRY_NAME(udp)
ENTRY_NAME(mac)

/* Only for layout numbers with a fraction. */
#define HAS_FRACTION(what_, member_)                                                               \
	static bool what_##_has_fraction(const void *base)                                         \
	{                                                                                          \
		const uint8_t type = ((const struct bp_layout_draft *)base)->member_.type;         \
                                                                                                   \
		return type == BP_TRANSFORM_FIXED32 || type == BP_TRANSFORM_UFIXED32;              \
	}
HAS_FRACTION(radius, in[0])
HAS_FRACTION(phi, in[1])
HAS_FRACTION(theta, in[2])
HAS_FRACTION(from_x, from[0])
HAS_FRACTION(from_y, from[1])
HAS_FRACTION(from_z, from[2])
HAS_FRACTION(x, out[0])
HAS_FRACTION(y, out[1])
HAS_FRACTION(z, out[2])

/* clang-format off */
/* A number of a layout. */
#define FIELD(name_, member_, has_, help_)                                                         \
	{.path = "transform.entries[].layout." #name_, .type = &bp_type_section, .flags = BP_RELOAD, GIVEN(bp_layout_draft, has_), \
	 .help = help_},                                                                           \
	{.path = "transform.entries[].layout." #name_ ".offset", .type = &bp_type_uint, IN(bp_layout_draft, member_.offset), .flags = BP_REQUIRED | BP_RELOAD, .max = BP_TRANSFORM_OFFSET_MAX, \
	 .help = "Offset of the field in the UDP payload, bytes."},                                \
	{.path = "transform.entries[].layout." #name_ ".type", .type = &bp_type_enum, IN(bp_layout_draft, member_.type), .flags = BP_REQUIRED | BP_RELOAD, .enum_names = number_names, \
	 .help = "fixed32, ufixed32: signed and unsigned 32-bit fixed point. float32, float64: IEEE 754."}, \
	{.path = "transform.entries[].layout." #name_ ".fraction", .type = &bp_type_uint, IN(bp_layout_draft, member_.fraction), .flags = BP_RELOAD, .max = 31, .preset = "25", .present = name_##_has_fraction, \
	 .help = "Fractional bits of a fixed-point number."}

/* A receiver; `at_`: its offset in the element. */
#define RECEIVER(path_, at_, who_)                                                                 \
	{.path = path_ ".address", .type = &bp_type_receiver_address, .offset = (at_), .size = sizeof(struct bp_transform_receiver), .flags = BP_RELOAD, .present = who_##_has_address, .preset_text = "the reading's destination", \
	 .help = "Destination address of the results."},                                           \
	{.path = path_ ".udp_port", .type = &bp_type_receiver_udp, .offset = (at_), .size = sizeof(struct bp_transform_receiver), .flags = BP_RELOAD, .min = 1, .max = 65535, .present = who_##_has_udp, .preset_text = "the reading's destination port", \
	 .help = "Destination UDP port of the results."},                                          \
	{.path = path_ ".mac", .type = &bp_type_receiver_mac, .offset = (at_), .size = sizeof(struct bp_transform_receiver), .flags = BP_RELOAD, .present = who_##_has_mac, .preset_text = "the reading's destination", \
	 .help = "Destination MAC address of the results, for ports in a bridge: a bridge does not resolve address. A routed port resolves it."}, \
	{.path = path_ ".reply_to_sender", .type = &bp_type_receiver_reflect, .offset = (at_), .size = sizeof(struct bp_transform_receiver), .flags = BP_RELOAD, .preset = "false", \
	 .help = "Whether results are sent to the sender of the reading: from the reading's destination, to udp_port or else the reading's destination port."}

static const struct bp_setting rows[] = {
	{.path = "transform", .type = &bp_type_section, .done = bp_check_transform,
	 .help = "Coordinate transformation: readings of trackers, points in UDP datagrams, become Cartesian coordinates in the receivers' frames."},
	{.path = "transform.max_matrices", .type = &bp_type_uint, .flags = BP_MAIN, AT(max_matrices), .min = 1, .max = BP_TRANSFORM_MATRICES_MAX, .preset = "1024",
	 .help = "Maximum number of receivers of all sources, including those added at run time. Each takes about 600 bytes of shared memory."},
	{.path = "transform.matrix_loader", .type = &bp_type_section, .present = has_loader,
	 .help = "TCP server of the control plane for matrices, with the protocol of the server of Kunze et al. (2021): each message of 100 bytes is answered with ok or an error. Without this section there is no such server."},
	{.path = "transform.matrix_loader.address", .type = &bp_type_loopback, AT(matrix_loader_address), .flags = BP_REQUIRED,
	 .help = "Loopback address of the server. The protocol has no authentication."},
	{.path = "transform.matrix_loader.tcp_port", .type = &bp_type_uint, AT(matrix_loader_tcp_port), .min = 1, .max = 65535, .preset = "16400",
	 .help = "TCP port of the server."},
	{.path = "transform.matrix_loader.max_connections", .type = &bp_type_uint, AT(matrix_loader_max_connections), .min = 1, .max = 256, .preset = "8",
	 .help = "Maximum number of concurrent connections; further ones wait. A connection that is idle for a minute is closed."},

	{.path = "transform.entries", .type = &bp_type_list, .flags = BP_RELOAD, .max = BP_TRANSFORM_RULES_MAX, .list = &transform_list, .preset_text = "none",
	 .help = "Readings to transform. Of the entries of a port the first match wins. A datagram that matches an entry and cannot be transformed is dropped and counted. Adding the first entry or removing the last needs a restart."},
	{.path = "transform.entries[].port", .type = &bp_type_port, IN(bp_transform_rule, port), .flags = BP_REQUIRED | BP_RELOAD,
	 .help = "Port where the readings arrive. Results are forwarded like a datagram to the receiver that arrives there."},
	{.path = "transform.entries[].udp_port", .type = &bp_type_uint, IN(bp_transform_rule, udp), .flags = BP_REQUIRED | BP_RELOAD, .min = 1, .max = 65535,
	 .help = "Destination UDP port of the readings."},
	{.path = "transform.entries[].to", .type = &bp_type_hosts, IN(bp_transform_rule, to), .flags = BP_RELOAD, .present = has_to, .preset_text = "any IPv4 or IPv6 address",
	 .help = "Destination address or prefix of the readings."},
	{.path = "transform.entries[].layout", .type = &bp_type_transform_layout, IN(bp_transform_rule, layout), .unfold = bp_transform_layout_unfold, .flags = BP_MAIN | BP_RELOAD, .preset = "kunze2021",
	 .help = "Fields of the UDP payload; other bytes are kept. kunze2021: 40 bytes, big-endian 32-bit numbers with 25 fractional bits, radius, phi, theta, then x, y, z and two time stamps (Kunze et al., Coordinate Transformation in Programmable Switches, 2021). kunze2021_timed: the same behind a timing header of 17 bytes."},
	{.path = "transform.entries[].layout.length", .type = &bp_type_uint, IN(bp_layout_draft, length), .flags = BP_RELOAD, .min = 8, .max = 9000, .zero = "auto", .preset = "auto",
	 .help = "Minimum length of a reading, bytes; shorter readings are dropped. auto: the end of the last field."},
	{.path = "transform.entries[].layout.byte_order", .type = &bp_type_enum, IN(bp_layout_draft, order), .flags = BP_RELOAD, .enum_names = endian_names, .preset = "big",
	 .help = "Byte order of all fields."},
	{.path = "transform.entries[].layout.angle_unit", .type = &bp_type_enum, IN(bp_layout_draft, angles), .flags = BP_RELOAD, .enum_names = angle_names, .preset = "radians",
	 .help = "Unit of phi and theta."},
	FIELD(radius, in[0], has_in[0], "Distance."),
	FIELD(phi, in[1], has_in[1], "Azimuth, from the x axis towards the y axis."),
	FIELD(theta, in[2], has_in[2], "Polar angle, from the z axis."),
	FIELD(from_x, from[0], has_from[0], "x of a Cartesian reading, in place of radius, phi and theta; then only the matrix is applied."),
	FIELD(from_y, from[1], has_from[1], "y of a Cartesian reading."),
	FIELD(from_z, from[2], has_from[2], "z of a Cartesian reading."),
	FIELD(x, out[0], has_out[0], "x of the result."),
	FIELD(y, out[1], has_out[1], "y of the result."),
	FIELD(z, out[2], has_out[2], "z of the result."),
	{.path = "transform.entries[].method", .type = &bp_type_enum, IN(bp_transform_rule, method), .flags = BP_MAIN | BP_RELOAD, .enum_names = method_names, .preset = "vector",
	 .help = "Method of computation. vector: double precision, several points at a time; the error is below 0.2 um for readings in metres up to 64. exact: double precision with the C library's functions, one point at a time."},
	{.path = "transform.entries[].unknown_source", .type = &bp_type_enum, IN(bp_transform_rule, drop_unknown), .flags = BP_MAIN | BP_RELOAD, .enum_names = unknown_words, .preset = "drop",
	 .help = "Readings from addresses that are not in sources: drop, or forward the Cartesian point without a matrix to receiver."},
	{.path = "transform.entries[].overflow", .type = &bp_type_enum, IN(bp_transform_rule, drop_overflow), .flags = BP_MAIN | BP_RELOAD, .enum_names = overflow_names, .preset = "saturate",
	 .help = "Results that the layout cannot represent: saturate sends the nearest value and counts it by source, drop drops the datagram to that receiver."},
	{.path = "transform.entries[].allow_singular", .type = &bp_type_bool, IN(bp_transform_rule, allow_singular), .flags = BP_RELOAD, .preset = "false",
	 .help = "Whether a matrix may be singular, such as a projection to a plane."},
	{.path = "transform.entries[].matrix_loader", .type = &bp_type_bool, IN(bp_transform_rule, loader), .flags = BP_RELOAD, .preset = "false",
	 .help = "Whether clients of transform.matrix_loader may set the matrices of this entry and add sources to it."},
	{.path = "transform.entries[].receiver", .type = &bp_type_section, .flags = BP_RELOAD,
	 .help = "Default receiver: of sources without receivers, of readings from unknown sources and of sources added at run time; and the default of each setting of receivers."},
	RECEIVER("transform.entries[].receiver", offsetof(struct bp_transform_rule, otherwise), entry),
	{.path = "transform.entries[].sources", .type = &bp_type_transform_sources, .size = sizeof(struct bp_transform_rule), .flags = BP_RELOAD, .max = BP_TRANSFORM_MATRICES_MAX, .list = &source_list, .preset_text = "none",
	 .help = "Sources of readings. The longest prefix that contains the source address of a reading wins."},
	{.path = "transform.entries[].sources[].address", .type = &bp_type_hosts, IN(bp_transform_source, address), .flags = BP_REQUIRED | BP_RELOAD,
	 .help = "Source address or prefix of the readings."},
	{.path = "transform.entries[].sources[].receivers", .type = &bp_type_receivers, .size = sizeof(struct bp_transform_source), .flags = BP_RELOAD, .max = BP_TRANSFORM_RECEIVERS_MAX, .list = &receiver_list, .preset_text = "one, without a matrix",
	 .help = "Receivers of the results; each gets a datagram. Defaults are those of the entry's receiver; a destination (address with mac, or reply_to_sender) replaces the default one as a whole."},
	RECEIVER("transform.entries[].sources[].receivers[]", 0, receiver),
	{.path = "transform.entries[].sources[].receivers[].matrix", .type = &bp_type_matrix, .size = sizeof(struct bp_transform_receiver), .flags = BP_RELOAD, .present = receiver_has_matrix, .preset_text = "none: the Cartesian point in the tracker's frame",
	 .help = "Affine transformation from the tracker's frame into the receiver's: the first three columns are the linear part, the last is the translation."},
};
/* clang-format on */

BP_SCHEMA_PART(bp_schema_transform, rows);
