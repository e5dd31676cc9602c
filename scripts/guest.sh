# A guest that QEMU plays, for drivers that this machine's kernel may lack. Sourced, not run; takes TIMEOUT in seconds.
#
# A script that lacks something says `skipped` and why, and ends well: CI may have no QEMU.

say() { printf '== %s\n' "$*"; }
skip() { say "skipped: $*" && exit 0; }

# begin_guest TOOL...: makes the folder `work`, which is gone afterwards, where these tools are there.
begin_guest() {
    local tool
    for tool in qemu-system-x86_64 cpio timeout "$@"; do
        command -v "$tool" >/dev/null || skip "'$tool' is not here"
    done
    [[ "$(uname -m)" == x86_64 ]] || skip 'the guest is an x86-64 one, and so has to be what its programs are from'
    work="$(mktemp -d "${TMPDIR:-/var/tmp}/flashlane-guest.XXXXXX")"
    trap end_guest EXIT
    mkdir "$work/root"
}

end_guest() {
    local status=$?
    ! declare -F at_end >/dev/null || at_end || true
    rm -rf "$work"
    exit "$status"
}

# download_kernel: Debian's kernel for clouds as `kernel`, with its package in the folder `modules`.
download_kernel() {
    local package
    command -v apt-get dpkg-deb >/dev/null || skip 'there is no kernel (--kernel), and no apt-get to download one'
    package="$(apt-cache depends linux-image-cloud-amd64 2>/dev/null | awk '$1 == "Depends:" { print $2; exit }')"
    [[ -n "$package" ]] || skip 'there is no kernel (--kernel), and none is known to apt'
    say "downloading $package"
    (cd "$work" && apt-get -q -o APT::Sandbox::User=root download "$package" >/dev/null) || skip "$package cannot be downloaded"
    dpkg-deb -x "$work/$package"*.deb "$work/package"
    kernel="$(echo "$work"/package/boot/vmlinuz-*)"
    modules="$work/package"
}

# boot ARGUMENT...: boots `kernel` with the files in the folder `root`, until its /init turns the machine off. The arguments are
# QEMU's. Fails unless /init prints "verdict: passed", and no other verdict.
boot() {
    (cd "$work/root" && find . | cpio --quiet -o -H newc) >"$work/initramfs"
    say "booting $(basename "$kernel")"
    timeout "$TIMEOUT" qemu-system-x86_64 -accel tcg,thread=multi -smp 2 -m 1G -nodefaults -no-reboot -display none \
        -serial stdio -kernel "$kernel" -initrd "$work/initramfs" -append 'console=ttyS0 panic=-1 loglevel=4' "$@" \
        </dev/null | tee "$work/console" || true
    [[ "$(tr -d '\r' <"$work/console" | grep '^verdict: ')" == 'verdict: passed' ]] || { say 'the guest did not pass' && exit 1; }
}
