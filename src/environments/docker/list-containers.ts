import type { Engine } from "./connection/open-engine.ts";
import { ownLabel } from "./plan-container.ts";

export interface ContainerRow {
  readonly Id: string;
  readonly Labels: Readonly<Record<string, string>> | null;
  readonly Names: readonly string[] | null;
}

/** What a container is called once it is kept. */
export function keptName(id: string): string {
  return `rollout-kept-${id.slice(0, 12)}`;
}

/** True for a container that was stopped to be kept. */
export function isKept({ Id, Names }: ContainerRow): boolean {
  return (Names ?? []).some((name) => name.replace(/^\//, "") === keptName(Id));
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
