# What the scripts that copy files share: the files are made elsewhere (holes: nothing is read from a disk for them)
# and copied onto the drive, which is recorded. Sourced, not run.
#
# A fresh file system knows where it is empty; one that is used has to be read before it is written.

source "$(dirname "${BASH_SOURCE[0]}")/recording.sh"

option memory limit 512MiB 'memory of the copying with its page cache; 0 for no limit'
# In the traces of ruan12 (table III) files of 5.7 GB are 94,000 requests: none was larger than 64 KiB.
option request limit 64KiB 'the largest request that the drive takes; 0 for what the kernel has for it'
option before number 0 'times that the same files were copied onto the drive before, and every second one deleted'
option ahead number 32 "blocks of an inode table that are read at once, ext4's inode_readahead_blks"
option seed number 1 'of the sizes between the smallest and the largest'

# copied OPTIONS...: the whole recording.
copied() {
    options "$@"
    local least="${OPTION[least]}" most="${OPTION[most]}" ahead="${OPTION[ahead]}"
    ((least <= most)) || refuse "--least $least is more than --most $most"
    # Each takes a block of the file system, however small it is.
    ((OPTION[count] <= OPTION[size] / (least > 4096 ? least : 4096))) ||
        refuse "--count ${OPTION[count]}: so many files of --least $least do not fit into --size ${OPTION[size]}"
    ((ahead == (ahead & -ahead))) || refuse "--ahead $ahead is not 0 or a power of two, as ext4 has it"
    begin
    need cp awk
    mkdir "$WORK/source"
    # Sizes without a bias to either end, the same for the same seed.
    awk -v n="${OPTION[count]}" -v least="$least" -v most="$most" -v seed="${OPTION[seed]}" 'BEGIN {
        srand(seed)
        for (i = 0; i < n; i++) printf "%05d %.0f\n", i, least + int(rand() * (most - least + 1))
    }' | while read -r name length; do
        truncate -s "$length" "$WORK/source/$name"
    done
    file_system "${OPTION[size]}"
    local copy
    for ((copy = 0; copy < OPTION[before]; copy++)); do
        cp -r --sparse=never "$WORK/source" "$MOUNT/before-$copy"
    done
    find "$MOUNT" -type f -name '*[02468]' -delete
    mounted_anew "inode_readahead_blks=${OPTION[ahead]}"
    memory "${OPTION[memory]}"
    # Holes are written as zeros: what lies in the files makes no request different.
    recorded cp -r --sparse=never "$WORK/source" "$MOUNT/copied"
}
