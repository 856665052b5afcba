import { type Static, type TObject, Type } from "@sinclair/typebox";
import { mapSwitches } from "../base/requests/route-switches.ts";
import type { Decoded } from "./decode.ts";
import { defaults } from "./defaults.ts";
import { adminSchema } from "./schema/admin.ts";
import { contentSchema } from "./schema/content.ts";
import { afterRestart, ifUnset, marked, needsRestart, secrecy } from "./schema/marks.ts";
import { type deploymentSchema, modelSchema } from "./schema/model.ts";
import {
  choice,
  closed,
  encryptionKey,
  flag,
  fraction,
  headers,
  list,
  named,
  requestTimeout,
  secret,
  section,
  table,
  text,
  time,
  type timeoutsSchema,
  whole,
  withDefault,
} from "./schema/parts.ts";
import type { priceSchema, tokenPrices } from "./schema/price.ts";
import { providerSchema } from "./schema/provider.ts";

export const providerNamePattern = "^[a-z0-9][a-z0-9_-]*$";
export const logLevels = ["trace", "debug", "info", "warn", "error", "fatal", "silent"] as const;

function socketLimit<const Default extends number>(byDefault: Default, description: string, minimum = 1) {
  return whole(description, { minimum, maximum: 100_000, default: byDefault });
}

const unsentAlerts = { [secrecy]: "secret", [ifUnset]: "alerts are off" } as const;

/**
 * The schema of the configuration file. It validates the file, gives the program its settings with their types,
 * defaults and units (decode.ts), says what is shown of them (view.ts), and is printed by `sluice config schema`. So a new option is
 * a line here, and its use. Unknown names are errors everywhere.
 */
export const configSchema = table({
  server: section({
    host: afterRestart(
      text('The address to listen on; "0.0.0.0" to be reached from other machines.', {
        default: defaults.host,
      }),
    ),
    port: afterRestart(
      whole("The port to listen on; 0: any free one.", {
        minimum: 0,
        maximum: 65_535,
        default: defaults.port,
      }),
    ),
    data: afterRestart(
      text("The data folder, relative to this file; `--data` and SLUICE_DATA beat it.", {
        minLength: 1,
        default: defaults.dataDir,
      }),
    ),
    node: afterRestart(
      text("A name for people, of a gateway that shares a database; default: the host's.", {
        minLength: 1,
        maxLength: 100,
      }),
    ),
    reuse_port: afterRestart(flag("Several processes on one port of one machine, on purpose.", false)),
    trusted_proxies: list(Type.String(), "Addresses or CIDR ranges whose X-Forwarded-For counts."),
    cors_origins: list(
      Type.String(),
      'Origins whose pages may call the interface from a browser, such as "https://chat.example.com"; "*": all.',
    ),
    same_key_in_both_headers: choice(
      ["refuse", "accept"],
      "accept: the same key in Authorization and x-api-key counts as one, where both are taken. Claude Code sends it so with `apiKeyHelper`.",
      "refuse",
    ),
    max_body_bytes: whole("The largest body of a request.", {
      minimum: 1024,
      default: 32 * 1024 * 1024,
    }),
    max_body_memory: whole(
      "Bytes for all bodies being read at once, and as much again for large answers; default: a quarter of the memory, at most 512 MiB.",
      { minimum: 1024 },
    ),
    max_body_members: whole("Items of lists and members of objects in one body, at all levels together.", {
      minimum: 100,
      default: 100_000,
    }),
    max_list_items: whole("Messages, input items or tools of one request.", {
      minimum: 1,
      default: 10_000,
    }),
    heartbeat: time("Silence before a heartbeat in a stream; 0 turns it off.", 15),
    shutdown_grace: time("How long open requests may take to finish when the gateway is stopped.", 30, {
      minimum: 0,
      maximum: 300,
    }),
    request_timeout: requestTimeout(
      "Time limit of a generation, streaming or not, with all attempts and waiting.",
      "5m",
    ),
    client_idle_timeout: time("A client that reads nothing for this long is disconnected.", 60),
    max_concurrent: whole("Requests under way at once; more get 503.", {
      minimum: 1,
      default: 10_000,
    }),
    max_concurrent_per_key: whole("The same for each key; default: no limit.", { minimum: 1 }),
    anonymous_rpm: whole("Per address: failed credentials, public catalog.", {
      minimum: 1,
      default: 300,
    }),
  }),
  store: section({
    url: marked(
      named(
        "PostgreSQL in place of SQLite in the data folder: `postgres://user@host:5432/database?sslmode=verify-full`, or `env:NAME` or `file:/path`, which it must be if it holds a password; `--store` and SLUICE_STORE beat it.",
      ),
      { [secrecy]: "address", [needsRestart]: true },
    ),
    password: afterRestart(Type.Optional(secret)),
    prepare: afterRestart(
      flag("Prepared statements; false behind pgbouncer in transaction mode.", defaults.storePrepare),
    ),
  }),
  log: section({
    level: choice(logLevels, "What is logged: this level and those above it.", "info"),
    format: choice(["auto", "json", "pretty"], "auto: pretty on a terminal, else JSON lines.", "auto"),
  }),
  money: section({
    usd_per_credit: fraction("What a credit is worth. Prices are in USD, balances in credits.", {
      exclusiveMinimum: 0,
      maximum: 1_000_000,
      default: 1,
    }),
  }),
  retention: section({
    request_days: whole("Days that rejected, failed and cancelled requests stay in the request log.", {
      minimum: 1,
      maximum: 3_650,
      default: 30,
    }),
    request_rows: whole(
      "Maximum number of these requests; the oldest are deleted first. The ledger is never pruned.",
      {
        minimum: 1,
        maximum: 100_000_000,
        default: 1_000_000,
      },
    ),
    response_hours: whole("How long responses are kept for clients that continue them; 0: not at all.", {
      minimum: 0,
      maximum: 720,
      default: 24,
    }),
    response_bytes_per_key: whole("At most so many bytes of them for a key, the newest.", {
      minimum: 0,
      default: 256 * 1024 * 1024,
    }),
  }),
  routes: Type.Optional(
    Type.Object(
      mapSwitches((_, { default: isOn, description }) => flag(description, isOn)),
      {
        ...closed,
        description: "Routes beyond the interface. One that is off is 404, as if there were none.",
      },
    ),
  ),
  responses: section({
    state: choice(
      ["gateway", "provider"],
      "Who keeps responses that clients continue. provider: `store` is sent as it is, and only providers of the Responses API keep any.",
      "gateway",
    ),
    encryption_key: Type.Optional(encryptionKey),
    compaction_max_tokens: whole("The longest summary of a conversation that is compacted.", {
      minimum: 256,
      default: 8192,
    }),
  }),
  websocket: section({
    max_connections: Type.Optional(
      Type.Integer({
        minimum: 1,
        maximum: 100_000,
        description:
          "WebSockets of all keys at once; each can take 8 MiB. Default: as many as fit `max_body_memory`, or a quarter of the memory without it.",
      }),
    ),
    max_connections_per_key: socketLimit(
      32,
      "WebSockets that a key can have open at once. A key can have as many as it leaves to the others: half of `max_connections` if it is the only one.",
    ),
    max_duration: time("How long a WebSocket can stay open.", "60m", {
      minimum: 60,
      maximum: 604_800,
    }),
    max_concurrent: socketLimit(16, "Concurrent responses on one WebSocket; more wait."),
    max_streams: socketLimit(32, "Named streams (`stream_id`) on one WebSocket.", 0),
    max_queued: socketLimit(32, "Requests that can wait on one WebSocket.", 0),
  }),
  content: contentSchema,
  admin: adminSchema,
  tracing: section({
    otlp_endpoint: marked(
      Type.String({
        pattern: "^https?://",
        description: "Where traces go, by OTLP over HTTP; /v1/traces is added.",
      }),
      { [secrecy]: "address" },
    ),
    headers: headers("Sent with the traces; values may be secrets."),
    content: afterRestart(
      withDefault(
        Type.Optional(
          Type.Boolean({ description: "Adds what requests and responses say to the spans.", default: false }),
        ),
        { default: false },
      ),
    ),
  }),
  alerts: section({
    url: marked(
      Type.String({
        minLength: 1,
        description:
          "Where alerts are posted, as JSON; a secret, written `env:NAME` or `file:/path`, because who knows the address may post there.",
      }),
      unsentAlerts,
    ),
    secret: marked(
      named("Signs them (`x-sluice-signature`); a secret, written `env:NAME` or `file:/path`."),
      unsentAlerts,
    ),
  }),
  providers: Type.Optional(
    Type.Record(Type.String({ pattern: providerNamePattern }), providerSchema, closed),
  ),
  models: Type.Optional(Type.Array(modelSchema)),
});

/** The options of a section, decoded. */
export type SectionSettings<Name extends SectionName> = Decoded<Sections[Name]["properties"]>;

type Sections = (typeof configSchema)["properties"];
type SectionName = Exclude<keyof Sections, "providers" | "models">;

/** The file as it is written. The rest of the program reads `Settings` (settings.ts). */
export type ConfigFile = Static<typeof configSchema>;
export type ProviderConfig = Static<typeof providerSchema>;
export type ModelConfig = Static<typeof modelSchema>;
export type DeploymentConfig = Static<typeof deploymentSchema>;
export type PriceConfig = Static<typeof priceSchema>;
export type TokenPriceConfig = Static<TObject<typeof tokenPrices>>;
export type TimeoutsConfig = Static<typeof timeoutsSchema>;
