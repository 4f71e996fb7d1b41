/* SPDX-License-Identifier: BSD-3-Clause */
#include <string.h>

#include "apps/biplane/show/show.h"
#include "apps/biplane/text.h"
#include "controlplane/process/peer.h"

void bp_show_port_sum(const struct bp_shm *m, unsigned port, struct bp_show_port_sum *sum)
{
	*sum = (struct bp_show_port_sum){0};
	for (uint32_t w = 0; w < m->workers; w++) {
		struct bp_port_stats *s = &m->port_stats[w * BP_MAX_PORTS + port];

		sum->rx_packets += atomic_load_explicit(&s->rx_packets, memory_order_relaxed);
		sum->rx_bytes += atomic_load_explicit(&s->rx_bytes, memory_order_relaxed);
		sum->tx_packets += atomic_load_explicit(&s->tx_packets, memory_order_relaxed);
		sum->tx_bytes += atomic_load_explicit(&s->tx_bytes, memory_order_relaxed);
		sum->tx_dropped += atomic_load_explicit(&s->tx_dropped, memory_order_relaxed);
		sum->mac_moves += atomic_load_explicit(&s->mac_moves, memory_order_relaxed);
		sum->mac_moves_refused +=
			atomic_load_explicit(&s->mac_moves_refused, memory_order_relaxed);
		sum->mac_table_full +=
			atomic_load_explicit(&s->mac_table_full, memory_order_relaxed);
	}
}

unsigned bp_show_ports_in_use(const struct bp_shm *m)
{
	return bp_shm_ports_in_use(m);
}

json_int_t bp_show_int(const json_t *object, const char *key)
{
	return json_integer_value(json_object_get(object, key));
}

void bp_show_refused(json_int_t n, const char *what, FILE *out)
{
	if (n)
		fprintf(out,
			"warning: table full, %" JSON_INTEGER_FORMAT
			" %s not installed: the kernel forwards their traffic; section routing of "
			"the configuration sets the capacities\n",
			n, what);
}

json_t *bp_show_intervals(const json_t *rows)
{
	json_t *copy = json_deep_copy(rows), *row;
	size_t i;

	json_array_foreach(copy, i, row)
	{
		const char *key;
		json_t *v;

		json_object_foreach(json_array_get(rows, i), key, v)
		{
			const size_t n = strlen(key);
			char name[64];

			if (!json_is_integer(v) || n < 4 || strcmp(key + n - 3, "_ns") != 0)
				continue;
			snprintf(name, sizeof(name), "%.*s", (int)(n - 3), key);
			json_object_set_new(row, name, bp_text_interval(json_integer_value(v)));
		}
	}
	return copy;
}

bool bp_show_alive(uint64_t pid)
{
	return bp_process_alive(pid);
}
