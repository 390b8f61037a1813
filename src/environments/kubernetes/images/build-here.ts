import { spawn } from "node:child_process";
import { RolloutError } from "../../../base/rollout-error.ts";
import type { BuildImageRequest } from "../../environment.ts";
import { describeBuildFailure, isEngineAway, isOutOfReach } from "../../images/build-failure.ts";
import type { ImageOutput } from "../../images/image-output.ts";
import type { KubernetesConfig } from "../kubernetes-config-schema.ts";
import type { KubernetesGround } from "../kubernetes-ground.ts";
import { findBuilder, type BuilderName } from "./find-builder.ts";

const engineHint =
  "start it, name another one in provider_config.build.with, or one of the cluster in provider_config.builder";

export interface BuildHereRequest extends Pick<BuildImageRequest, "plan" | "signal"> {
  readonly ref: string;
  readonly output: ImageOutput;
}

/** Builds a Dockerfile with a builder of this machine and pushes it. */
export async function buildHere(ground: KubernetesGround, request: BuildHereRequest): Promise<void> {
  const { ref, plan, output, signal } = request;
  const { config, host, log } = ground;
  const { name, path } = await findBuilder(ground, signal);
  log.write("info", `${name} builds ${ref}`);
  const run = (args: readonly string[]): Promise<number> => runBuilder({ path, args, env: host.env, output, signal });
  const code = await run(buildArguments(name, ref, plan, config));
  if (code !== 0) throw buildFailure(plan.contextDir, output, `${name} ended with ${code}`);
  if ((await run(pushArguments(name, ref, config))) !== 0) {
    throw new RolloutError("image_build_failed", output.withTail(`${ref} was built and cannot be pushed`), {
      hint: `log in with \`${name} login\`, or look at provider_config.registry`,
      transient: isOutOfReach(output.tail),
    });
  }
}

/** What a build that failed is told as, by the last words of its builder. */
export function buildFailure(contextDir: string, output: ImageOutput, otherwise: string): RolloutError {
  const words = output.tail.trimEnd().split("\n").at(-1) || otherwise;
  const message = describeBuildFailure(contextDir, words, output.tail);
  return new RolloutError("image_build_failed", output.withTail(message), {
    hint: isEngineAway(output.tail) ? engineHint : undefined,
    transient: isOutOfReach(output.tail),
  });
}

function buildArguments(
  name: BuilderName,
  ref: string,
  plan: BuildImageRequest["plan"],
  { build }: KubernetesConfig,
): string[] {
  return [
    name === "buildah" ? "bud" : "build",
    "-t",
    ref,
    ...(plan.noCache ? ["--no-cache"] : []),
    ...(build.target === undefined ? [] : ["--target", build.target]),
    ...(build.platform === undefined ? [] : ["--platform", build.platform]),
    ...Object.entries(build.args).flatMap(([key, value]) => ["--build-arg", `${key}=${value}`]),
    plan.contextDir,
  ];
}

// Docker decides by the registry's address whether it may be spoken to in plain.
function pushArguments(name: BuilderName, ref: string, { registry_insecure: isPlain }: KubernetesConfig): string[] {
  return ["push", ...(isPlain && name !== "docker" ? ["--tls-verify=false"] : []), ref];
}

function runBuilder(options: {
  readonly path: string;
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly output: ImageOutput;
  readonly signal: AbortSignal;
}): Promise<number> {
  const { path, args, env, output, signal } = options;
  return new Promise((resolve, reject) => {
    const child = spawn(path, args, { env: { ...env }, stdio: ["ignore", "pipe", "pipe"] });
    const onAbort = (): void => void child.kill("SIGTERM");
    signal.addEventListener("abort", onAbort, { once: true });
    for (const stream of [child.stdout, child.stderr]) {
      stream.setEncoding("utf8").on("data", (text: string) => {
        stream.pause();
        void output.write(text).then(() => stream.resume(), reject);
      });
    }
    child.on("error", (error) =>
      reject(new RolloutError("image_build_failed", `${path}: ${error.message}`, { cause: error })),
    );
    child.on("close", (code) => {
      signal.removeEventListener("abort", onAbort);
      if (signal.aborted) reject(signal.reason);
      else resolve(code ?? 1);
    });
  });
}
