import { statSync } from "node:fs";
import { userHeader } from "../../admin/api/local.ts";
import { framesHeader } from "../../base/requests/frames.ts";
import { commandSocket, type GatewayHello, helloPath } from "../../base/system/command-socket.ts";
import { systemCode } from "../../base/system/system-code.ts";
import { CommandError } from "../terminal/terminal.ts";
import { callingUser, nameOfUser } from "./calling-user.ts";
import { type OperationCall, type Transport, Unanswered } from "./client.ts";
import { callPatiently, GatewaySilent, usualPatience } from "./patient-call.ts";

/** A gateway that does not respond for so long hangs. */
const helloTimeoutMs = 20_000;

/** The gateway that serves this folder; null if none does. Throws if one hangs, or belongs to another user. */
export async function greet(dir: string): Promise<GatewayHello | null> {
  try {
    return await sayHello(dir, helloTimeoutMs);
  } catch (error) {
    // The last is what a gateway leaves that stops at this moment.
    if (isUnserved(error) || systemCode(error) === "ECONNRESET") return null;
    if (error instanceof DOMException) throw new CommandError(`${hanging(dir)}; nothing was changed`);
    if (systemCode(error) === "EACCES") throw new CommandError(ownedByOther(dir));
    throw error;
  }
}

async function sayHello(dir: string, timeoutMs: number): Promise<GatewayHello> {
  const response = await callSocket(dir, helloPath, { signal: AbortSignal.timeout(timeoutMs) });
  // Only a gateway can listen there, because the folder belongs to its user.
  return (await response.json()) as GatewayHello;
}

function callSocket(dir: string, path: string, init: RequestInit): Promise<Response> {
  // Bun's own limit on a silent response is five minutes.
  const unlimited = { timeout: false } as object;
  return fetch(`http://gateway${path}`, {
    ...init,
    ...unlimited,
    unix: commandSocket(dir),
    keepalive: false,
  });
}

/** Whether there is no socket, or only one of a process that has ended. */
export function isUnserved(error: unknown): boolean {
  return ["ENOENT", "ECONNREFUSED", "ENOTDIR", "ENOTSOCK"].includes(systemCode(error) ?? "");
}

/** Calls the gateway on the socket in its data folder. */
export class SocketTransport implements Transport {
  readonly #dir: string;
  readonly gateway: GatewayHello;

  constructor(dir: string, gateway: GatewayHello) {
    this.#dir = dir;
    this.gateway = gateway;
  }

  async send({ method, path, body }: OperationCall, onNote: (text: string) => void): Promise<Response> {
    const headers = { [userHeader]: encodeURIComponent(callingUser()), [framesHeader]: "1" };
    try {
      return await callPatiently({
        send: (signal) => callSocket(this.#dir, path, { method, body, headers, signal }),
        probe: (signal) => callSocket(this.#dir, helloPath, { signal }),
        onNote,
        patience: usualPatience,
      });
    } catch (error) {
      if (isUnserved(error)) throw error;
      const { pid } = this.gateway;
      throw new Unanswered(
        error instanceof GatewaySilent
          ? `the gateway (process ${pid}) has not responded for ${error.seconds} s`
          : `the gateway (process ${pid}) ended before it responded`,
        method,
      );
    }
  }

  async close(): Promise<void> {}
}

function hanging(dir: string): string {
  return `the gateway on ${dir} does not respond; see whether its process is stopped, and restart it`;
}

function ownedByOther(dir: string): string {
  const owner = ownerOf(dir) ?? "its owner";
  const [users, how] = owner === "root" ? ["root", "sudo"] : [`${owner} and root`, `sudo -u ${owner}`];
  return `the gateway on ${dir} takes commands from ${users} only; run this as ${owner}, such as with ${how}`;
}

function ownerOf(dir: string): string | null {
  for (const file of [commandSocket(dir), dir]) {
    try {
      return nameOfUser(statSync(file).uid);
    } catch {
      // It cannot be looked at either: the folder is closed to this user.
    }
  }
  return null;
}
