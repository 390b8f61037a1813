/** Something that the first who asks prepares for all; what failed is prepared again for the next one. */
export class PreparedOnce<T> {
  readonly #prepare: (signal: AbortSignal) => Promise<T>;
  #prepared: Promise<T> | null = null;

  constructor(prepare: (signal: AbortSignal) => Promise<T>) {
    this.#prepare = prepare;
  }

  get(signal: AbortSignal): Promise<T> {
    this.#prepared ??= this.#prepare(signal).catch((error: unknown) => {
      this.#prepared = null;
      throw error;
    });
    return this.#prepared;
  }

  /** What is there, without preparing anything; null for nothing. */
  async peek(): Promise<T | null> {
    return (await this.#prepared?.catch(() => null)) ?? null;
  }
}
