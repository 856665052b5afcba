import { isIP } from "node:net";
import { hostname, totalmem } from "node:os";
import { resolve } from "node:path";
import { assert } from "../base/assert.ts";
import { msPerDay, msPerHour } from "../base/clock.ts";
import { mapSwitches } from "../base/requests/route-switches.ts";
import type { Environment } from "../base/system/environment.ts";
import { defaults, logLevels } from "./defaults.ts";
import { type Duration, parseDuration } from "./duration.ts";
import { encryptionKeyAt } from "./encryption-key.ts";
import { type LoadContext, validFields } from "./problems.ts";
import { resolvePath } from "./resolve-path.ts";
import type { ConfigFile } from "./schema.ts";
import type { ServerSettings, Settings } from "./settings.ts";
import { didYouMean } from "./suggest.ts";

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
  const server = validFields(config.server, "server", context.problems);
  if (server.reuse_port && process.platform !== "linux") {
    context.problems.add("server.reuse_port", "works on Linux alone; give each process a port of its own");
  }
  checkProxies(config, context);
  checkOrigins(config, context);
  const hostFromEnvironment = context.env["SLUICE_HOST"] || undefined;
  checkHost("SLUICE_HOST", hostFromEnvironment, context);
  checkHost("server.host", server.host, context);
  const maxBodyBytes = server.max_body_bytes ?? defaults.maxBodyBytes;
  return {
    host: flags.host ?? hostFromEnvironment ?? server.host ?? defaults.host,
    port: flags.port ?? portFromEnvironment(context) ?? server.port ?? defaults.port,
    dataDir: resolveDataDir({
      flag: flags.data,
      env: context.env,
      configured: server.data,
      cwd,
      folder: context.folder,
    }),
    node: server.node ?? hostname(),
    reusePort: server.reuse_port ?? defaults.reusePort,
    trustedProxies: server.trusted_proxies ?? [],
    corsOrigins: server.cors_origins ?? [],
    acceptsKeyTwice: (server.same_key_in_both_headers ?? defaults.sameKeyInBothHeaders) === "accept",
    maxBodyBytes,
    maxBodyMemoryBytes: bodyMemory(server.max_body_memory, maxBodyBytes, context),
    structure: {
      maxMembers: server.max_body_members ?? defaults.maxBodyMembers,
      maxListItems: server.max_list_items ?? defaults.maxListItems,
    },
    heartbeatMs: milliseconds(server.heartbeat ?? defaults.heartbeat),
    shutdownGraceMs: milliseconds(server.shutdown_grace ?? defaults.shutdownGrace),
    requestTimeoutMs: milliseconds(server.request_timeout ?? defaults.requestTimeout),
    clientIdleTimeoutMs: milliseconds(server.client_idle_timeout ?? defaults.clientIdleTimeout),
    maxConcurrent: server.max_concurrent ?? defaults.maxConcurrent,
    maxConcurrentPerKey: server.max_concurrent_per_key ?? null,
    anonymousRpm: server.anonymous_rpm ?? defaults.anonymousRpm,
  };
}

/** Of the machine or the container. */
function quarterOfMemory(): number {
  const memory = Math.min(totalmem(), process.constrainedMemory() || Number.POSITIVE_INFINITY);
  return Math.floor(memory / 4);
}

/** By default a quarter of the memory, within bounds. */
function bodyMemory(configured: number | undefined, maxBodyBytes: number, { problems }: LoadContext): number {
  if (configured === undefined) {
    return Math.max(maxBodyBytes, Math.min(defaults.maxBodyMemoryBytes, quarterOfMemory()));
  }
  if (configured < maxBodyBytes) {
    problems.add("server.max_body_memory", `must hold at least one body, so ${maxBodyBytes} or more`);
  }
  return configured;
}

/** Relative paths of flags and environment start at the working folder, those of the file at the file. */
export function resolveDataDir(from: {
  readonly flag: string | undefined;
  readonly env: Environment;
  readonly configured: string | undefined;
  readonly cwd: string;
  readonly folder: string;
}): string {
  const typed = from.flag ?? (from.env["SLUICE_DATA"] || undefined);
  if (typed !== undefined) return resolvePath(from.cwd, typed, from.env);
  if (from.configured !== undefined) return resolvePath(from.folder, from.configured, from.env);
  return resolve(from.cwd, defaults.dataDir);
}

/** Whether a text has the form of an address or a host's name. Listening shows whether it is one of this machine. */
export function isHost(text: string): boolean {
  return isIP(text) !== 0 || /^[A-Za-z0-9]([A-Za-z0-9.-]*[A-Za-z0-9])?$/.test(text);
}

function checkHost(path: string, host: string | undefined, { problems }: LoadContext): void {
  if (host === undefined || isHost(host)) return;
  problems.add(path, `must be an address such as "127.0.0.1" or "::1", or a host's name`);
}

/** Of a duration that the schema has accepted. */
export function milliseconds(duration: Duration): number {
  const ms = parseDuration(duration);
  assert(ms !== null, "a duration that passed the check has a unit");
  return ms;
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

/** Apps have schemes of their own (`app://obsidian.md`), of which the URL standard knows no origin. */
function isOrigin(text: string): boolean {
  if (text.includes("*")) return false;
  if (/^https?:/i.test(text)) return URL.canParse(text) && new URL(text).origin === text;
  return /^[a-z][a-z0-9+.-]*:\/\/[^/\s?#@]+$/.test(text);
}

export function logSettings(config: ConfigFile, context: LoadContext): Settings["log"] {
  const log = validFields(config.log, "log", context.problems);
  const asked = context.env["SLUICE_LOG_LEVEL"] || undefined;
  if (asked !== undefined && !logLevels.some((level) => level === asked)) {
    const choices = logLevels.join(", ");
    context.problems.add("SLUICE_LOG_LEVEL", `must be one of ${choices}${didYouMean(asked, logLevels)}`);
  }
  return { level: asked ?? log.level ?? defaults.logLevel, format: log.format ?? defaults.logFormat };
}

/** A whole number of millionths, because amounts are divided by it. */
export function microUsdPerCredit(config: ConfigFile, { problems }: LoadContext): number {
  const usd = validFields(config.money, "money", problems).usd_per_credit ?? defaults.usdPerCredit;
  const micro = Math.round(usd * 1_000_000);
  if (micro < 1 || Math.abs(micro - usd * 1_000_000) > 1e-3) {
    problems.add("money.usd_per_credit", "must have six decimals at most");
  }
  return micro;
}

export function retentionSettings(config: ConfigFile, { problems }: LoadContext): Settings["retention"] {
  const retention = validFields(config.retention, "retention", problems);
  return {
    requestsMs: (retention.request_days ?? defaults.requestDays) * msPerDay,
    requestRows: retention.request_rows ?? defaults.requestRows,
    responsesMs: (retention.response_hours ?? defaults.responseHours) * msPerHour,
    responseBytesPerKey: retention.response_bytes_per_key ?? defaults.responseBytesPerKey,
  };
}

export function responsesSettings(config: ConfigFile, context: LoadContext): Settings["responses"] {
  const responses = validFields(config.responses, "responses", context.problems);
  return {
    state: responses.state ?? defaults.responseState,
    encryptionKey:
      responses.encryption_key === undefined
        ? null
        : encryptionKeyAt("responses.encryption_key", responses.encryption_key, context),
    compactionMaxTokens: responses.compaction_max_tokens ?? defaults.compactionMaxTokens,
  };
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
  server: ServerSettings,
  { problems }: LoadContext,
): Settings["webSocket"] {
  const given = validFields(config.websocket, "websocket", problems);
  const messageBytes = Math.min(maxMessageBytes, server.maxBodyBytes);
  return {
    maxConnections: given.max_connections ?? socketsInAll(config, messageBytes),
    maxConnectionsPerKey: given.max_connections_per_key ?? defaults.webSocket.maxConnectionsPerKey,
    maxMessageBytes: messageBytes,
    maxMs: milliseconds(given.max_duration ?? defaults.webSocket.maxDuration),
    maxConcurrent: given.max_concurrent ?? defaults.webSocket.maxConcurrent,
    maxStreams: given.max_streams ?? defaults.webSocket.maxStreams,
    maxQueued: given.max_queued ?? defaults.webSocket.maxQueued,
  };
}

export function routeSettings(config: ConfigFile, { problems }: LoadContext): Settings["routes"] {
  const routes = validFields(config.routes, "routes", problems);
  return mapSwitches((name, { default: isOn }) => routes[name] ?? isOn);
}
