/* SPDX-License-Identifier: BSD-3-Clause */
#include "apps/biplane/doctor/sessions.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "apps/biplane/doctor/tree.h"
#include "apps/biplane/show/fib_text.h"

#define ANCESTORS_MAX 64u
#define PORTS_MAX 32u
#define INODES_MAX 256u
#define SSH_PORT 22u
#define ESTABLISHED 1u

struct search {
	const char *root;
	struct bp_doctor_sessions *out;
	unsigned n_ports, n_inodes;
	uint16_t port[PORTS_MAX];
	uint64_t inode[INODES_MAX]; /* sockets of the sshd above the caller */
	bool below_sshd;
};

static void add_port(struct search *s, unsigned long port)
{
	if (port > 0 && port <= UINT16_MAX && s->n_ports < PORTS_MAX)
		s->port[s->n_ports++] = (uint16_t)port;
}

/* An IPv4-mapped IPv6 address, as in a dual-stack socket, is an IPv4 address. */
static struct bp_address unmap_ipv4(struct bp_address a)
{
	static const uint8_t mapped[12] = {[10] = 0xff, [11] = 0xff};

	return a.family == 6 && memcmp(a.bytes, mapped, sizeof(mapped)) == 0
		       ? bp_address4(a.bytes + 12)
		       : a;
}

static bool is_loopback(const struct bp_address *a)
{
	static const uint8_t loopback6[16] = {[15] = 1};

	return a->family == 4 ? a->bytes[0] == 127 : memcmp(a->bytes, loopback6, 16) == 0;
}

static void add(struct search *s, struct bp_address local, struct bp_address peer)
{
	struct bp_doctor_sessions *out = s->out;

	local = unmap_ipv4(local);
	peer = unmap_ipv4(peer);
	if (is_loopback(&local))
		return; /* no NIC carries that */
	for (unsigned i = 0; i < out->n; i++)
		if (!memcmp(&out->session[i].local, &local, sizeof(local)) &&
			!memcmp(&out->session[i].peer, &peer, sizeof(peer)))
			return;
	if (out->n == BP_DOCTOR_SESSIONS_MAX) {
		snprintf(out->unknown, sizeof(out->unknown),
			"more than %d SSH sessions exist; not all were checked",
			BP_DOCTOR_SESSIONS_MAX);
		return;
	}
	out->session[out->n++] = (struct bp_doctor_session){local, peer};
}

/* "192.0.2.7 51234 192.0.2.1 22", ssh(1); an address may have a zone: fe80::1%eth0 */
static void take_connection(struct search *s, const char *text)
{
	char word[4][128];
	struct bp_prefix peer, local;
	bool has_length;

	if (sscanf(text, "%127s %127s %127s %127s", word[0], word[1], word[2], word[3]) != 4)
		return;
	word[0][strcspn(word[0], "%")] = 0;
	word[2][strcspn(word[2], "%")] = 0;
	add_port(s, strtoul(word[3], NULL, 10));
	if (bp_text_to_prefix(word[0], &peer, &has_length) &&
		bp_text_to_prefix(word[2], &local, &has_length)) {
		struct bp_address p = {.family = peer.family}, l = {.family = local.family};

		memcpy(p.bytes, peer.bytes, sizeof(p.bytes));
		memcpy(l.bytes, local.bytes, sizeof(l.bytes));
		add(s, l, p);
	}
}

static void search_environment(struct search *s, uint64_t pid)
{
	static const char name[] = "SSH_CONNECTION=";
	size_t len;
	char *text = bp_tree_read_all(s->root, &len, "/proc/%" PRIu64 "/environ", pid);

	for (size_t at = 0; text && at < len; at += strlen(text + at) + 1)
		if (!strncmp(text + at, name, sizeof(name) - 1))
			take_connection(s, text + at + sizeof(name) - 1);
	free(text);
}

static void take_sockets(struct search *s, uint64_t pid)
{
	struct bp_tree_names fds = bp_tree_list(s->root, "/proc/%" PRIu64 "/fd", pid);

	for (size_t i = 0; i < fds.n && s->n_inodes < INODES_MAX; i++) {
		uint64_t inode;
		char text[64];

		if (bp_tree_link(s->root, text, sizeof(text), "/proc/%" PRIu64 "/fd/%s", pid,
			    fds.name[i]) &&
			sscanf(text, "socket:[%" SCNu64 "]", &inode) == 1)
			s->inode[s->n_inodes++] = inode;
	}
	bp_tree_names_free(&fds);
}

/* The process above; 0 at the top. */
static uint64_t search_process(struct search *s, uint64_t pid)
{
	char text[512], *name, *end;
	uint64_t parent = 0;

	if (!bp_tree_text(s->root, text, sizeof(text), "/proc/%" PRIu64 "/stat", pid))
		return 0;
	/* "pid (name) state ppid ...", where a name may have blanks and brackets */
	name = strchr(text, '(');
	end = strrchr(text, ')');
	if (!name || !end || end < name || sscanf(end + 1, " %*c %" SCNu64, &parent) != 1)
		return 0;
	*end = 0;
	search_environment(s, pid);
	if (!strncmp(name + 1, "sshd", 4)) { /* sshd-session and sshd-auth, too */
		s->below_sshd = true;
		take_sockets(s, pid);
	}
	return parent;
}

/* "0100007F": each word of 32 bits as this machine would print it. */
static bool read_hex_address(const char *text, struct bp_address *a)
{
	const size_t digits = strspn(text, "0123456789ABCDEFabcdef");

	if (digits != 8 && digits != 32)
		return false;
	*a = (struct bp_address){.family = digits == 8 ? 4 : 6};
	for (size_t i = 0; i < digits / 8; i++) {
		char word[9] = "";
		uint32_t v;

		memcpy(word, text + 8 * i, 8);
		v = (uint32_t)strtoul(word, NULL, 16);
		memcpy(a->bytes + 4 * i, &v, sizeof(v));
	}
	return true;
}

static bool is_of_sshd(const struct search *s, unsigned port, uint64_t inode)
{
	for (unsigned i = 0; i < s->n_ports; i++)
		if (s->port[i] == port)
			return true;
	for (unsigned i = 0; i < s->n_inodes; i++)
		if (s->inode[i] == inode)
			return true;
	return false;
}

static void take_socket_line(struct search *s, const char *line)
{
	struct bp_address local_address, peer_address;
	unsigned local_port, peer_port, state;
	char local[40], peer[40];
	uint64_t inode;

	if (sscanf(line, " %*[^:]: %39[^:]:%x %39[^:]:%x %x %*s %*s %*s %*s %*s %" SCNu64, local,
		    &local_port, peer, &peer_port, &state, &inode) != 6)
		return;
	if (state == ESTABLISHED && is_of_sshd(s, local_port, inode) &&
		read_hex_address(local, &local_address) && read_hex_address(peer, &peer_address))
		add(s, local_address, peer_address);
}

/* Calls for each line, which it NUL terminates. */
static void each_line(
	char *text, void (*call)(struct search *s, const char *line), struct search *s)
{
	char *rest = text, *line;

	while (rest && (line = strsep(&rest, "\n")) != NULL)
		call(s, line);
}

static void take_port_line(struct search *s, const char *line)
{
	unsigned long port;

	if (sscanf(line, " Port %lu", &port) == 1)
		add_port(s, port);
}

static void search_file(
	struct search *s, const char *path, void (*call)(struct search *s, const char *line))
{
	size_t len;
	char *text = bp_tree_read_all(s->root, &len, "%s", path);

	each_line(text, call, s);
	free(text);
}

void bp_doctor_sessions_read(
	const char *root, const char *connection, uint64_t pid, struct bp_doctor_sessions *out)
{
	struct search s = {.root = root, .out = out, .n_ports = 1, .port = {SSH_PORT}};

	memset(out, 0, sizeof(*out));
	if (connection)
		take_connection(&s, connection);
	for (unsigned i = 0; pid != 0 && i < ANCESTORS_MAX; i++)
		pid = search_process(&s, pid);
	search_file(&s, "/etc/ssh/sshd_config", take_port_line);
	search_file(&s, "/proc/net/tcp", take_socket_line);
	search_file(&s, "/proc/net/tcp6", take_socket_line);
	if (s.below_sshd && out->n == 0)
		snprintf(out->unknown, sizeof(out->unknown),
			"this process runs under sshd, but its connection cannot be determined; "
			"run the command as root");
}
