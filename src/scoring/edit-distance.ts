// oxlint-disable typescript/no-non-null-assertion -- every index is inside its array, and a check would cost what the method saves
import { setImmediate } from "node:timers/promises";

// Some ten milliseconds of work, after which others get their turn.
const opsPerTurn = 1_000_000;

interface Codes {
  readonly from: Uint32Array;
  readonly to: Uint32Array;
  readonly alphabet: number;
}

/**
 * The number of code points to insert, delete or replace to make `to` of `from` (Levenshtein). Bit-parallel (Myers, in
 * Hyyrö's blocks of 32 rows): memory grows with the longer text, and long texts leave the event loop free now and then.
 */
export async function editDistance(from: string, to: string, signal: AbortSignal): Promise<number> {
  const { from: rows, to: columns, alphabet } = codesOf(from, to);
  if (rows.length === 0) return columns.length;
  // What enters a block from the one above: +1 and -1 per column, as bits.
  const words = (columns.length + 31) >>> 5;
  const plus = new Int32Array(words).fill(-1);
  const minus = new Int32Array(words);
  const positions = new Int32Array(alphabet);
  let distance = rows.length;
  let ops = 0;
  for (let start = 0; start < rows.length; start += 32) {
    distance = passBlock(rows.subarray(start, start + 32), columns, positions, plus, minus, rows.length);
    ops += columns.length;
    if (ops > opsPerTurn) {
      ops = 0;
      await setImmediate();
      signal.throwIfAborted();
    }
  }
  return distance;
}

// What it returns is the distance only for the last block; of the others what they hand down matters.
function passBlock(
  block: Uint32Array,
  columns: Uint32Array,
  positions: Int32Array,
  plus: Int32Array,
  minus: Int32Array,
  rowCount: number,
): number {
  positions.fill(0);
  for (let row = 0; row < block.length; row++) positions[block[row]!]! |= 1 << row;
  const lastBit = block.length - 1;
  let pv = -1;
  let mv = 0;
  let distance = rowCount;
  for (let word = 0; word < plus.length; word++) {
    const plusAbove = plus[word]!;
    const minusAbove = minus[word]!;
    let plusBelow = 0;
    let minusBelow = 0;
    const start = word << 5;
    const width = Math.min(32, columns.length - start);
    for (let bit = 0; bit < width; bit++) {
      const plusIn = (plusAbove >>> bit) & 1;
      const minusIn = (minusAbove >>> bit) & 1;
      const found = positions[columns[start + bit]!]!;
      const xv = found | mv;
      const eq = found | minusIn;
      const xh = ((((eq & pv) + pv) | 0) ^ pv) | eq;
      const ph = mv | ~(xh | pv);
      const mh = pv & xh;
      const plusOut = (ph >>> lastBit) & 1;
      const minusOut = (mh >>> lastBit) & 1;
      distance += plusOut - minusOut;
      plusBelow |= plusOut << bit;
      minusBelow |= minusOut << bit;
      const shifted = (ph << 1) | plusIn;
      pv = (mh << 1) | minusIn | ~(xv | shifted);
      mv = shifted & xv;
    }
    plus[word] = plusBelow;
    minus[word] = minusBelow;
  }
  return distance;
}

// Code points as small numbers, without what both texts begin and end with; the shorter text gives the rows.
function codesOf(from: string, to: string): Codes {
  const numbers = new Map<string, number>();
  const read = (text: string): Uint32Array => {
    const codes = new Uint32Array(text.length);
    let length = 0;
    for (const point of text) {
      let code = numbers.get(point);
      if (code === undefined) numbers.set(point, (code = numbers.size));
      codes[length++] = code;
    }
    return codes.subarray(0, length);
  };
  const [a, b] = [read(from), read(to)];
  const shorter = Math.min(a.length, b.length);
  let head = 0;
  while (head < shorter && a[head] === b[head]) head++;
  let tail = 0;
  while (tail < shorter - head && a[a.length - 1 - tail] === b[b.length - 1 - tail]) tail++;
  const parts = [a.subarray(head, a.length - tail), b.subarray(head, b.length - tail)] as const;
  const [rows, columns] = a.length <= b.length ? parts : [parts[1], parts[0]];
  return { from: rows, to: columns, alphabet: numbers.size };
}
