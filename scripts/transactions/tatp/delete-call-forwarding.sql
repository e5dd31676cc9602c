\set s_id (random(0, :a) | random(1, :subscribers)) % :subscribers + 1
\set sf_type random(1, 4)
\set start_time random(0, 2) * 8
BEGIN;
/* DeleteCallForwarding */ SELECT s_id FROM subscriber WHERE sub_nbr = lpad(:s_id::text, 15, '0');
DELETE FROM call_forwarding WHERE s_id = :s_id AND sf_type = :sf_type AND start_time = :start_time;
COMMIT;
