import { isObject } from "../../base/json.ts";
import { modeOrigins } from "../../base/key-attributes.ts";
import { abortAfter } from "../../base/loop/deadline.ts";
import { addressFor, type ClientId, limitsOf, type ModelLimits } from "../../base/models/client-snippets.ts";
import { dataFolder } from "../data-place.ts";
import type { DataOptions } from "../help.ts";
import { servedAddress } from "../serve/files-for-commands.ts";
import { CommandError, Misuse, type Terminal } from "../terminal/terminal.ts";
import { type DefaultHold, defaultHoldOf, readSpendable, type Spendable } from "./affordable.ts";

export interface ConnectOptions extends DataOptions {
  readonly key?: string;
  readonly url?: string;
  readonly model?: string;
}

export interface OfferedModel {
  readonly id: string;
  readonly provider: unknown;
  readonly limits: ModelLimits | null;
  readonly defaultHold: DefaultHold | null;
}

export interface FoundConnection {
  readonly address: string;
  readonly key: string;
  /** LLMs; null if the gateway could not be reached. */
  readonly models: readonly OfferedModel[] | null;
  /** Null if it is not limited, or not known. */
  readonly spendable: Spendable | null;
  readonly isRejected: boolean;
}

const timeoutMs = 3000;

/** The address from `--url`, or of the gateway that uses the data folder. */
export function gatewayUrl(options: ConnectOptions, terminal: Terminal): string {
  if (options.url !== undefined) return baseUrl(options.url);
  const dir = dataFolder(options, terminal);
  const served = servedAddress(dir);
  if (served === null) {
    throw new CommandError(
      `no gateway has run on ${dir}; start it, or pass --url https://gateway.example.com`,
    );
  }
  return served;
}

/** Clients add `/v1` themselves where they need it. */
export function baseUrl(text: string, what = "--url"): string {
  const url = URL.canParse(text) ? new URL(text) : null;
  const isPlain = url?.search === "" && url.hash === "" && url.username === "" && url.password === "";
  if (url === null || !isPlain || !/^https?:$/.test(url.protocol) || /['"\\$`\s]/.test(url.href)) {
    throw new Misuse(`${what} is "${text}"; pass the gateway's address, such as https://gateway.example.com`);
  }
  return url.href.replace(/\/+$/, "").replace(/\/v1$/, "");
}

export async function readKey(
  { key: flag }: ConnectOptions,
  client: ClientId,
  terminal: Terminal,
): Promise<string> {
  const configured = flag ?? terminal.env["SLUICE_KEY"] ?? "";
  const key =
    configured !== "" || !terminal.interactive
      ? configured
      : await terminal.askSecret("API key (slu_…, not shown): ");
  if (key.trim() === "") {
    throw new CommandError(
      `a key is needed; pass --key or set SLUICE_KEY, or create one: sluice keys create --for ${client}`,
    );
  }
  if (!/^[\w.-]+$/.test(key.trim())) throw new Misuse("--key has characters that no key has; pass slu_…");
  return key.trim();
}

/** Finds out which of the gateway's addresses the key is for, and which models it serves. */
export async function findConnection(url: string, key: string): Promise<FoundConnection> {
  let isRejected = false;
  for (const mode of ["credit", "token_budget"] as const) {
    const isTokenAddress = url.endsWith(modeOrigins.token_budget);
    const address = isTokenAddress ? url : addressFor(url, mode);
    const answer = await listModels(address, key);
    if (answer === null) return { address, key, models: null, spendable: null, isRejected };
    if (answer !== "rejected") {
      const spendable = await spendableOf(address, key);
      return { address, key, models: answer, spendable, isRejected: false };
    }
    isRejected = true;
  }
  return { address: url, key, models: null, spendable: null, isRejected };
}

async function spendableOf(address: string, key: string): Promise<Spendable | null> {
  try {
    const response = await get(address, key, "/v1/usage");
    await response.body?.cancel();
    return readSpendable(response.headers.get("x-sluice-spendable"));
  } catch {
    return null;
  }
}

const maxPropagationMs = 3000;
const retryDelayMs = 250;

/** For a key that was just issued: another gateway of a cluster learns of it within a second. */
export async function findIssuedConnection(url: string, key: string): Promise<FoundConnection> {
  const endsAtMs = performance.now() + maxPropagationMs;
  let found = await findConnection(url, key);
  while (found.isRejected && performance.now() < endsAtMs) {
    await Bun.sleep(retryDelayMs);
    found = await findConnection(url, key);
  }
  return found;
}

/** Null if the gateway cannot be reached. */
async function listModels(
  address: string,
  key: string,
): Promise<readonly OfferedModel[] | "rejected" | null> {
  try {
    const response = await get(address, key, "/v1/models");
    if (response.status === 401) return "rejected";
    const body: unknown = await response.json();
    return response.ok && isObject(body) && Array.isArray(body["data"])
      ? generatingModels(body["data"])
      : null;
  } catch {
    return null;
  }
}

/** Whether the gateway has the model for the key, also under an id that lists leave out. Null if the gateway cannot be reached. */
export async function servesModel(address: string, key: string, model: string): Promise<boolean | null> {
  try {
    const response = await get(address, key, `/v1/models/${encodeURIComponent(model)}`);
    await response.body?.cancel();
    return response.ok;
  } catch {
    return null;
  }
}

function get(address: string, key: string, path: string): Promise<Response> {
  return fetch(address + path, {
    headers: { authorization: `Bearer ${key}` },
    redirect: "manual",
    signal: abortAfter(timeoutMs),
    ...directSession(address),
  });
}

/** Bun would use a proxy from the environment for this machine too. */
export function directSession(url: string): { session?: Bun.FetchSession } {
  const isLocal = /^(127\.\d+\.\d+\.\d+|localhost|\[::1\])$/.test(new URL(url).hostname);
  return isLocal ? { session: new Bun.FetchSession({ proxy: false }) } : {};
}

function generatingModels(models: readonly unknown[]): OfferedModel[] {
  return models.flatMap((model) => {
    if (!isObject(model) || typeof model["id"] !== "string") return [];
    const { id, provider, serves } = model;
    // A gateway that is not trusted yet names them: no id may look like an option, or change what a terminal shows.
    if (!/^[^\s\p{C}-][^\s\p{C}]*$/u.test(id)) return [];
    return Array.isArray(serves) && !serves.includes("generation")
      ? []
      : [{ id, provider, limits: limitsOf(model), defaultHold: defaultHoldOf(model) }];
  });
}
