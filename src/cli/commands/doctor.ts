import { existsSync } from "node:fs";
import { plainJson } from "../../base/plain-json.ts";
import { findTool } from "../../base/find-tool.ts";
import { messageOf, RolloutError } from "../../base/rollout-error.ts";
import { plainText } from "../../base/terminal-text.ts";
import type { Capabilities } from "../../environments/environment.ts";
import { knownProviderNames } from "../../environments/registry.ts";
import type { CliContext } from "../cli-context.ts";
import { exitCodes } from "../exit-codes.ts";
import { listenToInterrupts } from "../interrupts.ts";
import { openProvider } from "../open-provider.ts";

interface Finding {
  readonly type: string;
  /** Null when it cannot be asked without settings of its own. */
  readonly works: boolean | null;
  readonly words: readonly string[];
}

/** `rollout doctor`: what this machine can run, what is missing and how to get it. */
export async function doctorCommand(options: { readonly json?: boolean }, context: CliContext): Promise<number> {
  const { terminal } = context;
  using interrupts = listenToInterrupts(
    context.process,
    () => {},
    () => {},
  );
  const findings: Finding[] = [];
  for (const type of knownProviderNames()) findings.push(await examine(type, context, interrupts.signal));
  findings.push(await examinePodman(context, interrupts.signal));
  if (options.json) terminal.out(`${plainJson({ schema_version: 1, environments: findings }, 2)}\n`);
  else for (const finding of findings) terminal.out(describe(finding));
  return findings.some(({ works }) => works === true) ? exitCodes.done : exitCodes.usage;
}

async function examine(type: string, context: CliContext, signal: AbortSignal): Promise<Finding> {
  try {
    await using provider = await openProvider({ type, providerConfig: {}, baseDir: context.host.cwd }, context, signal);
    const notes = await provider.probe(signal);
    const better = notes.map((note) => `to have ${note}`);
    const engine = (await provider.describe?.(signal)) ?? null;
    const words = [...describeCapabilities(provider.capabilities), ...better];
    return { type, works: true, words: engine === null ? words : [engine, ...words] };
  } catch (error) {
    if (error instanceof RolloutError && error.code === "config_invalid") {
      return { type, works: null, words: [`${error.message}; it is for trying things and for tests`] };
    }
    const hint = error instanceof RolloutError && error.hint !== undefined ? [error.hint] : [];
    return { type, works: false, words: [messageOf(error), ...hint] };
  }
}

// Podman speaks Docker's language at a socket of its own.
async function examinePodman(context: CliContext, signal: AbortSignal): Promise<Finding> {
  const { host } = context;
  const type = "podman";
  const places = ["/run/podman", `${host.env["XDG_RUNTIME_DIR"] ?? `/run/user/${host.uid}`}/podman`];
  const socket = places.map((place) => `${place}/podman.sock`).find((path) => existsSync(path));
  if (socket === undefined) {
    const start = findTool("podman", host.env["PATH"] ?? "") === null ? "install podman, then " : "";
    const words = [`no socket in ${places.join(" or ")}`, `${start}systemctl --user start podman.socket`];
    return { type, works: false, words };
  }
  const address = `unix://${socket}`;
  const withPodman = { ...context, host: { ...host, env: { ...host.env, DOCKER_HOST: address } } };
  const { works, words } = await examine("docker", withPodman, signal);
  const how = works ? [`use it with environment.type: docker and DOCKER_HOST=${address}`] : [];
  return { type, works, words: [...how, ...words] };
}

function describeCapabilities({ limits, network, users }: Capabilities): string[] {
  const kept = Object.entries(limits).map(([name, enforcement]) => `${name} ${enforcement}`);
  return [
    `limits: ${kept.join(", ")}`,
    `network: ${["full", ...network].join(", ")}`,
    `other users inside: ${users ? "yes" : "no"}`,
  ];
}

function describe({ type, works, words }: Finding): string {
  const verdict = works === null ? "ready when configured" : works ? "can run here" : "cannot run here";
  return `${[`${type}: ${verdict}`, ...words.map((word) => `  ${plainText(word)}`)].join("\n")}\n`;
}
