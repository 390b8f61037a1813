// The executor of experiments in TypeScript and JavaScript: node experiment-executor.js FILE
import "../base/check-node.ts";
import { createWriteStream, writeSync } from "node:fs";
import { resolve } from "node:path";
import { messageOf } from "../base/rollout-error.ts";
import { openModuleLoader } from "../base/module-loader.ts";
import type { Experiment } from "../experiments/sdk/experiment-definition.ts";
import { serveExperiment } from "../experiments/sdk/serve-experiment.ts";

const [, , file = ""] = process.argv;
const descriptor = Number(process.env["ROLLOUT_PROTOCOL_FD"] ?? "1");
const answers = descriptor === 1 ? null : createWriteStream("", { fd: descriptor });
const plainWrite = process.stdout.write.bind(process.stdout);
const write = (text: string): void => void (answers ? answers.write(text) : plainWrite(text));
const writeError = (text: string): void => void process.stderr.write(text);

try {
  using loader = openModuleLoader(resolve(import.meta.dirname, ".."));
  const { default: experiment } = await loader.load(resolve(file));
  if (experiment === undefined) throw new Error(`${file} has no default export with a task`);
  await serveExperiment(experiment as Experiment, { input: process.stdin, write, writeError, redirect, onExit });
  // What is on its way would be lost with the process.
  await new Promise<void>((resolve) => (answers ? answers.end(resolve) : plainWrite("", () => resolve())));
  process.exit(0);
} catch (error) {
  process.stderr.write(`${error instanceof Error ? (error.stack ?? error.message) : String(error)}\n`);
  write(`${JSON.stringify({ __cat__: 1, error: messageOf(error) })}\n`);
  process.exitCode = 1;
}

// Nothing that waits for its turn is written any more.
function onExit(takeUnsent: () => string): void {
  process.on("exit", () => {
    const text = takeUnsent();
    try {
      if (text !== "") writeSync(descriptor, text);
    } catch {
      // Nobody reads it any more.
    }
  });
}

function redirect(print: (stream: "stdout" | "stderr", text: string) => void): void {
  process.stdout.write = (chunk: string | Uint8Array, ...rest: unknown[]) => {
    print("stdout", typeof chunk === "string" ? chunk : Buffer.from(chunk).toString("utf8"));
    const done = rest.find((one) => typeof one === "function") as (() => void) | undefined;
    done?.();
    return true;
  };
}
