import { describe, expect, test } from "bun:test";
import { vendorKinds } from "../../src/vendors/registry.ts";
import { demoModel, load, problemsOf } from "./fixtures.ts";

const kinds = vendorKinds.map((kind) => JSON.stringify(kind)).join(", ");

describe("all problems are reported at once", () => {
  test("problems of shape, of reference and of the environment are in one list, each with its path", () => {
    const toml = `
      usd_per_credit = 2
      [server]
      prot = 1
      port = 99999
      trusted_proxies = ["10.0.0.0/8", "nope"]
      [providers.openai]
      kin = "openai"
      [providers.local]
      kind = "openai-compatible"
      [[models]]
      id = "a"
      provider = "opnai"
      price = { input = 0.0000001, output = "1" }
      [[models]]
      id = "a"
      provider = "openai"
      fallbacks = ["missing-model", "a"]
      [[models]]
      id = "c"`;
    expect(problemsOf(toml, { env: { SLUICE_PORT: "x" } }).sort()).toEqual([
      'SLUICE_PORT: must be a whole number from 0 to 65535, not "x"',
      "models[0].price.input: must have six decimals at most; prices are per million tokens, or per 1,000 calls",
      "models[0].price.output: must be a number from 0 to 1000000, not a string",
      'models[0].provider: [providers.opnai] does not exist, did you mean "openai"?',
      'models[1].fallbacks[0]: model "missing-model" does not exist',
      "models[1].fallbacks[1]: a model cannot be its own fallback",
      "models[1].id: is already the id of the model at line 11",
      "models[2].provider: missing; a model needs a provider, or [[models.deployments]]",
      'providers.local.base_url: missing; kind "openai-compatible" needs the address, such as "http://127.0.0.1:11434/v1"',
      'providers.openai.kin: unknown name, did you mean "kind"?',
      `providers.openai.kind: missing; it must be one of ${kinds}`,
      "server.port: must be a whole number from 0 to 65535, not 99999",
      'server.prot: unknown name, did you mean "port"?',
      'server.trusted_proxies[1]: must be an IP address or a range such as "10.0.0.0/8"',
      "usd_per_credit: unknown name; it belongs under [money]",
    ]);
  });

  test("two listeners at one address are told apart before one of them fails", () => {
    const toml = (admin: string) => `[server]\nport = 8787\n[admin]\n${admin}\n${demoModel}`;
    expect(problemsOf(toml('listen = "127.0.0.1:8787"'))).toEqual([
      "admin.listen: server.port is the same one; choose another",
    ]);
    expect(problemsOf(toml('metrics_listen = "0.0.0.0:8787"'))).toEqual([
      "admin.metrics_listen: server.port is the same one; choose another",
    ]);
    expect(problemsOf(toml('listen = "[::1]:9000"\nmetrics_listen = "[::1]:9000"'))).toEqual([
      "admin.metrics_listen: admin.listen is the same one; choose another",
    ]);
    const apart = toml('listen = "127.0.0.2:8787"\nmetrics_listen = "127.0.0.1:0"');
    expect(load(apart, { flags: { port: 0 } }).settings.admin.listen).toBe("127.0.0.2:8787");
  });

  test("a capability is one that Sluice knows", () => {
    const toml = `${demoModel}capabilities = { tool = true, tools = true, fluency = true }`;
    expect(problemsOf(toml)).toEqual([
      'models[0].capabilities.tool: unknown name, did you mean "tools"?',
      expect.stringMatching(/^models\[0\]\.capabilities\.fluency: unknown name/),
    ]);
  });

  test("an empty secret is called empty", () => {
    const toml = `[providers.p]\nkind = "openai"\napi_key = ""\n${demoModel}`;
    expect(problemsOf(toml)).toContain(
      "providers.p.api_key: must be a non-empty string or a list with at least one element, not an empty one",
    );
  });

  test("a name leads to one model: aliases are neither ids nor other aliases", () => {
    const model = (id: string, aliases: string) =>
      `[[models]]\nid = "${id}"\nprovider = "demo"\nfree = true\naliases = ${aliases}\n`;
    const provider = '[providers.demo]\nkind = "demo"\n';
    expect(
      problemsOf(
        provider + model("a", '["b", "x", "a", "x"]') + model("b", '["x", ""]') + model("c", '["y", 3]'),
      ).sort(),
    ).toEqual([
      'models[0].aliases[0]: "b" is already a model\'s id; choose another alias',
      'models[0].aliases[2]: "a" is already a model\'s id; choose another alias',
      'models[0].aliases[3]: "x" is already an alias: model "a", aliases[1] (line 7)',
      'models[1].aliases[0]: "x" is already an alias: model "a", aliases[1] (line 7)',
      "models[1].aliases[1]: must be a non-empty string",
      "models[2].aliases[1]: must be a non-empty string, not 3",
    ]);
  });

  test("origins of pages are written as browsers send them", () => {
    const origins = (list: string) => problemsOf(`[server]\ncors_origins = ${list}`);
    const good = ["https://a.example", "http://localhost:3000", "app://obsidian.md", "*"];
    const { server } = load(`[server]\ncors_origins = ${JSON.stringify(good)}`).settings;
    expect(server.corsOrigins).toEqual(good);
    const form = 'must be an origin such as "https://chat.example.com", without a path, or "*"';
    expect(origins('["https://A.example/", "a.example", "null", "https://*.example", ""]')).toEqual([
      `server.cors_origins[0]: ${form}; did you mean "https://a.example"?`,
      ...[1, 2, 3, 4].map((index) => `server.cors_origins[${index}]: ${form}`),
    ]);
  });

  test("sections of the wrong kind are problems, never a crash", () => {
    expect(
      problemsOf("models = 3\nproviders = 4\nserver = 1\ntracing = 2\nlog = 1\nadmin = 1\nmoney = 1"),
    ).toHaveLength(7);
    expect(problemsOf('models = [1, "two"]')[0]).toBe("models[0]: must be a table, not 1");
    expect(problemsOf('[providers]\nopenai = "yes"')).toEqual([
      "providers.openai: must be a table, not a string",
    ]);
    expect(problemsOf(`${demoModel}deployments = 3`)[0]).toStartWith("models[0].deployments: must be a list");
  });

  test("a syntax error names its line, also after a list of several lines", () => {
    expect(problemsOf("[server]\ntrusted_proxies = [\n  1,\n]\nport = = 3\n")).toEqual([
      "line 5: Expected a value but found '='",
    ]);
    expect(problemsOf("[server]\nport = 1\nport = 2\nhost = 3")[0]).toStartWith("line 3: ");
  });
});

describe("single rules", () => {
  const cases: readonly (readonly [string, string, string])[] = [
    [
      "a provider beside deployments",
      `${demoModel}deployments = [{ provider = "demo" }]`,
      "models[0].provider: cannot be combined with deployments; keep one of the two",
    ],
    [
      "an empty list of deployments",
      `[[models]]\nid = "m"\ndeployments = []`,
      "models[0].deployments: must be a list with at least one element, not an empty one",
    ],
    [
      "a table in place of a list of tables",
      `[providers.demo]\nkind = "demo"\n[[models]]\nid = "m"\n[models.deployments]\nprovider = "demo"`,
      "models[0].deployments: must be a list with at least one element, not a table; use [[models.deployments]]",
    ],
    [
      "a name that is cut short",
      `${demoModel}alias = ["n"]`,
      'models[0].alias: unknown name, did you mean "aliases"?',
    ],
    [
      "a cap in words",
      `${demoModel}[admin.member_keys]\naccount = "crowd"\ncap = "5 a day"`,
      'admin.member_keys.cap: must be a cap such as "5/day" or "20/week:claude-opus-*"',
    ],
    [
      "a choice that is misspelt",
      '[providers.x]\nkind = "openia"',
      `providers.x.kind: must be one of ${kinds}, not "openia", did you mean "openai"?`,
    ],
    [
      "a provider's name in capitals",
      '[providers.OpenAI]\nkind = "demo"',
      "providers.OpenAI: a provider's name has lower case letters, digits, - and _ only, and starts with a letter or digit",
    ],
    [
      "a provider in capitals of a kind that is misspelt",
      '[providers.OpenAI]\nkind = "openia"\nbase_url = 1',
      "providers.OpenAI: a provider's name has lower case letters, digits, - and _ only, and starts with a letter or digit",
    ],
    ["a name that every object has", "[server]\nconstructor = 1", "server.constructor: unknown name"],
    [
      "a provider that is called like every provider",
      '[providers.all]\nkind = "demo"',
      'providers.all: another name is needed: a key\'s scope "all" means every provider',
    ],
    [
      "a header of end users that is none",
      '[server]\nuser_headers = ["x user"]',
      'server.user_headers[0]: must be the name of a header, such as "x-openwebui-user-email"',
    ],
    [
      "a header of end users that has a secret",
      '[server]\nuser_headers = ["Authorization"]',
      "server.user_headers[0]: holds a secret, which must not be a label",
    ],
    [
      "an address without a scheme",
      '[providers.x]\nkind = "openai"\nbase_url = "localhost:1"',
      "providers.x.base_url: must be a URL that starts with http:// or https://",
    ],
    [
      "an address with a password",
      '[providers.x]\nkind = "openai"\nbase_url = "https://me:pw@host/v1"',
      "providers.x.base_url: must not carry a user name or a password; use api_key or headers",
    ],
    [
      "a price of a tool that does not exist",
      '[providers.x]\nkind = "demo"\n[[models]]\nid = "m"\nprovider = "x"\nprice = { input = 1, output = 1, web_serch = 10 }',
      'models[0].price.web_serch: unknown name, did you mean "web_search"?',
    ],
    [
      "a negative price of a tool",
      '[providers.x]\nkind = "demo"\n[[models]]\nid = "m"\nprovider = "x"\nprice = { input = 1, output = 1, web_search = -1 }',
      "models[0].price.web_search: must be a number from 0 to 1000000, not -1",
    ],
    [
      "a tier that is the usual one",
      '[providers.x]\nkind = "demo"\n[[models]]\nid = "m"\nprovider = "x"\nprice = { input = 1, output = 1, tiers = { default = { input = 1, output = 1 } } }',
      "models[0].price.tiers.default: is the default tier, priced by the model itself; remove it",
    ],
    [
      "a tier of batches without its price",
      '[providers.x]\nkind = "demo"\n[[models]]\nid = "m"\nprovider = "x"\nbatch_tier = "flex"\nprice = { input = 1, output = 1 }',
      "models[0].batch_tier: needs price.tiers.flex, which lines are charged by; add it",
    ],
    [
      "a tier of batches that the provider does not have",
      '[providers.x]\nkind = "anthropic"\nbase_url = "http://127.0.0.1:1"\n[[models]]\nid = "m"\nprovider = "x"\nbatch_tier = "flex"\nprice = { input = 1, output = 1, tiers = { flex = { input = 1, output = 1 } } }',
      'models[0].batch_tier: provider "x" does not have this tier; remove it',
    ],
    [
      "a provider's own batches without their price",
      '[providers.x]\nkind = "anthropic"\nbase_url = "http://127.0.0.1:1"\n[[models]]\nid = "m"\nprovider = "x"\nbatch = "native"\nprice = { input = 1, output = 1 }',
      "models[0].batch: needs price.tiers.batch, which lines are charged by; add it",
    ],
    [
      "batches of a provider that Sluice cannot use",
      '[providers.x]\nkind = "demo"\n[[models]]\nid = "m"\nprovider = "x"\nbatch = "native"\nprice = { input = 1, output = 1, tiers = { batch = { input = 1, output = 1 } } }',
      'models[0].batch: cannot be "native": Sluice uses the batches of providers of kind "anthropic" only',
    ],
    [
      "a tier's price that is too fine",
      '[providers.x]\nkind = "demo"\n[[models]]\nid = "m"\nprovider = "x"\nprice = { input = 1, output = 1, tiers = { flex = { input = 0.0000001, output = 1 } } }',
      "models[0].price.tiers.flex.input: must have six decimals at most; prices are per million tokens, or per 1,000 calls",
    ],
    [
      "a tier without a price of output",
      '[providers.x]\nkind = "demo"\n[[models]]\nid = "m"\nprovider = "x"\nprice = { input = 1, output = 1, tiers = { flex = { input = 1 } } }',
      "models[0].price.tiers.flex.output: missing; it must be a number from 0 to 1000000",
    ],
    [
      "a fraction of a credit that is too fine",
      "[money]\nusd_per_credit = 0.0000001",
      "money.usd_per_credit: must have six decimals at most",
    ],
    [
      "a credit worth nothing",
      "[money]\nusd_per_credit = 0",
      "money.usd_per_credit: must be a number above 0, not 0",
    ],
    [
      "an address of the admin side without a port",
      '[admin]\nlisten = "127.0.0.1"',
      'admin.listen: must be host:port, such as "127.0.0.1:8788"',
    ],
    [
      "a metrics address without a port",
      '[admin]\nmetrics_listen = "localhost"',
      'admin.metrics_listen: must be host:port, such as "127.0.0.1:9464"',
    ],
    [
      "memory for less than one body",
      "[server]\nmax_body_bytes = 4096\nmax_body_memory = 4095",
      "server.max_body_memory: must hold at least one body, so 4096 or more",
    ],
    [
      "a date where a number belongs",
      `${demoModel}created = 2026-01-01`,
      "models[0].created: must be a whole number of at least 0, not a date",
    ],
    [
      "a context window of nothing",
      `${demoModel}context_window = 0`,
      "models[0].context_window: must be a whole number from 1 to 1000000000, not 0",
    ],
  ];

  test.each(cases)("%s", (_name, toml, problem) => {
    expect(problemsOf(toml)).toEqual([problem]);
  });

  test("an admin token that could be guessed", () => {
    const toml = `[admin]\ntoken = "env:TOKEN"\n${demoModel}`;
    const advice = "must have at least 16 characters, so that it cannot be guessed";
    expect(problemsOf(toml, { env: { TOKEN: "fifteen-letters" } })).toEqual([`admin.token: ${advice}`]);
    expect(problemsOf(demoModel, { env: { SLUICE_ADMIN_TOKEN: "short" } })).toEqual([
      `SLUICE_ADMIN_TOKEN: ${advice}`,
    ]);
  });

  test("an unknown log level in the environment", () => {
    expect(problemsOf(demoModel, { env: { SLUICE_LOG_LEVEL: "warm" } })).toEqual([
      'SLUICE_LOG_LEVEL: must be one of trace, debug, info, warn, error, fatal, silent, did you mean "warn"?',
    ]);
  });
});

test("what one system alone can do is refused on the others, in words", () => {
  const { platform } = process;
  const toml = `${demoModel}\n[server]\nreuse_port = true`;
  expect(load(toml).settings.server.reusePort).toBe(true);
  try {
    Object.defineProperty(process, "platform", { value: "win32" });
    expect(problemsOf(toml)).toEqual([
      "server.reuse_port: works only on Linux; use a separate port for each process",
    ]);
  } finally {
    Object.defineProperty(process, "platform", { value: platform });
  }
});
