// An executor without any SDK: the task counts the words of a text.
//
//	go build -o words words.go
//	rollout executor check --input '"three small words"' --expected 3 -- ./words
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"os"
	"strings"
	"sync"
	"time"
)

type object = map[string]any

// command is what the orchestrator sends; each kind has some of these fields.
type command struct {
	Cmd          string          `json:"cmd"`
	ID           *int64          `json:"id"`
	Input        json.RawMessage `json:"input"`
	Evaluator    string          `json:"evaluator"`
	Evaluators   []string        `json:"evaluators"`
	Capabilities []string        `json:"capabilities"`
	HeartbeatMs  int64           `json:"heartbeat_ms"`
}

type taskInput struct {
	Input any    `json:"input"`
	RunID string `json:"run_id"`
}

type evalInput struct {
	Example struct {
		ID    string `json:"id"`
		RunID string `json:"run_id"`
	} `json:"example"`
	Actual   any    `json:"actual_output"`
	Expected any    `json:"expected_output"`
	RunID    string `json:"run_id"`
}

var evaluators = map[string]func(actual, expected float64) float64{
	"exact": func(actual, expected float64) float64 {
		if actual == expected {
			return 1
		}
		return 0
	},
	"close": func(actual, expected float64) float64 {
		if math.Abs(actual-expected) <= 1 {
			return 1
		}
		return 0
	},
}

var names = []string{"exact", "close"}

func countWords(input any) (any, error) {
	text, isText := input.(string)
	if !isText {
		return nil, fmt.Errorf("the input is a %T, not a text", input)
	}
	return len(strings.Fields(text)), nil
}

// executor answers on one channel, a whole line at a time, however many runs are in flight.
type executor struct {
	out     *json.Encoder
	writing sync.Mutex
	running sync.WaitGroup
}

func (e *executor) say(command command, answer object) {
	e.writing.Lock()
	defer e.writing.Unlock()
	if command.ID != nil {
		answer["id"] = *command.ID
	}
	if err := e.out.Encode(answer); err != nil {
		os.Exit(1)
	}
}

// start runs work beside everything else; a panic is an answer too.
func (e *executor) start(command command, head object, work func() (object, error)) {
	e.running.Add(1)
	go func() {
		defer e.running.Done()
		started := time.Now()
		answer, err := guard(work)
		if answer == nil {
			answer = object{}
		}
		for name, value := range head {
			answer[name] = value
		}
		if err != nil {
			answer["error"] = err.Error()
		}
		answer["metadata"] = object{
			"started_at":        started.UTC().Format(time.RFC3339Nano),
			"completed_at":      time.Now().UTC().Format(time.RFC3339Nano),
			"execution_time_ms": float64(time.Since(started).Microseconds()) / 1000,
		}
		e.say(command, answer)
	}()
}

func guard(work func() (object, error)) (answer object, err error) {
	defer func() {
		if problem := recover(); problem != nil {
			err = fmt.Errorf("panic: %v", problem)
		}
	}()
	return work()
}

func (e *executor) obey(command command) {
	switch command.Cmd {
	case "discover":
		e.say(command, object{
			"protocol_version": "1.0", "name": "words", "task": "countWords", "evaluators": names,
			"params": object{}, "capabilities": []string{"ids", "cancel", "heartbeat"},
		})
	case "init":
		e.say(command, object{"ok": true})
		for _, name := range command.Capabilities {
			if name == "heartbeat" && command.HeartbeatMs > 0 {
				go e.beat(time.Duration(command.HeartbeatMs) * time.Millisecond)
			}
		}
	case "run_task":
		e.runTask(command)
	case "run_eval":
		e.runEval(command)
	case "cancel":
		// A count of words is over before anybody can cancel it: its answer is on the way.
	default:
		e.say(command, object{"error": fmt.Sprintf("unknown command %q", command.Cmd)})
	}
}

func (e *executor) runTask(command command) {
	var input taskInput
	if err := json.Unmarshal(command.Input, &input); err != nil {
		e.say(command, object{"error": "input: " + err.Error()})
		return
	}
	e.start(command, object{"run_id": input.RunID}, func() (object, error) {
		output, err := countWords(input.Input)
		return object{"output": output}, err
	})
}

func (e *executor) runEval(command command) {
	var input evalInput
	if err := json.Unmarshal(command.Input, &input); err != nil {
		e.say(command, object{"error": "input: " + err.Error()})
		return
	}
	wanted := command.Evaluators
	if command.Evaluator != "" {
		wanted = []string{command.Evaluator}
	}
	if wanted == nil {
		wanted = names
	}
	runID := first(input.RunID, input.Example.RunID, input.Example.ID)
	for _, name := range wanted {
		e.start(command, object{"run_id": runID, "evaluator": name}, func() (object, error) {
			return evaluate(name, input.Actual, input.Expected)
		})
	}
}

func evaluate(name string, actual, expected any) (object, error) {
	evaluator, isKnown := evaluators[name]
	if !isKnown {
		return object{"score": nil}, fmt.Errorf("unknown evaluator %q", name)
	}
	counted, isNumber := actual.(float64)
	wanted, isNumberToo := expected.(float64)
	if !isNumber || !isNumberToo {
		return object{"score": nil}, fmt.Errorf("there are no two numbers to compare")
	}
	return object{"score": evaluator(counted, wanted)}, nil
}

func (e *executor) beat(every time.Duration) {
	for range time.Tick(every) {
		e.say(command{}, object{"heartbeat": object{"running": 0}})
	}
}

func first(texts ...string) string {
	for _, text := range texts {
		if text != "" {
			return text
		}
	}
	return ""
}

func main() {
	e := &executor{out: json.NewEncoder(os.Stdout)}
	// What is printed from here on, by whatever library, does not disturb the answers.
	os.Stdout = os.Stderr
	// A scanner would give up at 64 KiB; lines have no limit.
	lines := bufio.NewReader(os.Stdin)
	for {
		line, err := lines.ReadBytes('\n')
		if text := strings.TrimSpace(string(line)); text != "" {
			var given command
			if problem := json.Unmarshal(line, &given); problem != nil {
				e.say(command{}, object{"error": "this is no command: " + problem.Error()})
			} else if given.Cmd == "shutdown" {
				e.running.Wait()
				e.say(given, object{"ok": true})
				return
			} else {
				e.obey(given)
			}
		}
		if err == io.EOF {
			e.running.Wait()
			return
		}
		if err != nil {
			os.Exit(1)
		}
	}
}
