import type { Run } from "../../store/run.ts";
import type { ExperimentOutput } from "./experiment-output.ts";

/** For a dry run: nothing is stored. */
export async function openNoOutput(run: Run): Promise<ExperimentOutput> {
  return {
    run,
    findStored: null,
    saveTask: async () => {},
    saveEvaluation: async () => {},
    update: async () => {},
    end: async () => {},
    [Symbol.asyncDispose]: async () => {},
  };
}
