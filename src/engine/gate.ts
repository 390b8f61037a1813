/** Lets units start while it is open; those that run are not touched. */
export class Gate {
  #isOpen = true;
  #onOpen: () => void = () => {};

  get isOpen(): boolean {
    return this.#isOpen;
  }

  /** Names the one who is told whenever it opens. */
  whenOpened(tell: () => void): void {
    this.#onOpen = tell;
  }

  close(): void {
    this.#isOpen = false;
  }

  open(): void {
    if (this.#isOpen) return;
    this.#isOpen = true;
    this.#onOpen();
  }
}
