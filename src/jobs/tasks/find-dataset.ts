import { RolloutError } from "../../base/rollout-error.ts";
import { suggest } from "../../base/suggest.ts";
import type { RegistryEntry } from "./registry.ts";

const longestList = 20;

/** The entry of that name and version; a version may be left out only when there is one. Rejects with `config_invalid`. */
export function findDataset(entries: readonly RegistryEntry[], name: string, version: string | null): RegistryEntry {
  const named = entries.filter((entry) => entry.name === name);
  if (named.length === 0) throw noSuchName(entries, name);
  const versions = named.map((entry) => entry.version ?? "(none)");
  const matching = version === null ? named : named.filter((entry) => entry.version === version);
  const [found, another] = matching;
  if (found !== undefined && another === undefined) return found;
  const list = `its versions are: ${[...new Set(versions)].join(", ")}`;
  if (found === undefined) {
    const near = suggest(version ?? "", versions);
    const hint = near === undefined ? list : `did you mean "${near}"? ${list}`;
    throw new RolloutError("config_invalid", `dataset "${name}" has no version "${version}" in the registry`, { hint });
  }
  if (version === null) {
    const message = `dataset "${name}" has ${named.length} versions in the registry and none was asked for`;
    throw new RolloutError("config_invalid", message, { hint: `set version; ${list}` });
  }
  const message = `dataset "${name}" stands in the registry ${matching.length} times with version "${version}"`;
  throw new RolloutError("config_invalid", message, { hint: "remove all but one of them from the registry" });
}

function noSuchName(entries: readonly RegistryEntry[], name: string): RolloutError {
  const names = [...new Set(entries.map((entry) => entry.name))].sort();
  const near = suggest(name, names);
  const rest = names.length > longestList ? ` and ${names.length - longestList} more` : "";
  const list = names.length === 0 ? "it is empty" : `it has: ${names.slice(0, longestList).join(", ")}${rest}`;
  const hint = near === undefined ? list : `did you mean "${near}"? ${list}`;
  return new RolloutError("config_invalid", `the registry has no dataset "${name}"`, { hint });
}
