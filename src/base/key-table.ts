const fewestSlots = 1024;

/**
 * Very many texts, each with a number if `hasValues`, in a table of 8 or 16 bytes a slot that is at most two thirds full.
 * A text is known by 64 bits of its hash, which two of a million share once in ten million tables: who must be sure looks again.
 */
export class KeyTable {
  // The two halves of a hash side by side; an upper half of 0 is an empty slot.
  #slots = new Uint32Array(2 * fewestSlots);
  #values: Float64Array | null;
  #count = 0;

  constructor({ hasValues }: { readonly hasValues: boolean }) {
    this.#values = hasValues ? new Float64Array(fewestSlots) : null;
  }

  /** How many different texts there are. */
  get count(): number {
    return this.#count;
  }

  /** False when the text was there before; its number is the new one now. */
  put(key: string, value = 0): boolean {
    const [lower, upper] = hash(key);
    const slot = this.#find(lower, upper);
    const isNew = this.#slots[2 * slot + 1] === 0;
    this.#fill(slot, lower, upper, value);
    if (isNew && ++this.#count * 3 > this.#slots.length) this.#grow();
    return isNew;
  }

  /** The number of a text; null when the text is not there. */
  get(key: string): number | null {
    const slot = this.#find(...hash(key));
    return this.#slots[2 * slot + 1] === 0 ? null : (this.#values?.[slot] ?? 0);
  }

  /** The slot of a hash, or the empty one where it belongs. */
  #find(lower: number, upper: number): number {
    const mask = this.#slots.length / 2 - 1;
    for (let slot = lower & mask; ; slot = (slot + 1) & mask) {
      const there = this.#slots[2 * slot + 1];
      if (there === 0 || (there === upper && this.#slots[2 * slot] === lower)) return slot;
    }
  }

  #fill(slot: number, lower: number, upper: number, value: number): void {
    this.#slots[2 * slot] = lower;
    this.#slots[2 * slot + 1] = upper;
    if (this.#values !== null) this.#values[slot] = value;
  }

  #grow(): void {
    const [slots, values] = [this.#slots, this.#values];
    this.#slots = new Uint32Array(2 * slots.length);
    if (values !== null) this.#values = new Float64Array(slots.length);
    for (let from = 0; 2 * from < slots.length; from++) {
      const [lower = 0, upper = 0] = [slots[2 * from], slots[2 * from + 1]];
      if (upper !== 0) this.#fill(this.#find(lower, upper), lower, upper, values?.[from] ?? 0);
    }
  }
}

// Two multiplicative hashes that are mixed into each other at the end.
function hash(key: string): [lower: number, upper: number] {
  let a = 0xdeadbeef;
  let b = 0x41c6ce57;
  for (let at = 0; at < key.length; at++) {
    const code = key.charCodeAt(at);
    a = Math.imul(a ^ code, 2654435761);
    b = Math.imul(b ^ code, 1597334677);
  }
  a = Math.imul(a ^ (a >>> 16), 2246822507) ^ Math.imul(b ^ (b >>> 13), 3266489909);
  b = Math.imul(b ^ (b >>> 16), 2246822507) ^ Math.imul(a ^ (a >>> 13), 3266489909);
  return [a >>> 0, b >>> 0 || 1];
}
