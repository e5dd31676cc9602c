-- The four tables of TATP (TM-1), and rows for :subscribers subscribers, as the benchmark's description counts them. Strings
-- have their lengths and differ, but are not random: no query depends on them.
SELECT setseed(0.5);

CREATE TABLE subscriber (
    s_id integer NOT NULL,
    sub_nbr varchar(15) NOT NULL,
    bit_1 smallint, bit_2 smallint, bit_3 smallint, bit_4 smallint, bit_5 smallint,
    bit_6 smallint, bit_7 smallint, bit_8 smallint, bit_9 smallint, bit_10 smallint,
    hex_1 smallint, hex_2 smallint, hex_3 smallint, hex_4 smallint, hex_5 smallint,
    hex_6 smallint, hex_7 smallint, hex_8 smallint, hex_9 smallint, hex_10 smallint,
    byte2_1 smallint, byte2_2 smallint, byte2_3 smallint, byte2_4 smallint, byte2_5 smallint,
    byte2_6 smallint, byte2_7 smallint, byte2_8 smallint, byte2_9 smallint, byte2_10 smallint,
    msc_location integer,
    vlr_location integer
);
CREATE TABLE access_info (
    s_id integer NOT NULL,
    ai_type smallint NOT NULL,
    data1 smallint,
    data2 smallint,
    data3 char(3),
    data4 char(5)
);
CREATE TABLE special_facility (
    s_id integer NOT NULL,
    sf_type smallint NOT NULL,
    is_active smallint NOT NULL,
    error_cntrl smallint,
    data_a smallint,
    data_b char(5)
);
CREATE TABLE call_forwarding (
    s_id integer NOT NULL,
    sf_type smallint NOT NULL,
    start_time smallint NOT NULL,
    end_time smallint,
    numberx varchar(15)
);

INSERT INTO subscriber
SELECT s, lpad(s::text, 15, '0'),
    s & 1, s >> 1 & 1, s >> 2 & 1, s >> 3 & 1, s >> 4 & 1, s >> 5 & 1, s >> 6 & 1, s >> 7 & 1, s >> 8 & 1, s >> 9 & 1,
    s & 15, s >> 1 & 15, s >> 2 & 15, s >> 3 & 15, s >> 4 & 15, s >> 5 & 15, s >> 6 & 15, s >> 7 & 15, s >> 8 & 15,
    s >> 9 & 15,
    s & 255, s >> 1 & 255, s >> 2 & 255, s >> 3 & 255, s >> 4 & 255, s >> 5 & 255, s >> 6 & 255, s >> 7 & 255,
    s >> 8 & 255, s >> 9 & 255,
    (random() * 2147483647)::integer, (random() * 2147483647)::integer
FROM generate_series(1, :subscribers) AS s;

-- One to four rows for a subscriber, each number as often as the others, with types that differ.
INSERT INTO access_info
SELECT s, 1 + (first + number) % 4, number * 7 % 256, s & 255, 'ABC', 'ABCDE'
FROM (
    SELECT s, 1 + floor(random() * 4)::integer AS rows, floor(random() * 4)::integer AS first
    FROM generate_series(1, :subscribers) AS s OFFSET 0
) AS counts, generate_series(1, rows) AS number;

INSERT INTO special_facility
SELECT s, 1 + (first + number) % 4, (random() < 0.85)::integer, number * 7 % 256, s & 255, 'ABCDE'
FROM (
    SELECT s, 1 + floor(random() * 4)::integer AS rows, floor(random() * 4)::integer AS first
    FROM generate_series(1, :subscribers) AS s OFFSET 0
) AS counts, generate_series(1, rows) AS number;

-- None to three for a facility, that start at 0, 8 or 16 o'clock and last one to eight hours.
INSERT INTO call_forwarding
SELECT s_id, sf_type, start, start + 1 + floor(random() * 8)::integer, lpad(s_id::text, 15, '1')
FROM (
    SELECT s_id, sf_type, floor(random() * 4)::integer AS rows, floor(random() * 3)::integer AS first
    FROM special_facility OFFSET 0
) AS counts, generate_series(1, rows) AS number, LATERAL (SELECT 8 * ((first + number) % 3) AS start) AS starts;

ALTER TABLE subscriber ADD PRIMARY KEY (s_id);
CREATE UNIQUE INDEX subscriber_number ON subscriber (sub_nbr);
ALTER TABLE access_info ADD PRIMARY KEY (s_id, ai_type);
ALTER TABLE special_facility ADD PRIMARY KEY (s_id, sf_type);
ALTER TABLE call_forwarding ADD PRIMARY KEY (s_id, sf_type, start_time);
VACUUM ANALYZE;
