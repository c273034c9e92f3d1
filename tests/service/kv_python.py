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
assert client.hset("h", mapping={"a": 1, "b": 2}) == 2 and client.hget("h", "a") == "1"
assert client.hgetall("h") == {"a": "1", "b": "2"} and client.hincrby("h", "a", 4) == 5
assert client.hmget("h", "a", "x") == ["5", None] and client.hdel("h", "b") == 1
assert client.hset("big", mapping={f"f{i}": i for i in range(1000)}) == 1000
assert dict(client.hscan_iter("big", count=50)) == {f"f{i}": str(i) for i in range(1000)}
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

for version in (2, 3):
    other = redis.Redis(port=int(sys.argv[1]), decode_responses=True, protocol=version) \
        if redis.__version__ >= "5" else client
    subscriber = other.pubsub()
    subscriber.subscribe("news")
    subscriber.psubscribe("n*")

    def message():
        got = subscriber.get_message(timeout=60)
        return got["type"], got["channel"], got["data"]

    assert message() == ("subscribe", "news", 1) and message() == ("psubscribe", "n*", 2)
    assert client.publish("news", "hello") == 2 and client.pubsub_channels() == ["news"]
    assert client.pubsub_numsub("news") == [("news", 1)] and client.pubsub_numpat() == 1
    assert {message(), message()} == {("message", "news", "hello"), ("pmessage", "news", "hello")}
    subscriber.ping()
    assert subscriber.get_message(timeout=60)["type"] == "pong"
    subscriber.unsubscribe()
    assert message() == ("unsubscribe", "news", 1)
    assert client.publish("news", "again") == 1 and message() == ("pmessage", "news", "again")
    subscriber.punsubscribe()
    assert message() == ("punsubscribe", "n*", 0)
    subscriber.close()
