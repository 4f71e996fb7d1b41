/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_DATAPLANE_MQTT_NETWORKS_H
#define BP_DATAPLANE_MQTT_NETWORKS_H

struct bp_worker;

/* Gives routed ports, VLAN subinterfaces and bridges with a host interface the network of their
 * VRF. The router calls it, between two walks. */
void bp_networks_follow(struct bp_worker *w);

#endif
