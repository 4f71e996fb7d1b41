/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BIPLANE_EXCEPTION_H
#define BIPLANE_EXCEPTION_H

/* Classes of what goes to the kernel, in the order in which they are served. */
enum bp_exception_class {
	BP_EX_ROUTING, /* routing protocols, ARP and neighbor discovery */
	BP_EX_PHD,     /* signalling of personal health devices */
	BP_EX_LOCAL,   /* what else is for this machine's addresses */
	BP_EX_OTHER,   /* addressed to the kernel or forwarded by it */
	BP_EX_CLASSES,
};

#endif
