SELECT sum(lo_extendedprice * lo_discount)
FROM lineorder JOIN date ON lo_orderdate = d_datekey
WHERE d_weeknuminyear = 1 AND lo_discount BETWEEN 4 AND 6 AND lo_quantity BETWEEN 26 AND 35
    AND lineorder.ctid >= :from AND lineorder.ctid < :to;
