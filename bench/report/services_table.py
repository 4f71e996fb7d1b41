# SPDX-License-Identifier: BSD-3-Clause
"""The services in the output of bench/peers/peers, by socket programs and by biplane: as rows of a table."""
import peers_table


def cpu(step):
    """CPU time of the gateway's processes, in seconds per million messages that arrived; None: no such step."""
    return None if step is None else peers_table.per_million(step, "arrived")["gateway"]


def figures(s):
    """One service by one program: maximum rate without loss; latency in us: median, p99, p99.9; CPU seconds per million
    at the moderate rate, and at the maximum rate; CPU seconds per second when idle; MiB, and MiB of hugepages."""
    m = s["moderate"]
    return [s["sustained"], s["limit"], *peers_table.times(m["latency"], 1), cpu(m), cpu(peers_table.best(s)), s["idle_cpu"],
            s["memory"]["memory_mib"], s["memory"]["hugepages_mib"]]


def rows(services):
    yield (f"{'service, by':32} {'kept up':>9} {'limit':>8} {'median':>9} {'p99':>9} {'p99.9':>9} {'CPU':>8} {'at most':>8} "
           f"{'idle':>6} {'MiB':>7} {'huge':>6}")
    forms = ("9.0f", ">8", *["9.1f"] * 3, "8.1f", "8.1f", "6.3f", "7.1f", "6.0f")
    for s in services:
        yield f"{s['name']:32} " + " ".join(
            f"{'-':>{form.split('.')[0]}}" if v is None else format(v, form) for v, form in zip(figures(s), forms))


def tables(services):
    if not services:
        return
    m = services[0]["moderate"]
    yield ""
    yield f"peers: what is made of messages, over veth pairs; latency in us and CPU at {m['rate']:.0f} a second"
    yield from rows(services)
    yield "kept up: messages a second, from the first one to the last that arrived, none lost in the best of three tries;"
    yield "limit: as above. CPU: seconds a million messages, of the gateway's processes alone, and the same at the most"
    yield "that was kept up with; idle: seconds a second with nothing to do; MiB: without hugepages, which are apart"
