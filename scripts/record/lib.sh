# What the recordings share: a drive to record (a loop device over a fresh file), a limit on memory so that reads reach it,
# the recording itself, and leaving nothing behind. Sourced, not run.
#
# `cargo xtask record` reads and checks the options and hands them over as variables, sizes and counts as plain numbers: SIZE,
# MEMORY, REQUEST, OUT, WORK_IN, and those of each script. A script calls `begin`, which needs root, and then uses the functions
# below.

set -euo pipefail
: "${OUT:?run this by 'cargo xtask record'; see --help there}"

FLASHLANE="${FLASHLANE:-flashlane}"
WORK=
DRIVE=
MOUNT=
CGROUP=

die() {
    printf '%s: %s\n' "${0##*/}" "$*" >&2
    exit 1
}

say() {
    printf '== %s\n' "$*" >&2
}

# Makes the folder that everything lies in, and sees to it that nothing is left behind.
begin() {
    ((EUID == 0)) || die 'recording needs root: loop devices, mounts, tracefs'
    need losetup mkfs.ext4 mount umount mountpoint xargs "$FLASHLANE"
    WORK="$(mktemp -d "$WORK_IN/flashlane-record.XXXXXX")"
    trap clean_up EXIT
    trap 'exit 130' INT
    trap 'exit 143' TERM HUP
    tracefs
}

need() {
    local tool
    for tool in "$@"; do
        command -v "$tool" >/dev/null || die "'$tool' is needed and not to be found"
    done
}

tracefs() {
    [[ -e /sys/kernel/tracing/current_tracer ]] && return
    say 'mounting tracefs at /sys/kernel/tracing'
    mount -t tracefs tracefs /sys/kernel/tracing
}

# Leaves nothing behind, whatever happened; what fails here is said and does not keep the rest.
clean_up() {
    local status=$? try
    trap - EXIT INT TERM HUP
    set +e
    cd /
    declare -F at_end >/dev/null && at_end
    if [[ -n "$CGROUP" ]]; then
        # What an interrupted recording left running keeps the file system busy.
        for try in {1..50}; do
            [[ -n "$(<"$CGROUP/cgroup.procs")" ]] || break
            xargs -r kill -KILL <"$CGROUP/cgroup.procs" 2>/dev/null
            sleep 0.1
        done
        rmdir "$CGROUP"
    fi
    if [[ -n "$MOUNT" ]]; then
        for try in {1..50}; do
            umount "$MOUNT" 2>/dev/null && break
            sleep 0.2
        done
        ! mountpoint -q "$MOUNT" || say "$MOUNT is still in use, and stays mounted"
    fi
    if [[ -n "$DRIVE" ]]; then
        # The next user of this loop device finds it as it was.
        echo "$LARGEST_BEFORE" >"$LARGEST"
        losetup -d "$DRIVE"
    fi
    rm -rf --one-file-system "$WORK"
    exit "$status"
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

# file_system: a drive with a fresh ext4, mounted at MOUNT; nothing of it is left to be initialised later.
file_system() {
    drive
    mkfs.ext4 -q -E lazy_itable_init=0,lazy_journal_init=0 "$DRIVE"
    mkdir "$WORK/mount"
    mount "$DRIVE" "$WORK/mount"
    MOUNT="$WORK/mount"
}

# mounted_anew OPTIONS: the same with these options, and nothing of it in memory.
mounted_anew() {
    umount "$MOUNT"
    mount -o "$1" "$DRIVE" "$MOUNT"
}

# limit_memory: what `recorded` runs has MEMORY bytes for itself and the page cache. Either version of control
# groups; 0 for no limit.
limit_memory() {
    local name="flashlane-record-$$" v2
    ((MEMORY > 0)) || return 0
    if [[ -d /sys/fs/cgroup/memory ]]; then
        mkdir "/sys/fs/cgroup/memory/$name"
        CGROUP="/sys/fs/cgroup/memory/$name"
        echo "$MEMORY" >"$CGROUP/memory.limit_in_bytes"
    else
        v2="$(awk '$3 == "cgroup2" { print $2; exit }' /proc/mounts)"
        [[ -n "$v2" ]] || die 'no control groups are mounted, so memory cannot be limited; --memory 0 does without'
        grep -qw memory "$v2/cgroup.subtree_control" || echo +memory >"$v2/cgroup.subtree_control"
        mkdir "$v2/$name"
        CGROUP="$v2/$name"
        echo "$MEMORY" >"$CGROUP/memory.max"
    fi
}

forget_cache() {
    sync
    echo 3 >/proc/sys/vm/drop_caches
}

# limited COMMAND...: runs it within the memory limit, if there is one.
limited() {
    if [[ -z "$CGROUP" ]]; then
        "$@"
    else
        # The words in single quotes are for the shell inside.
        # shellcheck disable=SC2016
        bash -c 'echo $$ >"$1/cgroup.procs" && shift && exec "$@"' limited "$CGROUP" "$@"
    fi
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
