import { readFileSync } from "node:fs";
import type { Clock } from "../../../base/clock.ts";
import type { Host } from "../../../base/host.ts";
import { messageOf, RolloutError, systemCodeOf } from "../../../base/rollout-error.ts";
import { isAbort } from "../../../engine/abort-reason.ts";
import { withDeadline } from "../../../engine/with-deadline.ts";
import type { Capacity } from "../../environment.ts";
import { EngineClient } from "./engine-client.ts";
import { addressOf, type EngineEndpoint } from "./engine-endpoint.ts";
import { EngineError } from "./engine-error.ts";
import { findEngine } from "./find-engine.ts";

/** An engine that answers, and what it is. */
export interface Engine {
  readonly client: EngineClient;
  readonly product: "docker" | "podman";
  readonly version: string;
  readonly apiVersion: string;
  /** It can put a process of its own before ours that reaps what is orphaned. */
  readonly hasInit: boolean;
  readonly hasBuildKit: boolean;
  /** The OCI runtimes that it knows by name; null when it looks at no name. */
  readonly runtimes: readonly string[] | null;
  readonly platform: string;
  /** Why its storage driver cannot limit what a container writes; null when it may be able to. */
  readonly whyNoQuota: string | null;
  /**
   * How well it knows what a container wrote: it lists what stands in the container's own layer, it tells the size of
   * that layer, or it compares sizes and times only, which whoever writes can set.
   */
  readonly layer: "listed" | "measured" | "compared";
  /** Its kernel can limit the number of processes of a container. */
  readonly hasPidsLimit: boolean;
  /** Null when it does not say. */
  readonly capacity: Capacity | null;
  /** What it mounts belongs to the same users here and there, if the paths are the same. */
  readonly mountsHostPaths: boolean;
  /** It is a daemon of root on this machine, in the same network as this process. */
  readonly runsHere: boolean;
  /** How much later it is for the engine than for us; 0 when they agree as well as can be told. */
  readonly clockAheadMs: number;
}

// The newest version of the API that this adapter was written for; an older engine gets its own.
const newestApi = "1.47";
const answerLimitMs = 15_000;

interface VersionAnswer {
  readonly Version?: string;
  readonly ApiVersion?: string;
  readonly Os?: string;
  readonly Arch?: string;
  readonly Components?: readonly { readonly Name?: string; readonly Version?: string }[];
}

interface InfoAnswer {
  readonly InitBinary?: string;
  readonly Runtimes?: Readonly<Record<string, unknown>> | null;
  readonly Name?: string;
  readonly KernelVersion?: string;
  readonly SecurityOptions?: readonly string[] | null;
  readonly NCPU?: number;
  readonly MemTotal?: number;
  readonly Driver?: string;
  readonly DriverStatus?: readonly (readonly [string, string])[] | null;
  readonly PidsLimit?: boolean;
}

/** Finds the engine, agrees on a version and asks what it can; rejects with `provider_unavailable` and the remedy. */
export async function openEngine(options: {
  readonly host: Host;
  readonly clock: Clock;
  readonly timeoutMultiplier: number;
  readonly signal: AbortSignal;
}): Promise<Engine> {
  const { host, clock, timeoutMultiplier, signal } = options;
  signal.throwIfAborted();
  const endpoint = await findEngine(host);
  const client = new EngineClient(endpoint, host, clock);
  const limitMs = answerLimitMs * timeoutMultiplier;
  try {
    return await withDeadline(
      { clock, limitMs, parent: signal, what: "waiting for the engine", graceMs: 1000 },
      (limit) => meet(client, host, clock, limit),
    );
  } catch (error) {
    client[Symbol.dispose]();
    signal.throwIfAborted();
    if (error instanceof EngineError || isAbort(error, "deadline")) throw unavailable(endpoint, error, host);
    throw error;
  }
}

async function meet(client: EngineClient, host: Host, clock: Clock, signal: AbortSignal): Promise<Engine> {
  const pong = await client.open({ method: "GET", path: "/_ping", signal });
  pong.resume();
  const aheadMs = Date.parse(pong.headers.date ?? "") - clock.now();
  const offered = String(pong.headers["api-version"] ?? "1.24");
  const apiVersion = host.env["DOCKER_API_VERSION"] || olderOf(offered, newestApi);
  client.versionPrefix = `/v${apiVersion}`;
  const [version, info] = await Promise.all([
    client.json<VersionAnswer>({ method: "GET", path: "/version", signal }),
    client.json<InfoAnswer>({ method: "GET", path: "/info", signal }),
  ]);
  const isPodman = (version.Components ?? []).some(({ Name }) => /podman/i.test(Name ?? ""));
  const hasOption = (pattern: RegExp): boolean => (info.SecurityOptions ?? []).some((option) => pattern.test(option));
  const isNear = !isPodman && client.endpoint.kind === "unix";
  const builder = pong.headers["builder-version"];
  return {
    client,
    product: isPodman ? "podman" : "docker",
    version: version.Version ?? "unknown",
    apiVersion,
    hasInit: !isPodman && (info.InitBinary ?? "") !== "",
    // Engines of old do not say that they have it.
    hasBuildKit: !isPodman && builder !== "1" && version.Os !== "windows" && isAtLeast(apiVersion, "1.39"),
    runtimes: isPodman || !info.Runtimes ? null : Object.keys(info.Runtimes).sort(),
    platform: `${version.Os ?? "linux"}/${version.Arch ?? "unknown"}`,
    whyNoQuota: explainNoQuota(info),
    layer: findLayer(info, isPodman),
    hasPidsLimit: info.PidsLimit !== false,
    capacity: info.NCPU && info.MemTotal ? { cpus: info.NCPU, memoryBytes: info.MemTotal } : null,
    mountsHostPaths: isNear && !hasOption(/name=(rootless|userns|selinux)/),
    runsHere:
      isNear && !hasOption(/name=rootless/) && info.Name === host.hostname && info.KernelVersion === readKernel(),
    // Its date is told in whole seconds.
    clockAheadMs: Math.abs(aheadMs) > 2000 ? aheadMs : 0,
  };
}

function readKernel(): string | null {
  try {
    return readFileSync("/proc/sys/kernel/osrelease", "utf8").trim();
  } catch {
    return null;
  }
}

function explainNoQuota({ Driver = "", DriverStatus }: InfoAnswer): string | null {
  const backing = DriverStatus?.find(([key]) => key === "Backing Filesystem")?.[1];
  if (!Driver.startsWith("overlay") || backing === undefined || backing === "xfs") return null;
  return `its storage driver is ${Driver} on ${backing}, which has no quotas`;
}

// Without the kernel's own way to tell layers apart, both products walk through all files and compare them.
function findLayer({ Driver = "", DriverStatus }: InfoAnswer, isPodman: boolean): Engine["layer"] {
  const isNative = DriverStatus?.some(([key, value]) => key === "Native Overlay Diff" && value === "true") ?? false;
  if (!isNative) return "compared";
  if (isPodman) return Driver === "overlay" ? "listed" : "compared";
  return Driver === "overlay2" ? "measured" : "compared";
}

function olderOf(one: string, other: string): string {
  return isAtLeast(one, other) ? other : one;
}

/** Compares two versions of the API. */
function isAtLeast(version: string, least: string): boolean {
  const [major = 0, minor = 0] = version.split(".").map(Number);
  const [leastMajor = 0, leastMinor = 0] = least.split(".").map(Number);
  return major === leastMajor ? minor >= leastMinor : major > leastMajor;
}

function unavailable(endpoint: EngineEndpoint, error: unknown, host: Host): RolloutError {
  const where = `${addressOf(endpoint)} (${endpoint.origin})`;
  const otherwise =
    host.platform === "linux" ? "; or use environment.type: local, which needs no engine on this machine" : "";
  const code = error instanceof EngineError ? systemCodeOf(error.cause) : undefined;
  if (code === "EACCES" || code === "EPERM") {
    return new RolloutError("provider_unavailable", `this user may not use the Docker engine at ${where}`, {
      hint: `add the user to the group "docker" and log in again, or use a rootless engine${otherwise}`,
      cause: error,
    });
  }
  const start = "start one (dockerd, Docker Desktop, Colima, `podman system service`) or point DOCKER_HOST at it";
  return new RolloutError("provider_unavailable", `no Docker engine answers at ${where}: ${messageOf(error)}`, {
    hint: `${start}${otherwise}`,
    cause: error,
  });
}
