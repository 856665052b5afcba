import { type Static, type TOptional, Type } from "@sinclair/typebox";
import { providerDialectNames } from "../dialects/registry.ts";
import {
  type VendorOptionName,
  vendorOption,
  vendorOptionNames,
  type vendorOptions,
} from "../vendors/options.ts";
import { vendorKinds } from "../vendors/registry.ts";
import { defaults, logLevels } from "./defaults.ts";

/**
 * The schema of the configuration file. It validates the file, gives the program its types, and is printed by
 * `sluice config schema`. Unknown names are errors everywhere.
 */
const closed = { additionalProperties: false } as const;

const seconds = (description: string, fallback: number) =>
  Type.Number({ description, minimum: 0, maximum: 86_400, default: fallback });

const usdPerMillion = (description: string) => Type.Number({ description, minimum: 0, maximum: 1_000_000 });

/** More than any model has, and small enough for the cost of a call to stay exact. */
const maxTokens = 1_000_000_000;

const dialect = Type.Union(providerDialectNames.map((name) => Type.Literal(name)));

const secret = Type.String({
  minLength: 1,
  description: "A secret, written `env:NAME` or `file:/path`; never the secret itself.",
});

const timeoutsSchema = Type.Object(
  {
    connect: Type.Optional(
      seconds("Until the provider has accepted the connection.", defaults.timeouts.connect),
    ),
    first_byte: Type.Optional(
      seconds("Until the provider's first byte, for whole responses.", defaults.timeouts.firstByte),
    ),
    stream_first_byte: Type.Optional(
      seconds("Until the provider's first byte, for streams.", defaults.timeouts.streamFirstByte),
    ),
    gap: Type.Optional(seconds("The longest silence within a stream.", defaults.timeouts.gap)),
    total: Type.Optional(
      seconds("The whole exchange; streams never outlive 5 minutes.", defaults.timeouts.total),
    ),
  },
  closed,
);

const maxTokensField = Type.Union([Type.Literal("max_tokens"), Type.Literal("max_completion_tokens")], {
  description: "How a translated chat request names its output limit.",
});

// The cast holds because each schema is the one of its name.
const optionSchemas = Object.fromEntries(
  vendorOptionNames.map((name) => [name, Type.Optional(vendorOption(name).schema)]),
) as unknown as { [Name in VendorOptionName]: TOptional<(typeof vendorOptions)[Name]["schema"]> };

const providerSchema = Type.Object(
  {
    kind: Type.Union(vendorKinds.map((kind) => Type.Literal(kind))),
    api_key: Type.Optional(Type.Union([secret, Type.Array(secret, { minItems: 1 })])),
    base_url: Type.Optional(
      Type.String({
        pattern: "^https?://",
        description: "As the vendor's own SDK takes it: OpenAI kinds with /v1, Anthropic without.",
      }),
    ),
    dialects: Type.Optional(
      Type.Array(dialect, {
        minItems: 1,
        uniqueItems: true,
        description: "What the provider speaks by itself.",
      }),
    ),
    headers: Type.Optional(
      Type.Record(Type.String(), Type.String(), {
        description: "Sent with every request; values may be secrets.",
      }),
    ),
    stream_usage: Type.Optional(
      Type.Boolean({
        default: true,
        description: "Whether chat streams understand `stream_options.include_usage`.",
      }),
    ),
    count_tokens: Type.Optional(
      Type.Boolean({
        description: "For messages: whether it offers count_tokens; default: kind anthropic does.",
      }),
    ),
    max_tokens_field: Type.Optional(maxTokensField),
    max_concurrent: Type.Optional(Type.Integer({ minimum: 1 })),
    timeouts: Type.Optional(timeoutsSchema),
    ...optionSchemas,
  },
  closed,
);

const tokenPrices = {
  input: usdPerMillion("USD per million input tokens."),
  output: usdPerMillion("USD per million output tokens."),
  cached_input: Type.Optional(usdPerMillion("USD per million tokens read from a cache; default: input.")),
  cache_write: Type.Optional(usdPerMillion("USD per million tokens written to a cache; default: input.")),
};

const usdPerThousandCalls = Type.Optional(
  Type.Number({
    description:
      "USD per 1,000 calls of this hosted tool; without it, requests that offer the tool are refused.",
    minimum: 0,
    maximum: 1_000_000,
  }),
);

const priceSchema = Type.Object(
  {
    ...tokenPrices,
    audio_input: Type.Optional(usdPerMillion("USD per million tokens of audio input.")),
    audio_output: Type.Optional(usdPerMillion("USD per million tokens of audio output.")),
    web_search: usdPerThousandCalls,
    web_fetch: usdPerThousandCalls,
    file_search: usdPerThousandCalls,
    code_interpreter: usdPerThousandCalls,
    code_execution: usdPerThousandCalls,
    computer_use: usdPerThousandCalls,
    image_generation: usdPerThousandCalls,
    mcp: usdPerThousandCalls,
    shell: usdPerThousandCalls,
    tool_search: usdPerThousandCalls,
    tiers: Type.Optional(
      Type.Record(Type.String({ pattern: "^[a-z0-9][a-z0-9_.-]*$" }), Type.Object(tokenPrices, closed), {
        ...closed,
        description: "Prices of service tiers beside the usual one, such as `priority` and `flex`.",
      }),
    ),
  },
  closed,
);

/** What a model and each of its deployments may say. */
const upstreamModelSettings = {
  family: Type.Optional(
    Type.String({
      minLength: 1,
      description: "The model's own name, such as gpt-5.6, where upstream_model is a deployment's name.",
    }),
  ),
  dialect: Type.Optional(
    Type.Union(
      providerDialectNames.map((name) => Type.Literal(name)),
      { description: "The one that this model takes, where its provider speaks several." },
    ),
  ),
  max_tokens_field: Type.Optional(maxTokensField),
};

const deploymentSchema = Type.Object(
  {
    provider: Type.String({ minLength: 1 }),
    upstream_model: Type.Optional(Type.String({ minLength: 1 })),
    ...upstreamModelSettings,
    priority: Type.Optional(
      Type.Integer({ minimum: 0, default: defaults.priority, description: "Lower numbers are tried first." }),
    ),
    weight: Type.Optional(
      Type.Integer({ minimum: 1, default: defaults.weight, description: "Share among one priority." }),
    ),
    max_concurrent: Type.Optional(Type.Integer({ minimum: 1 })),
    price: Type.Optional(priceSchema),
  },
  closed,
);

export const capabilitiesSchema = Type.Object(
  {
    tools: Type.Optional(Type.Boolean()),
    vision: Type.Optional(Type.Boolean()),
    reasoning: Type.Optional(Type.Boolean()),
    structured_output: Type.Optional(Type.Boolean()),
  },
  { additionalProperties: Type.Unknown() },
);

const modelSchema = Type.Object(
  {
    id: Type.String({ minLength: 1, description: "What clients ask for." }),
    provider: Type.Optional(Type.String({ minLength: 1 })),
    upstream_model: Type.Optional(
      Type.String({ minLength: 1, description: "The provider's name; default: id." }),
    ),
    ...upstreamModelSettings,
    deployments: Type.Optional(Type.Array(deploymentSchema, { minItems: 1 })),
    fallbacks: Type.Optional(
      Type.Array(Type.String({ minLength: 1 }), {
        description: "Other models to try when all deployments fail.",
      }),
    ),
    display_name: Type.Optional(Type.String()),
    tagline: Type.Optional(Type.String()),
    owned_by: Type.Optional(Type.String()),
    created: Type.Optional(Type.Integer({ minimum: 0, description: "Unix seconds." })),
    public: Type.Optional(Type.Boolean({ default: true, description: "Listed for callers without a key." })),
    free: Type.Optional(
      Type.Boolean({ default: false, description: "A model without a price that costs nothing." }),
    ),
    context_window: Type.Optional(Type.Integer({ minimum: 1, maximum: maxTokens })),
    max_output_tokens: Type.Optional(Type.Integer({ minimum: 1, maximum: maxTokens })),
    price: Type.Optional(priceSchema),
    capabilities: Type.Optional(capabilitiesSchema),
    timeouts: Type.Optional(timeoutsSchema),
  },
  closed,
);

const providerNamePattern = "^[a-z0-9][a-z0-9_-]*$";

export const configSchema = Type.Object(
  {
    server: Type.Optional(
      Type.Object(
        {
          host: Type.Optional(Type.String({ default: defaults.host })),
          port: Type.Optional(Type.Integer({ minimum: 0, maximum: 65_535, default: defaults.port })),
          data: Type.Optional(
            Type.String({
              minLength: 1,
              default: defaults.dataDir,
              description: "The data folder, relative to this file; `--data` and SLUICE_DATA beat it.",
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
          max_body_bytes: Type.Optional(Type.Integer({ minimum: 1024, default: defaults.maxBodyBytes })),
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
            seconds("Silence before a heartbeat in a stream; 0 turns it off.", defaults.heartbeat),
          ),
          shutdown_grace: Type.Optional(
            Type.Number({ minimum: 0, maximum: 300, default: defaults.shutdownGrace }),
          ),
          stalled_reader: Type.Optional(
            seconds("A client that reads nothing for so long is closed.", defaults.stalledReader),
          ),
          max_concurrent: Type.Optional(Type.Integer({ minimum: 1, default: defaults.maxConcurrent })),
          max_concurrent_per_key: Type.Optional(Type.Integer({ minimum: 1 })),
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
    log: Type.Optional(
      Type.Object(
        {
          level: Type.Optional(
            Type.Union(
              logLevels.map((level) => Type.Literal(level)),
              { default: defaults.logLevel },
            ),
          ),
          format: Type.Optional(
            Type.Union([Type.Literal("auto"), Type.Literal("json"), Type.Literal("pretty")], {
              default: "auto",
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
            Type.Number({ exclusiveMinimum: 0, maximum: 1_000_000, default: defaults.usdPerCredit }),
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
        },
        closed,
      ),
    ),
    admin: Type.Optional(
      Type.Object(
        {
          token: Type.Optional(secret),
          listen: Type.Optional(
            Type.String({
              description:
                "host:port of a listener for the admin API, the dashboard and /metrics; the main one has none of them then.",
            }),
          ),
          metrics_listen: Type.Optional(
            Type.String({ description: "host:port of an open metrics listener." }),
          ),
        },
        closed,
      ),
    ),
    tracing: Type.Optional(
      Type.Object(
        {
          otlp_endpoint: Type.String({ pattern: "^https?://" }),
          headers: Type.Optional(Type.Record(Type.String(), Type.String())),
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
export type TokenPriceConfig = Pick<PriceConfig, keyof typeof tokenPrices>;
export type TimeoutsConfig = Static<typeof timeoutsSchema>;
