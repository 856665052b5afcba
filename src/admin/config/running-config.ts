import { msPerDay } from "../../base/clock.ts";
import type { ContentSettings, OidcSettings, Settings } from "../../config/settings.ts";
import { withoutCredentials } from "../../config/written.ts";
import type { ProviderSettings } from "../../vendors/provider.ts";
import { retentionDocument } from "../system/storage.ts";

const masked = "********";

/**
 * The configuration in force. Every field is listed by name, so that a secret added to the settings is left out
 * until it is listed here.
 */
export function configInForce(settings: Settings): object {
  const { server, store, log, admin, tracing } = settings;
  return {
    server: {
      host: server.host,
      port: server.port,
      data: server.dataDir,
      node: server.node,
      reuse_port: server.reusePort,
      trusted_proxies: server.trustedProxies,
      cors_origins: server.corsOrigins,
      same_key_in_both_headers: server.acceptsKeyTwice ? "accept" : "refuse",
      max_body_bytes: server.maxBodyBytes,
      max_body_memory: server.maxBodyMemoryBytes,
      max_body_members: server.structure.maxMembers,
      max_list_items: server.structure.maxListItems,
      heartbeat_ms: server.heartbeatMs,
      shutdown_grace_ms: server.shutdownGraceMs,
      request_timeout_ms: server.requestTimeoutMs,
      client_idle_timeout_ms: server.clientIdleTimeoutMs,
      max_concurrent: server.maxConcurrent,
      max_concurrent_per_key: server.maxConcurrentPerKey,
      anonymous_rpm: server.anonymousRpm,
    },
    store: store && {
      url: withoutCredentials(store.url),
      password: store.password === null ? null : masked,
      prepare: store.prepare,
    },
    log: { level: log.level, format: log.format },
    retention: retentionDocument(settings.retention),
    responses: {
      state: settings.responses.state,
      encryption_key: settings.responses.encryptionKey === null ? null : masked,
      compaction_max_tokens: settings.responses.compactionMaxTokens,
    },
    content: contentInForce(settings.content),
    websocket: {
      max_connections: settings.webSocket.maxConnections,
      max_connections_per_key: settings.webSocket.maxConnectionsPerKey,
      max_duration_ms: settings.webSocket.maxMs,
      max_concurrent: settings.webSocket.maxConcurrent,
      max_streams: settings.webSocket.maxStreams,
      max_queued: settings.webSocket.maxQueued,
    },
    routes: settings.routes,
    money: { usd_per_credit: settings.microUsdPerCredit / 1_000_000 },
    admin: {
      token: admin.token === null ? null : masked,
      listen: admin.listen,
      metrics_listen: admin.metricsListen,
      public_url: admin.publicUrl,
      ...admin.people,
      holders_may_create: admin.holdersMayCreate,
      user_header: admin.userHeader,
      groups_header: admin.groupsHeader,
      oidc: admin.oidc && oidcInForce(admin.oidc),
    },
    tracing: tracing && {
      otlp_endpoint: withoutCredentials(tracing.otlpEndpoint),
      content: tracing.content !== null,
      headers: maskedValues(tracing.headers),
    },
    alerts: settings.alerts && {
      url: masked,
      secret: settings.alerts.secret === null ? null : masked,
    },
    providers: Object.fromEntries(
      [...settings.providers].map(([name, provider]) => [name, providerInForce(provider)]),
    ),
    models: settings.models.map((model) => model.id),
    warnings: settings.warnings,
  };
}

/** What is not recorded has no options; they are named nevertheless, so that all of them are seen. */
function contentInForce(content: ContentSettings | null): object {
  return {
    record: content?.record ?? null,
    sample: content?.sample ?? null,
    days: content && content.keptMs / msPerDay,
    max_size: content?.maxBytes ?? null,
    max_request: content?.maxRequestBytes ?? null,
    max_response: content?.maxResponseBytes ?? null,
    key: content?.key ? masked : null,
    record_upstream: content?.recordsUpstream ?? null,
    members_see_own: content?.membersSeeOwn ?? null,
  };
}

function oidcInForce(oidc: OidcSettings): object {
  return {
    issuer: oidc.issuer,
    client_id: oidc.clientId,
    client_secret: masked,
    scope: oidc.scope,
    user_claim: oidc.userClaim,
    groups_claim: oidc.groupsClaim,
    trust_email: oidc.trustEmail,
  };
}

function providerInForce(provider: ProviderSettings): object {
  return {
    kind: provider.kind,
    base_url: withoutCredentials(provider.baseUrl),
    api_keys: provider.apiKeys.map(() => masked),
    dialects: provider.dialects,
    headers: maskedValues(provider.headers),
    quirks: provider.quirks,
    stream_usage: provider.streamUsage,
    count_tokens: provider.countTokens,
    rate_limit_headers: provider.rateLimitHeaders,
    max_tokens_field: provider.maxTokensField,
    max_concurrent: provider.maxConcurrent,
    timeouts: { ...provider.timeouts },
  };
}

/** Any header's value may be a credential. */
function maskedValues(headers: Readonly<Record<string, string>>): Record<string, string> {
  return Object.fromEntries(Object.keys(headers).map((name) => [name, masked]));
}
