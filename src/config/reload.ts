import { isObject, type Json, type JsonObject } from "../base/json.ts";
import type { Settings } from "./settings.ts";

/** The settings of `server` that need a restart: names in `ServerSettings` and in the file. */
const needsRestart = {
  host: "host",
  port: "port",
  dataDir: "data",
  node: "node",
  reusePort: "reuse_port",
} as const;

/** Whether a change at this path of the file, such as `server` and `port`, is applied only by a restart. */
export function takesRestart([section, name = ""]: readonly string[]): boolean {
  if (section === "server") return Object.values<string>(needsRestart).includes(name);
  if (section === "content") return name === "key";
  if (section === "tracing") return name === "content";
  return section === "store" || (section === "admin" && name === "listen");
}

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
  const keepsContent = !Bun.deepEquals(current.content?.key, next.content?.key);
  if (keepsContent) notInForce.push(`${contentChange(current, next)}; that takes a restart`);
  const tracesContent = current.tracing?.content != null;
  if (next.tracing !== null && (next.tracing.content !== null) !== tracesContent)
    notInForce.push("tracing.content has changed; that takes a restart");
  // Without a token in the file, the generated one would apply, and that is only read at start.
  const losesToken = next.admin.token === null && current.admin.token !== null;
  if (losesToken) notInForce.push("admin.token was taken out; that takes a restart");
  const settings: Settings = {
    ...next,
    server: { ...next.server, host, port, dataDir, node, reusePort },
    store: current.store,
    content: keepsContent ? current.content : next.content,
    tracing: next.tracing && {
      ...next.tracing,
      content: tracesContent ? (next.tracing.content ?? current.tracing?.content ?? null) : null,
    },
    admin: {
      ...next.admin,
      listen: current.admin.listen,
      ...(losesToken ? { token: current.admin.token } : {}),
    },
    written: writtenInForce(current.written, next.written),
  };
  return withWarnings(settings, notInForce);
}

function contentChange(current: Settings, next: Settings): string {
  if (current.content === null || next.content === null)
    return `[content] was ${next.content === null ? "removed" : "added"}`;
  return "content.key has changed";
}

/** The new text, with the old one where that takes a restart. */
function writtenInForce(current: JsonObject, next: JsonObject): JsonObject {
  const merged = Object.entries({ ...current, ...next }).map(([section]) => {
    const [before, after] = [current[section], next[section]];
    if (!isObject(before ?? {}) || !isObject(after ?? {})) return [section, after];
    const kept = fieldsOf(before).filter(([name]) => takesRestart([section, name]));
    const applied = fieldsOf(after).filter(([name]) => !takesRestart([section, name]));
    const fields = [...applied, ...kept];
    return [section, fields.length === 0 && after === undefined ? undefined : Object.fromEntries(fields)];
  });
  return Object.fromEntries(merged.filter(([, value]) => value !== undefined));
}

function fieldsOf(section: Json | undefined): [string, Json | undefined][] {
  return isObject(section) ? Object.entries(section) : [];
}

/** Adds them to the warnings too, because the dashboard shows those. */
export function withWarnings(settings: Settings, notInForce: readonly string[]): Reloaded {
  return { settings: { ...settings, warnings: [...settings.warnings, ...notInForce] }, notInForce };
}
