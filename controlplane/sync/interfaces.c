/* SPDX-License-Identifier: BSD-3-Clause */
#include "controlplane/sync/interfaces.h"

#include <arpa/inet.h>
#include <errno.h>
#include <linux/if_addr.h>
#include <linux/if_link.h>
#include <netlink/attr.h>
#include <string.h>
#include <unistd.h>

#include "config/config.h"
#include "daemon/log.h"
#include "controlplane/sync/sysctl.h"
#include "controlplane/sync/tap.h"

void bp_interfaces_init(
	struct bp_interfaces *s, const struct bp_config *c, struct bp_netlink *requests)
{
	*s = (struct bp_interfaces){.config = c, .requests = requests};
	for (unsigned i = 0; i < BP_MAX_INTERFACES; i++)
		s->tap[i] = -1;
}

void bp_interfaces_removed(struct bp_interfaces *s, unsigned i)
{
	if (s->tap[i] >= 0)
		close(s->tap[i]);
	s->tap[i] = -1;
}

void bp_interfaces_end(struct bp_interfaces *s)
{
	for (unsigned i = 0; i < BP_MAX_INTERFACES; i++)
		bp_interfaces_removed(s, i);
}

bool bp_interfaces_held(const struct bp_config *c, unsigned i)
{
	const char *name;
	const struct bp_config_interface *f = bp_config_interface(c, i, &name);

	if (f == NULL)
		return false;
	/* auto: the choice of the data plane */
	return f->backend == BP_BACKEND_TAP ||
	       (f->backend == BP_BACKEND_AUTO && access("/dev/vhost-net", F_OK) != 0);
}

static const char *kernel_name(const struct bp_config *c, unsigned i)
{
	const char *name = "";
	const struct bp_config_interface *f = bp_config_interface(c, i, &name);

	return f != NULL && f->kernel_name[0] != '\0' ? f->kernel_name : name;
}

void bp_interfaces_hold(struct bp_interfaces *s)
{
	char err[512];

	for (unsigned i = 0; i < BP_MAX_INTERFACES; i++) {
		if (s->tap[i] >= 0 || !bp_interfaces_held(s->config, i))
			continue;
		s->tap[i] = bp_tap_hold(kernel_name(s->config, i), err, sizeof(err));
		if (s->tap[i] < 0)
			bp_log_limited(&s->log_hold[i], BP_LOG_WARNING, NULL, "%s", err);
	}
}

bool bp_interfaces_settings(struct bp_interfaces *s, unsigned i, uint32_t ifindex, const char *name,
	const char *vrf_name)
{
	uint32_t flags = 0;

	if (ifindex != 0 && s->prepared[i] == ifindex)
		flags = bp_sysctl_flags(vrf_name[0] != '\0' ? vrf_name : name) | BP_IF_SYSCTLS;
	/* packets arrive by the device of the VRF there, and leave by another interface */
	if (vrf_name[0] != '\0')
		flags &= ~(BP_IF_REDIRECTS4 | BP_IF_REDIRECTS6);
	if (flags == s->settings[i])
		return false;
	s->settings[i] = flags;
	return true;
}

void bp_interfaces_adopt(struct bp_interfaces *s, const struct bp_fib *f)
{
	for (unsigned i = 0; i < bp_fib_interfaces(f); i++) {
		struct bp_interface_info info;
		struct bp_vrf_info vrf = {0};
		const char *name;

		if (!bp_fib_interface(f, i, &info) || !(info.flags & BP_IF_SYSCTLS) ||
			info.ifindex == 0)
			continue;
		name = bp_is_subinterface(i) ? info.name : kernel_name(s->config, i);
		if (if_nametoindex(name) != info.ifindex)
			continue;
		s->prepared[i] = info.ifindex;
		s->sysctls_done = true;
		if (bp_fib_vrf(f, info.vrf, &vrf))
			s->prepared_vrf[info.vrf] = if_nametoindex(vrf.name);
		bp_interfaces_settings(s, i, info.ifindex, name, vrf.name);
	}
}

/* ---- setup ---- */

static int set_link(struct bp_interfaces *s, uint32_t ifindex, uint32_t mtu, bool up)
{
	struct nl_msg *m = nlmsg_alloc_simple(RTM_NEWLINK, 0);
	struct ifinfomsg ifi = {.ifi_index = (int)ifindex};

	if (up)
		ifi.ifi_flags = ifi.ifi_change = IFF_UP;
	if (m == NULL || nlmsg_append(m, &ifi, sizeof(ifi), NLMSG_ALIGNTO) < 0 ||
		(mtu != 0 && nla_put_u32(m, IFLA_MTU, mtu) < 0)) {
		nlmsg_free(m);
		return -ENOMEM;
	}
	return bp_netlink_request(s->requests, m);
}

void bp_interfaces_join_vrf(
	struct bp_interfaces *s, uint32_t ifindex, const char *name, const char *vrf)
{
	struct nl_msg *m = nlmsg_alloc_simple(RTM_NEWLINK, 0);
	const struct ifinfomsg ifi = {.ifi_index = (int)ifindex};
	const unsigned master = if_nametoindex(vrf);
	int error = master == 0 ? -ENODEV : -ENOMEM;

	if (master != 0 && m != NULL &&
		nlmsg_append(m, (void *)(uintptr_t)&ifi, sizeof(ifi), NLMSG_ALIGNTO) >= 0 &&
		nla_put_u32(m, IFLA_MASTER, master) >= 0)
		error = bp_netlink_request(s->requests, m);
	else
		nlmsg_free(m);
	if (error != 0)
		bp_log_event(BP_LOG_WARNING,
			BP_LOG_FIELDS(BP_LOG_STR("interface", name), BP_LOG_STR("vrf", vrf)),
			"kernel interface cannot be put into its VRF %s: %s", vrf,
			strerror(-error));
}

static void last_address(uint8_t bytes[4], unsigned length)
{
	for (unsigned bit = length; bit < 32; bit++)
		bytes[bit / 8] |= (uint8_t)(0x80u >> bit % 8);
}

static int add_address(
	struct bp_interfaces *s, uint32_t ifindex, const struct bp_interface_address *a)
{
	const bool ip4 = a->address.family == 4;
	struct nl_msg *m = nlmsg_alloc_simple(RTM_NEWADDR, NLM_F_CREATE | NLM_F_EXCL);
	struct ifaddrmsg ifa = {.ifa_family = ip4 ? AF_INET : AF_INET6,
		.ifa_prefixlen = a->length,
		.ifa_index = ifindex};
	uint8_t broadcast[4];
	int bad;

	if (m == NULL)
		return -ENOMEM;
	bad = nlmsg_append(m, &ifa, sizeof(ifa), NLMSG_ALIGNTO);
	bad |= nla_put(m, IFA_LOCAL, ip4 ? 4 : 16, a->address.bytes);
	bad |= nla_put(m, IFA_ADDRESS, ip4 ? 4 : 16, a->address.bytes);
	if (ip4 && a->length < 31) {
		memcpy(broadcast, a->address.bytes, sizeof(broadcast));
		last_address(broadcast, a->length);
		bad |= nla_put(m, IFA_BROADCAST, 4, broadcast);
	}
	if (bad < 0) {
		nlmsg_free(m);
		return -ENOMEM;
	}
	return bp_netlink_request(s->requests, m);
}

static const char *address_hint(int error, bool ip4)
{
	if (error == -EPERM)
		return "; run as root or with CAP_NET_ADMIN";
	if (!ip4 && (error == -EACCES || error == -EOPNOTSUPP || error == -EINVAL))
		return "; is IPv6 disabled there (sysctl net.ipv6.conf.*.disable_ipv6), or the MTU "
		       "below 1280?";
	return "";
}

static void give_address(struct bp_interfaces *s, const char *name, uint32_t ifindex,
	const struct bp_interface_address *a)
{
	const bool ip4 = a->address.family == 4;
	char text[INET6_ADDRSTRLEN] = "?";
	int error = add_address(s, ifindex, a);

	if (error == 0 || error == -EEXIST)
		return;
	inet_ntop(ip4 ? AF_INET : AF_INET6, a->address.bytes, text, sizeof(text));
	bp_log_event(BP_LOG_WARNING,
		BP_LOG_FIELDS(BP_LOG_STR("interface", name), BP_LOG_STR("address", text),
			BP_LOG_NUM("prefix_len", a->length)),
		"kernel interface: address not set: %s%s", strerror(-error),
		address_hint(error, ip4));
}

static bool has_address(
	const struct bp_interface_info *present, const struct bp_interface_address *a)
{
	for (unsigned k = 0; k < present->n_addresses; k++)
		if (present->address[k].length == a->length &&
			present->address[k].address.family == a->address.family &&
			memcmp(present->address[k].address.bytes, a->address.bytes,
				sizeof(a->address.bytes)) == 0)
			return true;
	return false;
}

void bp_interfaces_prepare(struct bp_interfaces *s, unsigned i, uint32_t ifindex, const char *name)
{
	if (s->prepared[i] == ifindex)
		return;
	bp_sysctl_router(name, !s->sysctls_done);
	s->sysctls_done = true;
	s->prepared[i] = ifindex;
}

void bp_interfaces_prepare_vrf(
	struct bp_interfaces *s, const struct bp_nl_cache *cache, unsigned vrf)
{
	const struct bp_nl_vrf *v = &cache->vrf[vrf];

	if (v->ifindex == 0 || s->prepared_vrf[vrf] == v->ifindex)
		return;
	bp_sysctl_router(v->name, !s->sysctls_done);
	s->sysctls_done = true;
	s->prepared_vrf[vrf] = v->ifindex;
}

void bp_interfaces_set_up(
	struct bp_interfaces *s, unsigned i, const struct bp_interface_info *present)
{
	const char *name = kernel_name(s->config, i), *ignored;
	const struct bp_config_interface *f = bp_config_interface(s->config, i, &ignored);
	uint32_t mtu = i < BP_MAX_PORTS ? s->config->port[i].mtu : 0;
	int error;

	if (f == NULL)
		return;
	/* before it is up: whether it accepts router advertisements and keeps addresses */
	bp_interfaces_prepare(s, i, present->ifindex, name);
	if (mtu == present->mtu)
		mtu = 0;
	if (mtu != 0 || !(present->flags & BP_IF_UP)) {
		error = set_link(s, present->ifindex, mtu, !(present->flags & BP_IF_UP));
		if (error != 0)
			bp_log_event(BP_LOG_WARNING, BP_LOG_FIELDS(BP_LOG_STR("interface", name)),
				"kernel interface cannot be set up: %s%s", strerror(-error),
				error == -EPERM ? "; run as root or with CAP_NET_ADMIN" : "");
	}
	for (uint32_t k = 0; k < f->n_addresses; k++)
		if (!has_address(present, &f->address[k]))
			give_address(s, name, present->ifindex, &f->address[k]);
}
