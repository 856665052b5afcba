import { expect, test } from "bun:test";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { examineSettings } from "../../src/config/load.ts";
import { newFolder } from "../support/new-folder.ts";
import { problemsOf } from "./fixtures.ts";

test("one wrong field hides no other of its section, of whichever kind", () => {
  const toml = `
    [server]
    port = "x"
    host = "not a host"
    trusted_proxies = ["nope"]
    max_body_bytes = 2048
    max_body_memory = 1024
    [log]
    level = "loud"
    [admin]
    token = 5
    listen = "nowhere"
    [store]
    prepare = "yes"
    url = "mysql://x"
    [providers.a]
    kind = "openai"
    api_key = "sk-in-the-file"
    base_url = "https://user@host/v1"
    timeouts = { idle = "soon" }
    stream_usage = 1
    [providers.b]
    kind = "bedrock"
    api_key = 5
    [[models]]
    id = "m"
    provider = "a"
    dialect = "gemini"
    free = 1`;
  const paths = problemsOf(toml).map((problem) => problem.slice(0, problem.indexOf(":")));
  expect(paths.sort()).toEqual([
    "admin.listen",
    "admin.token",
    "log.level",
    "models[0].free",
    "providers.a.api_key",
    "providers.a.base_url",
    "providers.a.stream_usage",
    "providers.a.timeouts.idle",
    "providers.b.api_key",
    "providers.b.region",
    "server.host",
    "server.max_body_memory",
    "server.port",
    "server.trusted_proxies[0]",
    "store.prepare",
    "store.url",
  ]);
});

test("what is warned of is told together with what is wrong", () => {
  const file = join(newFolder(), "sluice.toml");
  writeFileSync(
    file,
    `[server]
prot = 1
[providers.demo]
kind = "demo"
[providers.openai]
kind = "openai"
api_key = "env:NOT_SET"
[[models]]
id = "unpriced"
provider = "demo"
[[models]]
id = "wrong"
provider = "nobody"
[[models]]
id = "gpt"
provider = "openai"
free = true
`,
  );
  const { problems, settings } = examineSettings({ file, env: {} });
  expect(problems.map(({ where }) => where)).toEqual([
    "server.prot (line 2)",
    'model "wrong", provider (line 13)',
  ]);
  expect(settings.warnings).toEqual([
    'provider "openai" is skipped: NOT_SET is not set; not listed: gpt',
    'model "unpriced" (line 8) has no price, so credit keys cannot use it; set a price or free = true',
  ]);
});
