SELECT d_year, s_city, p_brand1, sum(lo_revenue - lo_supplycost) AS profit
FROM lineorder JOIN date ON lo_orderdate = d_datekey JOIN customer ON lo_custkey = c_custkey
    JOIN supplier ON lo_suppkey = s_suppkey JOIN part ON lo_partkey = p_partkey
WHERE c_region = 'AMERICA' AND s_nation = 'UNITED STATES' AND d_year IN (1997, 1998) AND p_category = 'MFGR#14'
GROUP BY d_year, s_city, p_brand1 ORDER BY d_year, s_city, p_brand1;
