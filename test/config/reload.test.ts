import { describe, expect, test } from "bun:test";
import { configInForce } from "../../src/admin/config/running-config.ts";
import { reloadable } from "../../src/config/reload.ts";
import { configSchema } from "../../src/config/schema.ts";
import type { Settings } from "../../src/config/settings.ts";
import { load as loadFile } from "./fixtures.ts";
import { onReload } from "./on-reload.ts";

type Setting = keyof typeof onReload;

/** Each setting of the file by its path. Providers and models are replaced as a whole. */
function allSettings(): string[] {
  return Object.entries(configSchema.properties).flatMap(([section, schema]) => {
    const { properties } = schema as { properties?: object };
    return properties === undefined ? [section] : Object.keys(properties).map((name) => `${section}.${name}`);
  });
}

const tracing = '[tracing]\notlp_endpoint = "http://127.0.0.1:1"\nheaders = { a = "b" }\n';

const alerts = '[alerts]\nurl = "env:ALERT_WEBHOOK_URL"\nsecret = "env:ADMIN"\n';

/** Without a database, its other settings mean nothing. */
const store = '[store]\nurl = "postgres://a@b/c"\n';

/** Turning it on takes a restart. */
const content = "[content]\n";

/** For each setting a file in which it differs from its default. */
const changed: Readonly<Record<Setting, string>> = {
  "server.host": '[server]\nhost = "127.0.0.2"',
  "server.port": "[server]\nport = 1",
  "server.data": '[server]\ndata = "other"',
  "server.node": '[server]\nnode = "fra-1"',
  "server.reuse_port": "[server]\nreuse_port = true",
  "server.trusted_proxies": '[server]\ntrusted_proxies = ["10.0.0.1"]',
  "server.cors_origins": '[server]\ncors_origins = ["https://chat.example.com"]',
  "server.same_key_in_both_headers": '[server]\nsame_key_in_both_headers = "accept"',
  "server.max_body_bytes": "[server]\nmax_body_bytes = 2048",
  "server.max_body_memory": "[server]\nmax_body_memory = 100000000",
  "server.max_body_members": "[server]\nmax_body_members = 500",
  "server.max_list_items": "[server]\nmax_list_items = 500",
  "server.heartbeat": "[server]\nheartbeat = 1",
  "server.shutdown_grace": "[server]\nshutdown_grace = 1",
  "server.request_timeout": '[server]\nrequest_timeout = "1h"',
  "server.client_idle_timeout": "[server]\nclient_idle_timeout = 1",
  "server.max_concurrent": "[server]\nmax_concurrent = 1",
  "server.max_concurrent_per_key": "[server]\nmax_concurrent_per_key = 1",
  "server.anonymous_rpm": "[server]\nanonymous_rpm = 1",
  "store.url": '[store]\nurl = "postgres://a@b/other"',
  "store.password": `${store}password = "env:ADMIN"`,
  "store.prepare": `${store}prepare = false`,
  "log.level": '[log]\nlevel = "warn"',
  "log.format": '[log]\nformat = "pretty"',
  "money.usd_per_credit": "[money]\nusd_per_credit = 2",
  "retention.request_days": "[retention]\nrequest_days = 1",
  "retention.request_rows": "[retention]\nrequest_rows = 5",
  "retention.response_hours": "[retention]\nresponse_hours = 0",
  "retention.response_bytes_per_key": "[retention]\nresponse_bytes_per_key = 1000",
  "responses.state": '[responses]\nstate = "provider"',
  "responses.encryption_key": '[responses]\nencryption_key = "env:SEAL"',
  "responses.compaction_max_tokens": "[responses]\ncompaction_max_tokens = 1000",
  "content.record": `${content}record = "failed"`,
  "content.sample": `${content}sample = 0.5`,
  "content.days": `${content}days = 1`,
  "content.max_size": `${content}max_size = "1GB"`,
  "content.max_request": `${content}max_request = "2KB"`,
  "content.max_response": `${content}max_response = "2KB"`,
  "content.key": `${content}key = "env:SEAL"`,
  "content.record_upstream": `${content}record_upstream = true`,
  "content.members_see_own": `${content}members_see_own = true`,
  "routes.stored_responses": "[routes]\nstored_responses = false",
  "routes.conversations": "[routes]\nconversations = true",
  "routes.compact": "[routes]\ncompact = false",
  "routes.websocket": "[routes]\nwebsocket = false",
  "routes.input_tokens": "[routes]\ninput_tokens = false",
  "routes.embeddings": "[routes]\nembeddings = false",
  "routes.rerank": "[routes]\nrerank = false",
  "routes.completions": "[routes]\ncompletions = false",
  "routes.moderations": "[routes]\nmoderations = false",
  "routes.images": "[routes]\nimages = false",
  "routes.audio": "[routes]\naudio = false",
  "websocket.max_connections": "[websocket]\nmax_connections = 1",
  "websocket.max_connections_per_key": "[websocket]\nmax_connections_per_key = 1",
  "websocket.max_duration": "[websocket]\nmax_duration = 60",
  "websocket.max_concurrent": "[websocket]\nmax_concurrent = 1",
  "websocket.max_streams": "[websocket]\nmax_streams = 1",
  "websocket.max_queued": "[websocket]\nmax_queued = 1",
  "admin.token": '[admin]\ntoken = "env:ADMIN"',
  "admin.listen": '[admin]\nlisten = "127.0.0.1:1"',
  "admin.metrics_listen": '[admin]\nmetrics_listen = "127.0.0.1:1"',
  "admin.public_url": '[admin]\npublic_url = "https://a.example"',
  "admin.admins": '[admin]\nadmins = ["a"]',
  "admin.viewers": '[admin]\nviewers = ["a"]',
  "admin.members": '[admin]\nmembers = "everyone"',
  "admin.member_keys": '[admin]\nmember_keys = { account = "a" }',
  "admin.user_header": '[server]\ntrusted_proxies = ["10.0.0.1"]\n[admin]\nuser_header = "x"',
  "admin.groups_header": '[server]\ntrusted_proxies = ["10.0.0.1"]\n[admin]\ngroups_header = "x"',
  "admin.oidc": '[admin.oidc]\nissuer = "https://a.example"\nclient_id = "a"\nclient_secret = "env:ADMIN"',
  "tracing.otlp_endpoint": tracing,
  "tracing.headers": tracing,
  "tracing.content": `${tracing}content = true`,
  "alerts.url": alerts,
  "alerts.secret": alerts,
  providers: '[providers.demo]\nkind = "demo"',
  models: '[providers.demo]\nkind = "demo"\n[[models]]\nid = "m"\nprovider = "demo"\nfree = true',
};

function load(text: string): Settings {
  const seal = Buffer.alloc(32, 7).toString("base64");
  const env = { ADMIN: "a-token-that-is-long", ALERT_WEBHOOK_URL: "https://a.example", SEAL: seal };
  return loadFile(text, { env }).settings;
}

function fileBefore(name: string): string {
  if (name.startsWith("content.")) return content;
  if (name === "tracing.content") return tracing;
  return name.startsWith("store.") ? store : "";
}

describe("a reload", () => {
  test("has an entry for every setting", () => {
    expect(Object.keys(onReload).toSorted()).toEqual(allSettings().toSorted());
  });

  test("leaves none out of what the dashboard shows", () => {
    const shown = configInForce(load(store + tracing + alerts)) as Record<string, object>;
    const names = Object.entries(shown).flatMap(([section, value]) =>
      ["providers", "models"].includes(section)
        ? [section]
        : Object.keys(value).map((name) => `${section}.${name.replace(/_ms$/, "")}`),
    );
    expect(allSettings().filter((name) => !names.includes(name))).toEqual([]);
  });

  for (const [name, text] of Object.entries(changed) as [Setting, string][]) {
    const follows = onReload[name] === "follows";
    test(`${follows ? "takes over" : "names, and leaves as it was,"} ${name}`, () => {
      const [first, next] = [load(fileBefore(name)), load(text)];
      // The two files are in two folders, and the data folder is relative to the file or the working folder.
      const from = { ...first, server: { ...first.server, data: "/data" } };
      const data = name === "server.data" ? "/other" : "/data";
      const to = { ...next, server: { ...next.server, data } };
      expect(to).not.toEqual(from);
      const { settings, notInForce } = reloadable(from, to);
      if (follows) expect({ settings, notInForce }).toEqual({ settings: to, notInForce: [] });
      else {
        expect(notInForce).toEqual([`${name} has changed; that takes a restart`]);
        expect(settings.server).toEqual(from.server);
        expect(settings.store).toEqual(from.store);
        expect(settings.warnings).toContain(notInForce[0] ?? "");
      }
    });
  }

  test("keeps an admin token that was taken out, and says so", () => {
    const [before, next] = [load(changed["admin.token"]), load("")];
    const { settings, notInForce } = reloadable(before, next);
    expect(settings.admin.token).toBe("a-token-that-is-long");
    expect(notInForce).toContain("admin.token was taken out; that takes a restart");
  });
});
