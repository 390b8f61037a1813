import type { ExperimentOutput } from "./experiment-output.ts";

/** For a rehearsal: nothing is kept. */
export async function openNoOutput(): Promise<ExperimentOutput> {
  return {
    location: "",
    findEarlier: null,
    saveRun: async () => {},
    saveEvaluation: async () => {},
    end: async () => {},
    [Symbol.asyncDispose]: async () => {},
  };
}
