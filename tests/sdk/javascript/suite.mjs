/* Conductor's JavaScript SDK, unmodified, against a server: one function a case.
 *
 *     node suite.mjs URL
 *
 * Prints `pass CASE` or `fail CASE: why` for each. The SDK's workers are begun once for all cases, and the cases run
 * side by side. */
import { createRequire } from "node:module";
import { randomUUID } from "node:crypto";

const require = createRequire(`${process.env.PAWL_SDK_MODULES}/`);
const { MetadataClient, NonRetryableException, TaskManager, WorkflowExecutor, orkesConductorClient } =
  require("@io-orkes/conductor-javascript");

const URL = process.argv[2];
const DEADLINE_MS = 90_000;
const LEASE_S = 5;
const WORK_MS = 12_000; // of a task whose lease is LEASE_S
const quiet = { debug() {}, info() {}, warn() {}, error() {} };

/* ---- Workers ---- */

const after = (ms) => new Promise((resolve) => setTimeout(resolve, ms));
const done = (outputData) => ({ status: "COMPLETED", outputData });

const workers = [
  { taskDefName: "greet", execute: async (task) => done({ result: `Hello ${task.inputData.name}` }) },
  { taskDefName: "add", concurrency: 10, execute: async (task) => done({ sum: task.inputData.n + 1 }) },
  {
    taskDefName: "flaky",
    execute: async (task) => {
      if (task.retryCount < 1) throw new Error("no luck at first");
      return done({ tries: task.retryCount + 1 });
    },
  },
  { taskDefName: "never", execute: async () => { throw new NonRetryableException("this will not get better"); } },
  {
    taskDefName: "later",
    execute: async (task) => task.pollCount < 2
      ? { status: "IN_PROGRESS", callbackAfterSeconds: 1, outputData: { seen: task.pollCount } }
      : done({ polls: task.pollCount }),
  },
  {
    taskDefName: "long",
    leaseExtendEnabled: true,
    execute: async () => { await after(WORK_MS); /* this is the work */ return done({ result: "done" }); },
  },
];

/* ---- Helpers ---- */

function check(holds, shown) {
  if (!holds) throw new Error(JSON.stringify(shown));
}

async function raw(verb, path, body) {
  const headers = body === undefined ? {} : { "Content-Type": "application/json" };
  const answer = await fetch(URL + path, { method: verb, headers, body: JSON.stringify(body) });
  check(answer.ok, answer.status);
  return answer.json();
}

async function awaitState(get, wanted) {
  const until = Date.now() + DEADLINE_MS;
  for (;;) {
    const state = await get();
    if (state === wanted) return;
    if (Date.now() > until) throw new Error(`${state}, not ${wanted}`);
    await after(50); // between two looks
  }
}

const client = await orkesConductorClient({ serverUrl: URL }, undefined, quiet);
const executor = new WorkflowExecutor(client);
const metadata = new MetadataClient(client);

const define = (name, task) => executor.registerWorkflow(true, {
  name, version: 1, schemaVersion: 2, timeoutSeconds: 0, outputParameters: { result: `\${${task}_ref.output.result}` },
  tasks: [{ name: task, taskReferenceName: `${task}_ref`, type: "SIMPLE",
    inputParameters: { name: "${workflow.input.name}" } }],
});
const defineTask = (name, more) =>
  metadata.registerTask({ name, timeoutSeconds: 3600, totalTimeoutSeconds: 0, retryDelaySeconds: 0, ...more });
const start = (name, more = {}) => executor.startWorkflow({ name, version: 1, input: {}, ...more });
const statusOf = async (id) => (await executor.getWorkflow(id, false)).status;

async function ended(id, wanted = "COMPLETED") {
  await awaitState(() => statusOf(id), wanted);
  return executor.getWorkflow(id, true);
}

/* ---- Cases ---- */

const cases = {
  async executed() {
    await define("executed", "greet");
    const run = await executor.executeWorkflow({ name: "executed", version: 1, input: { name: "Ann" } }, "executed", 1,
      randomUUID(), "", 60, "DURABLE", "TARGET_WORKFLOW");
    check(run.status === "COMPLETED" && run.output.result === "Hello Ann", run);
  },
  async registered() {
    await defineTask("registered", { retryCount: 7 });
    await define("registered", "registered");
    check((await metadata.getTask("registered")).retryCount === 7, await metadata.getTask("registered"));
    const workflow = await metadata.getWorkflowDef("registered", 1);
    check(workflow.tasks[0].taskReferenceName === "registered_ref", workflow);
  },
  async retried() {
    await defineTask("flaky", { retryCount: 3 });
    await define("retried", "flaky");
    const { tasks } = await ended(await start("retried"));
    check(tasks.map((task) => task.status).join() === "FAILED,COMPLETED", tasks);
    check(tasks[0].reasonForIncompletion.includes("no luck") && tasks[1].outputData.tries === 2, tasks);
  },
  async terminal() {
    await defineTask("never", { retryCount: 3 });
    await define("terminal", "never");
    const workflow = await ended(await start("terminal"), "FAILED");
    check(workflow.tasks.map((task) => task.status).join() === "FAILED_WITH_TERMINAL_ERROR", workflow.tasks);
  },
  async callback() {
    await define("callback", "later");
    const { tasks } = await ended(await start("callback"));
    check(tasks.length === 1 && tasks[0].outputData.polls === 2, tasks);
  },
  async extended() {
    await defineTask("long", { responseTimeoutSeconds: LEASE_S, retryCount: 0 });
    await define("extended", "long");
    const { tasks } = await ended(await start("extended"));
    check(tasks.map((task) => task.status).join() === "COMPLETED", tasks);
    check(tasks[0].endTime - tasks[0].startTime >= 2 * LEASE_S * 1000, tasks);
  },
  async searched() {
    await define("searched", "nobody_works_this");
    const ids = [];
    for (const n of [0, 1, 2]) ids.push(await start("searched", { correlationId: `order-${n}` }));
    await executor.terminate(ids[1], "enough");
    const running = await executor.search(0, 10, "workflowType='searched' AND status IN (RUNNING)", "*");
    check(running.totalHits === 2, running);
    const one = await executor.search(0, 10, "workflowType='searched' AND correlationId='order-1'", "*");
    check(one.results.length === 1 && one.results[0].workflowId === ids[1], one);
  },
  async operated() {
    await define("operated", "nobody_works_this");
    const id = await start("operated");
    await executor.pause(id);
    check(await statusOf(id) === "PAUSED", "pause");
    await executor.resume(id);
    check(await statusOf(id) === "RUNNING", "resume");
    await executor.terminate(id, "enough");
    const workflow = await executor.getWorkflow(id, false);
    check(workflow.status === "TERMINATED" && workflow.reasonForIncompletion === "enough", workflow);
    await executor.retry(id, false);
    check(await statusOf(id) === "RUNNING", "retry");
    await executor.terminate(id, "again");
    await executor.restart(id, false);
    check(await statusOf(id) === "RUNNING", "restart");
    await executor.deleteWorkflow(id, false);
    const answer = await fetch(`${URL}/api/workflow/${id}`);
    check(answer.status === 404, answer.status);
  },
  async many() {
    const wanted = Array.from({ length: 1000 }, (_, n) => ({ queue: "add", input: { n } }));
    const { tasks } = await raw("POST", "/v1/tasks/batch", { tasks: wanted });
    for (const [n, { id }] of tasks.entries()) {
      await awaitState(async () => (await raw("GET", `/v1/tasks/${id}`)).state, "COMPLETED");
      const task = await raw("GET", `/v1/tasks/${id}`);
      check(task.result.sum === n + 1 && task.epoch === 1, task);
    }
  },
};

const manager = new TaskManager(client, workers, { logger: quiet });
manager.startPolling();
const names = Object.keys(cases);
const ends = await Promise.allSettled(names.map((name) => cases[name]()));
ends.forEach(({ reason }, i) => {
  const why = String(reason?.stack ?? JSON.stringify(reason)).replaceAll(/\s+/g, " ").slice(0, 400);
  console.log(ends[i].status === "fulfilled" ? `pass ${names[i]}` : `fail ${names[i]}: ${why}`);
});
await manager.stopPolling();
process.exit(0);
