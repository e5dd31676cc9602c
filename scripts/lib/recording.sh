# What the recording scripts share: a drive to record (a loop device over a fresh file), a limit on memory so that
# reads reach it, the recording itself, and leaving nothing behind. Sourced, not run.
#
# A script sets SUMMARY, names its own options with `option`, calls `options "$@"`, which reads and checks the command
# line, then `begin`, which needs root, and then uses the functions below. All options take a value: --name value.

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

# What is wrong with the command line. Exits from a subshell, too, since assignments heed its status.
refuse() {
    printf '%s: %s\n' "${0##*/}" "$*" >&2
    exit 2
}

say() {
    printf '== %s\n' "$*" >&2
}

# The options by name: OPTION holds what they are, after `options` with the command line in it.
declare -A OPTION KIND MEANING

usage() {
    printf '%s\n\nusage: %s [--option value]...\n\n' "$SUMMARY" "$0"
    local name
    for name in $(printf '%s\n' "${!OPTION[@]}" | sort); do
        printf '  --%-10s %s (%s)\n' "$name" "${MEANING[$name]}" "${OPTION[$name]:-none}"
    done
    printf '\nNeeds root, Linux with CONFIG_BLK_DEV_IO_TRACE, and flashlane on the path or in $FLASHLANE.\n'
}

# option NAME KIND DEFAULT MEANING: one more. Its kind is what `checked` holds it to.
option() {
    OPTION[$1]="$3"
    KIND[$1]="$2"
    MEANING[$1]="$4"
}

option out text "$(basename "$0" | sed 's/^record-//').blktrace.zst" \
    'the trace to write; its ending says the format and the compression, as in x.msr.gz'
option work text "${TMPDIR:-/var/tmp}" 'a directory with room for the drive; not on a memory file system'
option request limit 0 'the largest request that the drive takes; 0 for what the kernel has for it'

# Reads the command line into OPTION, counts as plain numbers, and refuses what the options cannot be.
options() {
    while (($#)); do
        case "$1" in
        -h | --help)
            usage
            exit
            ;;
        --*)
            local name="${1#--}"
            # Not by `-v`, which would expand once more what was given.
            [[ -n "${KIND[${name:-none}]:-}" ]] || refuse "there is no option $1; see --help"
            (($# > 1)) || refuse "$1 needs a value"
            OPTION[$name]="$2"
            shift 2
            ;;
        *) refuse "'$1' is not an option; see --help" ;;
        esac
    done
    need numfmt
    local name
    for name in "${!OPTION[@]}"; do
        OPTION[$name]="$(checked "$name")"
    done
    ((OPTION[request] == 0 || OPTION[request] >= 4096)) ||
        refuse "--request ${OPTION[request]}: no drive takes less than 4KiB; 0 is for what the kernel has for it"
    [[ -d "${OPTION[work]}" ]] || refuse "--work: there is no directory '${OPTION[work]}'"
    OPTION[out]="$(realpath -m "${OPTION[out]}")"
    [[ -d "${OPTION[out]%/*}" ]] || refuse "--out: there is no directory '${OPTION[out]%/*}'"
    [[ ! -f "${OPTION[out]}" ]] || refuse "--out: '${OPTION[out]}' is there already, and is not overwritten"
}

# checked NAME: what an option was set to, sizes and counts as plain numbers.
checked() {
    local given="${OPTION[$1]}"
    case "${KIND[$1]}" in
    text) printf '%s' "$given" ;;
    count) whole "$1" 1 ;;
    number) whole "$1" 0 ;;
    size | limit)
        local size
        [[ "$given" =~ ^[0-9]+(\.[0-9]+)?([KMGT]i?)?B?$ ]] && size="$(numfmt --from=auto "${given%B}" 2>/dev/null)" ||
            refuse "--$1 '$given' is not a size; write 512MiB or 4GiB"
        # So that what is calculated with it stays within 63 bits.
        ((${#size} <= 15)) || refuse "--$1 '$given' is too large: less than 1000T is allowed"
        [[ "$size" != 0 || "${KIND[$1]}" == limit ]] || refuse "--$1 '$given' has to be more than 0"
        printf '%s' "$size"
        ;;
    esac
}

# whole NAME LEAST: 10000 for an option that was set to 10k; k and M are 1,000 and 1,000,000.
whole() {
    local given="${OPTION[$1]}" number
    [[ "$given" =~ ^0*([0-9]{1,9})([kM]?)$ ]] ||
        refuse "--$1 '$given' is not a whole number from $2 to 999999999; write 32, 10k or 1M"
    # In base ten, whatever it begins with.
    number=$((10#${BASH_REMATCH[1]}))
    case "${BASH_REMATCH[2]}" in
    k) number=$((number * 1000)) ;;
    M) number=$((number * 1000000)) ;;
    esac
    ((number >= $2 && number <= 999999999)) ||
        refuse "--$1 '$given' is not from $2 to 999999999"
    printf '%s' "$number"
}

# Makes the folder that everything lies in, and sees to it that nothing is left behind.
begin() {
    ((EUID == 0)) || die 'recording needs root: loop devices, mounts, tracefs'
    need losetup mkfs.ext4 mount umount mountpoint xargs "$FLASHLANE"
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

# drive BYTES: a loop device over a new file, in DRIVE. Direct I/O where it can be had, so that the file is not cached
# a second time below the drive.
drive() {
    local file="$WORK/drive"
    fallocate -l "$1" "$file" 2>/dev/null || truncate -s "$1" "$file"
    DRIVE="$(losetup --find --show --direct-io=on "$file" 2>/dev/null || losetup --find --show "$file")"
    LARGEST="/sys/block/${DRIVE##*/}/queue/max_sectors_kb"
    LARGEST_BEFORE="$(<"$LARGEST")"
    ((OPTION[request] == 0)) || echo $((OPTION[request] / 1024)) >"$LARGEST"
}

# file_system BYTES: a drive with a fresh ext4, mounted at MOUNT; nothing of it is left to be initialised later.
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

# memory BYTES: what `recorded` runs has this much memory for itself and the page cache. Either version of control
# groups; 0 for no limit.
memory() {
    local name="flashlane-record-$$" v2
    (($1 > 0)) || return 0
    if [[ -d /sys/fs/cgroup/memory ]]; then
        mkdir "/sys/fs/cgroup/memory/$name"
        CGROUP="/sys/fs/cgroup/memory/$name"
        echo "$1" >"$CGROUP/memory.limit_in_bytes"
    else
        v2="$(awk '$3 == "cgroup2" { print $2; exit }' /proc/mounts)"
        [[ -n "$v2" ]] || die 'no control groups are mounted, so memory cannot be limited; --memory 0 does without'
        grep -qw memory "$v2/cgroup.subtree_control" || echo +memory >"$v2/cgroup.subtree_control"
        mkdir "$v2/$name"
        CGROUP="$v2/$name"
        echo "$1" >"$CGROUP/memory.max"
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
