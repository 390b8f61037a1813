import type { Engine } from "./connection/open-engine.ts";
import { ownLabel } from "./plan-container.ts";

export interface ContainerRow {
  readonly Id: string;
  readonly Labels: Readonly<Record<string, string>> | null;
  readonly Names: readonly string[] | null;
}

const keptEnd = "-kept";

/** The name of a container from when it is kept; labels cannot be changed. */
export function keptName(name: string): string {
  return `${name.replace(/^\//, "")}${keptEnd}`;
}

/** True for the name of a container that was kept. */
export function isKeptName(name: string): boolean {
  return name.endsWith(keptEnd);
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
