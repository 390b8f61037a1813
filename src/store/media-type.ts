import { extname } from "node:path";

const types: Readonly<Record<string, string>> = {
  ".txt": "text/plain",
  ".log": "text/plain",
  ".md": "text/markdown",
  ".json": "application/json",
  ".jsonl": "application/x-ndjson",
  ".csv": "text/csv",
  ".html": "text/html",
  ".xml": "application/xml",
  ".diff": "text/x-diff",
  ".patch": "text/x-diff",
  ".png": "image/png",
  ".jpg": "image/jpeg",
  ".jpeg": "image/jpeg",
  ".gif": "image/gif",
  ".webp": "image/webp",
  ".svg": "image/svg+xml",
};

/** Returns the media type that the ending of a file name stands for. */
export function mediaTypeOf(name: string): string {
  return types[extname(name).toLowerCase()] ?? "application/octet-stream";
}
