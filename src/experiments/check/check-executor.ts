import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { basename, dirname, join, resolve } from "node:path";
import type { Clock } from "../../base/clock.ts";
import type { Json, JsonObject } from "../../base/json.ts";
import { findTool } from "../../base/find-tool.ts";
import { noSecrets } from "../../base/redactor.ts";
import { messageOf, RolloutError } from "../../base/rollout-error.ts";
import { describeUnknown } from "../../base/suggest.ts";
import { writeFileAtomic } from "../../base/writers/atomic-file.ts";
import type { ProcessWish } from "../executor/start-request.ts";
import { capabilities, type DiscoverAnswer } from "../protocol.ts";
import { messageSchemas } from "../protocol-schema.ts";
import { basicRules } from "./basic-rules.ts";
import { NotChecked, NotOffered, type CheckRule, type CheckSubject, type RuleVerdict } from "./check-rule.ts";
import { Conversation } from "./conversation.ts";
import { extraRules } from "./extra-rules.ts";

export interface CheckExecutorRequest extends ProcessWish {
  readonly input: Json;
  readonly expected: Json | undefined;
  readonly badInput: Json | undefined;
  readonly slowInput: Json | undefined;
  /** Only the rules of these names; all when there are none. */
  readonly only: readonly string[];
  /** For each answer that is waited for. */
  readonly limitMs: number;
  readonly clock: Clock;
  readonly signal: AbortSignal;
  readonly onVerdict: (verdict: RuleVerdict) => void;
}

const mostLines = 40;
const linesRule = "lines";
/** The names of all rules, in the order in which they are checked. */
export const ruleNames: readonly string[] = [...basicRules, ...extraRules].map(({ name }) => name).concat(linesRule);

const nothing: DiscoverAnswer = { protocol_version: "", evaluators: [], params: {} };

/** Checks an executor against every rule of the protocol, each in a process of its own. Rejects when there is no such rule or program, or it is aborted. */
export async function checkExecutor(request: CheckExecutorRequest): Promise<readonly RuleVerdict[]> {
  const { only } = request;
  const isWanted = (name: string): boolean => only.length === 0 || only.includes(name);
  const rules = [...basicRules, ...extraRules].filter(({ name }) => isWanted(name) || only.includes(linesRule));
  for (const name of only)
    if (!ruleNames.includes(name))
      throw new RolloutError("usage_invalid", `${name}: ${describeUnknown("rule", name, ruleNames)}`);
  checkProgram(request);
  const subject = await meet(request);
  const verdicts: RuleVerdict[] = [];
  const strays: { readonly rule: string; readonly line: string }[] = [];
  for (const rule of rules) {
    request.signal.throwIfAborted();
    const { verdict, strayLines } = await judge(rule, subject, request);
    for (const line of strayLines) strays.push({ rule: rule.name, line });
    verdicts.push(verdict);
    request.onVerdict(verdict);
    // One that cannot even say what it has keeps no other rule.
    if (rule.name === "discover" && verdict.verdict === "fail") return verdicts;
  }
  if (!isWanted(linesRule)) return verdicts;
  const last: RuleVerdict = {
    rule: linesRule,
    title: "everything it says is a JSON object on a line of its own",
    verdict: strays.length === 0 ? "pass" : "fail",
    why: strays.length === 0 ? null : "it wrote lines that are none: NaN is no JSON, and prints belong on stderr",
    transcript: strays.slice(0, mostLines).map(({ rule, line }) => `<- ${line} (${rule})`),
  };
  request.onVerdict(last);
  return [...verdicts, last];
}

function checkProgram({ command, env, cwd }: ProcessWish): void {
  const [program = ""] = command;
  const isPath = program.includes("/");
  const directories = isPath ? resolve(cwd, dirname(program)) : (env["PATH"] ?? "/usr/bin:/bin");
  if (findTool(basename(program), directories) === null)
    throw new RolloutError("not_found", `${program} cannot be started: there is no such program`, {
      hint: isPath ? "it must be there and executable" : "it must be on the PATH, or be given with its path",
    });
}

type Known = Pick<CheckSubject, "discovered" | "capabilities" | "isMarked">;

/** What it says of itself in both ways of asking. */
async function meet(request: CheckExecutorRequest): Promise<Known> {
  const plain = await ask(request, { cmd: "discover" });
  const extended = await ask(request, { cmd: "discover", capabilities });
  const { data: discovered = nothing } = messageSchemas["discover-answer"].safeParse({ ...plain, ...extended });
  return { discovered, capabilities: discovered.capabilities ?? [], isMarked: plain !== null && "__cat__" in plain };
}

async function ask(request: CheckExecutorRequest, command: object): Promise<JsonObject | null> {
  await using talk = new Conversation(request);
  talk.say(command);
  // Why it does not answer is told by the first rule.
  return await talk.take("the answer to discover", () => true).catch(() => null);
}

async function judge(
  rule: CheckRule,
  known: Known,
  request: CheckExecutorRequest,
): Promise<{ readonly verdict: RuleVerdict; readonly strayLines: readonly string[] }> {
  const { name, title, needs } = rule;
  const head = { rule: name, title, transcript: [] };
  if (needs !== undefined && !known.capabilities.includes(needs))
    return { verdict: { ...head, verdict: "not_offered", why: `it does not name "${needs}"` }, strayLines: [] };
  await using opened = new AsyncDisposableStack();
  const talks: Conversation[] = [];
  const subject: CheckSubject = {
    ...known,
    ...request,
    open() {
      const talk = opened.use(new Conversation(request));
      talks.push(talk);
      return talk;
    },
    pause: (ms) => request.clock.sleep(ms, request.signal),
    async writeFile(text) {
      const directory = await mkdtemp(join(tmpdir(), "rollout-check-"));
      opened.defer(() => rm(directory, { recursive: true, force: true }));
      const path = join(directory, "results.jsonl");
      await writeFileAtomic(path, text, noSecrets);
      return path;
    },
  };
  const verdict = await rule.run(subject).then(
    (): RuleVerdict => ({ ...head, verdict: "pass", why: null }),
    (error: unknown): RuleVerdict => {
      request.signal.throwIfAborted();
      const why = messageOf(error);
      if (error instanceof NotOffered) return { ...head, verdict: "not_offered", why };
      if (error instanceof NotChecked) return { ...head, verdict: "not_checked", why };
      const transcript = talks.flatMap((talk) => talk.transcript).slice(-mostLines);
      return { ...head, verdict: "fail", why, transcript };
    },
  );
  return { verdict, strayLines: talks.flatMap((talk) => talk.strays) };
}
