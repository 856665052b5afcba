import { type Static, type TObject, Type } from "@sinclair/typebox";
import { mapSwitches } from "../base/requests/route-switches.ts";
import { expectedText } from "../base/text/schema-text.ts";
import type { DecodedSection } from "./decode.ts";
import { defaults } from "./defaults.ts";
import { adminSchema } from "./schema/admin.ts";
import { batchesSchema } from "./schema/batches.ts";
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
  secretThat,
  section,
  table,
  text,
  time,
  type timeoutsSchema,
  whole,
  withDefault,
} from "./schema/parts.ts";
import type { onePriceSchema, tokenPrices } from "./schema/price.ts";
import { providerSchema } from "./schema/provider.ts";

export const providerNamePattern = "^[a-z0-9][a-z0-9_-]*$";
export const logLevels = ["trace", "debug", "info", "warn", "error", "fatal", "silent"] as const;

function socketLimit<const Default extends number>(byDefault: Default, description: string, minimum = 1) {
  return whole(description, { minimum, maximum: 100_000, default: byDefault });
}

const unpushedFeed = { [secrecy]: "secret", [ifUnset]: "the feed is not pushed" } as const;
const unsentAlerts = { [secrecy]: "secret", [ifUnset]: "alerts are off" } as const;

/**
 * The schema of the configuration file. It validates the file, provides the program's settings with their types,
 * defaults and units (decode.ts), controls what is shown of them (view.ts), and is printed by `sluice config schema`.
 * So a new option needs one line here, and its use. Unknown names are errors everywhere.
 */
export const configSchema = table({
  server: section({
    host: afterRestart(
      text('The address to listen on; "0.0.0.0" to be reached from other machines.', {
        default: defaults.host,
      }),
    ),
    port: afterRestart(
      whole("The port to listen on; 0 chooses a free one.", {
        minimum: 0,
        maximum: 65_535,
        default: defaults.port,
      }),
    ),
    data: afterRestart(
      text("The data folder, relative to this file; `--data` and SLUICE_DATA override it.", {
        minLength: 1,
        default: defaults.dataDir,
      }),
    ),
    node: afterRestart(
      text("Name of this gateway in lists, if several share a database; default: the host name.", {
        minLength: 1,
        maxLength: 100,
      }),
    ),
    reuse_port: afterRestart(flag("Allows several gateways on one port of one machine.", false)),
    trusted_proxies: list(
      Type.String(),
      "Addresses or CIDR ranges of proxies whose X-Forwarded-For is trusted.",
    ),
    cors_origins: list(
      Type.String(),
      'Origins whose web pages can call the API from a browser, such as "https://chat.example.com"; "*": all.',
    ),
    user_headers: list(
      Type.String(),
      "Headers in which a program names its end user, such as x-openwebui-user-email; trusted only from keys with `--user-headers`.",
    ),
    same_key_in_both_headers: choice(
      ["reject", "accept"],
      "accept: allows the same key in Authorization and x-api-key, as Claude Code sends it with `apiKeyHelper`.",
      "reject",
    ),
    max_body_bytes: whole("The largest body of a request.", {
      minimum: 1024,
      default: 32 * 1024 * 1024,
    }),
    max_body_memory: whole(
      "Bytes for all request bodies being read at once, and the same again for large responses; default: a quarter of the memory, at most 512 MiB.",
      { minimum: 1024 },
    ),
    max_body_members: whole("Maximum list items and object members in one body, at all levels together.", {
      minimum: 100,
      default: 100_000,
    }),
    max_list_items: whole("Messages, input items or tools of one request.", {
      minimum: 1,
      default: 10_000,
    }),
    heartbeat: time("Silence before a heartbeat in a stream; 0 turns it off.", 15),
    shutdown_grace: time("How long running requests can take to finish when the gateway stops.", 30, {
      minimum: 0,
      maximum: 300,
    }),
    request_timeout: requestTimeout(
      "Time limit of a generation, streaming or not, with all attempts and waiting.",
      "5m",
    ),
    client_idle_timeout: time("A client that reads nothing for this long is disconnected.", 60),
    max_concurrent: whole("Requests in progress; more get 503.", {
      minimum: 1,
      default: 10_000,
    }),
    max_concurrent_per_key: whole("The same for each key; default: no limit.", { minimum: 1 }),
    anonymous_rpm: whole(
      "Requests per minute and address with failed credentials, or for the public model list.",
      {
        minimum: 1,
        default: 300,
      },
    ),
  }),
  store: section({
    url: marked(
      named(
        "PostgreSQL in place of SQLite in the data folder: `postgres://user@host:5432/database?sslmode=verify-full`, or `env:NAME` or `file:/path`, which it must be if it has a password; `--store` and SLUICE_STORE override it.",
      ),
      { [secrecy]: "address", [needsRestart]: true },
    ),
    password: afterRestart(Type.Optional(secretThat("The database's password, if the URL does not have it"))),
    prepare: afterRestart(
      flag("Prepared statements; false behind pgbouncer in transaction mode.", defaults.storePrepare),
    ),
  }),
  log: section({
    level: choice(logLevels, "The lowest level that is logged.", "info"),
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
    response_hours: whole("Hours that responses are stored for clients that continue them; 0 stores none.", {
      minimum: 0,
      maximum: 720,
      default: 24,
    }),
    response_bytes_per_key: whole(
      "Maximum bytes of stored responses per key; the oldest are deleted first.",
      {
        minimum: 0,
        default: 256 * 1024 * 1024,
      },
    ),
  }),
  routes: Type.Optional(
    Type.Object(
      mapSwitches((_, { default: isOn, description }) => flag(description, isOn)),
      {
        ...closed,
        description: "Routes beyond the contract. A route that is off returns 404.",
      },
    ),
  ),
  responses: section({
    state: choice(
      ["gateway", "provider"],
      "Who stores responses that clients continue. provider: `store` is passed on, and only providers with the Responses API store responses.",
      "gateway",
    ),
    background_timeout: time("How long a background response can take.", "1h", {
      minimum: 1,
      maximum: 86_400,
    }),
    background_per_key: whole("Background responses that a key can have running at once.", {
      minimum: 1,
      maximum: 10_000,
      default: 16,
    }),
    encryption_key: Type.Optional(encryptionKey),
    compaction_max_tokens: whole("Maximum tokens of the summary when a conversation is compacted.", {
      minimum: 256,
      default: 8192,
    }),
  }),
  batches: batchesSchema,
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
      "WebSockets that a key can have open at once. A key can use half of what the other keys leave free: a single key at most half of `max_connections`.",
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
    protocol: choice(
      ["protobuf", "json"],
      "The encoding of the traces. Phoenix accepts only `protobuf`.",
      "protobuf",
    ),
    headers: headers("Sent with the traces; values may be secrets."),
    metrics: withDefault(
      Type.Optional(
        Type.Boolean({
          description:
            "Also sends OpenTelemetry's metrics of generative AI, once a minute; /v1/metrics is added.",
          default: false,
        }),
      ),
      { default: false },
    ),
    content: afterRestart(
      withDefault(
        Type.Optional(
          Type.Boolean({
            description: "Adds the content of requests and responses to the spans.",
            default: false,
          }),
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
          "Where alerts are posted, as JSON; a secret, written `env:NAME` or `file:/path`, because anyone with the address can post there.",
      }),
      unsentAlerts,
    ),
    secret: marked(
      named("Signs them (`x-sluice-signature`); a secret, written `env:NAME` or `file:/path`."),
      unsentAlerts,
    ),
  }),
  feed: section({
    url: marked(
      Type.String({
        minLength: 1,
        description:
          "Where the ledger's entries are posted, as JSON; a secret, written `env:NAME` or `file:/path`.",
      }),
      unpushedFeed,
    ),
    secret: marked(
      named("Signs them (`x-sluice-signature`); a secret, written `env:NAME` or `file:/path`."),
      unpushedFeed,
    ),
    since: text(
      "The first entry to post, by its time; default: the first of the ledger. Read once, when the feed begins.",
      {
        pattern:
          "^\\d{4}-(?:0[1-9]|1[0-2])-(?:0[1-9]|[12]\\d|3[01])(?:T(?:[01]\\d|2[0-3]):[0-5]\\d(?::[0-5]\\d)?Z?)?$",
        [expectedText]: "a day such as 2026-10-31, or a time in UTC such as 2026-10-31T15:00",
      },
    ),
  }),
  providers: Type.Optional(
    Type.Record(Type.String({ pattern: providerNamePattern }), providerSchema, closed),
  ),
  models: Type.Optional(Type.Array(modelSchema)),
});

/** The options of a section, decoded. */
export type SectionSettings<Name extends SectionName> = DecodedSection<Sections[Name]["properties"]>;

type Sections = (typeof configSchema)["properties"];
type SectionName = Exclude<keyof Sections, "providers" | "models">;

/** The file as it is written. The rest of the program reads `Settings` (settings.ts). */
export type ConfigFile = Static<typeof configSchema>;
export type ProviderConfig = Static<typeof providerSchema>;
export type ModelConfig = Static<typeof modelSchema>;
export type DeploymentConfig = Static<typeof deploymentSchema>;
/** One price of a model. */
export type PriceConfig = Static<typeof onePriceSchema>;
export type TokenPriceConfig = Static<TObject<typeof tokenPrices>>;
export type TimeoutsConfig = Static<typeof timeoutsSchema>;
