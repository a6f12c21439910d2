/* Conductor's Java SDK, unmodified, against a server: one method a case.
 *
 *     java -cp 'JARS/*' Suite.java URL
 *
 * Prints `pass CASE` or `fail CASE: why` for each. The SDK's workers are begun once for all cases, and the cases run
 * side by side, since most of them wait. */
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.netflix.conductor.client.automator.TaskRunnerConfigurer;
import com.netflix.conductor.client.events.taskrunner.PollStarted;
import com.netflix.conductor.client.exception.ConductorClientException;
import com.netflix.conductor.client.http.ConductorClient;
import com.netflix.conductor.client.http.MetadataClient;
import com.netflix.conductor.client.http.TaskClient;
import com.netflix.conductor.client.http.WorkflowClient;
import com.netflix.conductor.client.worker.Worker;
import com.netflix.conductor.common.metadata.tasks.Task;
import com.netflix.conductor.common.metadata.tasks.TaskDef;
import com.netflix.conductor.common.metadata.tasks.TaskResult;
import com.netflix.conductor.common.metadata.workflow.StartWorkflowRequest;
import com.netflix.conductor.common.run.Workflow;
import com.netflix.conductor.sdk.workflow.def.WorkflowBuilder;
import com.netflix.conductor.sdk.workflow.def.tasks.ForkJoin;
import com.netflix.conductor.sdk.workflow.def.tasks.SetVariable;
import com.netflix.conductor.sdk.workflow.def.tasks.SimpleTask;
import com.netflix.conductor.sdk.workflow.def.tasks.Switch;
import com.netflix.conductor.sdk.workflow.def.tasks.Terminate;
import com.netflix.conductor.sdk.workflow.def.tasks.Wait;
import com.netflix.conductor.sdk.workflow.executor.WorkflowExecutor;
import com.netflix.conductor.sdk.workflow.executor.task.AnnotatedWorkerExecutor;
import com.netflix.conductor.sdk.workflow.executor.task.NonRetryableException;
import com.netflix.conductor.sdk.workflow.task.InputParam;
import com.netflix.conductor.sdk.workflow.task.WorkerTask;

import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.Callable;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.function.Function;
import java.util.stream.Collectors;
import java.util.stream.IntStream;

public class Suite {
    static final int LEASE_S = 5;
    static final int WORK_MS = 12_000; // of a task whose lease is LEASE_S
    static final int DEADLINE_S = 90;

    final String url;
    final TaskClient tasks;
    final WorkflowClient workflows;
    final MetadataClient definitions;
    final WorkflowExecutor executor;
    final HttpClient http = HttpClient.newHttpClient();
    final ObjectMapper json = new ObjectMapper();

    /* ---- Workers ---- */

    public static class Annotated {
        @WorkerTask("greet")
        public String greet(@InputParam("name") String name) {
            return "Hello " + name;
        }

        @WorkerTask("never")
        public String never() {
            throw new NonRetryableException("this will not get better");
        }
    }

    static TaskResult done(Task task, String key, Object value) {
        TaskResult result = new TaskResult(task);
        result.setStatus(TaskResult.Status.COMPLETED);
        return result.addOutputData(key, value);
    }

    static TaskResult add(Task task) {
        return done(task, "sum", (Integer) task.getInputData().get("n") + 1);
    }

    static TaskResult flaky(Task task) {
        if (task.getRetryCount() < 1) throw new IllegalStateException("no luck at first");
        return done(task, "tries", task.getRetryCount() + 1);
    }

    static TaskResult later(Task task) {
        if (task.getPollCount() >= 2) return done(task, "polls", task.getPollCount());
        TaskResult result = new TaskResult(task);
        result.setStatus(TaskResult.Status.IN_PROGRESS);
        result.setCallbackAfterSeconds(1);
        return result.addOutputData("seen", task.getPollCount());
    }

    static TaskResult work(Task task) {
        try {
            Thread.sleep(WORK_MS); // this is the work
        } catch (InterruptedException e) {
            throw new IllegalStateException(e);
        }
        return done(task, "polls", task.getPollCount());
    }

    static Worker worker(String type, boolean heartbeats, Function<Task, TaskResult> does) {
        return new Worker() {
            @Override public String getTaskDefName() { return type; }
            @Override public TaskResult execute(Task task) { return does.apply(task); }
            @Override public int getPollingInterval() { return 20; }
            @Override public boolean leaseExtendEnabled() { return heartbeats; }
        };
    }

    void startWorkers() throws Exception {
        new AnnotatedWorkerExecutor(tasks, 20).initWorkersFromInstances(List.of(new Annotated()));
        new TaskRunnerConfigurer.Builder(tasks, List.of(worker("flaky", false, Suite::flaky),
                worker("later", false, Suite::later), worker("long", true, Suite::work))).withThreadCount(2).build().init();
        // Its updates bring the next task; the SDK looks at the property when a worker begins.
        System.setProperty("taskUpdateV2", "true");
        CountDownLatch begun = new CountDownLatch(1);
        new TaskRunnerConfigurer.Builder(tasks, List.of(worker("add", false, Suite::add))).withThreadCount(10)
                .withListener(PollStarted.class, poll -> begun.countDown()).build().init();
        check(begun.await(DEADLINE_S, TimeUnit.SECONDS), "no poll");
        System.clearProperty("taskUpdateV2");
    }

    /* ---- Helpers ---- */

    Suite(String url) {
        ConductorClient client = new ConductorClient(url + "/api");
        this.url = url;
        tasks = new TaskClient(client);
        workflows = new WorkflowClient(client);
        definitions = new MetadataClient(client);
        executor = new WorkflowExecutor(client, 20);
    }

    static void check(boolean holds, Object shown) {
        if (!holds) throw new AssertionError(shown);
    }

    static void checkEquals(Object wanted, Object got) {
        check(wanted.equals(got), got + ", not " + wanted);
    }

    /* Pawl's own interface, for what the SDK has no word for. */
    JsonNode raw(String verb, String path, Object body) throws Exception {
        HttpRequest request = HttpRequest.newBuilder(URI.create(url + path))
                .method(verb, HttpRequest.BodyPublishers.ofString(json.writeValueAsString(body))).build();
        HttpResponse<String> answer = http.send(request, HttpResponse.BodyHandlers.ofString());
        check(answer.statusCode() / 100 == 2, answer.statusCode());
        return json.readTree(answer.body());
    }

    List<String> addTasks(String queue, List<Map<String, ?>> inputs) throws Exception {
        List<?> wanted = inputs.stream().map(input -> Map.of("queue", queue, "input", input)).toList();
        return raw("POST", "/v1/tasks/batch", Map.of("tasks", wanted)).get("tasks").findValuesAsText("id");
    }

    static <T> void await(Callable<T> get, T wanted) throws Exception {
        long until = System.nanoTime() + TimeUnit.SECONDS.toNanos(DEADLINE_S);
        for (;;) {
            T got = get.call();
            if (wanted.equals(got)) return;
            check(System.nanoTime() < until, got + ", not " + wanted);
            Thread.sleep(50); // between two looks
        }
    }

    JsonNode awaitTask(String id) throws Exception {
        await(() -> raw("GET", "/v1/tasks/" + id, null).get("state").asText(), "COMPLETED");
        return raw("GET", "/v1/tasks/" + id, null);
    }

    TaskDef task(String name, int retries, int responseTimeout) {
        TaskDef task = new TaskDef(name);
        task.setRetryCount(retries);
        task.setRetryDelaySeconds(0);
        task.setResponseTimeoutSeconds(responseTimeout);
        task.setTimeoutSeconds(3600);
        return task;
    }

    static SimpleTask simple(String task, String reference) {
        return new SimpleTask(task, reference).input("name", "${workflow.input.name}");
    }

    /* A workflow of one task, whose definition the SDK registers too if it is missing. */
    void define(String name, String task) throws Exception {
        boolean registered = new WorkflowBuilder<Map<String, Object>>(executor).name(name).version(1)
                .add(simple(task, task + "_ref")).output("result", "${" + task + "_ref.output.result}").build()
                .registerWorkflow(true, true);
        check(registered, name);
    }

    static StartWorkflowRequest request(String name) {
        return new StartWorkflowRequest().withName(name).withVersion(1).withInput(Map.of("name", "Ann"));
    }

    String start(String name) {
        return workflows.startWorkflow(request(name));
    }

    Workflow ended(String id, Workflow.WorkflowStatus wanted) throws Exception {
        await(() -> workflows.getWorkflow(id, false).getStatus(), wanted);
        return workflows.getWorkflow(id, true);
    }

    static void checkTries(Workflow workflow, Task.Status... wanted) {
        checkEquals(List.of(wanted), workflow.getTasks().stream().map(Task::getStatus).toList());
    }

    Set<String> search(int start, String query) {
        return workflows.search(start, 10, null, "*", query).getResults().stream()
                .map(hit -> hit.getWorkflowId() + " " + hit.getStatus()).collect(Collectors.toSet());
    }

    /* ---- Cases ---- */

    void standalone() throws Exception {
        List<String> ids = addTasks("greet", List.of(Map.of("name", "Ann"), Map.of("name", "Bob")));
        checkEquals("Hello Ann", awaitTask(ids.get(0)).at("/result/result").asText());
        checkEquals("Hello Bob", awaitTask(ids.get(1)).at("/result/result").asText());
    }

    void registered() throws Exception {
        definitions.registerTaskDefs(List.of(task("registered", 7, 60)));
        TaskDef task = definitions.getTaskDef("registered");
        check(task.getRetryCount() == 7 && task.getResponseTimeoutSeconds() == 60, task);
        define("registered", "registered");
        checkEquals("registered_ref",
                definitions.getWorkflowDef("registered", 1).getTasks().get(0).getTaskReferenceName());
        definitions.unregisterWorkflowDef("registered", 1);
        checkEquals(404, refused(() -> definitions.getWorkflowDef("registered", 1)));
    }

    static int refused(Callable<?> call) throws Exception {
        try {
            throw new AssertionError(call.call());
        } catch (ConductorClientException e) {
            return e.getStatus();
        }
    }

    void executed() throws Exception {
        define("executed", "greet");
        var run = workflows.executeWorkflow(request("executed"), "", 60).get(DEADLINE_S, TimeUnit.SECONDS);
        checkEquals(Workflow.WorkflowStatus.COMPLETED, run.getStatus());
        checkEquals(Map.of("result", "Hello Ann"), run.getOutput());
    }

    void composed() throws Exception {
        var both = new ForkJoin("both", new com.netflix.conductor.sdk.workflow.def.tasks.Task<?>[] {simple("greet", "one")},
                new com.netflix.conductor.sdk.workflow.def.tasks.Task<?>[] {new SimpleTask("greet", "two").input("name", "Bob")});
        var which = new Switch("which", "${workflow.input.name}")
                .switchCase("Ann", new SetVariable("keep").input("chosen", "${one.output.result}"))
                .defaultCase(new Terminate("stop", "nobody"));
        Workflow workflow = new WorkflowBuilder<Map<String, Object>>(executor).name("composed").version(1).add(both, which)
                .output("chosen", "${workflow.variables.chosen}").output("other", "${two.output.result}").build()
                .executeDynamic(Map.of("name", "Ann")).get(DEADLINE_S, TimeUnit.SECONDS);
        checkEquals(Workflow.WorkflowStatus.COMPLETED, workflow.getStatus());
        checkEquals(Map.of("chosen", "Hello Ann", "other", "Hello Bob"), workflow.getOutput());
    }

    void signalled() throws Exception {
        new WorkflowBuilder<Map<String, Object>>(executor).name("signalled").version(1)
                .add(new Wait("first"), new Wait("second")).output("by", "${second.output.by}").build()
                .registerWorkflow(true);
        String id = start("signalled");
        tasks.updateTask(id, "first", TaskResult.Status.COMPLETED, Map.of("by", "reference"));
        tasks.signalAsync(id, Task.Status.COMPLETED, Map.of("by", "signal"));
        checkEquals(Map.of("by", "signal"), ended(id, Workflow.WorkflowStatus.COMPLETED).getOutput());
    }

    void retried() throws Exception {
        definitions.registerTaskDefs(List.of(task("flaky", 3, 3600)));
        define("retried", "flaky");
        Workflow workflow = ended(start("retried"), Workflow.WorkflowStatus.COMPLETED);
        checkTries(workflow, Task.Status.FAILED, Task.Status.COMPLETED);
        Task first = workflow.getTasks().get(0);
        Task second = workflow.getTasks().get(1);
        check(first.getReasonForIncompletion().contains("no luck"), first);
        checkEquals(first.getTaskId(), second.getRetriedTaskId());
        checkEquals(Map.of("tries", 2), second.getOutputData());
        check(tasks.getTaskLogs(first.getTaskId()).get(0).getLog().contains("no luck at first"), "logs");
    }

    void terminal() throws Exception {
        definitions.registerTaskDefs(List.of(task("never", 3, 3600)));
        define("terminal", "never");
        Workflow workflow = ended(start("terminal"), Workflow.WorkflowStatus.FAILED);
        checkTries(workflow, Task.Status.FAILED_WITH_TERMINAL_ERROR);
        check(workflow.getReasonForIncompletion().contains("not get better"), workflow);
    }

    void callback() throws Exception {
        define("callback", "later");
        Workflow workflow = ended(start("callback"), Workflow.WorkflowStatus.COMPLETED);
        checkTries(workflow, Task.Status.COMPLETED);
        checkEquals(2, workflow.getTasks().get(0).getOutputData().get("polls"));
    }

    void extended() throws Exception {
        definitions.registerTaskDefs(List.of(task("long", 0, LEASE_S)));
        define("extended", "long");
        Workflow workflow = ended(start("extended"), Workflow.WorkflowStatus.COMPLETED);
        checkTries(workflow, Task.Status.COMPLETED);
        Task task = workflow.getTasks().get(0);
        checkEquals(1, task.getOutputData().get("polls"));
        check(task.getEndTime() - task.getStartTime() >= 2 * LEASE_S * 1000, task);
    }

    void searched() throws Exception {
        define("searched", "nobody_works_this");
        List<String> ids = new ArrayList<>();
        for (int n = 0; n < 3; n++)
            ids.add(workflows.startWorkflow(request("searched").withCorrelationId("order-" + n)));
        workflows.terminateWorkflow(ids.get(1), "enough");
        checkEquals(Set.of(ids.get(0) + " RUNNING", ids.get(2) + " RUNNING"),
                search(0, "workflowType='searched' AND status IN (RUNNING)"));
        checkEquals(Set.of(ids.get(1) + " TERMINATED"), search(0, "workflowType='searched' AND correlationId='order-1'"));
        checkEquals(1, search(2, "workflowType='searched'").size());
        var whole = workflows.searchV2(0, 10, null, "*", "workflowId='" + ids.get(0) + "'");
        checkEquals(1L, whole.getTotalHits());
        checkEquals("order-0", whole.getResults().get(0).getCorrelationId());
    }

    void becomes(String id, Workflow.WorkflowStatus wanted) {
        checkEquals(wanted, workflows.getWorkflow(id, false).getStatus());
    }

    void operated() throws Exception {
        define("operated", "nobody_works_this");
        String id = start("operated");
        workflows.pauseWorkflow(id);
        becomes(id, Workflow.WorkflowStatus.PAUSED);
        workflows.resumeWorkflow(id);
        becomes(id, Workflow.WorkflowStatus.RUNNING);
        workflows.terminateWorkflow(id, "enough");
        becomes(id, Workflow.WorkflowStatus.TERMINATED);
        checkEquals("enough", workflows.getWorkflow(id, false).getReasonForIncompletion());
        workflows.retryLastFailedTask(id);
        becomes(id, Workflow.WorkflowStatus.RUNNING);
        checkEquals(List.of(id), workflows.terminateWorkflows(List.of(id), "again").getBulkSuccessfulResults());
        workflows.restart(id, false);
        becomes(id, Workflow.WorkflowStatus.RUNNING);
        workflows.deleteWorkflow(id, false);
        checkEquals(404, refused(() -> workflows.getWorkflow(id, false)));
    }

    void many() throws Exception {
        List<Map<String, ?>> inputs = IntStream.range(0, 1000).<Map<String, ?>>mapToObj(n -> Map.of("n", n)).toList();
        List<String> ids = addTasks("add", inputs);
        checkEquals(inputs.size(), ids.size());
        for (int n = 0; n < ids.size(); n++) {
            JsonNode task = awaitTask(ids.get(n));
            check(task.at("/result/sum").asInt() == n + 1 && task.get("epoch").asInt() == 1, task);
        }
    }

    /* ---- The run ---- */

    interface Body {
        void run() throws Exception;
    }

    static String why(Future<?> end) throws InterruptedException {
        try {
            end.get();
            return null;
        } catch (java.util.concurrent.ExecutionException e) {
            Throwable cause = e.getCause();
            String where = java.util.Arrays.stream(cause.getStackTrace()).filter(at -> "Suite.java".equals(at.getFileName()))
                    .filter(at -> !at.getMethodName().startsWith("check")).map(at -> at.getLineNumber() + ": ").findFirst().orElse("");
            return (where + cause).replaceAll("\\s+", " ");
        }
    }

    public static void main(String[] arguments) throws Exception {
        Suite suite = new Suite(arguments[0]);
        suite.startWorkers();
        Map<String, Body> cases = new LinkedHashMap<>();
        cases.put("standalone", suite::standalone);
        cases.put("registered", suite::registered);
        cases.put("executed", suite::executed);
        cases.put("composed", suite::composed);
        cases.put("signalled", suite::signalled);
        cases.put("retried", suite::retried);
        cases.put("terminal", suite::terminal);
        cases.put("callback", suite::callback);
        cases.put("extended", suite::extended);
        cases.put("searched", suite::searched);
        cases.put("operated", suite::operated);
        cases.put("many", suite::many);
        var pool = Executors.newFixedThreadPool(cases.size());
        Map<String, Future<?>> ends = new LinkedHashMap<>();
        cases.forEach((name, body) -> ends.put(name, pool.submit(() -> {
            body.run();
            return null;
        })));
        for (var end : ends.entrySet()) {
            String why = why(end.getValue());
            System.out.println(why == null ? "pass " + end.getKey() : "fail " + end.getKey() + ": " + why);
        }
        System.exit(0); // the SDK's workers have no end
    }
}
