# A PostgreSQL whose database is made once and then lies on served drives. Sourced, not run; needs `lib.sh` and `postgres.sh`, and takes
# BUFFERS and OPTIONS, lines of further arguments of the server.
#
# Both servers run before other programs: that of the drive so that replies are not late, PostgreSQL so that its processor time is
# that of an idle machine.

# make_image MIB COMMAND...: an ext4 with the cluster in the file IMAGE, made on a drive of no particular speed; the command fills its
# database `bench`.
make_image() {
    IMAGE="$WORK/image"
    rm -f "$IMAGE"
    truncate -s "$1M" "$IMAGE"
    DRIVE="$(losetup --find --show --sector-size 4096 "$IMAGE")"
    ext4 -m 0
    postgres_in "$MOUNT" "-c wal_level=minimal -c max_wal_senders=0 -c max_wal_size=512MB -c autovacuum=off -c fsync=off" \
        "-c maintenance_work_mem=256MB"
    start_postgres
    as_postgres "$bin/createdb" -h "$WORK/socket" bench
    "${@:2}"
    stop_postgres
    release_drive
}

# on_served_drive DEVICE SLOWDOWN: serves a device whose bytes are those of the image, and mounts it. PostgreSQL is stopped.
on_served_drive() {
    local bytes="$WORK/bytes" options
    rm -f "$bytes"
    mapfile -t options < <(printf '%s' "$OPTIONS")
    serve_drive "backed(($1),file=$bytes)" --slowdown "$2" --first "${options[@]}"
    # The drive is full, and takes its bytes from the file: so they need not be written at its speed.
    dd if="$IMAGE" of="$bytes" bs=1M conv=notrunc,sparse status=none
    # What Linux sets for a drive that says nothing, and not what this loop device makes of its file.
    echo 128 >"/sys/block/${DRIVE##*/}/queue/read_ahead_kb"
    mount_drive
}

# start_database OPTION...: PostgreSQL on a served drive, with these options, within the memory limit.
start_database() {
    SERVER_OPTIONS="-k '$WORK/socket' -h '' -c shared_buffers=$((BUFFERS / 1024))kB -c autovacuum=off -c jit=off $*"
    start_postgres limited nice -n -10
}

# end_of_drive DEVICE: takes the drive away, and prints the row `lateness DEVICE VERDICT`: `valid` where the server's replies were in
# time, or why not.
end_of_drive() {
    stop_postgres
    release_drive
    printf 'lateness\t%s\t%s\n' "$1" "$(sed -n 's/^not valid: //p' "$WORK/server.log" | tail -n 1)"
}
