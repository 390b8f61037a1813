/** Lets work on one connection happen one after the other. */
export class Turns {
  #last: Promise<unknown> = Promise.resolve();

  /** Runs the work when all that was given before is over. */
  take<T>(work: () => Promise<T>): Promise<T> {
    const turn = this.#last.then(work);
    this.#last = turn.catch(() => {});
    return turn;
  }
}
