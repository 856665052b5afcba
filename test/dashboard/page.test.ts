import { describe, expect, test } from "bun:test";
import { bundlePage } from "../../src/dashboard/bundle.ts";
import {
  change,
  credits,
  duration,
  exactCredits,
  percent,
  price,
  shortCount,
  shortPlural,
} from "../../src/dashboard/page/format.ts";
import {
  creditsOf,
  emptyKeyForm,
  formOf,
  hoursOf,
  requestOf,
} from "../../src/dashboard/page/pages/key-form.ts";
import { errorIn } from "../../src/dashboard/page/playground/error.ts";
import { pageRoutes, type Question } from "../../src/dashboard/page/playground/routes.ts";
import { dataOf, EventCutter } from "../../src/dashboard/page/playground/sse.ts";
import { pageResponse } from "../../src/dashboard/serve.ts";
import { routes } from "../../src/gateway/operations.ts";

describe("figures", () => {
  test("have at most four decimals, and tell a small amount from nothing", () => {
    expect([0, 12.3456, 0.5, 0.000504, 0.00000004, -0.02].map(credits)).toEqual([
      "0.00",
      "12.35",
      "0.50",
      "0.0005",
      "<0.0001",
      "−0.02",
    ]);
    expect([4.996857, 5, 1234.000000001, -0.0000042].map(exactCredits)).toEqual([
      "4.996857",
      "5.00",
      "1,234.000000001",
      "−0.0000042",
    ]);
    expect([0.125, 10, 0.0375].map(price)).toEqual(["$0.125", "$10.00", "$0.0375"]);
  });

  test("are short where they are large", () => {
    expect([999, 9_999, 12_345, 1_200_000].map(shortCount)).toEqual(["999", "9,999", "12.3K", "1.2M"]);
    expect([1, 12_345].map((value) => shortPlural(value, "request"))).toEqual([
      "1 request",
      "12.3K requests",
    ]);
    expect([119_400, 119_600, 3_600_000].map(duration)).toEqual(["1 min 59 s", "2 min 0 s", "60 min 0 s"]);
    expect([null, 0.4, 12, 1234, 61_000].map(duration)).toEqual([
      "–",
      "<1 ms",
      "12 ms",
      "1.23 s",
      "1 min 1 s",
    ]);
  });

  test("compare with what was before, if there was anything", () => {
    expect([change(110, 100), change(50, 100), change(5, 0), change(100, 100)]).toEqual([
      "+10% vs. before",
      "−50% vs. before",
      null,
      "unchanged",
    ]);
    expect([percent(0, 0), percent(1, 3), percent(1, 1000)]).toEqual(["0%", "33%", "0.1%"]);
  });
});

describe("the playground", () => {
  test("cuts events wherever the bytes were cut", () => {
    const stream = 'event: a\r\ndata: {"x":1}\r\n\r\ndata: [DONE]\n\n';
    for (let at = 1; at < stream.length; at += 1) {
      const cutter = new EventCutter();
      const events = [...cutter.push(stream.slice(0, at)), ...cutter.push(stream.slice(at))];
      expect(events.map(dataOf)).toEqual(['{"x":1}', "[DONE]"]);
    }
  });

  const question: Question = {
    model: "m",
    system: "be brief",
    text: "hi\n\nyou",
    turns: [{ by: "user", text: "hi\n\nyou", images: [] }],
    tools: null,
    suffix: "",
    documents: "one\ntwo",
    size: "",
    voice: "alloy",
    file: null,
    maxTokens: 5,
    stream: true,
  };
  const routeOf = (name: string) => pageRoutes[name] as (typeof pageRoutes)[string];

  test("can ask on every route that asks a model", () => {
    const asking = routes.filter(({ method, use }) => method === "POST" && use !== undefined);
    const names = new Set(asking.map(({ dialect, description }) => dialect ?? description.operationId));
    expect(Object.keys(pageRoutes).toSorted()).toEqual([...names].toSorted());
  });

  test("asks in each dialect and finds the text in each answer", () => {
    const [chat, responses, messages] = ["chat", "responses", "messages"].map(routeOf);
    expect(chat?.body(question)).toMatchObject({ max_tokens: 5, stream: true });
    expect(responses?.body(question)).toMatchObject({
      input: question.text,
      instructions: "be brief",
      max_output_tokens: 5,
    });
    expect(messages?.body({ ...question, maxTokens: null })).toMatchObject({
      max_tokens: 1024,
      system: "be brief",
    });
    expect(chat?.delta?.({ choices: [{ delta: { content: "a" } }] })).toBe("a");
    expect(responses?.delta?.({ type: "response.output_text.delta", delta: "b" })).toBe("b");
    expect(messages?.delta?.({ type: "content_block_delta", delta: { text: "c" } })).toBe("c");
    expect(chat?.delta?.(null)).toBe("");
    const texts = responses?.read?.({ output: [{ content: [{ text: "x" }, { text: "y" }] }] }, question);
    expect(texts).toEqual({ kind: "text", text: "xy" });
    const parts = messages?.read?.({ content: [{ type: "text", text: "z" }] }, question);
    expect(parts).toEqual({ kind: "text", text: "z" });
  });

  test("shows vectors by their length, and scores with what they are for", () => {
    const vectors = routeOf("createEmbedding");
    expect(vectors.body(question)).toMatchObject({ input: ["hi", "you"] });
    const embedding = [1, 2, 3, 4, 5, 6, 7, 8];
    expect(vectors.read?.({ data: [{ embedding }] }, question)).toEqual({
      kind: "vectors",
      vectors: [{ length: 8, first: [1, 2, 3, 4, 5, 6] }],
    });
    const results = [{ index: 1, relevance_score: 0.9 }];
    for (const answer of [{ results }, { data: results }]) {
      expect(routeOf("rerank").read?.(answer, question)).toMatchObject({
        scores: [{ name: "two", value: 0.9 }],
      });
    }
    const result = {
      flagged: true,
      categories: { violence: true, "self-harm/intent": false },
      category_scores: { "self-harm/intent": 0.1, violence: 0.7 },
    };
    expect(routeOf("createModeration").read?.({ results: [result] }, question)).toEqual({
      kind: "scores",
      verdict: "flagged",
      scores: [
        { name: "violence", value: 0.7, isHigh: true },
        { name: "self-harm/intent", value: 0.1, isHigh: false },
      ],
    });
  });

  test("sends files as forms, and finds errors in every dialect's form", () => {
    const file = new File(["x"], "a.wav");
    const body = routeOf("createTranscription").body({ ...question, file });
    expect(body instanceof FormData && [...body.keys()]).toEqual(["model", "file"]);
    const message = "No.";
    expect(errorIn({ error: { code: "model_not_found", message } })?.code).toBe("model_not_found");
    expect(errorIn({ type: "error", error: { type: "api_error", message } })?.code).toBe("api_error");
    expect(errorIn({ type: "response.failed", response: { error: { code: "x", message } } })?.code).toBe("x");
    expect(errorIn({ choices: [] })).toBeNull();
  });
});

describe("a key's form", () => {
  test("says nothing as null, and what a key has as it has it", () => {
    const request = requestOf(
      {
        ...{ ...emptyKeyForm, label: " ", models: "a, b,", rpm: "1 000", period: "day" },
        ...{ tpm: "60000, 2000:claude-*", tag: "project=atlas, env=prod", "max-concurrent": "4" },
      },
      "token_budget",
      false,
    );
    expect(request).toMatchObject({
      label: null,
      owner: null,
      provider_scope: "all",
      models: ["a", "b"],
      rpm_limit: 1000,
      tpm_limits: [
        { limit: 60_000, models: null },
        { limit: 2_000, models: "claude-*" },
      ],
      tags: { project: "atlas", env: "prod" },
      max_concurrent: 4,
      expires_at: null,
      budget_tokens: null,
      period: "day",
    });
    const unset = { label: null, provider_scope: "all", rpm_limit: null, expires_at: null, budget: null };
    const limits = { tpm_limits: [{ limit: 5, models: "gpt-*" }], tags: { env: "prod" } };
    expect(formOf({ ...unset, ...limits, models: ["a"] } as never)).toMatchObject({
      ...{ label: "", models: "a", rpm: "", budget: "", expires: "", tpm: "5:gpt-*", tag: "env=prod" },
    });
    const none = requestOf(emptyKeyForm, "credit", false);
    expect(none).toMatchObject({ tpm_limits: null, tags: null, max_concurrent: null });
    for (const form of [{ tpm: "60,000" }, { tpm: "many" }, { tag: "project" }]) {
      expect(() => requestOf({ ...emptyKeyForm, ...form }, "credit", false)).toThrow(
        /Enter 60000|Enter at most 8 tags/,
      );
    }
  });
});

describe("what is typed into a form", () => {
  test("is read as people write numbers, and refused in words where it could mean two things", () => {
    expect(["5", "0.25", " -2.5 ", "+1"].map(creditsOf)).toEqual([5, 0.25, -2.5, 1]);
    for (const text of ["2,5", "1,000", "", "five", "1e3"])
      expect(() => creditsOf(text)).toThrow("such as 2.5");
    const rpm = (text: string) => requestOf({ ...emptyKeyForm, rpm: text }, "credit", false)["rpm_limit"];
    expect(["60", "1,000", "1_000", "1 000", ""].map(rpm)).toEqual([60, 1000, 1000, 1000, null]);
    for (const text of ["2,5", "1,00", "1.5", "many"]) {
      expect(() => rpm(text)).toThrow("Requests per minute must be a whole number");
    }
    expect(["0", "1.5"].map(hoursOf)).toEqual([0, 1.5]);
    expect(() => hoursOf("soon")).toThrow("The hours must be a number");
  });
});

describe("the page as it is served", () => {
  const get = (path: string, cookie = "") =>
    pageResponse(new Request(`http://localhost${path}`, { headers: { cookie } }), path, "/admin");

  test("has no inline script or style, and its files are from here", async () => {
    const html = await (await get("/admin/keys")).text();
    expect(html).not.toMatch(/<script(?![^>]*\ssrc=)|<style|\sstyle=|\son\w+=|https?:\/\//);
    const files = [...html.matchAll(/(?:href|src)="([^"]+)"/g)].map(([, path]) => path ?? "");
    expect(files.length).toBe(3);
    for (const file of files) {
      const response = await get(file);
      expect(response.status).toBe(200);
      expect(response.headers.get("cache-control")).toContain("immutable");
      expect(response.headers.get("content-security-policy")).not.toContain("unsafe");
    }
  });

  test("is small enough for a phone in the train: 120 KB, compressed", async () => {
    const html = await (await get("/admin")).text();
    const files = [...html.matchAll(/(?:href|src)="([^"]+)"/g)].map(([, path]) => path ?? "");
    const sizes = files.map(async (file) => Bun.gzipSync(await (await get(file)).arrayBuffer()).length);
    expect((await Promise.all(sizes)).reduce((sum, size) => sum + size)).toBeLessThan(120 * 1024);
  });

  test("is bundled whatever options Bun was started with", () => {
    process.env["BUN_OPTIONS"] = `--preload ${import.meta.path.replace("page.test", "looks/frozen-clock")}`;
    try {
      expect(bundlePage().script.length).toBeGreaterThan(1000);
    } finally {
      delete process.env["BUN_OPTIONS"];
    }
  });

  test("stamps only the two themes it knows", async () => {
    expect(await (await get("/admin", "sluice_theme=dark")).text()).toContain(
      '<html lang="en" data-theme="dark">',
    );
    expect(await (await get("/admin", 'sluice_theme="><script>')).text()).toContain('<html lang="en">');
  });

  test("knows no other file, and none of an older version", async () => {
    expect((await get("/admin/assets/old/main.js")).status).toBe(404);
    expect((await get("/admin/assets/../serve.ts")).status).toBe(404);
  });
});
