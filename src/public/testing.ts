import "../base/check-node.ts";

export { FakeClock } from "../base/testing/fake-clock.ts";
export { conformanceCases } from "../environments/conformance/conformance-cases.ts";
export {
  missingNeeds,
  type ConformanceCase,
  type ConformanceSubject,
  type Need,
} from "../environments/conformance/conformance-case.ts";
export { runConformanceCase, type ConformanceOptions } from "../environments/conformance/run-conformance-case.ts";
export type { FaultHook, FaultPoint } from "../environments/memory/fault-gate.ts";
export { createMemoryProvider, type MemoryProviderOptions } from "../environments/memory/memory-provider.ts";
export type {
  MemoryCall,
  MemoryExit,
  MemoryFiles,
  MemoryHandler,
  MemoryProcess,
} from "../environments/memory/memory-handler.ts";
export type { StoreCase, StoreSubject } from "../store/conformance/store-case.ts";
export { storeCases } from "../store/conformance/store-cases.ts";
export { moduleOf } from "../environments/module-of.ts";
