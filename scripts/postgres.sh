# A PostgreSQL in a directory of its own. Sourced, not run; needs `lib.sh`, and takes POSTGRES, the directory of its programs, or
# Debian's.

bin="${POSTGRES:-$(echo /usr/lib/postgresql/*/bin)}"
bin="${bin##* }"

# postgres_in DIRECTORY OPTION...: makes a cluster in the directory, and leaves it stopped. The options are those of the server, at
# each start.
postgres_in() {
    need runuser "$bin/initdb" "$bin/pg_ctl" "$bin/pgbench" "$bin/psql"
    id postgres >/dev/null || die 'the user postgres is needed: PostgreSQL does not run as root'
    DATA="$1/data"
    install -d -o postgres "$DATA"
    # Its socket lies beside the drive, where the user may go too.
    chmod 711 "$WORK"
    install -d -o postgres "$WORK/socket"
    SERVER_OPTIONS="-k '$WORK/socket' -h '' ${*:2}"
    as_postgres "$bin/initdb" -D "$DATA" >/dev/null
}

as_postgres() {
    (cd "$WORK/socket" && runuser -u postgres -- "$@")
}

# start_postgres [COMMAND...]: starts it by a command that runs another one, such as `limited`. PROGRAM is run in place of `postgres`.
start_postgres() {
    (cd "$WORK/socket" && "$@" runuser -u postgres -- \
        "$bin/pg_ctl" -s -w -t 600 -D "$DATA" -l "$WORK/socket/log" ${PROGRAM:+-p "$PROGRAM"} -o "$SERVER_OPTIONS" start)
}

stop_postgres() {
    [[ -z "${DATA:-}" || ! -f "$DATA/postmaster.pid" ]] || as_postgres "$bin/pg_ctl" -s -m fast -t 600 -D "$DATA" stop
}
