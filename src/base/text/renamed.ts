/** Names from before 0.1.0. They do not work, but the error says the new name. Remove these tables after 0.2. */

/** Settings by the end of their path, without the names of providers and the numbers of models. */
const settings: ReadonlyMap<string, string> = new Map([
  ["server.max_exchange", "request_timeout"],
  ["server.stalled_reader", "client_idle_timeout"],
  ["timeouts.exchange", "request"],
  ["timeouts.gap", "idle"],
  ["retention.exchange_days", "request_days"],
  ["retention.exchange_rows", "request_rows"],
  ["websocket.max_per_key", "max_connections_per_key"],
  ["websocket.max_active", "max_concurrent"],
  ["websocket.max_lanes", "max_streams"],
  ["admin.holders", "members"],
  ["admin.holders_may_create", "member_keys"],
  ["websocket.max_minutes", 'max_duration, such as "60m"'],
]);

/** What to say about a setting such as `server.max_exchange` or `models[2].timeouts.gap`; null if its name is not an old one. */
export function renamedSetting(path: string): string | null {
  const name = settings.get(path.split(".").slice(-2).join("."));
  return name === undefined ? null : `was renamed to ${name}`;
}

/** Commands as they are typed after `sluice`. */
const commands: ReadonlyMap<string, string> = new Map([
  ["exchanges", "requests"],
  ["keys extend", "keys raise-cap"],
]);

export function renamedCommand(name: string): string | null {
  const renamed = commands.get(name);
  return renamed === undefined ? null : `\`sluice ${name}\` was renamed to \`sluice ${renamed}\``;
}

/** Paths below `/admin/api/v1`, and the part of them that has another name. */
const adminPaths: readonly (readonly [old: RegExp, renamed: string])[] = [
  [/^\/exchanges(?=\/|$)/, "/requests"],
  [/^\/attention$/, "/alerts"],
  [/^(\/keys\/[^/]+)\/extend$/, "$1/raise-cap"],
];

/** What to say about a path such as `/attention`; null if it is not an old one. */
export function renamedAdminPath(path: string): string | null {
  for (const [old, renamed] of adminPaths) {
    if (old.test(path)) return `${path} was renamed to ${path.replace(old, renamed)}`;
  }
  return null;
}

/** Fields and parameters of requests to the admin API. */
const adminFields: ReadonlyMap<string, string> = new Map([
  ["open", "postpaid"],
  ["scope", "provider_scope"],
]);

export function renamedAdminField(name: string): string | null {
  const renamed = adminFields.get(name);
  return renamed === undefined ? null : `was renamed to \`${renamed}\``;
}

const options: ReadonlyMap<string, string> = new Map([
  ["--open", "--postpaid"],
  ["--no-open", "--no-postpaid"],
  ["--scope", "--provider"],
]);

export function renamedOption(name: string): string | null {
  const renamed = options.get(name);
  return renamed === undefined ? null : `${name} was renamed to ${renamed}`;
}
