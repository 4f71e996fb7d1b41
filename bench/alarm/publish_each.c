/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Load generator: publishes measurements as the device of the alarm paper does, with one connection
 * per message. A given percentage of the values, randomly placed (fixed seed) and exact in number,
 * is above the threshold of 80.
 */
#include <getopt.h>
#include <mosquitto.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "apps/sim/sim_random.h"

#define STEP_MS 1000

static void on_connect(struct mosquitto *m, void *arg, int rc)
{
	if (rc == 0)
		mosquitto_publish(m, NULL, "plant/1/temperature", 2, arg, 0, false);
}

static void on_publish(struct mosquitto *m, void *arg, int mid)
{
	(void)arg, (void)mid;
	mosquitto_disconnect(m);
}

static bool publish(const char *broker, char *value)
{
	struct mosquitto *m = mosquitto_new(NULL, true, value);
	int rc;

	mosquitto_connect_callback_set(m, on_connect);
	mosquitto_publish_callback_set(m, on_publish);
	rc = mosquitto_connect(m, broker, 1883, 60);
	while (rc == MOSQ_ERR_SUCCESS)
		rc = mosquitto_loop(m, STEP_MS, 1);
	mosquitto_destroy(m);
	/* it ends with "no connection", because this client has disconnected */
	return rc == MOSQ_ERR_NO_CONN;
}

int main(int argc, char **argv)
{
	const char *broker = NULL;
	unsigned count = 1000, percent = 10, above;
	struct sim_random random = {1};
	int c;

	while ((c = getopt(argc, argv, "p:n:o:")) != -1) {
		if (c == 'p')
			broker = optarg;
		else if (c == 'n')
			count = (unsigned)strtoul(optarg, NULL, 10);
		else if (c == 'o')
			percent = (unsigned)strtoul(optarg, NULL, 10);
	}
	if (broker == NULL || count == 0 || percent > 100) {
		fputs("usage: publish_each -p BROKER [-n COUNT] [-o PERCENT-ABOVE]\n", stderr);
		return 64;
	}
	mosquitto_lib_init();
	above = count * percent / 100;
	for (unsigned left = count; left != 0; left--) {
		/* `above` of the remaining `left` values are above the threshold */
		const bool is = sim_random_next(&random) % left < above;
		char value[] = "20";

		above -= is;
		if (is)
			value[0] = '9';
		if (!publish(broker, value)) {
			fprintf(stderr, "publish_each: %s: measurement %u did not get through\n",
				broker, count - left);
			return 1;
		}
	}
	return 0;
}
