\set w random(1, :warehouses)
\set d random(1, 10)
/* StockLevel */ SELECT stock_level(:w, :d);
