import { RolloutError } from "../../base/rollout-error.ts";

/** A captured stream of a trial. */
export interface TrialStream {
  /** Short, for people: `command/stdout`. */
  readonly name: string;
  /** Below the trial's directory. */
  readonly path: string;
}

const steps = { setup: "setup", command: "command", verifier: "logs/verifier" } as const;

/** All streams that a trial can have, in the order in which they are written. */
export const trialStreams: readonly TrialStream[] = Object.entries(steps).flatMap(([step, folder]) =>
  ["stdout", "stderr"].map((stream) => ({ name: `${step}/${stream}`, path: `${folder}/${stream}.txt` })),
);

/** Chooses streams by a name, a path or a step: `command/stdout`, `logs/verifier/stdout.txt`, `setup`, `stderr`. */
export function selectStreams(word: string): readonly TrialStream[] {
  const found = trialStreams.filter(
    ({ name, path }) => name === word || path === word || name.split("/").includes(word),
  );
  if (found.length > 0) return found;
  throw new RolloutError("usage_invalid", `--stream: expected the name of a stream, got "${word}"`, {
    hint: `streams: ${trialStreams.map(({ name }) => name).join(", ")}; setup, command, verifier, stdout and stderr select several`,
  });
}
