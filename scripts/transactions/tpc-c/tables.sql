-- The nine tables of TPC-C, and rows for :warehouses warehouses, as its clause 4.3.3 counts them. Strings have the lengths of
-- the clause and differ, but are not random: no query depends on them. There are no foreign keys, whose checks would be page
-- accesses of PostgreSQL's own. "Derived from TPC-C": no rating is claimed.
SELECT setseed(0.5);

-- A word of the given length that differs from row to row.
CREATE FUNCTION word(seed bigint, length integer) RETURNS text LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT substr(repeat(md5(seed::text), 1 + length / 32), 1, length)
$$;
-- The last name of clause 4.3.2.3.
CREATE FUNCTION last_name(number integer) RETURNS text LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT s[number / 100 + 1] || s[number / 10 % 10 + 1] || s[number % 10 + 1]
    FROM (SELECT '{BAR,OUGHT,ABLE,PRI,PRES,ESE,ANTI,CALLY,ATION,EING}'::text[] AS s) AS syllables
$$;
CREATE FUNCTION between_both(low integer, high integer) RETURNS integer LANGUAGE sql VOLATILE AS $$
    SELECT low + floor(random() * (high - low + 1))::integer
$$;
-- NURand of clause 2.1.6, with the constant c.
CREATE FUNCTION nurand(a integer, low integer, high integer, c integer) RETURNS integer LANGUAGE sql VOLATILE AS $$
    SELECT ((between_both(0, a) | between_both(low, high)) + c) % (high - low + 1) + low
$$;

CREATE TABLE warehouse (
    w_id smallint NOT NULL,
    w_name varchar(10), w_street_1 varchar(20), w_street_2 varchar(20), w_city varchar(20), w_state char(2), w_zip char(9),
    w_tax numeric(4, 4), w_ytd numeric(12, 2)
);
CREATE TABLE district (
    d_w_id smallint NOT NULL, d_id smallint NOT NULL,
    d_name varchar(10), d_street_1 varchar(20), d_street_2 varchar(20), d_city varchar(20), d_state char(2), d_zip char(9),
    d_tax numeric(4, 4), d_ytd numeric(12, 2), d_next_o_id integer
);
CREATE TABLE customer (
    c_w_id smallint NOT NULL, c_d_id smallint NOT NULL, c_id integer NOT NULL,
    c_first varchar(16), c_middle char(2), c_last varchar(16),
    c_street_1 varchar(20), c_street_2 varchar(20), c_city varchar(20), c_state char(2), c_zip char(9), c_phone char(16),
    c_since timestamp, c_credit char(2), c_credit_lim numeric(12, 2), c_discount numeric(4, 4), c_balance numeric(12, 2),
    c_ytd_payment numeric(12, 2), c_payment_cnt smallint, c_delivery_cnt smallint, c_data varchar(500)
);
CREATE TABLE history (
    h_c_id integer, h_c_d_id smallint, h_c_w_id smallint, h_d_id smallint, h_w_id smallint,
    h_date timestamp, h_amount numeric(6, 2), h_data varchar(24)
);
CREATE TABLE new_order (
    no_w_id smallint NOT NULL, no_d_id smallint NOT NULL, no_o_id integer NOT NULL
);
CREATE TABLE orders (
    o_w_id smallint NOT NULL, o_d_id smallint NOT NULL, o_id integer NOT NULL,
    o_c_id integer, o_entry_d timestamp, o_carrier_id smallint, o_ol_cnt smallint, o_all_local smallint
);
CREATE TABLE order_line (
    ol_w_id smallint NOT NULL, ol_d_id smallint NOT NULL, ol_o_id integer NOT NULL, ol_number smallint NOT NULL,
    ol_i_id integer, ol_supply_w_id smallint, ol_delivery_d timestamp, ol_quantity smallint, ol_amount numeric(6, 2),
    ol_dist_info char(24)
);
CREATE TABLE item (
    i_id integer NOT NULL, i_im_id integer, i_name varchar(24), i_price numeric(5, 2), i_data varchar(50)
);
CREATE TABLE stock (
    s_w_id smallint NOT NULL, s_i_id integer NOT NULL, s_quantity smallint,
    s_dist_01 char(24), s_dist_02 char(24), s_dist_03 char(24), s_dist_04 char(24), s_dist_05 char(24),
    s_dist_06 char(24), s_dist_07 char(24), s_dist_08 char(24), s_dist_09 char(24), s_dist_10 char(24),
    s_ytd integer, s_order_cnt smallint, s_remote_cnt smallint, s_data varchar(50)
);

INSERT INTO item
SELECT i, between_both(1, 10000), word(i, between_both(14, 24)), between_both(100, 10000) / 100.0,
    word(i, between_both(26, 50))
FROM generate_series(1, 100000) AS i;

INSERT INTO warehouse
SELECT w, word(w, 8), word(w, 15), word(w, 15), word(w, 15), 'XX', '123411111', between_both(0, 2000) / 10000.0, 300000
FROM generate_series(1, :warehouses) AS w;

INSERT INTO stock
SELECT w, i, between_both(10, 100), t, t, t, t, t, t, t, t, t, t, 0, 0, 0, word(i, between_both(26, 50))
FROM generate_series(1, :warehouses) AS w, generate_series(1, 100000) AS i, LATERAL (SELECT word(i, 24) AS t) AS texts;

INSERT INTO district
SELECT w, d, word(d, 8), word(d, 15), word(d, 15), word(d, 15), 'XX', '123411111', between_both(0, 2000) / 10000.0, 30000, 3001
FROM generate_series(1, :warehouses) AS w, generate_series(1, 10) AS d;

INSERT INTO customer
SELECT w, d, c, word(c, between_both(8, 16)), 'OE',
    last_name(CASE WHEN c <= 1000 THEN c - 1 ELSE nurand(255, 0, 999, 0) END),
    word(c, 15), word(c, 15), word(c, 15), 'XX', '123411111', word(c, 16), now()::timestamp,
    CASE WHEN random() < 0.1 THEN 'BC' ELSE 'GC' END, 50000, between_both(0, 5000) / 10000.0, -10, 10, 1, 0,
    word(c, between_both(300, 500))
FROM generate_series(1, :warehouses) AS w, generate_series(1, 10) AS d, generate_series(1, 3000) AS c;

INSERT INTO history
SELECT c_id, c_d_id, c_w_id, c_d_id, c_w_id, now()::timestamp, 10, word(c_id, between_both(12, 24)) FROM customer;

-- Every customer of a district has one order, in an order that is permuted: 1873 has no factor in common with 3000.
INSERT INTO orders
SELECT w, d, o, o * 1873 % 3000 + 1, now()::timestamp, CASE WHEN o < 2101 THEN between_both(1, 10) END,
    between_both(5, 15), 1
FROM generate_series(1, :warehouses) AS w, generate_series(1, 10) AS d, generate_series(1, 3000) AS o;

INSERT INTO new_order SELECT o_w_id, o_d_id, o_id FROM orders WHERE o_id > 2100;

INSERT INTO order_line
SELECT o_w_id, o_d_id, o_id, number, between_both(1, 100000), o_w_id, CASE WHEN o_id < 2101 THEN o_entry_d END, 5,
    CASE WHEN o_id < 2101 THEN 0 ELSE between_both(1, 999999) / 100.0 END, word(number, 24)
FROM orders, generate_series(1, o_ol_cnt) AS number;

ALTER TABLE warehouse ADD PRIMARY KEY (w_id);
ALTER TABLE district ADD PRIMARY KEY (d_w_id, d_id);
ALTER TABLE customer ADD PRIMARY KEY (c_w_id, c_d_id, c_id);
CREATE INDEX customer_name ON customer (c_w_id, c_d_id, c_last, c_first);
ALTER TABLE new_order ADD PRIMARY KEY (no_w_id, no_d_id, no_o_id);
ALTER TABLE orders ADD PRIMARY KEY (o_w_id, o_d_id, o_id);
CREATE UNIQUE INDEX orders_customer ON orders (o_w_id, o_d_id, o_c_id, o_id);
ALTER TABLE order_line ADD PRIMARY KEY (ol_w_id, ol_d_id, ol_o_id, ol_number);
ALTER TABLE item ADD PRIMARY KEY (i_id);
ALTER TABLE stock ADD PRIMARY KEY (s_w_id, s_i_id);
VACUUM ANALYZE;
