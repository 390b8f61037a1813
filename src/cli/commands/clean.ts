import { resolve } from "node:path";
import { plainJson } from "../../base/plain-json.ts";
import { messageOf, RolloutError } from "../../base/rollout-error.ts";
import { plainText } from "../../base/terminal-text.ts";
import type { EnvironmentProvider, FoundEnvironment } from "../../environments/environment.ts";
import { knownProviderNames } from "../../environments/registry.ts";
import { isOwned, ownerOfEnvironment } from "../../jobs/abandoned-environments.ts";
import { readJobEnvironment } from "../../jobs/output/read-environment.ts";
import type { CliContext } from "../cli-context.ts";
import { cleanInstalls, type InstallOutcome } from "../clean-installs.ts";
import { exitCodes } from "../exit-codes.ts";
import { listenToInterrupts } from "../interrupts.ts";
import { openProvider } from "../open-provider.ts";

export interface CleanOptions {
  readonly provider?: string;
  readonly kept?: boolean;
  readonly cachedInstalls?: boolean;
  readonly dryRun?: boolean;
  readonly json?: boolean;
}

interface Candidate {
  readonly provider: EnvironmentProvider;
  readonly found: FoundEnvironment;
}

interface Outcome {
  readonly id: string;
  readonly provider: string;
  readonly job: string | null;
  readonly status: "removed" | "would_be_removed" | "kept" | "in_use" | "failed";
  readonly message: string;
}

/** `rollout clean`: removes what killed runs left; job directories and ids name what else goes. */
export async function cleanCommand(
  targets: readonly string[],
  options: CleanOptions,
  context: CliContext,
): Promise<number> {
  using interrupts = listenToInterrupts(
    context.process,
    () => {},
    () => {},
  );
  const { signal } = interrupts;
  await using providers = new AsyncDisposableStack();
  if (options.cachedInstalls && targets.length > 0)
    throw new RolloutError("usage_invalid", "--cached-installs takes no targets: what is cached belongs to no job");
  const unanswered: string[] = [];
  const answered: EnvironmentProvider[] = [];
  const candidates =
    targets.length === 0
      ? await findEverywhere(providers, answered, unanswered, options.provider, context, signal)
      : await findNamed(targets, providers, options.provider, context, signal);
  const outcomes: Outcome[] = [];
  for (const candidate of candidates) {
    outcomes.push(await treat(candidate, { ...options, isNamed: targets.length > 0 }, context, signal));
  }
  const installs = options.cachedInstalls
    ? await cleanInstalls(answered, { isDryRun: options.dryRun === true, signal })
    : [];
  print(outcomes, installs, unanswered, options, context);
  return [...outcomes, ...installs].some(({ status }) => status === "failed") ? exitCodes.incomplete : exitCodes.done;
}

async function findEverywhere(
  providers: AsyncDisposableStack,
  answered: EnvironmentProvider[],
  unanswered: string[],
  only: string | undefined,
  context: CliContext,
  signal: AbortSignal,
): Promise<Candidate[]> {
  const candidates: Candidate[] = [];
  for (const type of only === undefined ? knownProviderNames() : [only]) {
    try {
      const wish = { type, providerConfig: {}, baseDir: context.host.cwd };
      const provider = providers.use(await openProvider(wish, context, signal));
      const all = await provider.findEnvironments({}, signal);
      answered.push(provider);
      // What carries no owner was not made by a job.
      candidates.push(
        ...all.filter((found) => ownerOfEnvironment(found) !== null).map((found) => ({ provider, found })),
      );
    } catch (error) {
      signal.throwIfAborted();
      if (!(error instanceof RolloutError) || only !== undefined) throw error;
      if (error.code !== "config_invalid") unanswered.push(`${type}: not looked at: ${messageOf(error)}`);
    }
  }
  return candidates;
}

async function findNamed(
  targets: readonly string[],
  providers: AsyncDisposableStack,
  only: string | undefined,
  context: CliContext,
  signal: AbortSignal,
): Promise<Candidate[]> {
  const candidates: Candidate[] = [];
  let everywhere: readonly Candidate[] | null = null;
  for (const target of targets) {
    const job = await readJobEnvironment(resolve(context.host.cwd, target), context.host.env);
    if (job) {
      const provider = providers.use(await openProvider(job, context, signal));
      for (const runId of job.runIds) {
        const found = await provider.findEnvironments({ "rollout.run": runId }, signal);
        candidates.push(...found.map((entry) => ({ provider, found: entry })));
      }
      continue;
    }
    everywhere ??= await findEverywhere(providers, [], [], only, context, signal);
    const match = everywhere.find(({ found }) => found.id === target);
    if (!match) {
      throw new RolloutError("not_found", `${target} is neither a job directory nor an environment that is there`, {
        hint: "rollout clean --dry-run lists what there is",
      });
    }
    candidates.push(match);
  }
  return candidates;
}

async function treat(
  { provider, found }: Candidate,
  options: CleanOptions & { readonly isNamed: boolean },
  { host }: CliContext,
  signal: AbortSignal,
): Promise<Outcome> {
  const { id, labels, isKept } = found;
  const about = { id, provider: provider.name, job: labels["rollout.job"] ?? null };
  const owner = ownerOfEnvironment(found);
  const whose = owner ? `process ${owner.pid} on ${owner.hostname}` : "nobody known";
  if (!isKept && isOwned(found, host)) return { ...about, status: "in_use", message: `in use by ${whose}` };
  if (isKept && !options.isNamed && options.kept !== true) {
    return { ...about, status: "kept", message: "kept on purpose; --kept removes it" };
  }
  const origin = isKept ? "kept on purpose" : `left by ${whose}`;
  if (options.dryRun) return { ...about, status: "would_be_removed", message: `would be removed: ${origin}` };
  try {
    await provider.removeEnvironment(id, signal);
    return { ...about, status: "removed", message: `removed: ${origin}` };
  } catch (error) {
    signal.throwIfAborted();
    return { ...about, status: "failed", message: `is still there: ${messageOf(error)}` };
  }
}

function print(
  outcomes: readonly Outcome[],
  installs: readonly InstallOutcome[],
  unanswered: readonly string[],
  options: CleanOptions,
  { terminal }: CliContext,
): void {
  if (options.json) {
    const found = { environments: outcomes, cached_installs: installs, not_looked_at: unanswered };
    terminal.out(`${plainJson({ schema_version: 1, ...found }, 2)}\n`);
    return;
  }
  for (const { id, provider, job, message } of outcomes) {
    terminal.out(plainText(`${provider}: ${id}${job === null ? "" : ` of job ${job}`}: ${message}`) + "\n");
  }
  for (const { provider, key, message } of installs)
    terminal.out(plainText(`${provider}: cached install ${key}: ${message}`) + "\n");
  for (const line of unanswered) terminal.err(plainText(line) + "\n");
  if (outcomes.length + installs.length === 0) terminal.out("nothing is left of any run\n");
}
