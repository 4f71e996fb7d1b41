#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Writes the SBOM of an installed tree to stdout, SPDX 2.3 as JSON: scripts/sbom.py TREE VERSION. It has the Debian
packages whose libraries the programs of TREE are linked to, as installed here, with version and licence. Calls no
network. debian/rules puts it into the package; the time is SOURCE_DATE_EPOCH, so that a second build gives the same."""

import json
import os
import re
import subprocess
import sys
from datetime import datetime, timezone
from pathlib import Path

# The licences of Debian's copyright files as SPDX expressions. Names with "+": that version or a later one.
SPDX = {
    "Apache-2.0": "Apache-2.0", "BSD-2-clause": "BSD-2-Clause", "BSD-3-clause": "BSD-3-Clause", "curl": "curl", "Expat": "MIT",
    "EDL-1.0": "BSD-3-Clause", "EPL-2.0": "EPL-2.0", "ISC": "ISC",
    "GPL-2": "GPL-2.0-only", "GPL-2+": "GPL-2.0-or-later", "GPL-3+": "GPL-3.0-or-later",
    "LGPL-2.1": "LGPL-2.1-only", "LGPL-2.1+": "LGPL-2.1-or-later", "LGPL-3+": "LGPL-3.0-or-later",
}
# Of source packages whose copyright file programs cannot read, or whose first paragraph is of other files: read by hand.
READ = {
    "glibc": "LGPL-2.1-or-later", "libbsd": "BSD-3-Clause AND BSD-4-Clause AND BSD-2-Clause AND ISC", "libnl3": "LGPL-2.1-only", "libpcap": "BSD-3-Clause",
    "sqlite3": "blessing", "ncurses": "X11-distribute-modifications-variant",
}


def output_of(*command):
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout


def libraries_of(tree):
    """The names of the libraries that the ELF files of the tree need, except those in the tree."""
    needed, files = set(), set()
    for path in sorted(tree.rglob("*")):
        if path.is_symlink() or not path.is_file():
            continue
        with path.open("rb") as file:
            if file.read(4) != b"\x7fELF":
                continue
        files.add(path.name)
        needed.update(re.findall(r"\(NEEDED\).*\[(.*)\]", output_of("readelf", "-d", str(path))))
    return needed - files


def packages_of(libraries, arch):
    """The packages of this architecture in whose library folders they are."""
    names = set()
    found = subprocess.run(["dpkg-query", "-S", *(f"*/{name}" for name in sorted(libraries))], stdout=subprocess.PIPE, text=True, check=False)
    left = set(libraries)
    for line in found.stdout.splitlines():
        owner, _, path = line.partition(": ")
        if owner.endswith(f":{arch}") and path.rsplit("/", 1)[1] in libraries and "/lib/" in path:
            names.add(owner)
            left.discard(path.rsplit("/", 1)[1])
    if left:
        sys.exit(f"sbom: no installed package of {arch} has {', '.join(sorted(left))}: install the build dependencies of debian/control")
    return sorted(names)


def licence_of(name, source):
    if source in READ:
        return READ[source]
    copyright_file = Path(f"/usr/share/doc/{name}/copyright")
    text = copyright_file.read_text(encoding="utf-8", errors="replace") if copyright_file.exists() else ""
    first = re.search(r"^Files: *\*.*?^License: *([^\n]+)", text, re.DOTALL | re.MULTILINE)
    words = first[1].split() if first else []
    if not words or any(word not in SPDX and word not in ("or", "and") for word in words):
        sys.exit(f"sbom: the licence of {name} is '{' '.join(words)}' in {copyright_file}: read it, and add source package {source} to READ")
    return " ".join(word.upper() if word in ("or", "and") else SPDX[word] for word in words)


def package(spdx_id, name, version, licence, **more):
    return {"SPDXID": spdx_id, "name": name, "versionInfo": version, "downloadLocation": "NOASSERTION", "filesAnalyzed": False,
            "licenseConcluded": "NOASSERTION", "licenseDeclared": licence, "copyrightText": "NOASSERTION", **more}


def purl(name, version, arch):
    return {"externalRefs": [{"referenceCategory": "PACKAGE-MANAGER", "referenceType": "purl",
                              "referenceLocator": f"pkg:deb/debian/{name}@{version.replace('+', '%2B').replace(':', '%3A')}?arch={arch}"}]}


def main():
    if len(sys.argv) != 3 or not Path(sys.argv[1]).is_dir():
        sys.exit("usage: scripts/sbom.py TREE VERSION")
    tree, version = Path(sys.argv[1]), sys.argv[2]
    arch = os.environ.get("DEB_HOST_ARCH") or output_of("dpkg", "--print-architecture").strip()
    created = datetime.fromtimestamp(int(os.environ.get("SOURCE_DATE_EPOCH", "0")), timezone.utc)
    packages = [package("SPDXRef-biplane", "biplane", version, "BSD-3-Clause", primaryPackagePurpose="APPLICATION",
                        supplier="Organization: biplane maintainers")]
    relations = [{"spdxElementId": "SPDXRef-DOCUMENT", "relationshipType": "DESCRIBES", "relatedSpdxElement": "SPDXRef-biplane"}]
    form = "${Package}\t${Version}\t${source:Package}\t${source:Version}\t${Homepage}\n"
    for line in output_of("dpkg-query", "-W", f"-f={form}", *packages_of(libraries_of(tree), arch)).splitlines():
        name, has, source, source_version, homepage = line.split("\t")
        more = {"homepage": homepage} if homepage else {}
        spdx_id = "SPDXRef-" + re.sub(r"[^A-Za-z0-9.-]", "-", name)
        packages.append(package(spdx_id, name, has, licence_of(name, source), supplier="Organization: Debian",
                                sourceInfo=f"built from source package {source} {source_version}", primaryPackagePurpose="LIBRARY",
                                **more, **purl(name, has, arch)))
        relations.append({"spdxElementId": "SPDXRef-biplane", "relationshipType": "DYNAMIC_LINK", "relatedSpdxElement": spdx_id})
    json.dump({
        "spdxVersion": "SPDX-2.3", "dataLicense": "CC0-1.0", "SPDXID": "SPDXRef-DOCUMENT", "name": f"biplane-{version}-{arch}",
        "documentNamespace": f"https://biplane.example/spdx/biplane-{version}-{arch}-{int(created.timestamp())}",
        "creationInfo": {"created": created.strftime("%Y-%m-%dT%H:%M:%SZ"), "creators": ["Organization: biplane maintainers", "Tool: biplane-sbom"]},
        "packages": packages, "relationships": relations}, sys.stdout, indent=1)
    print()


main()
