/* Load on a queue by its own Node client: BullMQ on Redis, or Graphile Worker on PostgreSQL. One process adds, one takes
 * and finishes. Jobs and kinds of load are those of callers.c, and so is the line that is printed.
 *
 *     node clients.mjs bullmq|graphile WHERE HOW NUMBER     WHERE: the socket of Redis, or the database's URI
 *
 * PEERS_MODULES names the node_modules. Graphile Worker is tuned for many short jobs: a queue of its own in memory,
 * and completions in batches. */
import { fork } from "node:child_process";
import { createRequire } from "node:module";

const require = createRequire(`${process.env.PEERS_MODULES}/`);
const [peer, where, how, number] = process.argv.slice(2);
const isTaker = process.argv[6] === "taker";
const IN_FLIGHT = 32;
const BATCHES_IN_FLIGHT = 4;
const BATCH = 100;
const PICKUP_EVERY_MS = 10;

const now = () => Number(process.hrtime.bigint()) / 1e6;
const after = (ms) => new Promise((resolve) => setTimeout(resolve, ms));
const job = () => ({ at: now(), pad: "x".repeat(170) });
const quiet = { logger: new (require("graphile-worker").Logger)(() => () => {}) };

/* ---- Clients: to add is {one, many}; to take calls taken(job) and finished(), and gives what waits until all that
 * was called finished is so in the store ---- */

const clients = {
  bullmq: {
    async adder() {
      const { Queue } = require("bullmq");
      const queue = new Queue("jobs", { connection: { path: where }, defaultJobOptions: { removeOnComplete: true } });
      await queue.waitUntilReady();
      return {
        one: (data) => queue.add("job", data),
        many: (all) => queue.addBulk(all.map((data) => ({ name: "job", data }))),
      };
    },
    async take(taken, finished) {
      const { Worker } = require("bullmq");
      const connection = { path: where, maxRetriesPerRequest: null };
      const worker = new Worker("jobs", async ({ data }) => taken(data), { connection, concurrency: 64 });
      worker.on("completed", finished);
      await worker.waitUntilReady();
      return async () => {};
    },
  },
  graphile: {
    async adder() {
      const utils = await require("graphile-worker").makeWorkerUtils({ connectionString: where, maxPoolSize: 10, ...quiet });
      await utils.migrate();
      return {
        one: (data) => utils.addJob("job", data),
        many: (all) => utils.addJobs(all.map((payload) => ({ identifier: "job", payload }))),
      };
    },
    async take(taken, finished) {
      const { run } = require("graphile-worker");
      const worker = {
        connectionString: where, concurrentJobs: 24, maxPoolSize: 24, pollInterval: 2000,
        localQueue: { size: 500 }, completeJobBatchDelay: 0, failJobBatchDelay: 0,
      };
      const runner = await run({ preset: { worker }, noHandleSignals: true, taskList: { job: async (data) => taken(data) }, ...quiet });
      runner.events.on("job:complete", finished); // the row goes later, with its batch
      const pool = new (require("pg").Pool)({ connectionString: where, max: 1 });
      return async () => {
        while ((await pool.query("SELECT 1 FROM graphile_worker._private_jobs LIMIT 1")).rowCount > 0);
      };
    },
  },
};

/* ---- Who takes: tells its figures when so many are finished as were added ---- */

async function takeAll() {
  const waited = [];
  let count = 0;
  let wanted = Infinity;
  let first;
  let settle;
  const tell = async () => {
    if (count !== wanted) return;
    await settle();
    process.send({ count, seconds: (now() - first) / 1e3, waited: waited.sort((a, b) => a - b) });
  };
  process.on("message", (message) => {
    wanted = message.added;
    tell();
  });
  process.on("disconnect", () => process.exit(0));
  settle = await clients[peer].take((data) => {
    first ??= now();
    waited.push(now() - data.at);
  }, () => {
    count++;
    tell();
  });
  process.send("ready");
}

/* ---- Who adds ---- */

const heard = (child) => new Promise((resolve, reject) => {
  child.once("message", resolve);
  child.once("exit", () => reject(new Error("who takes has ended")));
});

async function begin() {
  const child = fork(process.argv[1], [peer, where, how, number, "taker"]);
  await heard(child);
  return child;
}

/* So many at once, until the time is over. */
async function addFor(seconds, inFlight, add) {
  const until = now() + seconds * 1e3;
  let added = 0;
  await Promise.all(Array.from({ length: inFlight }, async () => {
    while (now() < until) {
      const count = await add(); // others add to the sum meanwhile
      added += count;
    }
  }));
  return added;
}

async function addAll() {
  const adder = await clients[peer].adder();
  const one = () => adder.one(job()).then(() => 1);
  const many = () => adder.many(Array.from({ length: BATCH }, job)).then(() => BATCH);
  let child;
  let added = 0;
  if (how === "drain") {
    while (added < number) added += await many();
    child = await begin();
  } else {
    child = await begin();
    if (how === "live") added = await addFor(number, IN_FLIGHT, one);
    else if (how === "batches") added = await addFor(number, BATCHES_IN_FLIGHT, many);
    else {
      const begun = now();
      const calls = [];
      for (; added < number; added++) {
        await after(Math.max(0, begun + added * PICKUP_EVERY_MS - now()));
        calls.push(one());
      }
      await Promise.all(calls);
    }
  }
  child.send({ added });
  const { count, seconds, waited } = await heard(child);
  const at = (share) => waited[Math.floor(waited.length * share)].toFixed(3);
  console.log(`${count} ${seconds.toFixed(3)} ${at(0.5)} ${at(0.99)}`);
  process.exit(0);
}

await (isTaker ? takeAll() : addAll());
