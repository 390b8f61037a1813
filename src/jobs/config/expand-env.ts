import type { Secret } from "../../base/redactor.ts";

type Variables = Readonly<Record<string, string | undefined>>;

export interface Expansion {
  readonly text: string;
  /** Names that are not set and have no default. */
  readonly missing: readonly string[];
  /** Values that came from variables, which must never be written down. */
  readonly secrets: readonly Secret[];
}

const referenceStart = /\$\{([A-Za-z_][A-Za-z0-9_]*)(\}|:-)/g;

/** Replaces `${VAR}` and `${VAR:-default}`; everything else, `$VAR` too, stays as it is. A default may hold references. */
export function expandText(template: string, variables: Variables): Expansion {
  const missing: string[] = [];
  const secrets: Secret[] = [];
  let text = "";
  let at = 0;
  for (;;) {
    const found = nextReference(template, at);
    if (!found) return { text: text + template.slice(at), missing, secrets };
    const { name, fallback } = found;
    text += template.slice(at, found.start);
    at = found.end;
    const value = Object.hasOwn(variables, name) ? variables[name] : undefined;
    // As in a shell, `:-` also stands in for an empty value.
    if (value === undefined || (value === "" && fallback !== undefined)) {
      if (fallback === undefined) missing.push(name);
      else {
        const inner = expandText(fallback, variables);
        text += inner.text;
        missing.push(...inner.missing);
        secrets.push(...inner.secrets);
      }
    } else {
      text += value;
      if (value !== "") secrets.push({ name, value });
    }
  }
}

interface Reference {
  readonly start: number;
  readonly end: number;
  readonly name: string;
  readonly fallback: string | undefined;
}

function nextReference(template: string, from: number): Reference | undefined {
  referenceStart.lastIndex = from;
  for (let match = referenceStart.exec(template); match; match = referenceStart.exec(template)) {
    const [, name = "", next] = match;
    const inside = match.index + match[0].length;
    if (next === "}") return { start: match.index, end: inside, name, fallback: undefined };
    const close = findClose(template, inside);
    if (close !== -1) return { start: match.index, end: close + 1, name, fallback: template.slice(inside, close) };
  }
  return undefined;
}

/** The brace that ends a default: the first one that does not end a reference inside it. */
function findClose(template: string, from: number): number {
  let depth = 0;
  for (let at = from; at < template.length; at++) {
    if (template.startsWith("${", at)) depth++;
    else if (template[at] === "}" && depth-- === 0) return at;
  }
  return -1;
}

export interface TreeExpansion {
  readonly value: unknown;
  readonly missing: readonly { readonly path: readonly (string | number)[]; readonly name: string }[];
  readonly secrets: readonly Secret[];
}

/** Expands every string inside a value, keys excepted. */
export function expandTree(
  value: unknown,
  variables: Variables,
  path: readonly (string | number)[] = [],
): TreeExpansion {
  if (typeof value === "string") {
    const { text, missing, secrets } = expandText(value, variables);
    return { value: text, missing: missing.map((name) => ({ path, name })), secrets };
  }
  if (value === null || typeof value !== "object") return { value, missing: [], secrets: [] };
  const isList = Array.isArray(value);
  const parts = Object.entries(value).map(
    ([key, part]) => [key, expandTree(part, variables, [...path, isList ? Number(key) : key])] as const,
  );
  const values = parts.map(([key, part]) => [key, part.value] as const);
  return {
    value: isList ? values.map(([, part]) => part) : Object.fromEntries(values),
    missing: parts.flatMap(([, part]) => part.missing),
    secrets: parts.flatMap(([, part]) => part.secrets),
  };
}
