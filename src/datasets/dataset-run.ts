import { messageOf } from "../base/rollout-error.ts";
import { startDeadline } from "../engine/deadline.ts";
import { runStream } from "../engine/run-stream.ts";
import { startHeartbeat } from "../store/heartbeat.ts";
import type { Run, RunStatus, Unit } from "../store/run.ts";
import { RunEvents } from "../store/run-events.ts";
import type { RunLease } from "../store/run-store.ts";
import { UnitWriter } from "../store/unit-writer.ts";
import { createFailure } from "../store/failure.ts";
import { HeldTime } from "./item/held-time.ts";
import { runItem, type ItemGround } from "./item/run-item.ts";
import { UnitStream, type ItemUnit } from "./items/unit-stream.ts";
import { PlaceSet } from "./results/place-set.ts";
import { readEarlierWork } from "./results/read-earlier-work.ts";
import { RunCount } from "./results/run-count.ts";
import type { PreparedRun } from "./prepare-run.ts";
import type { RunContext } from "./run-context.ts";
import { runDatasetScorers } from "./scorers/run-dataset-scorers.ts";
import type { ItemWithScores, RunSummary, ScorerResult } from "./summary.ts";
import { withProgress } from "./to-run.ts";
import { fromUnit, toScore, toUnit, unitKey, unitLabels, type UnitNames } from "./to-unit.ts";

export interface DatasetRunOptions {
  readonly prepared: PreparedRun;
  readonly names: UnitNames;
  /** Null if the run is not stored. */
  readonly lease: RunLease | null;
  /** The run at the start of this session. */
  readonly run: Run;
  readonly context: RunContext;
}

/** One session of a run: from the moment it holds the lease until nothing of it is left. */
export class DatasetRun {
  readonly #prepared: PreparedRun;
  readonly #run: Run;
  readonly #lease: RunLease | null;
  readonly #context: RunContext;
  readonly #writer: UnitWriter | null;
  readonly #events: RunEvents;
  readonly #names: UnitNames;
  readonly #count: RunCount;
  readonly #done: PlaceSet;
  readonly #startedAt: number;
  readonly #startedMs: number;
  /** Aborted when no further item may start. */
  readonly #stop = new AbortController();
  #error: string | null = null;
  #datasetScores: readonly ScorerResult[] = [];

  constructor({ prepared, names, lease, run, context }: DatasetRunOptions) {
    const { rules, plan, config, scorers } = prepared;
    this.#prepared = prepared;
    this.#run = run;
    this.#lease = lease;
    this.#context = context;
    this.#writer = lease === null ? null : new UnitWriter(lease, context.clock, inFlight(prepared));
    this.#events = new RunEvents(config.onEvent, (message) => this.#warn(message));
    this.#names = names;
    this.#startedAt = run.sessions.at(-1)?.startedAt ?? context.clock.now();
    this.#startedMs = context.clock.monotonic();
    this.#count = new RunCount(rules, plan.total, scorers.ofRun.perItem[0]?.id ?? null);
    this.#done = new PlaceSet(plan.total);
  }

  /** Runs what is left and returns the summary. Never throws. */
  async run(): Promise<RunSummary> {
    const { clock } = this.#context;
    // Follows the caller's signal only while the run lasts.
    using life = startDeadline({ clock, limitMs: null, parent: this.#prepared.config.signal ?? null, what: "the run" });
    const stop = (): void => this.#stop.abort();
    life.signal.addEventListener("abort", stop, { once: true });
    if (life.signal.aborted) stop();
    const heartbeat =
      this.#lease &&
      startHeartbeat(this.#lease, clock, {
        currentRun: () => this.#runWith("running"),
        onLost: (error) => this.#fail(`another process took over the run: ${error.message}`),
      });
    try {
      await this.#events.emit({ type: "run_started", at: clock.now(), run: this.#runWith("running") });
      await this.#restoreEarlierWork();
      await this.#runItems(life.signal);
      if (this.#count.isComplete && this.#error === null) this.#datasetScores = await this.#scoreDataset(life.signal);
    } catch (thrown) {
      this.#fail(messageOf(thrown));
    } finally {
      heartbeat?.stop();
      this.#writer?.[Symbol.dispose]();
    }
    const isCancelled = life.signal.aborted && !this.#count.isComplete && this.#error === null;
    if (isCancelled) this.#error = `the run was aborted: ${messageOf(life.signal.reason)}`;
    return await this.#finish(isCancelled ? "cancelled" : this.#error === null ? "completed" : "failed");
  }

  async #restoreEarlierWork(): Promise<void> {
    const { storage } = this.#prepared.config;
    if (this.#lease === null || storage === undefined) return;
    const names = new Map(this.#prepared.scorers.ofRun.perItem.map(({ id, name }) => [id, name]));
    await readEarlierWork(storage, this.#lease, async (unit) => {
      this.#done.add(unit.index);
      this.#count.restore(fromUnit(unit, names));
      await this.#events.emit({ type: "unit_restored", at: this.#context.clock.now(), unit });
    });
  }

  async #runItems(signal: AbortSignal): Promise<void> {
    const { rules, target, scorers, items } = this.#prepared;
    const { clock, random } = this.#context;
    const ground: ItemGround = {
      runId: this.#prepared.plan.id,
      clock,
      held: new HeldTime(clock),
      random,
      rules,
      target,
      scorers,
      signal,
      warn: (message) => this.#warn(message),
    };
    const units = new UnitStream(items, rules.repeats, (index) => this.#done.has(index));
    try {
      await runStream({
        next: () => units.next(),
        limit: inFlight(this.#prepared),
        signal: this.#stop.signal,
        clock,
        run: (unit) => this.#runUnit(unit, ground),
      });
    } finally {
      await units.close();
    }
  }

  async #runUnit(unit: ItemUnit, ground: ItemGround): Promise<void> {
    const { clock } = this.#context;
    const key = unitKey(unit.item.id, unit.repeat, this.#names);
    if (this.#events.isObserved)
      await this.#events.emit({
        type: "unit_started",
        at: clock.now(),
        key,
        labels: unitLabels(unit.item.id, unit.repeat, this.#names),
      });
    const result = await runItem(unit, ground, ({ tries, waitMs, message }) => {
      const failure = createFailure({ type: "target_failed", message, phase: null, cause: "agent" });
      void this.#events.emit({ type: "unit_retry", at: clock.now(), key, tries, waitMs, failure });
    });
    const stored = this.#writer === null ? null : toUnit(result, this.#names);
    const persistenceError = stored === null ? null : ((await this.#writer?.add(stored)) ?? null);
    const item = persistenceError === null ? result : { ...result, persistenceError };
    this.#count.add(item);
    await this.#report(item, persistenceError === null ? stored : null);
  }

  /** `unit` is the item as a unit, if that exists already. */
  async #report(item: ItemWithScores, unit: Unit | null): Promise<void> {
    const { onItemComplete } = this.#prepared.config;
    try {
      await onItemComplete?.(item, item.index);
    } catch (thrown) {
      this.#warn(`onItemComplete failed: ${messageOf(thrown)}`);
    }
    if (this.#events.isObserved)
      await this.#events.emit({
        type: "unit_finished",
        at: this.#context.clock.now(),
        unit: unit ?? toUnit(item, this.#names),
      });
  }

  async #scoreDataset(signal: AbortSignal): Promise<readonly ScorerResult[]> {
    const { scorers, config, plan } = this.#prepared;
    const { perDataset } = scorers.ofRun;
    if (perDataset.length === 0) return [];
    return await runDatasetScorers(perDataset, {
      items: this.#count.retained,
      store: this.#prepared.rules.retainResults ? null : (config.storage ?? null),
      runId: plan.id,
      signal,
    });
  }

  async #finish(status: RunStatus): Promise<RunSummary> {
    const { clock } = this.#context;
    const completedAt = clock.now();
    const run = await this.#storeEnd(this.#runWith(status));
    await this.#events.emit({ type: "run_finished", at: completedAt, run, next: [] });
    // Last, so that it contains an error of the listener.
    return this.#count.summarize({
      runId: this.#prepared.plan.id,
      startedAt: this.#startedAt,
      completedAt,
      error: this.#error,
      datasetScores: this.#datasetScores,
    });
  }

  /** Returns the run as it is after storing its end, which can fail. */
  async #storeEnd(run: Run): Promise<Run> {
    try {
      await this.#lease?.end(run);
      return run;
    } catch (thrown) {
      this.#error ??= `the end of the run could not be stored: ${messageOf(thrown)}`;
      return {
        ...run,
        status: run.status === "cancelled" ? "cancelled" : "failed",
        isResumable: true,
        error: this.#error,
      };
    }
  }

  #runWith(status: RunStatus): Run {
    const { clock } = this.#context;
    const isRunning = status === "running";
    const endedAt = isRunning ? null : clock.now();
    const durationSec = Math.round(clock.monotonic() - this.#startedMs) / 1000;
    return {
      ...withProgress(this.#run, this.#count),
      status,
      endedAt,
      sessions: [...this.#run.sessions.slice(0, -1), { startedAt: this.#startedAt, endedAt, durationSec }],
      owner: isRunning ? this.#run.owner : null,
      scores: this.#datasetScores.map((score) => ({ ...toScore(score), name: score.scorerName })),
      error: this.#error,
    };
  }

  /** Lets running items finish and starts no more. */
  #fail(message: string): void {
    this.#error ??= message;
    this.#stop.abort();
  }

  #warn(message: string): void {
    this.#count.warn(message);
    void this.#events.emit({ type: "warning", at: this.#context.clock.now(), message });
  }
}

function inFlight({ rules, plan }: PreparedRun): number {
  return Math.min(rules.maxConcurrency, plan.total);
}
