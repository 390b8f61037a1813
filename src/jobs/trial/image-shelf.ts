import { existsSync } from "node:fs";
import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import type { Clock } from "../../base/clock.ts";
import { toPathSegment } from "../../base/path-segment.ts";
import type { Redactor } from "../../base/redactor.ts";
import { messageOf } from "../../base/rollout-error.ts";
import { openCappedStream } from "../../base/writers/capped-stream.ts";
import type { EnvironmentProvider, ImagePlan, OutputSink } from "../../environments/environment.ts";
import { raceWithSignal } from "../../engine/race-with-signal.ts";
import { RetryBudget, retryTransient, type RetryRules } from "../../engine/retry.ts";
import { withDeadline } from "../../engine/with-deadline.ts";
import { OutputTail } from "./output-tail.ts";

export interface ImageShelfOptions {
  readonly provider: EnvironmentProvider;
  readonly retry: RetryRules;
  readonly clock: Clock;
  readonly redactor: Redactor;
  /** Build logs go to `<imagesDir>/<key>/build.log`, those of further tries to `build-2.log` and so on. */
  readonly imagesDir: string;
  readonly outputLimitBytes: number;
  /** What belongs to a build carries them. */
  readonly labels: Readonly<Record<string, string>>;
  /** Ends every build and pull. */
  readonly signal: AbortSignal;
  readonly onActivity: (line: string) => void;
}

// Builds and pulls load the disk and the network far more than trials do, so few run at once.
const concurrentImages = 4;
const killGraceMs = 30_000;

type MadePlan = Exclude<ImagePlan, { kind: "base" }>;

/** A failed try of an image that will be made again once `over` resolves. */
export interface ImageRetry {
  readonly error: unknown;
  readonly waitMs: number;
  readonly over: Promise<void>;
}

interface ShelvedImage {
  readonly retries: ImageRetry[];
  /** The reference, or null when a try failed and the next step follows after the wait. */
  step: Promise<string | null>;
}

/** Builds or pulls each image once, however many trials ask for it, and gives all of them the same answer. */
export class ImageShelf {
  readonly #options: ImageShelfOptions;
  readonly #images = new Map<string, ShelvedImage>();
  readonly #making = new Set<Promise<unknown>>();
  readonly #logs = new Map<string, string>();
  readonly #waiting: (() => void)[] = [];
  #working = 0;

  constructor(options: ImageShelfOptions) {
    this.#options = options;
  }

  /**
   * The image reference for a plan. The limit bounds each build or pull itself, not the wait for its turn.
   * Every failed try that happens meanwhile is handed to `onRetry`, which should wait until it is over.
   */
  async obtain(
    plan: ImagePlan,
    limitMs: number,
    signal: AbortSignal,
    onRetry: (retry: ImageRetry) => Promise<void>,
  ): Promise<string> {
    if (plan.kind === "base") return plan.ref;
    const image = this.#images.get(plan.key) ?? this.#shelve(plan, limitMs);
    for (let seen = image.retries.length; ;) {
      const ref = await raceWithSignal(image.step, signal, () => {});
      for (let retry = image.retries[seen]; retry; retry = image.retries[++seen]) await onRetry(retry);
      if (ref !== null) return ref;
    }
  }

  /** Where the last try of an image wrote what it said; null when none was begun. */
  logOf(plan: ImagePlan): string | null {
    return this.#logs.get(plan.key) ?? null;
  }

  /** Resolves when nothing is being made any more; what was told to stop may still have something to clear away. */
  async settle(forceSignal: AbortSignal): Promise<void> {
    await raceWithSignal(Promise.allSettled(this.#making), forceSignal, () => {}).catch(() => {});
  }

  #shelve(plan: MadePlan, limitMs: number): ShelvedImage {
    const image: ShelvedImage = { retries: [], step: Promise.resolve(null) };
    let next = Promise.withResolvers<string | null>();
    const begin = (): void => {
      next = Promise.withResolvers<string | null>();
      // Everybody who asks handles the failure; this only keeps it from counting as unhandled when nobody is left.
      next.promise.catch(() => {});
      image.step = next.promise;
    };
    begin();
    this.#images.set(plan.key, image);
    const onRetry = (retry: ImageRetry): void => {
      const { resolve } = next;
      image.retries.push(retry);
      begin();
      resolve(null);
    };
    const making = this.#make(plan, limitMs, onRetry).then(
      (ref) => next.resolve(ref),
      (error: unknown) => next.reject(error),
    );
    this.#making.add(making);
    void making.finally(() => this.#making.delete(making));
    return image;
  }

  async #make(plan: MadePlan, limitMs: number, onRetry: (retry: ImageRetry) => void): Promise<string> {
    const { clock, retry, signal, onActivity } = this.#options;
    const budget = new RetryBudget(retry);
    await this.#takeTurn();
    try {
      return await retryTransient(
        () => this.#makeOnce(plan, limitMs, budget.used),
        budget,
        async (waitMs, error) => {
          onActivity(
            `${plan.kind} of ${shortName(plan)} failed (${messageOf(error)}); next try in ${Math.round(waitMs / 1000)} s`,
          );
          const over = clock.sleep(waitMs, signal);
          onRetry({ error, waitMs, over });
          await over;
        },
      );
    } finally {
      this.#working--;
      this.#waiting.shift()?.();
    }
  }

  async #takeTurn(): Promise<void> {
    if (this.#working >= concurrentImages) await new Promise<void>((go) => this.#waiting.push(go));
    this.#working++;
  }

  async #makeOnce(plan: MadePlan, limitMs: number, failedTries: number): Promise<string> {
    const { provider, clock, redactor, imagesDir, outputLimitBytes, labels, signal, onActivity } = this.#options;
    // A turn may come after the job was cancelled; nothing is begun then.
    signal.throwIfAborted();
    const dir = join(imagesDir, toPathSegment(plan.key));
    await mkdir(dir, { recursive: true });
    const log = freeLog(dir, plan.kind, failedTries);
    this.#logs.set(plan.key, log);
    const file = await openCappedStream(log, outputLimitBytes, redactor);
    const tail = new OutputTail(clock, redactor, (line) => onActivity(`${plan.kind} ${shortName(plan)}: ${line}`));
    const output: OutputSink = tail.watch(file);
    const limit = { clock, limitMs, parent: signal, what: `image ${plan.kind}`, graceMs: killGraceMs };
    onActivity(`${plan.kind} ${shortName(plan)}`);
    try {
      return await withDeadline(limit, (signal) =>
        plan.kind === "build"
          ? provider.buildImage({ plan, output, labels, signal })
          : provider.pullImage({ plan, output, signal }),
      );
    } finally {
      await file.close().catch(() => {});
    }
  }
}

// An earlier session may have left logs of its own.
function freeLog(dir: string, kind: string, failedTries: number): string {
  for (let n = failedTries + 1; ; n++) {
    const path = join(dir, `${kind}${n === 1 ? "" : `-${n}`}.log`);
    if (!existsSync(path)) return path;
  }
}

function shortName(plan: ImagePlan): string {
  return plan.kind === "build" ? plan.contextDir.split("/").slice(-2).join("/") : plan.ref;
}
