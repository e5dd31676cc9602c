<?php
// Calls a server with PHP's client.

function check($found, $expected)
{
    if ($found !== $expected) {
        fwrite(STDERR, var_export($found, true) . " instead of " . var_export($expected, true) . "\n");
        exit(1);
    }
}

$client = new Redis();
$client->connect("127.0.0.1", (int) $argv[1]);
$client->flushAll();
check($client->set("a", "1", ["ex" => 100]), true);
check($client->incr("a"), 2);
$ttl = $client->ttl("a");
check($ttl > 0 && $ttl <= 100, true);
check($client->get("none"), false);
check($client->hMSet("h", ["x" => "1", "y" => "2"]), true);
check($client->hGetAll("h"), ["x" => "1", "y" => "2"]);
check($client->mGet(["a", "none"]), ["2", false]);
$client->setOption(Redis::OPT_SCAN, Redis::SCAN_RETRY);
$keys = [];
$cursor = null;
while (($some = $client->scan($cursor, null, 1)) !== false) {
    $keys = array_merge($keys, $some);
}
sort($keys);
check($keys, ["a", "h"]);
$client->watch("a");
check($client->multi()->incr("a")->hLen("h")->exec(), [3, 2]);
$pipe = $client->multi(Redis::PIPELINE);
for ($n = 0; $n < 3; $n++) {
    $pipe->set("p$n", $n);
}
check($pipe->exec(), [true, true, true]);
check($client->dbSize(), 5);
check($client->info()["role"], "master");
check($client->config("GET", "save"), ["save" => ""]);
check($client->lPush("l", "x"), false);
check(str_contains($client->getLastError(), "unknown command"), true);
