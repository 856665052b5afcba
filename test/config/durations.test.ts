import { describe, expect, test } from "bun:test";
import { durationText } from "../../src/config/duration.ts";
import { configSchema } from "../../src/config/schema.ts";
import { demoModel, load, problemsOf, warningsOf } from "./fixtures.ts";

const server = (line: string) => `[server]\n${line}\n${demoModel}`;
const written = 'a number of seconds, or a duration such as "90s", "5m" or "1h"';

describe("a duration", () => {
  test.each([
    ["90", 90_000],
    ["0.3", 300],
    ['"300ms"', 300],
    ['"90s"', 90_000],
    ['"1.5m"', 90_000],
    ['"1h"', 3_600_000],
    ['"1d"', 86_400_000],
    ['"0s"', 0],
  ])("%s is a number of seconds, or has a unit", (text, ms) => {
    const { settings } = load(
      `${server(`heartbeat = ${text}\nclient_idle_timeout = ${text}`)}timeouts = { connect = ${text}, idle = ${text} }`,
    );
    expect([settings.server.heartbeatMs, settings.server.clientIdleTimeoutMs]).toEqual([ms, ms]);
    expect(settings.models[0]?.deployments[0]?.timeouts).toMatchObject({ connectMs: ms, idleMs: ms });
  });

  test.each([
    '"90"',
    '"5 m"',
    '"m"',
    '"-5m"',
    '"1h30m"',
    '"5M"',
    '""',
    '"25h"',
    "86401",
    "-1",
    "true",
    "nan",
    "inf",
  ])("%s is refused, with what is expected", (text) => {
    const [problem, ...others] = problemsOf(server(`heartbeat = ${text}`));
    expect(problem).toStartWith(`server.heartbeat: must be ${written}, from 0s to 1d`);
    expect(others).toEqual([]);
  });

  test("is written in the largest unit of which it is a whole number", () => {
    expect([90_000, 300_000, 3_600_000, 86_400_000, 1500, 0].map(durationText)).toEqual([
      "90s",
      "5m",
      "1h",
      "1d",
      "1500ms",
      "0s",
    ]);
  });

  test("is in the schema for editors as what it may be, and with its default", () => {
    const { request_timeout: limit } = JSON.parse(JSON.stringify(configSchema)).properties.server.properties;
    expect(limit).toEqual({
      description: expect.any(String),
      default: "5m",
      anyOf: [
        { type: "number", exclusiveMinimum: 0, maximum: 3600 },
        { type: "string", pattern: expect.any(String) },
      ],
    });
  });
});

describe("server.request_timeout", () => {
  const limits = (toml: string) => {
    const { settings } = load(toml);
    return [settings.server.requestTimeoutMs, settings.models[0]?.requestTimeoutMs];
  };

  test("is five minutes unless it is said, and a model may have its own", () => {
    expect(limits(demoModel)).toEqual([300_000, 300_000]);
    expect(limits(server('request_timeout = "1h"'))).toEqual([3_600_000, 3_600_000]);
    const own = `${server("request_timeout = 600")}timeouts = { request = "20m" }`;
    expect(limits(own)).toEqual([600_000, 1_200_000]);
  });

  test.each(['"0s"', "0", "0.0001", '"61m"', "3601", '"2h"'])("%s is refused, of a model too", (text) => {
    const toml = `${server(`request_timeout = ${text}`)}timeouts = { request = ${text} }`;
    const expected = `must be ${written}, above 0s to 1h`;
    const problems = problemsOf(toml);
    expect(problems).toHaveLength(2);
    for (const problem of problems) expect(problem).toContain(expected);
  });

  test("is no limit of a provider", () => {
    const toml = '[providers.demo]\nkind = "demo"\ntimeouts = { request = "1m" }\n';
    expect(problemsOf(toml)).toEqual(["providers.demo.timeouts.request: unknown name"]);
  });
});

describe("of two limits the smaller holds, and the other is warned of", () => {
  const toml = (serverLine: string, total: string, model = "") =>
    `[server]\n${serverLine}\n[providers.demo]\nkind = "demo"\n${total}
     [[models]]\nid = "m"\nprovider = "demo"\nfree = true\n${model}
     [[models]]\nid = "n"\nprovider = "demo"\nfree = true\n`;

  test("once, where a provider ends calls before the exchange would", () => {
    expect(warningsOf(toml('request_timeout = "10m"', 'timeouts = { total = "5m" }'))).toEqual([
      "providers.demo.timeouts.total is 5m, so calls end before server.request_timeout, 10m",
    ]);
  });

  test("where a provider's limit is above that of the exchange", () => {
    expect(warningsOf(toml("", "timeouts = { total = 600 }"))).toEqual([
      "providers.demo.timeouts.total is 10m, and has no effect beyond server.request_timeout, 5m",
    ]);
  });

  test("by the model, where it is the model's", () => {
    const own = 'timeouts = { request = "10m", total = "7m" }';
    expect(warningsOf(toml("", "", own))).toEqual([
      'model "m", timeouts.total is 7m, so calls end before model "m", timeouts.request, 10m',
    ]);
  });

  test.each([
    ["a provider that is quicker than the default", "", "timeouts = { total = 60 }"],
    ["a provider without a limit", 'request_timeout = "10m"', "timeouts = { total = 0 }"],
    ["two that are the same", 'request_timeout = "10m"', "timeouts = { total = 600 }"],
  ])("but not of %s", (_, serverLine, total) => {
    expect(warningsOf(toml(serverLine, total))).toEqual([]);
  });
});
