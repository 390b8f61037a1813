import type { Clock } from "../base/clock.ts";
import type { Host } from "../base/host.ts";
import { messageOf } from "../base/rollout-error.ts";
import { withDeadline } from "../engine/with-deadline.ts";
import type { EnvironmentProvider } from "../environments/environment.ts";
import { findAbandoned } from "./abandoned-environments.ts";
import type { RunVoice } from "./run-voice.ts";
import { teardownLimitMs } from "./trial/limits.ts";

/** Removes what killed processes of this machine left, beside the first trials of a job; it never rejects, because no trial depends on it. */
export async function removeAbandoned(
  provider: EnvironmentProvider,
  { host, clock, signal }: { readonly host: Host; readonly clock: Clock; readonly signal: AbortSignal },
  voice: RunVoice,
): Promise<void> {
  const found = await findAbandoned(provider, host, signal).catch((error: unknown) => {
    voice.note(`what earlier runs left cannot be looked for: ${messageOf(error)}`);
    return [];
  });
  for (const { id, labels } of found) {
    try {
      await withDeadline(
        { clock, limitMs: teardownLimitMs, parent: signal, what: "removing it", graceMs: 1000 },
        (bound) => provider.removeEnvironment(id, bound),
      );
      const line = `removed environment ${id}, left by process ${labels["rollout.owner-pid"]}`;
      voice.note(line);
      voice.activity(line);
    } catch (error) {
      voice.note(`environment ${id} of an earlier run is still there: ${messageOf(error)}`);
    }
  }
}
