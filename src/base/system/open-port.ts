import { lookup } from "node:dns/promises";
import { isIP } from "node:net";
import { portHolder } from "./port-holder.ts";
import { systemCode } from "./system-code.ts";

/** An address to listen on, and the operator's names for it. */
export interface ListenAddress {
  readonly host: string;
  /** 0 takes any free one. */
  readonly port: number;
  /** Lets other processes listen at the same address, on purpose. */
  readonly reusePort: boolean;
  /** What to change when it cannot be opened, such as `--port`. */
  readonly hostSetting: string;
  readonly portSetting: string;
}

/** The address cannot be listened on. The message is for the operator: what is wrong and what to change. */
export class CannotListen extends Error {
  override readonly name = "CannotListen";
}

/**
 * Opens a server with exclusive use of its port. Bun sets SO_REUSEPORT by default, and then a
 * second gateway on the same port gets a share of the requests, with another ledger.
 */
export async function openPort<Server>(
  address: ListenAddress,
  open: (options: { hostname: string; port: number; reusePort: boolean }) => Server,
): Promise<Server> {
  const { host, port, reusePort } = address;
  try {
    if (!reusePort) await expectEveryAddressFree(host, port);
    return open({ hostname: host, port, reusePort });
  } catch (error) {
    throw explained(error, address);
  }
}

/**
 * A name such as `localhost` can have several addresses, of which the server takes one. Clients may try another one
 * first, so no other program may use any of them.
 */
async function expectEveryAddressFree(host: string, port: number): Promise<void> {
  if (isIP(host) !== 0 || port === 0) return;
  for (const { address } of await lookup(host, { all: true })) {
    try {
      Bun.listen({ hostname: address, port, exclusive: true, socket: { data: () => {} } }).stop(true);
    } catch (error) {
      // Leave other failures, such as an unsupported address family, to the server itself.
      if (systemCode(error) === "EADDRINUSE") throw error;
    }
  }
}

function explained(error: unknown, { host, port, hostSetting, portSetting }: ListenAddress): unknown {
  const code = systemCode(error);
  // Bun reports an address that is none in several ways, as ENOTCONN or as a port in use.
  if (code !== null && code !== "EACCES" && !isOurs(host))
    return new CannotListen(`${host} is not an address of this machine; choose one with ${hostSetting}`);
  switch (code) {
    case "EADDRINUSE":
      return new CannotListen(
        `port ${port} is in use on ${host}${byWhom(port)}; choose another with ${portSetting}, or 0 for any free one`,
      );
    case "EACCES":
      return new CannotListen(`port ${port} needs root; choose one above 1023 with ${portSetting}`);
    default:
      return error;
  }
}

function byWhom(port: number): string {
  const holder = portHolder(port);
  return holder === null ? "" : ` by ${holder}`;
}

/** Whether any port can be opened there. */
function isOurs(host: string): boolean {
  try {
    Bun.listen({ hostname: host, port: 0, socket: { data: () => {} } }).stop(true);
    return true;
  } catch {
    return false;
  }
}

/** An address as the configuration has it, `host:port`, with an IPv6 host in brackets. */
export function listenAddress(text: string, setting: string): ListenAddress {
  const colon = text.lastIndexOf(":");
  const host = text.slice(0, colon).replace(/^\[(.*)\]$/, "$1");
  const port = Number(text.slice(colon + 1));
  return { host, port, reusePort: false, hostSetting: setting, portSetting: setting };
}
