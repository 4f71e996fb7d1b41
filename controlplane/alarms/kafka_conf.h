/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_CONTROLPLANE_ALARMS_KAFKA_CONF_H
#define BP_CONTROLPLANE_ALARMS_KAFKA_CONF_H

#include <librdkafka/rdkafka.h>
#include <stddef.h>

#include "controlplane/alarms/kafka_link.h"

/* The caller owns the result. NULL with a sentence in `why`: librdkafka refuses a setting. */
rd_kafka_conf_t *bp_kafka_conf(const struct bp_kafka_link_settings *s, char *why, size_t size);

#endif
