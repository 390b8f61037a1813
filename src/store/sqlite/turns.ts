/** Lets work on one connection happen one after the other. */
export class Turns {
  #last: Promise<unknown> = Promise.resolve();
  #open = 0;

  /** Nothing is under way, nor waits. */
  get isFree(): boolean {
    return this.#open === 0;
  }

  /** Runs the work when all that was given before is over. */
  take<T>(work: () => Promise<T>): Promise<T> {
    this.#open++;
    const turn = this.#last.then(work);
    const leave = (): void => void this.#open--;
    this.#last = turn.then(leave, leave);
    return turn;
  }
}
