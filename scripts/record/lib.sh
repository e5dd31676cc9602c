# What the recordings share: a drive to record (a loop device over a fresh file), and the recording itself. Sourced, not run. See
# `../lib.sh`; the variables beside those there are SIZE, REQUEST and OUT.

source "$(dirname "${BASH_SOURCE[0]}")/../lib.sh"
: "${OUT:?run this by 'cargo xtask record'; see --help there}"

# begin_recording: begins, with a tracer.
begin_recording() {
    begin 'loop devices, mounts, tracefs'
    [[ -e /sys/kernel/tracing/current_tracer ]] && return
    say 'mounting tracefs at /sys/kernel/tracing'
    mount -t tracefs tracefs /sys/kernel/tracing
}

# drive: a loop device of SIZE bytes over a new file, in DRIVE. Direct I/O where it can be had, so that the file is not cached
# a second time below the drive.
drive() {
    local file="$WORK/drive"
    fallocate -l "$SIZE" "$file" 2>/dev/null || truncate -s "$SIZE" "$file"
    DRIVE="$(losetup --find --show --direct-io=on "$file" 2>/dev/null || losetup --find --show "$file")"
    LARGEST="/sys/block/${DRIVE##*/}/queue/max_sectors_kb"
    LARGEST_BEFORE="$(<"$LARGEST")"
    ((REQUEST == 0)) || echo $((REQUEST / 1024)) >"$LARGEST"
}

# file_system: a drive with a fresh ext4, mounted at MOUNT.
file_system() {
    drive
    ext4
}

# recorded COMMAND...: runs it with cold caches and the memory limit, and records the drive until it is done and what
# it wrote has reached the drive.
recorded() {
    forget_cache
    say "recording $DRIVE: $*"
    # The words in single quotes are for the shell inside.
    # shellcheck disable=SC2016
    "$FLASHLANE" trace record "$DRIVE" --out "$OUT" -- bash -c '
        set -e
        group="$1" mount="$2"
        shift 2
        [ -z "$group" ] || echo $$ >"$group/cgroup.procs"
        "$@"
        [ -z "$mount" ] || sync -f "$mount"
    ' recorded "$CGROUP" "$MOUNT" "$@"
    say "written: $OUT"
}
