import { describe, expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { Glob } from "bun";
import type { JsonObject } from "../../src/base/json.ts";
import { configDifferences } from "../../src/config/differences.ts";
import { examineSettings } from "../../src/config/load.ts";
import { reloadable } from "../../src/config/reload.ts";
import type { Settings } from "../../src/config/settings.ts";
import { writtenWithoutSecrets } from "../../src/config/written.ts";

const parsed = (text: string) => Bun.TOML.parse(text) as JsonObject;
const folder = new URL("../../config", import.meta.url).pathname;

describe("the configuration as it is written", () => {
  for (const file of new Glob("*.toml").scanSync(folder)) {
    test(`${file} says the same when it is written again`, () => {
      const document = parsed(readFileSync(join(folder, file), "utf8"));
      expect(parsed(Bun.TOML.stringify(document))).toEqual(document);
    });
  }

  test("names that are not bare, texts of several lines and lists of tables are written as TOML reads them", () => {
    const document = parsed(
      '[admin]\nadmins = ["a@b", "group:c"]\n[admin.oidc]\nissuer = "x"\n[providers."odd name"]\nkind = "demo"\n' +
        '[[models]]\nid = "a \\"b\\"\\n\\u007F"\nprice = { input = 0.000001, tiers = { priority = { input = 2 } } }\n' +
        '[[models.deployments]]\nweight = 1\n[[models.deployments]]\nweight = 2\n[[models]]\nid = "c"\nfree = true',
    );
    expect(parsed(Bun.TOML.stringify(document))).toEqual(document);
  });

  test("keeps references, and masks whatever may be a secret", () => {
    const written = writtenWithoutSecrets(
      parsed(`
[store]
url = "postgres://ada:canary-1@db:5432/sluice?sslmode=require&password=canary-2"
[providers.a]
api_key = "env:OPENAI_API_KEY"
base_url = "https://canary-3:canary-4@host/v1?key=canary-5"
headers = { x-team = "canary-6", authorization = "env:AUTH" }
[tracing]
otlp_endpoint = "http://127.0.0.1:4318?token=canary-7"
`),
    );
    const text = Bun.TOML.stringify(written);
    expect(text).not.toContain("canary");
    expect(written).toEqual({
      store: { url: "postgres://ada@db:5432/sluice?sslmode=require ********" },
      providers: {
        a: {
          api_key: "env:OPENAI_API_KEY",
          base_url: "https://host/v1 ********",
          headers: { "x-team": "********", authorization: "env:AUTH" },
        },
      },
      tracing: { otlp_endpoint: "http://127.0.0.1:4318/ ********" },
    });
  });
});

const before = `
[server]
port = 1
max_concurrent = 5
[providers.a]
kind = "demo"
[providers.gone]
kind = "demo"
[[models]]
id = "m"
provider = "a"
price = { input = 1.0, output = 2.0 }
[[models]]
id = "old"
provider = "gone"
free = true
`;
const after = `
[server]
port = 2
[providers.a]
kind = "demo"
max_concurrent = 3
[[models]]
id = "new"
provider = "a"
free = true
[[models]]
id = "m"
provider = "a"
price = { input = 1.5, output = 2.0 }
aliases = ["n"]
[alerts]
url = "env:ALERT_WEBHOOK_URL"
`;

describe("the differences", () => {
  test("name each model, price, provider and limit that is added, changed or removed, and what takes a restart", () => {
    const found = configDifferences(parsed(before), parsed(after));
    expect(found.map((each) => [each.change, each.where, each.before, each.after])).toEqual([
      ["changed", "server.port", "1", "2"],
      ["removed", "server.max_concurrent", "5", null],
      ["added", 'provider "a", max_concurrent', null, "3"],
      ["removed", 'provider "gone"', '{ kind = "demo" }', null],
      ["added", 'model "new"', null, '{ id = "new", provider = "a", free = true }'],
      ["changed", 'model "m", price.input', "1", "1.5"],
      ["added", 'model "m", aliases', null, '["n"]'],
      ["removed", 'model "old"', '{ id = "old", provider = "gone", free = true }', null],
      ["added", "alerts.url", null, '"env:ALERT_WEBHOOK_URL"'],
    ]);
    expect(found.filter((each) => each.needs_restart).map(({ where }) => where)).toEqual(["server.port"]);
  });

  test("name what is called like something that every object has", () => {
    const [none, one] = [parsed("[providers.a]"), parsed("[providers.a]\n[providers.constructor]")];
    const changes = [configDifferences(none, one), configDifferences(one, none)].flat();
    expect(changes.map(({ change, where }) => [change, where])).toEqual([
      ["added", 'provider "constructor"'],
      ["removed", 'provider "constructor"'],
    ]);
  });

  test("show nothing that depends on what is masked, so that no weak secret can be guessed from it", () => {
    const written = (secret: string) =>
      writtenWithoutSecrets(
        parsed(`
[store]
url = "postgres://ada:${secret}@db:5432/sluice"
[providers.a]
base_url = "https://host/v1?key=${secret}"
headers = { x-team = "${secret}" }
[tracing]
headers = { x-list = ["${secret}"] }
`),
      );
    expect(written("4711")).toEqual(written("4712"));
    expect(configDifferences(written("4711"), written("4712"))).toEqual([]);
  });

  test("are those that take a restart once the rest was reloaded, and none with the same file", () => {
    const [current, next] = [settingsOf(before), settingsOf(after)];
    const { settings } = reloadable(current, next);
    expect(configDifferences(settings.written, next.written).map(({ where }) => where)).toEqual([
      "server.port",
    ]);
    expect(configDifferences(next.written, next.written)).toEqual([]);
    expect(reloadable(next, next).settings.written).toEqual(next.written);
  });
});

function settingsOf(text: string): Settings {
  const file = join(import.meta.dir, "../../config/sluice.toml");
  const { settings } = examineSettings({ file, env: {} });
  return { ...settings, written: parsed(text) };
}
