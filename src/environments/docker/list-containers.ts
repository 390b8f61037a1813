import type { Engine } from "./connection/open-engine.ts";
import { ownLabel } from "./plan-container.ts";

export interface ContainerRow {
  readonly Id: string;
  readonly Labels: Readonly<Record<string, string>> | null;
  readonly State: string;
  /** Seconds since the epoch. */
  readonly Created: number;
}

/** Our containers that carry all the given labels, whoever made them and whatever state they are in. */
export function listContainers(
  engine: Engine,
  labels: Readonly<Record<string, string>>,
  signal: AbortSignal,
): Promise<ContainerRow[]> {
  const wanted = Object.entries({ ...labels, [ownLabel]: "docker" }).map(([key, value]) => `${key}=${value}`);
  const query = { all: true, filters: JSON.stringify({ label: wanted }) };
  return engine.client.json<ContainerRow[]>({ method: "GET", path: "/containers/json", query, signal });
}
