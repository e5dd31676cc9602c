SELECT sum(lo_revenue) FROM lineorder WHERE lineorder.ctid >= :from AND lineorder.ctid < :to;
