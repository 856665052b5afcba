import type { Environment } from "../base/system/environment.ts";
import { CommandError } from "./terminal/terminal.ts";

const defaultPort = 11434;

/** Where Ollama, or another server with OpenAI's API, is: at OLLAMA_HOST, else at its usual port. */
export function localBaseUrl(env: Environment): string {
  return `${addressOf(env["OLLAMA_HOST"] ?? "")}/v1`;
}

/** Parses OLLAMA_HOST as Ollama's client does: a host, a port, both, or a URL. A wildcard address means this machine. */
function addressOf(text: string): string {
  const address = text.trim().replace(/\/+$/, "") || "127.0.0.1";
  const url = URL.parse(
    /^https?:\/\//.test(address) ? address : `http://${address.replace(/^:/, "127.0.0.1:")}`,
  );
  if (url === null) throw new CommandError("OLLAMA_HOST is not an address such as 127.0.0.1:11434");
  if (url.hostname === "0.0.0.0" || url.hostname === "[::]") url.hostname = "127.0.0.1";
  const hasPort = /:\d+$/.test(address) || /^https?:/.test(address);
  if (!hasPort) url.port = String(defaultPort);
  return url.href.replace(/\/+$/, "");
}
