\set s_id (random(0, :a) | random(1, :subscribers)) % :subscribers + 1
\set location random(0, 2147483647)
/* UpdateLocation */ UPDATE subscriber SET vlr_location = :location WHERE sub_nbr = lpad(:s_id::text, 15, '0');
