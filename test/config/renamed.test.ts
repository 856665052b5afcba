import { expect, test } from "bun:test";
import { newPlace, sluice } from "../cli/fixtures.ts";
import { problemsOf } from "./fixtures.ts";

const provider = '[providers.demo]\nkind = "demo"\n';
const model = `${provider}[[models]]\nid = "m"\nprovider = "demo"\nfree = true\n`;

test.each([
  ['[server]\nmax_exchange = "5m"', "server.max_exchange: was renamed to request_timeout"],
  ["[server]\nstalled_reader = 60", "server.stalled_reader: was renamed to client_idle_timeout"],
  [`${provider}timeouts = { gap = 1 }`, "providers.demo.timeouts.gap: was renamed to idle"],
  [`${model}timeouts = { exchange = 1 }`, "models[0].timeouts.exchange: was renamed to request"],
  ["[websocket]\nmax_minutes = 60", 'websocket.max_minutes: was renamed to max_duration, such as "60m"'],
])("a setting with an old name says what it is called now: %s", (toml, problem) => {
  expect(problemsOf(toml)).toContain(problem);
});

test.each([
  [["exchanges", "list"], "`sluice exchanges` was renamed to `sluice requests`"],
  [["exchanges", "--help"], "`sluice exchanges` was renamed to `sluice requests`"],
])("a command or an option with an old name says what it is called now: %j", async (words, problem) => {
  const { code, stderr } = await sluice(newPlace(), ...words);
  expect(stderr).toContain(problem);
  expect(code).toBe(2);
});
