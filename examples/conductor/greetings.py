"""A worker and a workflow of Conductor's Python SDK, as they run against `pawl server`.

    pip install conductor-python
    pawl server &
    CONDUCTOR_SERVER_URL=http://localhost:8080/api python greetings.py
"""
from conductor.client.automator.task_handler import TaskHandler
from conductor.client.configuration.configuration import Configuration
from conductor.client.worker.worker_task import worker_task
from conductor.client.workflow.conductor_workflow import ConductorWorkflow
from conductor.client.workflow.executor.workflow_executor import WorkflowExecutor


@worker_task(task_definition_name="greet")
def greet(name: str) -> str:
    return f"Hello {name}"


def main():
    config = Configuration()
    executor = WorkflowExecutor(configuration=config)

    workflow = ConductorWorkflow(name="greetings", version=1, executor=executor)
    task = greet(task_ref_name="greet_ref", name=workflow.input("name"))
    workflow >> task
    workflow.output_parameters({"result": task.output("result")})
    workflow.register(overwrite=True)

    with TaskHandler(configuration=config, scan_for_annotated_workers=True) as workers:
        workers.start_processes()
        run = executor.execute(name="greetings", version=1, workflow_input={"name": "Conductor"}, wait_for_seconds=60)
        print(f"{run.status}: {run.output.get('result')}")


if __name__ == "__main__":
    main()
