\set s_id (random(0, :a) | random(1, :subscribers)) % :subscribers + 1
/* GetSubscriberData */ SELECT * FROM subscriber WHERE s_id = :s_id;
