// Conductor's Go SDK, unmodified, against a server: one function a case.
//
//	suite URL
//
// Prints `pass CASE` or `fail CASE: why` for each. The SDK's workers are begun once for all cases, and the cases run
// side by side, since most of them wait.
package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"reflect"
	"sort"
	"strings"
	"time"

	"github.com/antihax/optional"
	"github.com/conductor-sdk/conductor-go/sdk/client"
	"github.com/conductor-sdk/conductor-go/sdk/model"
	"github.com/conductor-sdk/conductor-go/sdk/settings"
	"github.com/conductor-sdk/conductor-go/sdk/worker"
	"github.com/conductor-sdk/conductor-go/sdk/workflow"
	"github.com/conductor-sdk/conductor-go/sdk/workflow/executor"
)

type object = map[string]interface{}

const (
	leaseSeconds = 4
	longWork     = 10 * time.Second // of a task whose lease is leaseSeconds
	deadline     = 90 * time.Second
)

var (
	url         = os.Args[1]
	api         = client.NewAPIClient(nil, settings.NewHttpSettings(url+"/api"))
	definitions = client.NewMetadataClient(api)
	tasks       = client.NewTaskClient(api)
	workflows   = executor.NewWorkflowExecutor(api)
	background  = context.Background()
)

// ---- Workers ----

func greet(task *model.Task) (interface{}, error) {
	return object{"result": fmt.Sprintf("Hello %v", task.InputData["name"])}, nil
}

func add(task *model.Task) (interface{}, error) {
	return object{"sum": task.InputData["n"].(float64) + 1}, nil
}

func flaky(task *model.Task) (interface{}, error) {
	if task.RetryCount < 1 {
		return nil, errors.New("no luck at first")
	}
	return object{"tries": task.RetryCount + 1}, nil
}

func never(*model.Task) (interface{}, error) {
	return nil, model.NewNonRetryableError(errors.New("this will not get better"))
}

func inProgress(task *model.Task, after int64) *model.TaskResult {
	result := model.NewTaskResultFromTask(task)
	result.Status = model.InProgressTask
	result.CallbackAfterSeconds = after
	result.OutputData = object{"seen": task.PollCount}
	return result
}

func later(task *model.Task) (interface{}, error) {
	if task.PollCount < 2 {
		return inProgress(task, 1), nil
	}
	return object{"polls": task.PollCount}, nil
}

// This SDK has no word for a heartbeat: who works longer than the response time-out says again and again that the
// task is in progress, and when it is to be given to somebody else.
func long(task *model.Task) (interface{}, error) {
	for begun := time.Now(); time.Since(begun) < longWork; {
		if _, _, err := tasks.UpdateTask(background, inProgress(task, leaseSeconds)); err != nil {
			return nil, err
		}
		time.Sleep(time.Second) // this is the work
	}
	return object{"polls": task.PollCount}, nil
}

func startWorkers() {
	runner := worker.NewTaskRunnerWithApiClient(api)
	for name, work := range map[string]struct {
		does  model.ExecuteTaskFunction
		atOne int
	}{"greet": {greet, 2}, "add": {add, 10}, "flaky": {flaky, 1}, "never": {never, 1}, "later": {later, 1}, "long": {long, 2}} {
		must(runner.StartWorker(name, work.does, work.atOne, 10*time.Millisecond))
	}
}

// ---- Helpers ----

func must(err error) {
	if err != nil {
		panic(err)
	}
}

func check(holds bool, shown interface{}) {
	if !holds {
		text, _ := json.Marshal(shown)
		panic(string(text))
	}
}

// Pawl's own interface, for what the SDK has no word for.
func raw(verb, path string, body, answer interface{}) {
	text, err := json.Marshal(body)
	must(err)
	request, err := http.NewRequest(verb, url+path, bytes.NewReader(text))
	must(err)
	response, err := http.DefaultClient.Do(request)
	must(err)
	defer response.Body.Close()
	check(response.StatusCode == 200 || response.StatusCode == 201, response.Status)
	must(json.NewDecoder(response.Body).Decode(answer))
}

type native struct {
	Id     string
	State  string
	Epoch  int
	Result object
}

func addTasks(queue string, inputs ...object) []native {
	wanted := make([]object, len(inputs))
	for i, input := range inputs {
		wanted[i] = object{"queue": queue, "input": input}
	}
	var answer struct{ Tasks []native }
	raw("POST", "/v1/tasks/batch", object{"tasks": wanted}, &answer)
	return answer.Tasks
}

func awaitTask(id string) (task native) {
	until := time.Now().Add(deadline)
	for task.State != "COMPLETED" {
		check(time.Now().Before(until), task)
		time.Sleep(20 * time.Millisecond) // between two looks
		raw("GET", "/v1/tasks/"+id, nil, &task)
	}
	return task
}

func defineTask(task model.TaskDef) {
	task.RetryDelaySeconds = 1
	_, err := definitions.RegisterTaskDef(background, []model.TaskDef{task})
	must(err)
}

func simple(task, reference string) *workflow.SimpleTask {
	return workflow.NewSimpleTask(task, reference).Input("name", "${workflow.input.name}")
}

// A workflow of one task.
func define(name, task string) {
	must(workflow.NewConductorWorkflow(workflows).Name(name).Version(1).Add(simple(task, task+"_ref")).
		OutputParameters(object{"result": "${" + task + "_ref.output.result}"}).Register(true))
}

func start(name, correlation string) string {
	id, err := workflows.StartWorkflow(model.NewStartWorkflowRequest(name, 1, correlation, object{"name": "Ann"}))
	must(err)
	return id
}

func look(id string) *model.Workflow {
	found, err := workflows.GetWorkflow(id, true)
	must(err)
	return found
}

// Waits as the SDK does.
func ended(id string, wanted model.WorkflowStatus) *model.Workflow {
	ends, err := workflows.MonitorExecution(id)
	must(err)
	end, err := executor.WaitForWorkflowCompletionUntilTimeout(ends, deadline)
	must(err)
	check(end.Status == wanted, end)
	return look(id)
}

func checkTries(workflow *model.Workflow, wanted ...model.TaskResultStatus) {
	var statuses []model.TaskResultStatus
	for _, task := range workflow.Tasks {
		statuses = append(statuses, task.Status)
	}
	check(reflect.DeepEqual(statuses, wanted), workflow.Tasks)
}

func search(start int32, query string) (ids []string) {
	found, err := workflows.Search(start, 10, query, "*")
	must(err)
	for _, hit := range found {
		ids = append(ids, hit.WorkflowId+" "+hit.Status)
	}
	sort.Strings(ids)
	return ids
}

// ---- Cases ----

func standalone() {
	for i, task := range addTasks("greet", object{"name": "Ann"}, object{"name": "Bob"}) {
		result := awaitTask(task.Id).Result["result"]
		check(result == []string{"Hello Ann", "Hello Bob"}[i], result)
	}
}

func registered() {
	defineTask(model.TaskDef{Name: "registered", RetryCount: 7, ResponseTimeoutSeconds: 60, TimeoutSeconds: 120})
	task, _, err := definitions.GetTaskDef(background, "registered")
	must(err)
	check(task.RetryCount == 7 && task.ResponseTimeoutSeconds == 60 && task.RetryDelaySeconds == 1, task)
	define("registered", "registered")
	found, _, err := definitions.Get(background, "registered",
		&client.MetadataResourceApiGetOpts{Version: optional.NewInt32(1)})
	must(err)
	check(found.Version == 1 && found.Tasks[0].TaskReferenceName == "registered_ref", found)
	must(workflows.UnRegisterWorkflow("registered", 1))
	_, response, _ := definitions.Get(background, "registered", nil)
	check(response.StatusCode == 404, response.Status)
}

func executed() {
	define("executed", "greet")
	run, err := workflows.ExecuteWorkflow(model.NewStartWorkflowRequest("executed", 1, "", object{"name": "Ann"}), "")
	must(err)
	check(run.Status == "COMPLETED" && run.Output["result"] == "Hello Ann", run)
}

func composed() {
	parts := workflow.NewConductorWorkflow(workflows).Name("composed").Version(1).
		Add(workflow.NewForkTask("both", []workflow.TaskInterface{simple("greet", "one")},
			[]workflow.TaskInterface{workflow.NewSimpleTask("greet", "two").Input("name", "Bob")})).
		Add(workflow.NewSwitchTask("which", "${workflow.input.name}").
			SwitchCase("Ann", workflow.NewSetVariableTask("keep").Input("chosen", "${one.output.result}")).
			DefaultCase(workflow.NewTerminateTask("stop", model.FailedWorkflow, "nobody"))).
		OutputParameters(object{"chosen": "${workflow.variables.chosen}", "other": "${two.output.result}"})
	must(parts.Register(true))
	workflow := ended(start("composed", ""), model.CompletedWorkflow)
	check(reflect.DeepEqual(workflow.Output, object{"chosen": "Hello Ann", "other": "Hello Bob"}), workflow)
}

func retried() {
	defineTask(model.TaskDef{Name: "flaky", RetryCount: 3})
	define("retried", "flaky")
	workflow := ended(start("retried", ""), model.CompletedWorkflow)
	checkTries(workflow, model.FailedTask, model.CompletedTask)
	first, second := workflow.Tasks[0], workflow.Tasks[1]
	check(first.ReasonForIncompletion == "no luck at first" && second.OutputData["tries"] == 2.0, workflow.Tasks)
	check(second.RetriedTaskId == first.TaskId, second)
}

func terminal() {
	defineTask(model.TaskDef{Name: "never", RetryCount: 3})
	define("terminal", "never")
	workflow := ended(start("terminal", ""), model.FailedWorkflow)
	checkTries(workflow, model.FailedWithTerminalErrorTask)
	check(strings.Contains(workflow.ReasonForIncompletion, "not get better"), workflow)
}

func callback() {
	define("callback", "later")
	workflow := ended(start("callback", ""), model.CompletedWorkflow)
	checkTries(workflow, model.CompletedTask)
	check(workflow.Tasks[0].OutputData["polls"] == 2.0, workflow.Tasks)
}

func held() {
	defineTask(model.TaskDef{Name: "long", ResponseTimeoutSeconds: leaseSeconds})
	define("held", "long")
	workflow := ended(start("held", ""), model.CompletedWorkflow)
	checkTries(workflow, model.CompletedTask)
	task := workflow.Tasks[0]
	check(task.EndTime-task.StartTime >= 2*leaseSeconds*1000 && task.OutputData["polls"] == 1.0, task)
}

func searched() {
	define("searched", "nobody_works_this")
	var ids []string
	for n := 0; n < 3; n++ {
		ids = append(ids, start("searched", fmt.Sprintf("go-order-%d", n)))
	}
	must(workflows.Terminate(ids[1], "enough"))
	running := []string{ids[0] + " RUNNING", ids[2] + " RUNNING"}
	sort.Strings(running)
	found := search(0, "workflowType='searched' AND status IN (RUNNING)")
	check(reflect.DeepEqual(found, running), found)
	found = search(0, "workflowType='searched' AND correlationId='go-order-1'")
	check(reflect.DeepEqual(found, []string{ids[1] + " TERMINATED"}), found)
	found = search(2, "workflowType='searched'")
	check(len(found) == 1, found)
	byId, err := workflows.GetByCorrelationIds("searched", true, false, "go-order-1")
	must(err)
	check(len(byId["go-order-1"]) == 1 && byId["go-order-1"][0].WorkflowId == ids[1], byId)
}

func operated() {
	define("operated", "nobody_works_this")
	id := start("operated", "")
	becomes := func(wanted string, err error) {
		must(err)
		state, err := workflows.GetWorkflowStatus(id, false, false)
		must(err)
		check(state.Status == wanted, state)
	}
	becomes("PAUSED", workflows.Pause(id))
	becomes("RUNNING", workflows.Resume(id))
	becomes("TERMINATED", workflows.Terminate(id, "enough"))
	check(look(id).ReasonForIncompletion == "enough", look(id))
	becomes("RUNNING", workflows.Retry(id, false))
	becomes("TERMINATED", workflows.Terminate(id, "again"))
	becomes("RUNNING", workflows.Restart(id, false))
	must(workflows.RemoveWorkflow(id))
	state, err := workflows.GetWorkflowStatus(id, false, false)
	must(err)
	check(state == nil, state) // what the SDK makes of a 404
}

func many() {
	inputs := make([]object, 1000)
	for n := range inputs {
		inputs[n] = object{"n": n}
	}
	for n, added := range addTasks("add", inputs...) {
		task := awaitTask(added.Id)
		check(task.Result["sum"] == float64(n+1) && task.Epoch == 1, task)
	}
}

// ---- The run ----

func why(body func()) (why string) {
	defer func() {
		if cause := recover(); cause != nil {
			why = strings.Join(strings.Fields(fmt.Sprint(cause)), " ")
		}
	}()
	body()
	return ""
}

func main() {
	startWorkers()
	cases := []struct {
		name string
		body func()
	}{
		{"standalone", standalone}, {"registered", registered}, {"executed", executed}, {"composed", composed},
		{"retried", retried}, {"terminal", terminal}, {"callback", callback}, {"held", held}, {"searched", searched},
		{"operated", operated}, {"many", many},
	}
	lines := make(chan string)
	for _, one := range cases {
		one := one
		go func() {
			if cause := why(one.body); cause != "" {
				lines <- "fail " + one.name + ": " + cause
			} else {
				lines <- "pass " + one.name
			}
		}()
	}
	for range cases {
		fmt.Println(<-lines)
	}
}
