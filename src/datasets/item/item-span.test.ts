import { context, trace } from "@opentelemetry/api";
import { AsyncLocalStorageContextManager } from "@opentelemetry/context-async-hooks";
import { BasicTracerProvider, InMemorySpanExporter, SimpleSpanProcessor } from "@opentelemetry/sdk-trace-base";
import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import { runDataset } from "../run-dataset.ts";
import { testGround } from "../testing/test-ground.ts";

const exporter = new InMemorySpanExporter();
beforeAll(() => {
  context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable());
  trace.setGlobalTracerProvider(new BasicTracerProvider({ spanProcessors: [new SimpleSpanProcessor(exporter)] }));
});
afterAll(() => {
  trace.disable();
  context.disable();
});
beforeEach(() => exporter.reset());

test("an agent's item is a span with the names of the GenAI conventions, and each score an event of it", async () => {
  const target = {
    id: "writer",
    generate: async () => {
      trace.getTracer("model").startSpan("chat").end();
      return { text: "hi", usage: { inputTokens: 3, outputTokens: 4 } };
    },
  };
  const scorer = { id: "tone", run: () => ({ score: 0.5, reason: "fair" }) };
  const summary = await runDataset({ data: [{ id: "a", input: "q" }], target, scorers: [scorer] }, testGround());
  const [child, span] = exporter.getFinishedSpans();
  expect(span).toMatchObject({
    name: "invoke_agent writer",
    attributes: {
      "gen_ai.operation.name": "invoke_agent",
      "gen_ai.agent.name": "writer",
      "gen_ai.usage.input_tokens": 3,
      "gen_ai.usage.output_tokens": 4,
      "rollout.item.id": "a",
      "rollout.run.id": summary.runId,
    },
    events: [
      {
        name: "gen_ai.evaluation.result",
        attributes: {
          "gen_ai.evaluation.name": "tone",
          "gen_ai.evaluation.score.value": 0.5,
          "gen_ai.evaluation.explanation": "fair",
        },
      },
    ],
  });
  expect(child).toMatchObject({ name: "chat", parentSpanContext: { spanId: span?.spanContext().spanId } });
  expect(summary.results[0]?.traceId).toBe(span?.spanContext().traceId);
});

test("an item that failed is a span that says so", async () => {
  const target = (): never => {
    throw new TypeError("no");
  };
  await runDataset({ data: [{ input: 1 }], target }, testGround());
  expect(exporter.getFinishedSpans()[0]).toMatchObject({
    name: "run target",
    status: { code: 2, message: "no" },
    attributes: { "error.type": "TypeError" },
  });
});
