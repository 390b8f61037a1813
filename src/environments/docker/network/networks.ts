import type { Clock } from "../../../base/clock.ts";
import { hasStatus } from "../connection/engine-error.ts";
import type { Engine } from "../connection/open-engine.ts";

const mostTries = 150;
const pollMs = 100;

/** The label that tells our networks from everybody else's; its value names the bridge and the rules. */
export const markLabel = "rollout.network";

/** A network that some process of ours has made. */
export interface NetworkRow {
  readonly Name: string;
  readonly Labels: Readonly<Record<string, string>> | null;
}

/** Every network of ours, whoever made it. */
export function listNetworks(engine: Engine, signal: AbortSignal): Promise<NetworkRow[]> {
  const query = { filters: JSON.stringify({ label: [markLabel] }) };
  return engine.client.json<NetworkRow[]>({ method: "GET", path: "/networks", query, signal });
}

/** Takes everything out of a network and removes it; one that is gone is fine. */
export async function removeNetwork(
  { engine, clock }: { readonly engine: Engine; readonly clock: Clock },
  name: string,
  signal: AbortSignal,
): Promise<void> {
  const path = `/networks/${name}`;
  for (let tries = 1; ; tries++) {
    try {
      for (const id of await listMembers(engine, path, signal)) await disconnect(engine, name, id, signal);
      await engine.client.text({ method: "DELETE", path, signal });
      return;
    } catch (error) {
      if (hasStatus(error, 404)) return;
      // A container that somebody else removes at this moment is still in it, and an engine says so in several ways.
      if (!hasStatus(error, 403, 409, 500) || tries === mostTries) throw error;
    }
    await clock.sleep(pollMs, signal);
  }
}

async function listMembers(engine: Engine, path: string, signal: AbortSignal): Promise<string[]> {
  const answer = await engine.client.json<{ readonly Containers?: Readonly<Record<string, unknown>> | null }>({
    method: "GET",
    path,
    signal,
  });
  return Object.keys(answer.Containers ?? {});
}

/** Takes a container out of a network at once; one that is not in it, or is gone, is fine. */
export async function disconnect(engine: Engine, name: string, id: string, signal: AbortSignal): Promise<void> {
  const path = `/networks/${encodeURIComponent(name)}/disconnect`;
  try {
    await engine.client.text({ method: "POST", path, json: { Container: id, Force: true }, signal });
  } catch (error) {
    if (await isIn(engine, name, id, signal)) throw error;
  }
}

async function isIn(engine: Engine, name: string, id: string, signal: AbortSignal): Promise<boolean> {
  try {
    return (await readNetworks(engine, id, signal)).has(name);
  } catch (error) {
    if (hasStatus(error, 404)) return false;
    throw error;
  }
}

/** Puts a container into a network. */
export async function join(engine: Engine, name: string, id: string, signal: AbortSignal): Promise<void> {
  const path = `/networks/${encodeURIComponent(name)}/connect`;
  await engine.client.text({ method: "POST", path, json: { Container: id }, signal });
}

/** The networks that a container is in, each with its address there. */
export async function readNetworks(
  engine: Engine,
  id: string,
  signal: AbortSignal,
): Promise<ReadonlyMap<string, string>> {
  const { NetworkSettings } = await engine.client.json<{
    readonly NetworkSettings?: {
      readonly Networks?: Readonly<Record<string, { readonly IPAddress?: string } | null>> | null;
    };
  }>({ method: "GET", path: `/containers/${id}/json`, signal });
  const rows = Object.entries(NetworkSettings?.Networks ?? {});
  return new Map(rows.map(([name, row]) => [name, row?.IPAddress ?? ""]));
}
