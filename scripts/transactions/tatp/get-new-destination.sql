\set s_id (random(0, :a) | random(1, :subscribers)) % :subscribers + 1
\set sf_type random(1, 4)
\set start_time random(0, 2) * 8
\set end_time random(1, 24)
/* GetNewDestination */ SELECT cf.numberx FROM special_facility AS sf, call_forwarding AS cf
WHERE sf.s_id = :s_id AND sf.sf_type = :sf_type AND sf.is_active = 1
    AND cf.s_id = sf.s_id AND cf.sf_type = sf.sf_type AND cf.start_time <= :start_time AND :end_time < cf.end_time;
