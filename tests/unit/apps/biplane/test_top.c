/* SPDX-License-Identifier: BSD-3-Clause */
/* The tables of `biplane top`: rates of two readings, orders, lines, and any contents. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include <locale.h>
#include <math.h>
#include <unistd.h>

#include "apps/biplane/top/table.h"
#include "biplane/counters/general.h"
#include "show_view.h"

static struct bp_top top;
static struct bp_top_table table;
static struct bp_config_instance id;
static uint64_t now;

static int set_up_top(void **state)
{
	if (set_up(state) != 0)
		return -1;
	memset(&top, 0, sizeof(top));
	snprintf(id.name, sizeof(id.name), "plant");
	top.id = &id;
	now = 1000000000;
	atomic_store(&shm.global->dp_ports, 2);
	atomic_store(&shm.global->dp_workers, 2);
	atomic_store(&shm.global->dp_started_ns, 1);
	strcpy(shm.ports[0].name, "devices");
	strcpy(shm.ports[1].name, "cloud");
	shm.ports[1].link_up = 1;
	return 0;
}

static int tear_down_top(void **state)
{
	bp_top_table_free(&table);
	bp_top_sample_free(&top.sample[0]);
	bp_top_sample_free(&top.sample[1]);
	free(top.rules);
	return tear_down(state);
}

/* As bp_top_refresh(), of this segment, after `seconds`. */
static void read_after(double seconds)
{
	now += (uint64_t)(seconds * 1e9);
	top.now = 1 - top.now;
	assert_true(bp_top_sample_read(&top.sample[top.now], &shm, top.rules, now, now));
	top.samples += top.samples < 2;
}

static const struct bp_top_row *first_row(unsigned section, unsigned column, bool reverse)
{
	const struct bp_top_order order = {column, reverse};

	bp_top_table_fill(&top, section, &order, 10, &table);
	assert_true(table.n > 0);
	return &table.row[0];
}

static void rates_are_of_the_time_between_two_readings(void **state)
{
	const struct bp_top_row *r;

	read_after(1);
	r = first_row(BP_TOP_PORTS, 0, false);
	assert_string_equal(r->text[0], "cloud");
	assert_string_equal(r->text[1], "up");
	assert_true(isnan(r->number[0]));
	atomic_fetch_add(&shm.port_stats[1].rx_packets, 30);
	atomic_fetch_add(&shm.port_stats[BP_MAX_PORTS + 1].rx_packets, 20);
	atomic_fetch_add(&shm.port_stats[BP_MAX_PORTS + 1].rx_bytes, 1000);
	shm.counters[0].v[BP_C_WORKER_BUSY_NS] += 500000000;
	shm.counters[1].v[BP_C_WORKER_BUSY_NS] += 9000000000ull; /* an estimate */
	shm.counters[1].v[BP_C_DROP_TX_FULL] += 10;
	read_after(2);
	r = first_row(BP_TOP_PORTS, 0, false);
	assert_true(r->number[0] == 25 && r->number[1] == 4000);
	r = first_row(BP_TOP_WORKERS, 0, true);
	assert_true(r[0].number[0] == 0 && r[0].number[1] == 25);
	assert_true(r[1].number[0] == 1 && r[1].number[1] == 100);
	assert_true(r[1].number[5] == 5 && r[1].number[3] == 10);
}

static void a_restart_has_no_rates(void **state)
{
	const struct bp_top_row *r;

	atomic_store(&shm.port_stats[1].rx_packets, 10);
	read_after(1);
	atomic_store(&shm.global->dp_started_ns, 2);
	atomic_store(&shm.port_stats[1].rx_packets, 500);
	read_after(1);
	r = first_row(BP_TOP_PORTS, 0, false);
	assert_true(isnan(r->number[0]));
	atomic_store(&shm.port_stats[1].rx_packets, 600);
	read_after(1);
	r = first_row(BP_TOP_PORTS, 0, false);
	assert_true(r->number[0] == 100);
	/* a counter that decreased without a restart: the segment is damaged */
	atomic_store(&shm.port_stats[1].rx_packets, 5);
	read_after(1);
	assert_true(isnan(first_row(BP_TOP_PORTS, 0, false)->number[0]));
}

static void set_node(
	unsigned i, const char *name, uint64_t calls, uint64_t packets, uint64_t cycles)
{
	snprintf(shm.nodes[i].name, sizeof(shm.nodes[i].name), "%s", name);
	atomic_store(&shm.nodes[i].calls, calls);
	atomic_store(&shm.nodes[i].objects, packets);
	atomic_store(&shm.nodes[i].cycles, cycles);
}

static void rows_are_sorted_by_any_column(void **state)
{
	const struct bp_top_row *r;

	set_node(0, "idle", 5, 5, 5);
	set_node(1, "ip4", 0, 0, 0);
	set_node(BP_MAX_NODES, "ip4", 0, 0, 0);
	set_node(2, "bridge", 0, 0, 0);
	read_after(1);
	set_node(1, "ip4", 10, 100, 3000);
	set_node(BP_MAX_NODES, "ip4", 20, 40, 1000);
	set_node(2, "bridge", 5, 50, 6000);
	read_after(1);
	r = first_row(BP_TOP_NODES, 6, false); /* CYCLES-% */
	assert_int_equal(table.n, 3);          /* without those that did not run */
	assert_string_equal(r[0].text[0], "bridge");
	assert_true(r[0].number[5] == 60 && r[1].number[5] == 30 && r[2].number[5] == 10);
	assert_true(r[0].number[4] == 120 && r[0].number[3] == 10);
	r = first_row(BP_TOP_NODES, 6, true);
	assert_true(r[0].number[5] == 10 && r[0].number[0] == 1);
	r = first_row(BP_TOP_NODES, 0, false);
	assert_string_equal(r[0].text[0], "bridge");
	r = first_row(BP_TOP_NODES, 0, true);
	assert_string_equal(r[0].text[0], "ip4");
	r = first_row(BP_TOP_NODES, 3, false); /* PKT/S */
	assert_true(r[0].number[2] == 100 && r[2].number[2] == 40);
}

/* Unknown numbers are the last in both directions. */
static void unknown_numbers_are_the_last(void **state)
{
	const struct bp_top_row *r;

	for (unsigned reverse = 0; reverse < 2; reverse++) {
		atomic_store(&shm.port_stats[0].rx_packets, 10);
		read_after(1);
		atomic_store(&shm.port_stats[0].rx_packets, 5);
		read_after(1);
		r = first_row(BP_TOP_PORTS, 2, reverse);
		assert_string_equal(r[0].text[0], "cloud");
		assert_true(isnan(r[1].number[0]));
	}
}

static void lines_are_aligned_and_cut(void **state)
{
	const struct bp_top_order order = {2, false};
	unsigned width[BP_TOP_COLUMNS];
	char heading[BP_TOP_LINE], line[BP_TOP_LINE];

	read_after(1);
	atomic_fetch_add(&shm.port_stats[0].rx_packets, 1234567);
	read_after(1);
	bp_top_table_fill(&top, BP_TOP_PORTS, &order, 10, &table);
	bp_top_widths(BP_TOP_PORTS, &table, 0, 10, width);
	bp_top_line(BP_TOP_PORTS, NULL, width, &order, heading);
	bp_top_line(BP_TOP_PORTS, &table.row[0], width, NULL, line);
	assert_non_null(strstr(heading, "RX-PKT/Sv"));
	assert_int_equal(
		strstr(line, "1.23M") + 5 - line, strstr(heading, "RX-PKT/Sv") + 9 - heading);
	assert_int_equal(strncmp(line, "devices  down", 13), 0);
	/* characters of the locale are not cut in the middle */
	assert_int_equal(bp_top_text_cut("abc", 2), 2);
	assert_int_equal(bp_top_text_cut("abc", 0), 0);
	if (setlocale(LC_CTYPE, "C.UTF-8") != NULL) {
		assert_int_equal(bp_top_text_cut("\u00e4\u00f6\u00fc", 2), 4);
		assert_int_equal(bp_top_text_width("\u6e29\u5ea6"), 4);
		assert_int_equal(bp_top_text_cut("\u6e29\u5ea6", 3), 3);
		setlocale(LC_CTYPE, "C");
	}
}

static void names_of_others_cannot_control_the_terminal(void **state)
{
	const struct bp_top_row *r;

	memcpy(shm.ports[0].name, "\033[2J\302\233x\377", 9);
	memset(shm.ports[1].name, 0xe6, sizeof(shm.ports[1].name)); /* no NUL */
	read_after(1);
	r = first_row(BP_TOP_PORTS, 0, false);
	for (unsigned i = 0; i < 2; i++)
		for (const char *c = r[i].text[0]; *c; c++)
			assert_true((unsigned char)*c >= 0x20 && *c != 0x7f);
	assert_null(strstr(r[0].text[0], "\302\233"));
}

static void header_states_planes_and_rates(void **state)
{
	static char line[BP_TOP_HEADER][BP_TOP_LINE];

	assert_int_equal(bp_top_header(&top, line), 1);
	assert_string_equal(line[0], "biplane plant: starting");
	read_after(1);
	assert_int_equal(bp_top_header(&top, line), BP_TOP_HEADER);
	assert_non_null(strstr(line[0], "data plane NOT RUNNING"));
	assert_non_null(strstr(line[2], "rx - pkt/s"));
	atomic_store(&shm.global->dp_pid, (uint64_t)getpid());
	atomic_store(&shm.control->publisher[BP_TO_MQTT].connected, 1);
	read_after(1);
	atomic_fetch_add(&shm.port_stats[0].rx_packets, 2000);
	atomic_fetch_add(&shm.port_stats[0].rx_bytes, 125000);
	read_after(1);
	bp_top_header(&top, line);
	assert_non_null(strstr(line[0], "% CPU"));
	assert_string_equal(line[2], "rx 2k pkt/s 1M bit/s  tx 0 pkt/s 0 bit/s  drops 0/s");
	assert_non_null(strstr(line[3], "publisher connected"));
	snprintf(top.err, sizeof(top.err), "no instance");
	bp_top_header(&top, line);
	assert_string_equal(line[0], "biplane plant: no instance");
}

/* The data plane writes the names in its rows. */
static void fault_in_the_header_has_no_control_characters(void **state)
{
	static char line[BP_TOP_HEADER][BP_TOP_LINE];
	struct bp_fault_record fault = {.subject = "a\x1b[2J\xc2\x9b", .active = 1};

	bp_fault_write(&shm.faults[0], &fault);
	read_after(1);
	bp_top_header(&top, line);
	assert_non_null(strstr(line[1], "1 fault: "));
	assert_non_null(strstr(line[1], " a?[2J??"));
	assert_null(strpbrk(line[1], "\x1b\xc2"));
}

static void cpu_time_is_of_the_process(void **state)
{
	assert_true(bp_top_cpu_s((uint64_t)getpid()) >= 0);
	assert_true(isnan(bp_top_cpu_s(0)));
	assert_true(isnan(bp_top_cpu_s(UINT64_MAX)));
	assert_true(isnan(bp_top_cpu_s(0x7fffffff)));
}

/* Random bytes in all tables that it reads. */
static void damaged_contents_are_harmless(void **state)
{
	static char header[BP_TOP_HEADER][BP_TOP_LINE];
	uint64_t x = 1;

	for (unsigned round = 0; round < 40; round++) {
		struct {
			void *p;
			size_t n;
		} part[] = {{shm.global, sizeof(*shm.global)}, {shm.control, sizeof(*shm.control)},
			{shm.ports, 2 * sizeof(*shm.ports)}, {shm.nodes, 20 * sizeof(*shm.nodes)},
			{shm.port_stats, 4096}, {shm.counters, 4 * sizeof(*shm.counters)},
			{shm.faults, shm.fault_rows * sizeof(*shm.faults)},
			{shm.flows, shm.flows_len}};

		for (unsigned p = 0; p < sizeof(part) / sizeof(part[0]); p++)
			for (size_t i = 0; i < part[p].n; i++) {
				x = x * 6364136223846793005ull + 1442695040888963407ull;
				((uint8_t *)part[p].p)[i] = (uint8_t)(x >> 33);
			}
		read_after(1);
		assert_true(bp_top_connections_update(&top.connections, &shm, now));
		bp_top_header(&top, header);
		for (unsigned s = 0; s < BP_TOP_SECTIONS; s++) {
			const struct bp_top_order order = {round % bp_top_columns(s), round % 2};
			unsigned width[BP_TOP_COLUMNS];
			char line[BP_TOP_LINE];

			bp_top_table_fill(&top, s, &order, 10, &table);
			bp_top_widths(s, &table, 0, 10, width);
			for (uint32_t r = 0; r < table.n; r++)
				bp_top_line(s, &table.row[r], width, NULL, line);
		}
	}
	bp_top_connections_free(&top.connections);
}

int main(void)
{
#define TOP(name) cmocka_unit_test_setup_teardown(name, set_up_top, tear_down_top)
	const struct CMUnitTest tests[] = {
		TOP(rates_are_of_the_time_between_two_readings),
		TOP(a_restart_has_no_rates),
		TOP(rows_are_sorted_by_any_column),
		TOP(unknown_numbers_are_the_last),
		TOP(lines_are_aligned_and_cut),
		TOP(names_of_others_cannot_control_the_terminal),
		TOP(header_states_planes_and_rates),
		TOP(fault_in_the_header_has_no_control_characters),
		TOP(cpu_time_is_of_the_process),
		TOP(damaged_contents_are_harmless),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
