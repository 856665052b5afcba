import { describe, expect, test } from "bun:test";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { loadingSettings, loadSettings } from "../../src/config/load.ts";
import { builtInConfig } from "../../src/config/source.ts";
import { newFolder } from "../support/new-folder.ts";
import { demoModel, load } from "./fixtures.ts";

describe("finding the configuration", () => {
  test("without any file the built-in one serves the demo models and warns of nothing", () => {
    const cwd = newFolder();
    const { settings, source } = loadSettings({ env: {}, cwd });
    expect(source.file).toBeNull();
    expect([...settings.providers.keys()]).toEqual(["demo"]);
    expect(settings.models.map((model) => model.id)).toEqual(["demo-small", "demo-large", "demo-text"]);
    expect(settings.models.every((model) => model.price !== null && model.contextWindow !== null)).toBe(true);
    expect(settings.warnings).toEqual([]);
    expect(settings.server.data).toBe(join(cwd, "sluice-data"));
  });

  test("a gateway that serves reads it in several steps, with the same result", () => {
    const options = { env: {}, cwd: newFolder() };
    const loading = loadingSettings(options);
    let steps = 0;
    let step = loading.next();
    for (; step.done !== true; step = loading.next()) steps += 1;
    expect(steps).toBeGreaterThanOrEqual(5);
    expect(step.value).toEqual(loadSettings(options));
  });

  test("./sluice.toml is used when it is there, SLUICE_CONFIG beats it, --config beats both", () => {
    const cwd = newFolder();
    const port = (env: Record<string, string>, file?: string) =>
      loadSettings({ env, cwd, file }).settings.server.port;
    writeFileSync(join(cwd, "sluice.toml"), `[server]\nport = 1\n${demoModel}`);
    writeFileSync(join(cwd, "env.toml"), `[server]\nport = 2\n${demoModel}`);
    writeFileSync(join(cwd, "flag.toml"), `[server]\nport = 3\n${demoModel}`);
    expect(port({})).toBe(1);
    expect(port({ SLUICE_CONFIG: "env.toml" })).toBe(2);
    expect(port({ SLUICE_CONFIG: "env.toml" }, "flag.toml")).toBe(3);
  });

  test("a file that was asked for and is missing is an error that says how to get one", () => {
    expect(() => loadSettings({ env: {}, file: "/nowhere/sluice.toml" })).toThrow(/sluice config init/);
  });
});

describe("precedence", () => {
  const file = `[server]\nhost = "file"\nport = 1\ndata = "from-file"\n[log]\nlevel = "warn"\n${demoModel}`;
  const env = { SLUICE_HOST: "env", SLUICE_PORT: "2", SLUICE_DATA: "/env", SLUICE_LOG_LEVEL: "debug" };

  test("the environment beats the file", () => {
    const { settings } = load(file, { env });
    expect(settings.server).toMatchObject({ host: "env", port: 2, data: "/env" });
    expect(settings.log.level).toBe("debug");
  });

  test("a flag beats the environment", () => {
    const { settings } = load(file, { env, flags: { host: "flag", port: 0, data: "/flag" } });
    expect(settings.server).toMatchObject({ host: "flag", port: 0, data: "/flag" });
  });

  test("a relative data folder of the file starts at the file", () => {
    const { settings, source } = load(file);
    expect(settings.server.data).toBe(join(source.folder, "from-file"));
  });

  test("a ~ is the home folder, in the file and in the environment, where no shell replaces it", () => {
    const home = newFolder();
    writeFileSync(join(home, "key"), "sk-at-home\n");
    writeFileSync(join(home, "my.toml"), `[server]\nport = 7\n${demoModel}`);
    const toml = `[server]\ndata = "~/data"\n[providers.p]\nkind = "openai"\napi_key = "file:~/key"\n${demoModel}`;
    const { settings } = load(toml, { env: { HOME: home } });
    expect(settings.server.data).toBe(join(home, "data"));
    expect(settings.providers.get("p")?.apiKeys).toEqual(["sk-at-home"]);
    const env = { HOME: home, SLUICE_CONFIG: "~/my.toml", SLUICE_DATA: "~" };
    expect(loadSettings({ env }).settings.server).toMatchObject({ port: 7, data: home });
    expect(load(toml.replace("~/data", "~data"), { env: { HOME: home } }).settings.server.data).toEndWith(
      "/~data",
    );
  });

  test("SLUICE_ADMIN_TOKEN beats the file's token", () => {
    const text = `[admin]\ntoken = "env:OTHER"\n${demoModel}`;
    expect(load(text, { env: { OTHER: "the-token-of-the-file" } }).settings.admin.token).toBe(
      "the-token-of-the-file",
    );
    expect(
      load(text, { env: { OTHER: "the-token-of-the-file", SLUICE_ADMIN_TOKEN: "the-environments-token" } })
        .settings.admin.token,
    ).toBe("the-environments-token");
  });
});

describe("defaults", () => {
  test("each kind has the vendor's address, dialects and name for the output limit", () => {
    const { settings } = load(
      `[providers.openai]\nkind = "openai"\napi_key = "env:KEY"
       [providers.anthropic]\nkind = "anthropic"\napi_key = "env:KEY"
       [providers.local]\nkind = "openai-compatible"\nbase_url = "http://127.0.0.1:11434/v1/"
       [providers.demo]\nkind = "demo"`,
      { env: { KEY: "k" } },
    );
    const brief = [...settings.providers.values()].map(({ name, baseUrl, dialects, maxTokensField }) => ({
      name,
      baseUrl,
      dialects: dialects.join(" "),
      maxTokensField,
    }));
    expect(brief).toEqual([
      {
        name: "openai",
        baseUrl: "https://api.openai.com/v1",
        dialects: "chat responses",
        maxTokensField: "max_completion_tokens",
      },
      {
        name: "anthropic",
        baseUrl: "https://api.anthropic.com",
        dialects: "messages",
        maxTokensField: "max_tokens",
      },
      { name: "local", baseUrl: "http://127.0.0.1:11434/v1", dialects: "chat", maxTokensField: "max_tokens" },
      { name: "demo", baseUrl: "", dialects: "chat", maxTokensField: "max_tokens" },
    ]);
    expect(settings.providers.get("anthropic")?.countTokens).toBe(true);
  });

  test("prices become whole pico-USD; what is read from or written to a cache costs as input by default", () => {
    const { settings } = load(
      `[providers.demo]\nkind = "demo"\n[[models]]\nid = "m"\nprovider = "demo"\nprice = { input = 0.0375, output = 10 }`,
    );
    expect(settings.models[0]?.price).toEqual({
      input: 37_500,
      output: 10_000_000,
      cached_input: 37_500,
      cache_write: 37_500,
    });
  });

  test("a model's timeouts take precedence over its provider's, and those over the defaults", () => {
    const { settings } = load(
      `[providers.demo]\nkind = "demo"\ntimeouts = { connect = 1.5, idle = 7 }
       [[models]]\nid = "m"\nprovider = "demo"\nfree = true\ntimeouts = { idle = 9 }`,
    );
    expect(settings.models[0]?.deployments[0]?.timeouts).toEqual({
      connectMs: 1_500,
      firstByteMs: 0,
      streamFirstByteMs: 120_000,
      idleMs: 9_000,
      totalMs: 0,
    });
  });

  test.each([
    ["http://127.0.0.1:11434/v1", 0],
    ["http://gpu-1:8000/v1", 0],
    ["http://192.168.1.20:8080/v1", 0],
    ["https://api.example.com/v1", 120_000],
  ])("a stream from %s may begin after %i ms; 0 for any time", (baseUrl, streamFirstByteMs) => {
    const model = `[[models]]\nid = "m"\nprovider = "p"\nfree = true`;
    const timeouts = (more: string) =>
      load(`[providers.p]\nkind = "openai-compatible"\nbase_url = "${baseUrl}"\n${more}\n${model}`).settings
        .models[0]?.deployments[0]?.timeouts;
    expect(timeouts("")).toMatchObject({ streamFirstByteMs, idleMs: 120_000 });
    expect(timeouts("timeouts = { stream_first_byte = 9 }")).toMatchObject({ streamFirstByteMs: 9_000 });
  });

  test("a model without deployments has one; with several each has its own upstream name, order and price", () => {
    const { settings } = load(
      `[providers.demo]\nkind = "demo"
       [[models]]\nid = "one"\nprovider = "demo"\nupstream_model = "up"\nprice = { input = 1, output = 2 }
       [[models]]\nid = "two"\nprice = { input = 1, output = 2 }
       [[models.deployments]]\nprovider = "demo"\nupstream_model = "a"\npriority = 2\nweight = 3
       [[models.deployments]]\nprovider = "demo"\nprice = { input = 5, output = 6 }`,
    );
    const deployments = settings.models.map((model) =>
      model.deployments.map(({ upstreamModel, priority, weight, price }) => [
        upstreamModel,
        priority,
        weight,
        price?.input,
      ]),
    );
    expect(deployments).toEqual([
      [["up", 1, 1, 1_000_000]],
      [
        ["a", 2, 3, 1_000_000],
        ["two", 1, 1, 5_000_000],
      ],
    ]);
  });

  test("usd_per_credit is kept in whole millionths", () => {
    expect(load(`[money]\nusd_per_credit = 0.000001\n${demoModel}`).settings.microUsdPerCredit).toBe(1);
    expect(load(demoModel).settings.microUsdPerCredit).toBe(1_000_000);
  });
});

test("what the built-in configuration shows in comments loads when it is uncommented", () => {
  const env = {
    OPENAI_API_KEY: "a",
    ANTHROPIC_API_KEY: "b",
    ALERT_WEBHOOK_URL: "https://a.example",
    ALERT_WEBHOOK_SECRET: "c",
    FEED_URL: "https://billing.example.com",
    FEED_SECRET: "d",
  };
  const uncommented = builtInConfig.replaceAll(/^# (?=[[a-z_]+ ?[\].=]|\[)/gm, "");
  const { settings } = load(uncommented, { env });
  expect([...settings.providers.keys()]).toEqual(["demo", "openai", "anthropic", "local"]);
  expect(settings.models.find((model) => model.id === "house-model")?.deployments).toHaveLength(2);
  expect(settings.warnings).toEqual([]);
});
