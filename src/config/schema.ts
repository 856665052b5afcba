import { type Static, type TObject, Type } from "@sinclair/typebox";
import { mapSwitches } from "../base/route-switches.ts";
import { defaults, logLevels } from "./defaults.ts";
import { adminSchema } from "./schema/admin.ts";
import { duration } from "./schema/duration.ts";
import { type deploymentSchema, modelSchema } from "./schema/model.ts";
import { closed, exchangeLimit, secret, type timeoutsSchema } from "./schema/parts.ts";
import type { priceSchema, tokenPrices } from "./schema/price.ts";
import { providerSchema } from "./schema/provider.ts";
import { webSocketSchema } from "./schema/websocket.ts";

const providerNamePattern = "^[a-z0-9][a-z0-9_-]*$";

/**
 * The schema of the configuration file. It validates the file, gives the program its types, and is printed by
 * `sluice config schema`. Unknown names are errors everywhere.
 */
export const configSchema = Type.Object(
  {
    server: Type.Optional(
      Type.Object(
        {
          host: Type.Optional(
            Type.String({
              default: defaults.host,
              description: 'The address to listen on; "0.0.0.0" to be reached from other machines.',
            }),
          ),
          port: Type.Optional(
            Type.Integer({
              minimum: 0,
              maximum: 65_535,
              default: defaults.port,
              description: "The port to listen on; 0: any free one.",
            }),
          ),
          data: Type.Optional(
            Type.String({
              minLength: 1,
              default: defaults.dataDir,
              description: "The data folder, relative to this file; `--data` and SLUICE_DATA beat it.",
            }),
          ),
          node: Type.Optional(
            Type.String({
              minLength: 1,
              maxLength: 100,
              description: "A name for people, of a gateway that shares a database; default: the host's.",
            }),
          ),
          reuse_port: Type.Optional(
            Type.Boolean({
              default: defaults.reusePort,
              description: "Several processes on one port of one machine, on purpose.",
            }),
          ),
          trusted_proxies: Type.Optional(
            Type.Array(Type.String(), {
              description: "Addresses or CIDR ranges whose X-Forwarded-For counts.",
            }),
          ),
          cors_origins: Type.Optional(
            Type.Array(Type.String(), {
              description:
                'Origins whose pages may call the interface from a browser, such as "https://chat.example.com"; "*": all.',
            }),
          ),
          same_key_in_both_headers: Type.Optional(
            Type.Union([Type.Literal("refuse"), Type.Literal("accept")], {
              default: defaults.sameKeyInBothHeaders,
              description:
                "accept: the same key in Authorization and x-api-key counts as one, where both are taken. Claude Code sends it so with `apiKeyHelper`.",
            }),
          ),
          max_body_bytes: Type.Optional(
            Type.Integer({
              minimum: 1024,
              default: defaults.maxBodyBytes,
              description: "The largest body of a request.",
            }),
          ),
          max_body_memory: Type.Optional(
            Type.Integer({
              minimum: 1024,
              description:
                "Bytes for all bodies being read at once; default: a quarter of the memory, at most 512 MiB.",
            }),
          ),
          max_body_members: Type.Optional(
            Type.Integer({
              minimum: 100,
              default: defaults.maxBodyMembers,
              description: "Items of lists and members of objects in one body, at all levels together.",
            }),
          ),
          max_list_items: Type.Optional(
            Type.Integer({
              minimum: 1,
              default: defaults.maxListItems,
              description: "Messages, input items or tools of one request.",
            }),
          ),
          heartbeat: Type.Optional(
            duration("Silence before a heartbeat in a stream; 0 turns it off.", defaults.heartbeat),
          ),
          shutdown_grace: Type.Optional(
            duration(
              "How long open requests may take to finish when the gateway is stopped.",
              defaults.shutdownGrace,
              { minimum: 0, maximum: 300 },
            ),
          ),
          max_exchange: Type.Optional(
            exchangeLimit(
              "The longest that a generation may take in all, streams too.",
              defaults.maxExchange,
            ),
          ),
          stalled_reader: Type.Optional(
            duration("A client that reads nothing for so long is closed.", defaults.stalledReader),
          ),
          max_concurrent: Type.Optional(
            Type.Integer({
              minimum: 1,
              default: defaults.maxConcurrent,
              description: "Requests under way at once; more get 503.",
            }),
          ),
          max_concurrent_per_key: Type.Optional(
            Type.Integer({ minimum: 1, description: "The same for each key; default: no limit." }),
          ),
          anonymous_rpm: Type.Optional(
            Type.Integer({
              minimum: 1,
              default: defaults.anonymousRpm,
              description: "Per address: failed credentials, public catalog.",
            }),
          ),
        },
        closed,
      ),
    ),
    store: Type.Optional(
      Type.Object(
        {
          url: Type.Optional(
            Type.String({
              minLength: 1,
              description:
                "PostgreSQL in place of SQLite in the data folder: `postgres://user@host:5432/database?sslmode=verify-full`, or `env:NAME` or `file:/path`, which it must be if it holds a password; `--store` and SLUICE_STORE beat it.",
            }),
          ),
          password: Type.Optional(secret),
          prepare: Type.Optional(
            Type.Boolean({
              default: defaults.storePrepare,
              description: "Prepared statements; false behind pgbouncer in transaction mode.",
            }),
          ),
        },
        closed,
      ),
    ),
    log: Type.Optional(
      Type.Object(
        {
          level: Type.Optional(
            Type.Union(
              logLevels.map((level) => Type.Literal(level)),
              { default: defaults.logLevel, description: "What is logged: this level and those above it." },
            ),
          ),
          format: Type.Optional(
            Type.Union([Type.Literal("auto"), Type.Literal("json"), Type.Literal("pretty")], {
              default: defaults.logFormat,
              description: "auto: pretty on a terminal, else JSON lines.",
            }),
          ),
        },
        closed,
      ),
    ),
    money: Type.Optional(
      Type.Object(
        {
          usd_per_credit: Type.Optional(
            Type.Number({
              exclusiveMinimum: 0,
              maximum: 1_000_000,
              default: defaults.usdPerCredit,
              description: "What a credit is worth. Prices are in USD, balances in credits.",
            }),
          ),
        },
        closed,
      ),
    ),
    retention: Type.Optional(
      Type.Object(
        {
          exchange_days: Type.Optional(
            Type.Integer({
              minimum: 1,
              maximum: 3_650,
              default: defaults.exchangeDays,
              description: "How long it is kept why exchanges were refused, failed or were cancelled.",
            }),
          ),
          exchange_rows: Type.Optional(
            Type.Integer({
              minimum: 1,
              maximum: 100_000_000,
              default: defaults.exchangeRows,
              description: "At most so many of them, the newest. The ledger is kept for ever.",
            }),
          ),
          response_hours: Type.Optional(
            Type.Integer({
              minimum: 0,
              maximum: 720,
              default: defaults.responseHours,
              description: "How long responses are kept for clients that continue them; 0: not at all.",
            }),
          ),
          response_bytes_per_key: Type.Optional(
            Type.Integer({
              minimum: 0,
              default: defaults.responseBytesPerKey,
              description: "At most so many bytes of them for a key, the newest.",
            }),
          ),
        },
        closed,
      ),
    ),
    routes: Type.Optional(
      Type.Object(
        mapSwitches((_, { default: isOn, description }) =>
          Type.Optional(Type.Boolean({ default: isOn, description })),
        ),
        {
          ...closed,
          description: "Routes beyond the interface. One that is off is 404, as if there were none.",
        },
      ),
    ),
    responses: Type.Optional(
      Type.Object(
        {
          state: Type.Optional(
            Type.Union([Type.Literal("gateway"), Type.Literal("provider")], {
              default: defaults.responseState,
              description:
                "Who keeps responses that clients continue. provider: `store` is sent as it is, and only providers of the Responses API keep any.",
            }),
          ),
          encryption_key: Type.Optional(secret),
          compaction_max_tokens: Type.Optional(
            Type.Integer({
              minimum: 256,
              default: defaults.compactionMaxTokens,
              description: "The longest summary of a conversation that is compacted.",
            }),
          ),
        },
        closed,
      ),
    ),
    websocket: Type.Optional(webSocketSchema),
    admin: Type.Optional(adminSchema),
    tracing: Type.Optional(
      Type.Object(
        {
          otlp_endpoint: Type.String({
            pattern: "^https?://",
            description: "Where traces go, by OTLP over HTTP; /v1/traces is added.",
          }),
          headers: Type.Optional(
            Type.Record(Type.String(), Type.String(), {
              description: "Sent with the traces; values may be secrets.",
            }),
          ),
        },
        closed,
      ),
    ),
    alerts: Type.Optional(
      Type.Object(
        {
          url: Type.String({
            minLength: 1,
            description:
              "Where alerts are posted, as JSON; a secret, written `env:NAME` or `file:/path`, because who knows the address may post there.",
          }),
          secret: Type.Optional(
            Type.String({
              minLength: 1,
              description: "Signs them (`x-sluice-signature`); a secret, written `env:NAME` or `file:/path`.",
            }),
          ),
        },
        closed,
      ),
    ),
    providers: Type.Optional(
      Type.Record(Type.String({ pattern: providerNamePattern }), providerSchema, closed),
    ),
    models: Type.Optional(Type.Array(modelSchema)),
  },
  closed,
);

/** The file as it is written. The rest of the program reads `Settings` (settings.ts). */
export type ConfigFile = Static<typeof configSchema>;
export type ProviderConfig = Static<typeof providerSchema>;
export type ModelConfig = Static<typeof modelSchema>;
export type DeploymentConfig = Static<typeof deploymentSchema>;
export type PriceConfig = Static<typeof priceSchema>;
export type TokenPriceConfig = Static<TObject<typeof tokenPrices>>;
export type TimeoutsConfig = Static<typeof timeoutsSchema>;
