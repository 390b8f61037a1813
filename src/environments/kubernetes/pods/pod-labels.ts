import { createHash } from "node:crypto";

/** The label that tells our Pods from everybody else's. */
export const ownLabel = "rollout.environment";
/** The provider that made it, so that one watch sees its Pods and no others. */
export const sessionLabel = "rollout.session";
/** The Pod's own name, by which a network policy finds it. */
export const podLabel = "rollout.pod";
/** Stands on a Pod that is kept on purpose. */
export const keptLabel = "rollout.kept";
/** All labels as they were given: a label of a cluster holds neither spaces nor more than 63 characters. */
export const labelsAnnotation = "rollout-eval/labels";

/** A value as a cluster takes it for a label; what it does not take is told by its hash. */
function labelValue(value: string): string {
  if (value === "" || (value.length <= 63 && /^[A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?$/.test(value))) return value;
  return `hash-${createHash("sha256").update(value).digest("hex").slice(0, 40)}`;
}

/** Labels as a cluster takes them. */
export function labelValues(labels: Readonly<Record<string, string>>): Record<string, string> {
  return Object.fromEntries(Object.entries(labels).map(([key, value]) => [key, labelValue(value)]));
}

/** A selector of everything that carries these labels. */
export function selectorOf(labels: Readonly<Record<string, string>>): string {
  return Object.entries(labelValues(labels))
    .map(([key, value]) => `${key}=${value}`)
    .join(",");
}

/** The labels of a Pod as they were given. */
export function givenLabels(annotations: Readonly<Record<string, string>> | undefined): Record<string, string> {
  try {
    const value: unknown = JSON.parse(annotations?.[labelsAnnotation] ?? "{}");
    return typeof value === "object" && value !== null ? (value as Record<string, string>) : {};
  } catch {
    return {};
  }
}

/** A name that a cluster takes for a Pod, at most 63 characters, that begins like the given one and is nobody else's. */
export function podName(name: string, unique: string): string {
  const end = `-${unique
    .toLowerCase()
    .replaceAll(/[^a-z0-9]/g, "")
    .slice(0, 10)}`;
  const start = name
    .toLowerCase()
    .replaceAll(/[^a-z0-9-]+/g, "-")
    .replace(/^[^a-z]+/, "");
  return `${(start || "trial").slice(0, 63 - end.length).replace(/-+$/, "")}${end}`;
}
