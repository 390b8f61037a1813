import { RolloutError } from "../../base/rollout-error.ts";
import { describeUnknown } from "../../base/suggest.ts";
import type { Run } from "../../store/run.ts";
import { unitOrders, type UnitOrder, type UnitQuery } from "../../store/run-source.ts";
import { checkFilterNames, parseFilter, type Filter } from "../../store/filter.ts";
import { unitFieldNames, unitNumberNames } from "../../store/unit-filter.ts";

export interface QueryOptions {
  readonly filter?: string;
  readonly failed?: boolean;
  readonly sort?: string;
}

const notPassed = (name: string, passAt: number): Filter =>
  name === ""
    ? [{ kind: "field", isNegated: true, name: "status", patterns: ["completed"] }]
    : [{ kind: "number", isNegated: true, name, operator: ">=", value: passAt }];

/** Returns the query that the options ask for. `--failed` selects units that failed or did not pass. */
export function unitQueryOf({ filter, failed, sort }: QueryOptions, run: Run): Omit<UnitQuery, "page"> {
  const { shape } = run;
  const terms = filter === undefined ? [] : parseFilter(filter);
  const labels = [...shape.groupBy, shape.itemLabel, "attempt", "repeat", "repetition"];
  const scores = [shape.scoreName, ...(shape.otherScores ?? [])];
  checkFilterNames(terms, [...unitFieldNames, ...labels], [...unitNumberNames, ...scores, ...labels]);
  const all = [...terms, ...(failed === true ? notPassed(shape.scoreName, shape.passAt) : [])];
  return {
    ...(all.length > 0 ? { filter: all } : {}),
    ...(sort === undefined ? {} : { sort: sortOf(sort) }),
  };
}

function sortOf(word: string): { readonly by: UnitOrder; readonly isDescending: boolean } {
  const isDescending = word.startsWith("-");
  const name = isDescending ? word.slice(1) : word;
  const by = unitOrders.find((order) => order === name);
  if (by !== undefined) return { by, isDescending };
  throw new RolloutError("usage_invalid", `--sort ${word}: ${describeUnknown("order", name, unitOrders)}`, {
    hint: `one of ${unitOrders.join(", ")}; a leading - reverses the order`,
  });
}
