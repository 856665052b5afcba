import { GatewayError } from "../base/errors.ts";
import { plainError } from "./plain.ts";

export function asksForWebSocket(request: Request): boolean {
  return request.method === "GET" && /\bwebsocket\b/i.test(request.headers.get("upgrade") ?? "");
}

/** Codex tries a WebSocket first. On 426 it switches to HTTP at once; any other error is retried five times. */
export function noWebSocket(path: string): Response {
  const message = "There are no WebSockets here; send the request as POST, and stream by server-sent events.";
  return plainError(path, new GatewayError("upgrade_required", message), { upgrade: "HTTP/1.1" });
}
