import { RolloutError } from "../../../base/rollout-error.ts";
import type { ProcessInfo } from "../../environment.ts";
import { commandMark } from "../../guest/end-processes.ts";
import { keeperSeconds } from "../../guest/keeper.ts";
import type { PodShell } from "./pod-shell.ts";

// Everything but the main process, its sleeper and what belongs to our own plumbing; each as "pid command", ended by NUL.
const script = `self=$$
shopt -s nullglob
state() { local text=; IFS= read -r -d '' text < "/proc/$1/stat"; [ -n "$text" ] || return 1; text=\${text##*) }; set -- $text; status=$1 parent=$2; } 2>/dev/null
tool() { local pair; while IFS= read -r -d '' pair; do [ "$pair" = ${commandMark}=tool ] && return 0; done < "/proc/$1/environ"; return 1; } 2>/dev/null
for dir in /proc/[0-9]*; do pid=\${dir#/proc/}
  [ "$pid" = 1 ] || [ "$pid" = "$self" ] && continue
  state "$pid" && [ "$status" != Z ] && [ "$parent" != "$self" ] || continue
  tool "$pid" && continue
  words=(); while IFS= read -r -d '' word; do words+=("$word"); done < "$dir/cmdline"
  [ "$parent" = 1 ] && [ "\${words[*]}" = "sleep ${keeperSeconds}" ] && continue
  printf '%s %s\\0' "$pid" "\${words[*]}"
done 2>/dev/null; exit 0`;

/** Everything that runs in a Pod beside its main process, as its own tools see it. */
export async function listProcesses(shell: PodShell, signal: AbortSignal): Promise<ProcessInfo[]> {
  const { exitCode, stdout, stderr } = await shell.runTool({ script, command: [], signal });
  if (exitCode !== 0) {
    throw new RolloutError("exec_failed", `listing processes ended with ${exitCode}: ${stderr.trim()}`);
  }
  return stdout.split("\0").flatMap((line) => {
    const [, pid, command] = /^(\d+) ([^]*)$/.exec(line) ?? [];
    return pid === undefined ? [] : [{ pid: Number(pid), command: command || "(no command line)" }];
  });
}
