import { execFile } from "node:child_process";
import { findTool } from "../../../base/find-tool.ts";
import { messageOf, RolloutError } from "../../../base/rollout-error.ts";
import { startDeadline } from "../../../engine/deadline.ts";
import type { KubernetesGround } from "../kubernetes-ground.ts";

const answerMs = 15_000;
// What only a builder that can work answers: docker with its engine, the others with their storage.
const questions = { docker: ["version"], podman: ["info"], buildah: ["info"] } as const;
const builders = ["docker", "podman", "buildah"] as const;

export type BuilderName = (typeof builders)[number];

export interface FoundBuilder {
  readonly name: BuilderName;
  readonly path: string;
}

type BuilderGround = Pick<KubernetesGround, "config" | "host" | "clock">;

/** The builder of this machine that the settings name, else the first that works; rejects with what is wrong with each. */
export async function findBuilder(ground: BuilderGround, signal: AbortSignal): Promise<FoundBuilder> {
  const { with: wanted } = ground.config.build;
  const found = (wanted === undefined ? builders : [wanted]).map((name) => locate(ground, name));
  const there = found.filter((each) => each !== null);
  if (there.length === 0) throw nothingThere(wanted);
  const [first] = there;
  if (wanted !== undefined && first !== undefined) return first;
  const complaints: string[] = [];
  for (const builder of there) {
    const complaint = await ask(ground, builder, signal);
    if (complaint === null) return builder;
    complaints.push(`${builder.name}: ${complaint}`);
  }
  const absent = builders.filter((name) => !there.some((each) => each.name === name));
  const rest = absent.length === 0 ? [] : [`not on your PATH: ${absent.join(", ")}`];
  throw new RolloutError(
    "image_build_failed",
    `no builder of this machine works: ${[...complaints, ...rest].join("; ")}`,
    { hint: "start one of them, or name one of the cluster in provider_config.builder", transient: true },
  );
}

function locate({ host }: BuilderGround, name: BuilderName): FoundBuilder | null {
  const path = findTool(name, host.env["PATH"] ?? "");
  return path === null ? null : { name, path };
}

// Null when it works, else its last words.
async function ask(
  { host, clock }: BuilderGround,
  { name, path }: FoundBuilder,
  parent: AbortSignal,
): Promise<string | null> {
  using deadline = startDeadline({ clock, limitMs: answerMs, parent, what: `${name} ${questions[name][0]}` });
  const { signal } = deadline;
  const complaint = await new Promise<string | null>((resolve) => {
    execFile(path, questions[name], { env: { ...host.env }, signal }, (error, _stdout, stderr) => {
      if (error === null) resolve(null);
      else resolve(stderr.trimEnd().split("\n").at(-1) || messageOf(error));
    });
  });
  parent.throwIfAborted();
  return signal.aborted ? messageOf(signal.reason) : complaint;
}

function nothingThere(wanted: BuilderName | undefined): RolloutError {
  return new RolloutError(
    "config_invalid",
    wanted === undefined
      ? `building a Dockerfile takes ${builders.join(", ")}, and none is on your PATH`
      : `${wanted} is to build a Dockerfile (provider_config.build.with), and is not on your PATH`,
    { hint: "install one, name one of the cluster in provider_config.builder, or give the task a docker_image" },
  );
}
