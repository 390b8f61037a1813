import { spawn, type ChildProcess } from "node:child_process";
import { z } from "zod";
import type { Clock } from "../../../base/clock.ts";
import { messageOf, RolloutError } from "../../../base/rollout-error.ts";
import { raceWithSignal } from "../../../engine/race-with-signal.ts";
import type { CredentialSource, Credentials } from "./cluster-endpoint.ts";

// New ones are asked for a little before the old ones end.
const earlyMs = 60_000;
// A program that asks a person for something would wait for ever.
const limitMs = 30_000;
const killDelayMs = 1000;
const maxOutputBytes = 2 ** 20;

/** A program of a kubeconfig that prints credentials. */
export interface CredentialProgram {
  readonly command: string;
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  readonly apiVersion: string;
  readonly hint: string | undefined;
}

const answerSchema = z.object({
  status: z.object({
    token: z.string().optional(),
    clientCertificateData: z.string().optional(),
    clientKeyData: z.string().optional(),
    expirationTimestamp: z.string().optional(),
  }),
});

interface Asked {
  readonly credentials: Promise<Credentials>;
  /** Ends the program. */
  readonly stop: AbortController;
  /** How many wait for it. */
  waiting: number;
  untilMs: number;
}

/** Credentials that a program prints, asked for again when they end or are refused. */
export function execCredentials(
  program: CredentialProgram,
  env: Readonly<Record<string, string | undefined>>,
  clock: Clock,
): CredentialSource {
  let held: Asked | null = null;
  const ask = (): Asked => {
    const stop = new AbortController();
    const credentials = runProgram(program, env, clock, stop.signal).then(({ status }) => {
      const end = Date.parse(status.expirationTimestamp ?? "");
      if (Number.isFinite(end)) asked.untilMs = end - earlyMs;
      return {
        token: status.token ?? null,
        cert: status.clientCertificateData ?? null,
        key: status.clientKeyData ?? null,
      };
    });
    const asked: Asked = { credentials, stop, waiting: 0, untilMs: Number.POSITIVE_INFINITY };
    credentials.catch(() => {
      if (held === asked) held = null;
    });
    return asked;
  };
  return {
    async get(signal) {
      signal.throwIfAborted();
      const asked = held !== null && clock.now() < held.untilMs ? held : ask();
      held = asked;
      asked.waiting++;
      try {
        return await raceWithSignal(asked.credentials, signal, () => {});
      } catch (error) {
        if (!signal.aborted) throw error;
        if (asked.waiting === 1) {
          // Nobody else waits. The program is gone before the caller goes on, and a later caller starts another.
          if (held === asked) held = null;
          asked.stop.abort(signal.reason);
          await asked.credentials.catch(() => {});
        }
        throw signal.reason;
      } finally {
        asked.waiting--;
      }
    },
    forget: () => void (held = null),
  };
}

async function runProgram(
  program: CredentialProgram,
  env: Readonly<Record<string, string | undefined>>,
  clock: Clock,
  signal: AbortSignal,
): Promise<z.infer<typeof answerSchema>> {
  const info = { apiVersion: program.apiVersion, kind: "ExecCredential", spec: { interactive: false } };
  const all = { ...env, ...program.env, KUBERNETES_EXEC_INFO: JSON.stringify(info) };
  const fail = (why: string, cause?: unknown): RolloutError =>
    new RolloutError("provider_unavailable", `${program.command}, which gives the credentials: ${why}`, {
      cause,
      hint: program.hint ?? "run it by hand: it must print credentials without asking for anything",
      transient: false,
    });
  const { code, stdout, stderr } = await runBounded(program, all, clock, signal, fail);
  if (code !== 0) throw fail(stderr.trim() || `it ended with ${code}`);
  try {
    return answerSchema.parse(JSON.parse(stdout));
  } catch (error) {
    throw fail(`what it printed are no credentials: ${messageOf(error)}`, error);
  }
}

interface ProgramOutput {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

// Runs it to its end. Past its limit, on an abort or with too much output it is ended with all that it started.
function runBounded(
  { command, args }: CredentialProgram,
  env: Readonly<Record<string, string | undefined>>,
  clock: Clock,
  signal: AbortSignal,
  fail: (why: string, cause?: unknown) => RolloutError,
): Promise<ProgramOutput> {
  return new Promise((resolve, reject) => {
    // A group of its own can be ended whole.
    const child = spawn(command, args, { env, stdio: ["ignore", "pipe", "pipe"], detached: true });
    let [stdout, stderr] = ["", ""];
    let failure: { readonly reason: unknown } | null = null;
    let killing = { clear: () => {} };
    const stop = (reason: unknown): void => {
      if (failure !== null) return;
      failure = { reason };
      endGroup(child, "SIGTERM");
      killing = clock.startTimer(killDelayMs, () => endGroup(child, "SIGKILL"));
    };
    const onAbort = (): void => stop(signal.reason);
    const limit = clock.startTimer(limitMs, () => stop(fail(`it did not answer within ${limitMs / 1000} seconds`)));
    const settle = (): void => {
      limit.clear();
      killing.clear();
      signal.removeEventListener("abort", onAbort);
    };
    signal.addEventListener("abort", onAbort, { once: true });
    child.stdout.on("data", (chunk: Buffer) => {
      if (stdout.length + chunk.length > maxOutputBytes) stop(fail("it printed more than 1 MiB"));
      else stdout += chunk.toString("utf8");
    });
    child.stderr.on("data", (chunk: Buffer) => (stderr = (stderr + chunk.toString("utf8")).slice(-2000)));
    child.on("error", (error) => {
      settle();
      reject(fail(error.message, error));
    });
    // A process that left the group may hold the pipes open.
    child.on("exit", () => void (failure !== null && [child.stdout, child.stderr].forEach((pipe) => pipe.destroy())));
    child.on("close", (code) => {
      if (failure !== null) endGroup(child, "SIGKILL");
      settle();
      if (failure === null) resolve({ code, stdout, stderr });
      else reject(failure.reason);
    });
  });
}

function endGroup({ pid }: ChildProcess, name: "SIGTERM" | "SIGKILL"): void {
  if (pid === undefined) return;
  try {
    process.kill(-pid, name);
  } catch {
    // It has ended.
  }
}
