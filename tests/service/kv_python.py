#!/usr/bin/env -S python3 -B
# SPDX-License-Identifier: MIT
"""kv_python.py PORT - a client of skua-kv that uses python3-redis"""

import sys

import redis

client = redis.Redis(port=int(sys.argv[1]), decode_responses=True, client_name="tester")
client.flushall()
assert client.ping() and client.client_getname() == "tester"
assert client.set("a", 1, ex=100) and client.get("a") == "1" and 0 < client.ttl("a") <= 100
assert client.set("a", 2, nx=True) is None and client.getdel("a") == "1"
assert client.mset({f"k{i}": i for i in range(100)})
assert client.mget("k1", "none", "k99") == ["1", None, "99"]
assert sorted(client.scan_iter("k*", count=7)) == sorted(f"k{i}" for i in range(100))
assert client.incrby("n", 5) == 5 and client.decr("n") == 4 and client.append("n", "2") == 2
assert client.rpush("l", "a", "b", "c") == 3 and client.lrange("l", 0, -1) == ["a", "b", "c"]
assert client.lpop("l", 2) == ["a", "b"] and client.type("l") == "list"
with client.pipeline(transaction=False) as pipe:
    for i in range(1000):
        pipe.set(f"p{i}", i)
    assert all(pipe.execute())


def double(pipe):
    value = int(pipe.get("n"))
    pipe.multi()
    pipe.set("n", value * 2)


assert client.transaction(double, "n") == [True] and client.get("n") == "84"
try:
    client.lpush("n", 1)
    raise SystemExit("no error for a wrong type")
except redis.ResponseError as error:
    assert str(error).startswith("WRONGTYPE"), error
info = client.info()
assert info["connected_clients"] >= 1 and info["db0"]["keys"] > 1000, info
assert any(c["name"] == "tester" for c in client.client_list())
assert client.config_get("maxmemory") == {"maxmemory": "0"}
assert client.command_count() == len(client.command())
assert client.dbsize() > 1000 and client.flushdb() and client.dbsize() == 0
