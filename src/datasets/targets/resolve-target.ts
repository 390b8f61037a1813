import { RolloutError } from "../../base/rollout-error.ts";
import { describeUnknown } from "../../base/suggest.ts";
import { readField, readText } from "./read-field.ts";
import { findRegistered, registeredIds, type Registry } from "./registry.ts";
import type { ResolvedTarget, TargetType } from "./target.ts";

/** What a run says of its target: the thing itself, or where to find it. */
export interface TargetWish {
  readonly target: unknown;
  readonly targetType: string | undefined;
  readonly targetId: string | undefined;
  readonly registry: Registry | undefined;
  /** What to call a function that has no name to tell it by. */
  readonly fallbackName?: string | undefined;
}

const types: readonly TargetType[] = ["agent", "workflow", "scorer", "function"];

/** Finds the target and tells what it is; throws when there is none or it is none. */
export async function resolveTarget(wish: TargetWish): Promise<ResolvedTarget> {
  const { target, targetType, targetId, registry } = wish;
  const type = targetType === undefined ? undefined : checkType(targetType);
  if (target !== undefined) {
    if (targetId !== undefined) throw invalid("both target and targetId are given", "give one of them");
    const described = describe(target, type, undefined);
    return isNameless(target) ? { ...described, name: wish.fallbackName ?? described.name } : described;
  }
  if (targetId === undefined)
    throw invalid("no target is given", "give `target`, or `targetType` and `targetId` with a `registry`");
  if (type === undefined) throw invalid("targetId needs targetType", `one of ${types.join(", ")}`);
  const found = await findRegistered(registry, type, targetId);
  if (found === null) throw notRegistered(type, targetId, registry);
  return describe(found.value, type, targetId);
}

/** Also a function that is called `target` only because it stands there. */
function isNameless(target: unknown): boolean {
  return typeof target === "function" && (target.name === "" || target.name === "target");
}

function checkType(type: string): TargetType {
  const known = types.find((name) => name === type);
  if (known !== undefined) return known;
  if (type === "processor") throw invalid('targetType "processor" is not supported', `use one of ${types.join(", ")}`);
  throw invalid(
    `targetType ${JSON.stringify(type)}: ${describeUnknown("type", type, types)}`,
    `use one of ${types.join(", ")}`,
  );
}

function describe(target: unknown, wished: TargetType | undefined, id: string | undefined): ResolvedTarget {
  const type = wished ?? guessType(target);
  if (type === null || !fits(target, type))
    throw invalid(
      wished === undefined ? "the target is nothing that can be called on an item" : `the target is no ${wished}`,
      "a function, an agent (generate), a workflow (createRun) or a scorer (run)",
    );
  return { type, name: id ?? nameOf(target) ?? type, target };
}

function guessType(target: unknown): TargetType | null {
  return types.toReversed().find((type) => fits(target, type)) ?? null;
}

const methods = { agent: "generate", workflow: "createRun", scorer: "run" } as const;

function fits(target: unknown, type: TargetType): boolean {
  if (type === "function") return typeof target === "function";
  return typeof readField(target, methods[type]) === "function";
}

function nameOf(target: unknown): string | null {
  if (typeof target === "function") return target.name === "" ? null : target.name;
  return readText(target, "id") ?? readText(target, "name");
}

function notRegistered(type: TargetType, id: string, registry: Registry | undefined): RolloutError {
  const known = registeredIds(registry, type);
  return new RolloutError("not_found", `${JSON.stringify(id)}: ${describeUnknown(type, id, known)}`, {
    hint: registry === undefined ? "give a `registry` that knows it" : undefined,
  });
}

function invalid(message: string, hint: string): RolloutError {
  return new RolloutError("config_invalid", message, { hint });
}
