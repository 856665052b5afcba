import { FetchTransfer } from "./fetch-transfer.ts";
import { HttpClient, serverAddressOf } from "./http-client.ts";
import { isBehindProxy } from "./local-address.ts";
import type { Receiver, Transfer } from "./transfer.ts";

export interface OnceRequest {
  readonly method: string;
  readonly headers: Readonly<Record<string, string>>;
  /** Null if the request has none. */
  readonly body: string | Uint8Array | null;
  /** For addresses that exist only on this machine, such as a cloud's metadata server. */
  readonly isLocal?: boolean;
}

/**
 * Sends one request on a separate connection. Only behind a proxy it takes one of the slots of `fetch`, which clients'
 * uploads can fill. Redirects are not followed.
 */
export function sendOnce(
  url: URL,
  { method, headers, body, isLocal }: OnceRequest,
  receiver: Receiver,
): Transfer {
  if (isLocal !== true && isBehindProxy(url)) {
    const init = { method, headers, body, redirect: "manual" } as const;
    return new FetchTransfer((signal) => fetch(url, { ...init, signal }), receiver);
  }
  let head = `${method} ${url.pathname}${url.search} HTTP/1.1\r\nhost: ${url.host}\r\nconnection: close\r\n`;
  if (url.username !== "") head += `authorization: ${basic(url)}\r\n`;
  for (const [name, value] of Object.entries(headers)) head += `${name}: ${value}\r\n`;
  return new HttpClient(serverAddressOf(url)).send(head, body ?? "", receiver, "once");
}

function basic({ username, password }: URL): string {
  return `Basic ${Buffer.from(`${decodeURIComponent(username)}:${decodeURIComponent(password)}`).toString("base64")}`;
}
