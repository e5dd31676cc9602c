# What the scripts that make a drive share: a loop device with a file system, a server of simulated drives, a limit on memory, and
# leaving nothing behind. Sourced, not run.
#
# `cargo xtask` reads and checks the options and hands them over as variables, sizes and counts as plain numbers: WORK_IN, MEMORY,
# and those of each script. A script calls `begin`, which needs root, and then uses the functions below.

set -euo pipefail
: "${WORK_IN:?run this by 'cargo xtask'; see --help there}"

FLASHLANE="${FLASHLANE:-flashlane}"
WORK=
DRIVE=
LARGEST_BEFORE=
MOUNT=
CGROUP=
SERVED=
SERVER=

die() {
    printf '%s: %s\n' "${0##*/}" "$*" >&2
    exit 1
}

say() {
    printf '== %s\n' "$*" >&2
}

# begin WHY: makes the folder that everything lies in, and sees to it that nothing is left behind.
begin() {
    ((EUID == 0)) || die "root is needed: $1"
    need losetup mkfs.ext4 mount umount mountpoint xargs "$FLASHLANE"
    WORK="$(mktemp -d "$WORK_IN/flashlane.XXXXXX")"
    trap clean_up EXIT
    trap 'exit 130' INT
    trap 'exit 143' TERM HUP
}

need() {
    local tool
    for tool in "$@"; do
        command -v "$tool" >/dev/null || die "'$tool' is needed and not to be found"
    done
}

# Leaves nothing behind, whatever happened; what fails here is said and does not keep the rest.
clean_up() {
    local status=$? try
    trap - EXIT INT TERM HUP
    set +e
    cd /
    declare -F at_end >/dev/null && at_end
    if [[ -n "$CGROUP" ]]; then
        # What was interrupted, and left running, keeps the file system busy.
        for try in {1..50}; do
            [[ -n "$(<"$CGROUP/cgroup.procs")" ]] || break
            xargs -r kill -KILL <"$CGROUP/cgroup.procs" 2>/dev/null
            sleep 0.1
        done
        rmdir "$CGROUP"
    fi
    release_drive
    rm -rf --one-file-system "$WORK"
    exit "$status"
}

# release_drive: unmounts the drive, detaches it, and ends its server; what fails is said and does not keep the rest. Then another
# drive can be made.
release_drive() {
    local try
    if [[ -n "$MOUNT" ]]; then
        for try in {1..50}; do
            umount "$MOUNT" 2>/dev/null && break
            sleep 0.2
        done
        if mountpoint -q "$MOUNT"; then
            say "$MOUNT is still in use, and stays mounted"
            [[ -z "$SERVER" ]] || umount -l "$MOUNT"
        fi
    fi
    if [[ -n "$DRIVE" ]]; then
        # The next user of this loop device finds it as it was.
        [[ -z "$LARGEST_BEFORE" ]] || echo "$LARGEST_BEFORE" >"$LARGEST"
        losetup -d "$DRIVE"
    fi
    if [[ -n "$SERVER" ]]; then
        kill -TERM "$SERVER" 2>/dev/null || true
        wait "$SERVER" || true
        # A server that was killed leaves its mount.
        ! mount | grep -qF " on $SERVED " || umount -l "$SERVED"
        # The summary, without the lines of each second.
        sed -n '/^not valid\|^served /,$p' "$WORK/server.log" >&2
    fi
    MOUNT='' DRIVE='' SERVER=''
}

# serve_drive DEVICE OPTION...: a loop device over a device that `flashlane serve fuse` serves, in DRIVE. The server has a session
# of its own: Ctrl-C ends this script, which then unmounts what is on the drive before the server ends.
serve_drive() {
    SERVED="$WORK/served"
    mkdir -p "$SERVED"
    setsid "$FLASHLANE" serve fuse "$1" "$SERVED" "${@:2}" >"$WORK/server.log" &
    SERVER=$!
    until [[ -e "$SERVED/drive" ]]; do
        kill -0 "$SERVER" 2>/dev/null || die "'$1' is not served"
        sleep 0.05
    done
    DRIVE="$(losetup --find --show --direct-io=on --sector-size 4096 "$SERVED/drive")"
}

# ext4 OPTION...: a fresh ext4 on the drive, mounted at MOUNT; nothing of it is left to be initialised later.
ext4() {
    mkfs.ext4 -q -E lazy_itable_init=0,lazy_journal_init=0 "$@" "$DRIVE"
    mount_drive
}

# mount_drive: mounts the file system of the drive at MOUNT.
mount_drive() {
    mkdir -p "$WORK/mount"
    mount "$DRIVE" "$WORK/mount"
    MOUNT="$WORK/mount"
}

# mounted_anew OPTIONS: the same with these options, and nothing of it in memory.
mounted_anew() {
    umount "$MOUNT"
    mount -o "$1" "$DRIVE" "$MOUNT"
}

# limit_memory: what `limited` runs has MEMORY bytes for itself and the page cache. Either version of control
# groups; 0 for no limit.
limit_memory() {
    local name="flashlane-$$" v2
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
