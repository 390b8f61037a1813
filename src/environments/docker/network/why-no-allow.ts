import { readFileSync } from "node:fs";
import { findTool } from "../../../base/find-tool.ts";
import type { Host } from "../../../base/host.ts";
import { toolPath } from "../../../base/tool-path.ts";
import type { EngineEndpoint } from "../connection/engine-endpoint.ts";
import type { Engine } from "../connection/open-engine.ts";
import { whyNoRules } from "./bridge-guard.ts";

/** The path of iptables for a process that may use it; null when it may not, or when there is none. */
export function findIptables(host: Host): string | null {
  return host.platform === "linux" && host.uid === 0 ? findTool("iptables", toolPath(host)) : null;
}

/** Why a list of allowed hosts cannot be enforced, as far as that is known before the engine is asked; null when it may be. */
export function whyNoAllowHere(host: Host, endpoint: EngineEndpoint | null): string | null {
  if (host.platform !== "linux") return "it needs a Linux machine";
  if (endpoint !== null && endpoint.kind !== "unix") return "it needs an engine on this machine";
  if (host.uid !== 0) return "rollout has to run as root";
  return findIptables(host) === null ? "install iptables" : null;
}

/** Why a list of allowed hosts cannot be enforced with an engine that answers; null when it can. */
export async function whyNoAllowWith(engine: Engine, host: Host): Promise<string | null> {
  const here = whyNoAllowHere(host, engine.client.endpoint);
  if (here !== null) return here;
  if (engine.product !== "docker") return "it needs Docker's own engine";
  if (!engine.runsHere) return "it needs an engine that runs on this machine as root";
  const tool = findIptables(host);
  return (tool && (await whyNoRules(tool))) ?? whyNamesLeak(engine.version);
}

// Engines of old pass questions for names on to a resolver on the machine's loopback address, whatever network they come from.
function whyNamesLeak(version: string): string | null {
  const [major = 0, minor = 0, patch = 0] = version.split(/[.+-]/).map(Number);
  const isMended = major > 25 || (major === 25 && (minor > 0 || patch >= 5)) || (major === 23 && patch >= 11);
  if (isMended) return null;
  const servers = [...readResolvers().matchAll(/^\s*nameserver\s+(\S+)/gm)].map(([, server]) => server ?? "");
  // The engine knows this one and asks those behind it.
  if (servers.length === 1 && servers[0] === "127.0.0.53") return null;
  if (!servers.some((server) => server === "::1" || server.startsWith("127."))) return null;
  return `names asked for inside would leave through the resolver of this machine with Docker ${version}: take 25.0.5 or later`;
}

function readResolvers(): string {
  try {
    return readFileSync("/etc/resolv.conf", "utf8");
  } catch {
    return "";
  }
}
