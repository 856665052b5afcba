import { expect, test } from "bun:test";
import { runningConfigView } from "../../src/admin/config/running-config.ts";
import { chosenContent, contentLevels, strictestContent } from "../../src/base/requests/content-level.ts";
import { reloadable } from "../../src/config/reload.ts";
import { load, problemsOf } from "./fixtures.ts";

const key = Buffer.alloc(32, 7).toString("base64");
const model = '[providers.demo]\nkind = "demo"\n[[models]]\nid = "m"\nprovider = "demo"\nfree = true\n';

test("without the section nothing is recorded, and with it the defaults hold", () => {
  expect(load("").settings.content).toBeNull();
  expect(load("[content]").settings.content).toEqual({
    record: "all",
    sample: 1,
    days: 7,
    maxSizeBytes: 2_000_000_000,
    maxRequestBytes: 1_000_000,
    maxResponseBytes: 1_000_000,
    key: null,
    recordUpstream: false,
    membersSeeOwn: false,
  });
});

test("every option of the section is read, and its key is not shown", () => {
  const text =
    '[content]\nrecord = "failed"\nsample = 0.25\ndays = 30\nmax_size = "1.5GB"\nmax_request = "200KB"\nmax_response = 5000\n' +
    'key = "env:CONTENT_KEY"\nrecord_upstream = true\nmembers_see_own = true\n';
  const { settings } = load(text, { env: { CONTENT_KEY: key } });
  expect(settings.content).toEqual({
    record: "failed",
    sample: 0.25,
    days: 30,
    maxSizeBytes: 1_500_000_000,
    maxRequestBytes: 200_000,
    maxResponseBytes: 5000,
    key: new Uint8Array(32).fill(7),
    recordUpstream: true,
    membersSeeOwn: true,
  });
  expect(JSON.stringify(runningConfigView(settings))).not.toContain(key);
});

test("a wrong value is named with what it should be", () => {
  for (const [line, message] of [
    ['record = "some"', "content.record"],
    ["sample = 1.5", "content.sample"],
    ['max_size = "2 GiB"', 'content.max_size: must be a number of bytes, or a size such as "500KB"'],
    ['max_request = "10B"', "at least 1000 bytes"],
    ["days = 0", "content.days"],
    ['key = "env:CONTENT_KEY"', "content.key: CONTENT_KEY is not set"],
    ["retention = 3", "content.retention"],
  ] as const) {
    expect(problemsOf(`[content]\n${line}`)).toEqual([expect.stringContaining(message)]);
  }
  const short = problemsOf('[content]\nkey = "env:K"', { env: { K: "c2hvcnQ=" } });
  expect(short).toEqual([expect.stringContaining("content.key: must be 32 bytes in base64")]);
});

test("a model's content needs the section", () => {
  expect(problemsOf(`${model}content = "none"\n`)).toEqual([
    expect.stringContaining("nothing is recorded without [content]; add that section, or remove this line"),
  ]);
  const traced = '[tracing]\notlp_endpoint = "http://127.0.0.1:4318"\ncontent = true\n';
  expect(load(`${model}content = "none"\n${traced}`).settings.models[0]?.content).toBe("none");
  expect(load(traced).settings.tracing?.content).toBe(true);
  expect(load(traced).settings.bodyLimits).toMatchObject({
    maxRequestBytes: 1_000_000,
    maxResponseBytes: 1_000_000,
  });
  const { settings } = load(`${model}content = "failed"\n[content]\n`);
  expect(settings.models[0]?.content).toBe("failed");
  expect(load(model).settings.models[0]?.content).toBeNull();
});

test("none of an account or a key holds; else the key decides, then the account", () => {
  const levels = [null, ...contentLevels];
  for (const account of levels) {
    for (const key of levels) {
      const expected = account === "none" || key === "none" ? "none" : (key ?? account);
      expect(chosenContent(account, key), `${account} ${key}`).toBe(expected);
    }
  }
  expect(chosenContent("failed", "all")).toBe("all");
  expect(load('[content]\nrecord = "none"').settings.content?.record).toBe("none");
});

test("the strictest wins, and who wants nothing in particular does not count", () => {
  for (const one of contentLevels) {
    for (const other of contentLevels) {
      const expected = [one, other].includes("none")
        ? "none"
        : [one, other].includes("failed")
          ? "failed"
          : "all";
      expect(strictestContent(one, null, other)).toBe(expected);
    }
  }
  expect(strictestContent(null, null)).toBe("all");
});

test("a reload changes what is recorded, but turns it neither on nor off, and keeps the key", () => {
  const at = (text: string) => load(text, { env: { CONTENT_KEY: key } }).settings;
  const applied = reloadable(at("[content]\n"), at("[content]\nsample = 0.5\n"));
  expect(applied.needsRestart).toEqual([]);
  expect(applied.settings.content?.sample).toBe(0.5);
  const tracing = '[tracing]\notlp_endpoint = "http://127.0.0.1:4318"\n';
  for (const [before, after, change] of [
    ["", "[content]\n", "[content] was added"],
    ["[content]\n", "", "[content] was removed"],
    ["[content]\n", '[content]\nkey = "env:CONTENT_KEY"\n', "content.key has changed"],
    [tracing, `${tracing}content = true\n`, "tracing.content has changed"],
  ] as const) {
    const kept = reloadable(at(before), at(after));
    expect(kept.needsRestart).toEqual([`${change}; that needs a restart`]);
    expect(kept.settings.content).toEqual(at(before).content);
    expect(kept.settings.tracing).toEqual(at(before).tracing);
  }
});
