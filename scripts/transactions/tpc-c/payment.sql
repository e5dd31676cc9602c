\set w random(1, :warehouses)
\set d random(1, 10)
/* Payment */ SELECT payment(:w, :d, :warehouses);
