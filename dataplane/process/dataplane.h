/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_DATAPLANE_PROCESS_DATAPLANE_H
#define BP_DATAPLANE_PROCESS_DATAPLANE_H

/*
 * Runs the data plane of the configuration at `config_path` until SIGTERM or SIGINT, then drains
 * and returns. eal_argv: the arguments after `--`, for DPDK. stats_period: interval of printed
 * rates, seconds; 0 prints none. Must be called once, at the start of a process, from its only
 * thread. Prints its actions to stdout and errors to stderr. Returns an exit status: 0, EX_CONFIG
 * (78) or EX_UNAVAILABLE (69).
 */
int bp_dataplane_run(const char *config_path, int eal_argc, char **eal_argv, unsigned stats_period);

#endif
