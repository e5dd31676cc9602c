SELECT sum(lo_extendedprice * lo_discount)
FROM date JOIN lineorder ON lo_orderdate = d_datekey
WHERE d_yearmonthnum = 199401 AND lo_discount BETWEEN 4 AND 6 AND lo_quantity BETWEEN 26 AND 35
    AND (366 * d_year + d_daynuminyear) % :parts = :part;
