import { randomUUID } from "node:crypto";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { onTestFinished } from "vitest";
import { collect, runScript, type CommandOutcome } from "../../../src/environments/conformance/run-command.ts";
import type {
  CreateEnvironmentRequest,
  Environment,
  EnvironmentProvider,
  ExecRequest,
} from "../../../src/environments/environment.ts";
import { openDocker } from "./open-docker.ts";

const never = new AbortController().signal;
const limits = { cpus: 1, memoryBytes: 512 * 2 ** 20, storageBytes: 2 ** 30 };

/** A provider on a real engine, with what tests of it need; everything is given back when the test is over. */
export interface EngineRoom {
  readonly provider: EnvironmentProvider;
  /** Builds a context and returns the image and what the builder said. */
  readonly build: (
    files: Readonly<Record<string, string>>,
    noCache?: boolean,
  ) => Promise<{ image: string; log: string }>;
  readonly create: (request?: Partial<CreateEnvironmentRequest>) => Promise<Environment>;
  readonly run: (environment: Environment, script: string, request?: Partial<ExecRequest>) => Promise<CommandOutcome>;
}

/** An empty directory that is gone after the test. */
export async function makeRoom(): Promise<string> {
  const directory = await mkdtemp(join(tmpdir(), "rollout-engine-"));
  onTestFinished(() => rm(directory, { recursive: true, force: true }));
  return directory;
}

/** Opens a provider for one test, and for another user than this process's if one is given. */
export async function openRoom(
  env: Readonly<Record<string, string>>,
  config: Record<string, unknown> = {},
  uid?: number,
): Promise<EngineRoom> {
  const provider = await openDocker(env, config, uid);
  onTestFinished(() => provider[Symbol.asyncDispose]());
  return {
    provider,
    async build(files, noCache = false) {
      const contextDir = await makeRoom();
      for (const [path, text] of Object.entries(files)) {
        await mkdir(dirname(join(contextDir, path)), { recursive: true });
        await writeFile(join(contextDir, path), text);
      }
      const task = { taskName: "t", contextDir, dockerImage: null, forceBuild: noCache, limits };
      const { image: plan, problems } = await provider.checkTask(task, never);
      if (plan?.kind !== "build") throw new Error(problems.join("; "));
      const output = collect();
      const image = await provider.buildImage({ plan, output, labels: {}, signal: never });
      return { image, log: output.text() };
    },
    async create(request = {}) {
      const image = "debian:bookworm-slim";
      const name = `test-${randomUUID()}`;
      const given = { image, name, limits, place: [], labels: {}, signal: never, ...request };
      const environment = await provider.createEnvironment(given);
      onTestFinished(() => environment.destroy(never));
      return environment;
    },
    run: (environment, script, request = {}) => runScript(environment, script, { signal: never, ...request }),
  };
}
