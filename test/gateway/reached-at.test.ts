import { expect, test } from "bun:test";
import { originReachedAt } from "../../src/gateway/admission/reached-at.ts";

const cases: [why: string, headers: Record<string, string>, origin: string][] = [
  ["directly", {}, "http://gateway:8787"],
  ["through a proxy that ends TLS", { "x-forwarded-proto": "https" }, "https://gateway:8787"],
  [
    "through proxies that rename the host",
    { "x-forwarded-proto": "https, http", "x-forwarded-host": "llm.example.com, inner" },
    "https://llm.example.com",
  ],
  ["with a host that is none", { "x-forwarded-host": "<script>" }, "http://gateway:8787"],
];

for (const [why, headers, origin] of cases) {
  test(`the origin of a client that came ${why} is ${origin}`, () => {
    expect(originReachedAt(new Request("http://gateway:8787/v1/models", { headers }))).toBe(origin);
  });
}
