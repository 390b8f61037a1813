/** Places that are taken, one bit for each. */
export class PlaceSet {
  readonly #bits: Uint8Array;

  constructor(total: number) {
    this.#bits = new Uint8Array(Math.ceil(total / 8));
  }

  add(place: number): void {
    const at = place >>> 3;
    this.#bits[at] = (this.#bits[at] ?? 0) | (1 << (place & 7));
  }

  has(place: number): boolean {
    return ((this.#bits[place >>> 3] ?? 0) & (1 << (place & 7))) !== 0;
  }
}
