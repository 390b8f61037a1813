import type { Clock } from "../base/clock.ts";
import type { Host } from "../base/host.ts";
import { messageOf } from "../base/rollout-error.ts";
import { withDeadline } from "../engine/with-deadline.ts";
import type { EnvironmentProvider } from "../environments/environment.ts";
import { findAbandoned } from "./abandoned-environments.ts";
import type { JobEvents } from "./job-events.ts";
import { teardownLimitMs } from "./trial/limits.ts";

/** Removes what killed processes of this machine left, beside the first trials of a job; it never rejects, because no trial depends on it. */
export async function removeAbandoned(
  provider: EnvironmentProvider,
  { host, clock, signal }: { readonly host: Host; readonly clock: Clock; readonly signal: AbortSignal },
  events: JobEvents,
): Promise<void> {
  const found = await findAbandoned(provider, host, signal).catch((error: unknown) => {
    events.note(`what earlier runs left cannot be looked for: ${messageOf(error)}`);
    return [];
  });
  for (const { id, labels } of found) {
    try {
      await withDeadline(
        { clock, limitMs: teardownLimitMs, parent: signal, what: "removing it", graceMs: 1000 },
        (bound) => provider.removeEnvironment(id, bound),
      );
      const line = `removed environment ${id}, left by process ${labels["rollout.owner-pid"]}`;
      events.note(line);
      events.activity(line);
    } catch (error) {
      events.note(`environment ${id} of an earlier run is still there: ${messageOf(error)}`);
    }
  }
}
