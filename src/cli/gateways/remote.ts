import { adminBase } from "../../base/requests/admin-base.ts";
import { baseUrl, directSession } from "../connect/find-connection.ts";
import type { DataOptions } from "../help.ts";
import { type OperationCall, OperationClient, type Transport } from "../operations/client.ts";
import { CommandError, type Terminal } from "../terminal/terminal.ts";
import { type KnownGateway, readGateways } from "./known-gateways.ts";

/**
 * The gateway elsewhere that a command is for: the one of `--gateway`, else the one of `gateways use`, unless the data is named.
 * Null if the command is for this machine.
 */
export function remoteGateway(terminal: Terminal, options: DataOptions): OperationClient | null {
  const { env } = terminal;
  const name = terminal.gateway ?? gatewayInUse(terminal, options);
  if (name === null) return null;
  const { gateways } = readGateways(env);
  const known = isAddress(name)
    ? knownAt(baseUrl(name, "--gateway"), Object.values(gateways))
    : Object.hasOwn(gateways, name)
      ? gateways[name]
      : undefined;
  if (known === undefined) {
    const names = Object.keys(gateways).join(", ") || "none";
    throw new CommandError(
      `no gateway is called "${name}" (known: ${names}); add it with sluice gateways add`,
    );
  }
  const given = env["SLUICE_TOKEN"] ?? "";
  // It can be another gateway's: only who names the address means this one.
  if (given !== "" && given !== known.token && !isAddress(name)) {
    throw new CommandError(
      `SLUICE_TOKEN is not the token of ${name}, so it was not sent; unset it, or pass --gateway ${known.url}`,
    );
  }
  const token = given || known.token;
  if (token === "") {
    throw new CommandError(
      `no token for ${known.url}; set SLUICE_TOKEN, or run sluice gateways add NAME ${known.url}`,
    );
  }
  if (/[^\x21-\x7e]/.test(token))
    throw new CommandError(`the token for ${known.url} is incomplete: copy it again`);
  return new OperationClient(new RemoteTransport(known.url, token), { gateway: known.url }, null);
}

/** The gateway chosen with `gateways use`; null without one, or if an option selects local data. */
export function gatewayInUse(terminal: Terminal, options: DataOptions): string | null {
  return namesData(terminal, options) ? null : readGateways(terminal.env).used;
}

function namesData({ env }: Terminal, { data, store, config }: DataOptions): boolean {
  const named = [data, store, config, env["SLUICE_DATA"], env["SLUICE_STORE"], env["SLUICE_CONFIG"]];
  return named.some((each) => each !== undefined && each !== "");
}

export function isAddress(text: string): boolean {
  return /^https?:\/\//i.test(text);
}

/** A stored token is only sent to the address that it was stored for. */
function knownAt(url: string, gateways: readonly KnownGateway[]): KnownGateway {
  return gateways.find((each) => each.url === url) ?? { url, token: "" };
}

/** Calls the admin API of a gateway elsewhere, with a token. */
class RemoteTransport implements Transport {
  readonly #url: string;
  readonly #token: string;

  constructor(url: string, token: string) {
    this.#url = url;
    this.#token = token;
  }

  async send({ method, path, body }: OperationCall): Promise<Response> {
    const response = await this.#fetch(path, { method, body }).catch((error: unknown) => {
      const why = error instanceof Error ? error.message : String(error);
      throw new CommandError(`no response from ${this.#url}: ${why}`);
    });
    if (response.status >= 300 && response.status < 400) {
      const target = response.headers.get("location") ?? "nowhere";
      throw new CommandError(
        `${this.#url} redirects to ${target}; the token was not sent there: pass that address if it is the gateway's`,
      );
    }
    if (response.headers.get("x-request-id")?.startsWith("req_") !== true) {
      throw new CommandError(
        `no admin API at ${this.#url}: ${adminBase} responded with status ${response.status}, and not as Sluice does; let a proxy in front pass that path, or pass another address`,
      );
    }
    return response;
  }

  #fetch(path: string, init: RequestInit): Promise<Response> {
    const headers = { authorization: `Bearer ${this.#token}`, "content-type": "application/json" };
    // A redirect could lead the token elsewhere.
    return fetch(this.#url + adminBase + path, {
      ...init,
      headers,
      redirect: "manual",
      ...directSession(this.#url),
    });
  }

  async close(): Promise<void> {}
}
