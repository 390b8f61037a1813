import { readJsonLines } from "../json-lines.ts";
import type { Engine } from "./connection/open-engine.ts";

const never = new AbortController().signal;
// Who asks for an end is noted before it, and the end itself a moment after.
const before = 60;
const after = 1;

/** True when an engine says that a container ended and nobody had asked for that; false when it does not say. */
export async function wasEndedInside({ client, product }: Engine, id: string, finishedAt: string): Promise<boolean> {
  const ended = Date.parse(finishedAt) / 1000;
  // What Podman notes of it has not been tried.
  if (product !== "docker" || Number.isNaN(ended)) return false;
  const filters = JSON.stringify({ container: [id], event: ["kill", "stop", "destroy", "oom", "die"] });
  const query = { since: (ended - before).toFixed(3), until: (ended + after).toFixed(3), filters };
  const actions: unknown[] = [];
  try {
    const answer = await client.open({ method: "GET", path: "/events", query, signal: never });
    for await (const event of readJsonLines(answer)) actions.push(event["Action"]);
  } catch {
    return false;
  }
  return actions.length > 0 && actions.every((action) => action === "die");
}
