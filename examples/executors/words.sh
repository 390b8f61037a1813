#!/usr/bin/env bash
# An executor without any SDK: the task counts the words of a text. It needs bash 4 and jq, and speaks the basic protocol:
# no capabilities, answers as they come.
#
#   rollout executor check --input '"three small words"' --expected 3 -- bash words.sh

# Answers go where stdout led; what is printed from here on goes to stderr.
exec 3>&1 1>&2

# One write for each answer, and a short one, so that answers of several runs do not mix.
say() {
  printf '%s\n' "$1" >&3
}

run_task() {
  jq -c '.input as {$run_id, $input} | (
    if ($input | type) != "string" then { output: null, error: "the input is no text" }
    else { output: [$input | splits("\\s+") | select(. != "")] | length, error: null } end
  ) | { run_id: $run_id } + .' <<<"$1"
}

run_eval() {
  jq -c '.input as $in
    | (.evaluators // (.evaluator | values | [.]) // ["exact", "close"])[]
    | { run_id: ($in.run_id // $in.example.run_id // $in.example.id), evaluator: . } + (
        if . == "exact" then { score: (if $in.actual_output == $in.expected_output then 1 else 0 end), error: null }
        elif . == "close" then { score: (if ($in.actual_output - $in.expected_output | fabs) <= 1 then 1 else 0 end), error: null }
        else { score: null, error: "unknown evaluator \(.)" } end)' <<<"$1"
}

# Runs beside everything else; whatever goes wrong is an answer too.
start() {
  {
    if ! answers=$("$1" "$2" 2>&1); then
      answers=$(jq -c --arg error "${answers:-it failed}" '{ run_id: (.input.run_id // .input.example.run_id), error: $error }' <<<"$2")
    fi
    say "$answers"
  } &
}

while IFS= read -r line || [ -n "$line" ]; do
  [ -z "${line//[[:space:]]/}" ] && continue
  cmd=$(jq -r 'if type == "object" then .cmd // "" else error("no object") end' <<<"$line" 2>/dev/null) || {
    say '{"error":"this is no command"}'
    continue
  }
  case $cmd in
    discover) say '{"protocol_version":"1.0","name":"words","task":"run_task","evaluators":["exact","close"],"params":{}}' ;;
    init) say '{"ok":true}' ;;
    run_task | run_eval)
      if jq -e '.input | type == "object"' <<<"$line" >/dev/null; then start "$cmd" "$line"; else say '{"error":"input is missing"}'; fi
      ;;
    shutdown)
      wait
      say '{"ok":true}'
      exit 0
      ;;
    *) say "$(jq -c '{ error: "unknown command \(.cmd)" }' <<<"$line")" ;;
  esac
done
wait
