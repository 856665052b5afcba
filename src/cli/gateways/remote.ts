import { adminBase } from "../../base/requests/admin-base.ts";
import { framesHeader } from "../../base/requests/frames.ts";
import { baseUrl, directSession } from "../connect/find-connection.ts";
import type { DataOptions } from "../help.ts";
import { type OperationCall, OperationClient, type Transport, Unanswered } from "../operations/client.ts";
import { callPatiently, GatewaySilent, type Patience, usualPatience } from "../operations/patient-call.ts";
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
  return new OperationClient(new RemoteTransport(known.url, token), terminal, { gateway: known.url }, null);
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
export class RemoteTransport implements Transport {
  readonly #url: string;
  readonly #token: string;
  readonly #patience: Patience;

  constructor(url: string, token: string, patience = usualPatience) {
    this.#url = url;
    this.#token = token;
    this.#patience = patience;
  }

  async send({ method, path, body }: OperationCall, onNote: (text: string) => void): Promise<Response> {
    const headers = {
      authorization: `Bearer ${this.#token}`,
      "content-type": "application/json",
      [framesHeader]: "1",
    };
    return callPatiently({
      send: async (signal) => this.#accept(await this.#fetch(path, { method, body, headers, signal })),
      // Every gateway has it at once, and a proxy in front passes it.
      probe: (signal) => this.#fetch("/session", { signal }),
      onNote,
      patience: this.#patience,
    }).catch((error: unknown) => {
      if (error instanceof CommandError) throw error;
      throw new Unanswered(`no response from ${this.#url}${whySilent(error)}`, method);
    });
  }

  #accept(response: Response): Response {
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
    // Bun's own limit on a silent response is five minutes.
    const unlimited = { timeout: false } as object;
    // A redirect could lead the token elsewhere.
    return fetch(this.#url + adminBase + path, {
      ...init,
      ...unlimited,
      redirect: "manual",
      ...directSession(this.#url),
    });
  }

  async close(): Promise<void> {}
}

function whySilent(error: unknown): string {
  if (error instanceof GatewaySilent)
    return ` for ${error.seconds} s: check the address, and what is between here and there`;
  return `: ${error instanceof Error ? error.message : String(error)}`;
}
