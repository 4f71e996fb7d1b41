# SPDX-License-Identifier: BSD-3-Clause
"""Checks the SBOM of the package: tests/package/sbom.py ROOT, in which the package is installed. Its names are
unique and complete, and its libraries are those that the programs need, as dpkg-shlibdeps found them."""

import json
import re
import subprocess
import sys
from pathlib import Path


ROOT = Path(sys.argv[1])


def field(name):
    command = ["dpkg-query", f"--admindir={ROOT}/var/lib/dpkg", "-W", f"-f=${{{name}}}", "biplane"]
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout


def main():
    sbom = json.loads((ROOT / "usr/share/doc/biplane/biplane.spdx.json").read_text(encoding="utf-8"))
    assert sbom["spdxVersion"] == "SPDX-2.3" and sbom["SPDXID"] == "SPDXRef-DOCUMENT", "header"
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", sbom["creationInfo"]["created"]), "time"
    packages = {package["SPDXID"]: package for package in sbom["packages"]}
    assert len(packages) == len(sbom["packages"]), "an identifier twice"
    assert all(package["versionInfo"] and package["licenseDeclared"] != "NOASSERTION" for package in packages.values()), "no version or licence"
    linked = {relation["relatedSpdxElement"] for relation in sbom["relationships"] if relation["relationshipType"] == "DYNAMIC_LINK"}
    assert linked == set(packages) - {"SPDXRef-biplane"}, "packages without a relationship"
    assert packages["SPDXRef-biplane"]["versionInfo"] == field("Version"), "the version of biplane"
    names = {packages[identifier]["name"] for identifier in linked}
    expected = {name for name in re.findall(r"(?:^|, )([a-z0-9.+-]+)", field("Depends")) if name.startswith("lib") and "meta" not in name}
    assert names == expected, f"only in the SBOM: {names - expected}; only in Depends: {expected - names}"


main()
