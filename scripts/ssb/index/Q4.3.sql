SELECT d_year, s_city, p_brand1, sum(lo_revenue - lo_supplycost)
FROM part JOIN lineorder ON lo_partkey = p_partkey
    JOIN supplier ON lo_suppkey = s_suppkey JOIN date ON lo_orderdate = d_datekey
    JOIN customer ON lo_custkey = c_custkey
WHERE p_category = 'MFGR#14' AND s_nation = 'UNITED STATES' AND d_year IN (1997, 1998) AND c_region = 'AMERICA'
    AND p_partkey % :parts = :part
GROUP BY d_year, s_city, p_brand1;
