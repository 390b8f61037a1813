import { spawn } from "node:child_process";
import { z } from "zod";
import type { Clock } from "../../../base/clock.ts";
import { messageOf, RolloutError } from "../../../base/rollout-error.ts";
import type { CredentialSource, Credentials } from "./cluster-endpoint.ts";

// New ones are asked for a little before the old ones end.
const earlyMs = 60_000;

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

/** Credentials that a program prints, asked for again when they end or are refused. */
export function execCredentials(
  program: CredentialProgram,
  env: Readonly<Record<string, string | undefined>>,
  clock: Clock,
): CredentialSource {
  let held: { readonly credentials: Promise<Credentials>; untilMs: number } | null = null;
  const ask = (): Promise<Credentials> => {
    const asked: { credentials: Promise<Credentials>; untilMs: number } = {
      untilMs: Number.POSITIVE_INFINITY,
      credentials: runProgram(program, env).then(({ status }) => {
        const end = Date.parse(status.expirationTimestamp ?? "");
        if (Number.isFinite(end)) asked.untilMs = end - earlyMs;
        return {
          token: status.token ?? null,
          cert: status.clientCertificateData ?? null,
          key: status.clientKeyData ?? null,
        };
      }),
    };
    asked.credentials.catch(() => (held = null));
    held = asked;
    return asked.credentials;
  };
  return {
    get: () => (held !== null && clock.now() < held.untilMs ? held.credentials : ask()),
    forget: () => void (held = null),
  };
}

async function runProgram(
  program: CredentialProgram,
  env: Readonly<Record<string, string | undefined>>,
): Promise<z.infer<typeof answerSchema>> {
  const info = { apiVersion: program.apiVersion, kind: "ExecCredential", spec: { interactive: false } };
  const all = { ...env, ...program.env, KUBERNETES_EXEC_INFO: JSON.stringify(info) };
  const fail = (why: string, cause?: unknown): RolloutError =>
    new RolloutError("provider_unavailable", `${program.command}, which gives the credentials: ${why}`, {
      cause,
      hint: program.hint,
      transient: false,
    });
  const { code, stdout, stderr } = await new Promise<{ code: number | null; stdout: string; stderr: string }>(
    (resolve, reject) => {
      const child = spawn(program.command, program.args, { env: all, stdio: ["ignore", "pipe", "pipe"] });
      let [stdout, stderr] = ["", ""];
      child.stdout.on("data", (chunk: Buffer) => (stdout += chunk.toString("utf8")));
      child.stderr.on("data", (chunk: Buffer) => (stderr = (stderr + chunk.toString("utf8")).slice(-2000)));
      child.on("error", (error) => reject(fail(error.message, error)));
      child.on("close", (code) => resolve({ code, stdout, stderr }));
    },
  );
  if (code !== 0) throw fail(stderr.trim() || `it ended with ${code}`);
  try {
    return answerSchema.parse(JSON.parse(stdout));
  } catch (error) {
    throw fail(`what it printed are no credentials: ${messageOf(error)}`, error);
  }
}
