import { context, SpanStatusCode, trace, type Span } from "@opentelemetry/api";
import type { ItemResult, ScorerResult } from "../summary.ts";
import type { ResolvedTarget } from "../targets/target.ts";
import type { ItemUnit } from "../items/unit-stream.ts";

/** The trace of one item, in whatever tracing the process has set up; nothing when it has none. */
export class ItemSpan {
  readonly #span: Span;

  constructor({ runId, target, unit }: { runId: string; target: ResolvedTarget; unit: ItemUnit }) {
    const isAgent = target.type === "agent";
    this.#span = trace
      .getTracer("rollout-eval")
      .startSpan(isAgent ? `invoke_agent ${target.name}` : `run ${target.name}`, {
        attributes: {
          "rollout.run.id": runId,
          "rollout.item.id": unit.item.id,
          "rollout.item.index": unit.index,
          "rollout.item.repeat": unit.repeat,
          "rollout.target.type": target.type,
          ...(isAgent ? { "gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": target.name } : {}),
        },
      });
  }

  /** Null unless somebody traces. */
  get traceId(): string | null {
    const { traceId } = this.#span.spanContext();
    return this.#span.isRecording() ? traceId : null;
  }

  /** Runs work whose own spans become children of this one. */
  within<T>(work: () => T): T {
    return this.#span.isRecording() ? context.with(trace.setSpan(context.active(), this.#span), work) : work();
  }

  end(result: ItemResult, scores: readonly ScorerResult[]): void {
    if (this.#span.isRecording()) this.#describe(result, scores);
    this.#span.end();
  }

  #describe({ usage, error, errorDetails, retryCount }: ItemResult, scores: readonly ScorerResult[]): void {
    if (usage?.inputTokens != null) this.#span.setAttribute("gen_ai.usage.input_tokens", usage.inputTokens);
    if (usage?.outputTokens != null) this.#span.setAttribute("gen_ai.usage.output_tokens", usage.outputTokens);
    this.#span.setAttribute("rollout.item.retries", retryCount);
    for (const { scorerName, score, reason, error: scorerError } of scores) {
      this.#span.addEvent("gen_ai.evaluation.result", {
        "gen_ai.evaluation.name": scorerName,
        ...(score === null ? {} : { "gen_ai.evaluation.score.value": score }),
        ...(reason === null ? {} : { "gen_ai.evaluation.explanation": reason }),
        ...(scorerError === null ? {} : { "error.type": scorerError }),
      });
    }
    if (error === null) return;
    this.#span.setAttribute("error.type", errorDetails?.name ?? "error");
    this.#span.setStatus({ code: SpanStatusCode.ERROR, message: error });
  }
}
