import type { TObject, TSchema } from "@sinclair/typebox";
import { isObject, type Json, type JsonObject } from "../base/json.ts";
import { settingName } from "./decode.ts";
import { type Marks, needsRestart } from "./schema/marks.ts";
import { configSchema } from "./schema.ts";
import type { Settings } from "./settings.ts";

const { properties: sections } = configSchema;

/** The options of a section that a reload does not apply. */
function restartOptions(section: TSchema | undefined): [name: string, field: TSchema][] {
  const { properties = {} } = (section ?? {}) as Partial<TObject>;
  return Object.entries(properties).filter(([, field]) => (field as Marks)[needsRestart]);
}

/** Whether a change at this path of the file, such as `server` and `port`, is applied only by a restart. */
export function takesRestart([section = "", name]: readonly string[]): boolean {
  const schema = Object.hasOwn(sections, section) ? sections[section as keyof typeof sections] : undefined;
  return restartOptions(schema).some(([kept]) => kept === name);
}

export interface ReloadedSettings {
  /** The running settings: the new ones, with the old values of what needs a restart. */
  readonly settings: Settings;
  /** Changes in the file that were not applied, each with the reason. */
  readonly needsRestart: readonly string[];
}

/** The files that hold another secret than before. One that only a restart reads again is not among them. */
export function newSecretFiles(current: Settings, next: Settings): string[] {
  const changed = [...next.secretFiles].filter(([file, digest]) => {
    const before = current.secretFiles.get(file);
    return before !== undefined && before !== digest;
  });
  const { content } = next.written;
  const contentKey = isObject(content) && typeof content["key"] === "string" ? content["key"] : "env:";
  const isRead = (file: string) => contentKey.startsWith("env:") || !file.endsWith(contentKey.slice(5));
  return changed.flatMap(([file]) => (isRead(file) ? [file] : []));
}

/** Applies the part of new settings that needs no restart. */
export function reloadable(current: Settings, next: Settings): ReloadedSettings {
  const needsRestart = (["server", "admin", "store"] as const).flatMap((section) =>
    restartOptions(sections[section])
      .filter(([name, field]) => {
        const setting = settingName(name, field);
        return !Bun.deepEquals(keptIn(current[section], setting), keptIn(next[section], setting));
      })
      .map(([name]) => `${section}.${name} has changed; that needs a restart`),
  );
  const keepsContent = !Bun.deepEquals(current.content?.key, next.content?.key);
  if (keepsContent) needsRestart.push(`${contentChange(current, next)}; that needs a restart`);
  const tracesContent = current.tracing?.content === true;
  if (next.tracing !== null && next.tracing.content !== tracesContent)
    needsRestart.push("tracing.content has changed; that needs a restart");
  // Without a token in the file, the generated one would apply, and that is only read at start.
  const losesToken = next.admin.token === null && current.admin.token !== null;
  if (losesToken) needsRestart.push("admin.token was removed; that needs a restart");
  const settings: Settings = {
    ...next,
    server: { ...next.server, ...keptOf("server", current.server) },
    store: current.store,
    content: keepsContent ? current.content : next.content,
    tracing: next.tracing && { ...next.tracing, content: tracesContent },
    admin: {
      ...next.admin,
      ...keptOf("admin", current.admin),
      ...(losesToken ? { token: current.admin.token } : {}),
    },
    written: writtenInForce(current.written, next.written),
  };
  return withWarnings(settings, needsRestart);
}

function keptOf<Section extends object>(section: keyof typeof sections, current: Section): Partial<Section> {
  const kept = restartOptions(sections[section]).map(([name, field]) => settingName(name, field));
  // The cast holds because fields were only removed.
  return Object.fromEntries(
    Object.entries(current).filter(([name]) => kept.includes(name)),
  ) as Partial<Section>;
}

/** A setting as far as its change takes a restart. A password in a file does not: every connection reads it again. */
function keptIn(section: object | null, name: string): unknown {
  const value = settingIn(section, name);
  return isObject(value) && "file" in value ? value["file"] : value;
}

function settingIn(section: object | null, name: string): unknown {
  return section === null ? undefined : section[name as keyof typeof section];
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
export function withWarnings(settings: Settings, needsRestart: readonly string[]): ReloadedSettings {
  return { settings: { ...settings, warnings: [...settings.warnings, ...needsRestart] }, needsRestart };
}
