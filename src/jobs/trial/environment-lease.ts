import { messageOf, RolloutError } from "../../base/rollout-error.ts";
import type { CreateEnvironmentRequest, Environment } from "../../environments/environment.ts";
import { startDeadline } from "../../engine/deadline.ts";
import { raceWithSignal } from "../../engine/race-with-signal.ts";
import { withDeadline } from "../../engine/with-deadline.ts";
import { teardownLimitMs } from "./limits.ts";
import type { TrialContext } from "./trial-context.ts";

export interface KeptEnvironment {
  readonly id: string;
  readonly enter: string | null;
}

export interface TeardownReport {
  readonly kept: readonly KeptEnvironment[];
  /** Ids of those that were to be kept and cannot be, because they end with this process. */
  readonly unkept: readonly string[];
  /** What went wrong; the environments it speaks of may still be there. */
  readonly problems: readonly string[];
}

/** Owns every environment of one try and gives each back exactly once, whatever happened in between. */
export class EnvironmentLease implements AsyncDisposable {
  readonly #context: TrialContext;
  readonly #ownEnterCommand: string | null;
  readonly #held: Environment[] = [];
  readonly #late: { readonly name: string; readonly gone: Promise<void> }[] = [];
  readonly #kept: KeptEnvironment[] = [];
  readonly #unkept: string[] = [];
  readonly #problems: string[] = [];
  #isKept = false;

  /** `ownEnterCommand` is what a person types where the engine has no command of its own. */
  constructor(context: TrialContext, ownEnterCommand: string | null) {
    this.#context = context;
    this.#ownEnterCommand = ownEnterCommand;
  }

  /** Creates an environment and holds it; one that starts after the signal is aborted is destroyed when it arrives. */
  async create(request: CreateEnvironmentRequest): Promise<Environment> {
    const work = this.#context.provider.createEnvironment(request);
    try {
      const environment = await raceWithSignal(work, request.signal, () => {});
      this.#held.push(environment);
      return environment;
    } catch (error) {
      if (request.signal.aborted) {
        this.#late.push({ name: request.name, gone: work.then((late) => this.#destroy(late)).catch(() => {}) });
      }
      throw error;
    }
  }

  /** US dollars of all that was held; null when one of them does not know. */
  cost(): number | null {
    let total = 0;
    for (const environment of this.#held) {
      const cost = environment.cost();
      if (cost === null) return null;
      total += cost;
    }
    return total;
  }

  /** Leaves the environments in place at the end instead of destroying them. */
  keep(): void {
    this.#isKept = true;
  }

  get report(): TeardownReport {
    return { kept: this.#kept, unkept: this.#unkept, problems: this.#problems };
  }

  /** Never throws: what fails is in the report. */
  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all([
      ...this.#held.map((environment) => (this.#isKept ? this.#retire(environment) : this.#destroy(environment))),
      ...this.#late.map(({ name, gone }) => this.#awaitLate(name, gone)),
    ]);
  }

  async #retire(environment: Environment): Promise<void> {
    const { stop: canStop } = this.#context.provider.capabilities;
    if (!canStop && environment.enterCommand() === null) {
      this.#unkept.push(environment.id);
      return this.#destroy(environment);
    }
    const problem = canStop ? await this.#bounded("stop", environment, (signal) => environment.stop(signal)) : null;
    if (problem !== null) this.#problems.push(problem);
    this.#kept.push({ id: environment.id, enter: environment.enterCommand() ?? this.#ownCommand(environment.id) });
  }

  // Without a name it leads into the first that was kept.
  #ownCommand(id: string): string | null {
    const own = this.#ownEnterCommand;
    return own === null || this.#kept.length === 0 ? own : `${own} --environment ${id}`;
  }

  async #destroy(environment: Environment): Promise<void> {
    const problem = await this.#bounded("remove", environment, (signal) => environment.destroy(signal));
    if (problem === null) return;
    this.#problems.push(problem);
    this.#context.onLeftBehind(environment.id);
  }

  // A process that ended before would leave what is still starting to nobody.
  async #awaitLate(name: string, gone: Promise<void>): Promise<void> {
    const { clock, forceSignal } = this.#context;
    using deadline = startDeadline({ clock, limitMs: teardownLimitMs, parent: forceSignal, what: "waiting for it" });
    try {
      await raceWithSignal(gone, deadline.signal, () => {});
    } catch (error) {
      this.#problems.push(`environment ${name} was still starting and may be left behind: ${messageOf(error)}`);
      this.#context.onLeftBehind(name);
    }
  }

  async #bounded(
    verb: string,
    environment: Environment,
    work: (signal: AbortSignal) => Promise<void>,
  ): Promise<string | null> {
    const { clock, forceSignal } = this.#context;
    try {
      await withDeadline(
        { clock, limitMs: teardownLimitMs, parent: forceSignal, what: "teardown", graceMs: 1000 },
        work,
      );
      return null;
    } catch (error) {
      const hint = error instanceof RolloutError && error.hint ? ` (${error.hint})` : "";
      return `could not ${verb} environment ${environment.id}: ${messageOf(error)}${hint}`;
    }
  }
}
