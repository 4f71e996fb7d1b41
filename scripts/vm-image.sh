# SPDX-License-Identifier: BSD-3-Clause shellcheck shell=bash disable=SC2154 Builds the guest's kernel, initrd and root
# image in $cache for scripts/vm, which sources this file. The two scripts of the guest are in $guest.

guest_packages=(
	kmod procps busybox-static pciutils iproute2 ethtool tcpdump
	iputils-ping iputils-arping
	python3 python3-pytest
	mosquitto openssl frr
	dpdk # dpdk-devbind.py
	# libraries of biplane, and the tested drivers
	librte-eal23 librte-ethdev23 librte-graph23 librte-mbuf23 librte-mempool23 librte-ring23 librte-net-ring23
	librte-bus-pci23 librte-bus-vdev23 librte-mempool-ring23
	librte-net-e1000-23 librte-net-vmxnet3-23 librte-net-virtio23
	libbsd0 libevent-2.1-7 libevent-openssl-2.1-7 libmosquitto1 libfyaml0 libjansson4 libnl-3-200 libnl-route-3-200
	libsqlite3-0 libpcap0.8 libcurl3-gnutls libmicrohttpd12 librdkafka1
)

# Folders of kernel drivers that no test needs; they are most of the size of the image.
useless_drivers=(gpu media sound infiniband scsi staging iio net/wireless)

image_key() {
	{
		printf '%s\n' "${guest_packages[@]}"
		cat "$(dirname "$self")/vm-image.sh" "$guest"/*
	} | cksum
}

image_is_there() {
	[ "$(cat "$cache/ready" 2>/dev/null)" = "$(image_key)" ]
}

# One build at a time; a process that waited finds the finished image.
build() {
	image_is_there && return
	mkdir -p "$cache"
	exec 9>"$cache/lock"
	flock 9
	if ! image_is_there; then
		say "making the guest's image in $cache (about a minute)"
		rm -rf "$cache/ready" "$cache/work"
		mkdir -p "$cache/work/kernel" "$cache/work/initrd"/{bin,mod,new}
		trap 'rm -rf "$cache/work"' EXIT
		exit_by_signal
		make_root
		make_initrd
		make_image
		trap - EXIT INT TERM HUP
		rm -rf "$cache/work"
		image_key >"$cache/ready"
	fi
	exec 9>&-
}

make_root() {
	local root=$cache/work/root sources=$cache/work/sources.list include fetch d log=$cache/build.log
	# The packages of the guest are from the mirror of the host.
	apt-get indextargets --format 'deb $(REPO_URI) $(RELEASE) $(COMPONENT)' 'Created-By: Packages' | sort -u >"$sources"
	grep -q bookworm "$sources" || broken "the apt sources of this machine name no bookworm; see /etc/apt/sources.list"
	printf -v include '%s,' "${guest_packages[@]}"
	# The kernel is unpacked, not installed: no initramfs-tools, no hooks.
	fetch='cd '"$cache/work/kernel"' && export APT_CONFIG="$MMDEBSTRAP_APT_CONFIG" &&
		k=$(apt-cache depends linux-image-amd64 | sed -n "s/.*Depends: \(linux-image-[^ ]*\).*/\1/p" | head -n1) &&
		apt-get -qq -o APT::Sandbox::User=root download "$k" && dpkg-deb -x linux-image-*.deb x'
	mmdebstrap --mode=root --variant=minbase --include="${include%,}" \
		--aptopt='APT::Install-Recommends "false"' --dpkgopt=force-unsafe-io \
		--dpkgopt='path-exclude=/usr/share/doc/*' --dpkgopt='path-exclude=/usr/share/man/*' \
		--dpkgopt='path-exclude=/usr/share/locale/*' --customize-hook="$fetch" \
		bookworm "$root" "$sources" >"$log" 2>&1 ||
		{ tail -n 20 "$log" >&2; broken "mmdebstrap failed; all it said is in $log"; }
	kernel=$(ls "$cache/work/kernel/x/lib/modules")
	cp "$cache/work/kernel/x/boot/vmlinuz-$kernel" "$cache/vmlinuz"
	for d in "${useless_drivers[@]}"; do
		rm -rf "$cache/work/kernel/x/lib/modules/$kernel/kernel/drivers/$d"
	done
	mkdir -p "$root/usr/lib/modules"
	mv "$cache/work/kernel/x/lib/modules/$kernel" "$root/usr/lib/modules/"
	chroot "$root" depmod "$kernel"
	install -m 755 "$guest/pid1" "$root/biplane-pid1"
}

# A static busybox, and the modules that mount the root disk.
make_initrd() {
	local initrd=$cache/work/initrd root=$cache/work/root n=100 module
	cp "$(command -v busybox)" "$initrd/bin/busybox"
	for module in virtio_pci virtio_blk crc32c_generic ext4; do
		chroot "$root" modprobe -S "$kernel" --show-depends $module
	done | awk '$1 == "insmod" && !seen[$2]++ { print $2 }' | while read -r module; do
		n=$((n + 1))
		cp "$root$module" "$initrd/mod/$n-${module##*/}"
	done
	install -m 755 "$guest/init" "$initrd/init"
	(cd "$initrd" && find . | busybox cpio -o -H newc 2>/dev/null | gzip -1) >"$cache/initrd"
}

make_image() {
	local root=$cache/work/root size
	size=$(($(du -sm "$root" | cut -f1) * 5 / 4 + 200))
	rm -f "$cache/root.img"
	mke2fs -q -t ext4 -O ^has_journal -m 0 -d "$root" "$cache/root.img" "${size}M" >/dev/null || broken "mke2fs failed"
}
