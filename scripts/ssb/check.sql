-- Ends with an error where the tables are not what the benchmark promises: its numbers of rows, and the shares of the fact
-- table that its queries choose (filter factors), each within five standard deviations of a binomial distribution.
CREATE FUNCTION promised(what text, chosen bigint, of bigint, share float8) RETURNS void
LANGUAGE plpgsql AS $$
BEGIN
    IF abs(chosen - of * share) > 5 * sqrt(of * share * (1 - share)) + 1 THEN
        RAISE EXCEPTION '%: % of % rows, promised is a share of %', what, chosen, of, share;
    END IF;
END $$;

DO $$
DECLARE
    facts bigint := (SELECT count(*) FROM lineorder);
    orders bigint := (SELECT count(DISTINCT lo_orderkey) FROM lineorder);
BEGIN
    -- Orders have 4 lines in the mean, with a variance of 4.
    IF abs(facts - 4 * orders) > 5 * sqrt(4 * orders) THEN
        RAISE EXCEPTION 'lineorder has % rows of % orders', facts, orders;
    END IF;
    IF (SELECT count(*) FROM date) <> 2556 THEN
        RAISE EXCEPTION 'date has % rows, not 2556', (SELECT count(*) FROM date);
    END IF;
    -- All lines of an order have its date, so that dates are counted by order.
    PERFORM promised('Q1.1, dates', count(DISTINCT lo_orderkey), orders, 365.0 / 2556)
        FROM lineorder WHERE lo_orderdate / 10000 = 1993;
    PERFORM promised('Q1.2, dates', count(DISTINCT lo_orderkey), orders, 31.0 / 2556)
        FROM lineorder WHERE lo_orderdate / 100 = 199401;
    PERFORM promised('Q1.1, lines', count(*), facts, 3.0 / 11 * 24 / 50)
        FROM lineorder WHERE lo_discount BETWEEN 1 AND 3 AND lo_quantity < 25;
    PERFORM promised('Q1.2, lines', count(*), facts, 3.0 / 11 * 10 / 50)
        FROM lineorder WHERE lo_discount BETWEEN 4 AND 6 AND lo_quantity BETWEEN 26 AND 35;
    -- Of the dimensions, which are small; the fact table chooses their rows uniformly.
    PERFORM promised('Q2.2, parts', count(*) FILTER (WHERE p_brand1 BETWEEN 'MFGR#2221' AND 'MFGR#2228'), count(*), 1.0 / 125)
        FROM part;
    PERFORM promised('Q2.2, suppliers', count(*) FILTER (WHERE s_region = 'ASIA'), count(*), 1.0 / 5) FROM supplier;
    PERFORM promised('Q3.2, customers', count(*) FILTER (WHERE c_nation = 'UNITED STATES'), count(*), 1.0 / 25)
        FROM customer;
    PERFORM promised('Q4.3, parts', count(*) FILTER (WHERE p_category = 'MFGR#14'), count(*), 1.0 / 25) FROM part;
END $$;
DROP FUNCTION promised;
