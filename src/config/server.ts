import { isIP } from "node:net";
import { hostname, totalmem } from "node:os";
import { mapSwitches } from "../base/requests/route-switches.ts";
import { decode } from "./decode.ts";
import { isHeaderName } from "./header-name.ts";
import { resolveDataDir } from "./locate-data.ts";
import { type LoadContext, validFields } from "./problems.ts";
import { type ConfigFile, configSchema, logLevels } from "./schema.ts";
import type { ServerSettings, Settings } from "./settings.ts";
import { didYouMean } from "./suggest.ts";

const { properties: sections } = configSchema;

/** Values from the command line. They take precedence over the environment, which does over the file. */
export interface Flags {
  readonly data?: string | undefined;
  readonly store?: string | undefined;
  readonly host?: string | undefined;
  readonly port?: number | undefined;
}

export function serverSettings(
  config: ConfigFile,
  flags: Flags,
  cwd: string,
  context: LoadContext,
): ServerSettings {
  const configured = validFields(config.server, "server", context.problems);
  const server = decode(sections.server, config.server, "server", context);
  if (server.reusePort && process.platform !== "linux") {
    context.problems.add("server.reuse_port", "works only on Linux; use a separate port for each process");
  }
  checkProxies(config, context);
  checkOrigins(config, context);
  checkUserHeaders(config, context);
  const hostFromEnvironment = context.env["SLUICE_HOST"] || undefined;
  checkHost("SLUICE_HOST", hostFromEnvironment, context);
  checkHost("server.host", configured.host, context);
  return {
    ...server,
    userHeaders: server.userHeaders.map((name) => name.toLowerCase()),
    host: flags.host ?? hostFromEnvironment ?? server.host,
    port: flags.port ?? portFromEnvironment(context) ?? server.port,
    data: resolveDataDir({
      flag: flags.data,
      env: context.env,
      configured: configured.data,
      cwd,
      folder: context.folder,
    }),
    node: server.node ?? hostname(),
    maxBodyMemory: bodyMemory(server.maxBodyMemory, server.maxBodyBytes, context),
  };
}

const usualBodyMemory = 512 * 1024 * 1024;

/** A quarter of the memory of the machine or the container. */
function quarterOfMemory(): number {
  const memory = Math.min(totalmem(), process.constrainedMemory() || Number.POSITIVE_INFINITY);
  return Math.floor(memory / 4);
}

/** By default a quarter of the memory, within bounds. */
function bodyMemory(configured: number | null, maxBodyBytes: number, { problems }: LoadContext): number {
  if (configured === null) {
    return Math.max(maxBodyBytes, Math.min(usualBodyMemory, quarterOfMemory()));
  }
  if (configured < maxBodyBytes) {
    problems.add("server.max_body_memory", `must hold at least one body, so ${maxBodyBytes} or more`);
  }
  return configured;
}

/** Whether a text has the form of an address or a host name. Only listening shows whether this machine has that address. */
export function isHost(text: string): boolean {
  return isIP(text) !== 0 || /^[A-Za-z0-9]([A-Za-z0-9.-]*[A-Za-z0-9])?$/.test(text);
}

function checkHost(path: string, host: string | undefined, { problems }: LoadContext): void {
  if (host === undefined || isHost(host)) return;
  problems.add(path, `must be an address such as "127.0.0.1" or "::1", or a host's name`);
}

function portFromEnvironment({ env, problems }: LoadContext): number | undefined {
  const text = env["SLUICE_PORT"];
  if (text === undefined || text === "") return undefined;
  const port = Number(text);
  if (/^\d+$/.test(text) && port <= 65_535) return port;
  problems.add("SLUICE_PORT", `must be a whole number from 0 to 65535, not ${JSON.stringify(text)}`);
  return undefined;
}

function checkProxies(config: ConfigFile, { problems }: LoadContext): void {
  const proxies = config.server?.trusted_proxies;
  if (proxies === undefined || !problems.isValidAt("server.trusted_proxies")) return;
  for (const [index, proxy] of proxies.entries()) {
    const [address = "", bits, ...rest] = proxy.split("/");
    const family = isIP(address);
    const widest = family === 4 ? 32 : 128;
    const maskIsFine = bits === undefined || (/^\d{1,3}$/.test(bits) && Number(bits) <= widest);
    if (family !== 0 && maskIsFine && rest.length === 0) continue;
    problems.add(`server.trusted_proxies[${index}]`, 'must be an IP address or a range such as "10.0.0.0/8"');
  }
}

/** Headers that hold credentials, and so cannot be labels, which reports show. */
const credentialHeaders = new Set([
  "authorization",
  "proxy-authorization",
  "x-api-key",
  "api-key",
  "x-goog-api-key",
  "cookie",
]);

function checkUserHeaders(config: ConfigFile, { problems }: LoadContext): void {
  const names = config.server?.user_headers;
  if (names === undefined || !problems.isValidAt("server.user_headers")) return;
  for (const [index, name] of names.entries()) {
    const place = `server.user_headers[${index}]`;
    if (!isHeaderName(name))
      problems.add(place, 'must be the name of a header, such as "x-openwebui-user-email"');
    if (credentialHeaders.has(name.toLowerCase()))
      problems.add(place, "holds a secret, which must not be a label");
  }
}

/** Browsers send an origin in one spelling, and it is compared with that. */
function checkOrigins(config: ConfigFile, { problems }: LoadContext): void {
  const origins = config.server?.cors_origins;
  if (origins === undefined || !problems.isValidAt("server.cors_origins")) return;
  for (const [index, origin] of origins.entries()) {
    if (origin === "*" || isOrigin(origin)) continue;
    const meant = URL.canParse(origin) && !origin.includes("*") ? new URL(origin).origin : "null";
    const suggestion = meant === "null" ? "" : `; did you mean "${meant}"?`;
    const message = `must be an origin such as "https://chat.example.com", without a path, or "*"${suggestion}`;
    problems.add(`server.cors_origins[${index}]`, message);
  }
}

/** Apps have their own schemes (`app://obsidian.md`), for which the URL standard defines no origin. */
function isOrigin(text: string): boolean {
  if (text.includes("*")) return false;
  if (/^https?:/i.test(text)) return URL.canParse(text) && new URL(text).origin === text;
  return /^[a-z][a-z0-9+.-]*:\/\/[^/\s?#@]+$/.test(text);
}

export function logSettings(config: ConfigFile, context: LoadContext): Settings["log"] {
  const log = decode(sections.log, config.log, "log", context);
  const requested = context.env["SLUICE_LOG_LEVEL"] || undefined;
  if (requested === undefined) return log;
  const level = logLevels.find((each) => each === requested);
  if (level !== undefined) return { ...log, level };
  const choices = logLevels.join(", ");
  context.problems.add("SLUICE_LOG_LEVEL", `must be one of ${choices}${didYouMean(requested, logLevels)}`);
  return log;
}

/** A whole number of millionths, because amounts are divided by it. */
export function microUsdPerCredit(
  { usdPerCredit: usd }: Settings["money"],
  { problems }: LoadContext,
): number {
  const micro = Math.round(usd * 1_000_000);
  if (micro < 1 || Math.abs(micro - usd * 1_000_000) > 1e-3) {
    problems.add("money.usd_per_credit", "must have six decimals at most");
  }
  return micro;
}

/**
 * The runtime collects a message and inflates and decodes it in one step on the event loop, before the gateway sees any of it: 31 MB
 * take 86 ms, this about 22.
 */
const maxMessageBytes = 8 * 1024 * 1024;

/** The runtime does not report unfinished messages. So there are by default only as many sockets as have room for one each. */
function socketsInAll(config: ConfigFile, messageBytes: number): number {
  const bytes = config.server?.max_body_memory ?? quarterOfMemory();
  return Math.max(1, Math.floor(bytes / messageBytes));
}

export function webSocketSettings(
  config: ConfigFile,
  { maxBodyBytes }: ServerSettings,
  context: LoadContext,
): Settings["websocket"] {
  const configured = decode(sections.websocket, config.websocket, "websocket", context);
  const messageBytes = Math.min(maxMessageBytes, maxBodyBytes);
  return {
    ...configured,
    maxConnections: configured.maxConnections ?? socketsInAll(config, messageBytes),
    maxMessageBytes: messageBytes,
  };
}

export function routeSettings(config: ConfigFile, { problems }: LoadContext): Settings["routes"] {
  const routes = validFields(config.routes, "routes", problems);
  return mapSwitches((name, { default: isOn }) => routes[name] ?? isOn);
}
