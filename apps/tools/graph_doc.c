/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Writes docs/developer/graph.md to stdout: the given page, with the figure between its markers
 * drawn from the tables of next nodes. A test compares the output with the file.
 */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "dataplane/nodes/nodes.h"
#include "dataplane/service.h"

#define TABLES_MAX 64u
#define BEGIN "<!-- picture: begin -->\n"
#define END "<!-- picture: end -->\n"

/* Boxes that represent several edges. */
#define PORTS "ports"
#define INTERFACE "interface"
#define ONWARD "onward"

static const struct bp_node_next *table[TABLES_MAX];
static unsigned n_tables;

static const char *name_of(const struct rte_node_register *node)
{
	return node->name + strlen("bp_");
}

static int by_name(const void *a, const void *b)
{
	const struct bp_node_next *const *x = a, *const *y = b;

	return strcmp((*x)->node->name, (*y)->node->name);
}

static void sort_tables(void)
{
	for (const struct bp_node_next *t = bp_node_next_all(); t; t = t->other) {
		if (n_tables == TABLES_MAX) {
			fputs("too many nodes\n", stderr);
			exit(1);
		}
		table[n_tables++] = t;
	}
	qsort(table, n_tables, sizeof(const struct bp_node_next *), by_name);
}

static bool has(const struct bp_node_next *t, unsigned edge)
{
	for (unsigned i = 0; i < t->n; i++)
		if (t->edge[i] == edge)
			return true;
	return false;
}

static bool is_source(const struct rte_node_register *node)
{
	return node->flags & RTE_NODE_SOURCE_F;
}

/* Whether frames leave by it: the box of ports represents all of these. */
static bool is_port_node(const struct rte_node_register *node)
{
	if (node == &bp_node_port_tx)
		return true;
	for (unsigned s = 0; s < BP_SERVICE_COUNT; s++) {
		struct rte_node_register *const *p = bp_dataplane_services[s]->port_nodes;

		for (; p && *p; p++)
			if (*p == node)
				return true;
	}
	return false;
}

static void box(const char *indent, const struct rte_node_register *node)
{
	printf(is_source(node) ? "%s%s([%s])\n" : "%s%s[%s]\n", indent, name_of(node),
		name_of(node));
}

static void services(void)
{
	for (unsigned s = 0; s < BP_SERVICE_COUNT; s++) {
		const struct bp_dataplane_service *service = bp_dataplane_services[s];

		printf("  subgraph service%u[\"%s\"]\n", s, service->name);
		for (unsigned i = 0; i < BP_EDGES_OF_SERVICE; i++)
			if (service->entry[i])
				box("    ", service->entry[i]);
		if (service->source)
			box("    ", service->source);
		puts("  end");
	}
}

static void boxes(void)
{
	box("  ", &bp_node_port_rx);
	box("  ", &bp_node_kernel_rx);
	services();
	printf("  " PORTS "[[\"port_tx");
	for (unsigned i = 0; i < n_tables; i++)
		if (is_port_node(table[i]->node) && table[i]->node != &bp_node_port_tx)
			printf(", %s", name_of(table[i]->node));
	puts("\"]]\n  " ONWARD "{{\"by the input port\"}}\n  " INTERFACE
	     "{{\"by the output interface\"}}");
}

/* The next node on the path of a port's frames, if all services are configured. */
static const char *behind(const struct rte_node_register *node)
{
	rte_edge_t edge[BP_EDGE_PORT];
	const unsigned n = bp_path_edges(edge);
	unsigned i = 0;

	while (node != &bp_node_port_rx && i < n && bp_edge_node(edge[i++]) != node)
		;
	return i < n ? name_of(bp_edge_node(edge[i])) : ONWARD;
}

/* The box of a table entry; NULL: not drawn, or, on the path, drawn in another way. */
static const char *target(uint8_t edge)
{
	switch (edge) {
	case BP_NEXT_NONE:
	case BP_NEXT_PATH:
	case BP_EDGE_DROP:
		return NULL;
	case BP_NEXT_PORTS:
		return PORTS;
	case BP_NEXT_INTERFACE:
		return INTERFACE;
	case BP_NEXT_ONWARD:
		return ONWARD;
	default:
		return name_of(bp_edge_node(edge));
	}
}

static void arrows(const struct bp_node_next *t)
{
	const char *line = "-->";

	for (unsigned i = 0; i < t->n; i++) {
		if (!target(t->edge[i]))
			continue;
		if (line[0] != '&')
			printf("  %s", name_of(t->node));
		printf(" %s %s", line, target(t->edge[i]));
		line = "&";
	}
	if (line[0] == '&')
		putchar('\n');
	if (has(t, BP_NEXT_PATH))
		printf("  %s -.-> %s\n", name_of(t->node), behind(t->node));
}

static void droppers(void)
{
	const char *comma = "\nThese also drop, by node drop:";

	for (unsigned i = 0; i < n_tables; i++) {
		if (!has(table[i], BP_EDGE_DROP))
			continue;
		printf("%s %s", comma, name_of(table[i]->node));
		comma = ",";
	}
	puts(".");
}

static void picture(void)
{
	puts("```mermaid\nflowchart LR");
	boxes();
	for (unsigned i = 0; i < n_tables; i++)
		arrows(table[i]);
	puts("  " ONWARD " --> bridge & ip4 & " PORTS "\n  " INTERFACE " --> bridge & vlan & " PORTS
	     "\n```");
	droppers();
}

/* The text of the page without its figure. */
static int page(FILE *f)
{
	char line[512];
	bool copies = true, drawn = false;

	while (fgets(line, sizeof(line), f)) {
		if (strcmp(line, END) == 0)
			copies = true;
		if (copies)
			fputs(line, stdout);
		if (strcmp(line, BEGIN) == 0) {
			copies = false;
			drawn = true;
			picture();
		}
	}
	return copies && drawn ? 0 : 1;
}

int main(int argc, char **argv)
{
	FILE *f = argc == 2 ? fopen(argv[1], "r") : NULL;
	int result;

	if (!f) {
		fprintf(stderr, "usage: biplane-graph-doc PAGE\n");
		return 2;
	}
	sort_tables();
	result = page(f);
	fclose(f);
	if (result != 0)
		fprintf(stderr, "%s: no picture between its markers\n", argv[1]);
	return result;
}
