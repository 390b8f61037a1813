import type { Redactor } from "../../base/redactor.ts";
import type { ChangeReport, FileChange } from "../../environments/environment.ts";

export interface ChangesTextOptions {
  readonly directory: string;
  /** Applied to names and contents before they are cut, so that no part of a secret is left. */
  readonly redactor: Redactor;
  readonly signal: AbortSignal;
}

const maxPaths = 500;
/** An added directory with more files than this is one line. */
const maxFilesPerDirectory = 100;
const maxFileBytes = 256 * 1024;
const maxDiffBytes = 64 * 1024;
const maxLineLength = 500;
// Comparing files that have nothing in common takes time that grows with the square of their lines.
const maxEditLength = 1000;
const diffTimeoutMs = 100;

/** Describes what an agent changed in its working directory: a list of paths, then diffs of text files up to a limit. */
export async function describeChanges(report: ChangeReport, options: ChangesTextOptions): Promise<string> {
  const lines = foldDirectories(sortByPath(report.changes));
  const shown = lines.slice(0, maxPaths);
  const diffs = new DiffSection(report, options);
  // What was changed says more than what was added, and the room is limited.
  for (const kind of ["changed", "added"] as const) {
    for (const line of shown) if (line.files === null && line.change.kind === kind) await diffs.add(line.change);
  }
  const show = (text: string): string => escapeName(options.redactor.text(text));
  const list = shown.map((line) => describeLine(line, diffs.binaries, show));
  if (lines.length > shown.length) list.push(`… and ${lines.length - shown.length} more`);
  if (report.isCut) list.push("… the list is not complete: there are too many files, or some may not be read");
  return [`${countChanges(report)} in ${show(options.directory)}`, "", ...list, ...diffs.end()].join("\n") + "\n";
}

interface ListLine {
  readonly change: FileChange;
  /** How many files an added directory holds, if they are not listed one by one. */
  readonly files: number | null;
}

function countChanges({ changes }: ChangeReport): string {
  const files = changes.filter(({ kind, type }) => kind !== "added" || type !== "directory");
  const count = (wanted: FileChange["kind"]): number => files.filter(({ kind }) => kind === wanted).length;
  return `${count("added")} added, ${count("changed")} changed, ${count("removed")} removed`;
}

// With the slash before every other character, so that a directory is followed by what it contains.
function sortByPath(changes: readonly FileChange[]): FileChange[] {
  const keyed = changes.map((change) => ({ change, key: change.path.replaceAll("/", "\0") }));
  keyed.sort((one, other) => (one.key < other.key ? -1 : Number(one.key > other.key)));
  return keyed.map(({ change }) => change);
}

// An added directory needs no line of its own if its files have theirs.
function foldDirectories(changes: readonly FileChange[]): ListLine[] {
  const lines: ListLine[] = [];
  for (let index = 0; index < changes.length; index++) {
    const change = changes[index];
    if (change === undefined) break;
    if (change.kind !== "added" || change.type !== "directory") {
      lines.push({ change, files: null });
      continue;
    }
    const end = endOfDirectory(changes, index);
    const files = changes.slice(index + 1, end).filter(({ type }) => type !== "directory").length;
    if (files > 0 && files <= maxFilesPerDirectory) continue;
    lines.push({ change, files });
    index = end - 1;
  }
  return lines;
}

function endOfDirectory(changes: readonly FileChange[], start: number): number {
  const prefix = `${changes[start]?.path}/`;
  for (let end = start + 1; ; end++) if (!changes[end]?.path.startsWith(prefix)) return end;
}

function describeLine(
  { change, files }: ListLine,
  binaries: ReadonlySet<string>,
  show: (text: string) => string,
): string {
  const { kind, path, type, size, linkTarget, modes } = change;
  const name = `${show(path)}${type === "directory" ? "/" : ""}${type === "link" ? ` -> ${show(linkTarget ?? "")}` : ""}`;
  const notes = [
    ...(type === "file" && size !== undefined && kind !== "removed" ? [`${size} bytes`] : []),
    ...(binaries.has(path) ? ["binary"] : []),
    ...(type === "other" ? ["not a regular file"] : []),
    ...(modes ? [`mode ${modes[0].toString(8)} -> ${modes[1].toString(8)}`] : []),
    ...(files ? [`${files} files`] : []),
  ];
  return `${kind.padEnd(8)} ${name}${notes.length > 0 ? ` (${notes.join(", ")})` : ""}`;
}

const reasons = {
  noOriginal: "the environment does not provide the original",
  tooLarge: `larger than ${maxFileBytes / 1024} KiB`,
  unreadable: "could not be read",
  tooDifferent: "too many differences",
  noRoom: `the diffs above reach the limit of ${maxDiffBytes / 1024} KiB`,
} as const;

/** Diffs of one file after the other, until the room is used up. */
class DiffSection {
  readonly binaries = new Set<string>();
  readonly #report: ChangeReport;
  readonly #options: ChangesTextOptions;
  readonly #lines: string[] = [];
  readonly #omitted = new Map<keyof typeof reasons, number>();
  #bytes = 0;

  constructor(report: ChangeReport, options: ChangesTextOptions) {
    this.#report = report;
    this.#options = options;
  }

  async add(change: FileChange): Promise<void> {
    if (change.type !== "file" && change.type !== null) return;
    if (this.#bytes >= maxDiffBytes) return this.#omit("noRoom");
    if (change.kind === "changed" && !this.#report.readBefore) return this.#omit("noOriginal");
    if ((change.size ?? 0) > maxFileBytes) return this.#omit("tooLarge");
    const { signal } = this.#options;
    const now = await this.#report.readAfter(change.path, maxFileBytes, signal);
    const isAdded = change.kind === "added";
    const before = isAdded ? new Uint8Array() : await this.#report.readBefore?.(change.path, maxFileBytes, signal);
    // Without a type it may be a directory, which has nothing to show.
    if (now === null || !before) return change.type === null ? undefined : this.#omit("unreadable");
    const [earlier, later] = [this.#toText(before), this.#toText(now)];
    if (earlier === null || later === null) return void this.binaries.add(change.path);
    this.#append(change.path, isAdded ? addedLines(later) : await changedLines(earlier, later));
  }

  end(): string[] {
    const notes = [...this.#omitted].map(
      ([reason, count]) => `no diff of ${count === 1 ? "1 file" : `${count} files`}: ${reasons[reason]}`,
    );
    return [...this.#lines, ...(notes.length > 0 ? ["", ...notes] : [])];
  }

  // As a whole, before lines are taken apart: a secret may have several lines.
  #toText(bytes: Uint8Array): string | null {
    const text = decodeText(bytes);
    return text === null ? null : this.#options.redactor.text(text);
  }

  #append(path: string, lines: readonly string[] | null): void {
    if (lines === null) return this.#omit("tooDifferent");
    // Nothing but the permissions changed, or a secret that is not shown.
    if (lines.length === 0) return;
    const name = escapeName(this.#options.redactor.text(path));
    this.#lines.push("", `--- a/${name}`, `+++ b/${name}`);
    for (const [index, line] of lines.entries()) {
      const shown = cutLine(escapeControls(line, true));
      this.#bytes += Buffer.byteLength(shown) + 1;
      if (this.#bytes > maxDiffBytes) {
        this.#lines.push(`… ${lines.length - index} more lines of this diff`);
        return;
      }
      this.#lines.push(shown);
    }
  }

  #omit(reason: keyof typeof reasons): void {
    this.#omitted.set(reason, (this.#omitted.get(reason) ?? 0) + 1);
  }
}

function addedLines(text: string): string[] {
  if (text === "") return [];
  const lines = text.split("\n");
  const hasEnd = lines.at(-1) === "";
  if (hasEnd) lines.pop();
  const missing = hasEnd ? [] : ["\\ No newline at end of file"];
  return [`@@ -0,0 +1,${lines.length} @@`, ...lines.map((line) => `+${line}`), ...missing];
}

async function changedLines(before: string, now: string): Promise<string[] | null> {
  const { structuredPatch } = await import("diff");
  const patch = structuredPatch("", "", before, now, undefined, undefined, {
    context: 3,
    maxEditLength,
    timeout: diffTimeoutMs,
  });
  if (patch === undefined) return null;
  return patch.hunks.flatMap(({ oldStart, oldLines, newStart, newLines, lines }) => [
    `@@ -${oldStart},${oldLines} +${newStart},${newLines} @@`,
    ...lines,
  ]);
}

function decodeText(bytes: Uint8Array): string | null {
  if (bytes.includes(0)) return null;
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    return null;
  }
}

function cutLine(line: string): string {
  if (line.length <= maxLineLength) return line;
  return `${line.slice(0, maxLineLength).toWellFormed()}… (${line.length - maxLineLength} more characters)`;
}

// Controls and characters that reorder or hide text, so that neither a terminal nor a reader is misled.
const unprintable = /[\p{Cc}\p{Cf}\u2028\u2029]/gu;

function escapeName(text: string): string {
  return escapeControls(text.replaceAll("\\", "\\\\"), false);
}

function escapeControls(text: string, keepsTabs: boolean): string {
  return text.toWellFormed().replace(unprintable, (character) => {
    if (character === "\t" && keepsTabs) return character;
    const code = character.codePointAt(0) ?? 0;
    return (
      named[character] ?? (code < 0x100 ? `\\x${code.toString(16).padStart(2, "0")}` : `\\u{${code.toString(16)}}`)
    );
  });
}

const named: Readonly<Record<string, string>> = { "\t": "\\t", "\n": "\\n", "\r": "\\r" };
