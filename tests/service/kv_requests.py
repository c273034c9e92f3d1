# SPDX-License-Identifier: MIT
"""kv_requests.py - what kv_compare.py sends to both servers"""

import kv_wire

BIG = "x" * 5000

# Sessions of commands; each session begins without keys, on a connection of its own. "~"
# before a command: its reply is an array, whose order says nothing; "#": a number that
# depends on the time.
SESSIONS = [
    # strings
    [
        "PING", "PING hi", "PING a b", "ECHO hi", "ECHO", "GET", "GET a b", "GET none",
        "SET a 1", "GET a", "SET a", "SET a 2 NX", "SET a 2 XX", "SET b 1 XX", "SET b 1 NX",
        "SET a 3 GET", "SET c 3 GET", "SET c 4 NX GET", "SET c 5 XX GET", "SET a 1 FOO",
        "SET a 1 NX XX", "SET a 1 EX", "SET a 1 EX x", "SET a 1 EX 0", "SET a 1 EX -1",
        "SET a 1 PX 0", "SET a 1 EX 9223372036854775807", "SET a 1 PX 9223372036854775807",
        "SET a 1 EX 10 PX 10", "SET a 1 EX 10 KEEPTTL", "SET a 1 KEEPTTL EX 10",
        "SET a 1 KEEPTTL KEEPTTL", "SET a 1 EX x EX 100", "#TTL a", "SET a 1 PX 1 px 100000",
        "#PTTL a",
        "SET a 1 EX 10 EXAT 10", "SET a 1 EX 10 EX", "SET a 1 EX 100", "#TTL a", "SET a 2 KEEPTTL", "#TTL a",
        "SET a 2", "TTL a", "SET a 2 PX 100000", "#PTTL a", "set a 3 ex 100 nx get",
        "SETNX a 1", "SETNX d 1", "GETDEL d", "GETDEL d", "GETDEL", "STRLEN a",
        "STRLEN none", "APPEND a bc", "GET a", "APPEND e xyz", "GET e",
        f"APPEND e {BIG}", "STRLEN e", "GET e", f"SET f {BIG}", "GET f", "APPEND f y",
        "GET f", "SET f short", "GET f", "MSET", "MSET a", "MSET a 1 b", "MSET a 1 b 2 a 3",
        "MGET a b c none a", "MGET", "GET a",
        "SET a 1 EXAT 9999999999", "#TTL a", "SET a 1 PXAT 9999999999999", "SET a 1 EXAT 0",
        "SET a 1 PXAT 1", "GET a", "EXISTS a", "SET a 1 PXAT -1", "SET a 1 EXAT 9223372036854775",
    ],
    # counters
    [
        "INCR n", "INCR n", "GET n", "STRLEN n", "DECR n", "INCRBY n 10", "DECRBY n 3",
        "APPEND n 5", "INCR n", "SET n abc", "INCR n", "INCRBY n 1", "SET n 9223372036854775807",
        "INCR n", "DECR n", "SET n -9223372036854775808", "DECR n", "INCR n",
        "INCRBY n x", "INCRBY n 1.5", "INCRBY n 9223372036854775808", "INCRBY n -9223372036854775808",
        "DECRBY n -9223372036854775808", "SET n 007", "INCR n", "SET n +7", "INCR n",
        "SET n -0", "INCR n", "SET n ' 7'", "INCR n", "INCRBY n", "INCR", "DECR m", "DECRBY k 5",
        "TYPE k", "INCRBY z 0", "GET z",
    ],
    # keys
    [
        "DEL none", "SET a 1", "SET b 2", "DEL a b a none", "DEL", "UNLINK none", "SET a 1",
        "UNLINK a", "EXISTS a", "SET a 1", "EXISTS a a b", "EXISTS", "TYPE a", "TYPE none",
        "RPUSH l 1", "TYPE l", "EXPIRE none 10", "EXPIRE a 100", "#TTL a", "#PTTL a",
        "PERSIST a", "PERSIST a", "PERSIST none", "TTL a", "PTTL a", "TTL none", "PTTL none",
        "EXPIRE a x", "EXPIRE a 9223372036854775807", "PEXPIRE a 9223372036854775807",
        "EXPIRE a -9223372036854775807", "PEXPIRE a 100000", "#PTTL a", "EXPIRE a 100 NX",
        "EXPIRE a 100 XX", "EXPIRE a 50 GT", "EXPIRE a 500 GT", "EXPIRE a 600 LT",
        "EXPIRE a 60 LT", "EXPIRE a 60 FOO", "EXPIRE a 60 NX XX", "EXPIRE a 60 GT LT",
        "EXPIRE a 60 NX GT", "PERSIST a", "EXPIRE a 60 GT", "EXPIRE a 60 XX", "EXPIRE a 60 LT",
        "EXPIRE a 0", "EXISTS a", "SET a 1", "EXPIRE a -5", "GET a", "EXPIRE a", "TTL",
        "DBSIZE", "DBSIZE x", "FLUSHDB", "DBSIZE", "SET a 1", "FLUSHALL ASYNC", "FLUSHALL SYNC",
        "FLUSHALL FOO", "FLUSHALL a b", "KEYS *", "SCAN ''",
        "MSET foo 1 bar 2 foobar 3 f[x] 4",
        "~KEYS *", "~KEYS foo*", "~KEYS *o*", "~KEYS f??", "~KEYS f[a-z]o", "~KEYS f\\[x]",
        "~KEYS [^f]*", "~KEYS nothing", "KEYS", "~KEYS [fb]*", "~KEYS *bar", "~KEYS f[o]*r",
        "SCAN", "SCAN ' '", "SCAN x", "SCAN -1x",
        "SCAN 0 COUNT", "SCAN 0 COUNT 0", "SCAN 0 COUNT x",
        "SCAN 0 FOO 1", "~SCAN 0 COUNT 1000", "~SCAN 0 MATCH foo* COUNT 1000",
        "~SCAN 0 COUNT 1000 TYPE string", "~SCAN 0 TYPE list COUNT 1000",
    ],
    # lists, and wrong types
    [
        "LPUSH l 1 2 3", "RPUSH l 4", "LRANGE l 0 -1", "LLEN l", "LLEN none", "LPOP l", "RPOP l",
        "LRANGE l 0 0", "LRANGE l -1 -1", "LRANGE l -100 100", "LRANGE l 5 10", "LRANGE l 1 0",
        "LRANGE l x 0", "LRANGE none 0 -1", "LPOP none", "RPOP none", "LPOP none 1", "LPOP l 0",
        "LPOP l -1", "LPOP l x", "LPOP l 1 1", "RPUSH l a b c d", "LPOP l 2", "RPOP l 100",
        "EXISTS l", "LLEN l", "RPUSH l 1", "GET l", "INCR l", "APPEND l x", "STRLEN l", "MGET l",
        "SET l 1 GET", "SETNX l 1", "GETDEL l", "LRANGE l 0 -1", "SET s 1", "LPUSH s 1",
        "LLEN s", "LPOP s", "LRANGE s 0 -1", "RPUSH s", "LPUSH", "SET l 1", "TYPE l",
    ],
    # hashes, and wrong types
    [
        "HSET h a 1 b 2", "HSET h a 3 c 4", "HGETALL h", "HKEYS h", "HVALS h", "HLEN h",
        "HGET h a", "HGET h none", "HGET none a", "HMGET h a none c", "HMGET none a b",
        "HEXISTS h a", "HEXISTS h x", "HEXISTS none x", "HSTRLEN h a", "HSTRLEN h x",
        "HSTRLEN none x", "HLEN none", "HGETALL none", "HKEYS none", "HVALS none", "TYPE h",
        "HSETNX h a 9", "HSETNX h d 9", "HSETNX new a 1", "HGETALL new", "HMSET h e 5 f 6",
        "HMSET h e", "HMSET h e 5 f", "HSET h", "HSET h a", "HSET h a 1 b", "HMSET h a 1 b",
        "HSET none2 a 1 b", "EXISTS none2", "HDEL h a x b", "HGETALL h", "HDEL none a",
        "HDEL new a", "EXISTS new", "HDEL h", "HSETNX h a", "HGET h", "HMGET h", "HEXISTS h",
        "HSTRLEN h", "HLEN", "HGETALL", "HKEYS", "HVALS", "HLEN h x",
        "HINCRBY h n 5", "HINCRBY h n -7", "HGET h n", "HSTRLEN h n", "HINCRBY h s x",
        "HSET h s abc", "HINCRBY h s 1", "HINCRBY h n 9223372036854775807",
        "HINCRBY h n 9223372036854775807", "HINCRBY h n", "HINCRBY h n 1.5",
        "HINCRBY new n -9223372036854775808", "HINCRBY new n -1", "HSET h n 007",
        "HINCRBY h n 1", "HSET h '' empty '' again", "HGETALL h", "HSET h v ''", "HGET h v",
        f"HSET hb big {BIG}", "HGET hb big", "HGETALL hb", "HMGET hb big big", "HSTRLEN hb big",
        "~HSCAN hb 0 COUNT 100", "HDEL hb big", "HSCAN h 0", "HSCAN h 0 COUNT 1", "HSCAN h 0 MATCH n*", "HSCAN h x",
        "HSCAN h ''",
        "HSCAN h 0 COUNT 0", "HSCAN h 0 COUNT x", "HSCAN h 0 TYPE hash", "HSCAN h 0 FOO",
        "HSCAN none 0", "HSCAN none 0 FOO", "HSCAN none x", "HSCAN h", "HSCAN h 0 MATCH",
        "HSCAN h 0 MATCH z* COUNT 5",
        "EXPIRE h 100", "#TTL h", "HSET h a 1", "#TTL h", "PERSIST h", "EXPIRE h -1", "HLEN h",
        "HSET h a 1", "GET h", "INCR h", "APPEND h x", "STRLEN h", "MGET h", "SET h 1 GET",
        "SETNX h 1", "GETDEL h", "LPUSH h 1", "LRANGE h 0 -1", "LPOP h", "LLEN h", "SET s 1",
        "HSET s a 1", "HMSET s a 1", "HSETNX s a 1", "HGET s a", "HMGET s a", "HDEL s a",
        "HLEN s", "HSTRLEN s a", "HEXISTS s a", "HGETALL s", "HKEYS s", "HVALS s",
        "HINCRBY s a 1", "HINCRBY s a x", "HSCAN s 0", "HSCAN s x", "HSCAN s 0 FOO",
        "HSET s a 1 b", "RPUSH l 1", "HGET l a", "SET h 1", "TYPE h", "GET h",
        "SET h 2 KEEPTTL", "HSET h2 a 1", "EXPIRE h2 100", "SET h2 1 KEEPTTL", "#TTL h2",
        "HSET many " + " ".join(f"f{i} {i}" for i in range(127)), "HSCAN many 0 COUNT 3",
        "HSET many x 1", "HGETALL many", "HSET many y 1", "HLEN many", "~HGETALL many",
        "~HKEYS many", "~HVALS many", "~HSCAN many 0 COUNT 10000", "HGET many f77",
        "HDEL many f77", "HGET many f77", "HINCRBY many x 5", "HGET many x",
        "HDEL many " + " ".join(f"f{i}" for i in range(127)), "~HGETALL many", "DEL many",
        "HLEN many", "MULTI", "HSET m a 1", "HGETALL m", "HGET m a", "HLEN s", "EXEC",
        "~SCAN 0 TYPE hash COUNT 1000",
    ],
    # transactions
    [
        "EXEC x", "MULTI", "SET a 1", "EXEC x", "EXEC", "WATCH a", "EXEC x", "SET a 2",
        "MULTI", "GET a", "EXEC", "EXEC", "DISCARD", "MULTI", "MULTI", "SET a 1", "INCR a", "GET a", "EXEC", "GET a",
        "MULTI", "SET a 9", "DISCARD", "GET a", "MULTI", "FOO", "SET a 2", "EXEC", "GET a",
        "MULTI", "SET a", "EXEC", "MULTI", "SET a x", "INCR a", "LPUSH a 1", "SET a 5", "EXEC",
        "WATCH", "WATCH a", "SET a 6", "MULTI", "GET a", "EXEC", "MULTI", "GET a", "EXEC",
        "WATCH a b", "UNWATCH", "SET a 7", "MULTI", "GET a", "EXEC", "WATCH a", "MULTI",
        "WATCH a", "UNWATCH", "EXEC", "WATCH none", "SET none 1", "DEL none", "MULTI", "PING",
        "EXEC", "MULTI", "EXEC", "MULTI a", "WATCH a", "EXPIRE a 100", "MULTI", "EXEC",
        "WATCH a", "FLUSHALL", "MULTI", "EXEC", "WATCH a", "FLUSHALL", "MULTI", "PING", "EXEC",
        "MULTI", "MSET a 1 b 2", "MGET a b", "DBSIZE", "FLUSHALL", "KEYS *", "DBSIZE", "SELECT 0",
        "ECHO x", "SELECT 7", "CLIENT GETNAME", "COMMAND FOO", "EXEC", "MULTI", "QUIT",
    ],
    # a password
    [
        "CONFIG SET requirepass p", "GET a", "RESET", "GET a", "EXEC", "EXEC x", "MULTI", "DISCARD",
        "AUTH p", "MULTI", "SET a 1", "RESET", "EXEC", "GET a", "AUTH x", "AUTH default p", "EXEC",
        "CONFIG SET requirepass ''", "RESET", "GET a",
    ],
    # the connection
    [
        "FOO", "FOO a b", f"FOO {BIG} b", "foo 'a\r\nb'", "GETT a", f"{BIG}", "SELECT 0", "SELECT 1",
        "SELECT x", "SELECT 2147483647", "SELECT 2147483648", "SELECT -2147483649",
        "SELECT 9223372036854775808", "SELECT", "AUTH x", "AUTH default x", "AUTH foo x", "AUTH", "AUTH a b c",
        "CLIENT", "CLIENT FOO", "CLIENT GETNAME", "CLIENT SETNAME me", "CLIENT GETNAME",
        "CLIENT SETNAME 'a b'", "CLIENT SETNAME", "CLIENT SETNAME ''", "CLIENT GETNAME",
        "CLIENT GETNAME x", "CLIENT ID x", "CLIENT LIST FOO", "CLIENT LIST TYPE foo",
        "CLIENT LIST ID x", "CLIENT LIST ID 99999999", "CONFIG", "CONFIG FOO", "CONFIG GET",
        "CONFIG GET maxmemory", "~CONFIG GET maxmemory-policy save appendonly",
        "CONFIG GET nothing", "CONFIG SET", "CONFIG SET maxmemory", "CONFIG SET maxmemory 1 x",
        "CONFIG SET maxmemory x", "CONFIG SET maxmemory 1gb", "CONFIG GET MAXMEMORY",
        "CONFIG SET maxmemory 0", "CONFIG SET maxmemory 1mb nothing 1",
        "CONFIG SET maxmemory 1mb databases 2", "CONFIG SET maxmemory 1mb maxclients x",
        "CONFIG SET maxmemory 1mb MaxMemory 2mb", "CONFIG SET nothing 1 databases 2",
        "CONFIG GET maxmemory", "CONFIG SET maxclients 0", "CONFIG SET maxclients -1",
        "CONFIG SET auto-aof-rewrite-percentage -1", "CONFIG SET auto-aof-rewrite-percentage x",
        "CONFIG SET auto-aof-rewrite-percentage 2147483648",
        "CONFIG SET auto-aof-rewrite-min-size -1", "CONFIG SET auto-aof-rewrite-min-size x",
        "CONFIG SET client-output-buffer-limit x", "CONFIG SET client-output-buffer-limit pubsub",
        "CONFIG SET client-output-buffer-limit 'pubsub 1mb 1kb'",
        "CONFIG SET client-output-buffer-limit 'foo 1mb 1kb 1'",
        "CONFIG SET client-output-buffer-limit 'pubsub x 1kb 1'",
        "CONFIG SET client-output-buffer-limit 'pubsub 1mb 1kb x'",
        "CONFIG GET client-output-buffer-limit",
        "CONFIG SET client-output-buffer-limit 'pubsub 1mb 1kb 1'",
        "CONFIG GET client-output-buffer-limit",
        "CONFIG SET client-output-buffer-limit 'pubsub 32mb 8mb 60'", "CONFIG SET nothing 1", "CONFIG SET databases 2", "COMMAND FOO",
        "COMMAND COUNT x", "HELLO x", "HELLO 4", "HELLO 1", "HELLO 3 FOO", "HELLO 2 SETNAME",
        "HELLO 2 AUTH x", "HELLO 2 AUTH foo bar", "HELLO 2 SETNAME 'a b'",
        "PING", "HELLO 3 SETNAME you AUTH default x FOO", "CLIENT GETNAME", "INFO nothing",
        "QUIT x y",
    ],
]

# Steps of three clients. "0 COMMAND": client 0 sends it, and reads one reply; "0": client 0
# reads one more, which it has not asked for. "~" as above.
CHANNELS = [
    [
        "0 UNSUBSCRIBE", "0 PUNSUBSCRIBE", "0 UNSUBSCRIBE x y", "0", "0 PUNSUBSCRIBE x",
        "0 SUBSCRIBE", "0 PSUBSCRIBE", "0 PUBLISH a", "0 PUBLISH a 1", "0 SUBSCRIBE a",
        "0 SUBSCRIBE a b", "0", "1 PUBLISH a hi", "0", f"1 PUBLISH a {BIG}", "0",
        "1 PUBLISH b ''", "0", "1 PUBLISH d no", "0 PSUBSCRIBE a* [bc] a*", "0", "0",
        "1 PUBLISH b 2", "0", "0", "2 PSUBSCRIBE *", "2 SUBSCRIBE b", "1 PUBLISH b 3", "0", "0",
        "2", "2", "1 PUBSUB CHANNELS x", "~1 PUBSUB CHANNELS", "1 PUBSUB CHANNELS a*",
        "1 PUBSUB NUMSUB", "1 PUBSUB NUMSUB a b c a", "1 PUBSUB NUMPAT", "1 PUBSUB",
        "1 PUBSUB FOO", "1 PUBSUB CHANNELS a b", "1 PUBSUB NUMPAT x",
        "0 UNSUBSCRIBE a x", "0", "1 PUBLISH a 4", "0", "2", "0 UNSUBSCRIBE",
        "0 PUNSUBSCRIBE a*", "1 PUBLISH a 5", "2", "0 PUNSUBSCRIBE [bc]", "0 GET x",
        "1 PUBLISH a 6", "2", "1 PUBSUB NUMPAT", "2 RESET", "1 PUBSUB NUMPAT", "1 PUBLISH a 7",
    ],
    # while there are subscriptions
    [
        "0 SUBSCRIBE a", "0 PING a b", "0 GET", "0 FOO", "0 FOO a b", "0 SUBSCRIBE", "0 ECHO",
        "0 RESET", "0 PING", "0 PSUBSCRIBE p", "0 PUNSUBSCRIBE p", "0 GET k", "0 SUBSCRIBE a",
        "0 QUIT",
    ],
    # transactions
    [
        "0 MULTI", "0 SUBSCRIBE a", "0 PING", "0 EXEC", "0 PING", "1 PUBLISH a 1", "0",
        "1 MULTI", "1 PUBLISH a 2", "1 PUBLISH x 2", "1 SET k 1", "1 PUBLISH a 3",
        "1 PUBSUB NUMSUB a", "1 EXEC", "0", "0", "2 MULTI", "2 PSUBSCRIBE a", "2 UNSUBSCRIBE q",
        "2 GET k", "2 PUNSUBSCRIBE", "2 EXEC", "1 MULTI", "1 SUBSCRIBE", "1 PUBLISH a 4",
        "1 EXEC", "1 PUBLISH a 5", "0", "1 MULTI", "1 PUBLISH a 6", "1 DISCARD",
        "1 PUBLISH a 7", "0", "1 MULTI", "1 RESET", "1 EXEC",
    ],
]

# The same in version 2: a client that has subscriptions may send few commands.
CHANNELS_2 = [
    [
        "0 SUBSCRIBE a", "0 PING", "0 PING hi", "0 ECHO x", "0 SET k 1", "0 GET k", "0 MULTI",
        "0 EXEC", "0 EXEC x", "0 CLIENT GETNAME", "0 CONFIG GET maxclients", "0 SELECT 0", "0 HELLO x", "0 HELLO 3",
        "0 DISCARD", "0 PUBLISH a 1", "0 UNSUBSCRIBE", "0 GET k", "0 PSUBSCRIBE p", "0 GET k",
        "0 PUNSUBSCRIBE p", "0 GET k",
    ],
]

# And in version 3: it may send any command.
CHANNELS_3 = [
    [
        "0 SUBSCRIBE a", "0 PUBLISH a 1", "0", "0 PSUBSCRIBE a", "0 PUBLISH a 2", "0", "0",
        "0 PING", "0 PING x", "0 GET k", "0 SET k 1", "0 MULTI", "0 SET k 2", "0 EXEC",
        "1 PUBLISH a 3", "0", "0", "0 UNSUBSCRIBE", "0 PUBLISH a 4", "0", "0 HELLO 3 FOO",
        "0 PUNSUBSCRIBE", "0 PUBLISH a 5",
    ],
]

# Requests that end a connection.
MALFORMED = [
    b"*x\r\n", b"*1x\r\n", b"*-x\r\n", b"*\r\n", b"*+1\r\n", b"* 1\r\n", b"*01\r\n",
    b"*2147483648\r\n", b"*99999999999999999999\r\n", b"*1\r\n:1\r\n", b"*1\r\nx\r\n",
    b"*1\r\n\r\n", b"*1\r\n$x\r\n", b"*1\r\n$-1\r\n", b"*1\r\n$\r\n", b"*1\r\n$-2\r\n",
    b"*1\r\n$536870913\r\n", b"*1\r\n$99999999999999999999\r\n", b"*1\r\n$ 4\r\nPING\r\n",
    b"*2\r\n$4\r\nECHO\r\n*1\r\n", b"SET a 'x\r\n", b'SET a "x\r\n', b'SET a "x"y\r\n',
    b"SET a 'x'y\r\n", b"PING\r\n*x\r\n", b"*1\r\n$4\r\nPING\r\n*1\r\n*1\r\n",
    b"*" + b"1" * 70000, b"*1\r\n$" + b"1" * 70000, b"x" * 70000,
]

# Odd requests after which the connection goes on.
ODD = [
    b"\r\n", b"\n", b"   \r\n", b"*0\r\n", b"*-1\r\n", b"*-5\r\n", b"PING\n", b"ping\r\n",
    b"  PING  \r\n", b"ECHO \"a\\x41\\n\\r\\t\\b\\a\\\\\\\"\\xzz\"\r\n", b"ECHO 'a\\'b\\n'\r\n",
    b"ECHO a\x0bb\x0c\r\n", b"\x0b ECHO\t\x0c 'a'\x0b\r\n", b"PING\x0b\r\n",
    b'ECHO ""\r\n', b"ECHO ''\r\n", b"ECHO a\tb\r\n", b'ECHO a"b c"\r\n',
    b"*1\r\n$4\r\nPINGxx", b"*1\r\n$4\r\nPING\n\n", b"*1\r\n$0\r\n\r\n",
    b"*2\r\n$4\r\nECHO\r\n$5\r\na\r\nbc\r\n", b"*2\r\n$4\r\nECHO\r\n$3\r\n\x00\xff\r\r\n",
    b"*1\rx$4\r\nPING\r\n", b"*3\r\n$3\r\nSET\r\n$0\r\n\r\n$0\r\n\r\nGET \"\"\r\n",
    b"PING\r\n" * 100, kv_wire.encode("PING") * 1000, kv_wire.encode("SET", "k", "v") * 100,
]
