import { expect, test } from "bun:test";
import { readEnd } from "../../src/content/end-frame.ts";
import { hasLongBase64 as hasLongBase64From, isPlain as isPlainFrom } from "../../src/content/plain-json.ts";
import { Redactor } from "../../src/content/redactor.ts";

const secret = "sk-a-provider-key-0123456789";
const redactor = new Redactor([secret]);

function hasLongBase64(text: string): boolean {
  const found = hasLongBase64From(Buffer.from(text), 0);
  expect(hasLongBase64From(Buffer.from(`${"x".repeat(400)}${text}`), 400)).toBe(found);
  return found;
}

function isPlain(text: string): boolean {
  const found = isPlainFrom(Buffer.from(text), 0, redactor);
  expect(isPlainFrom(Buffer.from(`base64${text}`), 6, redactor)).toBe(found);
  return found;
}

test("data is found wherever it is, from 256 bytes on", () => {
  const data = Buffer.alloc(256, 7).toString("base64");
  const words = "The lock-keeper writes down every name; ".repeat(60);
  for (let at = 0; at < 800; at += 1) {
    const text = `{"text":"${words.slice(0, at)}","data":"${data}","more":"${words}"}`;
    expect(hasLongBase64(text), `at ${at}`).toBe(true);
  }
  expect(hasLongBase64(`"${data}"`)).toBe(true);
  expect(hasLongBase64(data.slice(0, 339))).toBe(false);
  expect(hasLongBase64(`${data.slice(0, 339)} ${data.slice(0, 339)}`)).toBe(false);
  expect(hasLongBase64(words)).toBe(false);
  expect(hasLongBase64("")).toBe(false);
});

test("JSON is kept as it came only without data, secrets, vectors, and escapes that may hide them", () => {
  expect(isPlain('{"content":"A \\"sluice\\"\\nis a gate."}')).toBe(true);
  for (const text of [
    '{"url":"data:image/png;base64,AAAA"}',
    '{"embedding":[0.1,0.2]}',
    '{"\\u0064ata":"x"}',
    '{"path":"a\\/b"}',
    `{"content":"my key is ${secret}"}`,
    `{"content":"slu_${"A1".repeat(20)}"}`,
  ])
    expect(isPlain(text), text).toBe(false);
});

test("a secret with line feeds and quotes is found in JSON, and in JSON inside of its texts", () => {
  const key = '-----BEGIN PRIVATE KEY-----\nMIIEvQ "IBADAN" Bgkq\n-----END PRIVATE KEY-----';
  const cleaner = new Redactor([key]);
  const nested = JSON.stringify({ private_key: key });
  for (const text of [key, nested]) {
    const json = Buffer.from(JSON.stringify({ content: `mine: ${text}` }));
    expect(isPlainFrom(json, 0, cleaner)).toBe(false);
    expect(cleaner.clean(`mine: ${text}`)).not.toContain("MIIEvQ");
    expect(cleaner.clean(`mine: ${text}`)).toContain("[secret]");
  }
});

test("a secret in a model's name or a label is in neither the document nor its row", () => {
  const facts = {
    model: `model ${secret}`,
    key: "slu_12345678",
    labels: { session: null, user: `user\n${secret}`, tags: {} },
    route: "/v1/chat/completions",
    status: 404,
    outcome: "rejected",
    dropped: [],
    row: { keyId: "key_a", owner: null, isKept: true, isTraced: false },
  };
  for (const usage of [null, { total_tokens: 3 }]) {
    const end = readEnd(JSON.stringify({ id: "req_a", atMs: 0, usage, facts }), redactor);
    expect(end).toMatchObject({ id: "req_a", atMs: 0, usage, facts: { model: "model [secret]" } });
    expect(JSON.parse(`{${end.members}}`)).toEqual({
      id: "req_a",
      time: "1970-01-01T00:00:00.000Z",
      model: "model [secret]",
      key: "slu_12345678",
      labels: { session: null, user: "user\n[secret]", tags: {} },
      route: "/v1/chat/completions",
      status: 404,
      outcome: "rejected",
      dropped: [],
    });
  }
});

test("a text of backslashes is cleaned in no time", () => {
  const cleaner = new Redactor([secret]);
  const slashes = "\\".repeat(1_000_000);
  const startedMs = performance.now();
  expect(cleaner.clean(slashes)).toBe(slashes);
  // 6 s for 80 KB, before.
  expect(performance.now() - startedMs).toBeLessThan(1000);
  expect(cleaner.clean(`${slashes}u0073`)).toBe(`${slashes}u0073`);
});
