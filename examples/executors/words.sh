#!/usr/bin/env bash
# An executor without any SDK: the task counts the words of a text. It needs bash 4.1 and jq, and speaks the basic protocol:
# no capabilities, answers as they come.
#
#   rollout executor check --input '"three small words"' --expected 3 -- bash words.sh

# Answers go where stdout led. Everything that is printed from here on goes to stderr.
exec {out}>&1 1>&2

# The lock is a pipe with one byte in it. Whoever has the byte may write.
fifo=$(mktemp -u) && mkfifo "$fifo" && exec {lock}<>"$fifo" && rm "$fifo" || exit 1
printf . >&"$lock"

# Writes answers, one on each line. A long answer takes several writes, so no other process may write meanwhile.
say() {
  read -r -N 1 -u "$lock"
  printf '%s\n' "$1" >&"$out"
  printf . >&"$lock"
}

definitions='
  def run_id: .input | .run_id // .example.run_id // .example.id // .id;
  def evaluators: .evaluators // (.evaluator | values | [.]) // ["exact", "close"];
'

run_task() {
  jq -c "$definitions"'{ run_id: run_id } + (.input.input |
    if type == "string" then { output: [splits("\\s+") | select(. != "")] | length, error: null }
    else { output: null, error: "the input is no text" } end)' <<<"$1"
}

run_eval() {
  jq -c "$definitions"'.input as { $actual_output, $expected_output } | { run_id: run_id, evaluator: evaluators[] } | . + (
    try (
      if .evaluator == "exact" then $actual_output == $expected_output
      elif .evaluator == "close" then ($actual_output - $expected_output | fabs) <= 1
      else error("unknown evaluator \(.evaluator)") end
      | { score: (if . then 1 else 0 end), error: null }
    ) catch { score: null, error: . })' <<<"$1"
}

# The answers to a command that could not be carried out: one for a task, one for each evaluator.
fail() {
  jq -c --arg error "$1" "$definitions"'if .cmd == "run_eval" then { run_id: run_id, evaluator: evaluators[], score: null, error: $error }
    else { run_id: run_id, output: null, error: $error } end' <<<"$2"
}

# Carries out a command beside everything else.
start() {
  {
    answers=$("$1" "$2") || answers=$(fail "$1 failed with exit code $?" "$2") || answers='{"error":"the input cannot be read"}'
    say "$answers"
  } &
}

while IFS= read -r line || [ -n "$line" ]; do
  [[ $line =~ [^[:space:]] ]] || continue
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
