/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_PROTO_HEALTH_PHD_CONFIG_H
#define BP_PROTO_HEALTH_PHD_CONFIG_H

#include "proto/health/phd_apdu.h"

/*
 * The measurements of a device and the layout of its fixed reports: read from its ConfigReport
 * (ISO/IEEE 11073-20601 A.11.5), or known for a standard configuration of a device specialisation.
 */

/* Attributes that this code or a value converter knows, MDC_ATTR_*. */
enum bp_phd_attribute {
	BP_PHD_ATTR_ID_TYPE = 2351,      /* u16 partition, u16 code */
	BP_PHD_ATTR_STATUS = 2375,       /* measurement status: u16 of bits */
	BP_PHD_ATTR_TIME_ABS = 2448,     /* AbsoluteTime, 8 bytes */
	BP_PHD_ATTR_TIME_REL = 2449,     /* RelativeTime: u32, 1/8 ms */
	BP_PHD_ATTR_UNIT = 2454,         /* u16 code of the dimension partition */
	BP_PHD_ATTR_METRIC_SPEC = 2630,  /* u16 of bits */
	BP_PHD_ATTR_ENUM_OID = 2633,     /* u16 code */
	BP_PHD_ATTR_BASIC = 2636,        /* SFLOAT */
	BP_PHD_ATTR_VALUE_MAP = 2645,    /* list of {u16 attribute, u16 bytes} */
	BP_PHD_ATTR_SIMPLE = 2646,       /* FLOAT */
	BP_PHD_ATTR_ACTIVE = 2649,       /* measurement active period: FLOAT, seconds */
	BP_PHD_ATTR_SYS_TYPES = 2650,    /* of the MDS: list of {u16 specialisation, u16 version} */
	BP_PHD_ATTR_SUPPLEMENTAL = 2657, /* list of {u16 partition, u16 code} */
	BP_PHD_ATTR_BITS32 = 2661,
	BP_PHD_ATTR_BITS16 = 2662,
	BP_PHD_ATTR_COMPOUND_FLOAT = 2676,  /* list of FLOATs */
	BP_PHD_ATTR_COMPOUND_SFLOAT = 2677, /* list of SFLOATs */
	BP_PHD_ATTR_IDS = 2678,             /* list of u16 codes, in the type's partition */
	BP_PHD_ATTR_TIME_BO = 2690,         /* BaseOffsetTime, 8 bytes */
};

#define BP_PHD_OBJECTS_MAX 48 /* a configuration with more is answered unsupported-config */
#define BP_PHD_MAP_MAX 8      /* and of the maps of an object */
#define BP_PHD_IDS_MAX 4
#define BP_PHD_SUPPLEMENTAL_MAX 2

struct bp_phd_attr_map {
	uint16_t attr; /* enum bp_phd_attribute, or another */
	uint16_t len;  /* bytes of its value in a fixed report */
};

/* Undeclared members of an object are 0. */
struct bp_phd_object_model {
	uint16_t class; /* 5: enumeration; 6: numeric; 9: RT-SA */
	uint16_t handle;
	uint16_t partition, code; /* its type: the measured quantity */
	uint16_t unit;
	uint16_t metric_spec;
	uint16_t ids[BP_PHD_IDS_MAX]; /* of the parts of a compound value, in their order */
	uint16_t n_ids;               /* more than fit: 0 */
	uint16_t supplemental[BP_PHD_SUPPLEMENTAL_MAX]; /* codes; the first ones only */
	uint16_t n_supplemental;
	uint16_t n_map;
	struct bp_phd_attr_map map[BP_PHD_MAP_MAX]; /* of its fixed reports, in order */
};

struct bp_phd_model {
	uint16_t config_id;
	uint16_t n;
	struct bp_phd_object_model object[BP_PHD_OBJECTS_MAX];
	uint64_t content; /* bp_phd_model_content() */
};

/*
 * A hash that two models share when all that they say is equal, the id included. Not keyed, so that
 * it is the same in every process and on disk; of 64 bits.
 */
uint64_t bp_phd_model_content(const struct bp_phd_model *m);

/*
 * Reads the information of an event report of type BP_PHD_CONFIG: of each object the attributes
 * 2351, 2454, 2630, 2645, 2657 and 2678; others are skipped. *out is complete with OK only.
 * E_LENGTH also if a read attribute does not have the length of its type; E_FIELD: a handle is 0 or
 * duplicate, a read attribute is duplicate in an object, or there are more objects or map entries
 * than fit. The plausibility of classes and values is not checked.
 */
enum bp_phd_error bp_phd_config_read(struct bp_phd_bytes info, struct bp_phd_model *out);

/*
 * The standard configuration with that id, or NULL. *certain: its layout is the normative one. If
 * not, the id is recognised by its number, but no text of the standard was available: then the
 * model has no objects, since a wrong map produces wrong measurements, and such a device has to
 * declare its configuration.
 */
const struct bp_phd_model *bp_phd_standard(uint16_t config_id, bool *certain);

/*
 * The device specialisation of a standard configuration, MDC_DEV_SPEC_PROFILE_*: the ids zz00..zz99
 * are of part 11073-104zz, whose code is 4096 + zz. 0: an id of no part, or extended (from 0x4000
 * on).
 */
uint16_t bp_phd_spec_of_standard(uint16_t config_id);

#endif
