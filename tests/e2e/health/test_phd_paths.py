# SPDX-License-Identifier: BSD-3-Clause
"""The path in the configuration changes, and a real CSE has the containers of the old one: those of the new one are
created."""

import pytest

import coap
from test_phd_acme import DEVICES, OXIMETER, cse, done, provision, shared  # noqa: F401

OLD = "cse-in/{system_id}/{object}"
PATHS = {
    "containers": ("cse-in/{system_id}/new-{object}", f"cse-in/{OXIMETER}/new-spo2"),
    "ae": ("cse-in/phd-{system_id}/{object}", f"cse-in/phd-{OXIMETER}/spo2"),
    "type": ("cse-in/{type}-{system_id}/{object}", f"cse-in/pulse_oximeter-{OXIMETER}/spo2"),
    "shared": ("cse-in/{type}/{system_id}-{object}", f"cse-in/pulse_oximeter/{OXIMETER}-spo2"),
}


@pytest.mark.parametrize("path,container", PATHS.values(), ids=PATHS)
def test_another_path(cse, path, container):  # noqa: F811
    """Also one that gives the device's AE another name: the AE has an originator of its own, after its name, so that the
    CSE does not take it for a second one of who has the old AE (4117). The old containers stay as they are."""
    done(provision(cse, OLD))
    before = cse.tree(f"cse-in/{OXIMETER}")
    said, counts, err = done(provision(cse, path))
    assert sorted(said) == sorted(f"ready {d[0]}" for d in DEVICES) and not err
    assert container in cse.tree(container.rsplit("/", 1)[0])
    assert cse.client.create(container, coap.CIN, "Cbiplane", con="1").rsc == 2001
    assert set(before) <= set(cse.tree(f"cse-in/{OXIMETER}"))
    said, _, err = done(provision(cse, OLD))  # and back
    assert sorted(said) == sorted(f"ready {d[0]}" for d in DEVICES) and not err
    assert cse.client.create(f"cse-in/{OXIMETER}/spo2", coap.CIN, "Cbiplane", con="1").rsc == 2001
