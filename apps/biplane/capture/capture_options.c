/* SPDX-License-Identifier: BSD-3-Clause */
#include "apps/biplane/capture/capture_options.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <pcap/pcap.h>

#include "apps/biplane/exit_status.h"

enum { OPT_CONFIG = BP_CLI_LONG, OPT_INSTANCE, OPT_DROPS, OPT_DIRECTION, OPT_DURATION };

const struct bp_cli_option bp_capture_option_table[] = {
	{'i', "port", "PORT", "only frames of this port; may be repeated"},
	{'w', "write", "FILE", "write a pcapng file; '-' is standard output"},
	{OPT_DROPS, "drops", NULL, "dropped frames, with reason and node"},
	{OPT_DIRECTION, "direction", "DIRECTION",
		"rx, tx or both; default both, with --drops neither"},
	{'s', "snapshot-length", "BYTES", "bytes of each frame, 1 to 65535; default all"},
	{'c', "count", "COUNT", "end after this number of frames"},
	{OPT_DURATION, "duration", "TIME", "end after this time: 10s, 5m, 1h"},
	{'C', "file-size", "MB", "begin another file after this many millions of bytes"},
	{'W', "files", "FILES", "with -C: keep this number of files, overwrite the oldest"},
	{OPT_CONFIG, "config", "FILE", "the instance of this configuration file; -c is --count"},
	{OPT_INSTANCE, "instance", "NAME",
		"the instance of this name; default: the only running one"},
	{0, NULL, NULL, NULL},
};

/* "10s", "5m", "1h", or seconds. */
static bool read_duration(const char *text, uint64_t *ns)
{
	char number[24];
	const size_t n = strlen(text);
	uint64_t unit = 1, value;

	if (n == 0 || n >= sizeof(number))
		return false;
	memcpy(number, text, n + 1);
	if (strchr("smh", number[n - 1]) != NULL) {
		unit = number[n - 1] == 's' ? 1 : number[n - 1] == 'm' ? 60 : 3600;
		number[n - 1] = '\0';
	}
	if (!bp_cli_number(number, 1, 1000000, &value))
		return false;
	*ns = value * unit * 1000000000u;
	return true;
}

static int take_number(const struct bp_cli_command *command, const char *option, const char *text,
	uint64_t min, uint64_t max, uint64_t *value)
{
	if (bp_cli_number(text, min, max, value))
		return BP_EX_OK;
	return bp_cli_usage_error(command, "%s %s: a number from %llu to %llu was expected", option,
		text, (unsigned long long)min, (unsigned long long)max);
}

static int take_direction(
	struct bp_capture_options *o, const struct bp_cli_command *command, const char *text)
{
	if (strcmp(text, "rx") != 0 && strcmp(text, "tx") != 0 && strcmp(text, "both") != 0)
		return bp_cli_usage_error(
			command, "--direction %s: rx, tx or both was expected", text);
	o->rx = strcmp(text, "tx") != 0;
	o->tx = strcmp(text, "rx") != 0;
	return BP_EX_OK;
}

static int take_port(struct bp_capture_options *o, const char *name)
{
	if (o->ports == NULL)
		o->ports = json_array();
	return json_array_append_new(o->ports, json_string(name)) == 0 ? BP_EX_OK : BP_EX_OSERR;
}

static int take_option(struct bp_capture_options *o, const struct bp_cli_command *command, int key,
	const char *value)
{
	uint64_t number = 0;
	int status = BP_EX_OK;

	switch (key) {
	case 'i':
		return take_port(o, value);
	case 'w':
		o->path = value;
		break;
	case OPT_DROPS:
		o->drops = true;
		break;
	case OPT_DIRECTION:
		return take_direction(o, command, value);
	case 's':
		status = take_number(command, "-s", value, 1, BP_CAPTURE_SNAP_MAX, &number);
		o->snap_length = (uint32_t)number;
		break;
	case 'c':
		if (bp_cli_number(value, 1, UINT64_MAX, &o->count))
			return BP_EX_OK;
		return bp_cli_usage_error(command,
			"-c %s: a number of frames, 1 or more, was expected; --config FILE selects "
			"the configuration file",
			value);
	case 'C':
		status = take_number(command, "-C", value, 1, 1000000, &number);
		o->file_size = number * 1000000u;
		break;
	case 'W':
		status = take_number(command, "-W", value, 1, 1000000, &number);
		o->files = (uint32_t)number;
		break;
	case OPT_DURATION:
		if (!read_duration(value, &o->duration_ns))
			return bp_cli_usage_error(command,
				"--duration %s: a time of 1s or more was expected, such as 10s, 5m "
				"or 1h",
				value);
		break;
	case OPT_CONFIG:
		o->config = value;
		break;
	default:
		o->instance = value;
	}
	return status;
}

int bp_capture_compile(const struct bp_cli_command *command, const char *filter,
	struct bp_capture_insn insn[BP_CAPTURE_INSNS_MAX], uint32_t *n)
{
	struct bpf_program program = {0};
	pcap_t *dead = pcap_open_dead(DLT_EN10MB, BP_CAPTURE_SNAP_MAX);
	int status = BP_EX_OK;

	if (dead == NULL)
		return BP_EX_OSERR;
	if (pcap_compile(dead, &program, filter, 1, PCAP_NETMASK_UNKNOWN) != 0)
		status = bp_cli_usage_error(command, "filter '%s': %s", filter, pcap_geterr(dead));
	else if (program.bf_len > BP_CAPTURE_INSNS_MAX)
		status = bp_cli_usage_error(command,
			"the filter needs %u instructions; at most %u are possible", program.bf_len,
			BP_CAPTURE_INSNS_MAX);
	if (status == BP_EX_OK) {
		*n = program.bf_len;
		memcpy(insn, program.bf_insns, *n * sizeof(insn[0]));
	}
	pcap_freecode(&program);
	pcap_close(dead);
	return status;
}

char *bp_capture_join(int n, char **words, bool *memory)
{
	size_t size = 1;
	char *text;

	*memory = true;
	if (n == 0)
		return NULL;
	for (int i = 0; i < n; i++)
		size += strlen(words[i]) + 1;
	text = calloc(1, size);
	*memory = text != NULL;
	for (int i = 0; text != NULL && i < n; i++) {
		strcat(text, i != 0 ? " " : "");
		strcat(text, words[i]);
	}
	return text;
}

static int check(const struct bp_capture_options *o, const struct bp_cli_command *command)
{
	const bool pipe = o->path == NULL || strcmp(o->path, "-") == 0;

	if (o->files != 0 && o->file_size == 0)
		return bp_cli_usage_error(command, "-W needs -C, the size of a file");
	if (o->file_size != 0 && pipe)
		return bp_cli_usage_error(command, "-C needs -w FILE");
	if (o->path == NULL || strcmp(o->path, "-") != 0 || !isatty(STDOUT_FILENO))
		return BP_EX_OK;
	return bp_cli_usage_error(
		command, "standard output is a terminal; pipe it, or use -w FILE");
}

int bp_capture_options_read(
	struct bp_capture_options *o, const struct bp_cli_command *command, int argc, char **argv)
{
	struct bp_cli cli;
	char **words;
	int key, n, status;
	bool memory;

	memset(o, 0, sizeof(*o));
	o->snap_length = BP_CAPTURE_SNAP_MAX;
	bp_cli_begin(&cli, command, argc, argv);
	while ((key = bp_cli_next(&cli)) != BP_CLI_END) {
		if (key == BP_CLI_STOP) {
			o->done = true;
			return cli.status;
		}
		status = take_option(o, command, key, cli.value);
		if (status != BP_EX_OK)
			return status;
	}
	if (!o->drops && !o->rx && !o->tx)
		o->rx = o->tx = true;
	n = bp_cli_operands(&cli, &words);
	o->filter = bp_capture_join(n, words, &memory);
	if (!memory)
		return BP_EX_OSERR;
	status = check(o, command);
	if (status == BP_EX_OK && o->filter != NULL)
		status = bp_capture_compile(command, o->filter, o->insn, &o->n_insns);
	return status;
}

void bp_capture_options_free(struct bp_capture_options *o)
{
	json_decref(o->ports);
	free(o->filter);
}

int bp_capture_add_filter(
	json_t *request, const char *expression, const struct bp_capture_insn *insn, uint32_t n)
{
	char text[BP_CAPTURE_TEXT_MAX];

	if (n == 0)
		return 0;
	/* not every text is UTF-8; the filter does not need it */
	if (expression != NULL && strlen(expression) < BP_CAPTURE_EXPRESSION_MAX)
		(void)json_object_set_new(request, "expression", json_string(expression));
	bp_capture_filter_print(insn, n, text);
	return json_object_set_new(request, "filter", json_string(text));
}

json_t *bp_capture_options_request(const struct bp_capture_options *o)
{
	json_t *request = json_pack("{ss ss sb sb sb sI}", "command", "capture-start", "kind",
		"frames", "rx", (int)o->rx, "tx", (int)o->tx, "drops", (int)o->drops, "snap_length",
		(json_int_t)o->snap_length);

	if (request == NULL ||
		bp_capture_add_filter(request, o->filter, o->insn, o->n_insns) != 0 ||
		(o->ports != NULL && json_object_set(request, "ports", o->ports) != 0)) {
		json_decref(request);
		return NULL;
	}
	return request;
}
