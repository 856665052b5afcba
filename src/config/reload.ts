import type { Settings } from "./settings.ts";

/**
 * What a reload does with each setting of the file. `follows`: the new value applies to everything that begins after the
 * reload. `restart`: it is read once, when the gateway opens its ports and its data. A test compares this table with
 * the schema, and changes each setting on a running gateway.
 */
export const onReload = {
  "server.host": "restart",
  "server.port": "restart",
  "server.data": "restart",
  "server.node": "restart",
  "server.reuse_port": "restart",
  "server.trusted_proxies": "follows",
  "server.cors_origins": "follows",
  "server.max_body_bytes": "follows",
  "server.max_body_memory": "follows",
  "server.max_body_members": "follows",
  "server.max_list_items": "follows",
  "server.heartbeat": "follows",
  "server.shutdown_grace": "follows",
  "server.stalled_reader": "follows",
  "server.max_concurrent": "follows",
  "server.max_concurrent_per_key": "follows",
  "server.anonymous_rpm": "follows",
  "store.url": "restart",
  "store.password": "restart",
  "store.prepare": "restart",
  "log.level": "follows",
  "log.format": "follows",
  "money.usd_per_credit": "follows",
  "retention.exchange_days": "follows",
  "retention.exchange_rows": "follows",
  "admin.token": "follows",
  "admin.listen": "restart",
  "admin.metrics_listen": "follows",
  "tracing.otlp_endpoint": "follows",
  "tracing.headers": "follows",
  providers: "follows",
  models: "follows",
} as const satisfies Readonly<Record<string, "follows" | "restart">>;

/** The settings of `server` that need a restart: names in `ServerSettings` and in the file. */
const needsRestart = {
  host: "host",
  port: "port",
  dataDir: "data",
  node: "node",
  reusePort: "reuse_port",
} as const;

export interface Reloaded {
  /** The settings in force: the new ones, with the old values of what needs a restart. */
  readonly settings: Settings;
  /** Changes in the file that were not applied, each with the reason. */
  readonly notInForce: readonly string[];
}

/** Applies the part of new settings that needs no restart. */
export function reloadable(current: Settings, next: Settings): Reloaded {
  const changed = Object.entries(needsRestart).filter(
    ([name]) =>
      current.server[name as keyof typeof needsRestart] !== next.server[name as keyof typeof needsRestart],
  );
  const { host, port, dataDir, node, reusePort } = current.server;
  const notInForce = changed.map(([, name]) => `server.${name} has changed; that takes a restart`);
  if (current.admin.listen !== next.admin.listen) {
    notInForce.push("admin.listen has changed; that takes a restart");
  }
  for (const name of ["url", "password", "prepare"] as const) {
    if (current.store?.[name] === next.store?.[name]) continue;
    notInForce.push(`store.${name} has changed; that takes a restart`);
  }
  // Without a token in the file, the generated one would apply, and that is only read at start.
  const losesToken = next.admin.token === null && current.admin.token !== null;
  if (losesToken) notInForce.push("admin.token was taken out; that takes a restart");
  const settings: Settings = {
    ...next,
    server: { ...next.server, host, port, dataDir, node, reusePort },
    store: current.store,
    admin: {
      ...next.admin,
      listen: current.admin.listen,
      ...(losesToken ? { token: current.admin.token } : {}),
    },
  };
  return withWarnings(settings, notInForce);
}

/** Adds them to the warnings too, because the dashboard shows those. */
export function withWarnings(settings: Settings, notInForce: readonly string[]): Reloaded {
  return { settings: { ...settings, warnings: [...settings.warnings, ...notInForce] }, notInForce };
}
