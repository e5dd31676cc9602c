# A PostgreSQL with the Star Schema Benchmark that is made once and then lies on served drives. Sourced, not run; needs `lib.sh`,
# `postgres.sh` and `ssb.sh`, and takes BUFFERS and OPTIONS, lines of further arguments of the server.
#
# Both servers run before other programs: that of the drive so that replies are not late, PostgreSQL so that its processor time is
# that of an idle machine.
#
# Page cache and shared_buffers hold nothing of the tables when a query begins: `evict` removes them from the first, and the second
# is so small that it does not count. The page cache is not limited, so a query reads each page once.

# make_image: an ext4 with the database in the file IMAGE, made on a drive of no particular speed.
make_image() {
    IMAGE="$WORK/image"
    truncate -s 64G "$IMAGE"
    # What the tables take, ext4's own and PostgreSQL's log, with room.
    truncate -s "$(awk -v scale="$SCALE" 'BEGIN { printf "%d", (1.6 * scale + 0.4) * 1024 }')M" "$IMAGE"
    DRIVE="$(losetup --find --show --sector-size 4096 "$IMAGE")"
    ext4 -m 0
    postgres_in "$MOUNT" "-c wal_level=minimal -c max_wal_senders=0 -c max_wal_size=512MB -c autovacuum=off -c fsync=off" \
        "-c maintenance_work_mem=256MB"
    start_postgres
    make_ssb
    # Paths of tables and indexes, relative to the cluster.
    mapfile -t RELATIONS < <(sql -c "
        SELECT pg_relation_filepath(oid) FROM pg_class
        WHERE relkind IN ('r', 'i') AND relnamespace = 'public'::regnamespace" bench)
    TABLE_BYTES="$(sql -c "SELECT pg_relation_size('lineorder')" bench)"
    stop_postgres
    release_drive
    cat >"$WORK/socket/evict" <<EVICT
cd '$DATA'
for file in ${RELATIONS[*]}; do
    for part in \$file \$file.[0-9]*; do
        [ ! -e \$part ] || dd if=\$part iflag=nocache count=0 status=none
    done
done
EVICT
    chmod a+r "$WORK/socket/evict"
}

# on_served_drive DEVICE SLOWDOWN: serves a full drive whose bytes are those of the image, and mounts it. PostgreSQL is stopped.
on_served_drive() {
    local bytes="$WORK/bytes" options
    rm -f "$bytes"
    mapfile -t options < <(printf '%s' "$OPTIONS")
    serve_drive "backed(($1,initial.state=full),file=$bytes)" --slowdown "$2" --first "${options[@]}"
    # The drive is full, as after sequential writes, and takes its bytes from the file: so they need not be written at its speed.
    dd if="$IMAGE" of="$bytes" bs=1M conv=notrunc,sparse status=none
    # What Linux sets for a drive that says nothing, and not what this loop device makes of its file.
    echo 128 >"/sys/block/${DRIVE##*/}/queue/read_ahead_kb"
    mount_drive
}

# start_database OPTION...: PostgreSQL on a served drive, with these options.
start_database() {
    SERVER_OPTIONS="-k '$WORK/socket' -h '' -c shared_buffers=$((BUFFERS / 1024))kB -c autovacuum=off -c jit=off $*"
    start_postgres nice -n -10
}

# end_of_drive DEVICE: takes the drive away, and prints the row `lateness DEVICE VERDICT`: `valid` where the server's replies were in
# time, or why not.
end_of_drive() {
    stop_postgres
    release_drive
    printf 'lateness\t%s\t%s\n' "$1" "$(sed -n 's/^not valid: //p' "$WORK/server.log" | tail -n 1)"
}
