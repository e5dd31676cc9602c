# The Star Schema Benchmark on a PostgreSQL. Sourced, not run; needs `postgres.sh`, and takes SCALE and PARTS, the number of parts.

ssb="$(dirname "${BASH_SOURCE[0]}")/ssb"

# sql OPTION...: psql, as the user of the server.
sql() {
    as_postgres "$bin/psql" -h "$WORK/socket" -q -X -A -t -v ON_ERROR_STOP=1 "$@"
}

# make_ssb: the tables in the database `bench`, their indexes and statistics, checked against the benchmark's filter factors.
make_ssb() {
    cp -r "$ssb" "$WORK/socket/ssb"
    chmod -R a+rX "$WORK/socket/ssb"
    say "filling the tables, scale $SCALE"
    sql -v scale="$SCALE" -v parts="$PARTS" -f ssb/tables.sql bench
    sql -f ssb/check.sql bench
    FACT_BLOCKS="$(sql -c "SELECT pg_relation_size('lineorder') / 8192" bench)"
}

# make_cold_ssb_image: an image with the benchmark, the size of its fact table in TABLE_BYTES, and the script `evict`, with which page cache
# and shared_buffers hold nothing of the tables when a query begins: it removes them from the first, and the second is so small that it
# does not count. The page cache is not limited, so a query reads each page once. Needs `served/database.sh`.
make_cold_ssb_image() {
    # What the tables take, ext4's own and PostgreSQL's log, with room.
    make_image "$(awk -v scale="$SCALE" 'BEGIN { printf "%d", (1.6 * scale + 0.4) * 1024 }')" make_evictable_ssb
}

make_evictable_ssb() {
    local relations
    make_ssb
    TABLE_BYTES="$(sql -c "SELECT pg_relation_size('lineorder')" bench)"
    # Paths of tables and indexes, relative to the cluster.
    mapfile -t relations < <(sql -c "
        SELECT pg_relation_filepath(oid) FROM pg_class
        WHERE relkind IN ('r', 'i') AND relnamespace = 'public'::regnamespace" bench)
    cat >"$WORK/socket/evict" <<EVICT
cd '$DATA'
for file in ${relations[*]}; do
    for part in \$file \$file.[0-9]*; do
        [ ! -e \$part ] || dd if=\$part iflag=nocache count=0 status=none
    done
done
EVICT
    chmod a+r "$WORK/socket/evict"
}

# sub_query QUERY PLAN SUB_QUERIES NUMBER: the text of one sub-query.
sub_query() {
    sed "s/:parts/$3/; s/:part/$4/; s/:from/'($((FACT_BLOCKS * $4 / $3)),0)'/
        s/:to/'($((FACT_BLOCKS * ($4 + 1) / $3)),0)'/" "$ssb/$2/$1.sql"
}

# joins PLAN: the server's options with which its joins are those of the plan, index or hash.
joins() {
    printf '%s ' -c enable_mergejoin=off -c enable_bitmapscan=off -c join_collapse_limit=1 \
        -c max_parallel_workers_per_gather=0 -c jit=off
    case "$1" in
    index) printf '%s ' -c enable_hashjoin=off -c enable_memoize=off -c enable_material=off ;;
    hash) printf '%s ' -c enable_nestloop=off -c enable_indexscan=off -c enable_indexonlyscan=off -c work_mem=256MB ;;
    esac
}
