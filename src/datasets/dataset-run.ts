import { messageOf } from "../base/rollout-error.ts";
import { startDeadline } from "../engine/deadline.ts";
import { runStream } from "../engine/run-stream.ts";
import { startHeart } from "../store/heart.ts";
import { ResultWriter } from "../store/result-writer.ts";
import type { RunHold } from "../store/run-store.ts";
import { HeldTime } from "./item/held-time.ts";
import { runItem, type ItemGround } from "./item/run-item.ts";
import { UnitStream, type ItemUnit } from "./items/unit-stream.ts";
import { PlaceSet } from "./results/place-set.ts";
import { readEarlierWork } from "./results/read-earlier-work.ts";
import { RunCount } from "./results/run-count.ts";
import { toStoredResult } from "./results/to-stored-result.ts";
import type { PreparedRun } from "./prepare-run.ts";
import type { RunGround } from "./run-ground.ts";
import { describeHead, describeTail } from "./describe-run.ts";
import { RunVoice } from "./run-voice.ts";
import { runDatasetScorers } from "./scorers/run-dataset-scorers.ts";
import type { ItemWithScores, RunSummary, ScorerResult } from "./summary.ts";
import { datasetName } from "./items/item-source.ts";
import { toEventItem, toUnit, unitKey, unitLabels, type UnitNames } from "./to-unit.ts";

/** One session of a run: from the moment its record is ours until nothing of it is left. */
export class DatasetRun {
  readonly #prepared: PreparedRun;
  readonly #hold: RunHold | null;
  readonly #ground: RunGround;
  readonly #writer: ResultWriter | null;
  readonly #voice: RunVoice;
  readonly #names: UnitNames;
  readonly #count: RunCount;
  readonly #done: PlaceSet;
  /** Aborted when no item is to be taken any more, whatever the reason. */
  readonly #stop = new AbortController();
  #error: string | null = null;

  constructor(prepared: PreparedRun, hold: RunHold | null, ground: RunGround) {
    const { rules, items, target, plan, config } = prepared;
    this.#prepared = prepared;
    this.#hold = hold;
    this.#ground = ground;
    this.#writer = hold === null ? null : new ResultWriter(hold, ground.clock, inFlight(prepared));
    this.#voice = new RunVoice(config.onEvent, (thrown) => this.#breakDown(`onEvent failed: ${messageOf(thrown)}`));
    this.#names = { target: target.name, dataset: datasetName(items), repeats: rules.repeats };
    this.#count = new RunCount(rules, plan.total, ground.clock.now());
    this.#done = new PlaceSet(plan.total);
  }

  /** Runs what is left and tells how it went; never throws. */
  async run(): Promise<RunSummary> {
    const { clock } = this.#ground;
    // Follows the caller's signal for as long as the run lasts, and not a moment longer.
    using life = startDeadline({ clock, limitMs: null, parent: this.#prepared.config.signal ?? null, what: "the run" });
    const stop = (): void => this.#stop.abort();
    life.signal.addEventListener("abort", stop, { once: true });
    if (life.signal.aborted) stop();
    const heart =
      this.#hold &&
      startHeart(this.#hold, clock, (error) => this.#breakDown(`another process took the run: ${error.message}`));
    let datasetScores: readonly ScorerResult[] = [];
    try {
      await this.#voice.say(() => describeHead(this.#prepared, this.#names, clock));
      await this.#takeUpEarlierWork();
      await this.#runItems(life.signal);
      if (this.#count.isComplete && this.#error === null) datasetScores = await this.#markDataset(life.signal);
    } catch (thrown) {
      this.#breakDown(messageOf(thrown));
    } finally {
      heart?.stop();
      this.#writer?.[Symbol.dispose]();
    }
    if (life.signal.aborted && !this.#count.isComplete)
      this.#error ??= `the run was aborted: ${messageOf(life.signal.reason)}`;
    return await this.#finish(datasetScores);
  }

  async #takeUpEarlierWork(): Promise<void> {
    const { storage } = this.#prepared.config;
    if (this.#hold === null || storage === undefined) return;
    await readEarlierWork(storage, this.#hold, async (item) => {
      this.#done.add(item.index);
      this.#count.keep(item);
      const at = this.#ground.clock.now();
      await this.#voice.say(() => ({
        type: "unit_kept",
        at,
        unit: toUnit(item, this.#names),
        item: toEventItem(item),
      }));
    });
  }

  async #runItems(signal: AbortSignal): Promise<void> {
    const { rules, target, scorers, items } = this.#prepared;
    const { clock, random } = this.#ground;
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
    const { clock } = this.#ground;
    const key = unitKey(unit.item.id, unit.repeat, this.#names);
    // Nothing is waited for when nobody listens: the least of items would notice.
    if (this.#voice.isHeard)
      await this.#voice.say(() => ({
        type: "unit_started",
        at: clock.now(),
        key,
        labels: unitLabels(unit.item.id, unit.repeat, this.#names),
      }));
    const result = await runItem(unit, ground, ({ tries, waitMs, message }) => {
      void this.#voice.say(() => ({
        type: "unit_retry",
        at: clock.now(),
        key,
        tries,
        waitMs,
        failure: { type: "target_failed", message },
      }));
    });
    const persistenceError = this.#writer === null ? null : await this.#writer.add(toStoredResult(result));
    const item = persistenceError === null ? result : { ...result, persistenceError };
    this.#count.add(item);
    if (this.#voice.isHeard || this.#prepared.config.onItemComplete !== undefined) await this.#tell(item);
  }

  async #tell(item: ItemWithScores): Promise<void> {
    try {
      await this.#prepared.config.onItemComplete?.(item, item.index);
    } catch (thrown) {
      this.#warn(`onItemComplete failed: ${messageOf(thrown)}`);
    }
    await this.#voice.say(() => ({
      type: "unit_finished",
      at: this.#ground.clock.now(),
      unit: toUnit(item, this.#names),
      item: toEventItem(item),
    }));
  }

  async #markDataset(signal: AbortSignal): Promise<readonly ScorerResult[]> {
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

  async #finish(datasetScores: readonly ScorerResult[]): Promise<RunSummary> {
    const { clock } = this.#ground;
    const summary = this.#count.summarize({
      runId: this.#prepared.plan.id,
      completedAt: clock.now(),
      error: this.#error,
      datasetScores,
    });
    const endError = await this.#storeEnd(summary);
    const told = { ...summary, error: summary.error ?? endError };
    await this.#voice.say(() => describeTail(told, this.#prepared, clock));
    return told;
  }

  async #storeEnd(summary: RunSummary): Promise<string | null> {
    if (this.#hold === null) return null;
    const { status, succeededCount, failedCount, error, scorers, datasetScores, warnings, persistenceFailures } =
      summary;
    try {
      await this.#hold.end({
        status,
        // What could not be stored can run again.
        isFinished: this.#count.isComplete && persistenceFailures === 0,
        succeeded: succeededCount,
        failed: failedCount,
        error,
        summary: JSON.parse(JSON.stringify({ scorers, datasetScores, warnings, persistenceFailures })),
      });
      return null;
    } catch (thrown) {
      return `the end of the run could not be stored: ${messageOf(thrown)}`;
    }
  }

  /** Lets items that run come to their end, and takes no more. */
  #breakDown(message: string): void {
    this.#error ??= message;
    this.#stop.abort();
  }

  #warn(message: string): void {
    this.#count.warn(message);
    void this.#voice.say(() => ({ type: "warning", at: this.#ground.clock.now(), message }));
  }
}

function inFlight({ rules, plan }: PreparedRun): number {
  return Math.min(rules.maxConcurrency, plan.total);
}
