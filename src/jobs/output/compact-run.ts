import type { Run, RunSession } from "../../store/run.ts";

/** The size of run.json. A list of jobs reads one such file per job. */
export const maxRunFileBytes = 8 * 1024;

interface Limits {
  /** Warnings and notes. */
  readonly texts: number;
  readonly textLength: number;
  /** Groups, targets, datasets, tags, sessions. */
  readonly entries: number;
}

// Tried in order until the run is small enough.
const levels: readonly Limits[] = [
  { texts: 10, textLength: 200, entries: 20 },
  { texts: 3, textLength: 100, entries: 5 },
  { texts: 1, textLength: 50, entries: 2 },
  { texts: 0, textLength: 20, entries: 1 },
];

/** Returns a run that takes at most 8 KB as indented JSON. Its numbers stay; long texts and lists are cut. */
export function compactRun(run: Run): Run {
  const sizeOf = (value: Run): number => Buffer.byteLength(`${JSON.stringify(value, null, 2)}\n`);
  let compact = run;
  for (const limits of levels) {
    if (sizeOf(compact) <= maxRunFileBytes) return compact;
    compact = cutRun(run, limits);
  }
  return compact;
}

function cutRun(run: Run, { texts, textLength, entries }: Limits): Run {
  const cut = (text: string): string => text.slice(0, textLength).toWellFormed();
  const cutAll = (all: readonly string[], count: number): string[] => all.slice(0, count).map(cut);
  const cutValues = (record: Readonly<Record<string, string>>): Record<string, string> =>
    Object.fromEntries(
      Object.entries(record)
        .slice(0, entries)
        .map(([name, value]) => [cut(name), cut(value)]),
    );
  return {
    ...run,
    description: run.description === null ? null : cut(run.description),
    sessions: mergeSessions(run.sessions, entries),
    plan: {
      ...run.plan,
      groups: run.plan.groups.slice(0, entries).map(({ labels, total }) => ({ labels: cutValues(labels), total })),
    },
    groups: run.groups.slice(0, entries).map(({ labels, headline }) => ({ labels: cutValues(labels), headline })),
    targets: cutAll(run.targets, entries),
    datasets: run.datasets
      .slice(0, entries)
      .map(({ name, id, version }) => ({ name: cut(name), id, version: version === null ? null : cut(version) })),
    tags: cutValues(run.tags),
    error: run.error === null ? null : cut(run.error),
    warnings: cutAll(run.warnings, texts),
    notes: cutAll(run.notes, texts),
    details: { ...run.details, selection: null },
  };
}

/** Merges the oldest sessions into one, so that the total duration stays. */
function mergeSessions(sessions: readonly RunSession[], count: number): readonly RunSession[] {
  if (sessions.length <= count) return sessions;
  const oldest = sessions.slice(0, sessions.length - count + 1);
  const merged: RunSession = {
    startedAt: oldest[0]?.startedAt ?? 0,
    endedAt: oldest.at(-1)?.endedAt ?? null,
    durationSec: Math.round(oldest.reduce((sum, { durationSec }) => sum + durationSec, 0) * 1000) / 1000,
  };
  return [merged, ...sessions.slice(oldest.length)];
}
