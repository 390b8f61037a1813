const leastRoom = 1 << 16;
const mostRoom = 1 << 23;

/** Texts one behind the other as bytes, in room that is used again: room that is new each time costs more than the copying. */
export class GatheredBytes {
  #room = Buffer.allocUnsafe(leastRoom);
  #other = Buffer.allocUnsafe(leastRoom);
  #length = 0;

  get length(): number {
    return this.#length;
  }

  add(text: string): void {
    const needed = this.#length + longestCharacter * text.length;
    if (needed > this.#room.length) this.#grow(needed);
    this.#length += this.#room.write(text, this.#length);
  }

  /** All that came since the last time; it stays as it is until the next is taken. */
  take(): Buffer {
    const taken = this.#room.subarray(0, this.#length);
    const next = this.#other.length > mostRoom ? Buffer.allocUnsafe(leastRoom) : this.#other;
    [this.#room, this.#other] = [next, this.#room];
    this.#length = 0;
    return taken;
  }

  #grow(needed: number): void {
    const room = Buffer.allocUnsafe(Math.max(needed, 2 * this.#room.length));
    this.#room.copy(room, 0, 0, this.#length);
    this.#room = room;
  }
}

// A character of UTF-16 is at most so many bytes of UTF-8.
const longestCharacter = 3;
