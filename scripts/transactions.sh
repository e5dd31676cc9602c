# Benchmarks of transactions under pgbench: its own TPC-B, TATP, and transactions derived from TPC-C. Sourced, not run; needs `lib.sh`
# and `as_postgres`, and takes BENCHMARK and SCALE.

# make_transactions: fills the tables in the database `bench` of a running PostgreSQL, and sets `work`, pgbench's options.
make_transactions() {
    local statements="$WORK/statements"
    # The user must reach the statements, wherever this repository lies.
    rm -rf "$statements"
    cp -r "$(dirname "${BASH_SOURCE[0]}")/transactions" "$statements"
    chmod 711 "$WORK"
    chmod -R a+rX "$statements"
    say "filling the tables of $BENCHMARK, scale $SCALE"
    case "$BENCHMARK" in
    tpc-b)
        as_postgres "$bin/pgbench" -h "$WORK/socket" -i -q -s "$SCALE" bench 2>/dev/null
        work=(-b tpcb-like)
        ;;
    tatp)
        statements -v subscribers="$SCALE" -f "$statements/tatp/tables.sql"
        # The constant of the benchmark's distribution of subscribers.
        a=65535
        ((SCALE <= 1000000)) || a=1048575
        ((SCALE <= 10000000)) || a=2097151
        work=(-D subscribers="$SCALE" -D a="$a")
        mix tatp get-subscriber-data@35 get-access-data@35 get-new-destination@10 update-location@14 \
            update-subscriber-data@2 insert-call-forwarding@2 delete-call-forwarding@2
        ;;
    tpc-c)
        statements -v warehouses="$SCALE" -f "$statements/tpc-c/tables.sql"
        statements -f "$statements/tpc-c/transactions.sql"
        work=(-D warehouses="$SCALE")
        mix tpc-c new-order@45 payment@43 order-status@4 delivery@4 stock-level@4
        ;;
    *) die "there is no benchmark '$BENCHMARK'" ;;
    esac
    statements -c CHECKPOINT
}

statements() {
    as_postgres "$bin/psql" -h "$WORK/socket" -q -X -v ON_ERROR_STOP=1 "$@" bench >/dev/null
}

# mix BENCHMARK TRANSACTION@WEIGHT...: transactions and their weights.
mix() {
    local transaction
    for transaction in "${@:2}"; do
        work+=(-f "$WORK/statements/$1/${transaction%@*}.sql@${transaction#*@}")
    done
}
