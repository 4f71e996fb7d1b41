/* SPDX-License-Identifier: BSD-3-Clause */
#include <string.h>

#include "apps/biplane/show/show.h"
#include "apps/biplane/table.h"
#include "apps/biplane/text.h"

/* The worker numbers in the mask, as [0, 1]. */
static json_t *worker_list(uint64_t mask)
{
	json_t *list = json_array();

	for (int w = 0; w < BP_MAX_WORKERS; w++)
		if (mask >> w & 1)
			json_array_append_new(list, json_integer(w));
	return list;
}

/* What was decided of each offload at start. */
static json_t *offloads(const struct bp_port_info *p)
{
	json_t *list = json_array();

	for (unsigned i = 0; i < BP_OFFLOADS; i++)
		json_array_append_new(
			list, json_pack("{ss ss ss so}", "offload", bp_offload_name(i), "setting",
				      bp_offload_word_name(p->offload[i].word), "outcome",
				      bp_offload_outcome_name(p->offload[i].outcome), "reason",
				      bp_text_json(p->offload[i].why, sizeof(p->offload[i].why))));
	return list;
}

static json_t *port(const struct bp_shm *m, unsigned i)
{
	const struct bp_port_info *p = &m->ports[i];
	struct bp_show_port_sum sum;
	char mac[BP_TEXT_MAC];

	bp_show_port_sum(m, i, &sum);
	bp_text_mac(p->mac, mac);
	return json_pack("{so so so so so ss sb sb sI sI si si si so"
			 " sI sI sI sI sI sI sI sI sI sI sI sI sI sI}",
		"name", bp_text_json(p->name, sizeof(p->name)), "device",
		bp_text_json(p->device, sizeof(p->device)), "driver",
		bp_text_json(p->driver, sizeof(p->driver)), "bridge",
		bp_text_json(p->bridge, sizeof(p->bridge)), "offloads", offloads(p), "mac", mac,
		"link_up", (int)p->link_up, "full_duplex", (int)p->full_duplex, "speed_mbps",
		(json_int_t)p->speed_mbps, "mtu", (json_int_t)p->mtu, "numa", (int)p->numa,
		"rx_queues", (int)p->rx_queues, "tx_queues", (int)p->tx_queues, "workers",
		worker_list(p->workers), "rx_packets", (json_int_t)sum.rx_packets, "rx_bytes",
		(json_int_t)sum.rx_bytes, "tx_packets", (json_int_t)sum.tx_packets, "tx_bytes",
		(json_int_t)sum.tx_bytes, "tx_dropped", (json_int_t)sum.tx_dropped, "mac_moves",
		(json_int_t)sum.mac_moves, "mac_moves_refused", (json_int_t)sum.mac_moves_refused,
		"fdb_full", (json_int_t)sum.mac_table_full, "hw_rx_bytes",
		(json_int_t)p->hw_rx_bytes, "hw_tx_bytes", (json_int_t)p->hw_tx_bytes, "hw_missed",
		(json_int_t)p->hw_imissed, "hw_rx_errors", (json_int_t)p->hw_ierrors,
		"hw_tx_errors", (json_int_t)p->hw_oerrors, "hw_rx_no_mbuf",
		(json_int_t)p->hw_rx_nombuf);
}

static json_t *collect(const struct bp_show_source *s, char *err, size_t err_size)
{
	json_t *ports = json_array();
	unsigned n = bp_show_ports_in_use(s->shm);

	for (unsigned i = 0; i < n; i++) {
		if (json_array_append_new(ports, port(s->shm, i))) {
			snprintf(err, err_size, "not enough memory");
			json_decref(ports);
			return NULL;
		}
	}
	return json_pack("{so}", "ports", ports);
}

/* "25000 Mbit/s", and "0,1" for the workers: what a table's cell can hold. */
static json_t *for_people(const json_t *p)
{
	json_t *row = json_deep_copy(p);
	const json_t *workers = json_object_get(p, "workers");
	char text[BP_MAX_WORKERS * 4] = "";
	json_int_t speed = bp_show_int(p, "speed_mbps");
	size_t at = 0;

	for (size_t i = 0; i < json_array_size(workers) && at < sizeof(text); i++)
		at += (size_t)snprintf(text + at, sizeof(text) - at, "%s%d", i ? "," : "",
			(int)json_integer_value(json_array_get(workers, i)));
	json_object_set_new(row, "workers", json_string(text));
	json_object_set_new(row, "link",
		json_string(json_is_true(json_object_get(p, "link_up")) ? "up" : "down"));
	/* 0 and all ones are DPDK's "none" and "unknown" */
	if (speed <= 0 || speed == UINT32_MAX)
		json_object_set_new(row, "speed_mbps", json_null());
	snprintf(text, sizeof(text), "%d/%d", (int)bp_show_int(p, "rx_queues"),
		(int)bp_show_int(p, "tx_queues"));
	json_object_set_new(row, "queues", json_string(text));
	return row;
}

/* A row for each offload of each port. */
static json_t *offload_rows(const json_t *ports)
{
	json_t *rows = json_array();

	for (size_t i = 0; i < json_array_size(ports); i++) {
		const json_t *p = json_array_get(ports, i);
		const json_t *list = json_object_get(p, "offloads");

		for (size_t k = 0; k < json_array_size(list); k++) {
			json_t *row = json_deep_copy(json_array_get(list, k));

			json_object_set(row, "name", json_object_get(p, "name"));
			json_array_append_new(rows, row);
		}
	}
	return rows;
}

static void print(const json_t *view, bool all, FILE *out)
{
	static const struct bp_column identity[] = {
		{"name", "PORT", 0},
		{"device", "DEVICE", 0},
		{"driver", "DRIVER", 0},
		{"mac", "MAC", 0},
		{"link", "LINK", 0},
		{"speed_mbps", "MBIT/S", 1},
		{"mtu", "MTU", 1},
		{"queues", "RXQ/TXQ", 1},
		{"workers", "WORKERS", 0},
		{"bridge", "BRIDGE", 0},
		{NULL, NULL, 0},
	};
	static const struct bp_column traffic[] = {
		{"name", "PORT", 0},
		{"rx_packets", "RX-PACKETS", 1},
		{"rx_bytes", "RX-BYTES", 1},
		{"tx_packets", "TX-PACKETS", 1},
		{"tx_bytes", "TX-BYTES", 1},
		{"tx_dropped", "TX-DROPPED", 1},
		{"mac_moves", "MAC-MOVES", 1},
		{"mac_moves_refused", "MOVES-REFUSED", 1},
		{"fdb_full", "FDB-FULL", 1},
		{"hw_missed", "HW-MISSED", 1},
		{"hw_rx_errors", "HW-RX-ERRORS", 1},
		{"hw_tx_errors", "HW-TX-ERRORS", 1},
		{"hw_rx_no_mbuf", "NO-MBUF", 1},
		{NULL, NULL, 0},
	};
	static const struct bp_column offload_columns[] = {
		{"name", "PORT", 0},
		{"offload", "OFFLOAD", 0},
		{"setting", "SETTING", 0},
		{"outcome", "OUTCOME", 0},
		{"reason", "REASON", 0},
		{NULL, NULL, 0},
	};
	const json_t *ports = json_object_get(view, "ports");
	json_t *rows = json_array(), *of_offloads;

	for (size_t i = 0; i < json_array_size(ports); i++)
		json_array_append_new(rows, for_people(json_array_get(ports, i)));
	bp_table_print(out, identity, rows, "no ports: the data plane has not started yet");
	if (json_array_size(rows)) {
		fputc('\n', out);
		bp_table_print(out, traffic, rows, "");
		fputc('\n', out);
		of_offloads = offload_rows(ports);
		bp_table_print(out, offload_columns, of_offloads, "");
		json_decref(of_offloads);
	}
	json_decref(rows);
}

const struct bp_show_view bp_show_ports = {
	.name = "ports",
	.summary = "devices, links, queues, traffic and offloads",
	.collect = collect,
	.print = print,
};
