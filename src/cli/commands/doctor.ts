import { silentLog } from "../../base/log.ts";
import { noSecrets } from "../../base/redactor.ts";
import { messageOf, RolloutError } from "../../base/rollout-error.ts";
import { plainText } from "../../base/terminal-text.ts";
import type { Capabilities } from "../../environments/environment.ts";
import { checkProviderConfig } from "../../environments/provider-config.ts";
import { knownProviderNames, loadProviderModule } from "../../environments/registry.ts";
import type { CliContext } from "../cli-context.ts";
import { exitCodes } from "../exit-codes.ts";
import { listenToInterrupts } from "../interrupts.ts";

interface Finding {
  readonly type: string;
  /** Null when it cannot be asked without settings of its own. */
  readonly works: boolean | null;
  readonly words: readonly string[];
}

/** `rollout doctor`: what this machine can run, what is missing and how to get it. */
export async function doctorCommand(options: { readonly json?: boolean }, context: CliContext): Promise<number> {
  const { terminal } = context;
  using interrupts = listenToInterrupts(
    context.process,
    () => {},
    () => {},
  );
  const findings: Finding[] = [];
  for (const type of knownProviderNames()) findings.push(await examine(type, context, interrupts.signal));
  if (options.json) terminal.out(`${JSON.stringify({ schema_version: 1, environments: findings }, null, 2)}\n`);
  else for (const finding of findings) terminal.out(describe(finding));
  return findings.some(({ works }) => works === true) ? exitCodes.done : exitCodes.usage;
}

async function examine(type: string, { host, clock }: CliContext, signal: AbortSignal): Promise<Finding> {
  try {
    const module = await loadProviderModule(type, host.cwd);
    const checked = await checkProviderConfig(module, {});
    if (checked.issues) {
      const wanted = checked.issues.map(({ path }) => `provider_config.${path.join(".")}`).join(", ");
      return { type, works: null, words: [`needs ${wanted}; it is for trying things and for tests`] };
    }
    const config = checked.value;
    const shared = {
      baseDir: host.cwd,
      timeoutMultiplier: 1,
      host,
      clock,
      redactor: noSecrets,
      log: silentLog,
      signal,
    };
    await using provider = await module.open({ config, ...shared });
    await provider.probe(signal);
    return { type, works: true, words: describeCapabilities(provider.capabilities) };
  } catch (error) {
    const hint = error instanceof RolloutError && error.hint !== undefined ? [error.hint] : [];
    return { type, works: false, words: [messageOf(error), ...hint] };
  }
}

function describeCapabilities({ limits, network, users }: Capabilities): string[] {
  const kept = Object.entries(limits).map(([name, enforcement]) => `${name} ${enforcement}`);
  return [
    `limits: ${kept.join(", ")}`,
    `network: ${["full", ...network].join(", ")}`,
    users ? "other users inside: yes" : "other users inside: no, only one id is mapped",
  ];
}

function describe({ type, works, words }: Finding): string {
  const verdict = works === null ? "ready when configured" : works ? "can run here" : "cannot run here";
  return `${[`${type}: ${verdict}`, ...words.map((word) => `  ${plainText(word)}`)].join("\n")}\n`;
}
