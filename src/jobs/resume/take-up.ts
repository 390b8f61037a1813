import { mkdir } from "node:fs/promises";
import type { Redactor } from "../../base/redactor.ts";
import { keepTaskTexts } from "../inputs/task-texts.ts";
import type { JobJournal } from "../output/job-journal.ts";
import { trialPaths, type JobPaths } from "../output/job-paths.ts";
import type { JobTally } from "../output/job-tally.ts";
import { setAside, type EarlierTries } from "../output/set-aside.ts";
import { writeTrialResult } from "../output/trial-files.ts";
import { toUnit } from "../output/trial-unit.ts";
import type { Unit } from "../../store/run.ts";
import type { JobEvents } from "../job-events.ts";
import type { Trial } from "../trial/trial.ts";
import type { PlannedSession } from "./plan-session.ts";

export interface TakeUpOptions {
  /** All trials. */
  readonly plan: readonly Trial[];
  readonly paths: JobPaths;
  readonly journal: JobJournal;
  readonly redactor: Redactor;
  readonly tally: JobTally;
  readonly events: JobEvents;
}

/** Counts the results of earlier sessions, and writes what a crash left unwritten. Returns the trials that stay. */
export async function takeUp(session: PlannedSession, options: TakeUpOptions): Promise<readonly Unit[]> {
  const { plan, paths, journal, redactor, tally, events } = options;
  for (const line of session.taskLines) await journal.append(line);
  await keepTexts(session, options);
  const again = new Set(session.trials);
  const restored: Unit[] = [];
  for (const trial of plan) {
    const { result, missingIn } = session.settled.get(trial.key) ?? { result: null, missingIn: null };
    if (result === null) continue;
    tally.add(trial.index, result);
    if (missingIn === "journal") await journal.append({ type: "trial_finished", index: trial.index, result });
    if (missingIn === "file") {
      const trialFiles = trialPaths(paths.dir, trial.key);
      // The user may have removed the whole directory.
      await mkdir(trialFiles.dir, { recursive: true });
      await writeTrialResult(trialFiles, result, redactor);
    }
    if (again.has(trial)) continue;
    const unit = toUnit(result, trial.index);
    restored.push(unit);
    events.restored(unit);
  }
  return restored;
}

async function keepTexts({ taskLines }: PlannedSession, { plan, paths, redactor }: TakeUpOptions): Promise<void> {
  const tasks = new Map(plan.map(({ task }) => [`${task.datasetName}/${task.name}`, task.directory]));
  for (const line of taskLines) {
    const directory = tasks.get(`${line.dataset}/${line.task}`) ?? null;
    if (directory !== null) await keepTaskTexts(paths.tasks, directory, line, redactor);
  }
}

/** Moves the files of a trial that runs again aside, after its earlier result is revoked in the journal. */
export async function reopenTrial(
  trial: Trial,
  session: PlannedSession | null,
  { paths, journal, redactor }: Pick<TakeUpOptions, "paths" | "journal" | "redactor">,
): Promise<EarlierTries | null> {
  if (!session) return null;
  if (session.settled.get(trial.key)?.result) await journal.append({ type: "trial_reopened", index: trial.index });
  return setAside(trialPaths(paths.dir, trial.key), redactor);
}
