SELECT sum(lo_extendedprice * lo_discount)
FROM date JOIN lineorder ON lo_orderdate = d_datekey
WHERE d_year = 1993 AND lo_discount BETWEEN 1 AND 3 AND lo_quantity < 25 AND (366 * d_year + d_daynuminyear) % :parts = :part;
