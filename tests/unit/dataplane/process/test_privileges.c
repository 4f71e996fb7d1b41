/* SPDX-License-Identifier: BSD-3-Clause */
#include "config/config.h"
#include "tests/unit/dataplane/test.h"
#include "dataplane/process/privileges.h"

#include <cap-ng.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

static void by_name(void **state)
{
	static const struct {
		const char *device;
		enum bp_privilege privilege;
	} rows[] = {
		{"net_af_packet0,iface=eth0", BP_PRIV_AF_PACKET},
		{"eth_af_packet7,iface=eth0", BP_PRIV_AF_PACKET},
		{"net_af_xdp0,iface=eth0", BP_PRIV_AF_XDP},
		{"net_tap0,iface=t0", BP_PRIV_TAP},
		{"net_virtio_user0,path=/dev/vhost-net,queues=1", BP_PRIV_VIRTIO_USER},
		{"virtio_user0,path=/dev/vhost-net", BP_PRIV_VIRTIO_USER},
		{"net_virtio_user0,path=/run/vm.sock", BP_PRIV_SOCKET},
		{"net_vhost0,iface=/run/vm.sock", BP_PRIV_SOCKET},
		{"net_memif0,role=client", BP_PRIV_SOCKET},
		{"net_pcap0,iface=eth0", BP_PRIV_PCAP_INTERFACE},
		{"net_pcap0,rx_iface=eth0,tx_pcap=b.pcap", BP_PRIV_PCAP_INTERFACE},
		{"net_pcap0,rx_pcap=a.pcap,tx_pcap=b.pcap", BP_PRIV_MEMORY},
		{"net_ring0", BP_PRIV_MEMORY},
		{"net_null0", BP_PRIV_MEMORY},
		/* missing: opening the port reports it */
		{"ffff:ff:1f.7", BP_PRIV_MEMORY},
	};

	for (unsigned i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		assert_int_equal(bp_port_privilege(rows[i].device), rows[i].privilege);
}

static struct bp_config config;

static void set_port(const char *device)
{
	memset(&config, 0, sizeof(config));
	config.n_workers = 1;
	config.n_ports = 1;
	config.n_bridges = 1;
	config.bridge[0].n = 1; /* so that it does not route */
	snprintf(config.port[0].name, sizeof(config.port[0].name), "devices");
	snprintf(config.port[0].device, sizeof(config.port[0].device), "%s", device);
}

/* The message to a user without these rights; "" if none. */
static const char *told(const char *device, const unsigned *caps, unsigned n, uint64_t memory)
{
	static char text[512];
	int out[2], status;
	ssize_t len;
	pid_t pid;

	set_port(device);
	assert_int_equal(pipe(out), 0);
	fflush(NULL);
	pid = fork();
	if (pid == 0) {
		const struct rlimit limit = {1 << 20, 1 << 20};
		char err[512] = "";

		capng_clear(CAPNG_SELECT_BOTH);
		for (unsigned i = 0; i < n; i++)
			capng_update(CAPNG_ADD, CAPNG_EFFECTIVE | CAPNG_PERMITTED, caps[i]);
		setrlimit(RLIMIT_MEMLOCK, &limit);
		if (capng_change_id(65534, 65534, CAPNG_DROP_SUPP_GRP) != 0)
			_exit(1);
		if (bp_dataplane_privileges(&config, memory, err, sizeof(err)) == 0)
			err[0] = '\0';
		_exit(write(out[1], err, strlen(err)) < 0);
	}
	close(out[1]);
	len = read(out[0], text, sizeof(text) - 1);
	close(out[0]);
	text[len > 0 ? len : 0] = '\0';
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	return text;
}

static void begins_with(const char *text, const char *beginning)
{
	if (strncmp(text, beginning, strlen(beginning)) != 0)
		fail_msg("'%s' does not begin with '%s'", text, beginning);
}

static void as_another_user(void **state)
{
	const unsigned packet[] = {CAP_NET_RAW, CAP_NET_ADMIN},
		       xdp[] = {CAP_NET_RAW, CAP_NET_ADMIN, CAP_SYS_ADMIN};

	if (geteuid() != 0)
		skip();
	assert_string_equal(told("net_ring0", NULL, 0, UINT64_MAX), "");
	begins_with(told("net_af_packet0,iface=x", NULL, 0, 0),
		"port devices (net_af_packet0) needs CAP_NET_RAW, ");
	begins_with(told("net_af_packet0,iface=x", packet, 1, 0),
		"port devices (net_af_packet0) needs CAP_NET_ADMIN, ");
	/* 1 MiB may be locked, and its rings are 2 MiB */
	begins_with(told("net_af_packet0,iface=x", packet, 2, 0),
		"the data plane needs about 3 MiB of locked memory, and this process may lock 1 "
		"MiB");
	assert_string_equal(told("net_af_packet0,iface=x,framecnt=128", packet, 2, 0), "");
	begins_with(told("net_af_xdp0,iface=x", packet, 2, 0),
		"port devices (net_af_xdp0) needs CAP_SYS_ADMIN, ");
	begins_with(told("net_af_xdp0,iface=x", xdp, 3, 5 << 20),
		"the data plane needs about 6 MiB of locked memory");
	begins_with(told("net_tap0,iface=x", NULL, 0, 0),
		"port devices (net_tap0) needs CAP_NET_ADMIN, ");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(by_name),
		cmocka_unit_test(as_another_user),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
