import { request as plainRequest, STATUS_CODES, type IncomingMessage } from "node:http";
import { request as secureRequest } from "node:https";
import { RolloutError } from "../../../base/rollout-error.ts";
import type { RegistryAuth } from "../../images/registry-auth.ts";

const manifestTypes = [
  "application/vnd.oci.image.index.v1+json",
  "application/vnd.oci.image.manifest.v1+json",
  "application/vnd.docker.distribution.manifest.list.v2+json",
  "application/vnd.docker.distribution.manifest.v2+json",
].join(", ");

export interface ImageQuestion {
  /** `registry.example.com/team/rollout-task:abc` */
  readonly ref: string;
  readonly auth: RegistryAuth | null;
  readonly isPlain: boolean;
  readonly signal: AbortSignal;
}

/** Whether a registry holds an image; rejects when it does not say. */
export async function hasRegistryImage({ ref, auth, isPlain, signal }: ImageQuestion): Promise<boolean> {
  const [, host = "", repository = "", tag = ""] = /^([^/]+)\/(.+):([^:/]+)$/.exec(ref) ?? [];
  const url = new URL(`${isPlain ? "http" : "https"}://${host}/v2/${repository}/manifests/${tag}`);
  const headers = { accept: manifestTypes };
  const basic = auth?.username === undefined ? null : `Basic ${encode(auth)}`;
  let answer = await ask("HEAD", url, { ...headers, ...(basic === null ? {} : { authorization: basic }) }, signal);
  const challenge = answer.headers["www-authenticate"] ?? "";
  if (answer.statusCode === 401 && /^bearer /i.test(challenge)) {
    const token = await fetchToken(challenge, basic, signal);
    if (token !== null) answer = await ask("HEAD", url, { ...headers, authorization: `Bearer ${token}` }, signal);
  }
  const { statusCode = 0 } = answer;
  if (statusCode === 200) return true;
  if (statusCode === 404) return false;
  throw new RolloutError("image_pull_failed", `it answered ${statusCode} ${STATUS_CODES[statusCode] ?? ""}`.trim());
}

async function fetchToken(challenge: string, basic: string | null, signal: AbortSignal): Promise<string | null> {
  const fields = Object.fromEntries(
    [...challenge.matchAll(/(\w+)="([^"]*)"/g)].map(([, key = "", value = ""]) => [key, value]),
  );
  const { realm, service, scope } = fields;
  if (realm === undefined || !URL.canParse(realm)) return null;
  const url = new URL(realm);
  if (service !== undefined) url.searchParams.set("service", service);
  if (scope !== undefined) url.searchParams.set("scope", scope);
  const answer = await ask("GET", url, basic === null ? {} : { authorization: basic }, signal);
  const { token, access_token: other } = JSON.parse(answer.body) as { token?: string; access_token?: string };
  return token ?? other ?? null;
}

type Answer = Pick<IncomingMessage, "statusCode" | "headers"> & { readonly body: string };

function ask(method: string, url: URL, headers: Record<string, string>, signal: AbortSignal): Promise<Answer> {
  const send = url.protocol === "http:" ? plainRequest : secureRequest;
  return new Promise((resolve, reject) => {
    const outgoing = send(url, { method, headers, signal, agent: false }, (answer) => {
      let body = "";
      answer.on("data", (chunk: Buffer) => (body += chunk.toString("utf8")));
      answer.on("error", reject);
      answer.on("end", () => resolve({ statusCode: answer.statusCode, headers: answer.headers, body }));
    });
    outgoing.on("error", reject);
    outgoing.end();
  });
}

function encode({ username = "", password = "" }: RegistryAuth): string {
  return Buffer.from(`${username}:${password}`).toString("base64");
}
