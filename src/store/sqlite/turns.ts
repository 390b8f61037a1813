/** Runs work on one connection one after the other. */
export class Turns {
  #last: Promise<unknown> = Promise.resolve();

  /** Runs the work after all earlier work has settled. */
  take<T>(work: () => Promise<T>): Promise<T> {
    const turn = this.#last.then(work);
    this.#last = turn.catch(() => {});
    return turn;
  }
}
