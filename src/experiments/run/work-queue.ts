/** What a worker may do next. */
export type Job<Task, Eval> =
  | { readonly kind: "task"; readonly task: Task }
  | { readonly kind: "eval"; readonly eval: Eval };

export interface WorkQueueOptions<Task> {
  /** The next task, null at the end. Never asked twice at a time. */
  readonly nextTask: () => Promise<Task | null>;
  /** Holds evaluations back until the last task has been answered. */
  readonly isPhased: boolean;
}

/** Hands out evaluations before new tasks; nobody waits while there is something to do, and nobody leaves too early. */
export class WorkQueue<Task, Eval> {
  readonly #options: WorkQueueOptions<Task>;
  #evals: Eval[] = [];
  #running = 0;
  #isDry = false;
  #asking: Promise<unknown> = Promise.resolve();
  #wake = Promise.withResolvers<void>();

  constructor(options: WorkQueueOptions<Task>) {
    this.#options = options;
  }

  /** Evaluations that a task's answer asks for. */
  push(evals: readonly Eval[]): void {
    this.#evals.push(...evals);
    this.#ring();
  }

  /** Must be called once for each job that was taken. */
  done(): void {
    this.#running--;
    this.#ring();
  }

  /** Null when there is nothing left and nothing can come. */
  async take(): Promise<Job<Task, Eval> | null> {
    for (;;) {
      const evaluation = this.#takeEval();
      if (evaluation !== null) return evaluation;
      if (!this.#isDry) {
        const task = await this.#takeTask();
        if (task !== null) return task;
        continue;
      }
      if (this.#running === 0 && this.#evals.length === 0) return null;
      await this.#wake.promise;
    }
  }

  #takeEval(): Job<Task, Eval> | null {
    if (this.#options.isPhased && !(this.#isDry && this.#tasksRunning === 0)) return null;
    const next = this.#evals.shift();
    if (next === undefined) return null;
    this.#running++;
    return { kind: "eval", eval: next };
  }

  #tasksRunning = 0;

  async #takeTask(): Promise<Job<Task, Eval> | null> {
    const turn = this.#asking.then(async () => {
      // An evaluation that came meanwhile goes first.
      if (this.#isDry || (this.#evals.length > 0 && !this.#options.isPhased)) return null;
      const task = await this.#options.nextTask();
      if (task === null) this.#isDry = true;
      else this.#running++;
      this.#ring();
      return task;
    });
    this.#asking = turn.catch(() => {});
    const task = await turn;
    if (task === null) return null;
    this.#tasksRunning++;
    return { kind: "task", task };
  }

  /** A task was answered, whatever the answer is. */
  taskAnswered(): void {
    this.#tasksRunning--;
    this.#ring();
  }

  #ring(): void {
    const { resolve } = this.#wake;
    this.#wake = Promise.withResolvers<void>();
    resolve();
  }
}
