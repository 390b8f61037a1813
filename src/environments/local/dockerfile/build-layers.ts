import { createHash, randomUUID } from "node:crypto";
import { existsSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { messageOf, RolloutError } from "../../../base/rollout-error.ts";
import type { OutputSink } from "../../environment.ts";
import { writeInside } from "../copy-in.ts";
import { createLocalEnvironment } from "../create-local-environment.ts";
import type { LocalEnvironment } from "../local-environment.ts";
import type { PreparedGround } from "../local-ground.ts";
import type { LocalImage } from "../local-image.ts";
import type { Layer } from "../plan-mounts.ts";
import { dropEmptyParts } from "../snapshots/drop-empty-parts.ts";
import { publish } from "../toolbox.ts";
import { hashSource, type BuildContext } from "../../archive/build-context.ts";
import { resolveSources, runCopyStep } from "./copy-step.ts";
import { OutputTail } from "./output-tail.ts";
import type { Replay, ReplayStep } from "./plan-replay.ts";

const manyBytes = 2 ** 50;

export interface BuildRequest {
  readonly replay: Replay;
  readonly context: BuildContext;
  /** Every step is run again, and its layers are new ones. */
  readonly noCache: boolean;
  readonly output: OutputSink;
  readonly signal: AbortSignal;
}

/** Replays the steps of a Dockerfile on the base, one layer each, and gives the layers, topmost first. */
export async function buildLayers(ground: PreparedGround, request: BuildRequest): Promise<Layer[]> {
  const { replay, context, output, signal } = request;
  const salt = request.noCache ? randomUUID() : "";
  let key = shortHash([ground.base.key, ground.idMap, salt]);
  let layers: Layer[] = [];
  const say = async (line: string): Promise<void> => output.write(Buffer.from(`${line}\n`));
  for (const [index, step] of replay.steps.entries()) {
    signal.throwIfAborted();
    const sources = step.kind === "copy" ? resolveSources(step, context) : [];
    const contents = await Promise.all(sources.map((source) => hashSource(context, source, signal)));
    const { line: _line, text: _text, ...content } = step;
    key = shortHash([key, content, sources, contents]);
    const title = `step ${index + 1} of ${replay.steps.length}: ${step.text}`;
    const directory = join(ground.layout.layers, key);
    if (existsSync(directory)) await say(`${title} (cached)`);
    else {
      await say(title);
      await buildLayer(ground, request, step, layers, directory);
    }
    layers = [{ key, parts: readdirSync(directory) }, ...layers];
  }
  return layers;
}

async function buildLayer(
  ground: PreparedGround,
  request: BuildRequest,
  step: ReplayStep,
  layers: readonly Layer[],
  directory: string,
): Promise<void> {
  const { signal } = request;
  const image: LocalImage = { name: "build", layers, env: {}, workdir: "/", user: "", deviations: [] };
  const { cpus, memoryBytes } = ground.host;
  const environment = await createLocalEnvironment(ground, {
    image,
    isBuild: true,
    name: `build-${step.line}`,
    limits: { cpus, memoryBytes, storageBytes: manyBytes },
    place: [],
    labels: { "rollout.build": "true" },
    signal,
    onEnded: () => {},
  });
  try {
    await runStep(environment, ground, request, step);
    await environment.halt();
    const upper = join(environment.directory, "disk", "upper");
    dropEmptyParts(upper);
    publish(upper, directory);
  } finally {
    // Its own deadline is the teardown of whoever builds; a build that was aborted must not leave its sandbox.
    await environment.destroy(new AbortController().signal);
  }
}

async function runStep(
  environment: LocalEnvironment,
  ground: PreparedGround,
  { replay, context, output, signal }: BuildRequest,
  step: ReplayStep,
): Promise<void> {
  const hasOwners = ground.capabilities.owners;
  const tail = new OutputTail(output);
  try {
    if (step.kind === "copy") return await runCopyStep(environment, step, context, hasOwners, signal);
    if (step.kind === "directory") return await makeDirectory(environment, step.path, signal);
    const { exitCode, signal: killer } = await environment.exec({
      command: step.command,
      env: step.env,
      cwd: step.cwd,
      user: ground.capabilities.users ? step.user : "",
      stdout: tail,
      stderr: tail,
      signal,
    });
    if (exitCode === 0) return;
    const how = killer === null ? `exit code ${exitCode}` : killer;
    throw new RolloutError("image_build_failed", `${step.text} ended with ${how}`);
  } catch (error) {
    signal.throwIfAborted();
    const isPlain = error instanceof RolloutError && error.code === "image_build_failed";
    const message = `Dockerfile line ${step.line}: ${isPlain ? "" : `${step.text}: `}${messageOf(error)}`;
    const lines = tail.lines();
    const words = lines.length > 0 ? `; it last printed:\n${lines.join("\n")}` : "";
    const where = `\n(replayed on ${ground.base.description}, not on ${replay.from})`;
    throw new RolloutError("image_build_failed", message + words + where, { cause: error });
  }
}

async function makeDirectory(environment: LocalEnvironment, path: string, signal: AbortSignal): Promise<void> {
  const nothing = { emptied: [], removed: [], entries: null, extraOptions: [], hasOwners: false };
  await writeInside(environment.runner, { ...nothing, parents: [path], signal });
}

function shortHash(value: unknown): string {
  return createHash("sha256").update(JSON.stringify(value)).digest("hex").slice(0, 20);
}
