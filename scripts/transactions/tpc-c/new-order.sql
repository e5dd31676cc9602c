\set w random(1, :warehouses)
\set d random(1, 10)
BEGIN;
/* NewOrder */ SELECT new_order(:w, :d, :warehouses) AS complete \gset
\if :complete
COMMIT;
\else
ROLLBACK;
\endif
