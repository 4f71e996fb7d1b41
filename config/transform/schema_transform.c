/* SPDX-License-Identifier: BSD-3-Clause */
#include "config/schema_rows.h"
#include "config/transform/schema.h"

#define AT(member_) IN(bp_config_transform, member_)
#include "config/transform/type_transform.h"

/* The rows of sections transform and transformation. */

static const char *const endian_words[] = {"big", "little", NULL};
static const char *const angle_words[] = {"radians", "degrees", NULL};
static const char *const number_words[] = {"fixed32", "ufixed32", "float32", "float64", NULL};
static const char *const method_words[] = {
	"vector", "exact", "large", "medium", "small", "chebyshev", "userspace", NULL};
static const char *const unknown_words[] = {"bare", "drop", NULL};
static const char *const overflow_words[] = {"saturate", "drop", NULL};
static const char *const singular_words[] = {"refuse", "allow", NULL};

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
	return ((const struct bp_config_transform *)base)->loader.family != 0;
}

/* What a receiver says, and the one that an entry has for those that say nothing. */
#define SAYS(what_, flag_)                                                                         \
	static bool receiver_has_##what_(const void *base)                                         \
	{                                                                                          \
		return (((const struct bp_transform_receiver *)base)->flags & (flag_)) != 0;       \
	}
#define ENTRY_SAYS(what_)                                                                          \
	static bool entry_has_##what_(const void *base)                                            \
	{                                                                                          \
		return receiver_has_##what_(&((const struct bp_transform_rule *)base)->otherwise); \
	}
SAYS(address, BP_TRANSFORM_ADDRESS)
SAYS(udp, BP_TRANSFORM_UDP)
SAYS(mac, BP_TRANSFORM_MAC)
SAYS(matrix, BP_TRANSFORM_MATRIX)
ENTRY_SAYS(address)
ENTRY_SAYS(udp)
ENTRY_SAYS(mac)

/* Of a number of a layout. */
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
	{.path = "transform[].layout." #name_, .type = &bp_type_section, .flags = BP_RELOAD, GIVEN(bp_layout_draft, has_), \
	 .help = help_},                                                                           \
	{.path = "transform[].layout." #name_ ".offset", .type = &bp_type_uint, IN(bp_layout_draft, member_.offset), .flags = BP_REQUIRED | BP_RELOAD, .max = BP_TRANSFORM_OFFSET_MAX, \
	 .help = "Octets of payload before it."},                                                  \
	{.path = "transform[].layout." #name_ ".type", .type = &bp_type_enum, IN(bp_layout_draft, member_.type), .flags = BP_REQUIRED | BP_RELOAD, .words = number_words, \
	 .help = "fixed32 and ufixed32: with and without a sign, in 32 bits. float32 and float64: IEEE 754."}, \
	{.path = "transform[].layout." #name_ ".fraction", .type = &bp_type_uint, IN(bp_layout_draft, member_.fraction), .flags = BP_RELOAD, .max = 31, .preset = "25", .present = name_##_has_fraction, \
	 .help = "Bits behind the point, of a fixed-point number."}

/* A receiver; `at_`: where it is in the element. */
#define RECEIVER(path_, at_, who_)                                                                 \
	{.path = path_ ".address", .type = &bp_type_receiver_address, .offset = (at_), .size = sizeof(struct bp_transform_receiver), .flags = BP_RELOAD, .present = who_##_has_address, .preset_note = "the reading's own destination", \
	 .help = "Destination address of the results."},                                           \
	{.path = path_ ".udp", .type = &bp_type_receiver_udp, .offset = (at_), .size = sizeof(struct bp_transform_receiver), .flags = BP_RELOAD, .min = 1, .max = 65535, .present = who_##_has_udp, .preset_note = "the port that the reading came to", \
	 .help = "Destination port of the results."},                                              \
	{.path = path_ ".mac", .type = &bp_type_receiver_mac, .offset = (at_), .size = sizeof(struct bp_transform_receiver), .flags = BP_RELOAD, .present = who_##_has_mac, .preset_note = "the reading's own destination", \
	 .help = "Destination MAC address of the results. A bridge does not ask for it (ARP): give it where address is another machine's. A router finds it itself."}, \
	{.path = path_ ".reflect", .type = &bp_type_receiver_reflect, .offset = (at_), .size = sizeof(struct bp_transform_receiver), .flags = BP_RELOAD, .preset = "false", \
	 .help = "Whether results go back to who sent the reading, as the paper's testbed does: from the reading's destination, to udp or the port that the reading came to."}

static const struct bp_setting rows[] = {
	{.path = "transform", .type = &bp_type_list, .flags = BP_RELOAD, .max = BP_TRANSFORM_RULES_MAX, .list = &transform_list, .preset_note = "none",
	 .help = "Readings of trackers, points in UDP datagrams, that become Cartesian coordinates in the receivers' frames. Of the entries of a port the first that a datagram's destination is in is for it; what is for an entry and can't be transformed is dropped and counted, so that no reading arrives as it came. The first entry, and the last, come and go with a restart only."},
	{.path = "transform[].port", .type = &bp_type_port, IN(bp_transform_rule, port), .flags = BP_REQUIRED | BP_RELOAD,
	 .help = "The port that the readings come in on. Results go the way that a datagram to the receiver would have gone from there: over the bridge, or by the routing tables."},
	{.path = "transform[].udp", .type = &bp_type_uint, IN(bp_transform_rule, udp), .flags = BP_REQUIRED | BP_RELOAD, .min = 1, .max = 65535,
	 .help = "Destination port of the readings."},
	{.path = "transform[].to", .type = &bp_type_hosts, IN(bp_transform_rule, to), .flags = BP_RELOAD, .present = has_to, .preset_note = "any address, of both IP versions",
	 .help = "Destination addresses of the readings."},
	{.path = "transform[].layout", .type = &bp_type_transform_layout, IN(bp_transform_rule, layout), .unfold = bp_transform_layout_unfold, .flags = BP_RELOAD, .preset = "paper",
	 .help = "What stands where in the UDP payload; what else is in there is kept. paper: 40 octets, big-endian numbers of 32 bits with 25 bits of fraction: radius, phi, theta, then x, y and z, and two time stamps (Kunze et al., Coordinate Transformation in Programmable Switches, 2021). paper-timed: the same behind the timing header of 17 octets."},
	{.path = "transform[].layout.length", .type = &bp_type_uint, IN(bp_layout_draft, length), .flags = BP_RELOAD | BP_OR_ZERO, .min = 8, .max = 9000, .preset = "0", .preset_note = "as many as the fields need",
	 .help = "Octets that a reading has at least; a shorter one is dropped. What is behind them is kept."},
	{.path = "transform[].layout.order", .type = &bp_type_enum, IN(bp_layout_draft, order), .flags = BP_RELOAD, .words = endian_words, .preset = "big",
	 .help = "Byte order of all numbers."},
	{.path = "transform[].layout.angles", .type = &bp_type_enum, IN(bp_layout_draft, angles), .flags = BP_RELOAD, .words = angle_words, .preset = "radians",
	 .help = "Unit of phi and theta."},
	FIELD(radius, in[0], has_in[0], "The distance."),
	FIELD(phi, in[1], has_in[1], "The azimuth, from the x axis towards the y axis."),
	FIELD(theta, in[2], has_in[2], "The polar angle, from the z axis."),
	FIELD(from_x, from[0], has_from[0], "Instead of radius, phi and theta: the reading is a Cartesian point already, and this is its x. Then there is only the matrix to apply."),
	FIELD(from_y, from[1], has_from[1], "Its y."),
	FIELD(from_z, from[2], has_from[2], "Its z."),
	FIELD(x, out[0], has_out[0], "Where the result's x is written."),
	FIELD(y, out[1], has_out[1], "Where its y is written."),
	FIELD(z, out[2], has_out[2], "Where its z is written."),
	{.path = "transform[].method", .type = &bp_type_enum, IN(bp_transform_rule, method), .flags = BP_RELOAD, .words = method_words, .preset = "vector",
	 .help = "How points are computed. vector: in double, several at once; the error stays below 0.2 micrometres for readings in metres up to 64. exact: in double, with the C library's functions. The others are the paper's, for study: tables large, medium and small, chebyshev, a polynomial of degree 6, and userspace."},
	{.path = "transform[].unknown", .type = &bp_type_enum, IN(bp_transform_rule, drop_unknown), .flags = BP_RELOAD, .words = unknown_words, .preset = "drop",
	 .help = "What becomes of readings whose source is not in the list: drop; or bare, the Cartesian point without a matrix goes to receiver."},
	{.path = "transform[].overflow", .type = &bp_type_enum, IN(bp_transform_rule, drop_overflow), .flags = BP_RELOAD, .words = overflow_words, .preset = "saturate",
	 .help = "What becomes of a result that the layout can't hold: saturate sends the nearest that it can, and counts it by source; drop drops the datagram to that receiver."},
	{.path = "transform[].singular", .type = &bp_type_enum, IN(bp_transform_rule, allow_singular), .flags = BP_RELOAD, .words = singular_words, .preset = "refuse",
	 .help = "Whether a matrix may flatten space to a plane, a line or a point, as one does that projects on purpose."},
	{.path = "transform[].loader", .type = &bp_type_bool, IN(bp_transform_rule, loader), .flags = BP_RELOAD, .preset = "false",
	 .help = "Whether whoever connects to transformation.loader may set the matrices of this entry, and add sources to it."},
	{.path = "transform[].receiver", .type = &bp_type_section, .flags = BP_RELOAD,
	 .help = "The receiver of sources without one, of readings of unknown sources and of sources that are added while it runs; and what a receiver in the list does not say."},
	RECEIVER("transform[].receiver", offsetof(struct bp_transform_rule, otherwise), entry),
	{.path = "transform[].sources", .type = &bp_type_transform_sources, .size = sizeof(struct bp_transform_rule), .flags = BP_RELOAD, .max = BP_TRANSFORM_MATRICES_MAX, .list = &source_list, .preset_note = "none",
	 .help = "Who readings come from. Of prefixes the longest that a reading's source address is in is for it."},
	{.path = "transform[].sources[].address", .type = &bp_type_hosts, IN(bp_transform_source, address), .flags = BP_REQUIRED | BP_RELOAD,
	 .help = "Source address of its readings, or a prefix of such."},
	{.path = "transform[].sources[].receivers", .type = &bp_type_receivers, .size = sizeof(struct bp_transform_source), .flags = BP_RELOAD, .max = BP_TRANSFORM_RECEIVERS_MAX, .list = &receiver_list, .preset_note = "one, without a matrix",
	 .help = "Who gets the results: a datagram each. What a receiver does not say is as in the entry's receiver; where it goes (address with mac, or reflect) as a whole."},
	RECEIVER("transform[].sources[].receivers[]", 0, receiver),
	{.path = "transform[].sources[].receivers[].matrix", .type = &bp_type_matrix, .size = sizeof(struct bp_transform_receiver), .flags = BP_RELOAD, .present = receiver_has_matrix, .preset_note = "none: it gets the bare Cartesian point",
	 .help = "From the tracker's frame into the receiver's: the first three columns turn, scale and shear, and the last shifts. For a matrix with an entry of 64 or more the methods in fixed point compute in double."},

	{.path = "transformation", .type = &bp_type_section, .done = bp_check_transform,
	 .help = "What all entries of transform share."},
	{.path = "transformation.matrices", .type = &bp_type_uint, AT(matrices), .min = 1, .max = BP_TRANSFORM_MATRICES_MAX, .preset = "1024",
	 .help = "Receivers of all sources together, those that are added while it runs too. Each takes some 600 octets of the shared memory."},
	{.path = "transformation.loader", .type = &bp_type_section, .present = has_loader,
	 .help = "Where the control plane listens for matrices as the paper's authors' server does: messages of 100 octets over TCP, of which each is answered with ok when its matrix is in force, or with what is wrong with it. Without this section nobody listens."},
	{.path = "transformation.loader.address", .type = &bp_type_loopback, AT(loader), .flags = BP_REQUIRED,
	 .help = "A loopback address, since the protocol knows no password."},
	{.path = "transformation.loader.tcp", .type = &bp_type_uint, AT(loader_tcp), .min = 1, .max = 65535, .preset = "16400",
	 .help = "TCP port."},
	{.path = "transformation.loader.connections", .type = &bp_type_uint, AT(loader_connections), .min = 1, .max = 256, .preset = "8",
	 .help = "Connections at one time; of a further one nothing is read until another ends. One that is silent for a minute is closed."},
};
/* clang-format on */

BP_SCHEMA_PART(bp_schema_transform, rows);
