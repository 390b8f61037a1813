import { z } from "zod";

const text = z.string();

const cluster = z.object({
  server: text,
  "certificate-authority": text.optional(),
  "certificate-authority-data": text.optional(),
  "insecure-skip-tls-verify": z.boolean().optional(),
  "tls-server-name": text.optional(),
});

const user = z.object({
  token: text.optional(),
  tokenFile: text.optional(),
  "client-certificate": text.optional(),
  "client-certificate-data": text.optional(),
  "client-key": text.optional(),
  "client-key-data": text.optional(),
  exec: z
    .object({
      command: text,
      args: z.array(text).nullish(),
      env: z.array(z.object({ name: text, value: text })).nullish(),
      apiVersion: text.optional(),
      installHint: text.optional(),
    })
    .optional(),
});

const context = z.object({ cluster: text, user: text.optional(), namespace: text.optional() });

/** What we read of a kubeconfig; the rest of it is other programs' business. */
export const kubeConfigSchema = z.object({
  "current-context": text.optional(),
  clusters: z.array(z.object({ name: text, cluster })).nullish(),
  users: z.array(z.object({ name: text, user: user.nullish() })).nullish(),
  contexts: z.array(z.object({ name: text, context })).nullish(),
});

export type KubeConfig = z.infer<typeof kubeConfigSchema>;
export type KubeConfigUser = z.infer<typeof user>;
