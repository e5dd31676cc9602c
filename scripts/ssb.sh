# The Star Schema Benchmark on a PostgreSQL. Sourced, not run; needs `postgres.sh`, and takes SCALE and PARTS, the number of parts.

ssb="$(dirname "${BASH_SOURCE[0]}")/ssb"

# sql OPTION...: psql, as the user of the server.
sql() {
    as_postgres "$bin/psql" -h "$WORK/socket" -q -X -A -t -v ON_ERROR_STOP=1 "$@"
}

# make_ssb: a database `bench` with the tables, their indexes and statistics, checked against the benchmark's filter factors.
make_ssb() {
    cp -r "$ssb" "$WORK/socket/ssb"
    chmod -R a+rX "$WORK/socket/ssb"
    sql -c 'CREATE DATABASE bench' postgres
    say "filling the tables, scale $SCALE"
    sql -v scale="$SCALE" -v parts="$PARTS" -f ssb/tables.sql bench
    sql -f ssb/check.sql bench
    FACT_BLOCKS="$(sql -c "SELECT pg_relation_size('lineorder') / 8192" bench)"
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
