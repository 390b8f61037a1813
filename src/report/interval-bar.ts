import type { Style } from "./style.ts";

/** A scale of `cells` from 0 to 1 with a range drawn on it and, if there is one, a point; drawn in plain signs. */
export function intervalBar(low: number, high: number, point: number | null, cells: number, style: Style): string {
  const at = (value: number): number => Math.round(Math.min(1, Math.max(0, value)) * (cells - 1));
  const { track, span, point: dot } = style.signs;
  return Array.from({ length: Math.max(0, cells) }, (_, cell) => {
    if (point !== null && cell === at(point)) return dot;
    return cell >= at(low) && cell <= at(high) ? span : track;
  }).join("");
}

/** The same text with its empty scale dimmed, so that the range stands out. */
export function paintBar(bar: string, style: Style, paintRange: (text: string) => string): string {
  const { track } = style.signs;
  const start = bar.length - trimStart(bar, track).length;
  const end = start + trimEnd(bar.slice(start), track).length;
  return style.dim(bar.slice(0, start)) + paintRange(bar.slice(start, end)) + style.dim(bar.slice(end));
}

function trimStart(text: string, sign: string): string {
  let start = 0;
  while (text[start] === sign) start++;
  return text.slice(start);
}

function trimEnd(text: string, sign: string): string {
  let end = text.length;
  while (end > 0 && text[end - 1] === sign) end--;
  return text.slice(0, end);
}
