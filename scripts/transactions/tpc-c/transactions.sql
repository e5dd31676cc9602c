-- The five transactions of TPC-C (clauses 2.4 to 2.8) as functions. Numbers within a transaction are drawn here; warehouse,
-- district and the kind of the transaction by pgbench, uniformly and anew each time: terminals are bound to no warehouse.

-- The customer of clauses 2.5.1.2 and 2.6.1.2: 60% by last name (the middle one by first name), 40% by number.
CREATE FUNCTION some_customer(w integer, d integer) RETURNS integer LANGUAGE plpgsql AS $$
DECLARE
    name text;
    ids integer[];
BEGIN
    IF random() >= 0.6 THEN
        RETURN nurand(1023, 1, 3000, 7);
    END IF;
    name := last_name(nurand(255, 0, 999, 100));
    SELECT array_agg(c_id ORDER BY c_first) INTO ids FROM customer WHERE c_w_id = w AND c_d_id = d AND c_last = name;
    RETURN coalesce(ids[(cardinality(ids) + 1) / 2], nurand(1023, 1, 3000, 7));
END $$;

-- Returns false where the last item does not exist, in one of a hundred orders: its transaction is to be rolled back.
CREATE FUNCTION new_order(w integer, d integer, warehouses integer) RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE
    c integer := nurand(1023, 1, 3000, 7);
    lines integer := between_both(5, 15);
    fails boolean := between_both(1, 100) = 1;
    items integer[];
    suppliers integer[] := '{}';
    every_local smallint := 1;
    o integer;
    i integer;
    supplier integer;
    quantity integer;
    price numeric;
    on_stock stock%ROWTYPE;
BEGIN
    SELECT array_agg(nurand(8191, 1, 100000, 1234) + 0 * number) INTO items FROM generate_series(1, lines) AS number;
    FOR number IN 1 .. lines LOOP
        supplier := w;
        IF warehouses > 1 AND between_both(1, 100) = 1 THEN
            supplier := (w + between_both(0, warehouses - 2)) % warehouses + 1;
            every_local := 0;
        END IF;
        suppliers := suppliers || supplier;
    END LOOP;
    PERFORM c_discount, c_last, c_credit, w_tax FROM customer, warehouse
    WHERE w_id = w AND c_w_id = w AND c_d_id = d AND c_id = c;
    UPDATE district SET d_next_o_id = d_next_o_id + 1 WHERE d_w_id = w AND d_id = d RETURNING d_next_o_id - 1 INTO o;
    INSERT INTO orders VALUES (w, d, o, c, now()::timestamp, NULL, lines, every_local);
    INSERT INTO new_order VALUES (w, d, o);
    FOR number IN 1 .. lines LOOP
        i := items[number];
        IF fails AND number = lines THEN
            i := 0;
        END IF;
        SELECT i_price INTO price FROM item WHERE i_id = i;
        IF NOT FOUND THEN
            RETURN false;
        END IF;
        supplier := suppliers[number];
        quantity := between_both(1, 10);
        SELECT * INTO on_stock FROM stock WHERE s_w_id = supplier AND s_i_id = i FOR UPDATE;
        UPDATE stock SET
            s_quantity = s_quantity - quantity + CASE WHEN s_quantity >= quantity + 10 THEN 0 ELSE 91 END,
            s_ytd = s_ytd + quantity,
            s_order_cnt = s_order_cnt + 1,
            s_remote_cnt = s_remote_cnt + (supplier <> w)::integer
        WHERE s_w_id = supplier AND s_i_id = i;
        INSERT INTO order_line VALUES (w, d, o, number, i, supplier, NULL, quantity, quantity * price, on_stock.s_dist_01);
    END LOOP;
    RETURN true;
END $$;

CREATE FUNCTION payment(w integer, d integer, warehouses integer) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    cw integer := w;
    cd integer := d;
    c integer;
    amount numeric := between_both(100, 500000) / 100.0;
    w_text text;
    d_text text;
BEGIN
    IF warehouses > 1 AND random() < 0.15 THEN
        cw := (w + between_both(0, warehouses - 2)) % warehouses + 1;
        cd := between_both(1, 10);
    END IF;
    UPDATE warehouse SET w_ytd = w_ytd + amount WHERE w_id = w RETURNING w_name INTO w_text;
    UPDATE district SET d_ytd = d_ytd + amount WHERE d_w_id = w AND d_id = d RETURNING d_name INTO d_text;
    c := some_customer(cw, cd);
    UPDATE customer SET
        c_balance = c_balance - amount,
        c_ytd_payment = c_ytd_payment + amount,
        c_payment_cnt = c_payment_cnt + 1,
        c_data = CASE WHEN c_credit = 'BC'
            THEN left(concat_ws(' ', c_id, c_d_id, c_w_id, d, w, amount) || c_data, 500) ELSE c_data END
    WHERE c_w_id = cw AND c_d_id = cd AND c_id = c;
    INSERT INTO history VALUES (c, cd, cw, d, w, now()::timestamp, amount, w_text || '    ' || d_text);
END $$;

CREATE FUNCTION order_status(w integer, d integer) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    c integer := some_customer(w, d);
    o integer;
BEGIN
    PERFORM c_balance, c_first, c_middle, c_last FROM customer WHERE c_w_id = w AND c_d_id = d AND c_id = c;
    SELECT o_id INTO o FROM orders WHERE o_w_id = w AND o_d_id = d AND o_c_id = c ORDER BY o_id DESC LIMIT 1;
    PERFORM ol_i_id, ol_supply_w_id, ol_quantity, ol_amount, ol_delivery_d FROM order_line
    WHERE ol_w_id = w AND ol_d_id = d AND ol_o_id = o;
END $$;

-- All ten districts in one transaction, as the clause allows.
CREATE FUNCTION delivery(w integer) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    carrier integer := between_both(1, 10);
    o integer;
    c integer;
    total numeric;
BEGIN
    FOR d IN 1 .. 10 LOOP
        SELECT no_o_id INTO o FROM new_order WHERE no_w_id = w AND no_d_id = d ORDER BY no_o_id LIMIT 1 FOR UPDATE SKIP LOCKED;
        CONTINUE WHEN NOT FOUND;
        DELETE FROM new_order WHERE no_w_id = w AND no_d_id = d AND no_o_id = o;
        UPDATE orders SET o_carrier_id = carrier WHERE o_w_id = w AND o_d_id = d AND o_id = o RETURNING o_c_id INTO c;
        WITH delivered AS (
            UPDATE order_line SET ol_delivery_d = now()::timestamp WHERE ol_w_id = w AND ol_d_id = d AND ol_o_id = o
            RETURNING ol_amount
        )
        SELECT sum(ol_amount) INTO total FROM delivered;
        UPDATE customer SET c_balance = c_balance + total, c_delivery_cnt = c_delivery_cnt + 1
        WHERE c_w_id = w AND c_d_id = d AND c_id = c;
    END LOOP;
END $$;

CREATE FUNCTION stock_level(w integer, d integer) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
    next_o integer;
    threshold integer := between_both(10, 20);
BEGIN
    SELECT d_next_o_id INTO next_o FROM district WHERE d_w_id = w AND d_id = d;
    RETURN (
        SELECT count(DISTINCT s_i_id) FROM order_line, stock
        WHERE ol_w_id = w AND ol_d_id = d AND ol_o_id >= next_o - 20 AND ol_o_id < next_o
            AND s_w_id = w AND s_i_id = ol_i_id AND s_quantity < threshold
    );
END $$;
