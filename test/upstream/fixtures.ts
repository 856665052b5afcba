import { type Clock, systemClock } from "../../src/base/clock.ts";
import type { GatewayError } from "../../src/base/errors.ts";
import type { DeploymentSettings, ModelSettings } from "../../src/config/settings.ts";
import { Upstream } from "../../src/upstream/providers.ts";
import { Directory } from "../../src/upstream/selection/directory.ts";
import type { CountingPlan, GenerationPlan, OpenedCall, Plan } from "../../src/upstream/upstream.ts";
import type { PreparedRequest, ProviderSettings, Timeouts } from "../../src/vendors/provider.ts";
import { createProvider, type VendorKind } from "../../src/vendors/registry.ts";
import type { Dial } from "../../src/wire/http-client.ts";

/** A port without a listener. */
export const nobody = "http://127.0.0.1:1";

export const patient: Timeouts = {
  connectMs: 10_000,
  firstByteMs: 30_000,
  streamFirstByteMs: 30_000,
  idleMs: 30_000,
  totalMs: 300_000,
};

export interface Place {
  readonly url: string;
  /** Default: `p` and the index; places of the same name share the first one's provider. */
  readonly provider?: string;
  readonly upstreamModel?: string;
  readonly kind?: VendorKind;
  readonly apiKeys?: readonly string[];
  readonly priority?: number;
  readonly weight?: number;
  readonly maxConcurrent?: number;
  readonly providerMaxConcurrent?: number;
  readonly timeouts?: Partial<Timeouts>;
  readonly countTokens?: boolean;
  readonly dialects?: ProviderSettings["dialects"];
  /** Default: `m`; places of the same name belong to one model. */
  readonly model?: string;
}

export interface LogLine {
  readonly level: "warn" | "error";
  readonly fields: object;
  readonly message: string;
}

export interface Setup {
  readonly upstream: Upstream;
  readonly log: LogLine[];
  plan(
    changes?: Partial<GenerationPlan> & { readonly body?: string; readonly modelId?: string },
  ): GenerationPlan & CountingPlan;
}

export interface SetupOptions {
  readonly clock?: Clock;
  readonly heartbeatMs?: number;
  readonly random?: () => number;
  readonly dial?: Dial;
  /** Fallbacks of the model `m`. */
  readonly fallbacks?: readonly string[];
}

/** An upstream whose providers `p0`, `p1`, … are at these places. */
export function setUp(places: readonly Place[], options: SetupOptions = {}): Setup {
  const { clock = systemClock, heartbeatMs = 15_000, random = () => 0.5, fallbacks = [] } = options;
  const log: LogLine[] = [];
  const models = modelsAt(places, fallbacks);
  const upstream = new Upstream({
    settings: {
      models,
      providers: providersAt(places),
      server: { heartbeatMs },
    },
    clock,
    random,
    ...(options.dial === undefined ? {} : { dial: options.dial }),
    log: {
      warn: (fields, message) => log.push({ level: "warn", fields, message }),
      error: (fields, message) => log.push({ level: "error", fields, message }),
    },
  });
  return {
    upstream,
    log,
    plan: ({ body = "{}", modelId = "m", ...changes } = {}) => {
      const clientDialect = changes.clientDialect ?? "chat";
      const signal = changes.signal ?? new AbortController().signal;
      const model = models.find(({ id }) => id === modelId);
      if (model === undefined) throw new Error(`no model ${modelId}`);
      return {
        model,
        scope: "all",
        credential: null,
        conversation: null,
        keyId: "key_a",
        requestId: "req_test",
        attemptFailed: () => {},
        redactRequestText: (message) => message,
        dropSignatures: () => false,
        clientDialect,
        stream: false,
        signal,
        get isOver() {
          return signal.aborted;
        },
        deadlineMs: clock.monotonicMs() + 300_000,
        mayCount: ({ provider: { settings }, dialects }) =>
          settings.countTokens && dialects.includes(clientDialect),
        prepare: () => prepared({ dialect: clientDialect, body }),
        ...changes,
      };
    },
  };
}

/** The deployments at these places, as their selection orders them: by the names of their providers, or their own. */
export function directoryAt(places: readonly Place[]) {
  const directory = new Directory(
    { models: modelsAt(places, []), providers: providersAt(places) },
    (settings) => createProvider(settings, {}),
    Math.random,
  );
  return {
    plan: setUp(places).plan,
    order: (plan: Plan, by: "provider" | "name" = "provider") =>
      directory
        .order(plan, 0)
        .map(({ deployment }) => (by === "name" ? deployment.name : deployment.provider.settings.name)),
  };
}

/** A request that is ready to be sent, of which only some things matter. */
export function prepared(changes: Partial<PreparedRequest> = {}): PreparedRequest {
  return {
    dialect: "chat",
    purpose: "generate",
    model: "m",
    stream: false,
    body: "{}",
    headers: {},
    ...changes,
  };
}

/** What a client gets: `answered`, or the status and the code of its error. */
export function outcomeOf(opening: Promise<OpenedCall>): Promise<string> {
  return opening.then(
    (opened) => {
      opened.finished("completed");
      return "answered";
    },
    (error: GatewayError) => `${error.status} ${error.code}`,
  );
}

export function modelsAt(places: readonly Place[], fallbacks: readonly string[]): ModelSettings[] {
  const ids = [...new Set(places.map(({ model = "m" }) => model))];
  return ids.map((id) => ({
    id,
    aliases: [],
    listAliases: true,
    displayName: null,
    tagline: null,
    serves: ["generation"] as const,
    imageTokensMax: null,
    priceSource: null,
    priceChecked: null,
    listed: true,
    ends: null,
    ownedBy: "test",
    created: 0,
    public: true,
    free: true,
    contextWindow: null,
    maxOutputTokens: null,
    price: null,
    allow: [],
    capabilities: {},
    cache: "auto",
    affinity: "conversation",
    batch: "gateway",
    batchTier: null,
    content: null,
    requestTimeoutMs: 300_000,
    deployments: places.flatMap((place, index) =>
      (place.model ?? "m") === id ? [deploymentAt(place, nameOf(place, index))] : [],
    ),
    fallbacks: id === "m" ? fallbacks : [],
  }));
}

function nameOf(place: Place, index: number): string {
  return place.provider ?? `p${index}`;
}

export function providersAt(places: readonly Place[]): Map<string, ProviderSettings> {
  const providers = new Map<string, ProviderSettings>();
  for (const [index, place] of places.entries()) {
    const name = nameOf(place, index);
    if (!providers.has(name)) providers.set(name, providerAt(place, name));
  }
  return providers;
}

function deploymentAt(place: Place, provider: string): DeploymentSettings {
  return {
    provider,
    upstreamModel: place.upstreamModel ?? "real",
    family: null,
    dialects: place.dialects ?? ["chat", "responses", "messages"],
    maxTokensField: "max_tokens",
    priority: place.priority ?? 1,
    weight: place.weight ?? 1,
    maxConcurrent: place.maxConcurrent ?? null,
    price: null,
    timeouts: { ...patient, ...place.timeouts },
  };
}

function providerAt(place: Place, name: string): ProviderSettings {
  return providerSettings({
    name,
    kind: place.kind ?? "openai-compatible",
    baseUrl: place.url,
    apiKeys: place.apiKeys ?? [],
    countTokens: place.countTokens ?? false,
    ...(place.dialects === undefined ? {} : { dialects: place.dialects }),
    maxConcurrent: place.providerMaxConcurrent ?? null,
    timeouts: { ...patient, ...place.timeouts },
  });
}

/** A provider without a key that speaks every dialect and is given all the time it needs. */
export function providerSettings(changes: Partial<ProviderSettings>): ProviderSettings {
  return {
    name: "p",
    kind: "openai-compatible",
    baseUrl: nobody,
    apiKeys: [],
    options: {},
    dialects: ["chat", "responses", "messages"],
    headers: {},
    quirks: [],
    streamUsage: true,
    countTokens: false,
    rateLimitHeaders: false,
    maxTokensField: "max_tokens",
    maxConcurrent: null,
    timeouts: patient,
    ...changes,
  };
}

/** The error that the client gets. */
export async function refusalOf(upstream: Upstream, plan: GenerationPlan): Promise<GatewayError> {
  const outcome = await upstream.open(plan).then(
    () => null,
    (error: GatewayError) => error,
  );
  if (outcome === null) throw new Error("the provider was believed");
  return outcome;
}
