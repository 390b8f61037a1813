import { spawnSync } from "node:child_process";
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { addresses, nodeName, stateDir } from "./cluster-places.ts";

const pki = join(stateDir, "pki");
const names = ["kubernetes", "kubernetes.default", "kubernetes.default.svc", "localhost"];

/** Makes what the parts of a cluster prove themselves with, and a kubeconfig for each that needs one. */
export function makeCertificates(): void {
  mkdirSync(pki, { recursive: true, mode: 0o700 });
  if (existsSync(join(pki, "admin.kubeconfig"))) return;
  makeKey("ca");
  openssl(
    "req",
    "-x509",
    "-new",
    "-sha256",
    "-days",
    "3650",
    "-key",
    "ca.key",
    "-subj",
    "/CN=rollout-test",
    "-out",
    "ca.crt",
  );
  openssl("genrsa", "-out", "accounts.key", "2048");
  openssl("rsa", "-in", "accounts.key", "-pubout", "-out", "accounts.pub");
  const { node, apiService } = addresses;
  const ips = [node, "127.0.0.1", apiService].map((ip) => `IP:${ip}`);
  makeCertificate("apiserver", "/CN=kube-apiserver", [...ips, ...names.map((name) => `DNS:${name}`)].join(","));
  makeCertificate("to-kubelet", "/O=system:masters/CN=apiserver-kubelet-client");
  makeCertificate("kubelet", `/O=system:nodes/CN=system:node:${nodeName}`, `IP:${node},DNS:${nodeName}`);
  makeCertificate("controllers", "/CN=system:kube-controller-manager");
  makeCertificate("scheduler", "/CN=system:kube-scheduler");
  makeCertificate("admin", "/O=system:masters/CN=admin");
  for (const user of ["kubelet", "controllers", "scheduler", "admin"]) writeKubeconfig(user);
}

function makeKey(name: string): void {
  openssl("ecparam", "-name", "prime256v1", "-genkey", "-noout", "-out", `${name}.key`);
}

function makeCertificate(name: string, subject: string, alternatives?: string): void {
  makeKey(name);
  openssl("req", "-new", "-key", `${name}.key`, "-subj", subject, "-out", `${name}.csr`);
  const uses = ["keyUsage=digitalSignature,keyEncipherment", "extendedKeyUsage=clientAuth,serverAuth"];
  writeFileSync(
    join(pki, `${name}.ext`),
    [...uses, ...(alternatives ? [`subjectAltName=${alternatives}`] : [])].join("\n"),
  );
  const signer = ["-CA", "ca.crt", "-CAkey", "ca.key", "-CAcreateserial"];
  openssl(
    "x509",
    "-req",
    "-sha256",
    "-days",
    "3650",
    "-in",
    `${name}.csr`,
    ...signer,
    "-extfile",
    `${name}.ext`,
    "-out",
    `${name}.crt`,
  );
}

function writeKubeconfig(user: string): void {
  const data = (file: string): string => readFileSync(join(pki, file)).toString("base64");
  const server = `https://${addresses.node}:${addresses.apiPort}`;
  const config = {
    apiVersion: "v1",
    kind: "Config",
    clusters: [{ name: "test", cluster: { server, "certificate-authority-data": data("ca.crt") } }],
    users: [
      { name: user, user: { "client-certificate-data": data(`${user}.crt`), "client-key-data": data(`${user}.key`) } },
    ],
    contexts: [{ name: "test", context: { cluster: "test", user, namespace: "default" } }],
    "current-context": "test",
  };
  writeFileSync(join(pki, `${user}.kubeconfig`), JSON.stringify(config), { mode: 0o600 });
}

function openssl(...args: readonly string[]): void {
  const { status, stderr } = spawnSync("openssl", args, { cwd: pki, encoding: "utf8" });
  if (status !== 0) throw new Error(`openssl ${args[0]}: ${stderr.trim() || `exit code ${status}`}`);
}
