SELECT d_year, c_nation, sum(lo_revenue - lo_supplycost) AS profit
FROM lineorder JOIN date ON lo_orderdate = d_datekey JOIN customer ON lo_custkey = c_custkey
    JOIN supplier ON lo_suppkey = s_suppkey JOIN part ON lo_partkey = p_partkey
WHERE c_region = 'AMERICA' AND s_region = 'AMERICA' AND p_mfgr IN ('MFGR#1', 'MFGR#2')
GROUP BY d_year, c_nation ORDER BY d_year, c_nation;
