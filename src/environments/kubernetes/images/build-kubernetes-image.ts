import { spawn } from "node:child_process";
import { findTool } from "../../../base/find-tool.ts";
import { messageOf, RolloutError } from "../../../base/rollout-error.ts";
import type { BuildImageRequest } from "../../environment.ts";
import { describeBuildFailure } from "../../images/build-failure.ts";
import { ImageOutput } from "../../images/image-output.ts";
import { findRegistryAuth } from "../../images/registry-auth.ts";
import type { KubernetesConfig } from "../kubernetes-config-schema.ts";
import type { KubernetesGround } from "../kubernetes-ground.ts";
import { hasRegistryImage } from "./registry-client.ts";

const builders = ["docker", "podman", "buildah"] as const;
type Builder = (typeof builders)[number];

/** Builds a task's Dockerfile with a builder of this machine and pushes it; an image that the registry has is not built again. */
export async function buildKubernetesImage(ground: KubernetesGround, request: BuildImageRequest): Promise<string> {
  const { plan, signal } = request;
  signal.throwIfAborted();
  const { config, host, log } = ground;
  const ref = `${config.registry ?? ""}/rollout-task:${plan.key}`;
  const output = new ImageOutput(request.output);
  if (!plan.noCache && (await isThere(ground, ref, signal))) {
    await output.say(`${ref} is there already`);
    return ref;
  }
  const { name, path } = findBuilder(ground);
  log.write("info", `${name} builds ${ref}`);
  const run = (args: readonly string[]): Promise<number> => runBuilder({ path, args, env: host.env, output, signal });
  const code = await run(buildArguments(name, ref, plan, config));
  if (code !== 0) {
    const words = output.tail.trimEnd().split("\n").at(-1) ?? `${name} ended with ${code}`;
    const message = describeBuildFailure(plan.contextDir, words, output.tail);
    throw new RolloutError("image_build_failed", output.withTail(message), { transient: isOutOfReach(output.tail) });
  }
  if ((await run(pushArguments(name, ref, config))) !== 0) {
    throw new RolloutError("image_build_failed", output.withTail(`${ref} was built and cannot be pushed`), {
      hint: `log in with \`${name} login\`, or look at provider_config.registry`,
      transient: isOutOfReach(output.tail),
    });
  }
  return ref;
}

async function isThere({ config, host, log }: KubernetesGround, ref: string, signal: AbortSignal): Promise<boolean> {
  try {
    const auth = await findRegistryAuth(host, ref.split("/")[0] ?? "", signal);
    return (await hasRegistryImage({ ref, auth, isPlain: config.registry_insecure, signal })) ?? false;
  } catch (error) {
    signal.throwIfAborted();
    // A registry that only the nodes can reach is asked by the builder.
    log.write("debug", `asking for ${ref}: ${messageOf(error)}`);
    return false;
  }
}

function findBuilder({ config, host }: KubernetesGround): { readonly name: Builder; readonly path: string } {
  const wanted = config.build.with === undefined ? builders : [config.build.with];
  for (const name of wanted) {
    const path = findTool(name, host.env["PATH"] ?? "");
    if (path !== null) return { name, path };
  }
  throw new RolloutError(
    "image_build_failed",
    `building a Dockerfile takes ${wanted.join(", ")}, and none is on your PATH`,
    {
      hint: "install one, or give the task a docker_image",
    },
  );
}

function buildArguments(
  name: Builder,
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
function pushArguments(name: Builder, ref: string, { registry_insecure: isPlain }: KubernetesConfig): string[] {
  return ["push", ...(isPlain && name !== "docker" ? ["--tls-verify=false"] : []), ref];
}

function isOutOfReach(words: string): boolean {
  return /dial tcp|i\/o timeout|TLS handshake timeout|no such host|connection (refused|reset)|too many requests|server misbehaving/i.test(
    words,
  );
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
