import { expect, test } from "bun:test";
import { TokenCounter } from "../../src/catalog/tokens/counter.ts";
import { startWithKeys } from "../../src/cli/serve/start.ts";
import { plain } from "../../src/cli/terminal/style.ts";
import type { Terminal } from "../../src/cli/terminal/terminal.ts";
import { loadSettings } from "../../src/config/load.ts";
import { temporaryFolder } from "../store/fixtures.ts";
import { waitFor } from "../support/wait.ts";

test("the first count loads the tokenizer, which takes 40 MB, and not the start", async () => {
  using folder = temporaryFolder();
  const flags = { port: 0, data: folder.dir };
  const env = { SLUICE_LOG_LEVEL: "silent" };
  const { settings } = loadSettings({ env, cwd: folder.dir, flags });
  const quiet: Terminal = {
    env,
    cwd: folder.dir,
    print: () => {},
    note: () => {},
    write: async () => {},
    style: plain,
    noteStyle: plain,
    columns: null,
    noteColumns: null,
    interactive: false,
    ask: async () => "",
    askSecret: async () => "",
  };
  const running = await startWithKeys({ settings }, true, quiet);
  try {
    const { tokens } = running.gateway;
    expect(tokens instanceof TokenCounter && tokens.running).toBe(false);
    const count = () => tokens.of("key").text(["Hello there"]);
    await waitFor(async () => (await count()) === 2, "an exact count", 20_000);
    expect(tokens.isLoaded).toBe(true);
  } finally {
    await running.stop();
  }
}, 30_000);
