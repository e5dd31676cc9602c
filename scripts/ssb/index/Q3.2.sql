SELECT c_city, s_city, d_year, sum(lo_revenue)
FROM customer JOIN lineorder ON lo_custkey = c_custkey
    JOIN supplier ON lo_suppkey = s_suppkey JOIN date ON lo_orderdate = d_datekey
WHERE c_nation = 'UNITED STATES' AND s_nation = 'UNITED STATES' AND d_year BETWEEN 1992 AND 1997
    AND c_custkey % :parts = :part
GROUP BY c_city, s_city, d_year;
