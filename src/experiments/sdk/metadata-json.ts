import type { JsonObject } from "../../base/json.ts";
import { toJson } from "../../base/to-json.ts";

/** Returns metadata as JSON. NaN and infinities become text, and `warn` is called with a sentence about them. */
export function metadataJson(metadata: unknown, whose: string, warn: (text: string) => void): JsonObject {
  const { json, hadNonFinite } = toJson(metadata, { nonFiniteAsText: true });
  if (hadNonFinite) warn(`the metadata of ${whose} holds NaN or Infinity, which are not JSON numbers; stored as text`);
  return json as JsonObject;
}
