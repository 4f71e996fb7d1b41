/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <fcntl.h>
#include <linux/if_tun.h>
#include <net/if.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/uio.h>
#include <unistd.h>

#include "dataplane/exception/kernel_if.h"
#include "dataplane/exception/kernel_link.h"

/*
 * A tap interface. It is created with IFF_MULTI_QUEUE, so that the control plane can hold a second,
 * disabled queue: then the interface, its addresses and its routes persist after this process ends.
 * The queue of this process is the only enabled one.
 */
#define TUN_DEVICE "/dev/net/tun"
#define FLAGS (IFF_TAP | IFF_NO_PI | IFF_MULTI_QUEUE)
#define REST_MAX 65536u /* larger than the maximum frame of a tap */
#define PIECES_MAX 64   /* maximum number of mbufs of a frame to write */

struct tap {
	struct bp_kernel_if k;
	/* buffer for the part of a frame beyond its first mbuf */
	uint8_t rest[REST_MAX];
};

static struct tap *tap_of(struct bp_kernel_if *k)
{
	return (struct tap *)k;
}

/* Appends mbufs with the `len` bytes that did not fit the first. */
static bool append_rest(struct tap *t, struct rte_mbuf *head, uint32_t len)
{
	for (uint32_t at = 0; at < len;) {
		struct rte_mbuf *m = rte_pktmbuf_alloc(t->k.pool);
		uint32_t n;

		if (!m)
			return false;
		n = RTE_MIN(len - at, (uint32_t)rte_pktmbuf_tailroom(m));
		memcpy(rte_pktmbuf_append(m, (uint16_t)n), t->rest + at, n);
		at += n;
		if (rte_pktmbuf_chain(head, m) != 0) {
			rte_pktmbuf_free(m);
			return false;
		}
	}
	return true;
}

/*
 * Reads one frame into `m`, or discards it if `m` is NULL. Returns false if there was none. *kept:
 * `m` holds the frame.
 */
static bool read_one(struct tap *t, struct rte_mbuf *m, bool *kept)
{
	uint32_t room = m ? rte_pktmbuf_tailroom(m) : 0, first;
	struct iovec v[2] = {
		{.iov_base = m ? rte_pktmbuf_mtod(m, void *) : NULL, .iov_len = room},
		{.iov_base = t->rest, .iov_len = sizeof(t->rest)},
	};
	ssize_t n;

	do
		n = readv(t->k.fd, m ? v : v + 1, m ? 2 : 1);
	while (n < 0 && errno == EINTR);
	*kept = false;
	if (n <= 0) /* none, or the interface was removed: then poll always returns an event, see
		       thread.c */
		return false;
	if (!m)
		return true;
	first = RTE_MIN((uint32_t)n, room);
	rte_pktmbuf_append(m, (uint16_t)first);
	*kept = (uint32_t)n == first || (t->k.pieces && append_rest(t, m, (uint32_t)n - first));
	return true;
}

static unsigned tap_read(struct bp_kernel_if *k, struct rte_mbuf **m, unsigned n, uint64_t *lost)
{
	struct tap *t = tap_of(k);
	unsigned got = 0;

	for (unsigned i = 0; i < n; i++) {
		struct rte_mbuf *one = rte_pktmbuf_alloc(k->pool);
		bool kept;
		bool some = read_one(t, one, &kept);

		if (kept)
			m[got++] = one;
		else
			rte_pktmbuf_free(one);
		if (!some)
			break;
		*lost += !kept;
	}
	return got;
}

static bool write_one(int fd, const struct rte_mbuf *m)
{
	struct iovec v[PIECES_MAX];
	int pieces = 0;
	ssize_t n;

	for (; m && pieces < PIECES_MAX; m = m->next)
		v[pieces++] = (struct iovec){rte_pktmbuf_mtod(m, void *), m->data_len};
	if (m) /* more segments than any driver delivers */
		return false;
	do
		n = writev(fd, v, pieces);
	while (n < 0 && errno == EINTR);
	return n >= 0;
}

static unsigned tap_write(struct bp_kernel_if *k, struct rte_mbuf **m, unsigned n)
{
	unsigned taken = 0;

	for (unsigned i = 0; i < n; i++)
		taken += write_one(k->fd, m[i]);
	rte_pktmbuf_free_bulk(m, n);
	return taken;
}

static void tap_close(struct bp_kernel_if *k)
{
	close(k->fd);
	free(tap_of(k));
}

static const struct bp_kernel_if_ops tap_ops = {
	.name = "tap", .read = tap_read, .write = tap_write, .close = tap_close};

static int explain(const struct bp_kernel_if_spec *s, int error, char *err, size_t err_size)
{
	if (error == EINVAL || error == EBUSY)
		snprintf(err, err_size,
			"%s: the network interface %s exists already and is not biplane's; give "
			"the kernel interface another name (host_interface.name), or remove that "
			"one",
			s->name, s->kernel);
	else if (error == EPERM)
		snprintf(err, err_size,
			"%s: may not make the kernel interface %s; run biplane as root or with "
			"CAP_NET_ADMIN, or set `host_interface.backend: off`",
			s->name, s->kernel);
	else if (error == ENOENT || error == ENODEV || error == ENXIO)
		snprintf(err, err_size,
			"%s: this kernel has no taps (%s is missing); load the module (modprobe "
			"tun), or set `host_interface.backend: off`",
			s->name, TUN_DEVICE);
	else
		snprintf(err, err_size, "%s: cannot create the kernel interface %s: %s", s->name,
			s->kernel, strerror(error));
	return -1;
}

/*
 * An interface of a former `host_interface.backend: virtio` keeps its frame header as long as a
 * process holds it; and two readers of one interface would each receive a part of its frames.
 */
static int check_ours(int fd, const struct bp_kernel_if *k, const struct bp_kernel_if_spec *s,
	char *err, size_t err_size)
{
	struct bp_kernel_link link;
	struct ifreq r = {0};

	if (ioctl(fd, TUNGETIFF, &r) != 0)
		return explain(s, errno, err, err_size);
	if (r.ifr_flags & IFF_VNET_HDR) {
		snprintf(err, err_size,
			"%s: the network interface %s was made by vhost-net and is still held; "
			"restart the control plane too, or set `host_interface.backend: virtio`",
			s->name, s->kernel);
		return -1;
	}
	if (bp_kernel_link_get(k->ifindex, &link) == 0 && link.queues > 1) {
		snprintf(err, err_size,
			"%s: another process serves the network interface %s; stop it, or give "
			"the kernel interface another name (host_interface.name)",
			s->name, s->kernel);
		return -1;
	}
	return 0;
}

static int attach(int fd, struct bp_kernel_if *k, const struct bp_kernel_if_spec *s, char *err,
	size_t err_size)
{
	struct ifreq r = {.ifr_flags = FLAGS};

	snprintf(r.ifr_name, sizeof(r.ifr_name), "%s", s->kernel);
	if (ioctl(fd, TUNSETIFF, &r) != 0)
		return explain(s, errno, err, err_size);
	snprintf(k->name, sizeof(k->name), "%s", r.ifr_name);
	k->ifindex = if_nametoindex(k->name);
	if (k->ifindex == 0)
		return explain(s, errno, err, err_size);
	if (check_ours(fd, k, s, err, err_size) != 0)
		return -1;
	/* the kernel completes checksums and segments large frames itself */
	if (ioctl(fd, TUNSETOFFLOAD, 0) != 0)
		return explain(s, errno, err, err_size);
	return bp_kernel_if_address(k, s, err, err_size);
}

struct bp_kernel_if *bp_tap_open(const struct bp_kernel_if_spec *s, char *err, size_t err_size)
{
	struct tap *t = calloc(1, sizeof(*t));

	if (!t) {
		snprintf(err, err_size, "no memory");
		return NULL;
	}
	t->k = (struct bp_kernel_if){
		.ops = &tap_ops,
		.fd = open(TUN_DEVICE, O_RDWR | O_NONBLOCK | O_CLOEXEC),
		.pool = s->pool,
		.pieces = s->pieces,
	};
	if (t->k.fd < 0) {
		explain(s, errno, err, err_size);
		free(t);
		return NULL;
	}
	if (attach(t->k.fd, &t->k, s, err, err_size) == 0)
		return &t->k;
	tap_close(&t->k);
	return NULL;
}
