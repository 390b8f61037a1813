import { RolloutError } from "../../base/rollout-error.ts";

const maxCandidates = 10;

/**
 * Finds the trial that a word names: its key `agent/dataset/task__1`, the end of it (`task__1`, `dataset/task__1`), a task
 * with one trial, or any text that only one key contains. The best kind of match counts. Throws `not_found` for no trial
 * and `usage_invalid` with the candidates for several.
 */
export function findTrialKey(keys: readonly string[], word: string): string {
  const name = word.replace(/^\/+|\/+$/g, "");
  const kinds: readonly ((key: string) => boolean)[] = [
    (key) => key === name,
    (key) => key.endsWith(`/${name}`),
    (key) => `/${key.replace(/__\d+$/, "")}`.endsWith(`/${name}`),
    (key) => `/${key}/`.includes(`/${name}/`),
    (key) => key.includes(name),
  ];
  for (const matches of name === "" ? [] : kinds) {
    const found = keys.filter(matches);
    const [only] = found;
    if (found.length === 1 && only !== undefined) return only;
    if (found.length > 1)
      throw new RolloutError("usage_invalid", `${found.length} trials match "${word}"`, {
        hint: `name one of them: ${list(found)}`,
      });
  }
  throw new RolloutError("not_found", `no trial matches "${word}"`, { hint: `trials: ${list(keys)}` });
}

function list(keys: readonly string[]): string {
  const more = keys.length - maxCandidates;
  return [...keys.slice(0, maxCandidates), ...(more > 0 ? [`and ${more} more`] : [])].join(", ");
}
