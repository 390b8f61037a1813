// Understands just enough of bash for the tasks beside it, so that this job runs without a container engine.
import type { MemoryCall, MemoryHandler } from "rollout-eval/testing";

/** Answers `bash FILE` by reading the file line by line. */
export const handler: MemoryHandler = async (call) => {
  const [shell, script = ""] = call.command;
  if (shell !== "bash" || !call.files.exists(script)) return 127;
  let branch: boolean | null = null;
  for (const raw of call.files.readText(script).split("\n")) {
    const line = raw
      .trim()
      .replaceAll(" 2>/dev/null", "")
      .replace(/\$(\w+)/g, (_, name: string) => call.env[name] ?? "");
    const condition = /^if \[ "\$\(cat (\S+)\)" = "(.*)" \]; then$/.exec(line);
    if (condition) branch = readOr(call, condition[1] ?? "") === condition[2];
    else if (line === "else") branch = branch === null ? null : !branch;
    else if (line === "fi") branch = null;
    else if (branch !== false && !(await runLine(call, line))) return 1;
  }
  return 0;
};

async function runLine(call: MemoryCall, line: string): Promise<boolean> {
  if (line === "" || line.startsWith("#") || line.startsWith("set ")) return true;
  const echo = /^echo (.*?)(?: > (\S+))?$/.exec(line);
  if (echo?.[2] !== undefined) call.files.write(echo[2], `${echo[1]}\n`);
  else if (echo) await call.stdout(`${echo[1]}\n`);
  else if (line.startsWith("cat ")) await call.stdout(readOr(call, line.slice(4).replaceAll('"', "")));
  else {
    await call.stderr(`toy-shell: cannot do: ${line}\n`);
    return false;
  }
  return true;
}

function readOr(call: MemoryCall, path: string): string {
  return call.files.exists(path) ? call.files.readText(path).trimEnd() : "";
}
