/** The variable that marks everything a command starts, so that it can be found again. */
export const commandMark = "ROLLOUT_COMMAND";

// Only what bash itself can do: an image may hold neither ps nor pkill. `sleep` is the one tool it would like to have.
// chosen() sets `found` to the processes to end: those that carry the mark, or all when there is none. A process whose
// variables are hidden is taken too when it is younger than the command and no other command runs. When the command began is printed.
const script = `mark=$1 alone=$2 since=$3 self=$$
shopt -s nullglob
state() { local text=; IFS= read -r -d '' text < "/proc/$1/stat"; [ -n "$text" ] || return 1; text=\${text##*) }; set -- $text; status=$1 parent=$2 started=\${20}; } 2>/dev/null
marked() { local pair; carries=none; while IFS= read -r -d '' pair; do
  case $pair in ${commandMark}="$mark") carries=mine;; ${commandMark}=*) carries=other;; esac; done < "/proc/$1/environ"; } 2>/dev/null
keeper() { local dir pid; keep=0 oldest=; for dir in /proc/[0-9]*; do pid=\${dir#/proc/}
  state "$pid" && [ "$parent" = 1 ] || continue
  IFS= read -r -d '' word < "$dir/cmdline" && [ "\${word##*/}" = sleep ] || continue
  if [ -z "$oldest" ] || ((started < oldest)); then oldest=$started keep=$pid; fi; done; } 2>/dev/null
chosen() { local dir pid hidden=(); found=()
  for dir in /proc/[0-9]*; do pid=\${dir#/proc/}
    [ "$pid" = 1 ] || [ "$pid" = "$self" ] || [ "$pid" = "$keep" ] && continue
    state "$pid" && [ "$status" != Z ] && [ "$parent" != "$self" ] || continue
    if [ -z "$mark" ]; then found+=("$pid"); continue; fi
    marked "$pid"
    case $carries in
      mine) found+=("$pid"); if [ -z "$first" ] || ((started < first)); then first=$started; fi;;
      none) hidden+=("$pid:$started");; esac
  done
  [ -n "$first" ] && [ "$alone" = 1 ] || return 0
  for pid in "\${hidden[@]}"; do ((\${pid#*:} >= first)) && found+=("\${pid%:*}"); done; return 0; }
pause() { sleep 0.05 2>/dev/null || read -r -t 0.05 <> /dev/full 2>/dev/null || :; }
first=$since
keeper; chosen
echo "$first"
[ \${#found[@]} -gt 0 ] && kill -TERM "\${found[@]}" 2>/dev/null
for ((round = 0; round < 60; round++)); do
  [ \${#found[@]} -eq 0 ] && exit 0
  ((round >= 8)) && kill -KILL "\${found[@]}" 2>/dev/null
  pause; chosen
done
exit 9`;

export interface EndCommandOptions {
  /** What the command's processes carry; empty for everything but the main process. */
  readonly mark: string;
  /** No other command runs, so that what cannot be told apart is this one's. */
  readonly isAlone: boolean;
  /** When the command began, as an earlier round printed it; empty when that is not known. */
  readonly since: string;
}

/** The command that ends what another one started, as far as its user may. */
export function planEndCommand({ mark, isAlone, since }: EndCommandOptions): readonly string[] {
  return ["bash", "-p", "-c", script, "bash", mark, isAlone ? "1" : "0", since];
}
