// Calls a server with Node's client.

const assert = require("node:assert");
const redis = require("redis");

async function main(port) {
  const client = redis.createClient({ socket: { port, host: "127.0.0.1" } });
  await client.connect();
  await client.flushAll();
  assert.equal(await client.set("a", "1", { EX: 100 }), "OK");
  assert.equal(await client.incr("a"), 2);
  const ttl = await client.ttl("a");
  assert(ttl > 0 && ttl <= 100);
  assert.equal(await client.get("none"), null);
  assert.equal(await client.hSet("h", { x: "1", y: "2" }), 2);
  assert.deepEqual({ ...(await client.hGetAll("h")) }, { x: "1", y: "2" });
  assert.deepEqual(await client.mGet(["a", "none"]), ["2", null]);
  const keys = [];
  for await (const key of client.scanIterator({ COUNT: 1 })) keys.push(key);
  assert.deepEqual(keys.sort(), ["a", "h"]);
  await client.watch("a");
  assert.deepEqual(await client.multi().incr("a").hLen("h").exec(), [3, 2]);
  // Calls that are made together go in one pipeline.
  const replies = await Promise.all([0, 1, 2].map((n) => client.set(`p${n}`, `${n}`)));
  assert.deepEqual(replies, ["OK", "OK", "OK"]);
  assert.equal(await client.dbSize(), 5);
  assert.match(await client.info(), /role:master/);
  assert.deepEqual({ ...(await client.configGet("save")) }, { save: "" });
  await assert.rejects(client.lPush("l", "x"), /unknown command/);
  await client.disconnect();
}

main(Number(process.argv[2])).catch((error) => {
  console.error(error);
  process.exit(1);
});
