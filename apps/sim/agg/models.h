/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BIPLANE_AGG_SIM_MODELS_H
#define BIPLANE_AGG_SIM_MODELS_H

/*
 * Queueing models of aggregation, of the paper (Lin et al. 2018; Equations are its) and beyond it.
 * docs/performance/aggregation-models.md derives each. Messages arrive as a Poisson process. The
 * unit of time is the mean time between two of them, so that their rate (lambda) is 1 and service
 * rates (mu) are multiples of it. n is the number of messages in an N-packet, 1 or more.
 */

enum sim_service { SIM_NO_SERVICE, SIM_EXPONENTIAL, SIM_FIXED };

/*
 * The root x in (0, 1) of Equation 7, for n mu > 1: the probability that an N-packet has to wait
 * for a server with exponential service times.
 */
double sim_model_x(unsigned n, double mu);

/*
 * Mean waiting time of an N-packet before its service, by Equation 6 (exponential) or by Spitzer's
 * identity (fixed: Crommelin's series for M/D/n, whose waiting times are those of E_n/D/1). n mu >
 * 1.
 */
double sim_model_wait(enum sim_service service, unsigned n, double mu);

/* The minimum rate whose mean waiting time is beta / mu (beta > 0): Equations 14, 15 and 16 and
 * their generalisation for larger n. */
double sim_model_min_mu(enum sim_service service, unsigned n, double beta);

/* An aggregator that lets no message wait longer than `max_delay` (0: for ever). */
struct sim_model_fill {
	double messages; /* mean number in an aggregate */
	double delay;    /* mean waiting time of a message */
	double full;     /* share of aggregates that leave with n messages */
};
struct sim_model_fill sim_model_fill(unsigned n, double max_delay);

/* Share of N-packets that a server with fixed or exponential service times and no waiting room
 * loses, of n = 1: Erlang's loss formula, which does not depend on the distribution of service
 * times. */
double sim_model_loss(double mu);

#endif
