import { describeEnds, describeWarnings } from "./describe-attempts.ts";
import { countAttempts, sortAttempts, type SortedAttempts } from "./sort-attempts.ts";
import { findingKinds, type CheckedTask, type CheckedTrial, type Finding, type TaskVerdict } from "./task-verdict.ts";

/** What a check has seen of its tasks. */
export interface CheckEvidence {
  readonly tasks: readonly CheckedTask[];
  /** Attempts that each of the two agents was to make at each task. */
  readonly attempts: number;
  /** Trials of `oracle` and `nop`. */
  readonly trials: readonly CheckedTrial[];
  /** Trials of `oracle` whose tests had no network, of tasks that pass with it; null when nobody asked for them. */
  readonly offlineTrials: readonly CheckedTrial[] | null;
}

/** Judges each task from its trials, worst first and otherwise in the order of the plan; pure. */
export function judgeTasks({ tasks, attempts, trials, offlineTrials }: CheckEvidence): TaskVerdict[] {
  const online = groupTrials(trials);
  const offline = offlineTrials && groupTrials(offlineTrials);
  const rank = ({ verdict }: TaskVerdict): number =>
    verdict === "ok" ? findingKinds.length : findingKinds.indexOf(verdict);
  return tasks
    .map((task) => {
      const of = (groups: ReadonlyMap<string, CheckedTrial[]>, agent: string): readonly CheckedTrial[] =>
        groups.get(groupKey(agent, task.datasetName, task.taskName)) ?? [];
      return judgeTask(task, attempts, {
        oracle: of(online, "oracle"),
        nop: of(online, "nop"),
        offline: offline && of(offline, "oracle"),
      });
    })
    .sort((a, b) => rank(a) - rank(b));
}

/** True for a task whose oracle passed every attempt, so that taking the network away can tell something. */
export function passesAlways({ oracle }: Pick<TaskVerdict, "oracle">, attempts: number): boolean {
  return oracle.passed === attempts;
}

interface TaskTrials {
  readonly oracle: readonly CheckedTrial[];
  readonly nop: readonly CheckedTrial[];
  readonly offline: readonly CheckedTrial[] | null;
}

function judgeTask(task: CheckedTask, attempts: number, trials: TaskTrials): TaskVerdict {
  const oracle = sortAttempts(trials.oracle);
  const nop = sortAttempts(trials.nop);
  const counts = { oracle: countAttempts(oracle), nop: countAttempts(nop) };
  // Of a task that fails with the network nobody asked how it does without.
  const offline = trials.offline && passesAlways(counts, attempts) ? sortAttempts(trials.offline) : null;
  const faults = [
    ...findBroken(task, [...oracle.broken, ...nop.broken]),
    ...findOracleFailing(oracle),
    ...findUntouchedPass(nop),
    ...findFlaky("oracle", oracle),
    ...findFlaky("nop", nop),
    ...(offline ? findNetworkNeed(offline) : []),
  ];
  const losses = [...findLost(task, attempts, oracle, nop), ...(offline ? findLostOffline(offline) : [])];
  const findings = faults.length > 0 ? faults : losses.slice(0, 1);
  return {
    datasetName: task.datasetName,
    taskName: task.taskName,
    verdict: findings[0]?.kind ?? "ok",
    findings,
    ...counts,
    needsNetwork: offline && countAttempts(offline).judged > 0 ? offline.missed.length > 0 : null,
    warnings: [
      ...describeWarnings("oracle", trials.oracle),
      ...describeWarnings("nop", trials.nop),
      ...unmarkedWarnings(nop),
      ...varyingWarnings(nop),
    ],
  };
}

function findBroken(task: CheckedTask, broken: readonly CheckedTrial[]): Finding[] {
  const [first] = broken;
  if (!first || task.isOutOfReach) return [];
  // Every attempt ends the same way here; one of them says it all.
  return [{ kind: "broken", title: "broken", message: describeEnds([first]), trialDir: first.dir }];
}

function findOracleFailing({ passed, missed }: SortedAttempts): Finding[] {
  const [first] = missed;
  if (!first || passed.length > 0) return [];
  const message = `its solution passed 0 of ${missed.length}: ${describeEnds(missed)}`;
  return [{ kind: "oracle_fails", title: "oracle fails", message, trialDir: first.dir }];
}

function findUntouchedPass({ passed, missed }: SortedAttempts): Finding[] {
  const [first] = passed;
  if (!first) return [];
  const message = `an agent that does nothing passed ${passed.length} of ${passed.length + missed.length}`;
  return [{ kind: "passes_untouched", title: "passes untouched", message, trialDir: first.dir }];
}

function findFlaky(agent: string, { passed, missed }: SortedAttempts): Finding[] {
  const [first] = missed;
  if (!first || passed.length === 0) return [];
  const judged = passed.length + missed.length;
  const message = `${agent} passed ${passed.length} of ${judged}, and else: ${describeEnds(missed)}`;
  return [{ kind: "flaky", title: `flaky (${agent})`, message, trialDir: first.dir }];
}

function findNetworkNeed({ missed }: SortedAttempts): Finding[] {
  const [first] = missed;
  if (!first) return [];
  const seen = first.result.warnings.length > 0 ? `; ${first.result.warnings.join("; ")}` : "";
  const message = `its tests pass with the network and not without: ${describeEnds([first])}${seen}`;
  return [{ kind: "needs_network", title: "needs the network", message, trialDir: first.dir }];
}

function findLost(task: CheckedTask, attempts: number, oracle: SortedAttempts, nop: SortedAttempts): Finding[] {
  const judged = countAttempts(oracle).judged + countAttempts(nop).judged;
  if (judged === 2 * attempts) return [];
  const unfetched = task.isOutOfReach ? [...oracle.broken, ...nop.broken] : [];
  return [notJudged(`${judged} of ${2 * attempts} attempts`, [...oracle.lost, ...nop.lost, ...unfetched])];
}

function findLostOffline(offline: SortedAttempts): Finding[] {
  if (countAttempts(offline).judged > 0) return [];
  return [notJudged("no attempt without the network", [...offline.lost, ...offline.broken])];
}

function notJudged(counted: string, lost: readonly CheckedTrial[]): Finding {
  const blamed = lost.find(({ result }) => result.error?.type !== "trial_cancelled");
  const isOurs = blamed?.result.error?.type === "internal_error";
  const unblamed = lost.length > 0 ? "stopped before its end" : "never run";
  const reason = !blamed ? unblamed : isOurs ? "a bug of ours" : "infrastructure";
  const ends = lost.length > 0 ? `; ${describeEnds(lost)}` : "";
  return {
    kind: "not_judged",
    title: `not judged: ${reason}`,
    message: `${counted} could be judged${ends}`,
    trialDir: (blamed ?? lost[0])?.dir ?? null,
  };
}

// Whoever fails at such a task has no reward instead of a low one, and drops out of the numbers.
function unmarkedWarnings({ missed }: SortedAttempts): string[] {
  const unmarked = missed.filter(({ result }) => result.error !== null && result.reward === null);
  if (unmarked.length === 0) return [];
  return [`an agent that does nothing gets an error in place of a reward: ${describeEnds(unmarked)}`];
}

function varyingWarnings({ missed }: SortedAttempts): string[] {
  const rewards = [...new Set(missed.flatMap(({ result }) => result.reward ?? []))].sort((a, b) => a - b);
  return rewards.length > 1 ? [`an agent that does nothing gets different rewards: ${rewards.join(", ")}`] : [];
}

function groupTrials(trials: readonly CheckedTrial[]): Map<string, CheckedTrial[]> {
  return Map.groupBy(trials, ({ result }) => groupKey(result.agent_name, result.dataset_name, result.task_name));
}

function groupKey(agent: string, dataset: string, task: string): string {
  return JSON.stringify([agent, dataset, task]);
}
