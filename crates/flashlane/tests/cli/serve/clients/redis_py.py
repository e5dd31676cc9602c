"""Calls a server with Python's client, in RESP2 and RESP3."""

import sys

import redis

# Before version 5 the client speaks RESP2 only, and does not give its name.
is_new = int(redis.__version__.split(".")[0]) >= 5

for protocol in [{"protocol": 2}, {"protocol": 3}] if is_new else [{}]:
    client = redis.Redis(port=int(sys.argv[1]), decode_responses=True, **protocol)
    client.flushall()
    assert client.set("a", "1", ex=100) is True
    assert client.incr("a") == 2 and 0 < client.ttl("a") <= 100
    assert client.get("none") is None
    assert client.hset("h", mapping={"x": "1", "y": "2"}) == 2
    assert client.hgetall("h") == {"x": "1", "y": "2"}
    assert client.mget(["a", "none"]) == ["2", None]
    assert sorted(client.scan_iter(count=1)) == ["a", "h"]
    with client.pipeline(transaction=True) as pipe:
        pipe.watch("a")
        pipe.multi()
        pipe.incr("a")
        pipe.hlen("h")
        assert pipe.execute() == [3, 2]
    assert client.dbsize() == 2 and client.info()["role"] == "master"
    assert client.config_get("save") == {"save": ""}
    assert not is_new or any(c["lib-name"] == "redis-py" for c in client.client_list())
    try:
        client.lpush("l", "x")
        raise AssertionError("a list is refused")
    except redis.ResponseError as error:
        assert "unknown command" in str(error)
