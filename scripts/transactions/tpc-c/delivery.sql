\set w random(1, :warehouses)
/* Delivery */ SELECT delivery(:w);
