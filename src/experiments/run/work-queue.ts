/** What a worker may do next. */
export type Job<Task, Eval> =
  | { readonly kind: "task"; readonly task: Task }
  | { readonly kind: "eval"; readonly eval: Eval };

/** Hands out evaluations before new tasks; nobody waits while there is something to do, and nobody leaves too early. */
export class WorkQueue<Task, Eval> {
  readonly #nextTask: () => Promise<Task | null> | Task | null;
  readonly #evals: Eval[] = [];
  readonly #waiting: (() => void)[] = [];
  /** The task that is handed out next, once it has been read. */
  #next: Task | null = null;
  #isReading = false;
  #isDry = false;
  #failure: { readonly error: unknown } | null = null;
  #running = 0;

  /** `nextTask` gives null at the end, and is never asked twice at a time. */
  constructor(nextTask: () => Promise<Task | null> | Task | null) {
    this.#nextTask = nextTask;
  }

  /** Evaluations that a task's answer asks for. */
  push(evals: readonly Eval[]): void {
    this.#evals.push(...evals);
    this.#wake(evals.length);
  }

  /** Must be called once for each job that was taken. */
  done(): void {
    this.#running--;
    if (this.#isDry && this.#running === 0) this.#wake(this.#waiting.length);
  }

  /** Null when there is nothing left and nothing can come; rejects once the next task could not be read. */
  async take(): Promise<Job<Task, Eval> | null> {
    for (;;) {
      const job = this.takeReady();
      if (job !== null) return job;
      if (this.#failure !== null) throw this.#failure.error;
      if (this.#isDry && this.#running === 0) return null;
      await new Promise<void>((resolve) => this.#waiting.push(resolve));
    }
  }

  /** What can be had without a wait; null when `take` knows more. */
  takeReady(): Job<Task, Eval> | null {
    const evaluation = this.#evals.shift();
    if (evaluation !== undefined) {
      this.#running++;
      return { kind: "eval", eval: evaluation };
    }
    if (this.#next === null) this.#read();
    const task = this.#next;
    if (task === null) return null;
    this.#next = null;
    this.#running++;
    this.#read();
    return { kind: "task", task };
  }

  /** Reads one task ahead. */
  #read(): void {
    if (this.#isReading || this.#isDry || this.#next !== null || this.#failure !== null) return;
    this.#isReading = true;
    try {
      const task = this.#nextTask();
      if (task instanceof Promise) task.then(this.#hold, this.#fail);
      else this.#hold(task);
    } catch (error) {
      this.#fail(error);
    }
  }

  readonly #hold = (task: Task | null): void => {
    this.#isReading = false;
    this.#next = task;
    if (task === null) this.#isDry = true;
    this.#wake(task === null ? this.#waiting.length : 1);
  };

  readonly #fail = (error: unknown): void => {
    this.#isReading = false;
    this.#failure = { error };
    this.#wake(this.#waiting.length);
  };

  #wake(count: number): void {
    if (this.#waiting.length > 0) for (const resolve of this.#waiting.splice(0, count)) resolve();
  }
}
