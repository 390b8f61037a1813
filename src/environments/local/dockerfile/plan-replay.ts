import { posix } from "node:path";
import { DockerfileParser, type Instruction } from "dockerfile-ast";
import { defaultPath } from "../local-image.ts";
import { expandWord, splitWords, type Lookup } from "./expand-word.ts";

interface StepHead {
  readonly line: number;
  /** The instruction as it is shown to people. */
  readonly text: string;
}

/** One instruction that changes files, with everything that decides about its outcome beside the files before it. */
export type ReplayStep = StepHead &
  (
    | {
        readonly kind: "run";
        readonly command: readonly string[];
        readonly env: Readonly<Record<string, string>>;
        readonly cwd: string;
        readonly user: string;
      }
    | {
        readonly kind: "copy";
        /** As written, relative to the context; they may hold wildcards. */
        readonly sources: readonly string[];
        readonly target: string;
        /** The target is a directory whatever the sources are. */
        readonly isDirectory: boolean;
        readonly chown: string | null;
        readonly chmod: number | null;
        /** Archives among the sources are unpacked. */
        readonly unpacks: boolean;
      }
    | { readonly kind: "directory"; readonly path: string }
  );

/** What a Dockerfile comes to. */
export interface Replay {
  /** Why it cannot be replayed, each with its line; the rest means nothing when there are some. */
  readonly problems: readonly string[];
  readonly from: string;
  readonly steps: readonly ReplayStep[];
  readonly env: Readonly<Record<string, string>>;
  readonly workdir: string;
  readonly user: string;
}

// They say how a container is started or described, and change no file.
const withoutEffect = /^(CMD|ENTRYPOINT|EXPOSE|LABEL|VOLUME|HEALTHCHECK|STOPSIGNAL|MAINTAINER|ONBUILD)$/;

interface ReplayState {
  readonly escape: string;
  readonly globals: Map<string, string>;
  readonly args: Map<string, string>;
  readonly env: Record<string, string>;
  readonly steps: ReplayStep[];
  readonly problems: string[];
  from: string | null;
  shell: readonly string[];
  workdir: string;
  user: string;
}

/** Reads a Dockerfile as steps that can be replayed on another base, or says by line what cannot. */
export function planReplay(text: string, platformArgs: Readonly<Record<string, string>>): Replay {
  const file = DockerfileParser.parse(text);
  const state: ReplayState = {
    escape: file.getEscapeCharacter(),
    globals: new Map(),
    args: new Map(),
    env: { PATH: defaultPath },
    steps: [],
    problems: [],
    from: null,
    shell: ["/bin/sh", "-c"],
    workdir: "/",
    user: "",
  };
  for (const instruction of file.getInstructions()) {
    const line = instruction.getRange().start.line + 1;
    const content = joinLines(instruction.getRawArgumentsContent() ?? "", state.escape);
    const problem = take(state, instruction, line, content, platformArgs);
    if (problem !== null) state.problems.push(`Dockerfile line ${line}: ${problem}`);
  }
  if (state.from === null) state.problems.push("Dockerfile: there is no FROM");
  const { problems, steps, env, workdir, user } = state;
  return { problems, from: state.from ?? "", steps, env, workdir, user };
}

function take(
  state: ReplayState,
  instruction: Instruction,
  line: number,
  content: string,
  platformArgs: Readonly<Record<string, string>>,
): string | null {
  const keyword = instruction.getKeyword();
  const expand = (word: string): string => expandWord(word, lookupIn(state), state.escape);
  const head = { line, text: `${keyword} ${shorten(content)}` };
  if (state.from === null && keyword !== "FROM" && keyword !== "ARG") return `${keyword} before FROM`;
  switch (keyword) {
    case "FROM": {
      if (state.from !== null) return "several stages are not supported (a second FROM)";
      const globals: Lookup = (name) => state.globals.get(name) ?? platformArgs[name];
      state.from = expandWord(splitWords(content, state.escape)[0] ?? "", globals, state.escape);
      return null;
    }
    case "ARG":
      for (const word of splitWords(content, state.escape)) takeArgument(state, word, expand, platformArgs);
      return null;
    case "ENV":
      for (const [name, value] of readPairs(content, state.escape)) state.env[name] = expand(value);
      return null;
    case "SHELL": {
      const shell = readJson(content);
      if (shell === null || shell.length === 0) return "SHELL takes a JSON list";
      state.shell = shell;
      return null;
    }
    case "USER":
      state.user = expand(content.trim());
      return null;
    case "WORKDIR":
      state.workdir = posix.resolve(state.workdir, expand(content.trim()));
      state.steps.push({ ...head, kind: "directory", path: state.workdir });
      return null;
    case "RUN":
      return takeRun(state, instruction, head, content);
    case "COPY":
    case "ADD":
      return takeCopy(state, instruction, head, content, expand);
    default:
      return withoutEffect.test(keyword) ? null : `the instruction ${keyword} is not known`;
  }
}

function takeArgument(
  state: ReplayState,
  word: string,
  expand: (word: string) => string,
  platformArgs: Readonly<Record<string, string>>,
): void {
  const equals = word.indexOf("=");
  const name = equals === -1 ? word : word.slice(0, equals);
  const given = equals === -1 ? undefined : expand(word.slice(equals + 1));
  const value = given ?? state.globals.get(name) ?? platformArgs[name];
  if (value !== undefined) (state.from === null ? state.globals : state.args).set(name, value);
}

function takeRun(state: ReplayState, instruction: Instruction, head: StepHead, content: string): string | null {
  const refusal = refuseFlags(instruction, ["network", "security"]);
  if (refusal !== null) return refusal;
  if (hasHeredoc(instruction)) return "RUN with a here-document is not supported";
  const env = { ...Object.fromEntries(state.args), ...state.env };
  const command = readJson(content) ?? [...state.shell, content];
  state.steps.push({ ...head, kind: "run", command, env, cwd: state.workdir, user: state.user });
  return null;
}

function takeCopy(
  state: ReplayState,
  instruction: Instruction,
  head: StepHead,
  content: string,
  expand: (word: string) => string,
): string | null {
  const keyword = instruction.getKeyword();
  const flags = flagsOf(instruction);
  if (flags.has("from")) return `${keyword} --from is not supported`;
  const refusal = refuseFlags(instruction, ["chown", "chmod", "link"]);
  if (refusal !== null) return refusal;
  if (hasHeredoc(instruction)) return `${keyword} with a here-document is not supported`;
  const words = (readJson(content) ?? splitWords(content, state.escape)).map(expand);
  const target = words.pop();
  if (target === undefined || words.length === 0) return `${keyword} takes sources and a target`;
  const remote = words.find((word) => /^([a-z]+:\/\/|git@)/i.test(word));
  if (remote !== undefined) return `${keyword} of something remote is not supported (${remote})`;
  const packed = keyword === "ADD" ? words.find((word) => /\.(tar\.|t)(bz2?|xz|zst|lzma|Z)$/.test(word)) : undefined;
  if (packed !== undefined) return `ADD unpacks no archive of this kind (${packed})`;
  const chmod = flags.get("chmod");
  if (chmod !== undefined && !/^[0-7]{3,4}$/.test(expand(chmod))) return `${keyword} --chmod takes an octal number`;
  const chown = flags.get("chown");
  state.steps.push({
    ...head,
    kind: "copy",
    sources: words,
    target: posix.resolve(state.workdir, target),
    isDirectory: words.length > 1 || /(^|\/)\.{0,2}$/.test(target),
    chown: chown === undefined ? null : expand(chown),
    chmod: chmod === undefined ? null : Number.parseInt(expand(chmod), 8),
    unpacks: keyword === "ADD",
  });
  return null;
}

function lookupIn(state: ReplayState): Lookup {
  return (name) =>
    state.env[name] ?? state.args.get(name) ?? (state.from === null ? state.globals.get(name) : undefined);
}

// Lines that end with the escape character continue; comments and empty lines between them count for nothing.
function joinLines(raw: string, escape: string): string {
  let joined = "";
  for (const [index, line] of raw.split(/\r?\n/).entries()) {
    if (index > 0 && /^\s*(#|$)/.test(line)) continue;
    const trimmed = line.replace(/[ \t]+$/, "");
    joined += trimmed.endsWith(escape) ? trimmed.slice(0, -1) : line;
  }
  return joined.trim();
}

function readPairs(content: string, escape: string): [string, string][] {
  const words = splitWords(content, escape);
  if (words[0]?.includes("=") !== true) {
    const [, name = "", value = ""] = /^(\S+)\s*(.*)$/s.exec(content) ?? [];
    return [[name, value]];
  }
  return words.map((word) => {
    const equals = word.indexOf("=");
    return equals === -1 ? [word, ""] : [word.slice(0, equals), word.slice(equals + 1)];
  });
}

function readJson(content: string): string[] | null {
  if (!content.startsWith("[")) return null;
  try {
    const value: unknown = JSON.parse(content);
    return Array.isArray(value) && value.every((word) => typeof word === "string") ? value : null;
  } catch {
    // As Docker does, it is taken for words then.
    return null;
  }
}

function flagsOf(instruction: Instruction): Map<string, string> {
  const flags = "getFlags" in instruction ? (instruction as unknown as { getFlags(): FlagLike[] }).getFlags() : [];
  return new Map(flags.map((flag) => [flag.getName(), flag.getValue() ?? ""]));
}

interface FlagLike {
  getName(): string;
  getValue(): string | null;
}

function refuseFlags(instruction: Instruction, known: readonly string[]): string | null {
  const unknown = [...flagsOf(instruction).keys()].find((name) => !known.includes(name));
  return unknown === undefined ? null : `${instruction.getKeyword()} --${unknown} is not supported`;
}

function hasHeredoc(instruction: Instruction): boolean {
  return (
    "getHeredocs" in instruction && (instruction as unknown as { getHeredocs(): unknown[] }).getHeredocs().length > 0
  );
}

function shorten(content: string): string {
  const line = content.replace(/\s+/g, " ");
  return line.length > 120 ? `${line.slice(0, 117)}...` : line;
}
