-- The paper's variation of Q1.2 has "a new predicate (d_weeknumyear=1)". Beside the month it would choose 7 days, and the index
-- join would be faster even alone; so it stands here in place of the month.
SELECT sum(lo_extendedprice * lo_discount)
FROM date JOIN lineorder ON lo_orderdate = d_datekey
WHERE d_weeknuminyear = 1 AND lo_discount BETWEEN 4 AND 6 AND lo_quantity BETWEEN 26 AND 35
    AND (366 * d_year + d_daynuminyear) % :parts = :part;
