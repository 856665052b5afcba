import { describe, expect, test } from "bun:test";
import type { TProperties, TSchema } from "@sinclair/typebox";
import { reloadable } from "../../src/config/reload.ts";
import { type Marks, needsRestart } from "../../src/config/schema/marks.ts";
import { configSchema } from "../../src/config/schema.ts";
import type { Settings } from "../../src/config/settings.ts";
import { load as loadFile } from "./fixtures.ts";

/** What is read once, when the gateway opens its ports and its data. Everything else applies to what begins after the reload. */
const restart = [
  "server.host",
  "server.port",
  "server.data",
  "server.node",
  "server.reuse_port",
  "store.url",
  "store.password",
  "store.prepare",
  "content.key",
  "admin.listen",
  "tracing.content",
];

/** Each setting of the file by its path. Providers and models are replaced as a whole. */
const settings: ReadonlyMap<string, TSchema> = new Map(
  Object.entries<TSchema>(configSchema.properties).flatMap(([section, schema]): [string, TSchema][] => {
    const fields: TProperties | undefined = schema["properties"];
    if (fields === undefined) return [[section, schema]];
    return Object.entries(fields).map(([name, field]) => [`${section}.${name}`, field]);
  }),
);

const tracing = '[tracing]\notlp_endpoint = "http://127.0.0.1:1"\nheaders = { a = "b" }\n';

const alerts = '[alerts]\nurl = "env:ALERT_WEBHOOK_URL"\nsecret = "env:ADMIN"\n';

const feed = alerts.replace("alerts", "feed");

/** Without a database, its other settings mean nothing. */
const store = '[store]\nurl = "postgres://a@b/c"\n';

/** Turning it on takes a restart. */
const content = "[content]\n";

/** Files in which a setting differs from its default, where no value follows from its schema. */
const special: Readonly<Record<string, string>> = {
  "server.trusted_proxies": '[server]\ntrusted_proxies = ["10.0.0.1"]',
  "server.cors_origins": '[server]\ncors_origins = ["https://chat.example.com"]',
  "server.max_body_memory": "[server]\nmax_body_memory = 100000000",
  "store.url": '[store]\nurl = "postgres://a@b/other"',
  "store.password": `${store}password = "env:ADMIN"`,
  "store.prepare": `${store}prepare = false`,
  "responses.encryption_key": '[responses]\nencryption_key = "env:SEAL"',
  "content.key": `${content}key = "env:SEAL"`,
  "admin.token": '[admin]\ntoken = "env:ADMIN"',
  "admin.listen": '[admin]\nlisten = "127.0.0.1:1"',
  "admin.metrics_listen": '[admin]\nmetrics_listen = "127.0.0.1:1"',
  "admin.public_url": '[admin]\npublic_url = "https://a.example"',
  "admin.members": '[admin]\nmembers = "everyone"',
  "admin.member_keys": '[admin]\nmember_keys = { account = "a" }',
  "admin.sign_ins": '[admin.sign_ins]\nidle = "1h"',
  "admin.managed_settings": '[[admin.managed_settings]]\nclaude_code = { model = "m" }',
  "admin.user_header": '[server]\ntrusted_proxies = ["10.0.0.1"]\n[admin]\nuser_header = "x"',
  "admin.groups_header": '[server]\ntrusted_proxies = ["10.0.0.1"]\n[admin]\ngroups_header = "x"',
  "admin.oidc": '[admin.oidc]\nissuer = "https://a.example"\nclient_id = "a"\nclient_secret = "env:ADMIN"',
  "tracing.otlp_endpoint": tracing,
  "tracing.protocol": `${tracing}protocol = "json"`,
  "tracing.headers": tracing,
  "tracing.content": `${tracing}content = true`,
  "tracing.metrics": `${tracing}metrics = true`,
  "alerts.url": alerts,
  "alerts.secret": alerts,
  "feed.url": feed,
  "feed.secret": feed,
  "feed.since": `${feed}since = "2026-10-31"`,
  providers: '[providers.demo]\nkind = "demo"',
  models: '[providers.demo]\nkind = "demo"\n[[models]]\nid = "m"\nprovider = "demo"\nfree = true',
};

/** A value that the schema takes, and that is not the default. */
function otherValue(field: TSchema): string {
  const choices: readonly TSchema[] = field["anyOf"] ?? [];
  const choice = choices.find((each) => each["const"] !== undefined && each["const"] !== field.default);
  if (choice !== undefined) return JSON.stringify(choice["const"]);
  const bounds: TSchema = field["type"] === undefined ? field["anyOf"][0] : field;
  if (bounds["type"] === "boolean") return String(!field.default);
  if (bounds["type"] === "array") return '["a"]';
  if (bounds["type"] === "string") return '"other"';
  const least = Number(bounds["minimum"] ?? bounds["exclusiveMinimum"] + 1);
  return String(least === field.default ? least + 1 : least);
}

function fileWith(path: string, field: TSchema): string {
  const [section, name] = path.split(".");
  return special[path] ?? `[${section}]\n${name} = ${otherValue(field)}\n`;
}

function load(text: string): Settings {
  const seal = Buffer.alloc(32, 7).toString("base64");
  const env = { ADMIN: "a-token-that-is-long", ALERT_WEBHOOK_URL: "https://a.example", SEAL: seal };
  return loadFile(text, { env }).settings;
}

function fileBefore(name: string): string {
  if (name.startsWith("content.")) return content;
  if (["tracing.content", "tracing.protocol", "tracing.metrics"].includes(name)) return tracing;
  return name.startsWith("store.") ? store : "";
}

describe("a reload", () => {
  test("leaves alone what the schema marks, and nothing else", () => {
    const marked = [...settings].filter(([, field]) => (field as Marks)[needsRestart]).map(([path]) => path);
    expect(marked.toSorted()).toEqual(restart.toSorted());
  });

  for (const [path, field] of settings) {
    const follows = !restart.includes(path);
    test(`${follows ? "takes over" : "names, and leaves as it was,"} ${path}`, () => {
      const [first, next] = [load(fileBefore(path)), load(fileWith(path, field))];
      // The two files are in two folders, and the data folder is relative to the file or the working folder.
      const from = { ...first, server: { ...first.server, data: "/data" } };
      const data = path === "server.data" ? "/other" : "/data";
      const to = { ...next, server: { ...next.server, data } };
      expect(to).not.toEqual({ ...from, source: to.source, written: to.written });
      const reloaded = reloadable(from, to);
      if (follows) expect(reloaded).toEqual({ settings: to, needsRestart: [] });
      else {
        const { needsRestart } = reloaded;
        expect(needsRestart).toEqual([`${path} has changed; that needs a restart`]);
        expect(reloaded.settings.server).toEqual(from.server);
        expect(reloaded.settings.store).toEqual(from.store);
        expect(reloaded.settings.warnings).toContain(needsRestart[0] ?? "");
      }
    });
  }

  test("keeps an admin token that was taken out, and says so", () => {
    const [before, next] = [load(special["admin.token"] ?? ""), load("")];
    const { settings, needsRestart } = reloadable(before, next);
    expect(settings.admin.token).toBe("a-token-that-is-long");
    expect(needsRestart).toContain("admin.token was removed; that needs a restart");
  });
});
