# What the recording scripts share: a drive to record (a loop device over a fresh file), a limit on memory so that
# reads reach it, the recording itself, and leaving nothing behind. Sourced, not run.
#
# A script sets SUMMARY, calls `options "$@"` with its own options in the array DEFAULTS (name=value), and then uses
# the functions below. All options take a value: --name value.

set -euo pipefail

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

# Options every script has; OPTION holds them all after `options`.
declare -A OPTION MEANING

usage() {
    printf '%s\n\nusage: %s [--option value]...\n\n' "$SUMMARY" "$0"
    local name
    for name in $(printf '%s\n' "${!OPTION[@]}" | sort); do
        printf '  --%-10s %s (%s)\n' "$name" "${MEANING[$name]}" "${OPTION[$name]:-none}"
    done
    printf '\nNeeds root, Linux with CONFIG_BLK_DEV_IO_TRACE, and flashlane on the path or in $FLASHLANE.\n'
}

# option NAME DEFAULT MEANING: one more.
option() {
    OPTION[$1]="$2"
    MEANING[$1]="$3"
}

option out "$(basename "$0" | sed 's/^record-//').blktrace.zst" \
    'the trace to write; the name says the format and the compression'
option work "${TMPDIR:-/var/tmp}" 'a directory with room for the drive; not on a memory file system'
option request 0 'the largest request that the drive takes; 0 for what the kernel has for it'

# Reads the command line into OPTION.
options() {
    while (($#)); do
        case "$1" in
        -h | --help)
            usage
            exit
            ;;
        --*)
            local name="${1#--}"
            [[ -v "OPTION[$name]" ]] || die "there is no option $1; see --help"
            (($# > 1)) || die "$1 needs a value"
            OPTION[$name]="$2"
            shift 2
            ;;
        *) die "'$1' is not an option; see --help" ;;
        esac
    done
    ((EUID == 0)) || die 'recording needs root: loop devices, mounts, tracefs'
    need losetup mkfs.ext4 mount umount mountpoint numfmt xargs "$FLASHLANE"
    OPTION[out]="$(realpath -m "${OPTION[out]}")"
    [[ -d "${OPTION[out]%/*}" ]] || die "there is no directory ${OPTION[out]%/*}"
    WORK="$(mktemp -d "${OPTION[work]}/flashlane-record.XXXXXX")"
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

# bytes 2GiB: 2147483648.
bytes() {
    numfmt --from=auto "${1%B}" || die "'$1' is not a size; write 512MiB or 4GiB"
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

# drive SIZE: a loop device over a new file, in DRIVE. Direct I/O where it can be had, so that the file is not cached
# a second time below the drive.
drive() {
    local size file="$WORK/drive"
    size="$(bytes "$1")"
    fallocate -l "$size" "$file" 2>/dev/null || truncate -s "$size" "$file"
    DRIVE="$(losetup --find --show --direct-io=on "$file" 2>/dev/null || losetup --find --show "$file")"
    LARGEST="/sys/block/${DRIVE##*/}/queue/max_sectors_kb"
    LARGEST_BEFORE="$(<"$LARGEST")"
    size="$(bytes "${OPTION[request]}")"
    ((size == 0)) || echo $((size / 1024)) >"$LARGEST"
}

# file_system SIZE: a drive with a fresh ext4, mounted at MOUNT; nothing of it is left to be initialised later.
file_system() {
    drive "$1"
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

# memory SIZE: what `recorded` runs has this much memory for itself and the page cache. Either version of control
# groups; 0 for no limit.
memory() {
    local size name="flashlane-record-$$" v2
    size="$(bytes "$1")"
    ((size > 0)) || return 0
    if [[ -d /sys/fs/cgroup/memory ]]; then
        mkdir "/sys/fs/cgroup/memory/$name"
        CGROUP="/sys/fs/cgroup/memory/$name"
        echo "$size" >"$CGROUP/memory.limit_in_bytes"
    else
        v2="$(awk '$3 == "cgroup2" { print $2; exit }' /proc/mounts)"
        [[ -n "$v2" ]] || die 'no control groups are mounted, so memory cannot be limited; --memory 0 does without'
        grep -qw memory "$v2/cgroup.subtree_control" || echo +memory >"$v2/cgroup.subtree_control"
        mkdir "$v2/$name"
        CGROUP="$v2/$name"
        echo "$size" >"$CGROUP/memory.max"
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
    "$FLASHLANE" trace record "$DRIVE" --out "${OPTION[out]}" -- bash -c '
        set -e
        group="$1" mount="$2"
        shift 2
        [ -z "$group" ] || echo $$ >"$group/cgroup.procs"
        "$@"
        [ -z "$mount" ] || sync -f "$mount"
    ' recorded "$CGROUP" "$MOUNT" "$@"
    say "written: ${OPTION[out]}"
}
