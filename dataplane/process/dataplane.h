/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_DATAPLANE_PROCESS_DATAPLANE_H
#define BP_DATAPLANE_PROCESS_DATAPLANE_H

/*
 * Runs the data plane of the configuration at `config_path` until SIGTERM or SIGINT, then drains
 * and returns. eal_argv: what the user gave after `--`, for DPDK. stats_period: seconds between
 * printed rates; 0 prints none. To be called once, at the start of a process, from its only thread.
 * Prints what it does to stdout, what is wrong to stderr. Returns an exit status: 0, EX_CONFIG (78)
 * or EX_UNAVAILABLE (69).
 */
int bp_dataplane_run(const char *config_path, int eal_argc, char **eal_argv, unsigned stats_period);

#endif
