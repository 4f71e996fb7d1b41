/* SPDX-License-Identifier: BSD-3-Clause */
#include "apps/sim/phd/options.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "apps/biplane/option_values.h"
#include "apps/sim/phd/sources.h"

#define NS UINT64_C(1000000000)

static const char help[] =
	"usage: biplane-phd-sim --device KIND --to ADDRESS:PORT [OPTION]...\n"
	"\n"
	"Simulates personal health devices (ISO/IEEE 11073-20601 agents): each associates, sends "
	"its\n"
	"configuration on request, answers requests for its attributes, and reports measurements.\n"
	"Ends when every device has sent all reports and has released its association, or on "
	"SIGINT or\n"
	"SIGTERM after pending reports are answered; a second signal ends it immediately.\n"
	"\n"
	"  --device KIND            dispenser, oximeter or activity\n"
	"  --to ADDRESS:PORT        the manager, e.g. 10.1.0.1:6024 or [fd01::1]:6024\n"
	"  --count N                devices, 1 to 10000 (1)\n"
	"  --transport udp|tcp      UDP: one APDU per datagram (udp)\n"
	"  --config own|standard    the device's own configuration, or the standard's: oximeter "
	"400,\n"
	"                           activity 4100, dispenser 7200 (oximeter: standard, else own)\n"
	"  --brief-config           first report a standard configuration without its objects\n"
	"  --20601a                 also offer that version of the protocol\n"
	"  --report KIND            fixed, var, mp-fixed, mp-var, or mixed: each in turn (fixed)\n"
	"  --confirmed              send confirmed reports, and repeat them until they are "
	"answered\n"
	"  --rate R                 reports per second, sum of all devices; 0: as fast as "
	"responses\n"
	"                           arrive, with --confirmed only (1)\n"
	"  --reports N              reports of each device; 0: until a signal (10)\n"
	"  --first N                number of the first measurement, which decides the values (0)\n"
	"  --specials N             each Nth measurement is a special value: NaN, NRes, +INF... "
	"(0: none)\n"
	"  --doubtful N             each Nth variable report is questionable (0: none)\n"
	"  --associations R         association requests per second, sum of all devices (1000)\n"
	"  --stay                   stay associated after the last report, until a signal\n"
	"  --no-release             end without releasing the association, as without power\n"
	"  --retries N              repetitions before a device aborts; 0: unlimited (3)\n"
	"  --timeout T              from a report or configuration to its repetition (3s)\n"
	"  --association-timeout T  the same for association requests (10s)\n"
	"  --again T                from the end of an association to the next request (1s)\n"
	"  --loss P                 percentage of lost datagrams, in each direction (0)\n"
	"  --duplicate P            percentage of duplicated datagrams (0)\n"
	"  --seed N                 seed of the random numbers (1)\n"
	"  --sources PREFIX         source addresses of the devices, e.g. 10.1.2.0/24, used "
	"evenly;\n"
	"                           they need not be local if they are routed to this machine\n"
	"  --source-port N          port of the first device at each address (0: the kernel's "
	"choice)\n"
	"  --system-id HEX          16 digits, of the first device; each further one has one more\n"
	"  --report-file F          sent reports and responses, one JSON object per line; - is "
	"standard\n"
	"                           output, where the summary is the last line\n"
	"  --help\n"
	"\n"
	"Times are a number with ns, us, ms, s or m. The summary is one JSON object. Exit status:\n"
	"0 all reports were sent and, if confirmed, accepted; 1 otherwise; 64 usage; 71 system.\n";

enum which {
	DEVICE,
	TO,
	COUNT,
	TRANSPORT,
	CONFIG,
	BRIEF,
	VERSION_A,
	REPORT,
	CONFIRMED,
	RATE,
	REPORTS,
	FIRST,
	SPECIALS,
	DOUBTFUL,
	ASSOCIATIONS,
	STAY_ASSOCIATED,
	NO_RELEASE,
	RETRIES,
	TIMEOUT,
	ASSOCIATION_TIMEOUT,
	RECONNECT,
	LOSS,
	DUPLICATE,
	SEED,
	SOURCES,
	SOURCE_PORT,
	SYSTEM_ID,
	REPORT_FILE,
	HELP
};

static const struct option options[] = {
	{"device", required_argument, NULL, DEVICE},
	{"to", required_argument, NULL, TO},
	{"count", required_argument, NULL, COUNT},
	{"transport", required_argument, NULL, TRANSPORT},
	{"config", required_argument, NULL, CONFIG},
	{"brief-config", no_argument, NULL, BRIEF},
	{"20601a", no_argument, NULL, VERSION_A},
	{"report", required_argument, NULL, REPORT},
	{"confirmed", no_argument, NULL, CONFIRMED},
	{"rate", required_argument, NULL, RATE},
	{"reports", required_argument, NULL, REPORTS},
	{"first", required_argument, NULL, FIRST},
	{"specials", required_argument, NULL, SPECIALS},
	{"doubtful", required_argument, NULL, DOUBTFUL},
	{"associations", required_argument, NULL, ASSOCIATIONS},
	{"stay", no_argument, NULL, STAY_ASSOCIATED},
	{"no-release", no_argument, NULL, NO_RELEASE},
	{"retries", required_argument, NULL, RETRIES},
	{"timeout", required_argument, NULL, TIMEOUT},
	{"association-timeout", required_argument, NULL, ASSOCIATION_TIMEOUT},
	{"again", required_argument, NULL, RECONNECT},
	{"loss", required_argument, NULL, LOSS},
	{"duplicate", required_argument, NULL, DUPLICATE},
	{"seed", required_argument, NULL, SEED},
	{"sources", required_argument, NULL, SOURCES},
	{"source-port", required_argument, NULL, SOURCE_PORT},
	{"system-id", required_argument, NULL, SYSTEM_ID},
	{"report-file", required_argument, NULL, REPORT_FILE},
	{"help", no_argument, NULL, HELP},
	{NULL, 0, NULL, 0},
};

/* The value of --config; the kind may follow it. */
enum config_option { CONFIG_DEFAULT, CONFIG_EXTENDED, CONFIG_STANDARD };

static uint64_t system_id(const char *text)
{
	if (strlen(text) != 16 || strspn(text, "0123456789abcdefABCDEF") != 16)
		option_wrong("--system-id is '%s'; expected 16 hexadecimal digits", text);
	return strtoull(text, NULL, 16);
}

static void of_the_device(
	struct sim_options *o, enum which which, const char *v, enum config_option *config_option)
{
	static const char *const configs[] = {"own", "standard", NULL};
	static const char *const reports[] = {"fixed", "var", "mp-fixed", "mp-var", "mixed", NULL};

	switch (which) {
	case DEVICE:
		o->kind = sim_kind_named(v);
		if (o->kind == NULL)
			option_wrong(
				"--device is '%s'; expected dispenser, oximeter or activity", v);
		break;
	case CONFIG:
		*config_option = option_one_of("config", v, configs) == 0 ? CONFIG_EXTENDED
									  : CONFIG_STANDARD;
		break;
	case BRIEF:
		o->brief = true;
		break;
	case VERSION_A:
		o->version_a = true;
		break;
	case REPORT:
		o->report = (enum sim_report)option_one_of("report", v, reports);
		break;
	case CONFIRMED:
		o->confirmed = true;
		break;
	case REPORTS:
		o->reports = option_integer("reports", v, 0, UINT64_MAX);
		break;
	case FIRST:
		o->first = option_integer("first", v, 0, UINT32_MAX);
		break;
	case SPECIALS:
		o->specials = (unsigned)option_integer("specials", v, 0, UINT32_MAX);
		break;
	case DOUBTFUL:
		o->doubtful = (unsigned)option_integer("doubtful", v, 0, UINT32_MAX);
		break;
	case STAY_ASSOCIATED:
		o->stay_associated = true;
		break;
	case NO_RELEASE:
		o->no_release = true;
		break;
	case SYSTEM_ID:
		o->system_id = system_id(v);
		break;
	default:
		break;
	}
}

static void set_link_option(struct sim_options *o, enum which which, const char *v)
{
	static const char *const transports[] = {"udp", "tcp", NULL};

	switch (which) {
	case TO:
		option_endpoint("to", v, 1, &o->to);
		break;
	case COUNT:
		o->count = (unsigned)option_integer("count", v, 1, 10000);
		break;
	case TRANSPORT:
		o->tcp = option_one_of("transport", v, transports) == 1;
		break;
	case RATE:
		o->rate = option_number("rate", v, 0, 1e7);
		break;
	case ASSOCIATIONS:
		o->associations = option_number("associations", v, 0.001, 1e7);
		break;
	case RETRIES:
		o->retries = (unsigned)option_integer("retries", v, 0, 1000000);
		break;
	case TIMEOUT:
		o->timeout_ns = option_duration_ns("timeout", v, false);
		break;
	case ASSOCIATION_TIMEOUT:
		o->association_timeout_ns = option_duration_ns("association-timeout", v, false);
		break;
	case RECONNECT:
		o->reconnect_ns = option_duration_ns("again", v, false);
		break;
	case LOSS:
		o->loss = option_number("loss", v, 0, 99) / 100;
		break;
	case DUPLICATE:
		o->duplicate = option_number("duplicate", v, 0, 100) / 100;
		break;
	case SEED:
		o->seed = option_integer("seed", v, 1, UINT64_MAX);
		break;
	case SOURCES:
		sim_sources(o, v);
		break;
	case SOURCE_PORT:
		o->source_port = (uint16_t)option_integer("source-port", v, 1, 65535);
		break;
	case REPORT_FILE:
		o->report_file = v;
		break;
	default:
		break;
	}
}

struct reading {
	struct sim_options *o;
	enum config_option config_option;
};

static void set(void *arg, int which, const char *v)
{
	struct reading *r = arg;

	if (which == HELP) {
		fputs(help, stdout);
		exit(0);
	}
	of_the_device(r->o, (enum which)which, v, &r->config_option);
	set_link_option(r->o, (enum which)which, v);
}

static void agree(struct sim_options *o, enum config_option config_option)
{
	uint64_t last;

	if (o->kind == NULL)
		option_wrong("--device is missing");
	if (o->to.ss_family == 0)
		option_wrong("--to is missing");
	if (o->source.ss_family != 0 && o->source.ss_family != o->to.ss_family)
		option_wrong("--sources and --to are not of the same family");
	if (o->rate == 0 && !o->confirmed)
		option_wrong("--rate 0 needs --confirmed, which limits the rate");
	if (o->tcp && (o->loss > 0 || o->duplicate > 0))
		option_wrong("--loss and --duplicate need UDP: TCP repairs losses");
	last = o->source_port + (o->count - 1) / (o->sources > 0 ? o->sources : 1);
	if (o->source_port != 0 && last > 65535)
		option_wrong("--source-port %u leaves no ports for %u devices", o->source_port,
			o->count);
	o->standard = config_option == CONFIG_STANDARD ||
		      (config_option == CONFIG_DEFAULT && strcmp(o->kind->name, "oximeter") == 0);
	if (o->brief && !o->standard)
		option_wrong("--brief-config is for --config standard");
	if (o->system_id == 0)
		o->system_id = o->kind->ids;
}

void sim_options_read(struct sim_options *o, int argc, char **argv)
{
	struct reading r = {o, CONFIG_DEFAULT};

	*o = (struct sim_options){.count = 1,
		.rate = 1,
		.reports = 10,
		.associations = 1000,
		.retries = 3,
		.timeout_ns = 3 * NS,
		.association_timeout_ns = 10 * NS,
		.reconnect_ns = NS,
		.seed = 1};
	option_each(argc, argv, options, set, &r);
	agree(o, r.config_option);
}
