/* SPDX-License-Identifier: BSD-3-Clause */
#include "config/config.h"
#include "apps/biplane/doctor/doctor.h"
#include "apps/biplane/doctor/modules.h"
#include "apps/biplane/doctor/tree.h"

/* Whether some interface of the configuration is of this kind, or, without one, might be. */
static bool uses_backend(const struct bp_doctor *d, enum bp_backend kind)
{
	const char *name;

	if (!d->config)
		return true;
	for (unsigned i = 0; i < BP_MAX_INTERFACES; i++) {
		const struct bp_config_interface *f = bp_config_interface(d->config, i, &name);

		if (f && f->backend == kind)
			return true;
	}
	return false;
}

static void propose(const char *root, json_t *item, const char *module)
{
	if (bp_module_state(root, module) != BP_MODULE_ABSENT)
		bp_report_do(item, "modprobe %s", module);
	else
		bp_report_do(item, "# this kernel has no module %s", module);
}

static void check_vhost(const struct bp_doctor *d, struct bp_report *r)
{
	static const char why[] = "host interfaces are faster with vhost-net; without it, biplane "
				  "uses TAP interfaces";
	json_t *item;

	if (bp_tree_exists(d->root, "/dev/vhost-net")) {
		bp_report_item(r, "vhost-net", BP_CHECK_OK, "", "/dev/vhost-net exists");
		return;
	}
	if (uses_backend(d, BP_BACKEND_VIRTIO) && d->config)
		item = bp_report_item(r, "vhost-net", BP_CHECK_FAIL,
			"an interface of this configuration has `host_interface.backend: virtio`",
			"/dev/vhost-net does not exist");
	else if (uses_backend(d, BP_BACKEND_AUTO))
		item = bp_report_item(
			r, "vhost-net", BP_CHECK_WARN, why, "/dev/vhost-net does not exist");
	else {
		bp_report_item(r, "vhost-net", BP_CHECK_OK, "",
			"no device file; no interface of this configuration needs it");
		return;
	}
	propose(d->root, item, "vhost-net");
}

static void check_tun(const struct bp_doctor *d, struct bp_report *r)
{
	json_t *item;

	if (bp_tree_exists(d->root, "/dev/net/tun")) {
		bp_report_item(r, "tun", BP_CHECK_OK, "", "/dev/net/tun exists");
		return;
	}
	if (!uses_backend(d, BP_BACKEND_AUTO) && !uses_backend(d, BP_BACKEND_TAP) &&
		!uses_backend(d, BP_BACKEND_VIRTIO)) {
		bp_report_item(r, "tun", BP_CHECK_OK, "",
			"no device file; no interface of this configuration needs it");
		return;
	}
	item = bp_report_item(r, "tun", d->config ? BP_CHECK_FAIL : BP_CHECK_WARN,
		"biplane creates the host interfaces of routed ports through it",
		"/dev/net/tun does not exist");
	propose(d->root, item, "tun");
}

void bp_doctor_item_kernel_interface(const struct bp_doctor *d, struct bp_report *r)
{
	check_vhost(d, r);
	check_tun(d, r);
}
