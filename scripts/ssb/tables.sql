-- The five tables of the Star Schema Benchmark (O'Neil, O'Neil, Chen: Star Schema Benchmark, revision 3, 2009), at scale
-- :scale, and the indexes of its joins. Rows are hashes of their numbers, so that each scale has one content. Columns that no
-- query reads have their lengths, and differ from row to row.

-- A number below :most, by row and column.
CREATE FUNCTION pick(row_number bigint, column_number bigint, most bigint) RETURNS integer
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN ((hashint8extended(row_number, column_number) & 9223372036854775807) % most)::integer;

CREATE TABLE nations AS
SELECT number AS n, name, (ARRAY['AFRICA', 'AMERICA', 'ASIA', 'EUROPE', 'MIDDLE EAST'])[1 + number / 5] AS region
FROM (
    SELECT ordinality::integer - 1 AS number, name
    FROM unnest(ARRAY[
        'ALGERIA', 'ETHIOPIA', 'KENYA', 'MOROCCO', 'MOZAMBIQUE', 'ARGENTINA', 'BRAZIL', 'CANADA', 'PERU', 'UNITED STATES',
        'CHINA', 'INDIA', 'INDONESIA', 'JAPAN', 'VIETNAM', 'FRANCE', 'GERMANY', 'ROMANIA', 'RUSSIA', 'UNITED KINGDOM',
        'EGYPT', 'IRAN', 'IRAQ', 'JORDAN', 'SAUDI ARABIA']) WITH ORDINALITY AS names(name, ordinality)
) AS numbered;

CREATE TABLE date (
    d_datekey integer NOT NULL,
    d_date char(18) NOT NULL,
    d_dayofweek char(8) NOT NULL,
    d_month char(9) NOT NULL,
    d_year integer NOT NULL,
    d_yearmonthnum integer NOT NULL,
    d_yearmonth char(7) NOT NULL,
    d_daynuminweek integer NOT NULL,
    d_daynuminmonth integer NOT NULL,
    d_daynuminyear integer NOT NULL,
    d_monthnuminyear integer NOT NULL,
    d_weeknuminyear integer NOT NULL,
    d_sellingseason char(12) NOT NULL,
    d_flags char(4) NOT NULL
);
INSERT INTO date
SELECT to_char(day, 'YYYYMMDD')::integer, to_char(day, 'FMMonth DD, YYYY'), to_char(day, 'Dy'), to_char(day, 'FMMonth'),
    to_char(day, 'YYYY')::integer, to_char(day, 'YYYYMM')::integer, to_char(day, 'MonYYYY'), to_char(day, 'ID')::integer,
    to_char(day, 'DD')::integer, to_char(day, 'DDD')::integer, to_char(day, 'MM')::integer,
    (to_char(day, 'DDD')::integer - 1) / 7 + 1, 'Winter', '0000'
FROM generate_series(date '1992-01-01', date '1998-12-30', interval '1 day') AS day;

CREATE TABLE customer (
    c_custkey integer NOT NULL,
    c_name char(25) NOT NULL,
    c_address char(25) NOT NULL,
    c_city char(10) NOT NULL,
    c_nation char(15) NOT NULL,
    c_region char(12) NOT NULL,
    c_phone char(15) NOT NULL,
    c_mktsegment char(10) NOT NULL
);
INSERT INTO customer
SELECT k, 'Customer#' || k, left(md5(k::text), 25), left(rpad(name, 9), 9) || pick(k, 2, 10), name, region, k::text, 'MACHINERY'
FROM generate_series(1, (30000 * :scale)::bigint) AS row(k) JOIN nations ON n = pick(k, 1, 25) ORDER BY row.k;

CREATE TABLE supplier (
    s_suppkey integer NOT NULL,
    s_name char(25) NOT NULL,
    s_address char(25) NOT NULL,
    s_city char(10) NOT NULL,
    s_nation char(15) NOT NULL,
    s_region char(12) NOT NULL,
    s_phone char(15) NOT NULL
);
INSERT INTO supplier
SELECT k, 'Supplier#' || k, left(md5(k::text), 25), left(rpad(name, 9), 9) || pick(k, 4, 10), name, region, k::text
FROM generate_series(1, (2000 * :scale)::bigint) AS row(k) JOIN nations ON n = pick(k, 3, 25) ORDER BY row.k;

-- The benchmark's number of parts is 200,000 * (1 + log2(scale)); below scale 1 it falls with the scale.
CREATE TABLE part (
    p_partkey integer NOT NULL,
    p_name char(22) NOT NULL,
    p_mfgr char(6) NOT NULL,
    p_category char(7) NOT NULL,
    p_brand1 char(9) NOT NULL,
    p_color char(11) NOT NULL,
    p_type char(25) NOT NULL,
    p_size integer NOT NULL,
    p_container char(10) NOT NULL
);
INSERT INTO part
SELECT k, 'part ' || k, 'MFGR#' || m, 'MFGR#' || m || c, 'MFGR#' || m || c || b, 'azure', 'STANDARD PLATED TIN',
    1 + pick(k, 8, 50), 'JUMBO PKG'
FROM generate_series(1, :parts) AS k,
    LATERAL (SELECT 1 + pick(k, 5, 5) AS m, 1 + pick(k, 6, 5) AS c, 1 + pick(k, 7, 40) AS b) AS brand;

CREATE TABLE lineorder (
    lo_orderkey integer NOT NULL,
    lo_linenumber integer NOT NULL,
    lo_custkey integer NOT NULL,
    lo_partkey integer NOT NULL,
    lo_suppkey integer NOT NULL,
    lo_orderdate integer NOT NULL,
    lo_orderpriority char(15) NOT NULL,
    lo_shippriority char(1) NOT NULL,
    lo_quantity integer NOT NULL,
    lo_extendedprice integer NOT NULL,
    lo_ordtotalprice integer NOT NULL,
    lo_discount integer NOT NULL,
    lo_revenue integer NOT NULL,
    lo_supplycost integer NOT NULL,
    lo_tax integer NOT NULL,
    lo_commitdate integer NOT NULL,
    lo_shipmode char(10) NOT NULL
);
-- Orders of one to seven lines, four in the mean; all lines of an order have its customer and its date.
INSERT INTO lineorder
SELECT o, l, 1 + pick(o, 11, (30000 * :scale)::bigint), 1 + pick(line, 12, :parts), 1 + pick(line, 13, (2000 * :scale)::bigint),
    to_char(date '1992-01-01' + pick(o, 14, 2556), 'YYYYMMDD')::integer, '3-MEDIUM', '0', quantity, price * quantity,
    4 * price * quantity, discount, price * quantity / 100 * (100 - discount), price * 6 / 10, pick(line, 15, 9),
    19980801, 'REG AIR'
FROM generate_series(1, (1500000 * :scale)::bigint) AS o, generate_series(1, 1 + pick(o, 10, 7)) AS l,
    LATERAL (SELECT 8 * o + l AS line) AS numbered,
    LATERAL (
        SELECT 1 + pick(line, 16, 50) AS quantity, 90000 + pick(line, 17, 20000) AS price, pick(line, 18, 11) AS discount
    ) AS drawn;

ALTER TABLE date ADD PRIMARY KEY (d_datekey);
ALTER TABLE customer ADD PRIMARY KEY (c_custkey);
ALTER TABLE supplier ADD PRIMARY KEY (s_suppkey);
ALTER TABLE part ADD PRIMARY KEY (p_partkey);
CREATE INDEX lineorder_date ON lineorder (lo_orderdate);
CREATE INDEX lineorder_customer ON lineorder (lo_custkey);
CREATE INDEX lineorder_part ON lineorder (lo_partkey);
VACUUM (FREEZE, ANALYZE);
