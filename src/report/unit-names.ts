import { plainText } from "../base/terminal-text.ts";
import type { RunShape } from "../store/run.ts";

export interface UnitNames {
  /** `cpe terminal-bench/hello-world #1` */
  readonly full: string;
  /** Without the group that the item lies in, for where room is scarce: `cpe hello-world #1` */
  readonly short: string;
}

/** What people call a unit, plain and on one line. */
export function unitNames(labels: Readonly<Record<string, string>>, shape: RunShape): UnitNames {
  const groups = shape.groupBy.flatMap((label) => labels[label] ?? []);
  const item = labels[shape.itemLabel];
  const placed = new Set([...shape.groupBy, shape.itemLabel]);
  const rest = Object.keys(labels).filter((label) => !placed.has(label));
  const join = (place: readonly string[]): string =>
    plainText([...groups.slice(0, -1), place.join("/"), ...rest.map((label) => `#${labels[label]}`)].join(" ").trim());
  const full = join([...groups.slice(-1), ...(item === undefined ? [] : [item])]);
  return { full, short: groups.length > 1 && item !== undefined ? join([item]) : full };
}
