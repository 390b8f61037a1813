import { isAlias, isMap, isNode, isScalar, isSeq, LineCounter, parseDocument, visit } from "yaml";
import type { Document, Pair, YAMLError, YAMLMap } from "yaml";
import type { Problem } from "../../base/problem.ts";
import { messageOf } from "../../base/rollout-error.ts";

type Path = readonly (string | number)[];

/** A YAML or JSON file as a value, with the way back from a key to its place. */
export interface SourceDocument {
  readonly value: unknown;
  readonly problems: readonly Problem[];
  /** Where a key or its value stands; for one that is not there, the nearest table around it. */
  readonly locate: (path: Path, of: "key" | "value") => { readonly line: number; readonly column: number } | undefined;
  /** A number or boolean exactly as it was written; undefined for anything else. */
  readonly textOf: (path: Path) => string | undefined;
}

/** Parses a job file; syntax errors and duplicate keys become problems, all at once. */
export function parseSource(text: string, file: string): SourceDocument {
  const lines = new LineCounter();
  // JSON is YAML, also when it is indented with tabs.
  const doc = parseDocument(text, {
    lineCounter: lines,
    prettyErrors: false,
    logLevel: "error",
    uniqueKeys: true,
    merge: true,
  });
  const placeAt = (offset: number): { line: number; column: number } => {
    const { line, col } = lines.linePos(offset);
    return { line, column: col };
  };
  const toProblem = (offset: number, message: string): Problem => {
    return { file, ...placeAt(offset), message, severity: "error" };
  };
  const problems = [
    ...doc.errors.map((error) => toProblem(error.pos[0], describeError(error))),
    ...findLooseAliases(doc).map(({ offset, name }) => toProblem(offset, `*${name} has no anchor &${name} before it`)),
  ];
  const { value, failure } = problems.length > 0 ? { value: undefined } : readValue(doc);
  return {
    value,
    problems: failure === undefined ? problems : [{ file, message: failure, severity: "error" }],
    locate(path, of) {
      const offset = findOffset(doc, path, of);
      return offset === undefined ? undefined : placeAt(offset);
    },
    textOf: (path) => writtenText(doc, path),
  };
}

function describeError(error: YAMLError): string {
  if (error.code === "DUPLICATE_KEY") return "this key is already in the table; keep one of the two";
  if (error.code === "MULTIPLE_DOCS") return "a second document starts here; a job file holds one";
  return error.message;
}

function findLooseAliases(doc: Document.Parsed): { offset: number; name: string }[] {
  const loose: { offset: number; name: string }[] = [];
  visit(doc, {
    Alias(_key, node) {
      if (node.resolve(doc) === undefined) loose.push({ offset: node.range?.[0] ?? 0, name: node.source });
    },
  });
  return loose;
}

function readValue(doc: Document.Parsed): { value: unknown; failure?: string } {
  try {
    return { value: doc.toJS() as unknown };
  } catch (error) {
    // The parser refuses aliases that would grow into a huge value.
    return { value: undefined, failure: messageOf(error) };
  }
}

function findOffset(doc: Document.Parsed, path: Path, of: "key" | "value"): number | undefined {
  const pair = pairAt(doc, path);
  const key = isNode(pair?.key) ? pair.key.range?.[0] : undefined;
  const node = nodeAt(doc, path);
  const value = isNode(node) ? node.range?.[0] : undefined;
  const offset = of === "key" ? (key ?? value) : (value ?? key);
  return offset ?? (path.length > 0 ? findOffset(doc, path.slice(0, -1), "value") : undefined);
}

function nodeAt(doc: Document.Parsed, path: Path): unknown {
  const part = path.at(-1);
  if (part === undefined) return doc.contents;
  const parent = follow(doc, nodeAt(doc, path.slice(0, -1)));
  if (isSeq(parent)) return parent.items[Number(part)];
  return isMap(parent) ? findPair(doc, parent, String(part))?.value : undefined;
}

function pairAt(doc: Document.Parsed, path: Path): Pair | undefined {
  const parent = path.length === 0 ? undefined : follow(doc, nodeAt(doc, path.slice(0, -1)));
  return isMap(parent) ? findPair(doc, parent, String(path.at(-1))) : undefined;
}

function findPair(doc: Document.Parsed, map: YAMLMap, key: string): Pair | undefined {
  const own = map.items.find((pair) => isScalar(pair.key) && String(pair.key.value) === key);
  if (own) return own;
  for (const { key: mergeKey, value } of map.items) {
    if (!isScalar(mergeKey) || mergeKey.source !== "<<") continue;
    const merged = follow(doc, value);
    for (const source of isSeq(merged) ? merged.items : [merged]) {
      const table = follow(doc, source);
      const found = isMap(table) ? findPair(doc, table, key) : undefined;
      if (found) return found;
    }
  }
  return undefined;
}

function follow(doc: Document.Parsed, node: unknown): unknown {
  return isAlias(node) ? node.resolve(doc) : node;
}

function writtenText(doc: Document.Parsed, path: Path): string | undefined {
  const node = follow(doc, nodeAt(doc, path));
  if (!isScalar(node) || !["number", "boolean"].includes(typeof node.value)) return undefined;
  return node.source;
}
