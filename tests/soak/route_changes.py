# SPDX-License-Identifier: BSD-3-Clause
"""Route changes of the soak test."""

from churn import Churn
from periodic import Periodic


class RoutePlan:
    """Routes that come and go beside those of the traffic: 2,048 prefixes at most."""
    via = "10.8.0.2"

    def __init__(self, random):
        self.random, self.present = random, set()

    def change(self):
        prefix = f"60.{self.random.randrange(8)}.{self.random.randrange(256)}.0/24"
        if prefix in self.present:
            self.present.remove(prefix)
            return f"route del {prefix}"
        self.present.add(prefix)
        return f"route add {prefix} via {self.via}"


class NearLab:
    """The laboratory with its gateway NEAR where churn.py expects gw."""

    def __init__(self, lab):
        self.lab = lab

    def argv(self, _, *args):
        return self.lab.argv("near", *args)


class Routes(Periodic):
    """Its thread is that of the churn."""

    def __init__(self, lab, random, rate=200):
        super().__init__(1 / rate)
        self.lab, self.random, self.rate = lab, random, rate

    def begin(self):
        self.churn = Churn(NearLab(self.lab), RoutePlan(self.random), self.rate)

    def check_alive(self):
        self.churn.check()

    def check(self):
        self.churn.check()

    def totals(self):
        return {"route_changes": self.churn.made}

    def stop(self):
        self.churn.stop()
