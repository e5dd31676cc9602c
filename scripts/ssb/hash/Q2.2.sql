SELECT sum(lo_revenue), d_year, p_brand1
FROM lineorder JOIN part ON lo_partkey = p_partkey
    JOIN supplier ON lo_suppkey = s_suppkey JOIN date ON lo_orderdate = d_datekey
WHERE p_brand1 BETWEEN 'MFGR#2221' AND 'MFGR#2228' AND s_region = 'ASIA'
    AND lineorder.ctid >= :from AND lineorder.ctid < :to
GROUP BY d_year, p_brand1;
