import { randomUUID } from "node:crypto";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import type { CreateEnvironmentRequest, Environment, EnvironmentProvider, TaskEnvironment } from "../environment.ts";
import type { ConformanceCase, ConformanceSubject } from "./conformance-case.ts";

/** The provider under test and what it needs to be tested. */
export interface ConformanceOptions {
  /** Opens the provider and names a directory inside its environments that cases may fill; `tempDir` is removed later. */
  open(tempDir: string): Promise<{ readonly provider: EnvironmentProvider; readonly scratch: string }>;
  /** What the environments are made from; without an image and a context the provider's own base is used. */
  readonly task?: Partial<TaskEnvironment> | undefined;
  /** An image that a Dockerfile may start from; `scratch` when absent. */
  readonly baseImage?: string | undefined;
  /** A task that cannot run; when absent, one that forces a build without a Dockerfile. */
  readonly impossibleTask?: TaskEnvironment | undefined;
  /** How long a case waits for what a broken provider never does; 15 seconds when absent. */
  readonly patienceMs?: number | undefined;
  readonly signal: AbortSignal;
}

const plainTask: TaskEnvironment = {
  taskName: "conformance",
  contextDir: null,
  dockerImage: null,
  forceBuild: false,
  limits: { cpus: 1, memoryBytes: 512 * 2 ** 20, storageBytes: 2 ** 30 },
};

/** Runs one case on a provider of its own and gives back everything it made, whatever came of it. */
export async function runConformanceCase(conformanceCase: ConformanceCase, options: ConformanceOptions): Promise<void> {
  const tempDir = await mkdtemp(join(tmpdir(), "rollout-conformance-"));
  const stack = new AsyncDisposableStack();
  stack.defer(() => rm(tempDir, { recursive: true, force: true }));
  let failure: { readonly error: unknown } | undefined;
  try {
    const { provider, scratch } = await options.open(tempDir);
    stack.use(provider);
    await conformanceCase.run(await prepareSubject({ provider, scratch, tempDir, stack }, options));
  } catch (error) {
    failure = { error };
  }
  // What the case found matters more than what then went wrong while tidying up.
  await stack.disposeAsync().catch((error: unknown) => (failure ??= { error }));
  if (failure) throw failure.error;
}

interface Ground {
  readonly provider: EnvironmentProvider;
  readonly scratch: string;
  readonly tempDir: string;
  readonly stack: AsyncDisposableStack;
}

async function prepareSubject(ground: Ground, options: ConformanceOptions): Promise<ConformanceSubject> {
  const { provider, scratch, tempDir, stack } = ground;
  const { signal, baseImage = "scratch", patienceMs = 15_000 } = options;
  const impossibleTask = options.impossibleTask ?? { ...plainTask, forceBuild: true };
  const task = { ...plainTask, ...options.task };
  const teardown = new AbortController().signal;
  const hostDir = join(tempDir, "host");
  await mkdir(hostDir);
  const createEnvironment = async (overrides: Partial<CreateEnvironmentRequest> = {}): Promise<Environment> => {
    const environment = await provider.createEnvironment({
      image: overrides.image ?? (await prepareImage(provider, task, signal)),
      name: `conformance-${randomUUID()}`,
      limits: task.limits,
      place: [],
      labels: {},
      signal,
      ...overrides,
    });
    stack.defer(() => environment.destroy(teardown));
    return environment;
  };
  const taskDir = (files: Readonly<Record<string, string>>): Promise<string> => writeFiles(tempDir, files);
  return { provider, scratch, hostDir, baseImage, impossibleTask, patienceMs, signal, createEnvironment, taskDir };
}

async function prepareImage(
  provider: EnvironmentProvider,
  task: TaskEnvironment,
  signal: AbortSignal,
): Promise<string> {
  const { image: plan, problems } = await provider.checkTask(task, signal);
  if (plan === null) throw new Error(`the provider cannot run the task of the suite: ${problems.join("; ")}`);
  const output = { write: () => {} };
  if (plan.kind === "build") return provider.buildImage({ plan, output, labels: {}, signal });
  return plan.kind === "pull" ? provider.pullImage({ plan, output, signal }) : plan.ref;
}

async function writeFiles(tempDir: string, files: Readonly<Record<string, string>>): Promise<string> {
  const root = await mkdtemp(join(tempDir, "task-"));
  for (const [path, content] of Object.entries(files)) {
    await mkdir(dirname(join(root, path)), { recursive: true });
    await writeFile(join(root, path), content);
  }
  return root;
}
