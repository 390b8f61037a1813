import type { Gate } from "./gate.ts";

/** A unit's place among those that may run; it can be lent out while the unit only waits. */
export interface Slot {
  /** Gives the place back while `wait` runs, then takes one again ahead of units that have not started. */
  lendWhile<T>(wait: () => Promise<T>): Promise<T>;
  /** Gives the place back for good: what the unit still does is tidying up. Keeps it where enough others are at that. */
  leave(): void;
}

// So few that hardly more is there than was asked for, and enough that a window of one or four never waits for it.
const mostLeaving = 4;

export interface WindowOptions<U> {
  /** In plan order. */
  readonly units: readonly U[];
  /** How many may run at once. */
  readonly limit: number;
  /** Lanes take turns in starting units. */
  readonly laneOf: (unit: U) => string;
  /** Names whose own limits the unit counts against. */
  readonly groupsOf: (unit: U) => readonly string[];
  readonly groupLimits: ReadonlyMap<string, number>;
  /** Units start only while it is open. */
  readonly gate?: Gate | undefined;
  /** Stops the taking of units; those that run are the caller's to end. */
  readonly signal: AbortSignal;
  /** Must not reject: a rejection is a bug, stops the window and is thrown once the others are done. */
  readonly run: (unit: U, slot: Slot) => Promise<void>;
}

/** Runs units with bounded concurrency and returns those that never started, in plan order. */
export async function runWindow<U>(options: WindowOptions<U>): Promise<U[]> {
  const places = new Places(options.limit, options.groupLimits);
  const queue = new TurnQueue(options.units, options.laneOf, options.groupsOf);
  const bugs: unknown[] = [];
  let running = 0;
  let leaving = 0;

  await new Promise<void>((resolve) => {
    const isOpen = (): boolean => options.gate?.isOpen ?? true;
    const isStopped = (): boolean => options.signal.aborted || bugs.length > 0;
    const start = (unit: U, groups: readonly string[]): void => {
      running++;
      let hasLeft = false;
      const slot: Slot = {
        lendWhile: (wait) => places.lendWhile(groups, wait),
        leave: () => {
          if (hasLeft || leaving >= Math.min(mostLeaving, options.limit)) return;
          hasLeft = true;
          leaving++;
          places.release(groups);
        },
      };
      runUnit(() => options.run(unit, slot))
        .catch((error: unknown) => bugs.push(error))
        .finally(() => {
          running--;
          if (hasLeft) {
            leaving--;
            fill();
          } else places.release(groups);
        });
    };
    const fill = (): void => {
      while (!isStopped() && isOpen()) {
        const next = queue.take((groups) => places.tryTake(groups));
        if (!next) break;
        start(next.unit, next.groups);
      }
      if (running === 0 && (isStopped() || queue.isEmpty)) resolve();
    };
    places.onFree = fill;
    options.gate?.whenOpened(fill);
    options.signal.addEventListener("abort", fill, { once: true });
    fill();
  });

  if (bugs.length > 0) throw bugs[0];
  return queue.rest();
}

async function runUnit(run: () => Promise<void>): Promise<void> {
  await run();
}

/** Counts who is in: one number overall and one for each limited group. */
class Places {
  readonly #limit: number;
  readonly #groupLimits: ReadonlyMap<string, number>;
  readonly #inGroup = new Map<string, number>();
  readonly #returning: { readonly groups: readonly string[]; readonly enter: () => void }[] = [];
  #taken = 0;
  onFree: () => void = () => {};

  constructor(limit: number, groupLimits: ReadonlyMap<string, number>) {
    this.#limit = limit;
    this.#groupLimits = groupLimits;
  }

  tryTake(groups: readonly string[]): boolean {
    if (this.#taken >= this.#limit) return false;
    for (const group of groups) {
      if ((this.#inGroup.get(group) ?? 0) >= (this.#groupLimits.get(group) ?? Infinity)) return false;
    }
    this.#taken++;
    for (const group of groups) this.#inGroup.set(group, (this.#inGroup.get(group) ?? 0) + 1);
    return true;
  }

  release(groups: readonly string[]): void {
    this.#taken--;
    for (const group of groups) this.#inGroup.set(group, (this.#inGroup.get(group) ?? 0) - 1);
    for (let i = 0; i < this.#returning.length;) {
      const waiting = this.#returning[i];
      if (waiting && this.tryTake(waiting.groups)) {
        this.#returning.splice(i, 1);
        waiting.enter();
      } else i++;
    }
    this.onFree();
  }

  async lendWhile<T>(groups: readonly string[], wait: () => Promise<T>): Promise<T> {
    this.release(groups);
    try {
      return await wait();
    } finally {
      if (!this.tryTake(groups)) await new Promise<void>((enter) => this.#returning.push({ groups, enter }));
    }
  }
}

interface Queued<U> {
  readonly unit: U;
  readonly index: number;
}

interface Line<U> {
  readonly groups: readonly string[];
  readonly units: Queued<U>[];
  next: number;
}

/** Units by lane, and in a lane by the groups they need, so that the next that fits is found without a search. */
class TurnQueue<U> {
  readonly #lanes: Map<string, Line<U>>[] = [];
  #turn = 0;
  #left: number;

  constructor(units: readonly U[], laneOf: (unit: U) => string, groupsOf: (unit: U) => readonly string[]) {
    const byName = new Map<string, Map<string, Line<U>>>();
    this.#left = units.length;
    for (const [index, unit] of units.entries()) {
      const name = laneOf(unit);
      let lane = byName.get(name);
      if (!lane) {
        lane = new Map();
        byName.set(name, lane);
        this.#lanes.push(lane);
      }
      const groups = groupsOf(unit);
      const key = groups.join("\0");
      const line = lane.get(key);
      if (line) line.units.push({ unit, index });
      else lane.set(key, { groups, units: [{ unit, index }], next: 0 });
    }
  }

  get isEmpty(): boolean {
    return this.#left === 0;
  }

  take(mayStart: (groups: readonly string[]) => boolean): { unit: U; groups: readonly string[] } | undefined {
    for (let step = 0; step < this.#lanes.length; step++) {
      const lane = this.#lanes[(this.#turn + step) % this.#lanes.length];
      for (const line of lane?.values() ?? []) {
        const head = line.units[line.next];
        if (!head || !mayStart(line.groups)) continue;
        line.next++;
        this.#left--;
        this.#turn = (this.#turn + step + 1) % this.#lanes.length;
        return { unit: head.unit, groups: line.groups };
      }
    }
    return undefined;
  }

  rest(): U[] {
    const left = this.#lanes.flatMap((lane) => [...lane.values()].flatMap((line) => line.units.slice(line.next)));
    return left.sort((a, b) => a.index - b.index).map((queued) => queued.unit);
  }
}
