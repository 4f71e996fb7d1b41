# SPDX-License-Identifier: BSD-3-Clause
"""Tables of case latency of scripts/bench: docs/performance/latency.md."""
from report_markdown import table

NAMES = {"floor": "one hop: the device publishes the alarm itself", "cloud": "mosquitto, application in C",
         "relay": "relay: the hops of biplane without its work", "relay_busy": "relay, its first process polls",
         "suricata": "Suricata inline, publisher in C", "nanomq": "NanoMQ, its rule engine", "ekuiper": "mosquitto, eKuiper",
         "biplane": "biplane, AF_PACKET, adaptive", "biplane_busy": "biplane, AF_PACKET, busy",
         "biplane_af_xdp": "biplane, AF_XDP, adaptive", "biplane_af_xdp_busy": "biplane, AF_XDP, busy",
         "biplane_all_busy": "biplane, AF_PACKET, all busy"}
RELAYS = {"biplane": "relay", "biplane_busy": "relay_busy", "biplane_af_xdp": "relay", "biplane_af_xdp_busy": "relay_busy"}
STAGES = ("evaluate", "handover", "publish", "acknowledge")
NO_SLEEP = "cpu_latency_0us"


def name_of(way):
    return NAMES.get(way, way.replace("_", " "))


def ways_of(r):
    """{way: figures} of one measurement, in the order of the measurement."""
    return {way: v for way, v in (r or {}).items() if isinstance(v, dict) and "median_us" in v}


def percentiles(v):
    return [f"{v[k]:,.0f}" for k in ("median_us", "p99_us", "p999_us")]


def ratios(v, to):
    return [f"{v[k] / to[k]:.2f}" if to else "" for k in ("median_us", "p99_us", "p999_us")]


def relay_columns(ways):
    """Runs before there was a relay have none."""
    return ["Ratio to the relay: median", "p99"] if "relay" in ways else []


def to_relay(ways, way):
    return ratios(ways[way], ways.get(RELAYS.get(way)))[:2] if "relay" in ways else []


def delays(r):
    ways = ways_of(r)
    rows = [[name_of(way), *percentiles(v), *ratios(v, ways.get("floor"))[:1], *ratios(v, ways.get("cloud")),
             *to_relay(ways, way)] for way, v in ways.items()]
    return rows and table(["System", "Delay, µs: median", "p99", "p99.9", "Median, ratio to one hop", "Ratio to the application in C: median",
                           "p99", "p99.9", *relay_columns(ways)], rows)


def acknowledgements(r):
    ways = {way: v["puback"] for way, v in ways_of(r).items() if "puback" in v}
    bridge = ways.get("cloud")
    rows = [["Linux bridge" if way == "cloud" else name_of(way), *percentiles(v),
             f"{v['median_us'] - bridge['median_us']:+,.0f}" if bridge else ""] for way, v in ways.items()]
    return rows and table(["System", "PUBLISH to PUBACK, µs: median", "p99", "p99.9", "Median, difference to the Linux bridge"], rows)


def at_load(r):
    ways = {way: v["load"] for way, v in ways_of(r).items() if "load" in v}
    rows = [[name_of(way), *percentiles(v), *ratios(v, ways.get("cloud")), *to_relay(ways, way), f"{v['lost']:,}"]
            for way, v in ways.items()]
    return rows and table(["System", "Delay, µs: median", "p99", "p99.9", "Ratio to the application in C: median", "p99", "p99.9",
                           *relay_columns(ways), "Lost"], rows)


def stages(r):
    rows = [[name_of(way), *(f"{of[s]['p50_us']:,.0f} ({of[s]['p99_us']:,.0f})" for s in STAGES if s in of)]
            for way, of in ((r or {}).get("stages") or {}).items()]
    return rows and table(["System", *(f"{s}, µs" for s in STAGES)], rows)


def of_run(make, no_sleep=False):
    """The table of a run: of CPUs with idle states, or without."""
    def lines(run):
        r = run.get("latency") or {}
        return make(r.get(NO_SLEEP) if no_sleep else r)
    return lines


TABLES = {f"latency-{name}{suffix}": of_run(make, no_sleep)
          for name, make in (("delays", delays), ("acknowledgements", acknowledgements), ("load", at_load), ("stages", stages))
          for suffix, no_sleep in (("", False), ("-no-sleep", True))}
CASES = {name: ["latency"] for name in TABLES}
