import type { Clock } from "../../base/clock.ts";
import { startDeadline } from "../../engine/deadline.ts";
import { readJsonLines } from "../json-lines.ts";
import type { Engine } from "./connection/open-engine.ts";

// A request to end a container is reported before its end, and the end itself a moment after it.
const before = 60;
const after = 1;
const pollMs = 100;
const askMs = 10_000;
// Requests from outside that end a container. Podman reports no `stop`.
const requests = ["kill", "stop", "destroy"];

/**
 * True when the engine reports the end of a container and no request for it, so that a process inside ended it. False
 * when the engine reports nothing, for example after a restart. The memory limit of the container counts as inside.
 */
export async function wasEndedInside(
  { client, product }: Engine,
  id: string,
  finishedAt: string,
  clock: Clock,
): Promise<boolean> {
  const ended = Date.parse(finishedAt) / 1000;
  if (Number.isNaN(ended)) return false;
  using deadline = startDeadline({ clock, limitMs: askMs, parent: null, what: "asking who ended the container" });
  const { signal } = deadline;
  const filters = JSON.stringify({ container: [id], event: [...requests, "die", "died"] });
  const since = Math.floor(ended - before);
  // Docker waits until the given time. Podman returns what it has.
  const end = product === "docker" ? { until: (ended + after).toFixed(3) } : { stream: false };
  const query = { since, ...end, filters };
  try {
    for (;;) {
      const actions: unknown[] = [];
      const answer = await client.open({ method: "GET", path: "/events", query, signal });
      for await (const event of readJsonLines(answer)) actions.push(event["Action"]);
      if (actions.some((action) => requests.includes(String(action)))) return false;
      if (actions.length > 0) return true;
      if (product === "docker") return false;
      await clock.sleep(pollMs, signal);
    }
  } catch {
    return false;
  }
}
