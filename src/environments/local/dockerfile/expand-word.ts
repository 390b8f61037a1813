/** What a variable holds; undefined when it is not set. */
export type Lookup = (name: string) => string | undefined;

/** Splits a line into words at blanks outside of quotes; the quotes stay. */
export function splitWords(line: string, escape: string): string[] {
  const words: string[] = [];
  let word = "";
  let quote = "";
  for (let at = 0; at < line.length; at++) {
    const character = line[at] ?? "";
    if (quote === "" && /\s/.test(character)) {
      if (word !== "") words.push(word);
      word = "";
      continue;
    }
    word += character;
    if (character === escape && quote !== "'") word += line[++at] ?? "";
    else if (quote === "" && (character === '"' || character === "'")) quote = character;
    else if (character === quote) quote = "";
  }
  if (word !== "") words.push(word);
  return words;
}

/** Removes quotes and escapes of a word and puts in the values of variables, as a Dockerfile does. */
export function expandWord(word: string, lookup: Lookup, escape: string): string {
  let result = "";
  let quote = "";
  for (let at = 0; at < word.length; at++) {
    const character = word[at] ?? "";
    if (quote === "'") {
      if (character === "'") quote = "";
      else result += character;
    } else if (character === escape && at + 1 < word.length) {
      const next = word[++at] ?? "";
      // Between double quotes only what would mean something there is escaped.
      result += quote === '"' && !['"', "$", escape].includes(next) ? escape + next : next;
    } else if (character === '"' || (character === "'" && quote === "")) {
      quote = quote === "" ? character : "";
    } else if (character === "$") {
      const { value, length } = readVariable(word.slice(at), lookup, escape);
      result += value;
      at += length - 1;
    } else result += character;
  }
  return result;
}

function readVariable(text: string, lookup: Lookup, escape: string): { value: string; length: number } {
  const [plain, name] = /^\$(\w+)/.exec(text) ?? [];
  if (plain !== undefined && name !== undefined) return { value: lookup(name) ?? "", length: plain.length };
  if (!text.startsWith("${")) return { value: "$", length: 1 };
  const end = findClosing(text);
  const [, key = "", operator = "", word = ""] = /^(\w+)(:?[-+])?(.*)$/s.exec(text.slice(2, end)) ?? [];
  const value = lookup(key);
  const isSet = value !== undefined && (value !== "" || !operator.startsWith(":"));
  const alternative = (): string => expandWord(word, lookup, escape);
  if (operator.endsWith("-")) return { value: isSet ? value : alternative(), length: end + 1 };
  if (operator.endsWith("+")) return { value: isSet ? alternative() : "", length: end + 1 };
  return { value: value ?? "", length: end + 1 };
}

function findClosing(text: string): number {
  let depth = 0;
  for (let at = 0; at < text.length; at++) {
    if (text[at] === "{") depth++;
    else if (text[at] === "}" && --depth === 0) return at;
  }
  return text.length;
}
