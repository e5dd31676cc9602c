\set w random(1, :warehouses)
\set d random(1, 10)
/* OrderStatus */ SELECT order_status(:w, :d);
