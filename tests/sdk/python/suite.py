"""Conductor's Python SDK, unmodified, against a server: one function a case.

    python suite.py URL

Prints `pass CASE` or `fail CASE: why` for each. The workers run in the SDK's own runtime, in processes of their own,
begun once for all cases; the cases run side by side, since most of them wait.
"""
import concurrent.futures
import json
import sys
import time
import traceback
import urllib.request

from conductor.client.automator.task_handler import TaskHandler
from conductor.client.configuration.configuration import Configuration
from conductor.client.context.task_context import TaskInProgress
from conductor.client.http.models import StartWorkflowRequest, TaskDef, TaskResult, WorkflowDef, WorkflowTask
from conductor.client.http.models.task_result_status import TaskResultStatus
from conductor.client.orkes_clients import OrkesClients
from conductor.client.worker.exception import NonRetryableException
from conductor.client.worker.worker_task import worker_task

URL = sys.argv[1] if len(sys.argv) > 1 else None  # none in the workers' processes, which import this file
LEASE_S = 5
WORK_S = 16  # of a task whose lease is LEASE_S
DEADLINE_S = 90


# ---- Workers ----


@worker_task(task_definition_name="greet")
def greet(name: str) -> str:
    return f"Hello {name}"


@worker_task(task_definition_name="ask")
async def ask(name: str) -> str:
    return f"How are you, {name}?"


@worker_task(task_definition_name="add", thread_count=10)
def add(n: int) -> dict:
    return {"sum": n + 1}


@worker_task(task_definition_name="flaky")
def flaky(task) -> TaskResult:
    result = task.to_task_result(TaskResultStatus.COMPLETED)
    if task.retry_count < 1:
        raise RuntimeError("no luck at first")
    result.add_output_data("tries", task.retry_count + 1)
    return result


@worker_task(task_definition_name="never")
def never() -> str:
    raise NonRetryableException("this will not get better")


@worker_task(task_definition_name="later")
def later(task):
    if task.poll_count < 2:
        return TaskInProgress(callback_after_seconds=1, output={"seen": task.poll_count})
    return {"polls": task.poll_count}


@worker_task(task_definition_name="long", lease_extend_enabled=True)
def long_work() -> str:
    time.sleep(WORK_S)  # this is the work
    return "done"


# ---- Helpers ----


def raw(verb, path, body=None):
    """Pawl's own interface, for what the SDK has no word for."""
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(URL + path, data=data, method=verb)
    with urllib.request.urlopen(request, timeout=20) as answer:
        text = answer.read()
        return json.loads(text) if text else None


def await_state(get, wanted):
    until = time.monotonic() + DEADLINE_S
    while (state := get()) != wanted:
        assert time.monotonic() < until, f"{state}, not {wanted}"
        time.sleep(0.05)  # between two looks


def clients():
    return OrkesClients(Configuration(server_api_url=URL + "/api"))


def workflows():
    return clients().get_workflow_client()


def define(name, task):
    """Registers a workflow of one task, by the SDK's metadata client."""
    inputs = {key: f"${{workflow.input.{key}}}" for key in ("name", "n")}
    definition = WorkflowDef(
        name=name, version=1, output_parameters={"result": f"${{{task}_ref.output.result}}"},
        tasks=[WorkflowTask(name=task, task_reference_name=f"{task}_ref", input_parameters=inputs)])
    clients().get_metadata_client().register_workflow_def(definition, overwrite=True)


def define_task(name, **more):
    clients().get_metadata_client().register_task_def(TaskDef(name=name, retry_delay_seconds=0, **more))


def start(workflow, correlation_id=None, **data):
    return workflows().start_workflow(
        StartWorkflowRequest(name=workflow, version=1, input=data, correlation_id=correlation_id))


def ended(workflow_id, wanted="COMPLETED"):
    client = workflows()
    await_state(lambda: client.get_workflow(workflow_id).status, wanted)
    return client.get_workflow(workflow_id, include_tasks=True)


# ---- Cases ----


def standalone():
    ids = [raw("POST", "/v1/tasks", {"queue": "greet", "input": {"name": name}})["id"] for name in ("Ann", "Bob")]
    for task_id in ids:
        await_state(lambda: raw("GET", f"/v1/tasks/{task_id}")["state"], "COMPLETED")
    results = [raw("GET", f"/v1/tasks/{task_id}")["result"] for task_id in ids]
    assert results == [{"result": "Hello Ann"}, {"result": "Hello Bob"}], results


def registered():
    client = clients().get_metadata_client()
    define_task("registered", retry_count=7, response_timeout_seconds=60, timeout_seconds=120)
    define("registered", "registered")
    task = client.get_task_def("registered")
    task = task if isinstance(task, dict) else task.to_dict()
    assert (task.get("retryCount", task.get("retry_count"))) == 7, task
    workflow = client.get_workflow_def("registered")
    assert (workflow.version, workflow.tasks[0].task_reference_name) == (1, "registered_ref"), workflow
    assert "registered" in [definition.name for definition in client.get_all_workflow_defs()]


def executed():
    define("executed", "greet")
    request = StartWorkflowRequest(name="executed", version=1, input={"name": "Ann"})
    run = workflows().execute_workflow(start_workflow_request=request, wait_for_seconds=60)
    assert (run.status, run.output) == ("COMPLETED", {"result": "Hello Ann"}), run


def retried():
    define_task("flaky", retry_count=3)
    define("retried", "flaky")
    workflow = ended(start("retried"))
    assert [task.status for task in workflow.tasks] == ["FAILED", "COMPLETED"]
    assert "no luck" in workflow.tasks[0].reason_for_incompletion
    assert workflow.tasks[1].output_data == {"tries": 2}
    assert workflow.tasks[1].retried_task_id == workflow.tasks[0].task_id


def terminal():
    define_task("never", retry_count=3)
    define("terminal", "never")
    workflow = ended(start("terminal"), "FAILED")
    assert [task.status for task in workflow.tasks] == ["FAILED_WITH_TERMINAL_ERROR"]
    assert "not get better" in workflow.reason_for_incompletion


def callback():
    define("callback", "later")
    workflow = ended(start("callback"))
    assert len(workflow.tasks) == 1
    assert workflow.tasks[0].output_data == {"polls": 2}, workflow.tasks[0].output_data


def asynchronous():
    define("asynchronous", "ask")
    assert ended(start("asynchronous", name="Ann")).output == {"result": "How are you, Ann?"}


def extended():
    define_task("long", response_timeout_seconds=LEASE_S, timeout_seconds=60, retry_count=0)
    define("extended", "long")
    workflow = ended(start("extended"))
    assert [task.status for task in workflow.tasks] == ["COMPLETED"]
    took_ms = workflow.tasks[0].end_time - workflow.tasks[0].start_time
    assert took_ms >= 3 * LEASE_S * 1000, took_ms


def searched():
    define("searched", "nobody_works_this")
    client = workflows()
    ids = [start("searched", correlation_id=f"order-{n}") for n in range(3)]
    client.terminate_workflow(ids[1], reason="enough")
    found = client.search(query="workflowType='searched' AND status IN (RUNNING)")
    assert {hit.workflow_id for hit in found.results} == {ids[0], ids[2]} and len(found.results) == 2, found
    found = client.search(query="workflowType='searched' AND correlationId='order-1'")
    assert [(hit.workflow_id, hit.status) for hit in found.results] == [(ids[1], "TERMINATED")], found
    found = client.search(query="workflowType='searched'", start=2, size=10)
    assert len(found.results) == 1, found


def operated():
    define("operated", "nobody_works_this")
    client = workflows()
    workflow_id = start("operated")

    def status():
        return client.get_workflow(workflow_id).status

    client.pause_workflow(workflow_id)
    assert status() == "PAUSED"
    client.resume_workflow(workflow_id)
    assert status() == "RUNNING"
    client.terminate_workflow(workflow_id, reason="enough")
    workflow = client.get_workflow(workflow_id)
    assert (workflow.status, workflow.reason_for_incompletion) == ("TERMINATED", "enough")
    client.retry_workflow(workflow_id)
    assert status() == "RUNNING"
    client.terminate_workflow(workflow_id)
    client.restart_workflow(workflow_id)
    assert status() == "RUNNING"
    client.delete_workflow(workflow_id, archive_workflow=False)
    try:
        client.get_workflow(workflow_id)
    except Exception as error:  # what the SDK raises for a 404
        assert workflow_id in str(error), error
    else:
        raise AssertionError("a removed workflow is still there")


def many():
    tasks = [{"queue": "add", "input": {"n": n}} for n in range(1000)]
    ids = [task["id"] for task in raw("POST", "/v1/tasks/batch", {"tasks": tasks})["tasks"]]
    for n, task_id in enumerate(ids):
        await_state(lambda: raw("GET", f"/v1/tasks/{task_id}")["state"], "COMPLETED")
        task = raw("GET", f"/v1/tasks/{task_id}")
        assert (task["result"], task["epoch"]) == ({"sum": n + 1}, 1), task


CASES = (standalone, registered, executed, retried, terminal, callback, asynchronous, extended, searched, operated,
         many)


def tell(name, error):
    if error is None:
        print(f"pass {name}")
        return
    at = traceback.extract_tb(error.__traceback__)[-1]
    why = " ".join(f"{type(error).__name__}: {error}".split())
    print(f"fail {name}: suite.py:{at.lineno}: {why}")


def main():
    config = Configuration(server_api_url=URL + "/api")
    with TaskHandler(configuration=config, scan_for_annotated_workers=True) as workers:
        workers.start_processes()
        with concurrent.futures.ThreadPoolExecutor(len(CASES)) as pool:
            running = [(case.__name__, pool.submit(case)) for case in CASES]
            for name, future in running:
                tell(name, future.exception())


if __name__ == "__main__":
    main()
