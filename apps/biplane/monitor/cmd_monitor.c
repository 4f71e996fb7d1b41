/* SPDX-License-Identifier: BSD-3-Clause */
/* `biplane monitor`: metrics, health and state of an instance over HTTP. */
#include "apps/biplane/commands.h"
#include "apps/biplane/monitor/monitor.h"
#include "daemon/log.h"

static const struct bp_cli_option options[] = {
	{'c', "config", "FILE", "the configuration file"},
	{0, NULL, NULL, NULL},
};

static int monitor_main(const struct bp_cli_command *command, int argc, char **argv)
{
	const char *path;
	int status;

	if (!bp_cli_read_config(command, argc, argv, &path, &status))
		return status;
	bp_log_begin("monitor");
	return bp_monitor_run(path);
}

const struct bp_cli_command bp_cmd_monitor = {
	.name = "monitor",
	.summary = "serve metrics, health and state of an instance over HTTP",
	.synopsis = "-c FILE",
	.text = "Serves the metrics, the health and the state of the instance of FILE over HTTP,\n"
		"on the address monitoring.listen, and writes the event log, log.events. It\n"
		"reads the shared memory of the instance, read-only, needs no privileges, and\n"
		"waits for an instance that does not run yet. 'biplane run' starts it if\n"
		"monitoring.listen or log.events is set. SIGHUP reads the TLS certificate, its "
		"key\n"
		"and the token again, and opens the event log again; SIGTERM stops the "
		"monitor.",
	.example = "  biplane monitor -c /etc/biplane/plant.yaml\n"
		   "  curl http://127.0.0.1:9464/readyz",
	.options = options,
	.main = monitor_main,
};
